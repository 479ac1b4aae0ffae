"""Attention, as exporters write it: a product of queries and keys, a softmax, and a product with values.

Between these stand casts, reshapes, transposes, heads that are repeated for several of the queries, and
a mask of the keys that come later. They are followed by naming dimensions: each has atoms for names, and a
reshape that splits one gives it several. What is found is the attention of arrays as the program has them,
so that a kernel reads and writes these in place, and no transpose is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.kernels.causal import sees_up_to
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.naming import Names, Naming
from iree_tuner.kernels.shapes import (
    body_of,
    choice_of,
    factor_of,
    softmaxed,
    starts_with,
)
from iree_tuner.ops.attention import ROLES, Attention
from iree_tuner.ops.canonical import captured
from iree_tuner.ops.contraction import Contraction
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.structure import indexing_maps, structure, workload_of
from iree_tuner.ops.workload import Iterator, Workload

_M, _N, _K1, _K2, _BATCH = range(5)
_ROLES = ({_M, _K1}, {_K2, _K1}, {_K2, _N}, {_M, _N})
"""What queries, keys, values and the result have beside batches."""

ATTENTION_OP, _OPERANDS = "iree_linalg_ext.attention", 5
_MOST_OPS = 64
_PARALLEL: Iterator = "parallel"


@dataclass(frozen=True)
class Found:
    """An attention in a program.

    Attributes:
        inputs: queries, keys and values, as the program has them.
        ops: from these to the result, producers first.
        workload: what is computed, with an indexing map for each of queries, keys, values and the result.
        scale: what scores are multiplied by.
        shapes: for each input and the result, the sizes as which its dimensions are read; none for an op.
        after: how many keys after its own place a query sees; None where it sees all.
    """

    inputs: tuple[ir.Value, ...]
    ops: tuple[ir.Operation, ...]
    workload: Workload
    scale: float
    shapes: tuple[Names, ...]
    after: int | None = None


def find_attention(root: ir.Operation) -> Found | None:
    """The attention whose product with the values an op is; None where it is none that is understood."""
    roles = _roles(root)
    if roles is None:
        return None
    parts = (*roles["m"], *roles["n"], *roles["k"], *roles["batch"])
    names = dict(zip(parts, (_M, _N, _K2, *range(_BATCH, _BATCH + len(roles["batch"]))), strict=True))
    walk = _Walk(_BATCH + len(roles["batch"]), batch=frozenset(names.values()) - {_M, _N, _K2})
    lhs, rhs, out = (walk.named(each, names) for each in indexing_maps(root))
    scores = walk.softmax(root.operands[0], lhs)
    if scores is None:
        return None
    product = walk.scores(*scores)
    if product is None:
        return None
    left, right = walk.queries_and_keys(*product)
    if left is None or right is None:
        return None
    values = walk.followed(root.operands[1], rhs)
    last, result = walk.onward(root, out)
    return walk.found((left, right, values), (last, result))


def attention_of(op: ir.Operation) -> Found | None:
    """The attention that an op of the compiler's dialect is; None with a mask or changed scores."""
    if op.name != ATTENTION_OP or len(op.operands) != _OPERANDS:
        return None
    *inputs, scale, out = op.operands
    factor, start, (inner, *others) = producer(scale), producer(out), op.regions[0].blocks[0].operations
    value = factor.attributes["value"] if factor is not None and factor.name == "arith.constant" else None
    if others or inner.operands[0] != op.regions[0].blocks[0].arguments[0] or len(set(inputs)) < len(inputs):
        return None
    if factor is None or not isinstance(value, ir.FloatAttr) or start is None or start.name != "tensor.empty":
        return None
    query, key, values, _, written = indexing_maps(op)
    detail = iree_codegen.get_attention_op_detail(query, key, values, written)
    roles = [(role, tuple(getattr(detail, f"{role}_dims"))) for role in ROLES]
    found = structure(op)
    workload = None if found is None else workload_of(Attention.name, Attention.name, found, roles)
    return None if workload is None else Found(tuple(inputs), (factor, start, op), workload, value.value, ())


def _roles(op: ir.Operation) -> dict[str, tuple[int, ...]] | None:
    """Loops of a product that starts from zeros by their part, one of each but the batch's."""
    workload = Contraction().describe(op)
    if workload is None or workload.dynamic or not starts_with(op, 0.0):
        return None
    found = {role: workload.role(role) for role in ("batch", "m", "n", "k")}
    return found if all(len(found[role]) == 1 for role in ("m", "n", "k")) else None


@dataclass
class _Walk(Naming):
    """What is known of an attention so far.

    Attributes:
        batch: the atoms of the batch's loops.
        scale: what scores are multiplied by.
        after: see `Found`.
    """

    batch: frozenset[int] = frozenset()
    scale: float = 1.0
    after: int | None = None

    def softmax(self, value: ir.Value, names: Names) -> tuple[ir.Value, Names] | None:
        """What a softmax over the keys is of, before which values were cast and reshaped."""
        op = producer(value)
        while op is not None and op.name != "linalg.softmax":
            before = names if body_of(op) == "arith.truncf" else self.before(op, names)
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
        """The product of queries and keys, which may be scaled and reshaped."""
        op = producer(value)
        while op is not None and _roles(op) is None:
            if op.name == "tensor.expand_shape":
                collapsed = self.collapsed(names, op)
                if collapsed is None:
                    return None
                names = collapsed
            elif (factor := factor_of(op)) is not None:
                self.scale *= factor
            elif (choice := choice_of(op)) is not None and self.after is None:
                mask, place = choice
                own = [names[each] for each in place]
                if (_M,) not in own or (_K2,) not in own:
                    return None
                loops = [each[0] for each in own]
                self.after = sees_up_to(mask, loops, _M, _K2)
                if self.after is None or self.after < 0:  # nor one that leaves a query without keys
                    return None
                op = producer(op.operands[1])
                continue
            else:
                return None
            op = producer(op.operands[0])
        if op is None or (self.after is not None and self.scale <= 0.0):
            return None
        return op, names

    def queries_and_keys(
        self, product: ir.Operation, names: Names
    ) -> tuple[tuple[ir.Value, Names] | None, tuple[ir.Value, Names] | None]:
        """Both operands of the first product, followed; None where it is no such product."""
        roles, maps = _roles(product), indexing_maps(product)
        assert roles is not None, "`scores` has looked"
        places = [ir.AffineDimExpr(each).position for each in maps[2].results]
        loops = dict(zip(places, names, strict=True))
        (depth,) = roles["k"]
        batch = {loops[each] for each in roles["batch"]}
        if batch != {(atom,) for atom in self.batch}:
            return None, None
        atoms = {loop: own[0] for loop, own in loops.items()} | {depth: _K1}
        sides = [self.named(each, atoms) for each in maps[:2]]
        rows = [(_M,) in each for each in sides]
        if sum(rows) != 1 or any(((_K2,) in each) == row for each, row in zip(sides, rows, strict=True)):
            return None, None
        first = rows.index(True)
        left, right = (
            self.followed(product.operands[each], sides[each]) for each in (first, 1 - first)
        )  # fmt: skip
        return left, right

    def onward(self, op: ir.Operation, names: Names) -> tuple[ir.Operation, Names]:
        """Forward through casts, reshapes and transposes that nothing else has a part in."""
        while len(uses := list(op.result.uses)) == 1:
            user = uses[0].owner.operation
            after = names if body_of(user) == "arith.truncf" else self.onto(user, names)
            if after is None or user.operands[0] != op.result:
                break
            op, names = user, after
        return op, names

    def found(
        self, inputs: Sequence[tuple[ir.Value, Names]], result: tuple[ir.Operation, Names]
    ) -> Found | None:
        """All of it as a workload, where batches may be split, and keys and values lack some of them."""
        values = [*(value for value, _ in inputs), result[0].result]
        every = [tuple(map(self.whole, names)) for _, names in (*inputs, result)]
        batch: dict[int, None] = {}
        for value, names, roles in zip(values, every, _ROLES, strict=True):
            shape = ir.RankedTensorType(value.type).shape
            for own, size in zip(names, shape, strict=True):
                if len(own) == 1:
                    self.sizes.setdefault(own[0], size)
                if math.prod(self.sizes[each] for each in own) != size:
                    return None
            atoms = [each for own in names for each in own]
            if len(set(atoms)) < len(atoms) or {each for each in atoms if each < _BATCH} != roles:
                return None
            batch |= dict.fromkeys(each for each in atoms if each >= _BATCH)
        order = [*sorted(batch), _M, _N, _K1, _K2]
        if (
            () in every[-1]
            or not set(batch) <= {each for own in every[-1] for each in own}
            or len(set(values)) < len(values)
        ):
            return None
        ops = _between(values[:-1], result[0])
        if ops is None:
            return None
        shapes = tuple(tuple(tuple(self.sizes[each] for each in own) for own in names) for names in every)
        workload = self._workload(values, every, order)
        return Found(tuple(values[:-1]), ops, workload, self.scale, shapes, self.after)

    def _workload(self, values: Sequence[ir.Value], every: Sequence[Names], order: Sequence[int]) -> Workload:
        rank = len(order)
        scale = IndexingMap.through(rank, ())
        query, key, value, out = (
            IndexingMap.through(rank, [order.index(each) for own in names for each in own]) for names in every
        )
        query_type, key_type, value_type, _ = (ElementType.of(value.type) for value in values)
        sums = ElementType.named("f32")
        batch = len(order) - 4
        kinds: tuple[Iterator, ...] = (*(_PARALLEL for _ in range(batch + 2)), "reduction", "reduction")
        roles = {"m": batch, "n": batch + 1, "k1": batch + 2, "k2": batch + 3}
        return Workload(
            Attention.name, Attention.name, tuple(self.sizes[each] for each in order), kinds,
            (query_type, key_type, value_type, sums, sums), (query, key, value, scale, out),
            (("batch", tuple(range(batch))), *((role, (loop,)) for role, loop in roles.items())),
        )  # fmt: skip


def _between(inputs: Sequence[ir.Value], last: ir.Operation) -> tuple[ir.Operation, ...] | None:
    """All ops that a result is computed by from inputs, producers first; None where others have a part.

    Their order follows from what they are of. In the program, those that several attentions share come before
    the first of these, so that equal ones would look different.
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
