"""Candidates to executables, in workers, with every failure a value.

May import the rooms before it: `compiler`, `targets`, `ops`, `program`, `space`, `search`.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.build.candidate import Built, build_here
    from iree_tuner.build.outcome import Outcome
    from iree_tuner.build.pool import Builder

__all__ = ["Builder", "Built", "Outcome", "build_here"]

_HOMES = {
    "Builder": "pool",
    "Built": "candidate",
    "Outcome": "outcome",
    "build_here": "candidate",
}

__getattr__ = lazily(__name__, _HOMES)
