"""Run every test: lit, then pytest. All run even if the first fails; the status says whether all passed.

Tests of the rooms that only compile or compute run on all cores; those that measure, or start workers, run
alone.

Arguments go to pytest:

    python test/run.py -k workload
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ROOMS = ("space", "ops", "cost", "search", "replay", "report", "spec", "store", "program", "transforms")
OF_MEASURE = ("judging", "numerics", "reference", "statistics")
COMPILING = (
    *(f"test/unit/{room}" for room in ROOMS),
    *(f"test/unit/measure/test_{name}.py" for name in OF_MEASURE),
)


def main(arguments: list[str]) -> int:
    """Return 0 when everything passed, 1 otherwise."""
    lit = Path(sys.executable).parent / "lit"
    lit_status = run([str(lit), "-sv", "test"])
    pytest = [sys.executable, "-m", "pytest", "-q", *arguments]
    alone = [f"--ignore={path}" for path in COMPILING]
    statuses = [run([*pytest, "-n", "auto", *COMPILING]), run([*pytest, *alone])]
    if lit_status:
        print(f"lit failed with status {lit_status}: see its summary above", flush=True)
    # 5 is pytest's "no tests": what -k selects may lie in the other half.
    return int(lit_status != 0 or any(status not in (0, 5) for status in statuses) or statuses == [5, 5])


def run(command: list[str]) -> int:
    """Run one tool from the repository's root, its output as it comes."""
    print(f"$ {' '.join(command)}", flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
