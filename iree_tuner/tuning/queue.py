"""Which candidates are tried next: candidates of the workload where the next second saves the program most.

Building and timing the default of every workload of a large program takes longer than many a search. Where a
profile says what each spends, a few at a time are enough: the rest wait until their hopes are the best ones.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

from iree_tuner.profiling.attribution import floor_us
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.space.configuration import Assignment
from iree_tuner.tuning.baseline import Baseline, measure_baselines
from iree_tuner.tuning.candidate import CandidateKind
from iree_tuner.tuning.gain import Prospects, floor_score
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Observer, SearchStanding
from iree_tuner.tuning.plan import TuningPlan
from iree_tuner.tuning.result import RunContext, WorkloadResult
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.task import Task
from iree_tuner.tuning.timeline import Timeline
from iree_tuner.tuning.workload_search import WorkloadSearch

Competing = Callable[[str], Sequence[tuple[CandidateKind, float]]]
"""For a workload's key: other kinds of candidates, and how many of each are tried at most."""

NOT_TRIED = "not tried: other workloads promised a larger gain"

LARGE_SHARE = 0.03
"""Of the program's time: such a workload is tried before any other is tried for long."""

_LEAST_GAIN = 2e-6
"""Of the program's time: where the next slice is not expected to save so much anywhere, all is done."""

_LARGEST, _ENOUGH = 4, 0.25
"""Workloads that are searched at least, unless those with the share that the effort asks for take so much of
the program's time together."""

_WORTH_A_FINAL = 0.003
"""Of the program's time with the best of all workloads that are not replaced. By default, one may take nearly
all of it."""

_IN_FLIGHT = 0.5
"""The expected gain that is left after a slice that has not ended."""

_UNKNOWN_S, _LEAST_S = 1.0, 1e-3
_LEAST_GROUP = 8


class WorkloadQueue:
    """The searches of a program under one choice of flags; the engine's source of candidates.

    Args:
        tasks: what can be tuned.
        weights_us: what the program spends on each workload, by its key, in microseconds an invocation;
            empty where that is not known: all are measured at once then.
        lab: where.
        roofline: of the device, where it is known.
        findings, plan: of the run.
        watch: gets the workload that goes on, and the state of all.
        timeline: of the run.
        competing: what else computes a workload, by its key, and how many candidates of each are tried.
        extra_tasks: workloads that have only these, and the program's time for them.
        replaced: keys of workloads of which the program is expected to have nothing left in the end.
        measure: measures defaults.

    Attributes:
        workloads: those whose default was measured so far, and that have something to search.
        results: those with nothing to search.
        total_us: what the program spends on all, in microseconds an invocation.
    """

    def __init__(
        self, tasks: Sequence[Task], weights_us: Mapping[str, float], lab: Lab, roofline: Roofline | None,
        findings: RunContext, plan: TuningPlan, watch: Observer, timeline: Timeline,
        *, competing: Competing = lambda _: (), extra_tasks: Sequence[tuple[Task, float]] = (),
        replaced: Collection[str] = (), measure: Callable[..., list[Baseline]] = measure_baselines,
    ) -> None:  # fmt: skip
        self.workloads: list[WorkloadSearch] = []
        self.results: list[WorkloadResult] = []
        self._weights_us = weights_us
        self._lab = lab
        self._roofline = roofline
        self._findings = findings
        self._plan = plan
        self._watch = watch
        self._timeline = timeline
        self._competing = competing
        self._replaced = replaced
        self._measure = measure
        self._slice = plan.effort.batch if not lab.alternate else max(4, plan.effort.batch // 2)
        if not weights_us:
            self._waiting: list[Task] = []
            baselines = measure(tasks, lab, findings.stop)
            self._least_share = self._least([each.share for each in baselines if each.space is not None])
            self._enter(baselines)
            self.total_us = sum(each.weight_us for each in self.workloads)
            self._enter_extra(extra_tasks)
            return
        self.total_us = sum(map(self._spent_us, tasks))
        self._least_share = self._least(list(map(self._share, tasks)))
        self._enter_extra(extra_tasks)
        worth_it = [task for task in tasks if not self._is_small(task)]
        self._waiting = sorted(worth_it, key=self._spent_us, reverse=True)
        self.results += [
            self._unmeasured(task, f"only {self._share(task):.1%} of the program's time")
            for task in tasks
            if task not in worth_it
        ]

    @property
    def searches(self) -> list[Search]:
        """Of all workloads."""
        return [search for each in self.workloads for search in each.searches]

    @property
    def promising(self) -> list[WorkloadSearch]:
        """Workloads worth a verdict within a budget: their best candidate would save enough, or mends."""
        kept = (each for each in self.workloads if each.task.workload.key not in self._replaced)
        left_us = self.total_us - self._replaced_us - sum(max(0.0, each.gained_us) for each in kept)
        least_us = _WORTH_A_FINAL * max(0.0, left_us)
        return [each for each in self.workloads if each.corrects or each.gained_us > least_us]

    def ask(self, count: int) -> list[tuple[Search, Assignment]]:
        """Up to `count` candidates, a slice of each search that is chosen."""
        asked: list[tuple[Search, Assignment]] = []
        while len(asked) < count and not self._findings.stop.requested:
            chosen = self._choose(may_admit=not asked)
            if chosen is None:
                break
            workload, search = chosen
            new = search.ask(min(self._slice, count - len(asked)))
            if new:
                self._watch.started(workload.task, workload.share, round(min(search.cap, search.kind.size)))
            asked += [(search, each) for each in new]
        return asked

    def add(self, search: Search) -> None:
        """A trial of a search has ended: notify the observer."""
        workload = next(each for each in self.workloads if search in each.searches)
        self._watch.tried(workload.task, search.trials[-1:], workload.best)
        if not search.pending or search.tried % self._slice == 0:
            self._watch.standing([standing_of(each) for each in self.workloads])

    def left(self) -> list[WorkloadResult]:
        """Searches that never had their turn."""
        return [self._unmeasured(task, NOT_TRIED) for task in self._waiting]

    @property
    def _replaced_us(self) -> float:
        """The time of workloads that are replaced, in microseconds an invocation."""
        known = {each.task.workload.key: each.weight_us for each in (*self.workloads, *self.results)}
        known |= {each.workload.key: self._spent_us(each) for each in self._waiting}
        return sum(spent_us for key, spent_us in known.items() if key in self._replaced)

    def _choose(self, *, may_admit: bool) -> tuple[WorkloadSearch, Search] | None:
        """The search that goes on; None where none is worth it, or others have to be measured first."""
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
                if each.share > LARGE_SHARE and not search.begun and not each.earlier(search)
            ]
            if large:
                return max(large, key=lambda pair: (pair[0].weight_us, -pair[0].searches.index(pair[1])))
            if self._waiting and self._share(self._waiting[0]) > LARGE_SHARE:
                if not may_admit:
                    return None
                self._admit()
                continue
            best = max(open_ones, key=lambda pair: self._worth(*pair), default=None)
            hope_us = self._hope_us()
            if hope_us > (self._worth(*best) * self._typical_s() if best else self._least_us):
                if not may_admit:
                    return None
                self._admit()
                continue
            return best if best is not None and self._gain_us(*best) >= self._least_us else None

    @property
    def _least_us(self) -> float:
        """The gain that a slice has to promise; where time is no matter, nothing."""
        return 0.0 if self._plan.options.budget_s is None else _LEAST_GAIN * self.total_us

    def _worth(self, workload: WorkloadSearch, search: Search) -> float:
        """Microseconds of an invocation that the next slice may save, for each second that it takes."""
        seconds = search.prospects.slice_s(self._typical_s())
        return self._gain_us(workload, search) / max(seconds, _LEAST_S)

    def _gain_us(self, workload: WorkloadSearch, search: Search) -> float:
        """The possible saving of the next slice, if the running ones save nothing."""
        in_flight = -(-search.pending // self._slice)
        return workload.gain_us(search) * _IN_FLIGHT**in_flight

    def _typical_s(self) -> float:
        """Seconds of a slice, of the searches that have had one and go on."""
        known = [each.prospects.slice_s(0.0) for each in self.searches if each.open and each.prospects.bests]
        return max(_LEAST_S, statistics.median(known)) if known else _UNKNOWN_S

    def _hope_us(self) -> float:
        """Microseconds of an invocation that the first slice of the next one may save; 0 without any."""
        if not self._waiting or self._findings.stop.requested:
            return 0.0
        return Prospects(self._spent_us(self._waiting[0])).gain_us()

    def _admit(self) -> None:
        """Measure the defaults of the next few; the first one's candidates do not wait for the others."""
        count = max(_LEAST_GROUP, self._lab.jobs) if self._lab.alternate or self.searches else 1
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        overlapping = not self._lab.alternate and any(search.pending for search in self.searches)
        with self._timeline.stage("baselines") if not overlapping else nullcontext():
            found = self._measure(group, self._lab, self._findings.stop)
        missed = [task for task in group if all(each.task is not task for each in found)]
        self._waiting = [*missed, *self._waiting]  # a request to stop came between
        self._enter([replace(each, share=self._share(each.task)) for each in found])

    def _enter(self, baselines: Sequence[Baseline]) -> None:
        for each in baselines:
            task = each.task
            spent_us = self._weights_us.get(task.workload.key, each.weight_us)
            competing = self._competing(task.workload.key)
            if each.space is None and not competing:
                self.results.append(WorkloadResult(task, each.share, note=each.note))
                continue
            if not self._weights_us and self._is_small(task, each.share):
                note = f"only {each.share:.1%} of the program's time"
                self.results.append(WorkloadResult(task, each.share, note=note, weight_us=spent_us))
                continue
            attainable_us = floor_us(task.dispatches[0], self._roofline) if self._roofline else 0.0
            prospects = Prospects(spent_us, floor_score(each.default_us, attainable_us))
            search = WorkloadSearch(task, each.share, prospects, self._slice, self._findings, self._plan)
            if each.space is not None:
                for doubt in search.configure(each, self._lab):
                    self._watch.noted(doubt)
            for kind, cap in competing:
                search.add(kind, cap)
            self.workloads.append(search)

    def _enter_extra(self, extra_tasks: Sequence[tuple[Task, float]]) -> None:
        for task, spent_us in extra_tasks:
            share = spent_us / (self.total_us or spent_us)
            search = WorkloadSearch(task, share, Prospects(spent_us), self._slice, self._findings, self._plan)
            for kind, cap in self._competing(task.workload.key):
                search.add(kind, cap)
            self.workloads.append(search)

    def _is_small(self, task: Task, share: float | None = None) -> bool:
        """Whether it is left alone; with a budget, the time decides that."""
        if self._plan.options.budget_s is not None or self._plan.starters.get(task.workload.key):
            return False
        return (self._share(task) if share is None else share) < self._least_share

    def _least(self, shares: Sequence[float]) -> float:
        """The share that a workload must have to be searched.

        In a program of many small workloads, this is less than the effort's: the largest are searched, as
        they may save something together.
        """
        wanted, largest = self._plan.effort.least_share, sorted(shares, reverse=True)[:_LARGEST]
        enough = sum(share for share in shares if share >= wanted) >= _ENOUGH
        return wanted if enough or not largest else min(wanted, largest[-1])

    def _spent_us(self, task: Task) -> float:
        return self._weights_us.get(task.workload.key, 0.0)

    def _share(self, task: Task) -> float:
        return self._spent_us(task) / (self.total_us or 1.0)

    def _unmeasured(self, task: Task, note: str) -> WorkloadResult:
        return WorkloadResult(task, self._share(task), note=note, weight_us=self._spent_us(task))


def _unknown(search: Search) -> bool:
    """Whether the first results of a search are still to come."""
    return not search.prospects.bests and (search.open or search.pending > 0)


def standing_of(workload: WorkloadSearch) -> SearchStanding:
    """How a workload's search stands, for the caller that watches."""
    return SearchStanding(
        workload.task, workload.share, workload.tried, workload.best_score, workload.gained_us, workload.open
    )
