"""A configuration that is faster alone and slower in the program: is it caught by the program's verdict?

The program multiplies a vector with many matrices, one after another, which together are larger than all
caches. Alone, with warm caches (`--warm` of `iree-tuner tune`), one matrix stays in the second-level cache,
and the compiler's default meets configurations that are faster there and slower where data comes from memory.
Such a one is looked for by timing samples both ways, confirmed with warm caches by a comparison at all places
of the code as the finals make it, and handed to the program's verdict as a winner, beside an honest one for
another workload of the program.

    python benchmarks/planted_winner.py
    python benchmarks/planted_winner.py --matrices 48 --samples 200

Prints what it found, what was compared, and what the verdict left out, as JSON; exit status 1 where no such
configuration is there, or where it is not left out.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from iree.compiler import ir
from iree.compiler.dialects import arith, func, linalg, tensor

from iree_tuner.compiler.context import new_context
from iree_tuner.device.program_request import request
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.measure.statistics import Comparison, JudgePlan
from iree_tuner.program.source import Program, load_program
from iree_tuner.space.configuration import Configuration
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.baseline import Baseline, measure_baselines
from iree_tuner.tuning.budget import Budget
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.finals import build_placed
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.options import effort_named
from iree_tuner.tuning.reading import read_tasks
from iree_tuner.tuning.result import WorkloadResult
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.timeline import Timeline
from iree_tuner.tuning.verdict import ProgramJudge, Tuned, Verdict
from iree_tuner.tuning.versions import ProgramVersions

HEAD = 512  # columns of the honest workload


@dataclass(frozen=True)
class Found:
    """A configuration with its comparison alone, and what the program is to gain by it."""

    baseline: Baseline
    configuration: Configuration
    comparison: Comparison

    @property
    def result(self) -> WorkloadResult:
        """As a search would have it."""
        task = self.baseline.task
        return WorkloadResult(
            task, self.baseline.share, comparison=self.comparison, weight_us=self.baseline.weight_us,
            entry=SpecEntry(task.workload, self.configuration),
        )  # fmt: skip


def main() -> None:
    """Look for one, plant it, ask the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--matrices", type=int, default=64)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument("--samples", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    program = load_program(chain(options.matrices, options.rows, options.columns))
    with Lab(target_for_device("local-task")) as lab:
        tasks = read_tasks(program, lab, Silent())
        baselines = measure_baselines(tasks, lab, StopRequest())
        planted = faster_alone(baselines[0], lab, options.samples, options.seed)
        if planted is None:
            sys.exit("nothing is faster with warm caches and slower with cold ones")
        honest = best_of(baselines[1], lab, options.samples, options.seed)
        print(json.dumps({"planted": told(planted), "honest": told(honest) if honest else None}), flush=True)
        results = [found.result for found in (planted, honest) if found is not None]
        verdict, whole = judged(program, lab, results)
    print(json.dumps({"steps": [step_of(each) for each in whole.steps]}))
    left_out = [entry.workload.name for entry in verdict.left_out]
    kept = [entry.workload.name for entry in verdict.version.entries]
    print(json.dumps({"left_out": left_out, "kept": kept, "note": verdict.note}))
    sys.exit(planted.baseline.task.workload.name not in left_out)


def chain(matrices: int, rows: int, columns: int) -> ir.Module:
    """`x` times each of many matrices that are `rows` x `columns`, the sum of it all times another one."""
    with new_context(), ir.Location.unknown():
        element = ir.F32Type.get()

        def of(*shape: int) -> ir.RankedTensorType:
            return ir.RankedTensorType.get(shape, element)

        taken = [of(1, rows), of(1, columns), of(columns, HEAD), *[of(rows, columns)] * matrices]
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ir.FunctionType.get(taken, [of(1, HEAD)]))
        with ir.InsertionPoint(function.add_entry_block()):
            x, total, head, *weights = function.arguments
            for weight in weights:
                total = linalg.matmul(x, weight, outs=[total])
            zeros = linalg.fill(arith.constant(element, 0.0), outs=[tensor.empty((1, HEAD), element)])
            func.ReturnOp([linalg.matmul(total, head, outs=[zeros])])
        return module


def sampled(
    baseline: Baseline, lab: Lab, samples: int, seed: int
) -> Iterator[tuple[Configuration, float, float]]:
    """Configurations that run, with their scores with warm caches and with cold ones."""
    space = baseline.space
    assert space is not None
    benches = [replace(baseline.bench, cold=cold) for cold in (False, True)]
    configurations = [space.configuration(each) for each in islice(space.shuffled(seed), samples)]
    built = lab.builder.build_all(baseline.bench.harness, configurations)
    made = [(one, each) for one, each in zip(configurations, built, strict=True) if each.outcome == "ok"]
    defaults = [min(lab.measurer.time(baseline.default.vmfb, bench).samples_us) for bench in benches]
    for configuration, each in made:
        timed = [lab.measurer.time(each.vmfb, bench) for bench in benches]
        if all(one.outcome == "ok" for one in timed):
            warm, cold = (min(one.samples_us) / us for one, us in zip(timed, defaults, strict=True))
            yield configuration, warm, cold


def faster_alone(baseline: Baseline, lab: Lab, samples: int, seed: int) -> Found | None:
    """The configuration that loses most by cold caches, of those that win with warm ones."""
    rows = sorted(sampled(baseline, lab, samples, seed), key=lambda row: row[1] - row[2])
    for configuration, warm, cold in rows:
        if warm > 0.97 or cold < 1.05:
            continue
        comparison = compared(baseline, configuration, lab, cold=False)
        if comparison is not None and comparison.verdict == "win":
            return Found(baseline, configuration, comparison)
    return None


def best_of(baseline: Baseline, lab: Lab, samples: int, seed: int) -> Found | None:
    """The best with cold caches."""
    rows = sorted(sampled(baseline, lab, samples, seed), key=lambda row: row[2])
    comparison = compared(baseline, rows[0][0], lab, cold=True) if rows else None
    won = comparison is not None and comparison.verdict == "win"
    return Found(baseline, rows[0][0], comparison) if won and comparison is not None else None


def compared(baseline: Baseline, configuration: Configuration, lab: Lab, *, cold: bool) -> Comparison | None:
    """As the finals do it."""
    (placed,) = play(lab, [build_placed(baseline.bench.harness, [configuration], lab, lab.target.placements)])
    if not placed:
        return None
    return lab.measurer.compare(placed, replace(baseline.bench, cold=cold), JudgePlan(1280))[0]


def judged(program: Program, lab: Lab, results: Sequence[WorkloadResult]) -> tuple[Verdict, ProgramVersions]:
    """What the program says of entries that have won alone."""
    whole = ProgramVersions(program, request(program), lab, Silent(), ErrorDepth(1 << 12, 40))
    budget = Budget(math.inf, Timeline(), lab.jobs, StopRequest())
    judge = ProgramJudge(whole, lab.target, effort_named("default"), budget)
    entries = tuple(each.entry for each in results if each.entry is not None)
    return judge.choose([Tuned(lab.target, tuple(results), entries)]), whole


def told(found: Found) -> dict[str, object]:
    """For the output."""
    return {
        "workload": found.baseline.task.workload.name,
        "calls": found.baseline.task.calls,
        "configuration": found.configuration.ops[0].value,
        "speedup alone": found.comparison.speedup,
        "interval": found.comparison.interval,
    }


def step_of(step: object) -> dict[str, object]:
    """A comparison of the whole program."""
    comparison: Comparison | None = getattr(step, "comparison", None)
    return {
        "what": getattr(step, "what", ""),
        "against": getattr(step, "against", ""),
        "speedup": comparison.speedup if comparison else None,
        "interval": comparison.interval if comparison else None,
        "verdict": comparison.verdict if comparison else None,
    }


if __name__ == "__main__":
    main()
