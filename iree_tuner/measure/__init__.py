"""How long an executable takes, and whether its numbers are right.

One measuring worker a device; protocol and statistics here, nothing about search.
May import the rooms before it: `compiler`, `targets`, `ops`, `program`, `space`, `search`, `build`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iree_tuner.measure.measurer import Measurer
    from iree_tuner.measure.readings import Readings
    from iree_tuner.measure.setting import Setting
    from iree_tuner.measure.statistics import Comparison, Verdict, compare_pairs
    from iree_tuner.measure.trial import Trial

__all__ = ["Comparison", "Measurer", "Readings", "Setting", "Trial", "Verdict", "compare_pairs"]

_HOMES = {
    "Comparison": "iree_tuner.measure.statistics",
    "Measurer": "iree_tuner.measure.measurer",
    "Readings": "iree_tuner.measure.readings",
    "Setting": "iree_tuner.measure.setting",
    "Trial": "iree_tuner.measure.trial",
    "Verdict": "iree_tuner.measure.statistics",
    "compare_pairs": "iree_tuner.measure.statistics",
}


def __getattr__(name: str) -> object:
    """Imported when it is used: the measuring worker needs little of this, and starts sooner so."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
