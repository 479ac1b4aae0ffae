"""What a budget is spent on, and what it brings: whole models from nothing, before and after a change.

    python benchmarks/small_models.py MODELS
    git worktree add BEFORE 06549fd
    python benchmarks/budgets.py MODELS/*.mlir --budget 90s --before BEFORE --output FILE

Each model is tuned by `iree-tuner tune --budget B --no-db`, with and without the change, in processes of
their own, one after the other, with the same seed. Prints a JSON object a run, and a table: seconds of the
whole process, seconds in which candidates were tried, candidates, workloads with 3 % of the time or more
that were tried, and the program's gain. With `--output` they are appended to a file, and runs that are in it
are not repeated.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

Row = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
LARGE = 0.03


def main() -> None:
    """Run all, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--budget", default="90s")
    parser.add_argument("--device", default="local-task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--before", type=Path, help="a checkout to compare with")
    parser.add_argument("--flags", default="", help="more flags of tune")
    parser.add_argument("--output", type=Path, help="file to which the runs are appended")
    given = parser.parse_args()
    rows: list[Row] = []
    if given.output and given.output.exists():
        rows = [json.loads(line) for line in given.output.read_text().splitlines()]
    for program in given.programs:
        for checkout in filter(None, (given.before, ROOT)):
            name = commit_of(checkout)
            if any(row["model"] == program.stem and row["commit"] == name for row in rows):
                continue
            row = {"model": program.stem, "commit": name, **tuned(program, checkout, given)}
            rows.append(row)
            print(json.dumps(row), flush=True)
            if given.output:
                with given.output.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    print(table(rows))


def commit_of(checkout: Path) -> str:
    """The commit that is checked out; `+` where it was changed."""
    git = ["git", "-C", str(checkout)]
    commit = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "iree_tuner"], check=False).returncode
    return commit.stdout.strip() + "+" * bool(changed)


def tuned(program: Path, checkout: Path, given: argparse.Namespace) -> Row:
    """One run from nothing."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "iree_tuner.cli", "tune", str(program.resolve()), "--budget", given.budget,
            "--device", given.device, "--seed", str(given.seed), "--no-db", "--json",
            "-o", f"{folder}/spec.mlir", *given.flags.split(),
        ]  # fmt: skip
        start = time.monotonic()
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=folder,
            env={**os.environ, "PYTHONPATH": str(checkout.resolve())},
        )  # fmt: skip
        seconds = time.monotonic() - start
    if done.returncode:
        raise SystemExit(f"{program.name}: {done.stderr}")
    *workloads, whole = [json.loads(line) for line in done.stdout.splitlines()]
    large = [each for each in workloads if each["share"] > LARGE]
    tried = [each for each in large if each["trials"] or each.get("competitors")]
    return {
        "budget": given.budget, "seconds": seconds, "searched_s": whole["searched_s"],
        "candidates": sum(each["trials"] for each in workloads), "large": len(large), "tried": len(tried),
        "speedup": whole["speedup"], "interval": whole["interval"], "flags": whole["flags"],
        "stages": whole.get("stages", {}),
    }  # fmt: skip


def table(rows: list[Row]) -> str:
    """Markdown; at the end, how the gains compare."""
    lines = [
        "| model | commit | seconds | of trials | candidates | large workloads tried | gain |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        low, high = row["interval"]
        lines.append(
            f"| {row['model']} | {row['commit']} | {row['seconds']:.0f} | {row['searched_s']:.0f} "
            f"| {row['candidates']} | {row['tried']} of {row['large']} "
            f"| {row['speedup']:.2f}x ({low:.2f} to {high:.2f}) |"
        )
    commits = list(dict.fromkeys(row["commit"] for row in rows))
    if len(commits) == 2:
        gains = {(row["model"], row["commit"]): row["speedup"] for row in rows}
        models = [model for model, commit in gains if commit == commits[1] and (model, commits[0]) in gains]
        logs = [math.log(gains[model, commits[1]] / gains[model, commits[0]]) for model in models]
        mean = math.exp(sum(logs) / len(logs))
        lines.append(f"\nGains of {commits[1]} over those of {commits[0]}: {mean:.2f}x")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
