"""Finals: the best candidates against the default, checked for numbers, interleaved, and confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iree_tuner.compiler.worker import WorkerCrashError, WorkerTimeoutError
from iree_tuner.measure.statistics import Comparison
from iree_tuner.measure.trial import Trial
from iree_tuner.program.dispatch import Harness
from iree_tuner.space.configuration import Configuration
from iree_tuner.tuning.effort import Effort
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.rounds import Search
from iree_tuner.tuning.task import Task

_PROMISING = 1.05  # relative to the default: noise may have held back a better one by so much


@dataclass(frozen=True)
class Final:
    """Outcome of the finals: the winner, if one won; the last comparison; why others did not."""

    winner: Trial | None
    comparison: Comparison | None
    note: str = ""


def play_finals(task: Task, search: Search, lab: Lab, effort: Effort) -> Final:
    """Choose the best finalist, then judge it on fresh samples, on every dispatch that has the workload.

    The samples that choose are not the samples that judge: the best of several noisy numbers looks better
    than it is.
    """
    finalists, notes = _qualified(task, search, lab, effort.finalists)
    if not finalists:
        return Final(None, None, notes or "no candidate came near the default")
    configurations = [search.space.configuration(trial.assignment) for trial in finalists]
    placed = build_placed(search.harness, configurations, lab)
    if not placed:
        return Final(None, None, "a finalist could not be built a second time")
    try:
        comparisons = lab.measurer.compare(placed, search.harness, effort.rounds)
        best = max(range(len(finalists)), key=lambda index: comparisons[index].speedup)
        if comparisons[best].verdict != "win":
            return Final(None, comparisons[best], notes)
        alone = [(default, [candidates[best]]) for default, candidates in placed]
        (confirmed,) = lab.measurer.compare(alone, search.harness, effort.rounds)
    except (WorkerCrashError, WorkerTimeoutError) as error:
        return Final(None, None, f"a finalist failed: {error}")
    if confirmed.verdict != "win":
        return Final(None, confirmed, notes)
    against = _elsewhere(task, configurations[best], search, lab, effort.rounds)
    return Final(None, confirmed, against) if against else Final(finalists[best], confirmed, notes)


Placed = list[tuple[bytes, list[bytes]]]


def build_placed(harness: Harness, configurations: Sequence[Configuration], lab: Lab) -> Placed:
    """The default and the candidates at each place; empty when one of them does not build."""
    count = lab.target.placements
    columns = [lab.builder.build_placements(harness, choice, count) for choice in (None, *configurations)]
    if any(built.outcome != "ok" for column in columns for built in column):
        return []
    rows = zip(*columns, strict=True)
    return [(default.vmfb, [built.vmfb for built in candidates]) for default, *candidates in rows]


def _qualified(task: Task, search: Search, lab: Lab, count: int) -> tuple[list[Trial], str]:
    """The best candidates whose numbers are right, one for each executable."""
    ranked = sorted(
        (t for t in search.trials if t.digest in search.executables), key=lambda trial: trial.score
    )
    found: list[Trial] = []
    seen: set[str] = set()
    note = ""
    for trial in ranked:
        if len(found) == count or trial.score > _PROMISING:
            break
        if trial.digest in seen:
            continue
        seen.add(trial.digest)
        vmfb = search.executables[trial.digest]
        agreement = lab.measurer.agrees(vmfb, search.default.vmfb, search.harness, task.workload)
        if agreement.ok:
            found.append(trial)
        else:
            note = f"wrong result: {agreement.message}"
            position = search.trials.index(trial)
            search.trials[position] = replace(trial, outcome="wrong_result", message=agreement.message)
    return found, note


def _elsewhere(task: Task, configuration: Configuration, search: Search, lab: Lab, rounds: int) -> str:
    """Why a winner does not do for another dispatch with the same workload; empty when it does for all.

    A spec matches the root op, so that it reaches them all; what is fused with it may differ.
    """
    for dispatch in task.dispatches:
        harness = dispatch.harness
        if harness is None or _same_code(harness, search.harness):
            continue
        tuned = lab.builder.build(harness, configuration)
        placed = build_placed(harness, [configuration], lab) if tuned.outcome == "ok" else []
        if not placed:
            return f"in {dispatch.name} it ends in {tuned.outcome}: {tuned.message}"
        default, (candidate,) = placed[0]
        agreement = lab.measurer.agrees(candidate, default, harness, task.workload)
        if not agreement.ok:
            return f"in {dispatch.name} its numbers differ: {agreement.message}"
        (comparison,) = lab.measurer.compare(placed, harness, rounds)
        if comparison.verdict == "lose":
            return f"in {dispatch.name} it is slower ({comparison.speedup:.2f}x)"
    return ""


def _same_code(first: Harness, second: Harness) -> bool:
    return first.module == second.module
