"""How many of a space's legal assignments compile: seeded samples, each built to a VM module.

    python benchmarks/space_compile_rate.py --targets hip:gfx942,cuda:sm_80 --samples 200 --json rates.jsonl
    python benchmarks/space_compile_rate.py --targets llvm-cpu:host --samples 200

Prints a line for each space of each program on each target and, below it, why its failures failed. Every
assignment is compiled in a worker process that may die: a crash or a time-out is a failure with that reason.
Programs are those in `programs/ops/`: with `cpu_` for llvm-cpu, the others for GPUs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path

from iree.compiler import ir
from space_programs import programs, spaces_of

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Ok, Timeout, Workers
from iree_tuner.measure.candidate import Built, build_here
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.space.space import Space
from iree_tuner.targets import Target, parse_target

WANTED = {"contraction": 0.97}  # others: 0.95
COMPILES_PER_WORKER = 500


@dataclass(frozen=True)
class Rate:
    """What came of one space. `distinct` counts different executables among those compiled."""

    program: str
    target: str
    space: str
    count: int
    sampled: int
    compiled: int
    distinct: int
    not_applied: int
    wanted: float
    compile_s: float
    slowest_s: float
    reasons: dict[str, int]
    examples: dict[str, str]

    @property
    def good(self) -> bool:
        """Whether enough of the samples compile, and none lost its configuration."""
        return self.compiled >= self.wanted * self.sampled and not self.not_applied


@dataclass(frozen=True)
class Job:
    """The samples of one space, on their way through the compiler."""

    program: str
    target: Target
    dispatch: Dispatch
    space: Space
    samples: list[tuple[str, Future[Built]]]


def main() -> int:
    """Run the programs on the targets. Exit status 1 when too little of a space compiles."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="*", help="files, or names of files in programs/ops/; all without")
    parser.add_argument("--targets", default="llvm-cpu:host", help="separated by commas")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one compilation")
    parser.add_argument("--json", type=Path, help="append one JSON object a space to this file")
    arguments = parser.parse_args()
    context = new_context()
    rates: list[Rate] = []
    heads = ("members", "compile", "distinct", "slowest")
    print(f"{'program':44} {'target':14} {'space':22}", "{:>9} {:>9} {:>8} {:>7}".format(*heads))
    with Workers(arguments.jobs, tasks_per_worker=COMPILES_PER_WORKER) as workers:
        jobs = [
            job
            for target in arguments.targets.split(",")
            for program in programs(arguments.programs, target)
            for job in submit(program, parse_target(target), workers, context, arguments)
        ]
        for job in jobs:
            rates.append(collect(job, workers))
            show(rates[-1])
            if arguments.json:
                with arguments.json.open("a") as file:
                    file.write(json.dumps(asdict(rates[-1])) + "\n")
    return 0 if all(rate.good for rate in rates) else 1


def submit(
    program: Path, target: Target, workers: Workers, context: ir.Context, arguments: argparse.Namespace
) -> Iterator[Job]:
    """Send the samples of each of a program's spaces to the workers."""
    for dispatch, spaces in spaces_of(program, target, workers, context):
        assert dispatch.harness is not None
        harness = dispatch.harness.module
        for space in spaces:
            samples: list[tuple[str, Future[Built]]] = []
            for assignment in space.sample(arguments.samples, arguments.seed):
                future = workers.submit(
                    build_here,
                    harness,
                    target.flags,
                    space.configuration(assignment),
                    timeout_s=arguments.timeout,
                )
                samples.append((json.dumps(dict(assignment)), future))
            yield Job(program.stem, target, dispatch, space, samples)


def collect(job: Job, workers: Workers) -> Rate:
    """Wait for a space's samples."""
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    examples: dict[str, str] = {}
    digests: set[str] = set()
    seconds: list[float] = [0.0]
    started = time.perf_counter()
    for text, future in job.samples:
        built = wait(future, workers)
        outcomes[built.outcome] += 1
        seconds.append(built.seconds)
        if built.outcome == "ok":
            digests.add(built.digest)
        else:
            reason = f"{built.outcome}: {general(built.message)}"
            reasons[reason] += 1
            examples.setdefault(reason, text)
    assert job.dispatch.workload is not None
    return Rate(
        program=job.program,
        target=str(job.target),
        space=job.space.label,
        count=job.space.count(),
        sampled=len(job.samples),
        compiled=outcomes["ok"],
        distinct=len(digests),
        not_applied=outcomes["not_applied"],
        wanted=WANTED.get(job.dispatch.workload.family, 0.95),
        compile_s=round(time.perf_counter() - started, 1),
        slowest_s=round(max(seconds), 1),
        reasons=dict(reasons.most_common()),
        examples=examples,
    )


def wait(future: Future[Built], workers: Workers) -> Built:
    """The outcome of one compilation, whatever became of its worker."""
    match workers.end(future):
        case Ok(built):
            return built
        case Timeout(limit_s) as end:
            return Built("compile_timeout", message=str(end), seconds=limit_s)
        case end:
            return Built("compile_crash", message=str(end))


def general(message: str) -> str:
    """A message's first line without what differs between failures of one class."""
    return re.sub(r"\d{3,}", "N", message.strip().splitlines()[0])[:200] if message.strip() else "no message"


def show(rate: Rate) -> None:
    """One line of the table, and the reasons of failures below it."""
    mark = "" if rate.good else "   <-- too few"
    print(
        f"{rate.program:44} {rate.target:14} {rate.space:22} {rate.count:>9} "
        f"{rate.compiled:>4}/{rate.sampled:<4} {rate.distinct:>8} {rate.slowest_s:>6.1f}s{mark}",
        flush=True,
    )
    for reason, count in rate.reasons.items():
        print(f"    {count} x {reason}\n      e.g. {rate.examples[reason]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
