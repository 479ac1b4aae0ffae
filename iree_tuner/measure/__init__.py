"""How long an executable takes, and whether its numbers are right.

One measuring worker a device; protocol and statistics here, nothing about search.
May import the rooms before it: `compiler`, `targets`, `ops`, `program`, `space`, `search`, `build`.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.measure.measurer import Measurer
    from iree_tuner.measure.readings import Readings
    from iree_tuner.measure.setting import Setting
    from iree_tuner.measure.statistics import Comparison, Verdict, compare_pairs
    from iree_tuner.measure.trial import Trial

__all__ = ["Comparison", "Measurer", "Readings", "Setting", "Trial", "Verdict", "compare_pairs"]

_HOMES = {
    "Comparison": "statistics",
    "Measurer": "measurer",
    "Readings": "readings",
    "Setting": "setting",
    "Trial": "trial",
    "Verdict": "statistics",
    "compare_pairs": "statistics",
}

__getattr__ = lazily(__name__, _HOMES)
