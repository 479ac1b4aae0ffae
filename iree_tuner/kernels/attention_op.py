"""An attention of a program as one op of the compiler's, to time it alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, func, tensor

from iree_tuner.compiler.linalg import IndexOp, access, collapse, elementwise, expand
from iree_tuner.kernels.attention import Found, Names
from iree_tuner.kernels.fused_op import build
from iree_tuner.kernels.kernel import View
from iree_tuner.kernels.moved import build_dispatch
from iree_tuner.kernels.moves import sliced
from iree_tuner.kernels.scores import Added
from iree_tuner.ops import matching


def build_alone(found: Found, function: func.FuncOp) -> ir.Value:
    """Build an attention as one op, at the current insertion point in a function of its inputs."""
    result = ir.RankedTensorType(found.ops[-1].result.type)
    *shapes, written = found.shapes
    own = ir.RankedTensorType.get([size for sizes in written for size in sizes], result.element_type)

    def attend() -> ir.Value[Any]:
        arguments, later = [*function.arguments], found.later
        last = {} if later is None else {1: later.keys, 2: later.values}
        parts = [
            _joined_keys(found, at, view, last[at], arguments) if at in last
            else _split(_part(arguments[view.input], view, shape), shape)
            for at, (view, shape) in enumerate(zip(found.views, shapes, strict=True))
        ]  # fmt: skip
        return _attention(found, parts, own, arguments)

    with ir.Location.unknown(result.context):
        if found.views:
            return _joined(build_dispatch(own, attend), written, result)
        operands = function.arguments[: len(shapes)]
        arguments = [_split(each, sizes) for each, sizes in zip(operands, shapes, strict=True)]
        attend = partial(_attention, found, arguments, own, function.arguments)
        alone = not found.masks and found.added is None
        return _joined(attend() if alone else build_dispatch(own, attend), written, result)


def _part(value: ir.Value[Any], view: View, shape: Names) -> ir.Value[Any]:
    """The part of an array that a view reads, whose dimensions have these sizes."""
    sizes = [*map(math.prod, shape)]
    whole = [*ir.RankedTensorType(value.type).shape]
    return value if whole == sizes else sliced(value, view.first, sizes, sizes)


def _joined_keys(
    found: Found, operand: int, earlier: View, later: View, arguments: Sequence[ir.Value[Any]]
) -> ir.Value[Any]:
    """Keys or values of both parts, as the operand of that number."""
    every, (key,) = found.workload.loops, found.workload.role("k2")
    loops = found.workload.maps[operand].loops
    cut = found.later.earlier if found.later else 0

    def constant(number: int) -> ir.Value:
        return arith.constant(ir.IndexType.get(), number)

    def index(view: View, at: Mapping[int, ir.Value]) -> list[Any]:
        places = [*map(constant, view.first)]
        for dimension, own in enumerate(view.loops):
            inner = 1
            for loop in reversed(own):
                step = arith.muli(at[loop], constant(inner))
                places[dimension] = arith.addi(places[dimension], step)
                inner *= every[loop]
        return places

    def read() -> ir.Value:
        at: dict[int, ir.Value] = {loop: IndexOp(number).result for number, loop in enumerate(loops)}
        zero, end, last = map(constant, (0, cut, cut - 1))
        before = {**at, key: arith.minsi(at[key], last)}
        after = {**at, key: arith.maxsi(arith.subi(at[key], end), zero)}
        one = tensor.extract(arguments[earlier.input], index(earlier, before))
        two = tensor.extract(arguments[later.input], index(later, after))
        return arith.select(arith.cmpi(arith.CmpIPredicate.slt, at[key], end), one, two)

    kind = ir.RankedTensorType(arguments[earlier.input].type).element_type
    return elementwise([], [], [every[each] for each in loops], kind, read)


def _attention(
    found: Found, arguments: Sequence[ir.Value], result: ir.RankedTensorType, inputs: Sequence[ir.Value]
) -> ir.Value[Any]:  # fmt: skip
    """Build an attention of these operands; what is added to its scores is read from the `inputs`."""
    *maps, out = matching.indexing_maps(found.workload)
    operands = [*arguments[:3], arith.ConstantOp(ir.F32Type.get(), found.scale).result]
    bias = arguments[3:]
    if found.added is not None:
        names = [loop for own in found.seen for loop in own]
        bias = [*bias, _summand(found, found.added, inputs)]
        maps.append(access(len(found.workload.loops), names))
    if found.masks:
        others = (ir.AffineDimExpr(each).position for own in maps[4:] for each in own.results)
        reads = [*dict.fromkeys((*found.workload.role("m"), *found.workload.role("k2"), *others))]
        maps[4:], bias = [access(len(found.workload.loops), reads)], [_mask(found, bias, maps[4:], reads)]
    operands += bias
    operands.append(tensor.EmptyOp(list(result.shape), result.element_type).result)
    every = ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in (*maps, out)])
    op = ir.Operation.create(
        "iree_linalg_ext.attention", results=[result], operands=operands,
        attributes={"indexing_maps": every}, regions=1,
    )  # fmt: skip
    block = op.regions[0].blocks.append(ir.F32Type.get(), arg_locs=[ir.Location.unknown()])
    with ir.InsertionPoint(block):
        score = block.arguments[0] if found.cap is None else _capped(block.arguments[0], found.cap)
        ir.Operation.create("iree_linalg_ext.yield", operands=[score])
    return op.result


def _summand(found: Found, added: Added, inputs: Sequence[ir.Value]) -> ir.Value:
    """The summand of scores, with a dimension for each of their loops."""
    given = {value: inputs[found.inputs.index(value)] for value in added.inputs}
    loops = found.workload.loops
    shape = tuple(tuple(loops[each] for each in own) for own in found.seen)
    kind = ir.RankedTensorType.get([*map(math.prod, shape)], ir.F32Type.get())
    return _split(build(added.plan, given, kind, added.score), shape)


def _capped(score: ir.Value, cap: float) -> ir.Value:
    """The cap of a score. The compiler gives the region scores in units of log(2), and takes them so."""
    kind = ir.F32Type.get()
    inside = arith.mulf(score, arith.constant(kind, math.log(2.0)))
    tanh = ir.Operation.create("math.tanh", results=[kind], operands=[inside]).result
    return arith.mulf(tanh, arith.constant(kind, cap * math.log2(math.e)))


def _mask(
    found: Found, bias: Sequence[ir.Value], maps: Sequence[ir.AffineMap], loops: Sequence[int]
) -> ir.Value:  # fmt: skip
    """Which keys each query sees, by these loops: queries, keys, others of a bias; or the bias of these."""
    truth = ir.IntegerType.get_signless(1)
    kind = ir.RankedTensorType(bias[0].type).element_type if bias else truth

    def sees(*given: ir.Value) -> ir.Value:
        query, key = (IndexOp(each).result for each in (0, 1))
        number = partial(arith.constant, ir.IndexType.get())
        tests: list[ir.Value] = []
        if found.after is not None:
            last = arith.addi(query, number(found.after))
            tests.append(arith.cmpi(arith.CmpIPredicate.sle, key, last))
        if found.before is not None:
            end = arith.addi(key, number(found.before))
            tests.append(arith.cmpi(arith.CmpIPredicate.sge, end, query))
        seen = reduce(arith.andi, tests)
        if not bias or kind == truth:
            return arith.andi(seen, given[0]) if bias else seen
        return arith.select(seen, given[0], arith.constant(kind, -math.inf))

    read = [
        access(len(loops), [loops.index(ir.AffineDimExpr(each).position) for each in own.results])
        for own in maps
    ]
    return elementwise(bias, read, [found.workload.loops[each] for each in loops], kind, sees)


def _split(value: ir.Value[Any], shape: Names) -> ir.Value:
    """Split the dimensions of a value into these sizes, and drop dimensions of size 1 without a name."""
    return expand(collapse(value, [*map(len, _units(shape))]), [each for each in shape if each])


def _joined(value: ir.Value[Any], shape: Names, result: ir.RankedTensorType) -> ir.Value:
    """Undo `_split`, for the result."""
    value = collapse(value, [len(each) for each in shape if each])
    return expand(value, [[result.shape[at] for at in group] for group in _units(shape)])


def _units(shape: Names) -> list[list[int]]:
    """Groups of dimensions: each has one dimension with a name and the neighbors without one."""
    named = [at for at, own in enumerate(shape) if own]
    ends = [*named[1:], len(shape)]
    return [list(range(*each)) for each in zip([0, *named[1:]], ends, strict=True)]
