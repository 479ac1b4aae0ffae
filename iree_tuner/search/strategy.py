"""The ask/tell protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from iree_tuner.space.configuration import Assignment


class Result(Protocol):
    """A strategy's information about a candidate; trials are results.

    `score` is the time relative to the default's: below 1 is faster, infinite when it did not run.
    """

    @property
    def assignment(self) -> Assignment: ...

    @property
    def score(self) -> float: ...


class Strategy(Protocol):
    """Proposes assignments, each at most once, and hears how they did.

    The same seed and the same results give the same proposals.
    """

    def ask(self, count: int) -> list[Assignment]:
        """Up to `count` new assignments; fewer, or none, when the space is exhausted."""
        ...

    def tell(self, results: Sequence[Result]) -> None:
        """Report results of proposed assignments, in any order."""
        ...
