"""In what order candidates are tried: strategies that ask and tell.

A strategy sees a space only through a `Landscape` (`shuffled`, `encode`, `neighbors`), never through the
meaning of its knobs. May import everything up to `space`, and `search.cost`.
"""

from iree_tuner.search.strategy import DEFAULT, Result, Strategy, make_strategy, strategy_names

__all__ = ["DEFAULT", "Result", "Strategy", "make_strategy", "strategy_names"]
