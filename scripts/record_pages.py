"""Run the commands of a page, and write what they print into it.

    python scripts/record_pages.py docs/tutorial.md             # every console block
    python scripts/record_pages.py --checked docs/verify.md     # only those that a test compares

A command is the first line of a block of the kind `console`, after `$ `. Its output replaces the rest of the
block. Commands run one after the other in a temporary folder that has the checkout's folders, with a new
database. A command that fails ends the script and leaves the page unchanged, unless the page shows a failure
(the mark `<!-- checked: status 1 -->`).

A block after the mark `<!-- checked -->` prints the same on every machine: `test/unit/test_console_blocks.py`
runs its command and compares the output with the page. There, `...` stands for any text, and a line `...` for
any lines.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("benchmarks", "examples", "programs", "recordings", "specs", "test")
ENVIRONMENT = {"COLUMNS": "104", "NO_COLOR": "1"}
ELLIPSIS = "..."
BLOCK = re.compile(
    r"^(?P<mark><!-- checked(?:: status (?P<status>\d+))? -->\n)?"
    r"```console\n\$ (?P<command>.*?[^\\])\n(?P<shown>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A console block of a page."""

    mark: str
    status: int
    command: str
    shown: str


def block(match: re.Match[str]) -> Block:
    """The block that `BLOCK` found."""
    return Block(match["mark"] or "", int(match["status"] or 0), match["command"], match["shown"])


def main() -> None:
    """Record each page that is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checked", action="store_true", help="only blocks with the mark")
    parser.add_argument("pages", nargs="+", type=Path, help="Markdown files")
    options = parser.parse_args()
    for page in options.pages:
        with tempfile.TemporaryDirectory(prefix="iree_tuner_page_") as folder:
            link_folders(Path(folder))
            text = page.read_text(encoding="utf-8")
            recorded = partial(record, run=partial(run, folder=folder), only_checked=options.checked)
            page.write_text(BLOCK.sub(recorded, text), encoding="utf-8")


def link_folders(folder: Path) -> None:
    """Give a folder what commands of pages read."""
    for name in FOLDERS:
        (folder / name).symlink_to(ROOT / name)


def record(match: re.Match[str], run: Callable[[Block], str], *, only_checked: bool) -> str:
    """The block, with what its command prints now."""
    found = block(match)
    if only_checked and not found.mark:
        return match[0]
    printed = run(found)
    if found.mark and matches(found.shown, printed):
        return match[0]  # dots stay
    return f"{found.mark}```console\n$ {found.command}\n{printed}```"


def matches(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed. A line `...` stands for any lines, elsewhere for any text."""
    lines = (re.escape(line).replace(re.escape(ELLIPSIS), ".*") for line in shown.splitlines())
    pattern = "".join("(?:.*\n)*?" if line == ".*" else f"{line}\n" for line in lines)
    return re.fullmatch(pattern, printed) is not None


def run(block: Block, folder: str) -> str:
    """What a command prints: both streams, in the order in which they were written."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", block.command], check=False,
        cwd=folder, env={**os.environ, **ENVIRONMENT, "XDG_DATA_HOME": f"{folder}/data"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    print(f"$ {block.command}", flush=True)
    if done.returncode != block.status:
        raise SystemExit(f"status {done.returncode}, expected {block.status}:\n{done.stdout}")
    return tidy(done.stdout, folder)


def tidy(printed: str, folder: str) -> str:
    """Output without blanks at the ends of lines, and without the folder's path."""
    return "".join(f"{line.rstrip()}\n" for line in printed.replace(folder, "~").splitlines())


if __name__ == "__main__":
    main()
