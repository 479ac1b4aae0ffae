"""The ask/tell protocol, and strategies by name: from this package, and from other installed packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import EntryPoint
from typing import Protocol, cast

from iree_tuner.errors import UsageError
from iree_tuner.installed import brought, usable
from iree_tuner.search.cost.landscape import Landscape
from iree_tuner.space.configuration import Assignment


class Result(Protocol):
    """A candidate's result, such as a trial.

    `score` is the time relative to the default's: below 1 is faster, infinite if it did not run.
    """

    @property
    def assignment(self) -> Assignment: ...

    @property
    def score(self) -> float: ...


class Strategy(Protocol):
    """Proposes assignments, each at most once, and gets their results.

    The same seed and the same results give the same proposals.
    """

    def ask(self, count: int) -> list[Assignment]:
        """Up to `count` new assignments; fewer, or none, when the space is exhausted."""
        ...

    def tell(self, results: Sequence[Result]) -> None:
        """Report results of proposed assignments, in any order."""


Factory = Callable[[Landscape, int, Assignment | None], Strategy]
"""Makes a strategy from a space, the seed of everything random, and where the compiler's own choice lies."""

GROUP = "iree_tuner.strategies"
"""The group of entry points; each is a `Factory` under the name that users write."""

DEFAULT = "model"
"""The default of `tune` and `replay`."""


def make_strategy(name: str, space: Landscape, seed: int, start: Assignment | None = None) -> Strategy:
    """A new strategy on a space; `start` is the compiler's own choice.

    Raises:
        UsageError: unknown name.
        TunerError: the strategy of another package cannot be loaded, or fails.
    """
    check_strategy(name)
    return cast(Strategy, usable(_entries()[name], "strategy", space, seed, start))


def strategy_names() -> tuple[str, ...]:
    """All names, sorted."""
    return tuple(sorted(_entries()))


def check_strategy(name: str) -> None:
    """Raises UsageError for an unknown name."""
    if name not in _entries():
        raise UsageError(f"unknown strategy '{name}'", hint=f"one of: {', '.join(strategy_names())}")


@cache
def _entries() -> dict[str, EntryPoint]:
    """Entry points by name. Raises TunerError when two packages claim one name."""
    return brought(GROUP, "strategy")
