"""Candidates to executables, in workers, with every failure a value.

May import the rooms before it: `compiler`, `targets`, `ops`, `program`, `space`, `search`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iree_tuner.build.candidate import Built, build_here
    from iree_tuner.build.outcome import Outcome
    from iree_tuner.build.pool import Builder

__all__ = ["Builder", "Built", "Outcome", "build_here"]

_HOMES = {
    "Builder": "iree_tuner.build.pool",
    "Built": "iree_tuner.build.candidate",
    "Outcome": "iree_tuner.build.outcome",
    "build_here": "iree_tuner.build.candidate",
}


def __getattr__(name: str) -> object:
    """Imported when it is used: the measuring worker needs little of this, and starts sooner so."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
