"""Attention as exporters write it: a product of queries and keys, a softmax, and a product with values.

Between these ops are casts, reshapes, transposes, factors, heads of keys and values that several queries
share, and a mask of later keys. The search passes them by naming dimensions (`moved.Atoms`). The attention
that is found reads and writes the program's own arrays, so a kernel works in place and no transpose is left.

Causal masks let each query see the keys up to its own position. Exporters compute positions by counters, and
cast, move and repeat these before they compare them. A mask is followed back to the counters, and expressed
as a sum of multiples of loops.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.kernel import Problem, View
from iree_tuner.kernels.moved import RESHAPES, Atoms, Names
from iree_tuner.kernels.moves import has_gaps, piece_of
from iree_tuner.kernels.shapes import (
    body_of,
    choice_of,
    factor_of,
    groups_of,
    moved_by,
    softmaxed,
    starts_with,
)
from iree_tuner.ops.attention import ROLES, Attention, is_attention
from iree_tuner.ops.contraction import Contraction
from iree_tuner.ops.dag import captured
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.structure import indexing_maps, loop_sizes, structure, workload_of
from iree_tuner.ops.workload import Iterator, Workload

_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")
# By predicate of cmpi: a sign of `left - right`, and a summand, for which the sum is at least 0
_AT_LEAST_ZERO = {2: (-1, -1), 3: (-1, 0), 4: (1, -1), 5: (1, 0)}  # slt, sle, sgt, sge
_MOST_STEPS, _LEAST_BITS = 64, 32


@dataclass(frozen=True)
class Sum:
    """A constant plus multiples of loops; with `condition`, whether that is at least 0."""

    constant: int = 0
    times: Mapping[int, int] = field(default_factory=dict[int, int])
    condition: bool = False

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        loops = dict.fromkeys((*self.times, *other.times))
        times = {each: self.times.get(each, 0) + factor * other.times.get(each, 0) for each in loops}
        kept = {loop: count for loop, count in times.items() if count}
        return Sum(self.constant + factor * other.constant, kept)


def said_by(mask: ir.Value, loops: Sequence[int | None]) -> Sum | None:
    """The sum that is at least 0 where a query sees a key; None if the mask compares no positions.

    `loops` are those of the mask's dimensions; None for size 1.
    """
    found = _Reading().value(mask, [Sum() if loop is None else Sum(times={loop: 1}) for loop in loops])
    return found if found is not None and found.condition else None


class _Reading:
    """Evaluate elements of tensors as sums, in a bounded number of steps."""

    def __init__(self) -> None:
        self._steps = 0

    def value(self, value: ir.Value, place: Sequence[Sum]) -> Sum | None:
        """The element of a value at these indices; None if it is no such sum."""
        op = producer(value)
        self._steps += 1
        if op is None or self._steps > _MOST_STEPS:
            return None
        if op.name == "arith.constant":
            return _constant(op)
        if op.name == "tensor.expand_shape":
            return self.value(op.operands[0], _joined(op, place))
        if op.name == "tensor.collapse_shape":
            apart = _apart(op, place)
            return None if apart is None else self.value(op.operands[0], apart)
        if op.name == "linalg.fill":
            return self.value(op.operands[0], ())
        if (moved := moved_by(op)) is not None:
            return self.value(op.operands[0], [Sum() if each is None else place[each] for each in moved])
        return self._generic(op, place) if op.name == "linalg.generic" else None

    def _generic(self, op: ir.Operation, place: Sequence[Sum]) -> Sum | None:
        *reads, written = indexing_maps(op)
        if not written.is_permutation or len(op.results) != 1:
            return None
        loops = {ir.AffineDimExpr(each).position: at for each, at in zip(written.results, place, strict=True)}
        block = op.regions[0].blocks[0]
        known: dict[ir.Value, Sum | None] = {}
        for argument, operand, own in zip(block.arguments, op.operands, reads, strict=False):
            at = [_at(each, loops) for each in own.results]
            inside = [each for each in at if each is not None]
            known[argument] = self.value(operand, inside) if len(inside) == len(at) else None
        *steps, end = [each.operation for each in block.operations]
        for step in steps:
            known[step.results[0]] = _computed(step, known, loops)
        return known.get(end.operands[0])


def _computed(op: ir.Operation, known: Mapping[ir.Value, Sum | None], loops: Mapping[int, Sum]) -> Sum | None:
    if op.name == "linalg.index":
        return loops[ir.IntegerAttr(op.attributes["dim"]).value]
    if op.name == "arith.constant":
        return _constant(op)
    first, second, *_ = (*(known.get(each) or _outside(each) for each in op.operands), None, None)
    if first is not None and op.name in _CASTS:
        kind = op.result.type  # wide enough for all positions; narrower types may wrap around
        return first if isinstance(kind, ir.IndexType) or ir.IntegerType(kind).width >= _LEAST_BITS else None
    if first is None or second is None or first.condition or second.condition:
        return None
    if op.name in ("arith.addi", "arith.subi"):
        return first.plus(second, 1 if op.name == "arith.addi" else -1)
    if op.name == "arith.cmpi":
        sides = _AT_LEAST_ZERO.get(ir.IntegerAttr(op.attributes["predicate"]).value)
        if sides is None:
            return None
        sign, more = sides
        apart = Sum(more).plus(first, sign).plus(second, -sign)
        return Sum(apart.constant, apart.times, condition=True)
    return None


def _outside(value: ir.Value) -> Sum | None:
    """A constant from outside a body, which uses it."""
    op = producer(value)
    return _constant(op) if op is not None and op.name == "arith.constant" else None


def _constant(op: ir.Operation) -> Sum | None:
    value = op.attributes["value"]
    if isinstance(value, ir.DenseIntElementsAttr) and value.is_splat:
        value = value.get_splat_value()
    if not isinstance(value, ir.IntegerAttr) or value.type == ir.IntegerType.get_signless(1):
        return None
    return Sum(value.value)


def _at(result: ir.AffineExpr, loops: Mapping[int, Sum]) -> Sum | None:
    if isinstance(result, ir.AffineConstantExpr):
        return Sum(result.value)
    return loops.get(result.position) if isinstance(result, ir.AffineDimExpr) else None


def _joined(op: ir.Operation, place: Sequence[Sum]) -> list[Sum]:
    """The indices into the operand of a reshape that splits dimensions."""
    shape = ir.RankedTensorType(op.result.type).shape
    found: list[Sum] = []
    for group in groups_of(op):
        at = Sum()
        for number, each in enumerate(group):
            at = at.plus(place[each], prod(shape[more] for more in group[number + 1 :]))
        found.append(at)
    return found


def _apart(op: ir.Operation, place: Sequence[Sum]) -> list[Sum] | None:
    """The indices into the operand of a reshape that joins dimensions; None if two of them exceed size 1."""
    shape = ir.RankedTensorType(op.operands[0].type).shape
    found: list[Sum] = []
    for group, at in zip(groups_of(op), place, strict=True):
        long = [each for each in group if shape[each] > 1]
        if len(long) > 1:
            return None
        found += [at if each in long else Sum() for each in group]
    return found


_M, _N, _K1, _K2, _BATCH = range(5)
_ROLES = ({_M, _K1}, {_K2, _K1}, {_K2, _N}, {_M, _K2}, {_M, _N})
"""Dimensions of queries, keys, values, a bias and the result, without batch dimensions."""
_BIAS = 3

ATTENTION_OP, _OPERANDS = "iree_linalg_ext.attention", (5, 6)  # with a mask
_MOST_OPS = 64
_PARALLEL: Iterator = "parallel"


@dataclass(frozen=True)
class Found:
    """An attention in a program.

    Attributes:
        inputs: the arrays that are read: queries, keys, values, and a bias or a mask if there is one.
        ops: the ops from the inputs to the result, producers first.
        workload: with an indexing map for each of queries, keys, values and the result.
        scale: the factor of the scores.
        shapes: for each operand and the result, the sizes into which each dimension is split; empty for an op
            of the compiler's dialect.
        after: how many keys after its own position a query sees; None if it sees all keys.
        views: where the operands are read, if these are not the inputs one by one (`Problem.views`).
    """

    inputs: tuple[ir.Value, ...]
    ops: tuple[ir.Operation, ...]
    workload: Workload
    scale: float
    shapes: tuple[Names, ...]
    after: int | None = None
    views: tuple[View, ...] = ()


def find_attention(root: ir.Operation) -> Found | None:
    """The attention that ends in the product `root`, of weights and values; None if there is none."""
    roles = _roles(root)
    if roles is None:
        return None
    return _with_weights(root, roles, 0) or _with_weights(root, roles, 1)


def _with_weights(root: ir.Operation, roles: Mapping[str, tuple[int, ...]], at: int) -> Found | None:
    """The attention if operand `at` of its last product is the softmax. Values may be on either side."""
    rows, columns = ("n", "m") if at else ("m", "n")
    parts = (*roles[rows], *roles[columns], *roles["k"], *roles["batch"])
    names = dict(zip(parts, (_M, _N, _K2, *range(_BATCH, _BATCH + len(roles["batch"]))), strict=True))
    sizes = loop_sizes(root) or ()
    atoms = Atoms({_K1: 0, **{name: sizes[loop] or 0 for loop, name in names.items()}})
    walk = _Attention(atoms, tuple(name for name in names.values() if name >= _BATCH))
    *sides, out = (atoms.named(each, names) for each in indexing_maps(root))
    scores = walk.softmax(root.operands[at], sides[at])
    product = None if scores is None else walk.scores(*scores)
    if product is None:
        return None
    left, right = walk.queries_and_keys(*product)
    if left is None or right is None:
        return None
    values = walk.followed(root.operands[1 - at], sides[1 - at])
    bias = () if walk.bias is None else (walk.bias,)
    read = [walk.part(*each) for each in (left, right, values, *bias)]
    return walk.found(read, walk.onward(root, out))


def attention_of(op: ir.Operation) -> Found | None:
    """The attention of an op of the compiler's dialect; None if its region changes the scores."""
    if op.name != ATTENTION_OP or len(op.operands) not in _OPERANDS:
        return None
    query, key, value, scale, *mask, out = op.operands
    inputs = (query, key, value, *mask)
    factor, start, (inner, *others) = producer(scale), producer(out), op.regions[0].blocks[0].operations
    times = factor.attributes["value"] if factor is not None and factor.name == "arith.constant" else None
    if others or inner.operands[0] != op.regions[0].blocks[0].arguments[0] or len(set(inputs)) < len(inputs):
        return None
    if factor is None or not isinstance(times, ir.FloatAttr) or start is None or start.name != "tensor.empty":
        return None
    queries, keys, values, *_, written = indexing_maps(op)
    detail = iree_codegen.get_attention_op_detail(queries, keys, values, written)
    roles = [(role, tuple(getattr(detail, f"{role}_dims"))) for role in ROLES]
    found = structure(op)
    workload = None if found is None else workload_of(Attention.name, Attention.name, found, roles)
    return None if workload is None else Found(inputs, (factor, start, op), workload, times.value, ())


def _roles(op: ir.Operation) -> dict[str, tuple[int, ...]] | None:
    """Loops of a product that starts from zeros, by role; None unless `m`, `n` and `k` have one loop each."""
    workload = Contraction().describe(op)
    if workload is None or workload.dynamic or not starts_with(op, 0.0):
        return None
    found = {role: workload.role(role) for role in ("batch", "m", "n", "k")}
    return found if all(len(found[role]) == 1 for role in ("m", "n", "k")) else None


@dataclass(frozen=True)
class _Read:
    """An operand: a part of an array, or all of it, whose dimensions have these names.

    Attributes:
        value: the array.
        first, sizes: the part.
        ops: from the array to the operand, if it is a part.
    """

    value: ir.Value
    names: Names
    first: tuple[int, ...]
    sizes: tuple[int, ...]
    ops: tuple[ir.Operation, ...] = ()


@dataclass
class _Attention:
    """A search from the last product back to the inputs, with the names of dimensions so far.

    Attributes:
        batch: the atoms of the batch's loops.
        scale, after: see `Found`.
        rows: the atom that `after` refers to, if the dimension of queries is split.
        bias: a value that is added to the scores, or a mask of them, with its names.
    """

    atoms: Atoms
    batch: tuple[int, ...]
    scale: float = 1.0
    after: int | None = None
    rows: int = _M
    bias: tuple[ir.Value, Names] | None = None

    def followed(
        self, value: ir.Value, names: Names, *, scaled: bool = False, cast: bool = False
    ) -> tuple[ir.Value, Names]:
        """Go back through moves and repetitions to the program's array, from a value with these names.

        On request also through factors, by which `scale` is multiplied, and casts to wider types.
        """
        while (op := producer(value)) is not None:
            if cast and body_of(op) == "arith.extf":
                value = op.operands[0]
                continue
            if scaled and (found := factor_of(op)) is not None:
                value, factor = found
                self.scale *= factor
                continue
            before = None if op.name == "tensor.expand_shape" else self.atoms.before(op, names)
            if before is None:
                break
            value, names = op.operands[0], before
        return value, names

    def part(self, value: ir.Value, names: Names) -> _Read:
        """The array that an operand is a part of, if the part has gaps; otherwise the operand itself."""
        shape = tuple(ir.RankedTensorType(value.type).shape)
        atoms, at, own, ops = self.atoms.copy(), value, names, list[ir.Operation]()
        while (op := producer(at)) is not None and op.name in RESHAPES:
            before = atoms.before(op, own)
            if before is None:
                break
            at, own, ops = op.operands[0], before, [*ops, op]
        piece = None if op is None else piece_of(op)
        if op is None or piece is None or not has_gaps(op):
            return _Read(value, names, (0,) * len(shape), shape)
        self.atoms = atoms
        first, sizes = (0,) * len(own), tuple(ir.RankedTensorType(at.type).shape)
        while op is not None and piece is not None:  # also a part of a part
            own, first, sizes = piece.whole(own, ()), piece.whole(first, 0), piece.whole(sizes, 1)
            first = tuple(one + more for one, more in zip(first, piece.first, strict=True))
            at, ops, op = op.operands[0], [*ops, op], producer(op.operands[0])
            piece = None if op is None else piece_of(op)
        return _Read(at, own, first, sizes, tuple(ops))

    def softmax(self, value: ir.Value, names: Names) -> tuple[ir.Value, Names] | None:
        """The operand of a softmax over the keys, behind casts and reshapes; None if there is no softmax."""
        op = producer(value)
        while op is not None and op.name != "linalg.softmax":
            before = names if body_of(op) == "arith.truncf" else self.atoms.before(op, names)
            if before is None:
                break
            names, value = before, op.operands[0]
            op = producer(value)
        if op is None or (_K2,) not in names:
            return None
        keys = names.index((_K2,))
        if op.name == "linalg.softmax":
            own = ir.IntegerAttr(op.attributes["dimension"]).value
            return (op.operands[0], names) if own == keys else None
        scores = softmaxed(op, keys)
        return None if scores is None else (scores, names)

    def scores(self, value: ir.Value, names: Names) -> tuple[ir.Operation, Names] | None:
        """The product of queries and keys, which may be scaled, masked, biased and reshaped."""
        op = producer(value)
        while op is not None and _roles(op) is None:
            value = op.operands[0]
            if (scaled := factor_of(op)) is not None:
                (value, factor), before = scaled, names
                self.scale *= factor
            elif (choice := choice_of(op)) is not None:
                value, before = op.operands[1], names if self._masked(*choice, names) else None
            elif body_of(op) == "arith.addf" and len(op.operands) == 3:
                return self._biased(op, names)
            else:
                before = self.atoms.before(op, names)
            if before is None:
                return None
            names, op = before, producer(value)
        return None if op is None else (op, names)

    def _biased(self, op: ir.Operation, names: Names) -> tuple[ir.Operation, Names] | None:
        """The product behind an addition: one summand is the product, the other one a bias."""
        if self.scale != 1.0 or self.bias is not None:
            return None
        for at in (0, 1):
            walk = replace(self, atoms=self.atoms.copy(), bias=(op.operands[1 - at], names))
            found = walk.scores(op.operands[at], names)
            if found is not None:
                self.atoms, self.scale, self.after, self.rows = walk.atoms, walk.scale, walk.after, walk.rows
                self.bias = self.followed(op.operands[1 - at], names, cast=True)
                return found
        return None

    def _masked(self, mask: ir.Value, place: Sequence[int], names: Names) -> bool:
        """Record a mask: `after` if it hides the keys after a query's position, otherwise `bias`."""
        own = tuple(names[each] for each in place)
        apart = all(len(each) < 2 for each in own)
        found = said_by(mask, [each[0] if each else None for each in own]) if apart else None
        if found is not None:
            rows = [row for row in self.atoms.whole((_M,)) if found.times == {row: 1, _K2: -1}]
            if not rows or found.constant < 0 or self.after is not None:  # each query must see a key
                return False
            self.rows, self.after = rows[0], found.constant
            return True
        if self.bias is not None or self.scale <= 0.0:
            return False
        self.bias = self.followed(mask, own)
        return True

    def queries_and_keys(
        self, product: ir.Operation, names: Names
    ) -> tuple[tuple[ir.Value, Names] | None, tuple[ir.Value, Names] | None]:
        """Queries and keys, followed back from the first product; None if the dimensions do not fit."""
        roles, maps = _roles(product), indexing_maps(product)
        assert roles is not None, "`scores` has looked"
        places = [ir.AffineDimExpr(each).position for each in maps[2].results]
        loops = dict(zip(places, names, strict=True))
        atoms = {loop: self.atoms.one(own) for loop, own in loops.items() if own}
        batch, *own = (
            {part for each in roles[role] if each in atoms for part in self.atoms.whole((atoms[each],))}
            for role in ("batch", "m", "n")
        )
        queries = {each for each in self.atoms.whole((_M,)) if self.atoms.sizes[each] > 1}
        wanted = [queries, {_K2}]
        if batch != {*self.atoms.whole((*self.batch,))} or own not in (wanted, wanted[::-1]):
            return None, None
        first = 0 if own == wanted else 1
        (depth,), sizes = roles["k"], loop_sizes(product) or ()
        self.atoms.sizes[_K1] = sizes[depth] or 0
        atoms[depth] = _K1
        sides = [self.atoms.named(each, atoms) for each in maps[:2]]
        left, right = (
            self.followed(product.operands[each], sides[each], scaled=True) for each in (first, 1 - first)
        )  # fmt: skip
        return left, right

    def onward(self, op: ir.Operation, names: Names) -> tuple[ir.Operation, Names]:
        """Go forward through casts, reshapes and transposes, while each result has a single use."""
        while len(uses := list(op.result.uses)) == 1:
            user = uses[0].owner.operation
            after = names if body_of(user) == "arith.truncf" else self.atoms.onto(user, names)
            if after is None or user.operands[0] != op.result:
                break
            op, names = user, after
        return op, names

    def found(self, read: Sequence[_Read], result: tuple[ir.Operation, Names]) -> Found | None:
        if self.after is not None and (self.scale <= 0.0 or self.bias is not None):
            return None
        last, names = result
        values = [*(each.value for each in read), last.result]
        shapes = [*(each.sizes for each in read), ir.RankedTensorType(last.result.type).shape]
        every = self._rows_of(
            [tuple(map(self.atoms.whole, own)) for own in (*(each.names for each in read), names)]
        )
        batch: dict[int, None] = {}
        roles_of = (*_ROLES[: len(read)], _ROLES[-1])
        for at, (shape, names, roles) in enumerate(zip(shapes, every, roles_of, strict=True)):
            for own, size in zip(names, shape, strict=True):
                if math.prod(self.atoms.sizes[each] for each in own) != size:
                    return None
            atoms = [each for own in names for each in own]
            missing = roles ^ {each for each in atoms if each < _BATCH}
            if len(set(atoms)) < len(atoms) or (missing and (at != _BIAS or missing != {_M})):
                return None
            batch |= dict.fromkeys(each for each in atoms if each >= _BATCH)
        order = [*sorted(batch), _M, _N, _K1, _K2]
        inputs = tuple(dict.fromkeys(values[:-1]))
        if not set(batch) <= {each for own in every[-1] for each in own} or values[_BIAS] in values[:_BIAS]:
            return None
        ops = _between(inputs, last)
        if ops is None or not {op for each in read for op in each.ops} <= set(ops):
            return None  # or an input is made of another one
        sizes = self.atoms.sizes
        split = tuple(tuple(tuple(map(sizes.__getitem__, own)) for own in names) for names in every)
        workload = self._workload(values, every, order)
        views = tuple(
            View(inputs.index(each.value), each.first, tuple(tuple(map(order.index, own)) for own in names))
            for each, names in zip(read, every, strict=False)
        )
        whole = all(each.sizes == tuple(ir.RankedTensorType(each.value.type).shape) for each in read)
        plain = whole and len(inputs) == len(read)
        return Found(inputs, ops, workload, self.scale, split, self.after, () if plain else views)

    def _rows_of(self, every: list[Names]) -> list[Names]:
        """Names in which one part of split queries stands for the queries: the mask's, otherwise the longest.

        The other parts become batches that share all keys and values. A single query gets a name here.
        """
        if self.atoms.sizes[_M] == 1:
            ends = (0, len(every) - 1)
            return [_with_one(names) if at in ends else names for at, names in enumerate(every)]
        parts = self.atoms.whole((_M,))
        rows = self.rows if self.rows in parts else max(parts, key=lambda each: self.atoms.sizes[each])
        self.atoms.sizes[_M] = self.atoms.sizes[rows]
        return [tuple(tuple(_M if part == rows else part for part in own) for own in each) for each in every]

    def _workload(self, values: Sequence[ir.Value], every: Sequence[Names], order: Sequence[int]) -> Workload:
        rank = len(order)
        scale = IndexingMap.through(rank, ())
        query, key, value, *bias, out = (
            IndexingMap.through(rank, [order.index(each) for own in names for each in own]) for names in every
        )
        query_type, key_type, value_type, *bias_type, _ = (ElementType.of(value.type) for value in values)
        sums = ElementType.named("f32")
        batch = len(order) - 4
        kinds: tuple[Iterator, ...] = (*(_PARALLEL for _ in range(batch + 2)), "reduction", "reduction")
        roles = {"m": batch, "n": batch + 1, "k1": batch + 2, "k2": batch + 3}
        return Workload(
            Attention.name, Attention.name, tuple(self.atoms.sizes[each] for each in order), kinds,
            (query_type, key_type, value_type, sums, *bias_type, sums),
            (query, key, value, scale, *bias, out),
            (("batch", tuple(range(batch))), *((role, (loop,)) for role, loop in roles.items())),
        )  # fmt: skip


def _with_one(names: Names) -> Names:
    """Name the dimension of a single query: add its atom to the first dimension that has a name."""
    first = next((at for at, own in enumerate(names) if own), 0)
    return (*names[:first], (*names[first], _M), *names[first + 1 :])


def _between(inputs: Sequence[ir.Value], last: ir.Operation) -> tuple[ir.Operation, ...] | None:
    """The ops that compute a result from inputs, producers first; None if they need other values.

    The order follows the operands, not the program. Ops that several attentions share come before the first
    one in the program, where equal attentions would look different.
    """
    found: dict[ir.Operation, None] = {}

    def visit(op: ir.Operation) -> bool:
        for value in (*op.operands, *captured(op)):
            before = producer(value)
            if value in inputs or before in found:
                continue
            if before is None or before.block != last.block or len(found) > _MOST_OPS or not visit(before):
                return False
        found[op] = None
        return True

    return tuple(found) if visit(last) else None


_SCALE = 3  # operand of attention
_AXES = {"Q": ("m", "k1"), "K": ("k2", "k1"), "V": ("k2", "n"), "BIAS": ("m", "k2"), "OUT": ("m", "n")}


@dataclass(frozen=True)
class AttentionShape:
    """Sizes and strides, in elements, of an attention.

    Attributes:
        batch: sizes of the batch's loops.
        m, n, k1, k2: number of queries, width of values, width of heads, number of keys.
        batch_steps: by array (`Q`, `K`, `V`, `OUT`, and `BIAS` for a bias or a mask), the stride of each of
            the batch's loops; 0 if the array does not depend on the loop.
        steps: by array, the strides of rows and of columns; 0 if all rows have the same bias.
        sources: by array that is read, the number of the problem's input.
        starts: by array that is read, the position of its first element in that input.
    """

    batch: tuple[int, ...]
    m: int
    n: int
    k1: int
    k2: int
    batch_steps: Mapping[str, tuple[int, ...]]
    steps: Mapping[str, tuple[int, int]]
    sources: Mapping[str, int]
    starts: Mapping[str, int]


def attention_shape(problem: Problem) -> AttentionShape | None:
    """The shape of a problem; None if it is not an attention, or has several loops of one role."""
    workload = problem.workload
    if not is_attention(workload) or workload.dynamic:
        return None
    if any(len(workload.role(role)) != 1 for role in ("m", "n", "k1", "k2")):
        return None
    sizes, batch = workload.loops, workload.role("batch")
    batch_steps: dict[str, tuple[int, ...]] = {}
    steps: dict[str, tuple[int, int]] = {}
    maps = [each for number, each in enumerate(workload.maps) if number != _SCALE]
    names = [name for name in _AXES if name != "BIAS" or len(maps) == len(_AXES)]
    views = problem.views or tuple(View(at, (), (each.loops,)) for at, each in enumerate(maps[:-1]))
    starts: dict[str, int] = {}
    for name, view in zip(names, (*views, View(0, (), (maps[-1].loops,))), strict=True):
        row, column = _AXES[name]
        shape = problem.inputs[view.input].shape if problem.views and name != "OUT" else ()
        own, starts[name] = _positions(view, shape, sizes)
        batch_steps[name] = tuple(own.get(loop, 0) for loop in batch)
        steps[name] = own.get(workload.role(row)[0], 0), own[workload.role(column)[0]]
    del starts["OUT"]
    sources = {name: view.input for name, view in zip(starts, views, strict=True)}
    m, n, k1, k2 = (workload.sizes(role)[0] for role in ("m", "n", "k1", "k2"))
    return AttentionShape(workload.sizes("batch"), m, n, k1, k2, batch_steps, steps, sources, starts)


def _positions(view: View, shape: Sequence[int], sizes: Sequence[int]) -> tuple[dict[int, int], int]:
    """The stride of each loop in the array of a view, and the position of the view's first element.

    `shape` is the array's; of a dense array of all loops, it may be left out.
    """
    steps: dict[int, int] = {}
    for at, loops in enumerate(view.loops):
        inner = math.prod(shape[at + 1 :])
        steps |= {loop: inner * math.prod(sizes[each] for each in loops[place + 1 :])
                  for place, loop in enumerate(loops)}  # fmt: skip
    return steps, sum(first * math.prod(shape[at + 1 :]) for at, first in enumerate(view.first))
