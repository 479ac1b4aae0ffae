"""Run what each page of docs/upstream says to run, and say which defects are still there.

    python test/upstream/rerun.py                                   the compiler of this Python's environment
    python test/upstream/rerun.py --compiler PATH/TO/iree-compile   another one, with the tools next to it
    python test/upstream/rerun.py f64_views tf32_buffer --json      some pages, as JSON

A page has its command above **Expected**, in indented lines or as Python, and what is seen under **Seen**:
the first text in backticks, or the first line of a block, which is a part of the output. Instead, words may
say that the command crashes or hangs. If neither is said, or it is a test, it succeeds. Exit status 1 if a
defect is gone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "upstream"

_SEEN = re.compile(r"^\*\*(?:Seen|Actual result)\*\*", re.MULTILINE)
_NEXT = re.compile(r"^\*\*", re.MULTILINE)
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^    .+\n)+", re.MULTILINE)
_QUOTED = re.compile(r"`([^`\n]+)`")
_CRASHES = re.compile(r"segmentation fault|aborts", re.IGNORECASE)
_HANGS = re.compile(r"hangs|did not end")
_DEVICE = re.compile(r"--device[= ](cuda|hip|vulkan)|get_device\(\"(\w+)\"\)")
_MEASURES = re.compile(r"benchmark")
_SHORT = 3  # characters of what must be a line of its own
_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Report:
    """What a page says."""

    name: str
    command: str  # for bash; empty for a page that has none
    seen: str  # a part of the output; empty for any
    crashes: bool
    hangs: bool

    @property
    def cannot(self) -> str:
        """Why it cannot be run here; empty if it can."""
        if not self.command:
            return "no command"
        if _MEASURES.search(self.command):
            return "it is about times"
        device = next((each[1] or each[2] for each in _DEVICE.finditer(self.command)), "")
        return f"no {device} device" if device and not _has(device) else ""

    def shows(self, status: int | None, output: str) -> bool:
        """Whether the defect is there, by the end of the command; None if it took too long."""
        if status is None:
            return self.hangs
        if self.command.startswith("pytest"):  # tests that pass while the defect is there
            return status == 0
        if self.crashes:  # bash adds 128 to the number of a signal
            return status >= 128 or "Stack dump" in output or "LLVM ERROR" in output
        said = " ".join(output.replace("`", "").split())
        if len(self.seen) <= _SHORT and self.seen:
            return self.seen in output.split("\n")
        return " ".join(self.seen.split()) in said if self.seen else status == 0


@dataclass(frozen=True)
class Found:
    """What became of a report."""

    report: str
    state: Literal["still there", "fixed", "not run"]
    note: str = ""  # why not, or the end of the output


def read(name: str) -> Report:
    """The report of a page."""
    text = (PAGES / f"{name}.md").read_text()
    given, _, rest = text.partition("\n**Expected")
    seen = _NEXT.split(_SEEN.split(rest)[-1])[0].lstrip("\n")
    script = next((each[2] for each in _FENCED.finditer(given) if each[1] == "python"), "")
    lines = "".join(re.sub("^    ", "", each[0], flags=re.MULTILINE) for each in _INDENTED.finditer(given))
    command = f"python - <<'END'\n{script}END\n" if script else lines
    first = seen.partition("\n\n")[0]
    block = _FENCED.search(seen) or _INDENTED.search(seen)
    quoted = _QUOTED.search(first)
    said = quoted[1] if quoted else block[0].strip("`\n ").split("\n")[0] if block else ""
    said = "" if command.startswith("pytest") else said
    return Report(name, command, said, bool(_CRASHES.search(first)), bool(_HANGS.search(first)))


def rerun(report: Report, compiler: Path | None = None) -> Found:
    """Run it, in an empty folder in which the project's own are."""
    if report.cannot:
        return Found(report.name, "not run", report.cannot)
    if compiler and not re.match("iree-(?!tuner)", report.command):
        return Found(report.name, "not run", "it needs the Python of that compiler")
    tools = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([*([str(compiler.parent)] if compiler else []), *tools]),
    }
    with tempfile.TemporaryDirectory() as folder:
        for each in ROOT.iterdir():
            Path(folder, each.name).symlink_to(each)
        with subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", report.command], cwd=folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", start_new_session=True,
        ) as process:  # fmt: skip
            try:
                output, _ = process.communicate(timeout=_TIMEOUT_S)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, status = "", None
    if report.hangs and status is not None:
        return Found(report.name, "not run", "it ended this time")
    shows = report.shows(status, output)
    return Found(report.name, "still there" if shows else "fixed", "" if shows else output.strip()[-300:])


def names() -> list[str]:
    """Of all pages."""
    return sorted(page.stem for page in PAGES.glob("*.md") if page.name != "README.md")


def _has(device: str) -> bool:
    import iree.runtime as rt

    try:
        return bool(rt.get_driver(device).query_available_devices())
    except Exception:  # whatever a driver that is not installed says
        return False


def main() -> int:
    """Print a line for each page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", default=names(), help="names of pages; all without")
    parser.add_argument("--compiler", type=Path, help="an iree-compile, with its tools next to it")
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")
    arguments = parser.parse_args()
    fixed = 0
    for name in arguments.pages:
        found = rerun(read(name), arguments.compiler)
        fixed += found.state == "fixed"
        note = " ".join(found.note.split())
        print(
            json.dumps(asdict(found)) if arguments.json else f"{found.state:12} {name:40} {note}", flush=True
        )
    return 1 if fixed else 0


if __name__ == "__main__":
    sys.exit(main())
