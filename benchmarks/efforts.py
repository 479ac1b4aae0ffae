"""What little effort reaches of what much effort reaches, on single workloads, measured for real.

For each program a run of `iree-tuner tune` with each effort, from nothing (no database, no specs that ship),
with the compiler's own flags, each in a new process. What is compared is what users get: the verdict of the
finals, a dispatch with its winner against the default in turns. Without a winner the gain is 1.

    python benchmarks/efforts.py programs/recorded/cpu/matmul_square.mlir
    python benchmarks/efforts.py programs/recorded/cpu/*.mlir --efforts quick,full --output FILE

Prints a JSON object a run, and a table at the end. With `--output` they are appended to a file, and runs that
are in it are not repeated: the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Run = dict[str, Any]


def main() -> None:
    """Run all, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--efforts", default="quick,full", help="least first, separated by commas")
    parser.add_argument("--device", default="local-task")
    parser.add_argument("--chip", default="host")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="file to which the runs are appended")
    given = parser.parse_args()
    runs: list[Run] = []
    if given.output and given.output.exists():
        runs = [json.loads(line) for line in given.output.read_text().splitlines()]
    efforts = given.efforts.split(",")
    for program in given.programs:
        for effort in efforts:
            if any(run["program"] == program.stem and run["effort"] == effort for run in runs):
                continue
            runs.append(tune(program, effort, given))
            print(json.dumps(runs[-1]), flush=True)
            if given.output:
                with given.output.open("a") as file:
                    file.write(json.dumps(runs[-1]) + "\n")
    print(table(runs, [program.stem for program in given.programs], efforts))


def tune(program: Path, effort: str, given: argparse.Namespace) -> Run:
    """One run from nothing; seconds are those of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            shutil.which("iree-tuner") or "iree-tuner", "tune", str(program), "--effort", effort, "--no-db",
            "--no-starters", "--keep-flags", "--no-profile", "--device", given.device, "--chip", given.chip,
            "--seed", str(given.seed), "--json", "-o", str(Path(folder) / "tuned.spec.mlir"),
        ]  # fmt: skip
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{program} with {effort}: {done.stderr.strip().splitlines()[-1]}")
    workload = json.loads(done.stdout.splitlines()[0])  # the one with the largest share comes first
    won = workload["verdict"] == "win"
    return {
        "program": program.stem, "effort": effort, "seconds": round(seconds, 1),
        "tried": workload["trials"], "verdict": workload["verdict"],
        "speedup": workload["speedup"] if won else 1.0, "interval": workload.get("interval"),
    }  # fmt: skip


def table(runs: Sequence[Run], programs: Sequence[str], efforts: Sequence[str]) -> str:
    """A line a program: gains, seconds, and the least effort's gain as a part of the most effort's."""
    of = {(run["program"], run["effort"]): run for run in runs}
    lines = ["| program | " + " | ".join(f"{effort} | s" for effort in efforts) + " | reached |"]
    lines.append("|---" * (2 + 2 * len(efforts)) + "|")
    shares: list[float] = []
    for program in programs:
        row = [of[program, effort] for effort in efforts]
        shares.append(row[0]["speedup"] / row[-1]["speedup"])
        cells = [cell for run in row for cell in (f"{run['speedup']:.2f}x", f"{run['seconds']:.0f}")]
        lines.append(f"| {program} | {' | '.join(cells)} | {shares[-1]:.0%} |")
    lines.append(f"median {statistics.median(shares):.1%}, least {min(shares):.1%}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
