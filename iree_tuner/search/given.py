"""A list that is worked off: what a recording measures, and what a benchmark compares."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment


class FixedOrder:
    """Asks for the assignments that it was given, in their order, and learns nothing."""

    def __init__(self, waiting: Sequence[Assignment] = ()) -> None:
        self.waiting = list(waiting)

    def ask(self, count: int) -> list[Assignment]:
        """The next ones."""
        asked, self.waiting = self.waiting[:count], self.waiting[count:]
        return asked

    def tell(self, results: Sequence[Result]) -> None:
        """Nothing is learned."""
