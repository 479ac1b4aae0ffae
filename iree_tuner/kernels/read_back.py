"""Positions and conditions that are in tensors, where no host reads them.

The compiler takes the offsets of a slice on the host, and scalars that a body uses. If these are in a tensor,
such as the position of a token in a cache or a condition, the device's memory is read back in the middle of a
call, and the host waits for all before it: 1.6 ms on an H200. Here a slice is an op that reads the position
where it runs, an insertion is a scatter, and a body reads a scalar itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, func, tensor

from iree_tuner.compiler.context import walk
from iree_tuner.compiler.linalg import IndexOp, collapse, elementwise, expand
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.moves import EXTRACT, INSERT, SLICE, is_pure, is_static, numbers
from iree_tuner.kernels.site import Site, copy_ops
from iree_tuner.kernels.split_sums import OpsOfBlock, site_of_ops

_GENERIC = "linalg.generic"
_SCATTER, _YIELD = "iree_linalg_ext.scatter", "iree_linalg_ext.yield"
_MOST_OPS = 64


def find_read_back(blocks: Sequence[OpsOfBlock]) -> list[Site]:
    """The ops of blocks for which the host would read memory back, in program order."""
    found: list[Site | None] = []
    for block in blocks:
        for op in block.ops:
            if op.name in (SLICE, INSERT):
                found.append(_at_places(op, block))
            elif op.name == _GENERIC:
                found += [_of_scalars(inner, block) for inner in walk(op) if inner != op]
    return [site for site in found if site is not None]


def _at_places(op: ir.Operation, block: OpsOfBlock) -> Site | None:
    """The site of a slice or an insertion."""
    if not is_static(op) or set(numbers(op, "static_strides")) != {1}:
        return None
    tensors = 1 if op.name == SLICE else 2
    shape = ir.RankedTensorType((op.result if op.name == SLICE else op.operands[0]).type).shape
    before = _scalars([*op.operands][tensors:], block)
    if not shape or not before:
        return None
    values = [*dict.fromkeys([*[*op.operands][:tensors], *_read_by(before)])]

    def build(function: func.FuncOp) -> ir.Value:
        known = dict(zip(values, function.arguments, strict=True))
        return (_sliced if op.name == SLICE else _inserted)(op, _Places(op, before, known), known)

    return site_of_ops(values, [*before, op], None, build)


def _of_scalars(user: ir.Operation, block: OpsOfBlock) -> Site | None:
    """The site of a scalar op of a body, which uses scalars from outside."""
    before = _scalars([each for each in user.operands if producer(each) in block.place], block)
    if not before or len(user.results) != 1 or user.regions:
        return None
    made = {op.result for op in before}
    values = [*dict.fromkeys([*(each for each in user.operands if each not in made), *_read_by(before)])]

    def build(function: func.FuncOp) -> ir.Value:
        return copy_ops([*before, user], dict(zip(values, function.arguments, strict=True)))

    return site_of_ops(values, [*before, user], None, build)


def _read_by(ops: Sequence[ir.Operation]) -> list[ir.Value]:
    """The tensors that elements are read of."""
    return [each.operands[0] for each in ops if each.name == EXTRACT]


def _scalars(values: Sequence[ir.Value], block: OpsOfBlock) -> list[ir.Operation]:
    """The ops that compute scalars from elements of tensors, in order; empty if others do or none is read."""
    found, waiting = set[ir.Operation](), [*values]
    while waiting:
        op = producer(waiting.pop())
        if op in found:
            continue
        known = op is not None and op in block.place and (op.name == EXTRACT or is_pure(op))
        if op is None or not known or len(found) == _MOST_OPS or (op.name == EXTRACT and not is_static(op)):
            return []
        found.add(op)
        waiting += [*op.operands][1 if op.name == EXTRACT else 0 :]
    read = any(each.name == EXTRACT for each in found)
    return sorted(found, key=block.place.__getitem__) if read else []


class _Places:
    """The offsets of a slice or an insertion, computed anew in the body of an op."""

    def __init__(
        self, op: ir.Operation, before: Sequence[ir.Operation], known: Mapping[ir.Value, ir.Value]
    ) -> None:
        self.static, self.sizes = numbers(op, "static_offsets"), numbers(op, "static_sizes")
        self._before, self._known = before, known
        self._dynamic = [*op.operands][1 if op.name == SLICE else 2 :]

    def moves(self, dimension: int, size: int) -> bool:
        """Whether a dimension of this size is not read or written as a whole."""
        return self.static[dimension] != 0 or self.sizes[dimension] != size

    def first(self) -> Iterator[ir.Value]:
        """The offset of each dimension, at the current insertion point."""
        known = dict(self._known)
        copy_ops(self._before, known)
        left = iter(self._dynamic)
        for offset in self.static:
            dynamic = offset == ir.ShapedType.get_dynamic_size()
            yield known[next(left)] if dynamic else arith.constant(ir.IndexType.get(), offset)


def _sliced(op: ir.Operation, places: _Places, known: Mapping[ir.Value, ir.Value]) -> ir.Value:
    """Elements of a tensor that are read at the places, in an op over those of the slice."""
    kind = ir.RankedTensorType(op.result.type)
    source: ir.Value[Any] = known[op.operands[0]]

    def read() -> ir.Value:
        at = [arith.addi(offset, IndexOp(number).result) for number, offset in enumerate(places.first())]
        return tensor.extract(source, at)

    whole = elementwise([], [], places.sizes, kind.element_type, read)
    return whole if [*kind.shape] == places.sizes else collapse(whole, _joined(places.sizes, kind.shape))


def _inserted(op: ir.Operation, places: _Places, known: Mapping[ir.Value, ir.Value]) -> ir.Value:
    """A scatter of rows: their indices are those of the dimensions up to the last that is not whole."""
    value, into = known[op.operands[0]], known[op.operands[1]]
    kind, sizes = ir.RankedTensorType(op.result.type), places.sizes
    count = 1 + max(number for number, size in enumerate(kind.shape) if places.moves(number, size))
    integer = ir.IntegerType.get_signless(32)

    def index() -> ir.Value:
        at, *others = [
            arith.index_cast(integer, arith.addi(offset, IndexOp(number).result))
            for number, offset in enumerate([*places.first()][:count])
        ]
        for number, other in enumerate(others, 1):
            here = arith.constant(ir.IndexType.get(), number)
            is_here = arith.cmpi(arith.CmpIPredicate.eq, IndexOp(count).result, here)
            at = arith.select(is_here, other, at)
        return at

    indices = elementwise([], [], [*sizes[:count], count], integer, index)
    shape = ir.RankedTensorType(value.type).shape
    rows = value if [*shape] == sizes else expand(value, [*_parts(sizes, shape)])
    attributes: dict[str, ir.Attribute] = {
        "dimension_map": ir.DenseI64ArrayAttr.get([*range(count)]), "unique_indices": ir.BoolAttr.get(True),
    }  # fmt: skip
    scatter = ir.Operation.create(
        _SCATTER, results=[kind], operands=[rows, indices, into], attributes=attributes, regions=1
    )
    element = kind.element_type
    block = scatter.regions[0].blocks.append(element, element, arg_locs=[ir.Location.unknown()] * 2)
    with ir.InsertionPoint(block):
        ir.Operation.create(_YIELD, operands=[block.arguments[0]])
    return scatter.result


def _joined(whole: Sequence[int], own: Sequence[int]) -> list[int]:
    """How many dimensions of the whole each own one has: of those of size 1 that are left out, too."""
    return [len(each) for each in _parts(whole, own)]


def _parts(whole: Sequence[int], own: Sequence[int]) -> list[list[int]]:
    """The sizes of the whole that each own dimension has, where others of size 1 are left out."""
    found: list[list[int]] = []
    waiting: list[int] = []
    left = list(own)
    for size in whole:
        waiting.append(size)
        if left and size == left[0]:
            found.append(waiting)
            waiting, left = [], left[1:]
    if waiting and found:
        found[-1] += waiting
    return found
