"""The structure of a compute op, read from the IR: sizes, iterators, element types, indexing maps.

Also the facts about dynamic sizes. The compiler knows them for `transform.iree.match.dim_bounds`, by
ValueBoundsOpInterface, which has no Python binding. This finds fewer facts than the compiler, never more:
bounds that are too wide still match.

Fold the integer arithmetic by which a dispatch finds its tensors in its bindings.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, cast

from iree.compiler import ir

from iree_tuner.compiler import linalg
from iree_tuner.compiler.context import defining_op, remembered
from iree_tuner.compiler.unbound import parameters_of
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.workload import DynamicLoop, Iterator, Workload

_SAYS_NOTHING = 2**53 - 1
"""The compiler's assumptions about every size: IREE's bound on dimensions of tensors."""


class Extents(NamedTuple):
    """The facts about a size; the fields are those of `DynamicLoop`."""

    lower: int = 0
    upper: int | None = None
    multiple: int = 1


def extent(tensor: ir.Value, position: int) -> ir.Value | None:
    """The value that is the size of a tensor's dynamic dimension, if it can be found."""
    op = defining_op(tensor)
    if op is None:
        return None
    dynamic = ir.ShapedType.get_dynamic_size()
    if op.name == "tensor.empty":
        return op.operands[list(ir.RankedTensorType(tensor.type).shape[:position]).count(dynamic)]
    if op.name == "iree_tensor_ext.dispatch.tensor.load":
        sizes = mixed(op, "sizes")
        size = sizes[position] if len(sizes) == ir.RankedTensorType(tensor.type).rank else 0
        return None if isinstance(size, int) else size
    if op.name.startswith("linalg."):
        inits = len(op.operands) - len(op.results)
        return extent(op.operands[inits + ir.OpResult(tensor).result_number], position)
    return None


_GROUPS = {"offsets": -3, "sizes": -2, "strides": -1, "low": 1, "high": 2}


def mixed(op: ir.Operation, name: str) -> list[int | ir.Value]:
    """The offsets, sizes or strides of a slice, or the `low` or `high` of a padding; operands if dynamic."""
    given = iter(operand_groups(op)[_GROUPS[name]])
    dynamic = ir.ShapedType.get_dynamic_size()
    static = ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"])
    return [next(given) if size == dynamic else size for size in static]


def operand_groups(op: ir.Operation) -> list[list[ir.Value]]:
    """An op's operands in the groups that its definition has."""
    operands = iter(op.operands)
    return [
        list(islice(operands, size)) for size in ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    ]


def bounds(size: ir.Value | None) -> Extents:
    """The program's assumptions about a size."""
    op = defining_op(size) if size is not None else None
    if size is None or op is None:
        return Extents()
    if op.name == "arith.constant":
        value = ir.IntegerAttr(op.attributes["value"]).value
        return Extents(value, value, max(value, 1))
    if op.name == "iree_tensor_ext.dispatch.workload.ordinal":
        return bounds(op.operands[0])
    if op.name == "util.assume.int":
        return _assumed(ir.ArrayAttr(op.attributes["assumptions"])[ir.OpResult(size).result_number])
    divided = quotient(op)
    if divided is not None:
        whole, divisor = bounds(divided[0]), divided[1]
        upper = None if whole.upper is None else whole.upper // divisor
        multiple = 1 if whole.multiple % divisor else whole.multiple // divisor
        return Extents(whole.lower // divisor, upper, multiple)
    return Extents()


def quotient(op: ir.Operation) -> tuple[ir.Value, int] | None:
    """Dividend and divisor of an `affine.apply` that only divides by a constant.

    Blocks of a dynamic dimension are counted in this way (BlockDynamicDimensions, on GPUs).
    """
    if op.name != "affine.apply" or len(op.operands) != 1:
        return None
    (expression,) = ir.AffineMapAttr(op.attributes["map"]).value.results
    if not isinstance(expression, ir.AffineFloorDivExpr):
        return None
    dividend, divisor = expression.lhs, expression.rhs
    if isinstance(dividend, ir.AffineSymbolExpr | ir.AffineDimExpr) and isinstance(
        divisor, ir.AffineConstantExpr
    ):
        return op.operands[0], divisor.value
    return None


def assumption(case: ir.Attribute) -> dict[str, int]:
    """The least (`umin`) and the largest value (`umax`) and a divisor (`udiv`), where one is assumed."""
    return {name: ir.IntegerAttr(value).value for name, value in parameters_of(case).items()}


def _assumed(assumptions: ir.Attribute) -> Extents:
    """The facts that hold under each of several assumptions."""
    found = list(map(assumption, ir.ArrayAttr(assumptions)))
    upper = max((each.get("umax", _SAYS_NOTHING) for each in found), default=_SAYS_NOTHING)
    return Extents(
        lower=min((each.get("umin", 0) for each in found), default=0),
        upper=None if upper >= _SAYS_NOTHING else upper,
        multiple=math.gcd(*(each.get("udiv", 1) for each in found)) if found else 1,
    )


_NOT_COMPUTE = frozenset({"linalg.fill", "linalg.index", "linalg.yield"})


def is_compute(op: ir.Operation) -> bool:
    """Whether an op does a dispatch's work: structured, not a fill, and not part of another op's body."""
    in_dialect = op.name.startswith(("linalg.", "iree_linalg_ext."))
    return in_dialect and op.name not in _NOT_COMPUTE and bool(indexing_maps(op))


@remembered
def indexing_maps(op: ir.Operation) -> tuple[ir.AffineMap, ...]:
    """One map for each operand; empty for an op without maps."""
    if op.name.startswith("linalg."):
        found = linalg.get_indexing_maps(op)
    else:
        found = op.attributes.get("indexing_maps", None)
    if found is None:
        return ()
    return tuple(ir.AffineMapAttr(attribute).value for attribute in cast("Iterable[ir.Attribute]", found))


@remembered
def accesses(op: ir.Operation) -> tuple[IndexingMap, ...]:
    """How the loops index each operand; empty for an op without maps."""
    return tuple(map(IndexingMap.of, indexing_maps(op)))


def structure(op: ir.Operation, *, dynamic: bool = False) -> Workload | None:
    """Read an op's structure, a workload of no family; None if it has none, or if a loop's size is not known.

    With `dynamic`, sizes that are known only at run time are taken: their loops are 0, and listed in
    `dynamic`.
    """
    maps = accesses(op)
    if not maps or len(maps) != len(op.operands):
        return None
    types = [operand.type for operand in op.operands]
    if not dynamic and any(None in shape_of(each) for each in types):
        return None
    sizes = loop_sizes(op)
    if sizes is None:
        return None
    return Workload(
        family="",
        op="",
        loops=tuple(size or 0 for size in sizes),
        iterators=iterators(op),
        types=tuple(ElementType.of(operand.type) for operand in op.operands),
        maps=maps,
        dynamic=tuple(_dynamic_loop(op, loop, maps) for loop, size in enumerate(sizes) if size is None),
    )


@remembered
def loop_sizes(op: ir.Operation) -> tuple[int | None, ...] | None:
    """Sizes of the iteration space, None for a dynamic one; None if a loop indexes no dimension directly.

    The first operand that a loop indexes has its size, as in LinalgOp::getStaticLoopRanges.
    """
    maps = accesses(op)
    sizes: dict[int, int | None] = {}
    for access, operand in zip(maps, op.operands, strict=True):
        for loop, size in zip(access.dimensions, shape_of(operand.type), strict=False):
            if loop is not None:
                sizes.setdefault(loop, size)
    count = maps[0].rank
    return tuple(sizes[loop] for loop in range(count)) if len(sizes) == count else None


def _dynamic_loop(op: ir.Operation, loop: int, maps: Sequence[IndexingMap]) -> DynamicLoop:
    """The first init's information about a loop: `matching.require_bounds` asks the same operand."""
    init = len(op.operands) - len(op.results)
    position = maps[init].dimension_of(loop)
    return DynamicLoop(loop, *bounds(None if position is None else extent(op.operands[init], position)))


def shape_of(shaped: ir.Type) -> tuple[int | None, ...]:
    """Dimensions of a type, None for each that is dynamic; empty for a scalar."""
    if not isinstance(shaped, ir.ShapedType):
        return ()
    return tuple(None if size == ir.ShapedType.get_dynamic_size() else size for size in shaped.shape)


@remembered
def iterators(op: ir.Operation) -> tuple[Iterator, ...]:
    """Kind of each loop: as a generic states it, else parallel if a result is indexed by it."""
    if "iterator_types" in op.attributes:
        kinds = cast("Iterable[ir.Attribute]", op.attributes["iterator_types"])
        # IR as text: no accessor that reads kinds of loops of two dialects
        return tuple("parallel" if "parallel" in str(kind) else "reduction" for kind in kinds)
    maps = accesses(op)
    parallel = {loop for each in maps[len(maps) - len(op.results) :] for loop in each.dimensions}
    return tuple("parallel" if loop in parallel else "reduction" for loop in range(maps[0].rank))


def inputs_of(op: ir.Operation) -> list[ir.Value]:
    """Operands that are read and not also returned."""
    return list(op.operands)[: len(op.operands) - len(op.results)]


def workload_of(
    family: str,
    op_name: str,
    found: Workload,
    roles: Sequence[tuple[str, Iterable[int]]],
    parameters: Sequence[tuple[str, Iterable[int]]] = (),
    may_vary: Sequence[str] = (),
) -> Workload | None:
    """A workload of that `structure`, in which each loop plays exactly one role.

    None if the roles do not cover the loops, or a dynamic loop plays a role that is not in `may_vary`.
    """
    frozen = tuple((name, tuple(loops)) for name, loops in roles)
    if sorted(loop for _, loops in frozen for loop in loops) != list(range(len(found.loops))):
        return None
    varies = {loop for name, loops in frozen if name in may_vary for loop in loops}
    if not varies.issuperset(each.loop for each in found.dynamic):
        return None
    others = tuple((name, tuple(values)) for name, values in parameters)
    return replace(found, family=family, op=op_name, roles=frozen, parameters=others)


# The initial values of a reduction: zeros that a fill of the same dispatch writes, or values read.


ACCUMULATES = "accumulates"
"""Parameter of workloads whose initial value is read: `((ACCUMULATES, (1,)),)`. No matcher looks at it."""

Parameters = list[tuple[str, tuple[int, ...]]]


def initial_parameters(op: ir.Operation) -> Parameters:
    """The parameter of an op whose last operand is its initial value; empty if a fill writes it."""
    filled = defining_op(op.operands[len(op.operands) - 1], "linalg.fill", "tensor.empty")
    return [(ACCUMULATES, (1,))] if filled is None else []


INTEGER_CASTS = (
    "arith.index_cast", "arith.index_castui", "arith.extui", "arith.extsi", "arith.trunci",
    "iree_tensor_ext.dispatch.workload.ordinal",
)  # fmt: skip
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add, "arith.subi": operator.sub, "arith.muli": operator.mul,
    "arith.minsi": min, "arith.minui": min, "arith.maxsi": max, "arith.maxui": max,
    "arith.shli": operator.lshift, "arith.ori": operator.or_,
}  # fmt: skip


def fold(value: ir.Value, constants: Sequence[int] | None) -> int | None:
    """The value of an integer, given the dispatch's push constants, if known; None when it is not."""
    op = defining_op(value)
    if op is None:
        return None
    if op.name == "arith.constant":
        return ir.IntegerAttr(op.attributes["value"]).value
    if op.name == "hal.interface.constant.load":
        return None if constants is None else constants[ir.IntegerAttr(op.attributes["ordinal"]).value]
    if op.name in INTEGER_CASTS:
        return fold(op.operands[0], constants)
    if op.name == "util.assume.int":
        return fold(op.operands[ir.OpResult(value).result_number], constants)
    divided = quotient(op)
    if divided is not None:
        dividend = fold(divided[0], constants)
        return None if dividend is None else dividend // divided[1]
    if op.name in _ARITHMETIC:
        left, right = (fold(operand, constants) for operand in op.operands)
        return None if left is None or right is None else _ARITHMETIC[op.name](left, right)
    return None
