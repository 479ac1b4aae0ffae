"""The default against itself: anything but a tie is noise taken for news."""

from __future__ import annotations

from iree_tuner.measure.judging import JudgePlan
from iree_tuner.tuning.effort import Effort
from iree_tuner.tuning.finals import build_placed
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.result import WorkloadResult
from iree_tuner.tuning.weigh import Weighed


def self_test(weighed: Weighed, lab: Lab, effort: Effort) -> WorkloadResult:
    """Send copies of the default through the finals, as if they were candidates."""
    places = build_placed(weighed.bench.harness, [], lab, effort.places(lab.target))
    plan = JudgePlan(effort.rounds)
    copies = [(default, [default] * effort.finalists) for default, _ in places]
    best = max(lab.measurer.compare(copies, weighed.bench, plan), key=lambda comparison: comparison.speedup)
    if best.verdict == "win":
        (best,) = lab.measurer.compare([(default, [default]) for default, _ in places], weighed.bench, plan)
    note = "the default against itself"
    if best.verdict == "win":
        note = "the default won against itself: this machine is too noisy now"
    return WorkloadResult(weighed.task, weighed.share, comparison=best, note=note)
