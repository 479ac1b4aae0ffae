"""The self-test compares the baseline with itself.

Any verdict but a tie means that the machine is too noisy.
"""

from __future__ import annotations

from iree_tuner.measure.judging import JudgePlan
from iree_tuner.tuning.baseline import Baseline
from iree_tuner.tuning.finals import build_placed
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import Effort
from iree_tuner.tuning.result import WorkloadResult


def self_test(baseline: Baseline, lab: Lab, effort: Effort) -> WorkloadResult:
    """Compare copies of the baseline with the baseline, as if they were finalists."""
    places = build_placed(baseline.bench.harness, [], lab, effort.places(lab.target))
    plan = JudgePlan(effort.rounds)
    copies = [(default, [default] * effort.finalists) for default, _ in places]
    best = max(lab.measurer.compare(copies, baseline.bench, plan), key=lambda comparison: comparison.speedup)
    if best.verdict == "win":
        (best,) = lab.measurer.compare([(default, [default]) for default, _ in places], baseline.bench, plan)
    note = "the baseline compared with itself"
    if best.verdict == "win":
        note = "the baseline differs from itself: measurements are too noisy; close other programs and repeat"
    return WorkloadResult(baseline.task, baseline.share, comparison=best, note=note, judged=True)
