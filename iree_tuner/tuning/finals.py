"""Finals: the best candidates against the default, checked for numbers, interleaved, and confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from iree_tuner.build.candidate import Built
from iree_tuner.compiler.worker import WorkerCrashError, WorkerTimeoutError
from iree_tuner.measure.bench import Bench
from iree_tuner.measure.judging import JudgePlan
from iree_tuner.measure.statistics import Comparison
from iree_tuner.measure.trial import Trial
from iree_tuner.program.bindings import Harness
from iree_tuner.space.configuration import Configuration
from iree_tuner.tuning.effort import Effort
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Ledger
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.task import Task

_PROMISING = 1.05  # relative to the default: noise may have held back a better one by so much


@dataclass(frozen=True)
class Final:
    """Outcome of the finals: the winner, if one won; the last comparison; why others did not.

    Attributes:
        winner: the best, if it won.
        comparison: its last one with the default, or that of the best that did not win.
        note: why others did not.
        others: what won against the default too, best first, each with its comparison.
    """

    winner: Trial | None
    comparison: Comparison | None
    note: str = ""
    others: tuple[Final, ...] = ()

    @property
    def winners(self) -> tuple[Final, ...]:
        """All that won, the best first."""
        return (self, *self.others) if self.winner is not None else ()


Placed = list[tuple[bytes, list[bytes]]]
"""For each place of the code, the default and the candidates built there."""


@dataclass(frozen=True)
class _Finalist:
    """A trial with its executables, one a place."""

    trial: Trial
    configuration: Configuration
    vmfbs: list[bytes]


def play_finals(
    task: Task, search: Search, lab: Lab, effort: Effort, ledger: Ledger, seconds: float = JudgePlan.seconds,
    keep: int = 1,
) -> Final:  # fmt: skip
    """Choose the best finalist, then judge it on fresh samples, on every dispatch that has the workload.

    The samples that choose are not the samples that judge: the best of several noisy numbers looks better
    than it is.

    Args:
        task: the workload and its dispatches.
        search: what was tried.
        lab: where finalists are built and compared.
        effort: how many there are, and how long they are compared.
        ledger: keeps the verdict.
        seconds: what each comparison may take.
        keep: winners that are named: `Final.others` are for whoever tries them in the program.
    """
    places = effort.places(lab.target)
    defaults, failed = _built(search.bench.harness, None, lab, places)
    if failed is not None:
        return Final(None, None, f"the default could not be built a second time: {failed.message}")
    finalists, notes = _qualified(search, lab, effort, ledger)
    if not finalists:
        return Final(None, None, notes or "no candidate came near the default")
    plan = JudgePlan(effort.rounds, seconds=seconds)
    try:
        comparisons = lab.measurer.compare(_placed(defaults, finalists), search.bench, plan)
        best = max(range(len(finalists)), key=lambda index: comparisons[index].speedup)
        chosen, comparison = finalists[best], comparisons[best]
        if comparison.verdict == "win":
            (comparison,) = lab.measurer.compare(_placed(defaults, [chosen]), search.bench, plan)
    except (WorkerCrashError, WorkerTimeoutError) as error:
        return Final(None, None, f"a finalist failed: {error}")
    ledger.judged(chosen.trial.assignment, comparison)
    if comparison.verdict != "win":
        return Final(None, comparison, notes)
    against = _elsewhere(task, chosen.configuration, search, lab, plan, places)
    if against:
        return Final(None, comparison, against)
    others = [
        Final(finalists[index].trial, comparisons[index])
        for index in sorted(range(len(finalists)), key=lambda index: -comparisons[index].speedup)
        if index != best and comparisons[index].verdict == "win"
    ]
    return Final(chosen.trial, comparison, notes, tuple(others[: keep - 1]))


def build_placed(harness: Harness, configurations: Sequence[Configuration], lab: Lab, places: int) -> Placed:
    """The default and the candidates at each place; empty when one of them does not build."""
    columns = [_built(harness, choice, lab, places)[0] for choice in (None, *configurations)]
    if not all(columns):
        return []
    return [(default, list(candidates)) for default, *candidates in zip(*columns, strict=True)]


def _built(
    harness: Harness, choice: Configuration | None, lab: Lab, places: int
) -> tuple[list[bytes], Built | None]:
    """Executables at each place; none when one does not build, and that one."""
    found = lab.builder.build_placements(harness, choice, places)
    failed = next((built for built in found if built.outcome != "ok"), None)
    return ([], failed) if failed else ([built.vmfb for built in found], None)


def _placed(defaults: Sequence[bytes], finalists: Sequence[_Finalist]) -> Placed:
    rows = zip(*(finalist.vmfbs for finalist in finalists), strict=True)
    return [(default, list(row)) for default, row in zip(defaults, rows, strict=True)]


def _qualified(search: Search, lab: Lab, effort: Effort, ledger: Ledger) -> tuple[list[_Finalist], str]:
    """The best candidates that build at every place and whose numbers are right, one for each executable."""
    found: list[_Finalist] = []
    note = ""
    for trial in _promising(search):
        if len(found) == effort.finalists:
            break
        configuration = search.configure(trial.assignment)
        vmfbs, failed = _built(search.bench.harness, configuration, lab, effort.places(lab.target))
        if failed is not None:  # it was not verified when it was screened
            note = f"a finalist could not be built a second time: {failed.message}"
            if failed.outcome == "compile_error":
                refused = replace(trial, outcome="compile_error", message=failed.message, samples_us=())
                search.amend(trial, ledger.record(refused))
            continue
        agreement = lab.measurer.agrees(vmfbs[0], search.bench)
        if agreement.ok:
            note = agreement.note if "default itself" in agreement.note else note
            found.append(_Finalist(trial, configuration, vmfbs))
            continue
        note = f"wrong result: {agreement.message}"
        wrong = replace(trial, outcome="wrong_result", message=agreement.message, worst=agreement.worst)
        search.amend(trial, ledger.record(wrong))
    return found, note


def _promising(search: Search) -> Iterator[Trial]:
    """Trials that may be better than the default, best first, one for each executable."""
    seen = {search.default_digest}
    ran = [trial for trial in search.trials if trial.outcome == "ok" and trial.score <= _PROMISING]
    for trial in sorted(ran, key=lambda each: each.score):
        if trial.digest not in seen:
            seen.add(trial.digest)
            yield trial


def _elsewhere(
    task: Task, configuration: Configuration, search: Search, lab: Lab, plan: JudgePlan, places: int
) -> str:
    """Why a winner does not do for another dispatch with the same workload; empty when it does for all.

    A spec matches the root op, so that it reaches them all; what is fused with it may differ.
    """
    for dispatch in task.dispatches:
        harness = dispatch.harness
        if harness is None or harness.module == search.bench.harness.module:
            continue
        tuned = lab.builder.build(harness, configuration)
        placed = build_placed(harness, [configuration], lab, places) if tuned.outcome == "ok" else []
        if not placed:
            return f"in {dispatch.name} it ends in {tuned.outcome}: {tuned.message}"
        default, (candidate, *_) = placed[0]
        bench: Bench = replace(search.bench, harness=harness, default=default)
        agreement = lab.measurer.agrees(candidate, bench)
        if not agreement.ok:
            return f"in {dispatch.name} its numbers differ: {agreement.message}"
        (comparison,) = lab.measurer.compare(placed, bench, plan)
        if comparison.verdict == "lose":
            return f"in {dispatch.name} it is slower ({comparison.speedup:.2f}x)"
    return ""
