"""Strategies by name."""

from __future__ import annotations

from collections.abc import Callable

from iree_tuner.errors import UsageError
from iree_tuner.search.local import Local
from iree_tuner.search.shuffle import Shuffle
from iree_tuner.search.strategy import Strategy
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.space import Space

Factory = Callable[[Space, int, Assignment | None], Strategy]

STRATEGIES: dict[str, Factory] = {
    "local": Local,
    "shuffle": lambda space, seed, _: Shuffle(space, seed),
}


def make_strategy(name: str, space: Space, seed: int, start: Assignment | None = None) -> Strategy:
    """A fresh strategy on a space. Raises UsageError for an unknown name.

    Args:
        name: one of `STRATEGIES`.
        space: what can be tried.
        seed: of everything random.
        start: where the compiler's own choice lies, for strategies that set out from it.
    """
    check_strategy(name)
    return STRATEGIES[name](space, seed, start)


def check_strategy(name: str) -> None:
    """Raises UsageError for an unknown name."""
    if name not in STRATEGIES:
        raise UsageError(f"unknown strategy '{name}'", hint=f"one of: {', '.join(STRATEGIES)}")
