"""How long an executable takes, and whether its numbers are right.

One measuring worker a device; protocol and statistics here, nothing about search.
May import the rooms before it: `compiler`, `targets`, `ops`, `program`, `space`, `search`, `build`.
"""

from iree_tuner.measure.measurer import Measurer
from iree_tuner.measure.statistics import Comparison, Verdict, compare_pairs
from iree_tuner.measure.trial import Conditions, Trial

__all__ = ["Comparison", "Conditions", "Measurer", "Trial", "Verdict", "compare_pairs"]
