"""Compare standard input with a golden file: `... | %golden %S/Inputs/name.golden` in a lit test.

Prints the difference and exits with 1; with --update (`lit -Dupdate_golden=1 test`) writes the file instead.
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Return 0 when equal or updated, 1 otherwise."""
    update = "--update" in arguments
    (name,) = (argument for argument in arguments if argument != "--update")
    golden, found = Path(name), sys.stdin.read()
    if update:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(found)
        return 0
    expected = golden.read_text() if golden.exists() else ""
    difference = difflib.unified_diff(
        expected.splitlines(keepends=True), found.splitlines(keepends=True), str(golden), "found"
    )
    sys.stdout.writelines(difference)
    return int(found != expected)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
