"""Run a command, keep what it printed, and draw it as a picture of a terminal.

    python scripts/terminal_picture.py docs/pictures/tune_mlp -- \
        iree-tuner tune examples/mlp_batch1.mlir --effort quick --no-db -o mlp.spec.mlir
    python scripts/terminal_picture.py docs/pictures/tune_mlp --redraw

Writes NAME.txt (the machine, the date, the commit, the command and its output) and NAME.svg. `--redraw` draws
NAME.svg from NAME.txt again. The picture never shows anything that the command did not print.
"""

from __future__ import annotations

import argparse
import datetime
import io
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 104
_FONT_FACE = re.compile(
    r"@font-face \{.*?\}\s*", re.DOTALL
)  # remote fonts, which pages that embed the picture refuse
_COLORS = {
    r"^\$ .*": "bold",
    r"\bwin\b": "bold green",
    r"\b\d+\.\d+x\b": "bold cyan",
    r"^(workload|stage) .*": "bold",
    r"^RESULT.*": "bold",
    r"machine speed changed.*": "yellow",
}


def main() -> int:
    """Return the status of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", type=Path, help="the files' name without a suffix")
    parser.add_argument("--redraw", action="store_true", help="draw NAME.txt, and run nothing")
    parser.add_argument("command", nargs="*", help="the command and its arguments, after --")
    options = parser.parse_args()
    record = options.name.with_suffix(".txt")
    status = 0
    if not options.redraw:
        text, status = run(options.command)
        record.write_text(text, encoding="utf-8")
    options.name.with_suffix(".svg").write_text(draw(record.read_text(encoding="utf-8")), encoding="utf-8")
    return status


def run(command: list[str]) -> tuple[str, int]:
    """The record of a run, and its status. Both streams are kept in the order in which they were written."""
    environment = dict(os.environ, COLUMNS=str(COLUMNS), NO_COLOR="1")
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    made = f"{machine()}, {datetime.date.today().isoformat()}, commit {commit.stdout.strip() or 'unknown'}"
    return f"# {made}\n$ {' '.join(command)}\n{done.stdout}", done.returncode


def machine() -> str:
    """The processor and the number of cores."""
    names: dict[str, str] = {}
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            names.setdefault(key.strip(), value.strip())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    family = f" (family {names['cpu family']}, model {names['model']})" if "cpu family" in names else ""
    return f"{cores} cores of {names.get('model name', platform.processor() or platform.machine())}{family}"


def draw(record: str) -> str:
    """The picture of a record; its title names the machine."""
    title, _, shown = record.partition("\n")
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for line in shown.rstrip().splitlines():
        text = Text(line)
        for pattern, style in _COLORS.items():
            text.highlight_regex(pattern, style)
        console.print(text)
    return _FONT_FACE.sub("", console.export_svg(title=title.removeprefix("# ")))


if __name__ == "__main__":
    sys.exit(main())
