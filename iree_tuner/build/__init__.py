"""Candidates to executables, in workers, with every failure a value.

May import the rooms before it: `compiler`, `targets`, `ops`, `program`, `space`, `search`.
"""

from iree_tuner.build.candidate import Built, build_here
from iree_tuner.build.outcome import Outcome
from iree_tuner.build.pool import Builder

__all__ = ["Builder", "Built", "Outcome", "build_here"]
