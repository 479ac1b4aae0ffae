"""Run the commands of a page, and write what they print into it.

    python scripts/record_pages.py docs/tutorial.md

A command is the first line of a block of the kind `console`, after `$ `. Its output replaces the rest of the
block. Commands run one after the other in a temporary folder that has the checkout's `examples`, with a new
database. A command that fails ends the script and leaves the page unchanged.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n\$ (.*?[^\\])\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main() -> None:
    """Record each page that is named."""
    for name in sys.argv[1:]:
        page = Path(name)
        with tempfile.TemporaryDirectory(prefix="iree_tuner_page_") as folder:
            (Path(folder) / "examples").symlink_to(ROOT / "examples")
            text = page.read_text(encoding="utf-8")
            page.write_text(BLOCK.sub(lambda match: block(match[1], folder), text), encoding="utf-8")


def block(command: str, folder: str) -> str:
    """The block of a command, with what it prints now."""
    environment = {**os.environ, "COLUMNS": "104", "NO_COLOR": "1", "XDG_DATA_HOME": f"{folder}/data"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
    )  # fmt: skip
    print(f"$ {command}", flush=True)
    lines = [line.rstrip() for line in done.stdout.replace(folder, "~").splitlines()]
    return "\n".join(["```console", f"$ {command}", *lines, "```"])


if __name__ == "__main__":
    main()
