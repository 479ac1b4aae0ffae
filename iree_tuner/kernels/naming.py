"""Names of dimensions, so that values can be followed through reshapes, transposes and repetitions.

Each dimension of a value has atoms for names, and a reshape that splits one gives it several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.shapes import groups_of, moved_by, order_of

Names = tuple[tuple[int, ...], ...]
"""For each dimension of a value its atoms, outer ones first."""


@dataclass
class Naming:
    """What is known of the dimensions' names so far.

    Attributes:
        fresh: the next atom that is none yet.
        parts: what an atom was split into.
        sizes: of atoms, where they are known.
    """

    fresh: int
    parts: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    sizes: dict[int, int] = field(default_factory=dict[int, int])

    def named(self, place: ir.AffineMap, names: dict[int, int]) -> Names:
        """The names of an operand's dimensions, which loops give."""
        return tuple((names[ir.AffineDimExpr(each).position],) for each in place.results)

    def split(self, atom: int, sizes: Sequence[int]) -> tuple[int, ...] | None:
        """An atom's parts of such sizes; None where it has others."""
        if atom not in self.parts:
            self.parts[atom] = tuple(range(self.fresh, self.fresh + len(sizes)))
            self.fresh += len(sizes)
            self.sizes |= dict(zip(self.parts[atom], sizes, strict=True))
        own = self.parts[atom]
        return own if [self.sizes[each] for each in own] == list(sizes) else None

    def followed(self, value: ir.Value, names: Names) -> tuple[ir.Value, Names]:
        """Back through reshapes, transposes and repetitions, to what the program has."""
        while (op := producer(value)) is not None:
            before = self.before(op, names)
            if before is None:
                break
            value, names = op.operands[0], before
        return value, names

    def before(self, op: ir.Operation, names: Names) -> Names | None:
        """The names of an op's operand, from those of its result."""
        if op.name == "tensor.collapse_shape":
            return self.expanded(names, op.operands[0], op)
        moved = moved_by(op)
        return None if moved is None else tuple(() if each is None else names[each] for each in moved)

    def expanded(self, names: Names, value: ir.Value, op: ir.Operation) -> Names | None:
        """Names of a value's dimensions, groups of which have names."""
        shape, found = ir.RankedTensorType(value.type).shape, list[tuple[int, ...]]()
        for group, own in zip(groups_of(op), names, strict=True):
            long = [each for each in group if shape[each] > 1] or group[:1]
            if len(long) == 1:  # units come and go, and have no name
                found += [own if each == long[0] else () for each in group]
                continue
            parts = self.split(own[0], [shape[each] for each in group]) if len(own) == 1 else None
            if parts is None:
                return None
            found += [(each,) for each in parts]
        return tuple(found)

    def collapsed(self, names: Names, op: ir.Operation) -> Names | None:
        """Names of groups of dimensions that have names."""
        whole = {parts: atom for atom, parts in self.parts.items()}
        found: list[tuple[int, ...]] = []
        for group in groups_of(op):
            own = tuple(atom for each in group for atom in names[each])
            if len(own) > 1 and own not in whole:
                return None
            found.append(own if len(own) == 1 else (whole[own],))
        return tuple(found)

    def onto(self, op: ir.Operation, names: Names) -> Names | None:
        """The names of an op's result, where it splits dimensions or transposes; None for other ops."""
        if op.name == "tensor.expand_shape":
            return self.expanded(names, op.result, op)
        order = order_of(op)
        return None if order is None else tuple(names[dimension] for dimension in order)

    def whole(self, own: tuple[int, ...]) -> tuple[int, ...]:
        """The atoms that are left of a dimension's, when all are split that were split anywhere."""
        return tuple(part for atom in own for part in self.whole(self.parts.get(atom, ())) or (atom,))
