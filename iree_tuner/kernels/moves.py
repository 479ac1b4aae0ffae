"""Ops that compute each element of their result from single elements of their operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from iree.compiler import ir
from iree.compiler.dialects import arith, tensor

from iree_tuner.compiler.context import ops_in, remembered, symbol_of
from iree_tuner.compiler.linalg import PackOp, collapse, expand
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.kernel import Code, Kernel, KernelError, Packed, Packing, Problem
from iree_tuner.kernels.moved import LoopSum, NotIndexableError, digits
from iree_tuner.kernels.shapes import groups_of
from iree_tuner.ops.dag import captured
from iree_tuner.ops.structure import indexing_maps, iterators, shape_of
from iree_tuner.targets import Target

T = TypeVar("T")

Indices = tuple[LoopSum, ...]

SLICE, INSERT, CONCAT = "tensor.extract_slice", "tensor.insert_slice", "tensor.concat"
EXPAND, COLLAPSE, EMPTY, CONSTANT = (
    "tensor.expand_shape", "tensor.collapse_shape", "tensor.empty", "arith.constant",
)  # fmt: skip
EXTRACT, INDEX, PAD = "tensor.extract", "linalg.index", "tensor.pad"
JOINS = (INSERT, CONCAT)
"""Ops that join several tensors into one."""
_UNARY = (SLICE, EXPAND, COLLAPSE)
_PURE = ("arith.", "math.")
_TRAPS = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.ceildivsi", "arith.floordivsi")


@remembered
def is_static(op: ir.Operation) -> bool:
    """Whether an op has one result, and all its tensors have static shapes."""
    values = (*op.operands, *op.results)
    return len(op.results) == 1 and all(None not in shape_of(each.type) for each in values)


def is_move(op: ir.Operation) -> bool:
    """Whether an op only moves elements: reshapes, slices, joins, transposes, repetitions, reversals."""
    if op.name in (*_UNARY, INSERT, CONCAT) or reversed_by(op):
        return is_followed(op)
    return is_elementwise(op) and len(op.regions[0].blocks[0].operations) == 1


def is_view(op: ir.Operation) -> bool:
    """Whether an op takes neighboring elements of a tensor that no followed op makes, which costs nothing.

    A layer's part of a cache is one. Chains begin after it, so that they are equal in all layers.
    """
    if op.name != SLICE or not is_followed(op) or set(numbers(op, "static_strides")) != {1}:
        return False
    before = op.operands[0].owner
    if not isinstance(before, ir.Block) and (is_followed(before.operation) or is_source(before.operation)):
        return False
    return not has_gaps(op)


def piece_of(op: ir.Operation) -> Piece | None:
    """The part of its operand that a slice takes; None for other ops, and for slices with strides."""
    if op.name != SLICE or not is_followed(op) or set(numbers(op, "static_strides")) != {1}:
        return None
    sizes = tuple(numbers(op, "static_sizes"))
    dropped = _dropped(sizes, ir.RankedTensorType(op.result.type).shape)
    return Piece(op.result, tuple(numbers(op, "static_offsets")), sizes, tuple(dropped))


def has_gaps(op: ir.Operation) -> bool:
    """Whether the elements that a slice takes are not neighbors, so that the compiler copies them."""
    sizes, whole = numbers(op, "static_sizes"), ir.RankedTensorType(op.operands[0].type).shape
    longer = next((at for at, size in enumerate(sizes) if size != 1), len(sizes))
    return sizes[longer + 1 :] != whole[longer + 1 :]


def is_followed(op: ir.Operation) -> bool:
    """Whether an op is supported: each element of its result depends on single elements of its operands."""
    if not is_static(op):
        return False
    if op.name in _UNARY:
        return len(op.operands) == 1
    if op.name == INSERT:
        return len(op.operands) == 2 and set(numbers(op, "static_strides")) == {1}
    return op.name == CONCAT or is_elementwise(op) or bool(reversed_by(op))


@remembered
def reversed_by(op: ir.Operation) -> tuple[int, ...]:
    """The dimensions that an op reverses; empty for ops that `readings.build_reversal` does not build."""
    if op.name != "linalg.generic" or len(op.operands) != 2 or not is_static(op):
        return ()
    last = op.regions[0].blocks[0].operations[-1].operands[0]
    extract, array = producer(last), op.operands[0]
    if extract is None or extract.name != EXTRACT or extract.operands[0] != array:
        return ()
    found = list[int]()
    for place, size in enumerate(ir.RankedTensorType(array.type).shape):
        index = extract.operands[place + 1]
        before = producer(index)
        if before is not None and before.name == "arith.subi" and _number(before.operands[0]) == size - 1:
            found.append(place)
            index = before.operands[1]
        loop = producer(index)
        if loop is None or loop.name != INDEX or ir.IntegerAttr(loop.attributes["dim"]).value != place:
            return ()
    identity = ir.AffineMap.get_identity(ir.RankedTensorType(array.type).rank)
    same = op.result.type == array.type and indexing_maps(op)[-1] == identity
    return tuple(found) if same else ()


def _number(value: ir.Value) -> int | None:
    """The integer that a value is; None if it is no constant."""
    op = producer(value)
    found = op.attributes["value"] if op is not None and op.name == CONSTANT else None
    return found.value if isinstance(found, ir.IntegerAttr) else None


@remembered
def is_elementwise(op: ir.Operation) -> bool:
    """Whether an op is a linalg op with parallel loops and a body of scalar ops without side effects."""
    if not op.name.startswith("linalg.") or len(op.results) != 1 or not is_static(op):
        return False
    maps = indexing_maps(op)
    if len(maps) != len(op.operands) or "reduction" in iterators(op) or not maps[-1].is_permutation:
        return False
    simple = ir.AffineDimExpr | ir.AffineConstantExpr
    if not all(isinstance(each, simple) for one in maps for each in one.results):
        return False
    scalars = [each for each in op.operands if not isinstance(each.type, ir.ShapedType)]
    if not all(is_scalar_constant(each) for each in (*captured(op), *scalars)):
        return False
    *body, last = op.regions[0].blocks[0].operations
    if any(each in captured(op) for each in last.operation.operands):
        return False  # all elements are equal: constants can be moved to an op, but not to a terminator
    return all(each.operation.name == "linalg.index" or is_pure(each.operation) for each in body)


def is_pure(op: ir.Operation) -> bool:
    """Whether an op computes scalars of scalars, and never traps."""
    return op.name.startswith(_PURE) and op.name not in _TRAPS


def is_scalar_constant(value: ir.Value) -> bool:
    """Whether a value is a scalar constant."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    return owner.operation.name == CONSTANT and not isinstance(value.type, ir.ShapedType)


SCAN = "iree_linalg_ext.scan"
"""Running sums and the like along a dimension; the second result is the last of each."""


def is_real(shaped: ir.Type) -> bool:
    """Whether elements are numbers whose attributes the bindings read; they do not read complex ones."""
    return not isinstance(ir.ShapedType(shaped).element_type, ir.ComplexType)


def is_source(op: ir.Operation) -> bool:
    """Whether an op makes an empty tensor or one with equal elements, which costs nothing to repeat."""
    if op.name == CONSTANT:
        if not isinstance(op.result.type, ir.ShapedType) or not is_real(op.result.type):
            return False
        value = op.attributes["value"]
        return isinstance(value, ir.DenseElementsAttr) and value.is_splat
    return is_static(op) and (op.name == EMPTY or (op.name == "linalg.fill" and is_elementwise(op)))


def users_of(value: ir.Value) -> list[ir.Operation]:
    """The ops that use a value, as operands or in their bodies, each once."""
    owners = ((use.owner.operation, use.owner.operation.parent) for use in value.uses)
    return list(dict.fromkeys(
        op if around is None or not around.name.startswith("linalg.") else around.operation
        for op, around in owners
    ))  # fmt: skip


def graph_of(
    value: ir.Value, follows: Callable[[ir.Operation], bool], most: int
) -> tuple[tuple[ir.Operation, ...], tuple[ir.Value, ...]]:
    """The ops that compute a value, as far back as they are followed, producers first, and what they read.

    About `most` ops are followed. Splats and scalar constants always are.
    """
    found, arrays = dict[ir.Operation, None](), dict[ir.Value, None]()
    entered: set[ir.Operation] = set()  # so many, or a long chain would be too deep

    def visit(each: ir.Value) -> None:
        op = producer(each)
        if op is not None and op in found:
            return
        costs_nothing = op is not None and (is_source(op) or is_scalar_constant(each))
        if op is None or len(entered) > most or not (costs_nothing or follows(op)):
            arrays[each] = None
            return
        entered.add(op)
        for before in (*op.operands, *captured(op)):
            visit(before)
        found[op] = None

    visit(value)
    return tuple(found), tuple(arrays)


def numbers(op: ir.Operation, name: str) -> list[int]:
    """The values of an attribute that is an array of integers."""
    return list(cast("ir.DenseI64ArrayAttr", op.attributes[name]))


@dataclass(frozen=True)
class Piece:
    """The part of a tensor, by its first index and sizes, that holds the tensor `value`.

    `dropped` are dimensions that `value` does not have.
    """

    value: ir.Value
    first: tuple[int, ...]
    sizes: tuple[int, ...]
    dropped: tuple[int, ...] = ()

    def inside(self, index: Indices) -> Indices:
        """Convert an index into the whole tensor to an index into `value`."""
        return self.own([each.plus(-first) for each, first in zip(index, self.first, strict=True)])

    def own(self, whole: Sequence[T]) -> tuple[T, ...]:
        """The entries of `value`'s dimensions, of those of the whole tensor's."""
        return tuple(each for place, each in enumerate(whole) if place not in self.dropped)

    def whole(self, own: Sequence[T], missing: T) -> tuple[T, ...]:
        """What is known of the dimensions of `value`, for the tensor's; `missing` where it has none."""
        left = iter(own)
        return tuple(missing if place in self.dropped else next(left) for place in range(len(self.sizes)))


def pieces_of(op: ir.Operation) -> list[Piece]:
    """The parts of a join's result, or of that of a padding. Later parts overwrite earlier ones."""
    if op.name == CONCAT:
        along = ir.IntegerAttr(op.attributes["dim"]).value
        pieces: list[Piece] = []
        at = 0
        for value in op.operands:
            shape = ir.RankedTensorType(value.type).shape
            pieces.append(Piece(value, tuple(at if each == along else 0 for each in range(len(shape))),
                                tuple(shape)))  # fmt: skip
            at += shape[along]
        return pieces
    value = op.operands[0]
    shape = tuple(ir.RankedTensorType(value.type).shape)
    if op.name == PAD:
        return [Piece(value, tuple(numbers(op, "static_low")), shape)]
    sizes = tuple(numbers(op, "static_sizes"))
    return [Piece(value, tuple(numbers(op, "static_offsets")), sizes, tuple(_dropped(sizes, shape)))]


def pieces_along(value: ir.Value) -> tuple[int, list[Piece], list[ir.Operation]] | None:
    """The dimension along which a tensor is joined from others, these in order, and the ops that join them.

    None if it is not, or if its parts overlap or leave something out.
    """
    pieces, ops, op = list[Piece](), list[ir.Operation](), producer(value)
    while op is not None and op.name in JOINS and is_followed(op):
        pieces, ops = [*pieces_of(op), *pieces], [*ops, op]
        op = None if op.name == CONCAT else producer(op.operands[1])
    if not ops or (ops[-1].name == INSERT and (op is None or op.name != EMPTY)):
        return None
    shape = tuple(ir.RankedTensorType(value.type).shape)
    along = [at for at, size in enumerate(shape) if any(each.sizes[at] != size for each in pieces)]
    if len(along) != 1:
        return None
    pieces.sort(key=lambda each: each.first[along[0]])
    ends = [each.first[along[0]] + each.sizes[along[0]] for each in pieces]
    if [each.first[along[0]] for each in pieces] != [0, *ends[:-1]] or ends[-1] != shape[along[0]]:
        return None
    return along[0], pieces, ops


def _dropped(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The dimensions of size 1 that a slice of these sizes drops to get this shape."""
    left, found = list(shape), list[int]()
    for place, size in enumerate(sizes):
        if left and left[0] == size:
            left.pop(0)
        else:
            found.append(place)
    return found


def source_index(op: ir.Operation, index: Indices) -> Indices:
    """The index into the operand of a slice, reshape or reversal, for an element of its result."""
    if turned := reversed_by(op):
        sizes = ir.RankedTensorType(op.result.type).shape
        last = [size - 1 if place in turned else 0 for place, size in enumerate(sizes)]
        return tuple(each.times(-1 if at in turned else 1).plus(last[at]) for at, each in enumerate(index))
    if op.name == SLICE:
        sizes = numbers(op, "static_sizes")
        dropped = _dropped(sizes, ir.RankedTensorType(op.result.type).shape)
        own = list(index)
        whole = [LoopSum() if place in dropped else own.pop(0) for place in range(len(sizes))]
        steps = zip(whole, numbers(op, "static_offsets"), numbers(op, "static_strides"), strict=True)
        return tuple(each.times(stride).plus(offset) for each, offset, stride in steps)
    groups = groups_of(op)
    if op.name == EXPAND:
        shape = ir.RankedTensorType(op.result.type).shape
        found: list[LoopSum] = []
        for group in groups:
            total = LoopSum()
            for place in group:
                total = total.times(shape[place]).plus(index[place])
            found.append(total)
        return tuple(found)
    shape = ir.RankedTensorType(op.operands[0].type).shape
    return tuple(
        each
        for own, group in zip(index, groups, strict=True)
        for each in digits(own, [shape[place] for place in group])
    )


def operand_indices(op: ir.Operation, index: Indices) -> tuple[Indices, list[Indices]]:
    """The loops of an elementwise op for an element of its result, and the index into each operand."""
    *_, out = maps = indexing_maps(op)
    loops = [LoopSum()] * out.n_dims
    for expression, each in zip(out.results, index, strict=True):
        loops[ir.AffineDimExpr(expression).position] = each
    return tuple(loops), [tuple(_at(each, loops) for each in one.results) for one in maps]


def _at(expression: ir.AffineExpr, loops: Sequence[LoopSum]) -> LoopSum:
    if isinstance(expression, ir.AffineConstantExpr):
        return LoopSum(expression.value)
    if not isinstance(expression, ir.AffineDimExpr):
        raise NotIndexableError("an operand is not read in place")
    return loops[ir.AffineDimExpr(expression).position]


def sliced(
    value: ir.Value[Any], offsets: Sequence[int], sizes: Sequence[int], shape: Sequence[int]
) -> ir.Value:
    """A part of a tensor, in a shape that may lack dimensions of size 1."""
    kind = ir.RankedTensorType.get(shape, ir.RankedTensorType(value.type).element_type)
    return tensor.ExtractSliceOp(
        kind, value, [], [], [], list(offsets), list(sizes), [1] * len(sizes)
    ).result  # fmt: skip


def repeats(op: ir.Operation, place: int) -> bool:
    """Whether an op uses elements of an operand several times."""
    value = ir.RankedTensorType(op.operands[place].type)
    return is_elementwise(op) and math.prod(value.shape) < math.prod(
        ir.RankedTensorType(op.result.type).shape
    )


LOAD = "util.global.load"
HOISTED = ("arith.constant", LOAD, "flow.tensor.constant")
"""Ops that make constants. Ops on these are evaluated once, when the program is compiled or loaded."""
_FUNCTIONS = ("util.func", "func.func")
_WITHOUT_EFFECTS = ("linalg.", "tensor.", "iree_linalg_ext.")


def blocks_in(module: ir.Module) -> list[ir.Block]:
    """The blocks of a module's functions."""
    functions = (op for op in ops_in(module.body) if op.name in _FUNCTIONS)
    return [block for op in functions for block in op.regions[0].blocks]


def computed_once(module: ir.Module) -> set[ir.Operation]:
    """Ops on constants only, which the compiler evaluates once, when a program is compiled or loaded.

    IREE 3.13 crashes where it would evaluate a kernel for a GPU when it compiles the program.
    """
    mutable = {symbol_of(each) for each in ops_in(module.body) if "is_mutable" in each.attributes}
    found: set[ir.Operation] = set()
    for op in (each.operation for block in blocks_in(module) for each in block.operations):
        owners = [each.owner for each in (*op.operands, *captured(op))]
        fixed = (
            not isinstance(each, ir.Block) and _is_constant(each.operation, found, mutable) for each in owners
        )
        if op.results and op.name.startswith(_WITHOUT_EFFECTS) and not is_source(op) and all(fixed):
            found.add(op)
    return found


def _is_constant(op: ir.Operation, found: Collection[ir.Operation], mutable: Collection[str]) -> bool:
    if op.name == LOAD:
        return ir.FlatSymbolRefAttr(op.attributes["global"]).value not in mutable
    return op in found or op.name in HOISTED or is_source(op)


MOST_PADDING = 1 << 20
"""The most bytes of zeros that packing may add. Beyond this growth, the compiler does not hoist an op
(`--iree-opt-const-expr-max-size-increase-threshold`), and would pack in each run."""


def with_packed(kernel: Kernel, problem: Problem, target: Target, code: Code) -> Code:
    """Add the code for a packed input, if the kernel supports that and this machine can make it."""
    if not isinstance(kernel, Packing):
        return code
    with suppress(KernelError):
        return replace(code, packed=kernel.packed(problem, target, code.knobs))
    return code


def build_packed(value: ir.Value[Any], packed: Packed) -> ir.Value:
    """Build the packed input at the current insertion point."""
    kind = ir.RankedTensorType(value.type)
    if tuple(kind.shape) != packed.matrix:
        value = expand(collapse(value, [kind.rank]), [packed.matrix])
    empty = tensor.EmptyOp(list(packed.shape), kind.element_type).result
    zero = arith.constant(kind.element_type, 0 if isinstance(kind.element_type, ir.IntegerType) else 0.0)
    order = None if packed.dimension == 0 else [1, 0]  # tiles come first
    dimensions, tiles = [packed.dimension], [packed.tile]
    if packed.group > 1:
        dimensions, tiles = [packed.dimension, 1 - packed.dimension], [packed.tile, packed.group]
    return PackOp(
        empty.type, value, empty, dimensions, [], tiles, padding_value=zero, outer_dims_perm=order
    ).operation.results[0]
