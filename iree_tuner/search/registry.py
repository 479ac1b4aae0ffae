"""Strategies by name."""

from __future__ import annotations

from collections.abc import Callable

from iree_tuner.errors import UsageError
from iree_tuner.search.shuffle import Shuffle
from iree_tuner.search.strategy import Strategy
from iree_tuner.space.space import Space

STRATEGIES: dict[str, Callable[[Space, int], Strategy]] = {"shuffle": Shuffle}


def make_strategy(name: str, space: Space, seed: int) -> Strategy:
    """A fresh strategy on a space. Raises UsageError for an unknown name."""
    if name not in STRATEGIES:
        raise UsageError(f"unknown strategy '{name}'", hint=f"one of: {', '.join(STRATEGIES)}")
    return STRATEGIES[name](space, seed)
