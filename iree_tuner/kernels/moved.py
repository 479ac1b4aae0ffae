"""Include reshapes and transposes around a product, so that a kernel reads and writes the moved arrays.

Without this, each transpose would be a separate dispatch, even if the compiler fuses it with its own product.

Dimensions are tracked by name. A name is a tuple of atoms. Where a reshape joins dimensions, the joined one
has the atoms of all. Where a reshape splits a dimension, its atom gets parts. Dimensions of size 1 have no
name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, tensor

from iree_tuner.compiler.linalg import (
    access,
    collapse,
    converted,
    elementwise,
    expand,
    generic,
    multiply_add,
    named,
)
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.shapes import groups_of, moved_by, order_of
from iree_tuner.ops.contraction import Contraction
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.structure import indexing_maps
from iree_tuner.ops.workload import Workload

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


RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")
_LHS, _RHS, _OUT = range(3)
_ROLES = {
    (True, True, True): "batch",
    (True, False, True): "m",
    (False, True, True): "n",
    (True, True, False): "k",
}


@dataclass(frozen=True)
class Moved:
    """A product with the reshapes and transposes around it.

    Attributes:
        operands: the arrays that are read, before transposes.
        before: the ops from these to the product, producers first.
        after: the ops from the epilogue's last one to the result.
        workload: the product of the arrays in memory; its loops may be split.
        seen: the workload's loops for each dimension of the array that the epilogue sees.
        shapes: for both operands, the sizes into which each dimension is split.
    """

    operands: tuple[ir.Value, ir.Value]
    before: tuple[ir.Operation, ...]
    after: tuple[ir.Operation, ...]
    workload: Workload
    seen: Names
    shapes: tuple[Names, ...]


def moved_product(
    root: ir.Operation, epilogue: Sequence[ir.Operation], taken: Collection[ir.Operation]
) -> Moved | None:
    """The reshapes and transposes around a product and its epilogue; None if there is no transpose.

    `taken` are ops that belong to other sites.
    """
    workload = Contraction().describe(root)
    if workload is None or workload.dynamic or not all(each.is_permutation for each in workload.maps):
        return None
    rank = len(workload.loops)
    atoms = Atoms(dict(enumerate(workload.loops)))
    names = [atoms.named(each, {loop: loop for loop in range(rank)}) for each in indexing_maps(root)]
    before: list[ir.Operation] = []
    operands: list[ir.Value] = []
    for side in (_LHS, _RHS):
        value, names[side], ops = _back(atoms, root.operands[side], names[side], taken)
        operands.append(value)
        before += [each for each in ops if each not in before]
    seen = after_steps = names[_OUT]
    for reshape in (each for each in epilogue if each.name in RESHAPES):
        after_steps = atoms.onto(reshape, after_steps)
        if after_steps is None:
            return None
    names[_OUT], after = _onward(atoms, epilogue[-1] if epilogue else root, after_steps, taken)
    if not before and not after:
        return None
    found = _workload(workload, atoms, names)
    if found is None:
        return None
    order = _order(atoms, rank)
    whole = [tuple(map(atoms.whole, each)) for each in (*names[:_OUT], seen)]
    shapes = tuple(tuple(tuple(atoms.sizes[atom] for atom in own) for own in each) for each in whole[:_OUT])
    loops = tuple(tuple(order.index(atom) for atom in own) for own in whole[_OUT])
    return Moved((operands[0], operands[1]), tuple(before), after, found, loops, shapes)


def _back(
    atoms: Atoms, value: ir.Value, names: Names, taken: Collection[ir.Operation]
) -> tuple[ir.Value, Names, list[ir.Operation]]:
    """Go back from an operand to the input of its earliest transpose; also the ops between, in order."""
    found, ops = (value, names, list[ir.Operation]()), list[ir.Operation]()
    while (op := producer(value)) is not None and op not in taken:
        before = atoms.before(op, names)
        if before is None:
            break
        ops = [*_empties(op), op, *ops]
        value, names = op.operands[0], before
        if op.name not in RESHAPES:
            found = value, names, ops
    return found


def _onward(
    atoms: Atoms, op: ir.Operation, names: Names, taken: Collection[ir.Operation]
) -> tuple[Names, tuple[ir.Operation, ...]]:
    """Go forward to the last transpose while results have a single use; the names there, and the ops."""
    found, ops = (names, ()), tuple[ir.Operation, ...]()
    while len(uses := list(op.result.uses)) == 1:
        user = uses[0].owner.operation
        if user in taken or user.block != op.block or user.operands[0] != op.result:
            break
        after = atoms.onto(user, names)
        if after is None:
            break
        ops, names, op = (*ops, *_empties(user), user), after, user
        if order_of(op) is not None:
            found = names, ops
    return found


def _empties(op: ir.Operation) -> list[ir.Operation]:
    made = [producer(each) for each in list(op.operands)[1:]]
    return [each for each in made if each is not None and each.name == "tensor.empty"]


def _order(atoms: Atoms, rank: int) -> list[int]:
    return [atom for loop in range(rank) for atom in atoms.whole((loop,))]


def _workload(workload: Workload, atoms: Atoms, names: Sequence[Names]) -> Workload | None:
    """The workload with the loops of these names; None if a loop has no role in a contraction."""
    kinds, order = dict[int, Any](), _order(atoms, len(workload.loops))
    for loop, kind in enumerate(workload.iterators):
        kinds |= dict.fromkeys(atoms.whole((loop,)), kind)
    places = [[atom for own in each for atom in atoms.whole(own)] for each in names]
    roles: dict[str, list[int]] = {role: [] for role in ("batch", "m", "n", "k")}
    for number, atom in enumerate(order):
        has = [atom in place or atoms.sizes[atom] == 1 for place in places]
        role = _ROLES.get((has[_LHS], has[_RHS], has[_OUT]))
        if role is None:
            return None
        roles[role].append(number)
    if any(len(set(place)) < len(place) for place in places):
        return None
    return replace(
        workload,
        loops=tuple(atoms.sizes[atom] for atom in order),
        iterators=tuple(kinds[atom] for atom in order),
        maps=tuple(IndexingMap.through(len(order), [*map(order.index, place)]) for place in places),
        roles=tuple((role, tuple(own)) for role, own in roles.items()),
    )  # fmt: skip


def build_dispatch(result: ir.Type, build: Callable[[], ir.Value]) -> ir.Value:
    """Put ops into one dispatch; by default the compiler would make several."""
    region = ir.Operation.create("flow.dispatch.region", results=[result], regions=2)
    with ir.InsertionPoint(region.regions[0].blocks.append()):
        ir.Operation.create("flow.return", operands=[build()])
    return region.result


def build_sums(moved: Moved, arguments: Sequence[ir.Value], sums: ir.Type) -> ir.Value:
    """Build the product without its moves at the current insertion point.

    `sums` is the type of the product in the program.
    """
    shapes = [[size for own in shape for size in own] for shape in moved.shapes]
    operands = [reshaped(each, sizes) for each, sizes in zip(arguments, shapes, strict=True)]
    kind = ir.RankedTensorType(sums)
    element = kind.element_type
    workload = moved.workload
    loops = [loop for own in moved.seen for loop in own]
    read = [*(each.loops for each in workload.maps[:_OUT]), loops]
    used = sorted({loop for own in read for loop in own})  # a loop of one iteration may be in none
    maps = [access(len(used), [used.index(each) for each in own]) for own in read]
    start = zeros([workload.loops[each] for each in loops], element)
    kinds = [workload.iterators[each] for each in used]
    return reshaped(generic(operands, start, maps, multiply_add, kinds), kind.shape)


def retyped(value: ir.Value[Any], element: ir.Type) -> ir.Value[Any]:
    """A value with elements of a wider or narrower type."""
    kind = ir.RankedTensorType(value.type)
    if kind.element_type == element:
        return value
    same = ir.AffineMap.get_identity(kind.rank)
    return elementwise([value], [same], kind.shape, element, partial(converted, element_type=element))


def zeros(shape: Sequence[int], element: ir.Type, value: float = 0.0) -> ir.Value:
    """A tensor of zeros, or of another number, as ops at the current insertion point."""
    empty = tensor.EmptyOp(list(shape), element).result
    return named("fill")(arith.constant(element, value), outs=[empty])


def reshaped(value: ir.Value[Any], sizes: Sequence[int]) -> ir.Value:
    """A value with dimensions of these sizes, in the same order in memory."""
    kind = ir.RankedTensorType(value.type)
    return value if [*kind.shape] == [*sizes] else expand(collapse(value, [kind.rank]), [sizes])


@dataclass(frozen=True)
class SplitLoop:
    """A loop of the op that is built: a part of a dimension of its result, outer parts first."""

    dimension: int
    part: int
    size: int


@dataclass(frozen=True)
class Clamped:
    """An index, clamped to `0 .. size - 1`."""

    index: LoopSum
    size: int


Variable = SplitLoop | Clamped


@dataclass(frozen=True)
class LoopSum:
    """A constant plus variables times coefficients, largest coefficients first."""

    constant: int = 0
    terms: tuple[tuple[Variable, int], ...] = ()

    @staticmethod
    def of(constant: int, terms: Mapping[Variable, int]) -> LoopSum:
        """Make an index without variables that are always 0 or have the coefficient 0."""
        kept = [(each, factor) for each, factor in terms.items() if factor and each.size > 1]
        return LoopSum(constant, tuple(sorted(kept, key=lambda term: -term[1])))

    @property
    def lowest(self) -> int:
        return self.constant + sum(min(0, factor * (each.size - 1)) for each, factor in self.terms)

    @property
    def highest(self) -> int:
        return self.constant + sum(max(0, factor * (each.size - 1)) for each, factor in self.terms)

    def times(self, factor: int) -> LoopSum:
        return LoopSum.of(self.constant * factor, {each: own * factor for each, own in self.terms})

    def plus(self, other: LoopSum | int) -> LoopSum:
        """The sum with another index or a constant."""
        if isinstance(other, int):
            return LoopSum(self.constant + other, self.terms)
        terms = dict(self.terms)
        for each, factor in other.terms:
            terms[each] = terms.get(each, 0) + factor
        return LoopSum.of(self.constant + other.constant, terms)

    def fixed(self, loop: SplitLoop, value: int) -> LoopSum:
        """Replace a loop by a value, also inside clamped indices."""
        found, terms = LoopSum(self.constant), self.terms
        for each, factor in terms:
            if each == loop:
                found = found.plus(value * factor)
            elif isinstance(each, Clamped):
                found = found.plus(clamped(each.index.fixed(loop, value), each.size).times(factor))
            else:
                found = found.plus(LoopSum.of(0, {each: factor}))
        return found


class SplitError(Exception):
    """A loop must be split into two; `inner` is the size of the inner one."""

    def __init__(self, loop: SplitLoop, inner: int) -> None:
        super().__init__(loop, inner)
        self.loop, self.inner = loop, inner


class NotIndexableError(Exception):
    """The graph cannot be written as one op."""


def clamped(index: LoopSum, size: int) -> LoopSum:
    """Clamp an index to `0 .. size - 1`; a plain index if it is always inside."""
    if index.lowest >= 0 and index.highest < size:
        return index
    if index.highest <= 0 or size == 1:
        return LoopSum()
    if index.lowest >= size - 1:
        return LoopSum(size - 1)
    return LoopSum.of(0, {Clamped(index, size): 1})


def digits(index: LoopSum, sizes: Sequence[int]) -> tuple[LoopSum, ...]:
    """Split an index into a collapsed dimension into indices for the original dimensions.

    Raises:
        SplitError: a loop runs over more than one of the dimensions.
        NotIndexableError: no split of loops helps.
    """
    variables = [each for each, _ in index.terms]
    if len(sizes) > 1 and len(variables) == 1 and isinstance(variables[0], Clamped):
        inside = variables[0]
        if index == clamped(inside.index, inside.size) and inside.size == math.prod(sizes):
            # where it is not clamped, it is the same; elsewhere, no place inside is wrong
            outer, *others = digits(inside.index, sizes)
            return (clamped(outer, sizes[0]), *others)
    found: list[LoopSum] = []
    for place in range(len(sizes) - 1):
        stride = math.prod(sizes[place + 1 :])
        whole = {each: factor // stride for each, factor in index.terms if factor % stride == 0}
        rest = LoopSum.of(
            index.constant % stride, {each: factor for each, factor in index.terms if factor % stride}
        )
        if rest.lowest < 0 or rest.highest >= stride:
            raise _split_at(rest, stride)
        found.append(LoopSum.of(index.constant // stride, whole))
        index = rest
    return (*found, index)


def _split_at(index: LoopSum, stride: int) -> Exception:
    """The error for an index with a loop that crosses a multiple of a stride."""
    for each, factor in index.terms:
        if isinstance(each, SplitLoop) and stride % factor == 0 and factor * each.size > stride:
            inner = stride // factor
            if each.size % inner == 0:
                return SplitError(each, inner)
    return NotIndexableError("a loop crosses the border of a collapsed dimension")


def decider(index: LoopSum, borders: Sequence[int], most: int) -> SplitLoop | None:
    """A loop with at most `most` values, each of which determines between which borders an index is.

    None if there is no such loop. Raises SplitError: there would be one after a loop is split.
    """
    for place, (each, factor) in enumerate(index.terms):
        if not isinstance(each, SplitLoop) or factor < 0:
            continue
        rest = LoopSum(index.constant, (*index.terms[:place], *index.terms[place + 1 :]))
        values = range(each.size)
        parts = [rest.plus(value * factor) for value in values]
        if each.size <= most and all(
            part.highest < border or part.lowest >= border for part in parts for border in borders
        ):
            return each
        if not factor:
            continue
        firsts = [-((rest.lowest - border) // factor) for border in borders]  # the values from a border on
        if all(
            rest.highest + (first - 1) * factor < border
            for first, border in zip(firsts, borders, strict=True)
        ):
            inner = math.gcd(each.size, *(first for first in firsts if 0 < first < each.size))
            if 1 < each.size // inner <= most and inner > 1:
                raise SplitError(each, inner)
    return None


@dataclass(frozen=True)
class Cut:
    """How a dimension is sliced and split, so that each loop of an index has a dimension.

    Attributes:
        first, length: the slice that is taken first.
        sizes: the dimensions that the slice is split into.
        offsets: where the index begins in each of these dimensions.
        loops: the loop of each of these dimensions, or None.
    """

    first: int
    length: int
    sizes: tuple[int, ...]
    offsets: tuple[int, ...]
    loops: tuple[SplitLoop | None, ...]


def cut_of(index: LoopSum, size: int) -> Cut | None:
    """How to cut a dimension of this size for an index; None if that is impossible."""
    loops = [each for each, _ in index.terms]
    factors = [factor for _, factor in index.terms]
    if any(not isinstance(each, SplitLoop) for each in loops) or any(factor < 1 for factor in factors):
        return None
    if not factors:
        return Cut(0, size, (size,), (index.constant,), (None,))
    if any(outer % inner for outer, inner in pairwise(factors)):
        return None
    first, length = 0, size
    if size % factors[0]:
        first, length = index.constant, factors[0] * loops[0].size
        if first + length > size:
            return None
    sizes = [length // factors[0]]
    sizes += [outer // inner for outer, inner in pairwise(factors)]
    left, offsets = index.constant - first, list[int]()
    for factor in factors:
        offsets.append(left // factor)
        left %= factor
    own: list[SplitLoop | None] = [each for each in loops if isinstance(each, SplitLoop)]
    if factors[-1] > 1:
        sizes.append(factors[-1])
        offsets.append(left)
        own.append(None)
    fits = zip(own, offsets, sizes, strict=True)
    if any(offset + (loop.size if loop else 1) > whole for loop, offset, whole in fits):
        return None
    return Cut(first, length, tuple(sizes), tuple(offsets), tuple(own))
