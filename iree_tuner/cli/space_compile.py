"""`iree-tuner space --compile`: compile samples of a space."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from iree_tuner.cli.output import people, print_json
from iree_tuner.cli.space_inputs import WorkloadSpaces
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import UsageError
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.pool import Builder
from iree_tuner.space import Assignment, Space
from iree_tuner.targets import Target


@dataclass(frozen=True)
class SampleCompilation:
    """How to compile samples."""

    target: Target
    sample: int
    seed: int
    jobs: int | None
    timeout_s: float
    as_json: bool


def compile_samples(given: WorkloadSpaces, built: Space, how: SampleCompilation) -> bool:
    """Compile random samples and print one line per sample, in the sample's order. True if all compile."""
    harness = given.dispatch.harness if given.dispatch else None
    if harness is None:
        raise UsageError("--compile requires a program: a workload alone has no code to compile")
    picked = built.sample(how.sample, how.seed)
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    digests: set[str] = set()
    with Workers(how.jobs or os.cpu_count() or 1) as workers:
        builder = Builder(how.target, workers, how.timeout_s)
        configurations = [built.configuration(each) for each in picked]
        for assignment, result in zip(picked, builder.build_all(harness, configurations), strict=True):
            outcomes[result.outcome] += 1
            if result.outcome == "ok":
                digests.add(result.digest)
            else:
                reasons[f"{result.outcome}: {headline(result.message)}"] += 1
            _print(given.name, built, assignment, result, how.as_json)
    people.print(
        escape(
            f"{given.name}: {built.label}: {outcomes['ok']} of {len(picked)} samples compile, to "
            f"{len(digests)} different executables; the space has {built.count()} assignments"
        )
    )
    for reason, number in reasons.most_common():
        people.print(escape(f"  {number} x {reason}"))
    return outcomes["ok"] == len(picked)


def headline(message: str) -> str:
    """The first non-empty line of a message, shortened."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[0][:300] if lines else "no message"


def _print(name: str, built: Space, assignment: Assignment, result: Built, as_json: bool) -> None:
    if as_json:
        record: dict[str, object] = {
            "name": name,
            "space": built.label,
            "assignment": dict(assignment),
            "outcome": result.outcome,
            "seconds": round(result.seconds, 3),
            "message": result.message,
            "digest": result.digest if result.outcome == "ok" else "",
        }
        print_json(record)
        return
    line = " ".join(f"{knob}={value}" for knob, value in assignment.items())
    end = f": {headline(result.message)}" if result.message else ""
    Console(soft_wrap=True, highlight=False, markup=False).print(
        f"{result.outcome:15} {result.seconds:6.2f} s  {line}{end}"
    )
