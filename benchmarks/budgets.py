"""What a budget is spent on, and what it brings: whole models from nothing, before and after a change.

    python benchmarks/small_models.py MODELS
    git worktree add BEFORE 06549fd
    python benchmarks/budgets.py MODELS/*.mlir --budget 90s --before BEFORE --output FILE

Each model is tuned by `iree-tuner tune --budget B --no-db`, with and without the change, in processes of
their own, one after the other, with the same seed. What both found is then run in turns with the program as
it was given: these gains are of the same minute, those of the runs are not. Prints a JSON object a run, and a
table: seconds of the whole process, seconds in which candidates were tried, candidates, workloads with 3 %
of the time or more that were tried, the gain that the run told, and the gain in turns. With `--output` they
are appended to a file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from iree_tuner.compiler.worker import Workers
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.measure.program import compare_programs
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device

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
    parser.add_argument("--also", metavar="BUDGET", help="and with this one, with the change")
    parser.add_argument("--flags", default="", help="more flags of tune")
    parser.add_argument("--output", type=Path, help="file to which the runs are appended")
    parser.add_argument("--compared", type=float, default=60.0, help="seconds in turns, for each model")
    given = parser.parse_args()
    rows: list[Row] = []
    for program in given.programs:
        checkouts = [each for each in (given.before, ROOT, given.also and ROOT) if each]
        budgets = [given.budget] * (1 + bool(given.before)) + [given.also] * bool(given.also)
        with tempfile.TemporaryDirectory() as name:
            files = [Path(name) / f"{number}.vmfb" for number in range(len(checkouts))]
            asked = zip(checkouts, files, budgets, strict=True)
            runs = [tuned(program, *each, given) for each in asked]
            gains = in_turns(program, files, given)
        for checkout, run, gain in zip(checkouts, runs, gains, strict=True):
            rows.append({"model": program.stem, "commit": commit_of(checkout), **run, **gain})
            print(json.dumps(rows[-1]), flush=True)
            if given.output:
                with given.output.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    print(table(rows))


def commit_of(checkout: Path) -> str:
    """The commit that is checked out; `+` where it was changed."""
    git = ["git", "-C", str(checkout)]
    commit = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "iree_tuner"], check=False).returncode
    return commit.stdout.strip() + "+" * bool(changed)


def tuned(program: Path, checkout: Path, vmfb: Path, budget: str, given: argparse.Namespace) -> Row:
    """One run from nothing; what it found is compiled into a file."""
    own = {**os.environ, "PYTHONPATH": str(checkout.resolve())}
    tool = [sys.executable, "-m", "iree_tuner.cli"]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *tool, "tune", str(program.resolve()), "--budget", budget,
            "--device", given.device, "--seed", str(given.seed), "--no-db", "--json",
            "-o", f"{folder}/spec.mlir", *given.flags.split(),
        ]  # fmt: skip
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=own)
        seconds = time.monotonic() - start
        if done.returncode:
            raise SystemExit(f"{program.name}: {done.stderr}")
        *workloads, whole = [json.loads(line) for line in done.stdout.splitlines()]
        spec = ["--spec", f"{folder}/spec.mlir", "--target", whole["target"]]
        if whole.get("kernel_spec"):
            spec += ["--kernels", str(Path(folder) / whole["kernel_spec"])]
        subprocess.run(
            [*tool, "compile", str(program.resolve()), *spec, "-o", str(vmfb)], check=True, env=own
        )
    large = [each for each in workloads if each["share"] > LARGE]
    tried = [each for each in large if each["trials"] or each.get("competitors")]
    return {
        "budget": budget, "seconds": seconds, "searched_s": whole["searched_s"],
        "candidates": sum(trials_of(each) for each in workloads), "large": len(large), "tried": len(tried),
        "speedup": whole["speedup"], "interval": whole["interval"], "flags": whole["flags"],
        "changes": whole.get("changes", []), "stages": whole.get("stages", {}),
    }  # fmt: skip


def trials_of(workload: Row) -> int:
    """Candidates of every kind."""
    return workload["trials"] + sum(each["trials"] for each in workload.get("competitors", []))


def in_turns(path: Path, files: list[Path], given: argparse.Namespace) -> list[Row]:
    """What was found against the program as it was given, and against the first, all in turns."""
    program, target = load_program(str(path)), target_for_device(given.device)
    found = [file.read_bytes() for file in files]
    with Workers(1) as compilers, Workers(1) as measuring:
        as_given = compile_program(program, target, compilers).data

        def compared(default: bytes, others: list[bytes]) -> list[list[float]]:
            plan = {"rounds": 1 << 20, "depth": ErrorDepth(1 << 12, 40), "seconds": given.compared / 2}
            return [
                [each.comparison.speedup, *each.comparison.interval] if each.comparison else []
                for each in compare_programs([[default, *others]], given.device, measuring, **plan)
            ]

        gains, over_first = compared(as_given, found), compared(found[0], found[1:])
    rows = [{"gain": gain} for gain in gains]
    return [rows[0], *({**row, "over_before": one} for row, one in zip(rows[1:], over_first, strict=True))]


def table(rows: list[Row]) -> str:
    """Markdown; at the end, how what was found compares."""
    lines = [
        "| model | commit | seconds | of trials | candidates | large workloads tried | gain, as told "
        "| in turns | over before |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['model']} | {row['commit']} | {row['seconds']:.0f} | {row['searched_s']:.0f} "
            f"| {row['candidates']} | {row['tried']} of {row['large']} "
            f"| {ratio([row['speedup'], *(row['interval'] or [])])} | {ratio(row['gain'])} "
            f"| {ratio(row.get('over_before', []))} |"
        )
    for budget in dict.fromkeys(row["budget"] for row in rows):
        found = [each.get("over_before") for each in rows if each["budget"] == budget]
        ratios = [each[0] for each in found if each]
        if ratios:
            mean = statistics.geometric_mean(ratios)
            lines.append(f"\nOver what was found before, with {budget}, geometric mean: {mean:.2f}x")
    return "\n".join(lines)


def ratio(found: list[float]) -> str:
    """A ratio with its interval."""
    if len(found) == 1:
        return f"{found[0]:.2f}x"
    return "{:.2f}x ({:.2f} to {:.2f})".format(*found) if found else ""


if __name__ == "__main__":
    main()
