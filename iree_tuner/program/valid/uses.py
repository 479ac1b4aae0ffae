"""The integers that all uses of a value allow, in a module or a dispatch."""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.program.valid.demand import Demands, masks, preferred, required
from iree_tuner.program.valid.interval import Interval
from iree_tuner.program.valid.known import Known


class Uses:
    """The uses of all values of a module or a function."""

    def __init__(self, top: ir.Operation, known: Known) -> None:
        self._required = Demands(top, known, required)
        self._preferred = Demands(top, known, preferred)
        self._masks = Demands(top, known, masks)
        self.unclear = tuple(self._required.unclear)

    def of(self, value: ir.Value) -> Interval | None:
        """The integers that a value may be; None where no use restricts it."""
        return _both(self._required.of(value), self._preferred.of(value), self._masks.of(value))

    def of_global(self, name: str) -> Interval | None:
        """The same of a global."""
        every = (self._required, self._preferred, self._masks)
        return _both(*(each.globals.get(name) for each in every))


def _both(required: Interval | None, preferred: Interval | None, mask: Interval | None) -> Interval | None:
    """Required values, of these the preferred ones if there are any; a mask's if nothing else is known."""
    if required is None:
        return preferred or mask
    met = required if preferred is None else required.meet(preferred)
    return required if met.is_empty else met
