"""Track dimensions by name through reshapes, transposes and repetitions.

The name of a dimension is a tuple of atoms. Where a reshape joins dimensions, the joined one has the atoms
of all. Where a reshape splits a dimension, its atom gets parts. Dimensions of size 1 have no name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from iree.compiler import ir

from iree_tuner.kernels.shapes import groups_of, moved_by, order_of

Names = tuple[tuple[int, ...], ...]
"""The atoms of each dimension of a value, outer atoms first."""


@dataclass
class Atoms:
    """The atoms found so far: their sizes, and the parts into which atoms were split."""

    sizes: dict[int, int]
    parts: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])

    def copy(self) -> Atoms:
        """An independent copy."""
        return Atoms(dict(self.sizes), dict(self.parts))

    def named(self, place: ir.AffineMap, names: Mapping[int, int]) -> Names:
        """The names of an operand's dimensions, by the loops that index them; empty for size 1."""
        own = [names.get(ir.AffineDimExpr(each).position) for each in place.results]
        return tuple(() if each is None or self.sizes[each] < 2 else (each,) for each in own)

    def split(self, atom: int, sizes: Sequence[int]) -> tuple[int, ...] | None:
        """Split an atom into parts of these sizes; None if it was split into other sizes before."""
        if atom not in self.parts:
            first = self._new()
            self.parts[atom] = tuple(range(first, first + len(sizes)))
            self.sizes |= dict(zip(self.parts[atom], sizes, strict=True))
        own = self.parts[atom]
        return own if [self.sizes[each] for each in own] == list(sizes) else None

    def before(self, op: ir.Operation, names: Names) -> Names | None:
        """The names of an op's operand, derived from the names of its result; None if that fails."""
        if op.name == "tensor.collapse_shape":
            return self.expanded(names, op.operands[0], op)
        if op.name == "tensor.expand_shape":
            return tuple(tuple(atom for each in group for atom in names[each]) for group in groups_of(op))
        moved = moved_by(op)
        return None if moved is None else tuple(() if each is None else names[each] for each in moved)

    def onto(self, op: ir.Operation, names: Names) -> Names | None:
        """The names of the result of an op that reshapes or transposes; None for other ops."""
        if op.name == "tensor.expand_shape":
            return self.expanded(names, op.result, op)
        if op.name == "tensor.collapse_shape":
            return tuple(tuple(atom for each in group for atom in names[each]) for group in groups_of(op))
        order = order_of(op)
        return None if order is None else tuple(names[dimension] for dimension in order)

    def expanded(self, names: Names, value: ir.Value, op: ir.Operation) -> Names | None:
        """Name a value's dimensions by the names of the groups that a reshape joins; None if that fails."""
        shape, found = ir.RankedTensorType(value.type).shape, list[tuple[int, ...]]()
        for group, own in zip(groups_of(op), names, strict=True):
            long = [shape[each] for each in group if shape[each] > 1]  # size 1 has no name
            if len(own) == 1 and len(long) > 1:
                own = self.split(own[0], long)
            parts = None if own is None else self._shared_out(own, long)
            if parts is None:
                return None
            found += [parts.pop(0) if shape[each] > 1 else () for each in group]
        return tuple(found)

    def _shared_out(self, atoms: Sequence[int], sizes: Sequence[int]) -> list[tuple[int, ...]] | None:
        """Consecutive groups of atoms, whose products are these sizes; None if there are none."""
        left, found = list(atoms), list[tuple[int, ...]]()
        for size in sizes:
            own: list[int] = []
            while left and math.prod(self.sizes[each] for each in own) < size:
                own.append(left.pop(0))
            if math.prod(self.sizes[each] for each in own) != size:
                return None
            found.append(tuple(own))
        return None if left else found

    def one(self, atoms: tuple[int, ...]) -> int:
        """The one atom that these atoms are parts of."""
        whole = {parts: atom for atom, parts in self.parts.items()}
        if len(atoms) > 1 and atoms not in whole:  # parts of an atom that was split in another order
            whole[atoms] = self._new()
            self.parts[whole[atoms]] = atoms
            self.sizes[whole[atoms]] = math.prod(self.sizes[each] for each in atoms)
        return atoms[0] if len(atoms) == 1 else whole[atoms]

    def _new(self) -> int:
        return max(self.sizes) + 1

    def whole(self, own: tuple[int, ...]) -> tuple[int, ...]:
        """The atoms of a dimension, each replaced by its parts if it was split anywhere."""
        return tuple(part for atom in own for part in self.whole(self.parts.get(atom, ())) or (atom,))
