"""Which candidates are tried next: candidates of the workload where the next second saves the program most.

Building and timing the default of every workload of a large program takes longer than many a search. Where a
profile says what each spends, a few at a time are enough: the rest wait until their hopes are the best ones.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from iree_tuner.profiling.attribution import floor_us, work_of
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.baseline import Baseline, Task, measure_baselines
from iree_tuner.tuning.candidate import CandidateKind, Configurations, default_scale
from iree_tuner.tuning.observer import SearchStanding
from iree_tuner.tuning.reading import ReadProgram
from iree_tuner.tuning.result import WorkloadResult
from iree_tuner.tuning.run import Run
from iree_tuner.tuning.search import LEAST_FLOOR, ExpectedGain, Search, floor_score

NOT_TRIED, INTERRUPTED = "not tuned: out of time", "interrupted before it was tried"

LARGE_SHARE = 0.03
"""Of the program's time: such a workload is tried before any other is tried for long."""

_LEAST_GAIN = 2e-6
"""Of the program's time: all is done where no next slice is expected to save this part."""

_LARGEST, _ENOUGH = 4, 0.25
"""Least number of searched workloads, unless those with the share that the effort asks for take this part of
the program's time together."""

_WORTH_A_FINAL = 0.003
"""Of the program's time with the best of all workloads that are not replaced. By default, one may take nearly
all of it."""

_IN_FLIGHT = 0.5
"""The expected gain that is left after a slice that has not ended."""

_REPLACED = 0.05
"""The part of its time for which a workload counts if the first answer replaces its dispatches: something is
gained only if the replacement turns out to be wrong or slow."""

_OPERATIONS = 8  # that take as long as a byte from memory, on processors and GPUs alike by order of magnitude

_UNKNOWN_S, _LEAST_S = 1.0, 1e-3
_LEAST_GROUP = 8

_BUDGETED = 5
"""Times the effort's trials: where a budget ends the search, this only bounds it."""

_QUICK = 0.1


@dataclass(eq=False)
class Queued:
    """A workload with its searches, and what these may still gain."""

    task: Task
    share: float  # part of the program's time
    weight_us: float  # time per invocation with the default
    floor: float = LEAST_FLOOR  # the least score that can be hoped for
    searches: list[Search] = field(default_factory=list[Search])  # one a kind, configurations first
    configurations: Configurations | None = None  # None if the dispatch cannot be configured

    @property
    def best(self) -> Trial | None:
        """The best trial so far, relative to its default."""
        ran = [
            (self.scale(search) * search.best.score, search.best) for search in self.searches if search.best
        ]
        return min(ran, key=lambda each: each[0], default=(0.0, None))[1]

    @property
    def best_score(self) -> float:
        """Its time relative to the program's default, at most 1 where that may be used."""
        start = max((search.prospects.start for search in self.searches), default=1.0)
        ran = (self.scale(search) * search.best.score for search in self.searches if search.best is not None)
        return min([start, *ran])

    def scale(self, search: Search) -> float:
        """The time of what a search's candidates are compared with, relative to the program's default."""
        return default_scale(search.kind, self.task, self.weight_us)

    def earlier(self, search: Search) -> list[Search]:
        """Other searches that come first: after them, little may be left to gain.

        These are kernels before configurations, and searches each of whose candidates takes a small part of
        the time of one of this search.
        """
        last = search.kind is self.configurations
        return [
            each
            for each in self.searches
            if self._quicker(each, search)
            or (last and each is not search and not self._quicker(search, each))
        ]

    def _quicker(self, search: Search, other: Search) -> bool:
        return self.scale(search) < _QUICK * self.scale(other)

    def gain_us(self, search: Search) -> float:
        """Expected microseconds of an invocation that the next slice of a search saves."""
        scale = self.scale(search)
        return scale * search.prospects.gain_us(self.best_score / scale)

    @property
    def gained_us(self) -> float:
        """Microseconds of an invocation that the best would save."""
        return self.weight_us * (1.0 - self.best_score)

    @property
    def corrects(self) -> bool:
        """Whether the default is wrong, and a configuration is correct."""
        return any(search.corrects for search in self.searches if search.kind is self.configurations)

    @property
    def tried(self) -> int:
        return sum(search.tried for search in self.searches)

    @property
    def open(self) -> bool:
        """Whether there is more to try."""
        return any(search.open for search in self.searches)


class Queue:
    """The searches of a program under one choice of flags; the engine's source of candidates.

    Where the program has no profile, the defaults of all workloads are measured at once.
    """

    def __init__(
        self, run: Run, read: ReadProgram, measure: Callable[..., list[Baseline]] = measure_baselines
    ) -> None:
        self.run = run
        self.lab = read.lab  # with the target of the flags
        # those with a measured default and something to search
        self.workloads: list[Queued] = []
        self.results: list[WorkloadResult] = []  # those with nothing to search
        self._weights_us = read.weights_us
        self._roofline = read.roofline
        self._measure = measure
        self._owners: dict[Search, Queued] = {}
        self._waiting: list[Task] = []
        self._replaced = frozenset(
            task.workload.key
            for task in read.tasks
            if task.workload.key not in run.competing and self.replaced_by(task)
        )
        batch = run.effort.batch
        self._slice = max(4, batch // 2) if self.lab.alternate else batch
        if not self._weights_us:
            baselines = self._measured(read.tasks, run.budget.baselines_until())
            if run.stop.requested:  # of a part, no share of the program's time is known
                self.total_us, self._least_share, self._waiting = 0.0, 0.0, [*read.tasks]
                return
            self._least_share = self._least([each.share for each in baselines if each.space is not None])
            self._enter(baselines)
            self.total_us = sum(each.weight_us for each in baselines)
            self._enter_extra(read.extra)
            return
        # of the program, or of all workloads if they take longer alone, in microseconds per invocation
        assert read.profile is not None, "it has the times"
        self.total_us = max(read.profile.whole_us, sum(map(self._spent_us, read.tasks)))
        self._least_share = self._least(list(map(self._share, read.tasks)))
        self._enter_extra(read.extra)
        worth_it = [task for task in read.tasks if not self._is_small(task)]
        self._waiting = sorted(worth_it, key=self._hoped_us, reverse=True)
        self.results += [
            self._unmeasured(task, f"only {self._share(task):.1%} of the program's time")
            for task in read.tasks
            if task not in worth_it
        ]

    def _measured(self, tasks: Sequence[Task], until: float) -> list[Baseline]:
        """The defaults of tasks, largest first; with a time limit, of those with most work that fit."""
        if until == math.inf:
            return self._measure(tasks, self.lab, self.run.stop)
        found, left = list[Baseline](), sorted(tasks, key=_work, reverse=True)
        while left and not self.run.stop.requested and (not found or self.run.timeline.clock() < until):
            group, left = left[: 2 * self.lab.jobs], left[2 * self.lab.jobs :]
            found += self._measure(group, self.lab, self.run.stop)
        if self.run.stop.requested:
            return found
        self.results += [WorkloadResult(task, 0.0, note=NOT_TRIED) for task in left]
        total_us = sum(each.weight_us for each in found) or 1.0
        shared = [replace(each, share=each.weight_us / total_us) for each in found]
        return sorted(shared, key=lambda each: -each.share)

    @property
    def searches(self) -> list[Search]:
        """Of all workloads."""
        return [search for each in self.workloads for search in each.searches]

    @property
    def promising(self) -> list[Queued]:
        """Workloads worth a verdict within a budget: their best candidate would save enough, or mends."""
        kept = (each for each in self.workloads if each.task.workload.key not in self._gone)
        left_us = self.total_us - self._replaced_us - sum(max(0.0, each.gained_us) for each in kept)
        least_us = _WORTH_A_FINAL * max(0.0, left_us)
        return [each for each in self.workloads if each.corrects or each.gained_us > least_us]

    def ask(self, count: int) -> list[tuple[Search, Assignment]]:
        """Up to `count` candidates, a slice of each search that is chosen."""
        asked: list[tuple[Search, Assignment]] = []
        while len(asked) < count and not self.run.stop.requested:
            chosen = self._choose(may_admit=not asked)
            if chosen is None:
                break
            workload, search = chosen
            self._owners[search] = workload
            new = search.ask(min(self._slice, count - len(asked)))
            if new:
                self.run.watch.started(
                    workload.task, workload.share, round(min(search.cap, search.kind.size))
                )
            asked += [(search, each) for each in new]
        return asked

    def add(self, search: Search) -> None:
        """A trial of a search has ended: notify the observer."""
        workload = self._owners[search]
        self.run.watch.tried(workload.task, search.trials[-1:], workload.best)
        if not search.pending or search.tried % self._slice == 0:
            self.run.watch.standing([
                SearchStanding(each.task, each.share, each.tried, each.best_score, each.gained_us, each.open)
                for each in self.workloads
            ])  # fmt: skip

    def replaced_by(self, task: Task) -> str:
        """What the first answer replaces all dispatches of a workload by; empty if it leaves some."""
        gone = {name: each.source for each in self.run.proven for name in each.dispatches}
        found = {gone.get(each.name) for each in task.dispatches}
        if not found or None in found:
            return ""
        return next(each.noun for each in self.run.every_source if each.name in found)

    def left(self) -> list[WorkloadResult]:
        """Workloads that were never searched."""
        return [self._unmeasured(task, self._why_left(task)) for task in self._waiting]

    def _why_left(self, task: Task) -> str:
        if self.run.stop.requested:
            return INTERRUPTED
        hopeless = ExpectedGain(self._spent_us(task)).gain_us() <= self._least_us
        return f"only {self._share(task):.1%} of the program's time" if hopeless else NOT_TRIED

    @property
    def _gone(self) -> set[str]:
        return self.run.replaced | self._replaced

    @property
    def _replaced_us(self) -> float:
        known = {each.task.workload.key: each.weight_us for each in (*self.workloads, *self.results)}
        known |= {each.workload.key: self._spent_us(each) for each in self._waiting}
        return sum(spent_us for key, spent_us in known.items() if key in self._gone)

    def _choose(self, *, may_admit: bool) -> tuple[Queued, Search] | None:
        """The search that goes on; None if none is worth it, or if others have to be measured first."""
        while True:
            open_ones = [
                (each, search)
                for each in self.workloads
                for search in each.searches
                if search.open and not any(map(_unknown, each.earlier(search)))
            ]
            large = [
                (each, search)
                for each, search in open_ones
                if each.share * self._hope(each.task) > LARGE_SHARE
                and not search.begun
                and not each.earlier(search)
            ]
            if large:
                return max(large, key=lambda pair: (pair[0].weight_us, -pair[0].searches.index(pair[1])))
            if self._waiting and self._hoped_us(self._waiting[0]) > LARGE_SHARE * (self.total_us or 1.0):
                if not may_admit:
                    return None
                self._admit()
                continue
            best = max(open_ones, key=lambda pair: self._worth(*pair), default=None)
            hope_us = 0.0  # of the first slice of the next waiting workload
            if self._waiting and not self.run.stop.requested:
                hope_us = ExpectedGain(self._hoped_us(self._waiting[0])).gain_us()
            if hope_us > (self._worth(*best) * self._typical_s() if best else self._least_us):
                if not may_admit:
                    return None
                self._admit()
                continue
            return best if best is not None and self._gain_us(*best) >= self._least_us else None

    @property
    def _least_us(self) -> float:
        """The gain that a slice has to promise; 0 without a budget."""
        return 0.0 if self.run.options.budget_s is None else _LEAST_GAIN * self.total_us

    def _worth(self, workload: Queued, search: Search) -> float:
        seconds = search.prospects.slice_s(self._typical_s())
        return self._gain_us(workload, search) / max(seconds, _LEAST_S)

    def _gain_us(self, workload: Queued, search: Search) -> float:
        """The possible saving of the next slice, if the running ones save nothing."""
        in_flight = -(-search.pending // self._slice)
        return self._hope(workload.task) * workload.gain_us(search) * _IN_FLIGHT**in_flight

    def _typical_s(self) -> float:
        """Typical seconds of a slice."""
        known = [each.prospects.slice_s(0.0) for each in self.searches if each.open and each.prospects.bests]
        return max(_LEAST_S, statistics.median(known)) if known else _UNKNOWN_S

    def _admit(self) -> None:
        """Measure the defaults of the next few; the first one's candidates do not wait for the others."""
        count = max(_LEAST_GROUP, self.lab.jobs) if self.lab.alternate or self.searches else 1
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        overlapping = not self.lab.alternate and any(search.pending for search in self.searches)
        with self.run.timeline.stage("baselines") if not overlapping else nullcontext():
            found = self._measure(group, self.lab, self.run.stop)
        missed = [task for task in group if all(each.task is not task for each in found)]
        self._waiting = [*missed, *self._waiting]  # a request to stop came between
        self._enter([replace(each, share=self._share(each.task)) for each in found])

    def _enter(self, baselines: Sequence[Baseline]) -> None:
        for each in baselines:
            task = each.task
            spent_us = self._weights_us.get(task.workload.key, each.weight_us)
            if each.space is None and not self.run.competing.get(task.workload.key):
                self.results.append(WorkloadResult(task, each.share, note=each.note))
                continue
            if not self._weights_us and self._is_small(task, each.share):
                note = f"only {each.share:.1%} of the program's time"
                self.results.append(WorkloadResult(task, each.share, note=note, weight_us=spent_us))
                continue
            attainable_us = floor_us(task.dispatches[0], self._roofline) if self._roofline else 0.0
            queued = Queued(task, each.share, spent_us, floor_score(each.default_us, attainable_us))
            if each.space is not None:
                self._configure(queued, each)
            self._compete(queued)

    def _configure(self, queued: Queued, baseline: Baseline) -> None:
        run, task = self.run, queued.task
        starters = run.starters.get(task.workload.key, ())
        kind = Configurations(baseline, self.lab, run.effort, run.records, starters)
        queued.configurations, first = kind, kind.first(run.records)
        if run.options.budget_s is not None:  # only the time counts: the queue knows what is not worth it
            cap = run.effort.trials_for(1.0) * _BUDGETED
        else:  # workloads that are too small to be searched may still take results from elsewhere
            small = bool(starters) and queued.share < run.effort.least_share
            cap = len(first) if small else run.effort.trials_for(queued.share)
        self._add(queued, kind, cap, first)
        for doubt in kind.doubts():
            run.watch.noted(doubt)

    def _compete(self, queued: Queued) -> None:
        for kind, cap in self.run.competing.get(queued.task.workload.key, ()):
            self._add(queued, kind, cap)
        self.workloads.append(queued)

    def _add(self, queued: Queued, kind: CandidateKind, cap: float, first: Sequence[Assignment] = ()) -> None:
        options = self.run.options
        if options.candidates is not None:
            cap = min(cap, options.candidates)
        strategy = kind.strategy(options.strategy, options.seed)
        search = Search(
            kind, strategy, self.run.records, first=first, again=self.run.before_s > 0,
            prospects=ExpectedGain(queued.weight_us, queued.floor), cap=cap, slice_trials=self._slice,
        )  # fmt: skip
        queued.searches.append(search)

    def _enter_extra(self, extra: Sequence[tuple[Task, float]]) -> None:
        for task, spent_us in extra:
            self._compete(Queued(task, min(1.0, spent_us / (self.total_us or spent_us)), spent_us))

    def _is_small(self, task: Task, share: float | None = None) -> bool:
        """Whether to skip it; with a budget, the time decides that."""
        if self.run.options.budget_s is not None or self.run.starters.get(task.workload.key):
            return False
        return (self._share(task) if share is None else share) < self._least_share

    def _least(self, shares: Sequence[float]) -> float:
        """The share that a workload must have to be searched.

        In a program of many small workloads, this is less than the effort's, because together the largest may
        save something.
        """
        wanted, largest = self.run.effort.least_share, sorted(shares, reverse=True)[:_LARGEST]
        enough = sum(share for share in shares if share >= wanted) >= _ENOUGH
        return wanted if enough or not largest else min(wanted, largest[-1])

    def _spent_us(self, task: Task) -> float:
        return self._weights_us.get(task.workload.key, 0.0)

    def _hope(self, task: Task) -> float:
        return _REPLACED if task.workload.key in self._replaced else 1.0

    def _hoped_us(self, task: Task) -> float:
        """The time of a workload that the result may still spend."""
        return self._hope(task) * self._spent_us(task)

    def _share(self, task: Task) -> float:
        return self._spent_us(task) / (self.total_us or 1.0)

    def _unmeasured(self, task: Task, note: str) -> WorkloadResult:
        return WorkloadResult(task, self._share(task), note=note, weight_us=self._spent_us(task))


def _work(task: Task) -> float:
    """The work of a task, to compare it with others: bytes, and operations in units of a byte's time."""
    work = work_of(task.dispatches[0])
    return task.calls * max(work.bytes, work.flops / _OPERATIONS)


def _unknown(search: Search) -> bool:
    return not search.prospects.bests and (search.open or search.pending > 0)
