"""Run the core's tests without the plug-ins: it works without each of them.

    python test/core.py              in a copy of the tree that has none of them
    python test/core.py -k space     other arguments go to `test/run.py` there

The status is 0 when everything passed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PLUG_INS = ("cluster", "kernels", "reduce", "script", "suite")
"""Rooms that the core, which is all others, finds by entry points and does not import."""

WHOLE = (
    "any_command", "console_blocks", "core", "help", "layers", "mistakes", "owners", "pages",
)  # fmt: skip
"""Tests in test/unit that are of the core and its plug-ins together: of all commands, pages and files."""


def main(arguments: Sequence[str]) -> int:
    """Return 0 when everything passed, 1 otherwise."""
    with core_alone() as (folder, environment):
        command = [sys.executable, "test/run.py", "--no-coverage", *arguments]
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


@contextmanager
def core_alone() -> Iterator[tuple[Path, dict[str, str]]]:
    """A copy of the tree without these plug-ins, and the environment in which it is the package installed."""
    with tempfile.TemporaryDirectory(prefix="iree_tuner_core_") as name:
        folder = Path(name)
        listed = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-z", "-c", "-o", "--exclude-standard"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        for path in filter(None, listed.stdout.split("\0")):
            if (ROOT / path).is_file() and not of_plug_ins(path):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, folder / path)
        write_metadata(folder)
        path = os.pathsep.join(filter(None, [name, os.environ.get("PYTHONPATH", "")]))
        yield folder, {**os.environ, "PYTHONPATH": path}


def of_plug_ins(path: str) -> bool:
    """Whether a file is a plug-in's, or one of its tests, or a test of all commands and pages."""
    if path in [f"test/unit/test_{name}.py" for name in WHOLE]:
        return True
    rooms = [f"{place}/{room}/" for place in ("iree_tuner", "test", "test/unit") for room in PLUG_INS]
    return path.startswith(tuple(rooms))


def write_metadata(folder: Path) -> None:
    """Describe the copy as an installed package: it is found on PYTHONPATH before the one that is."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    homes = tuple(f"iree_tuner.{room}." for room in PLUG_INS)
    lines = list[str]()
    for group, entries in project["entry-points"].items():
        lines.append(f"[{group}]")
        lines += [f"{key} = {value}" for key, value in entries.items() if not value.startswith(homes)]
    written = folder / f"iree_tuner-{project['version']}.dist-info"
    written.mkdir()
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (written / "METADATA").write_text(about)
    (written / "entry_points.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
