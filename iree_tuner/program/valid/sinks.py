"""Uses of integers that say what these may be: as an index, a position, a length, a mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from iree.compiler import ir

from iree_tuner.ops.extents import bounds
from iree_tuner.program.valid.bodies import column_of, compared, constant, defining, followed
from iree_tuner.program.valid.interval import Interval
from iree_tuner.program.valid.known import Known

Wanted = Iterator[tuple[ir.Value, Interval]]
Sinks = Callable[[ir.Operation, Known], Wanted]

_ELEMENTS = {"tensor.extract": 0, "memref.load": 0, "tensor.insert": 1, "memref.store": 1}
"""Ops on one element, whose indices follow the operand that they are of."""

_SLICES = {
    "tensor.extract_slice": (0, 1), "tensor.insert_slice": (1, 2),
    "tensor.parallel_insert_slice": (1, 2), "iree_tensor_ext.dispatch.tensor.load": (0, 2),
    "iree_tensor_ext.dispatch.tensor.store": (1, 3),
}  # fmt: skip
"""Ops on slices: the operand that they are of, and the group of operands that are offsets."""

_EQ, _NE, _SLT, _SLE, _SGT, _SGE, _ULT, _ULE, _UGT, _UGE = range(10)
_MIRRORED = {
    _EQ: _EQ, _NE: _NE, _SLT: _SGT, _SLE: _SGE, _SGT: _SLT, _SGE: _SLE,
    _ULT: _UGT, _ULE: _UGE, _UGT: _ULT, _UGE: _ULE,
}  # fmt: skip


def required(op: ir.Operation, known: Known) -> Wanted:
    """Values that an op requires: any other is an error, or undefined."""
    name = op.name
    if name in _ELEMENTS:
        place = _ELEMENTS[name]
        for dimension, index in enumerate(list(op.operands)[place + 1 :]):
            yield index, _rows(known.size(op.operands[place], dimension))
    elif name in _SLICES:
        yield from _slice(op, known, *_SLICES[name])
    elif name in ("iree_linalg_ext.gather", "iree_linalg_ext.scatter"):
        yield from _table(op, known)
    elif name == "cf.assert":
        yield from _asserted(op.operands[0], known)
    elif name == "util.assume.int":
        for operand, result in zip(op.operands, op.results, strict=True):
            assumed = bounds(result)
            if assumed.upper is not None:
                yield operand, Interval(assumed.lower, assumed.upper)


def preferred(op: ir.Operation, known: Known) -> Wanted:
    """Lengths and positions: numbers that are compared with all places of a dimension."""
    if op.name != "arith.cmpi":
        return
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    for value, other, kind in (
        (op.operands[1], op.operands[0], predicate),
        (op.operands[0], op.operands[1], _MIRRORED[predicate]),
    ):
        places = known.range(other)
        if places is None or places.low is None or places.high is None or places.low == places.high:
            continue
        if known.range(value) is None:  # place < length; place <= position
            after = int(kind in (_SLT, _SGE, _ULT, _UGE))
            yield value, Interval(places.low + after, places.high + after)


def masks(op: ir.Operation, known: Known) -> Wanted:
    """Integers that are only asked whether they are zero, or are taken from one."""
    if op.name == "arith.cmpi":
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        if predicate in (_EQ, _NE) and known.exact(op.operands[1]) == 0:
            yield op.operands[0], Interval(0, 1)
    elif op.name == "arith.trunci":
        kind = op.results[0].type
        if isinstance(kind, ir.IntegerType) and kind.width == 1:
            yield op.operands[0], Interval(0, 1)
    elif op.name == "arith.subf" and _is_one(op.operands[0]):
        taken = defining(followed(op.operands[1])[0])
        if taken is not None and taken.name in ("arith.sitofp", "arith.uitofp"):
            yield taken.operands[0], Interval(0, 1)


def _rows(size: int | None) -> Interval:
    """The indices of a dimension; the first of one whose size is not known."""
    return Interval(0, max(0, (size or 1) - 1))


def _slice(op: ir.Operation, known: Known, place: int, group: int) -> Wanted:
    groups = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    first = sum(groups[:group])
    offsets, sizes, strides = (
        _mixed(op, name, first + sum(groups[group : group + number]))
        for number, name in enumerate(("static_offsets", "static_sizes", "static_strides"))
    )
    for dimension, (offset, size, stride) in enumerate(zip(offsets, sizes, strides, strict=True)):
        whole = known.size(op.operands[place], dimension)
        step = stride if isinstance(stride, int) else known.exact(stride) or 1
        begins = _range(offset, known)
        length = _range(size, known)
        if whole is None:
            whole = 1 if length is None or length.high is None else length.high
        if not isinstance(offset, int) and begins is None:
            taken = (length.high if length is not None else None) or (1 if length else (whole + 1) // 2)
            yield offset, Interval(0, max(0, whole - 1 - (taken - 1) * step))
        if not isinstance(size, int) and length is None:
            start = (begins.high if begins is not None else None) or 0
            left = (whole - start) if begins is not None else whole - (whole - 1 - (whole - 1) // 2)
            yield size, Interval(min(1, left), max(0, -(-left // step)))


def _mixed(op: ir.Operation, name: str, first: int) -> list[int | ir.Value]:
    """Static numbers, and operands where there are none."""
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    size = ir.ShapedType.get_dynamic_size()
    found: list[int | ir.Value] = []
    for each in ir.DenseI64ArrayAttr(op.attributes[name]):
        if each in (dynamic, size):
            found.append(op.operands[first])
            first += 1
        else:
            found.append(each)
    return found


def _range(value: int | ir.Value, known: Known) -> Interval | None:
    return Interval(value, value) if isinstance(value, int) else known.range(value)


def _table(op: ir.Operation, known: Known) -> Wanted:
    """The rows that a gather reads, or that a scatter writes: for each column of indices, if known."""
    scatters = op.name.endswith("scatter")
    table = op.operands[2] if scatters else op.operands[0]
    distinct = scatters and ir.BoolAttr(op.attributes["unique_indices"]).value
    for column, dimension in enumerate(ir.DenseI64ArrayAttr(op.attributes["dimension_map"])):
        rows = _rows(known.size(table, dimension))
        yield column_of(op.operands[1], column), replace(rows, distinct=distinct)


def _asserted(condition: ir.Value, known: Known) -> Wanted:
    op = defining(condition)
    if op is not None and op.name == "arith.andi":
        for each in op.operands:
            yield from _asserted(each, known)
        return
    comparison = compared(condition)
    if comparison is None:
        return
    predicate = ir.IntegerAttr(comparison.attributes["predicate"]).value
    left, right = comparison.operands[0], comparison.operands[1]
    for value, other, kind in ((left, right, predicate), (right, left, _MIRRORED[predicate])):
        limit = known.range(other)
        if limit is not None and known.range(value) is None:
            yield value, satisfying(kind, limit)


def satisfying(predicate: int, limit: Interval) -> Interval:
    """The integers for which a comparison with all of `limit` holds."""
    if predicate in (_SLT, _ULT, _SLE, _ULE):
        high = None if limit.low is None else limit.low - (predicate in (_SLT, _ULT))
        return Interval(0 if predicate in (_ULT, _ULE) else None, high)
    if predicate in (_SGT, _UGT, _SGE, _UGE):
        return Interval(None if limit.high is None else limit.high + (predicate in (_SGT, _UGT)))
    return limit if predicate == _EQ and limit.low == limit.high else Interval()


def _is_one(value: ir.Value) -> bool:
    op = defining(followed(value)[0])
    if op is None or op.name != "arith.constant" or constant(value) is not None:
        return False
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseFPElementsAttr) and attribute.is_splat:
        attribute = attribute.get_splat_value()
    return isinstance(attribute, ir.FloatAttr) and attribute.value == 1.0
