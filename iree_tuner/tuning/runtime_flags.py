"""Flags of the runtime as knobs of the whole program: tried last, on the version that is used."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from iree_tuner.errors import TunerError
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.targets import kind_of_device
from iree_tuner.targets.kind import RuntimeFlag, RuntimeFlags
from iree_tuner.tuning.budget import Budget
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.plan import TuningPlan
from iree_tuner.tuning.versions import ComparisonPlan, ProgramVersion, ProgramVersions

ENVIRONMENT = "IREE_PY_RUNTIME_FLAGS"
"""The variable that IREE's Python runtime reads flags from."""


@dataclass(frozen=True)
class RuntimeChoice:
    """Flags of the runtime that make a program faster.

    Attributes:
        flags: as tools take them.
        speedup: of the same program over the runtime's defaults: the product of the flags' own.
        note: why none were tried.
    """

    flags: tuple[str, ...] = ()
    speedup: float = 1.0
    note: str = ""


def runtime_flags_of(lab: Lab, plan: TuningPlan) -> list[RuntimeFlag]:
    """Flags to try on the first device, without the ones that the user has set for the process."""
    if not plan.try_flags or plan.options.self_test:
        return []
    device, given = lab.measurer.device, os.environ.get(ENVIRONMENT, "")
    known = kind_of_device(device).runtime_flags(device, lab.measurer.facts.cores)
    return [each for each in known if each.name not in given]


def choose_runtime(
    version: ProgramVersion | None, versions: ProgramVersions, lab: Lab, plan: TuningPlan, budget: Budget
) -> RuntimeChoice:
    """Flags under which a version is measurably faster; none where there is no version that runs.

    They are added one at a time, the best one first, while that wins.
    """
    left = runtime_flags_of(lab, plan)
    chosen = RuntimeChoice()
    base: RuntimeFlags = ()
    while version is not None and left and not budget.stop.requested:
        seconds = budget.runtime_rounds_s(len(left))
        if not budget.runtime_fits(len(left)):
            return chosen if base else RuntimeChoice(note="no runtime flags were tried: no time left")
        look = ComparisonPlan(1, plan.effort.program_rounds, plan.effort.program_batch_s, seconds)
        others: list[RuntimeFlags] = [(*base, each) for each in left]
        found: list[ProgramComparison] = []
        try:
            with budget.stop.cancelling(lab.compilers, lab.measurer.workers):
                found = versions.compare_runtimes(version, base, others, look)
        except TunerError as error:
            return replace(chosen, note=f"runtime flags were not compared: {error}")
        won = [
            (one.comparison.speedup, flags)
            for flags, one in zip(others, found, strict=False)
            if one.comparison is not None and one.comparison.verdict == "win"
        ]
        if not won:
            break
        speedup, base = max(won, key=lambda each: each[0])
        chosen = RuntimeChoice(tuple(each.text for each in base), chosen.speedup * speedup)
        left = [each for each in left if each.name != base[-1].name]
    return chosen
