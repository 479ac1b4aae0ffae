"""Candidates to executables and times, in workers: building, loading, sampling, and statistics.

One measuring worker a device. Every failure is a value. `check` says whether numbers are right, and nothing
here knows of a search.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.measure.builder import Builder
    from iree_tuner.measure.candidate import Built, build_here
    from iree_tuner.measure.measurer import Measurer
    from iree_tuner.measure.statistics import Comparison, Verdict, compare_pairs

__all__ = ["Builder", "Built", "Comparison", "Measurer", "Verdict", "build_here", "compare_pairs"]

_HOMES = {
    "Builder": "builder",
    "Built": "candidate",
    "Comparison": "statistics",
    "Measurer": "measurer",
    "Verdict": "statistics",
    "build_here": "candidate",
    "compare_pairs": "statistics",
}

__getattr__ = lazily(__name__, _HOMES)
