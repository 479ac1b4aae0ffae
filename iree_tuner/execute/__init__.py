"""Candidates to executables, in workers; how long those take, and whether their numbers are right.

Every failure is a value. One measuring worker a device; protocol and statistics here, nothing about search.
May import the rooms before it: `compiler`, `targets`, `ops`, `program`, `space`, `search`.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.execute.candidate import Built, build_here
    from iree_tuner.execute.measurer import Measurer
    from iree_tuner.execute.outcome import Outcome
    from iree_tuner.execute.pool import Builder
    from iree_tuner.execute.readings import Readings
    from iree_tuner.execute.setting import Setting
    from iree_tuner.execute.statistics import Comparison, Verdict, compare_pairs
    from iree_tuner.execute.trial import Trial

__all__ = [
    "Builder",
    "Built",
    "Comparison",
    "Measurer",
    "Outcome",
    "Readings",
    "Setting",
    "Trial",
    "Verdict",
    "build_here",
    "compare_pairs",
]

_HOMES = {
    "Builder": "pool",
    "Built": "candidate",
    "Comparison": "statistics",
    "Measurer": "measurer",
    "Outcome": "outcome",
    "Readings": "readings",
    "Setting": "setting",
    "Trial": "trial",
    "Verdict": "statistics",
    "build_here": "candidate",
    "compare_pairs": "statistics",
}

__getattr__ = lazily(__name__, _HOMES)
