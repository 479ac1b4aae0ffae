"""What all uses say of the values of a module, or of a dispatch's function."""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.program.valid.demand import Demands
from iree_tuner.program.valid.interval import Interval
from iree_tuner.program.valid.known import Known
from iree_tuner.program.valid.sinks import masks, preferred, required


class Uses:
    """What all uses say of the values of a module, or of a function."""

    def __init__(self, top: ir.Operation, known: Known) -> None:
        self._required = Demands(top, known, required)
        self._preferred = Demands(top, known, preferred)
        self._masks = Demands(top, known, masks)
        self.unclear = tuple(self._required.unclear)

    def of(self, value: ir.Value) -> Interval | None:
        """What a value may be."""
        return _both(self._required.of(value), self._preferred.of(value), self._masks.of(value))

    def of_global(self, name: str) -> Interval | None:
        """What a global may be."""
        every = (self._required, self._preferred, self._masks)
        return _both(*(each.globals.get(name) for each in every))


def _both(required: Interval | None, preferred: Interval | None, mask: Interval | None) -> Interval | None:
    """What is required, and preferred where it is possible; a mask only where nothing else is said."""
    if required is None:
        return preferred or mask
    met = required if preferred is None else required.meet(preferred)
    return required if met.is_empty else met
