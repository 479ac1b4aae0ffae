"""How many of a space's legal assignments compile: seeded samples, each built to a VM module.

    python benchmarks/space_compile_rate.py --samples 200 --json rates.jsonl [CASE ...]

Prints a table and, for each case, why its failures failed. Every assignment is compiled in a worker
process that may die; a crash or a time-out is a failure with that reason.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from iree.compiler import ir, passmanager

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.session import CompilerSession
from iree_tuner.compiler.worker import WorkerCrashError, Workers, WorkerTimeoutError
from iree_tuner.ops.family import describe, family
from iree_tuner.space import Space, build_space
from iree_tuner.targets import parse_target
from iree_tuner.targets.limits import cpu_limits

sys.path.insert(0, str(Path(__file__).parent))
from space_cases import CASES, Case
from space_worker import OK, compile_with, compute_ops

TARGET = parse_target("llvm-cpu:host")


@dataclass(frozen=True)
class Rate:
    """What came of one case. `distinct` counts different executables among those compiled."""

    case: str
    count: int
    enumerate_s: float
    sampled: int
    compiled: int
    distinct: int
    compile_s: float
    reasons: dict[str, int]
    examples: dict[str, str]


def main() -> int:
    """Run the cases. Exit status 1 when less than 95 % of a case compiles."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", help="names of cases; all of them without")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write one JSON object a case to this file")
    arguments = parser.parse_args()
    session = CompilerSession(TARGET.flags)
    rates: list[Rate] = []
    print(f"{'case':20} {'members':>9} {'enum s':>7} {'compiled':>9} {'distinct':>8} {'s each':>7}")
    with Workers(arguments.jobs) as workers:
        for case in CASES:
            if not arguments.cases or case.name in arguments.cases:
                rates.append(measure(case, session, workers, arguments.samples, arguments.seed))
                show(rates[-1])
    if arguments.json:
        arguments.json.write_text("".join(json.dumps(asdict(rate)) + "\n" for rate in rates))
    return 0 if all(rate.compiled >= 0.95 * rate.sampled for rate in rates) else 1


def show(rate: Rate) -> None:
    """One line of the table, and the reasons of failures below it."""
    each = rate.compile_s / max(1, rate.sampled)
    print(
        f"{rate.case:20} {rate.count:>9} {rate.enumerate_s:>7.2f} "
        f"{rate.compiled:>4}/{rate.sampled:<4} {rate.distinct:>8} {each:>7.2f}",
        flush=True,
    )
    for reason, count in rate.reasons.items():
        print(f"    {count} x {reason}\n      e.g. {rate.examples[reason]}", flush=True)


def measure(case: Case, session: CompilerSession, workers: Workers, samples: int, seed: int) -> Rate:
    """Sample a case's space and compile each sample."""
    module = prepare(case, session)
    ops = compute_ops(module)
    workload = describe(ops[case.root])
    if workload is None:
        raise SystemExit(f"no family describes {ops[case.root]}")
    labelled = family(workload.family).locate(ops[case.root], workload)
    places = {label: ops.index(op) for label, op in labelled.items()}
    space = build_space(workload, cpu_limits(executable_target(module)), session.context)
    started = time.perf_counter()
    count = space.count()
    enumerate_s = time.perf_counter() - started
    started = time.perf_counter()
    outcomes = list(compile_samples(space, places, to_bytecode(module), workers, samples, seed))
    failed = [(outcome, text) for outcome, text in outcomes if not outcome.startswith(OK)]
    return Rate(
        case=case.name,
        count=count,
        enumerate_s=round(enumerate_s, 3),
        sampled=len(outcomes),
        compiled=len(outcomes) - len(failed),
        distinct=len({outcome for outcome, _ in outcomes if outcome.startswith(OK)}),
        compile_s=round(time.perf_counter() - started, 1),
        reasons=dict(Counter(reason for reason, _ in failed).most_common()),
        examples=dict(failed),
    )


def compile_samples(
    space: Space, places: Mapping[str, int], source: bytes, workers: Workers, samples: int, seed: int
) -> Iterator[tuple[str, str]]:
    """The outcome of each sample, and the sample as text."""
    jobs = []
    for assignment in space.sample(samples, seed):
        puts = [(places[op.label], op.attribute, op.value) for op in space.configuration(assignment).ops]
        future = workers.submit(compile_with, TARGET.flags, source, puts, timeout_s=60)
        jobs.append((json.dumps(dict(assignment)), future))
    for text, future in jobs:
        try:
            yield workers.wait(future), text
        except WorkerCrashError as error:
            yield f"crash with exit code {error.exit_code}", text
        except WorkerTimeoutError:
            yield "no result within 60 s", text


def prepare(case: Case, session: CompilerSession) -> ir.Module:
    """The case's only dispatch, as tuning specs see it after their prologue."""
    module = session.parse(case.source, case.name)
    session.run(module, stop="executable-sources")
    passes = ",".join((*TARGET.preparation, *TARGET.spec_prologue))
    nested = f"builtin.module(hal.executable(hal.executable.variant(builtin.module(func.func({passes})))))"
    with session.context:
        passmanager.PassManager.parse(nested).run(module.operation)
    return module


def executable_target(module: ir.Module) -> ir.Attribute:
    """The target attribute of the module's executable variant."""
    found: list[ir.Attribute] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "hal.executable.variant":
            found.append(op.attributes["target"])
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found[0]


if __name__ == "__main__":
    sys.exit(main())
