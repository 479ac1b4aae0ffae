"""Run every test: lit, then pytest. Both run even if the first fails; the status says whether both passed.

Arguments go to pytest:

    python test/run.py -k workload
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """Return 0 when everything passed, 1 otherwise."""
    lit = Path(sys.executable).parent / "lit"
    lit_status = run([str(lit), "-sv", "test"])
    pytest_status = run([sys.executable, "-m", "pytest", "-q", *arguments])
    if lit_status:
        print(f"lit failed with status {lit_status}: see its summary above", flush=True)
    return int(lit_status != 0 or pytest_status != 0)


def run(command: list[str]) -> int:
    """Run one tool from the repository's root, its output as it comes."""
    print(f"$ {' '.join(command)}", flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
