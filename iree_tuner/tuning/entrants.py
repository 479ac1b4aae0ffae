"""Who may be searched: tasks whose defaults are built and timed when it is their turn, the largest first.

Building and timing the default of every workload of a large program takes longer than many a search. Where a
profile says what each spends, a few at a time are enough: the rest wait until their hopes are the best ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from iree_tuner.profiling.roofline import Roofline
from iree_tuner.profiling.work import floor_us
from iree_tuner.tuning.campaign import NOT_TRIED, Campaign
from iree_tuner.tuning.gain import Prospects, floor_score
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import TuningOptions
from iree_tuner.tuning.result import Findings, WorkloadResult
from iree_tuner.tuning.task import Task
from iree_tuner.tuning.weigh import Weighed, weigh

_LEAST_GROUP = 8


class Entrants:
    """The tasks of a program under one choice of flags.

    Args:
        tasks: what can be tuned.
        weights_us: what the program spends on each workload, by its key, in microseconds an invocation;
            empty where that is not known: all are weighed at once then.
        lab: where.
        roofline: of the device, where it is known.
        findings, options: of the run.

    Attributes:
        campaigns: searches of those that were weighed so far.
        results: those with nothing to search.
    """

    def __init__(
        self, tasks: Sequence[Task], weights_us: Mapping[str, float], lab: Lab, roofline: Roofline | None,
        findings: Findings, options: TuningOptions,
    ) -> None:  # fmt: skip
        self.campaigns: list[Campaign] = []
        self.results: list[WorkloadResult] = []
        self._weights_us = weights_us
        self._lab = lab
        self._roofline = roofline
        self._findings = findings
        self._options = options
        if not weights_us:
            self._waiting: list[Task] = []
            self._enter(weigh(tasks, lab, findings.stop))
            self.total_us = sum(each.prospects.weight_us for each in self.campaigns)
            return
        self.total_us = sum(map(self._spent_us, tasks))
        worth_it = [task for task in tasks if not self._is_small(task)]
        self._waiting = sorted(worth_it, key=self._spent_us, reverse=True)
        self.results += [
            self._unweighed(task, f"only {self._share(task):.1%} of the program's time")
            for task in tasks
            if task not in worth_it
        ]

    def hope_us(self) -> float:
        """Microseconds of an invocation that the first slice of the next one may save; 0 without any."""
        if not self._waiting or self._findings.stop.requested:
            return 0.0
        return Prospects(self._spent_us(self._waiting[0])).gain_us()

    def admit(self) -> None:
        """Weigh the next few."""
        count = max(_LEAST_GROUP, self._lab.jobs)
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        found = weigh(group, self._lab, self._findings.stop)
        missed = [task for task in group if all(each.task is not task for each in found)]
        self._waiting = [*missed, *self._waiting]  # a request to stop came between
        self._enter([replace(each, share=self._share(each.task)) for each in found])

    def left(self) -> list[WorkloadResult]:
        """Those that never had their turn."""
        return [self._unweighed(task, NOT_TRIED) for task in self._waiting]

    def _enter(self, weighed: Sequence[Weighed]) -> None:
        for each in weighed:
            spent_us = self._weights_us.get(each.task.workload.key, each.weight_us)
            if each.space is None:
                self.results.append(WorkloadResult(each.task, each.share, note=each.note))
            elif not self._weights_us and self._is_small(each.task, each.share):
                note = f"only {each.share:.1%} of the program's time"
                self.results.append(WorkloadResult(each.task, each.share, note=note, weight_us=spent_us))
            else:
                attainable_us = floor_us(each.task.dispatches[0], self._roofline) if self._roofline else 0.0
                prospects = Prospects(spent_us, floor_score(each.default_us, attainable_us))
                self.campaigns.append(
                    Campaign(each, each.space, prospects, self._findings, self._lab, self._options)
                )

    def _is_small(self, task: Task, share: float | None = None) -> bool:
        """Whether it is left alone; with a budget, the time decides that."""
        if self._options.budget_s is not None or self._options.starters.get(task.workload.key):
            return False
        return (self._share(task) if share is None else share) < self._options.effort.least_share

    def _spent_us(self, task: Task) -> float:
        return self._weights_us.get(task.workload.key, 0.0)

    def _share(self, task: Task) -> float:
        return self._spent_us(task) / (self.total_us or 1.0)

    def _unweighed(self, task: Task, note: str) -> WorkloadResult:
        return WorkloadResult(task, self._share(task), note=note, weight_us=self._spent_us(task))
