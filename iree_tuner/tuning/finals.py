"""Finals: the best candidates against the default, chosen in turns, checked for numbers, and confirmed.

The samples that choose are not the samples that judge: the best of several noisy numbers looks better than
it is. A final is a generator of jobs: its finalists are built, it chooses in its turn on the judging device,
the chosen one is built at other places of the code, and is judged in its next turn. A single finalist is
chosen already, by the search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeVar

from iree_tuner.compiler.worker import WorkerError
from iree_tuner.device.bench import Bench
from iree_tuner.device.outcome import DEFAULT_WRONG
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.statistics import Comparison, JudgePlan
from iree_tuner.program.bindings import Harness
from iree_tuner.space.configuration import Configuration
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.candidate import CompileLimits
from iree_tuner.tuning.engine import Engine, play
from iree_tuner.tuning.jobs import Agree, Build, Compare, Job, Jobs, Placed, Time, result, results, turn
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.search import InTurns, Search
from iree_tuner.tuning.stop import StopRequest

T = TypeVar("T")

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


PlanOf = Callable[[Search, int], FinalPlan]


@dataclass(frozen=True)
class _Round:
    """The finals that share the time."""

    plan_of: PlanOf
    done: Callable[[Search, Final], None]
    fits: Callable[[Search, int], bool]
    left: dict[Search, int]  # comparisons: to choose a candidate and to judge it

    def plan(self, search: Search) -> FinalPlan:
        """The plan of a search, by what is left now."""
        return self.plan_of(search, sum(self.left.values()))


def play_searches(
    searches: Sequence[Search], lab: Lab, stop: StopRequest, plan_of: PlanOf, until: float = math.inf,
    tried: Callable[[Search], None] = lambda _: None,
) -> dict[Search, Final]:  # fmt: skip
    """Try the candidates of searches in turns until a time of the clock, then play the finals of all.

    Searches without a trial have no final. `tried` is called with the search of each candidate that ended.
    """
    for search, _ in Engine(lab, stop, 2 * lab.jobs).run(InTurns(searches), lambda: until):
        tried(search)
    return play_finals([search for search in searches if search.trials], lab, plan_of)


def play_finals(
    searches: Sequence[Search], lab: Lab, plan_of: PlanOf,
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
    shared = _Round(plan_of, done, fits, dict.fromkeys(searches, 2))
    played = play(lab, [_Play(search, lab, shared).final() for search in searches])
    return {search: found for search, found in zip(searches, played, strict=True) if found is not None}


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


class _Play:
    """The final of one search."""

    def __init__(self, search: Search, lab: Lab, shared: _Round) -> None:
        self._search, self._bench, self._lab, self._shared = search, search.kind.bench, lab, shared
        self._plan = shared.plan(search)
        self._waiting = _promising(search, self._plan.most_score)
        self._refused: list[str] = []
        self._seconds = 0.0  # on the judging device

    def final(self) -> Jobs[Final | None]:
        """All steps; None if there is no time for them."""
        shared, search, found = self._shared, self._search, None
        ready = yield from self._built(self._plan.finalists)
        yield from turn()
        if shared.fits(search, list(shared.left.values()).count(1)):
            try:
                found = yield from self._choose(ready)
                if found.winner is not None:
                    shared.left[search] = 1
                    found = yield from self._judge(found, found.winner)
            except WorkerError as error:
                found = Final(None, None, f"a finalist failed: {error}")
            if found.comparison is not None:
                search.judged(found.winner.assignment if found.winner else None, found.comparison)
            found = replace(found, seconds=self._seconds, note=self._note(found))
            shared.done(search, found)
        shared.left[search] = 0
        return found

    def _note(self, final: Final) -> str:
        """Why others did not win; without a winner, also those that could not be built."""
        if final.winner is not None:
            return final.note
        nothing = "" if final.comparison else "no candidate came close to the default's time"
        return "; ".join(filter(None, (final.note, *self._refused))) or nothing

    def _measured(self, job: Job[T]) -> Jobs[T]:
        start = time.monotonic()
        try:
            return (yield from result(job))
        finally:
            self._seconds += time.monotonic() - start

    def _compared(self, placed: Placed) -> Jobs[list[Comparison]]:
        judging = JudgePlan(self._plan.rounds, seconds=self._plan.seconds)
        return (yield from self._measured(Compare(self._bench, placed, judging)))

    def _build(self, trial: Trial, place: int = 0) -> Build[Built]:
        """Built again: the IR was not verified when it was screened."""
        submit = partial(self._search.kind.submit, trial.assignment, _ANY, place=place, verify=True)
        return Build(submit, self._lab.builder.result)

    def _built(self, count: int) -> Jobs[dict[Trial, Built]]:
        """The next finalists that build. What does not is replaced; new code is timed again."""
        ready: dict[Trial, Built] = {}
        search = self._search
        while trials := list(islice(self._waiting, count)):
            found = yield from results([self._build(trial) for trial in trials])
            for trial, built in zip(trials, found, strict=True):
                current = trial
                if built.outcome == "ok" and built.digest != trial.digest:  # since an earlier run
                    again = replace(trial, digest=built.digest, compile_s=built.seconds, at=time.time())
                    timing = yield from result(Time(self._bench, built))
                    current = search.amend(trial, timing.of(again))
                if built.outcome == current.outcome == "ok":
                    ready[current] = built
                    count -= 1
                    continue
                self._refused.append(
                    f"a finalist failed to compile a second time: {built.message or current.message}"
                )
                if built.outcome == "compile_error":
                    refused = replace(trial, outcome="compile_error", message=built.message, samples_us=())
                    search.amend(trial, refused)
        return ready

    def _choose(self, ready: Mapping[Trial, Built]) -> Jobs[Final]:
        """The best correct finalist, in turns with the default. A single one is only checked."""
        plan = self._plan = self._shared.plan(self._search)
        found = Final(None, None)
        while ready:
            order: Sequence[tuple[Trial, Comparison | None]] = [(trial, None) for trial in ready]
            if len(ready) > 1:  # a single one is judged later
                vmfbs = [built.vmfb for built in ready.values()]
                compared = yield from self._compared([(self._bench.default, vmfbs)])
                ranked = sorted(zip(ready, compared, strict=True), key=lambda pair: -pair[1].speedup)
                order = ranked
            right, wrong = yield from self._right(order, ready)
            if right:
                best = right[0].comparison
                if best is None or plan.takes(best):
                    return replace(right[0], others=tuple(right[1:]))
                return Final(None, best, others=tuple(right))
            if not wrong:
                return Final(None, order[0][1])
            found = Final(None, None, "; ".join(wrong))
            ready = yield from self._built(len(wrong))  # in the places of those
            yield from turn()
        return found

    def _right(
        self, order: Sequence[tuple[Trial, Comparison | None]], ready: Mapping[Trial, Built]
    ) -> Jobs[tuple[list[Final], list[str]]]:
        """Those that are named, of finalists in this order, and what is wrong with others."""
        plan, search = self._plan, self._search
        right: list[Final] = []
        wrong: list[str] = []
        for trial, comparison in order:
            if (comparison and not plan.names(comparison)) or len(right) == plan.keep:
                break
            checked = ready[trial].for_check or ready[trial].vmfb
            agreement = yield from self._measured(Agree(self._bench, checked))
            if search.corrects and agreement.ok and not agreement.corrects:
                continue  # no better than the default on further inputs
            if agreement.ok:
                said = agreement.note if DEFAULT_WRONG in agreement.note else ""
                right.append(Final(trial, comparison, said, built=ready[trial]))
                continue
            wrong.append(f"wrong result: {agreement.message}")
            found = replace(trial, outcome="wrong_result", message=agreement.message, worst=agreement.worst)
            search.amend(trial, found)
        return right, wrong

    def _judge(self, chosen: Final, winner: Trial) -> Jobs[Final]:
        """Compare the chosen candidate on fresh samples, also at other places of the code."""
        assert chosen.built is not None, "one was chosen"
        bench, most = self._bench, min(self._plan.places, self._search.kind.most_places)
        placed: Placed = [(bench.default, [chosen.built.vmfb])]
        if isinstance(bench, Bench):
            default = partial(_build, self._lab, bench.harness, None)
            rows = [(default(place), self._build(winner, place)) for place in range(1, most)]
            placed = [*placed, *(yield from _rows(rows))]
        yield from turn()
        plan = self._plan = self._shared.plan(self._search)
        (comparison,) = yield from self._compared(placed)
        if plan.takes(comparison):
            return replace(chosen, comparison=comparison)
        first = chosen.comparison or comparison
        alone = (replace(chosen, comparison=first, others=()),) if plan.names(first) else ()
        named = (*alone, *chosen.others) if plan.keep > 1 else ()
        return Final(None, comparison, chosen.note, others=named)


def _build(lab: Lab, harness: Harness, configuration: Configuration | None, place: int = 0) -> Build[Built]:
    return Build(partial(lab.builder.submit, harness, configuration, place), lab.builder.result)


def _rows(rows: Sequence[Sequence[Build[Built]]]) -> Jobs[Placed]:
    """The rows that build, each a default and candidates at one place."""
    found = iter((yield from results([build for row in rows for build in row])))
    every = [[next(found) for _ in row] for row in rows]
    built = [row for row in every if all(each.outcome == "ok" for each in row)]
    return [(default.vmfb, [each.vmfb for each in candidates]) for default, *candidates in built]


def build_placed(
    harness: Harness, configurations: Sequence[Configuration], lab: Lab, places: int
) -> Jobs[Placed]:
    """The default and the candidates at each place where all of them can be built."""
    versions = (None, *configurations)
    return (
        yield from _rows(
            [[_build(lab, harness, each, place) for each in versions] for place in range(places)]
        )
    )


def why_not_elsewhere(
    task: Task, configuration: Configuration, bench: Bench, lab: Lab, plan: FinalPlan
) -> Jobs[str]:
    """Why a winner is not good for another dispatch with the same workload; empty if it is for all.

    A spec matches the root op, so it reaches them all; the ops fused with it may differ. Raises WorkerError.
    """
    judging = JudgePlan(plan.rounds, seconds=plan.seconds)
    for dispatch in task.dispatches:
        harness = dispatch.harness
        if harness is None or harness.module == bench.harness.module:
            continue
        default, tuned = yield from results([_build(lab, harness, each) for each in (None, configuration)])
        if any(each.outcome != "ok" for each in (default, tuned)):
            return f"in {dispatch.name}, the candidate's outcome is {tuned.outcome}: {tuned.message}"
        other = bench.elsewhere(harness, default.vmfb)
        agreement = yield from result(Agree(other, tuned.vmfb))
        if not agreement.ok:
            return f"in {dispatch.name}, the candidate's results differ: {agreement.message}"
        (comparison,) = yield from result(Compare(other, [(default.vmfb, [tuned.vmfb])], judging))
        if comparison.verdict == "lose":
            return f"in {dispatch.name}, the candidate is slower ({comparison.speedup:.2f}x)"
    return ""
