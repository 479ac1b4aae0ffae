"""Finals: the best candidates against the default, chosen in turns, checked for numbers, and confirmed.

The samples that choose are not the samples that judge: the best of several noisy numbers looks better than
it is. Nothing compiles while something is timed on the host's cores, so that the finals of all searches go
through each step together. All finalists are built, each search chooses, the chosen ones are built at other
places of the code, and each is judged. A single finalist is chosen already, by the search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace

from iree_tuner.compiler.worker import WorkerError
from iree_tuner.device.bench import Bench, JointBench
from iree_tuner.device.outcome import DEFAULT_WRONG
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.judging import JudgePlan
from iree_tuner.measure.measurer import AnyBench
from iree_tuner.measure.sampling import ScreenPlan
from iree_tuner.measure.statistics import Comparison
from iree_tuner.program.bindings import Harness
from iree_tuner.space.configuration import Configuration
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.candidate import CompileLimits
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.search import Search

_PROMISING = 1.05  # relative to the default: noise may hide a better one
NEARLY = 0.6
"""Least speedup alone with which code of other compilers may be faster in the program."""

ANY = 0.0
"""Where the default is wrong, what is right is worth it however long it takes."""

_TINY = 1e-9
_ANY = CompileLimits()


@dataclass(frozen=True)
class FinalPlan:
    """How a search's finals are played."""

    finalists: int  # candidates that take turns with the default
    places: int  # addresses of the code at which the chosen one is judged
    rounds: int  # pairs of a comparison at most
    seconds: float = JudgePlan.seconds  # limit of each of the two comparisons
    keep: int = 1  # number of candidates to name; `Final.others` are tried in the program
    least: float = math.inf  # least speedup of a winner; infinite: a winner needs the verdict `win`

    def takes(self, comparison: Comparison) -> bool:
        """Whether a candidate with this comparison is a winner."""
        return comparison.verdict == "win" or comparison.speedup >= self.least

    def names(self, comparison: Comparison) -> bool:
        """Whether a candidate is named: of several also one that wins only in the program."""
        return self.takes(comparison) or (self.keep > 1 and comparison.speedup >= NEARLY)

    @property
    def most_score(self) -> float:
        """Of a finalist: its time, relative to the default's."""
        least = min(self.least, NEARLY if self.keep > 1 else math.inf)
        return max(_PROMISING, 1.0 / max(least, _TINY))


@dataclass(frozen=True)
class Final:
    """Outcome of the finals: the winner, if one won; the last comparison; why others did not."""

    winner: Trial | None  # the best, if it won
    comparison: Comparison | None  # its last one, or that of the best candidate that did not win
    note: str = ""  # why others did not
    others: tuple[Final, ...] = ()  # further candidates that are named, winners first, then by speedup
    built: Built | None = None  # the winner, at the first place
    seconds: float = 0.0  # without the time of building, which all finals share

    @property
    def named(self) -> tuple[Final, ...]:
        """All that are named, the winner first."""
        return (self, *self.others) if self.winner is not None else self.others


Placed = list[tuple[bytes, list[bytes]]]
"""For each place of the code, the default and the candidates built there."""

Building = dict[Trial, Future[Built]]


@dataclass
class _Finals:
    search: Search
    plan: FinalPlan
    waiting: Iterator[Trial]
    building: Building = field(default_factory=dict[Trial, Future[Built]])
    final: Final = Final(None, None)
    seconds: float = 0.0
    refused: list[str] = field(default_factory=list[str])
    placed: list[tuple[Future[Built], Future[Built]]] = field(
        default_factory=list[tuple[Future[Built], Future[Built]]]
    )

    @property
    def note(self) -> str:
        """Why others did not win; without a winner, also those that could not be built."""
        if self.final.winner is not None:
            return self.final.note
        if self.final.comparison is None and not self.final.note and not self.refused:
            return "no candidate came close to the default's time"
        return "; ".join(filter(None, (self.final.note, *self.refused)))


def play_finals(
    searches: Sequence[Search], lab: Lab, plan_of: Callable[[Search, int], FinalPlan],
    done: Callable[[Search, Final], None] = lambda _, __: None,
    fits: Callable[[Search, int], bool] = lambda _, __: True,
) -> dict[Search, Final]:  # fmt: skip
    """The finals of searches, of each that there was time for. A winner's verdict is stored.

    Args:
        searches: with their trials.
        lab: where finalists are built and compared.
        plan_of: the plan of a search, given the number of comparisons that are left; asked again before each.
        done: called with each that has ended.
        fits: whether there is time for a search's final, given the number of those that wait to be judged.
    """
    every: list[_Finals] = []
    for search in searches:
        plan = plan_of(search, 2 * len(searches))
        found = _Finals(search, plan, _promising(search, plan.most_score))
        found.building = _build_next(found, found.plan.finalists)
        every.append(found)
    _settle(lab, [future for each in every for future in each.building.values()])
    played: list[_Finals] = []
    for place, each in enumerate(every):
        chosen = sum(one.final.winner is not None for one in played)
        if not fits(each.search, chosen):
            for future in each.building.values():
                future.cancel()
            continue
        start = time.monotonic()
        played.append(each)
        each.plan = plan_of(each.search, 2 * (len(every) - place) + chosen)
        _choose(each, lab)
        each.seconds += time.monotonic() - start
        if each.final.winner is not None:
            _build_places(each, lab)
    _settle(lab, [future for each in played for pair in each.placed for future in pair])
    left = sum(each.final.winner is not None for each in played)
    for each in played:
        start = time.monotonic()
        if each.final.winner is not None:
            each.plan = plan_of(each.search, left)
            _judge(each, lab)
            left -= 1
        if each.final.comparison is not None:
            winner = each.final.winner
            each.search.judged(winner.assignment if winner else None, each.final.comparison)
        seconds = each.seconds + time.monotonic() - start
        each.final = replace(each.final, seconds=seconds, note=each.note)
        done(each.search, each.final)
    return {each.search: each.final for each in played}


def _settle(lab: Lab, futures: Sequence[Future[Built]]) -> None:
    """Wait: nothing is timed during compilations on the same cores."""
    if lab.alternate:
        wait(futures)


def _promising(search: Search, most: float) -> Iterator[Trial]:
    """Trials that may be better than the default, best first, one for each executable."""
    seen = {search.kind.own_digest}
    ran = [trial for trial in search.trials if trial.outcome == "ok" and trial.score <= most]
    if search.corrects:
        ran = [trial for trial in ran if trial.corrects]
    for trial in sorted(ran, key=lambda each: each.score):
        if trial.digest not in seen:
            seen.add(trial.digest)
            yield trial


def _build_next(finals: _Finals, count: int) -> Building:
    """Begin to build the next finalists again: the IR was not verified when they were screened."""
    kind, building = finals.search.kind, Building()
    for trial in finals.waiting:
        building[trial] = kind.submit(trial.assignment, _ANY, place=0, verify=True)
        if len(building) == count:
            break
    return building


def _choose(finals: _Finals, lab: Lab) -> None:
    """Choose the best correct finalist, in turns with the default. A single one is only checked."""
    bench, plan, search = finals.search.kind.bench, finals.plan, finals.search
    ready = _built(finals, lab)
    while ready:
        try:
            order = _in_turns(ready, bench, plan, lab)
        except WorkerError as error:
            finals.final = Final(None, None, f"a finalist failed: {error}")
            return
        right: list[Final] = []
        wrong: list[str] = []
        for trial, comparison in order:
            if (comparison and not plan.names(comparison)) or len(right) == plan.keep:
                break
            agreement = lab.measurer.agrees(ready[trial].for_check or ready[trial].vmfb, bench)
            if search.corrects and agreement.ok and not agreement.corrects:
                continue  # no better than the default on further inputs
            if agreement.ok:
                said = agreement.note if DEFAULT_WRONG in agreement.note else ""
                right.append(Final(trial, comparison, said, built=ready[trial]))
                continue
            wrong.append(f"wrong result: {agreement.message}")
            found = replace(trial, outcome="wrong_result", message=agreement.message, worst=agreement.worst)
            search.amend(trial, found)
        if right:
            best = right[0].comparison
            if best is None or plan.takes(best):
                finals.final = replace(right[0], others=tuple(right[1:]))
            else:
                finals.final = Final(None, best, others=tuple(right))
            return
        finals.final = Final(None, None if wrong else order[0][1], "; ".join(wrong))
        finals.building = _build_next(finals, len(wrong)) if wrong else {}  # in the places of those
        _settle(lab, list(finals.building.values()))
        ready = _built(finals, lab)


def _in_turns(
    ready: Mapping[Trial, Built], bench: AnyBench, plan: FinalPlan, lab: Lab
) -> Sequence[tuple[Trial, Comparison | None]]:
    """Finalists with their comparisons, best first; None for a single one, which is judged later."""
    if len(ready) == 1:
        return [(trial, None) for trial in ready]
    placed: Placed = [(bench.default, [built.vmfb for built in ready.values()])]
    compared = lab.measurer.compare(placed, bench, JudgePlan(plan.rounds, seconds=plan.seconds))
    pairs = sorted(zip(ready, compared, strict=True), key=lambda pair: -pair[1].speedup)
    return list(pairs)


def _built(finals: _Finals, lab: Lab) -> dict[Trial, Built]:
    """Finalists that build. Those that do not are replaced by the next."""
    ready: dict[Trial, Built] = {}
    building = finals.building
    while building:
        failed = 0
        for trial, future in building.items():
            built = lab.builder.result(future)
            if built.outcome == "ok":
                current = _of_this_code(finals.search, trial, built, lab)
                if current.outcome == "ok":
                    ready[current] = built
                    continue
            failed += 1
            finals.refused.append(f"a finalist failed to compile a second time: {built.message}")
            if built.outcome == "compile_error":
                refused = replace(trial, outcome="compile_error", message=built.message, samples_us=())
                finals.search.amend(trial, refused)
        building = _build_next(finals, failed) if failed else {}
        _settle(lab, list(building.values()))
    return ready


def _of_this_code(search: Search, trial: Trial, built: Built, lab: Lab) -> Trial:
    """The trial, measured again if its code has changed since an earlier run."""
    if built.digest == trial.digest:
        return trial
    timed = lab.measurer.time(
        built.vmfb, search.kind.bench, plan=ScreenPlan(for_check=built.for_check or b"")
    )
    found = replace(
        trial, outcome=timed.outcome, samples_us=timed.samples_us, message=timed.message, digest=built.digest,
        compile_s=built.seconds, measure_s=timed.seconds, worst=timed.worst, at=time.time(),
    )  # fmt: skip
    return search.amend(trial, found)


def _build_places(finals: _Finals, lab: Lab) -> None:
    """Begin to build the default and the chosen candidate at the other places."""
    winner, kind = finals.final.winner, finals.search.kind
    assert winner is not None, "one was chosen"
    bench = kind.bench
    if isinstance(bench, JointBench):
        return
    for place in range(1, min(finals.plan.places, kind.most_places)):
        default = lab.builder.submit(bench.harness, None, place)
        finals.placed.append((default, kind.submit(winner.assignment, _ANY, place=place, verify=True)))


def _judge(finals: _Finals, lab: Lab) -> None:
    bench, plan, chosen = finals.search.kind.bench, finals.plan, finals.final
    assert chosen.built is not None, "one was chosen"
    placed: Placed = [(bench.default, [chosen.built.vmfb])]
    for pair in finals.placed:
        default, candidate = (lab.builder.result(future) for future in pair)
        if default.outcome == "ok" and candidate.outcome == "ok":
            placed.append((default.vmfb, [candidate.vmfb]))
    try:
        (comparison,) = lab.measurer.compare(placed, bench, JudgePlan(plan.rounds, seconds=plan.seconds))
    except WorkerError as error:
        finals.final = Final(None, None, f"a finalist failed: {error}")
        return
    if plan.takes(comparison):
        finals.final = replace(chosen, comparison=comparison)
    else:
        first = chosen.comparison or comparison
        alone = (replace(chosen, comparison=first, others=()),) if plan.names(first) else ()
        named = (*alone, *chosen.others) if plan.keep > 1 else ()
        finals.final = Final(None, comparison, chosen.note, others=named)


def build_placed(harness: Harness, configurations: Sequence[Configuration], lab: Lab, places: int) -> Placed:
    """The default and the candidates at each place; empty when one of them does not build."""
    futures = [
        [lab.builder.submit(harness, choice, place) for place in range(places)]
        for choice in (None, *configurations)
    ]
    columns = [[lab.builder.result(future) for future in column] for column in futures]
    if any(built.outcome != "ok" for column in columns for built in column):
        return []
    rows = zip(*columns, strict=True)
    return [(default.vmfb, [each.vmfb for each in candidates]) for default, *candidates in rows]


def why_not_elsewhere(
    task: Task, configuration: Configuration, bench: Bench, lab: Lab, plan: FinalPlan
) -> str:
    """Why a winner is not good for another dispatch with the same workload; empty if it is for all.

    A spec matches the root op, so it reaches them all; the ops fused with it may differ.
    """
    for dispatch in task.dispatches:
        harness = dispatch.harness
        if harness is None or harness.module == bench.harness.module:
            continue
        placed = build_placed(harness, [configuration], lab, 1)
        if not placed:
            tuned = lab.builder.build(harness, configuration)
            return f"in {dispatch.name}, the candidate's outcome is {tuned.outcome}: {tuned.message}"
        default, (candidate, *_) = placed[0]
        other = bench.elsewhere(harness, default)
        agreement = lab.measurer.agrees(candidate, other)
        if not agreement.ok:
            return f"in {dispatch.name}, the candidate's results differ: {agreement.message}"
        (comparison,) = lab.measurer.compare(placed, other, JudgePlan(plan.rounds, seconds=plan.seconds))
        if comparison.verdict == "lose":
            return f"in {dispatch.name}, the candidate is slower ({comparison.speedup:.2f}x)"
    return ""
