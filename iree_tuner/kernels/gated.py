"""Gated products: one half of the columns goes through an activation and is multiplied by the other half.

These are the variants of a gated linear unit (GLU; Shazeer, GLU variants improve Transformer, 2020). Models
have one product that is cut into halves, or two products, which a joint product makes one of (`joint`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith

from iree_tuner.compiler.linalg import GenericOp, YieldOp, access, elementwise, iterator_type, multiply_add
from iree_tuner.kernels.epilogue import next_steps, producer
from iree_tuner.kernels.moved import (
    RESHAPES,
    Atoms,
    reshaped,
    retyped,
    zeros,
)
from iree_tuner.kernels.moves import piece_of, sliced
from iree_tuner.ops.structure import indexing_maps
from iree_tuner.ops.workload import Workload

HALVES, EXCHANGED, GATED = "halves", "exchanged_halves", "gated"
_ALONG = {"bias": arith.addf, "gain": arith.mulf, "minus": arith.subf}
_OF_A_ROW = {"residual": "bias", "factor": "gain"}


def steps_before(workload: Workload, epilogue: Sequence[str], loop: int) -> tuple[str, ...] | None:
    """The steps that both halves have: along all columns, and `truncf`; None if there are others.

    `loop` is that of the halves. An operand for each of two images, which are the halves, goes along columns,
    and so does one of a result that is one row.
    """
    written = workload.maps[-1].loops
    images = written[0] == loop and workload.loops[loop] == 2
    found = (each.removeprefix("image_") if images else each for each in epilogue)
    steps = tuple(_OF_A_ROW.get(each, each) if len(written) == 1 else each for each in found)
    return steps if {*steps} <= {*_ALONG, "truncf"} else None


@dataclass(frozen=True)
class Gated:
    """The ops that make halves of a product, activate one and multiply them.

    Attributes:
        steps: `halves` or, if the second half is activated, `exchanged_halves`; the steps of that half;
            `gated`, and perhaps `truncf`.
        loop: the loop of the product whose halves are meant; a loop of size 2, or the outer part of another.
        ops: from the epilogue's result to the last one, producers first.
        halves: the first and the second one.
        after: of the ops, those that use the halves.
    """

    steps: tuple[str, ...]
    loop: int
    ops: tuple[ir.Operation, ...]
    halves: tuple[ir.Value, ir.Value]
    after: tuple[ir.Operation, ...]


def find_gated(
    root: ir.Operation, workload: Workload, epilogue: Sequence[ir.Operation], factor: ir.Type
) -> Gated | None:
    """What makes a product a gated one, after its epilogue's ops; None if nothing does.

    `factor` is the element type of the product's factors.
    """
    if not all(each.is_permutation for each in workload.maps):
        return None
    value = (epilogue[-1] if epilogue else root).result
    atoms = Atoms(dict(enumerate(workload.loops)))
    names = atoms.named(indexing_maps(root)[-1], {loop: loop for loop in range(len(workload.loops))})
    between, onward = _reshapes_of(value)
    for reshape in (*(each for each in epilogue if each.name in RESHAPES), *between):
        after = atoms.onto(reshape, names)
        if after is None:
            return None
        names = after
    cuts = [use.owner.operation for use in onward.uses]
    pieces = [piece_of(each) for each in cuts]
    if len(cuts) != 2 or None in pieces:
        return None
    first, second = sorted((each for each in pieces if each is not None), key=lambda each: each.first)
    shape = tuple(ir.RankedTensorType(onward.type).shape)
    along = [at for at, size in enumerate(shape) if first.sizes[at] != size]
    if first.sizes != second.sizes or any(first.first) or len(along) != 1 or not names[along[0]]:
        return None
    begins = tuple(size if at == along[0] else 0 for at, size in enumerate(first.sizes))
    loop = next((each for each in workload.role("n")
                 if atoms.whole((each,))[0] == atoms.whole(names[along[0]])[0]), None)  # fmt: skip
    if loop is None or second.first != begins or 2 * first.sizes[along[0]] != shape[along[0]]:
        return None
    ends = [_reshapes_of(each.value) for each in (first, second)]
    halves, moved = (ends[0][1], ends[1][1]), [op for ops, _ in ends for op in ops]
    ordered = [op for each in (first, second) if (op := producer(each.value)) is not None] + moved
    for one, other, name in ((*halves, HALVES), (*halves[::-1], EXCHANGED)):
        found = activated(one, other, factor)
        if found is not None:
            steps, after_halves = found
            return Gated((name, *steps), loop, (*between, *ordered, *after_halves), halves, after_halves)
    return None


def _reshapes_of(value: ir.Value) -> tuple[list[ir.Operation], ir.Value]:
    """The reshapes that are the only uses of a value, and the last one's result."""
    ops: list[ir.Operation] = []
    while len(uses := list(value.uses)) == 1 and uses[0].owner.operation.name in RESHAPES:
        ops.append(uses[0].owner.operation)
        value = ops[-1].result
    return ops, value


def activated(
    one: ir.Value, other: ir.Value, factor: ir.Type
) -> tuple[tuple[str, ...], tuple[ir.Operation, ...]] | None:
    """The steps of `one` up to its product with `other`, and their ops; None if there is no such product."""
    names, ops, value = list[str](), list[ir.Operation](), one
    while GATED not in names:
        steps = next_steps(value, factor)
        if steps is None or steps.inputs not in ((), (other,)) or "scale" in steps.names:
            return None
        names += [GATED if each == "factor" else each for each in steps.names]
        if bool(steps.inputs) != (GATED in names):
            return None  # it is added, for example
        ops += [each for each in steps.ops if each not in ops]
        value = steps.ops[-1].result
    last = next_steps(value, factor)
    if names[-1] == GATED and last is not None and last.names == ("truncf",):
        ops += [each for each in last.ops if each not in ops]
        names.append("truncf")
    alone = all(use.owner.operation in ops for use in other.uses)
    return (tuple(names), tuple(ops)) if alone and names[-1] in (GATED, "truncf") else None


def build_gated(
    found: Gated, root: ir.Operation, workload: Workload, epilogue: Sequence[str],
    arguments: Sequence[ir.Value], finish: Callable[[dict[ir.Value, ir.Value]], ir.Value],
) -> ir.Value:  # fmt: skip
    """Build a gated product of its inputs, with one op for the sums, at the current insertion point.

    `epilogue` are the steps of both halves; `finish` builds the ops after these, from values of the halves.
    """
    left, right, *more = arguments
    element = ir.RankedTensorType(found.halves[0].type).element_type
    sums = _sums(found, root, workload, left, right)
    made: dict[ir.Value, ir.Value] = {}
    for number, (half, end) in enumerate(zip(sums, found.halves, strict=True)):
        value, extras = half, iter(more)
        for step in epilogue:
            narrow = step == "truncf"
            value = retyped(value, element) if narrow else _with_step(value, step, next(extras), number)
        made[end] = reshaped(value, ir.RankedTensorType(end.type).shape)
    return finish(made)


def _sums(
    found: Gated, root: ir.Operation, workload: Workload, left: ir.Value, right: ir.Value
) -> Sequence[ir.Value]:
    """The sums of both halves, by one op."""
    size, (read, weights, written) = workload.loops[found.loop], workload.maps
    kept = [each for each in range(len(workload.loops)) if each != found.loop or size > 2]
    place = weights.dimension_of(found.loop)
    assert place is not None, "it is a loop of columns"
    whole = ir.RankedTensorType(right.type).shape
    cut = [size // 2 if at == place else each for at, each in enumerate(whole)]
    dims = [each for at, each in enumerate(cut) if at != place or size > 2]
    halves = [
        sliced(right, [number * size // 2 if at == place else 0 for at in range(len(whole))], cut, dims)
        for number in range(2)
    ]
    maps = [
        access(len(kept), [kept.index(loop) for loop in each.loops if loop in kept])
        for each in (read, weights, weights, written, written)
    ]
    out = [workload.loops[each] // (2 if each == found.loop else 1) for each in written.loops if each in kept]
    sums = ir.RankedTensorType(root.result.type).element_type
    start = zeros(out, sums)
    kinds = ir.ArrayAttr.get([iterator_type(workload.iterators[each]) for each in kept])
    every = ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps])
    op = GenericOp([start.type] * 2, [left, *halves], [start] * 2, every, kinds)
    elements = [ir.RankedTensorType(each.type).element_type for each in (left, right, right)]
    with ir.InsertionPoint(op.regions[0].blocks.append(*elements, sums, sums)):
        x, *ys, one, two = op.regions[0].blocks[0].arguments
        YieldOp([multiply_add(x, y, before) for y, before in zip(ys, (one, two), strict=True)])
    return list(op.results)


def _with_step(value: ir.Value, step: str, extra: ir.Value[Any], number: int) -> ir.Value:
    """The value after a step with its half of an array of all columns."""
    kind, columns = ir.RankedTensorType(value.type), math.prod(ir.RankedTensorType(extra.type).shape) // 2
    half = sliced(reshaped(extra, [2 * columns]), [number * columns], [columns], [columns])
    maps = [ir.AffineMap.get_identity(kind.rank), access(kind.rank, [kind.rank - 1])]
    arrays = [value, retyped(half, kind.element_type)]
    return elementwise(arrays, maps, kind.shape, kind.element_type, _ALONG[step])
