"""In what order candidates are tried: strategies that ask and tell.

A strategy sees a space only through what it offers (`sample`, `encode`, `neighbors`), never through the
meaning of its knobs. May import `compiler`, `targets`, `ops`, `program` and `space`.
"""

from iree_tuner.search.registry import STRATEGIES, make_strategy
from iree_tuner.search.strategy import Result, Strategy

__all__ = ["STRATEGIES", "Result", "Strategy", "make_strategy"]
