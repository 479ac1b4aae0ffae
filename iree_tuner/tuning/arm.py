"""One choice of compiler flags: its dispatches, searched by gain, each with its verdict."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from iree_tuner.profiling.profile import Profile
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.tuning.campaign import NOT_TRIED, Campaign
from iree_tuner.tuning.effort import Effort, effort_named
from iree_tuner.tuning.entrants import Entrants
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Observer
from iree_tuner.tuning.options import TuningOptions
from iree_tuner.tuning.result import Findings, WorkloadResult
from iree_tuner.tuning.schedule import search_by_gain
from iree_tuner.tuning.self_test import self_test
from iree_tuner.tuning.task import Task
from iree_tuner.tuning.weigh import Weighed, weigh

_FINALS_PART = 0.3
"""Of the time for searches and finals."""

_LEAST_FINAL_S = 8.0
_FINALIST_S, _LEAST_FINALISTS = 6.0, 2

_WORTH_A_FINAL = 0.005
"""Of the program's time: what promises less is not judged when the time is over."""

_LATE = "no time was left for its finals"
_OVERLAPPED_SLICE = 3  # batches: where compiling and measuring overlap, the end of each slice idles


@dataclass(frozen=True)
class Arm:
    """The program's tasks under one choice of flags, and where they are tuned.

    Attributes:
        lab: with the target of these flags.
        tasks: what can be tuned.
        profile: where the time goes; None where it was not looked at.
        roofline: of the device, where it is known.
    """

    lab: Lab
    tasks: Sequence[Task]
    profile: Profile | None = None
    roofline: Roofline | None = None

    @property
    def weights_us(self) -> Mapping[str, float]:
        """What the program spends on each workload, by its key, in microseconds an invocation."""
        if self.profile is None:
            return {}
        return {each.workload: each.time_us for each in self.profile.by_workload() if each.workload}


def tune_arm(
    arm: Arm, findings: Findings, options: TuningOptions, end: float, watch: Observer
) -> list[WorkloadResult]:
    """Search until a time of the monotonic clock, finals included; results by share, largest first.

    Finals get their part of the time that a run which did not end has searched, too.
    """
    watch.working("timing the defaults")
    if options.self_test:
        weighed = weigh(arm.tasks, arm.lab, findings.stop)
        return [_tested(each, arm.lab, options.effort) for each in weighed]
    start = time.monotonic()
    entrants = Entrants(arm.tasks, arm.weights_us, arm.lab, arm.roofline, findings, options)
    batches = 1 if arm.lab.alternate else _OVERLAPPED_SLICE
    deadline = start + (end - start) * (1.0 - _FINALS_PART) - options.before_s * _FINALS_PART
    search_by_gain(
        entrants, options.effort.batch * batches, deadline, findings.stop, watch,
        to_the_cap=options.budget_s is None, growing=not arm.lab.alternate,
    )  # fmt: skip
    results = [*entrants.results, *entrants.left()]
    results += _finals(entrants.campaigns, findings, options, end, watch)
    return sorted(results, key=lambda result: -result.share)


def judging_effort(findings: Findings, options: TuningOptions) -> Effort:
    """Who has asked to stop waits for no more than the least pairs that a verdict takes."""
    return effort_named("quick") if findings.stop.requested else options.effort


def _finals(
    campaigns: Sequence[Campaign], findings: Findings, options: TuningOptions, end: float, watch: Observer
) -> list[WorkloadResult]:
    """Finals in the order of what is to be gained; each may take its part of the time that is left."""
    results: list[WorkloadResult] = []
    order = sorted(campaigns, key=lambda each: -_gained_us(each))
    total = sum(each.prospects.weight_us for each in order)
    left = sum(map(_gained_us, order))
    for campaign in order:
        gained = _gained_us(campaign)
        part = gained / left if left > 0.0 else 0.0
        left -= gained
        most_s = options.effort.final_s
        seconds = most_s if end == math.inf else min(most_s, part * (end - time.monotonic()))
        if seconds < _LEAST_FINAL_S and end < math.inf:
            if gained < _WORTH_A_FINAL * total:
                results.append(campaign.unjudged(_LATE if campaign.tried else NOT_TRIED))
                continue
            seconds = _LEAST_FINAL_S
        watch.working(f"finals of {campaign.weighed.task.workload.name}")
        effort = _within(judging_effort(findings, options), seconds)
        # A comparison to choose, another to judge; and both are mostly over long before.
        result = campaign.conclude(effort, seconds / 2, options.in_model)
        results.append(result)
        watch.finished(result)
    return results


def _within(effort: Effort, seconds: float) -> Effort:
    """Fewer finalists where time is short: each is built at every place of the code, and takes turns."""
    few = max(_LEAST_FINALISTS, int(seconds / _FINALIST_S))
    return replace(effort, finalists=min(effort.finalists, few))


def _gained_us(campaign: Campaign) -> float:
    prospects = campaign.prospects
    return prospects.weight_us * (1.0 - prospects.best)


def _tested(weighed: Weighed, lab: Lab, effort: Effort) -> WorkloadResult:
    if weighed.space is None:
        return WorkloadResult(weighed.task, weighed.share, note=weighed.note)
    return self_test(weighed, lab, effort)
