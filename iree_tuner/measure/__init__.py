"""How long an executable takes, and whether its numbers are right.

One measuring worker a device; protocol and statistics here, nothing about search.
May import the rooms before it: `compiler`, `targets`, `ops`, `program`, `space`, `search`, `build`.
"""

from iree_tuner.measure.measurer import Measurer
from iree_tuner.measure.readings import Readings
from iree_tuner.measure.setting import Setting
from iree_tuner.measure.statistics import Comparison, Verdict, compare_pairs
from iree_tuner.measure.trial import Trial

__all__ = ["Comparison", "Measurer", "Readings", "Setting", "Trial", "Verdict", "compare_pairs"]
