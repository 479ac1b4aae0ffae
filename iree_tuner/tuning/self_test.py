"""The default against itself: anything but a tie is noise taken for news."""

from __future__ import annotations

from iree_tuner.execute.judging import JudgePlan
from iree_tuner.tuning.baseline import Baseline
from iree_tuner.tuning.effort import Effort
from iree_tuner.tuning.finals import build_placed
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.result import WorkloadResult


def self_test(baseline: Baseline, lab: Lab, effort: Effort) -> WorkloadResult:
    """Send copies of the default through the finals, as if they were candidates."""
    places = build_placed(baseline.bench.harness, [], lab, effort.places(lab.target))
    plan = JudgePlan(effort.rounds)
    copies = [(default, [default] * effort.finalists) for default, _ in places]
    best = max(lab.measurer.compare(copies, baseline.bench, plan), key=lambda comparison: comparison.speedup)
    if best.verdict == "win":
        (best,) = lab.measurer.compare([(default, [default]) for default, _ in places], baseline.bench, plan)
    note = "the default against itself"
    if best.verdict == "win":
        note = "the default won against itself: this machine is too noisy now"
    return WorkloadResult(baseline.task, baseline.share, comparison=best, note=note, judged=True)
