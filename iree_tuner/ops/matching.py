"""Pieces that matchers are built of. All need a context, a location and an insertion point in place."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from iree.compiler.dialects import preprocessing_transform, transform

from iree_tuner.ops.workload import DynamicLoop, Workload

ANY_SIZE = -1
"""The value that `transform.iree.match.dims_equal` takes for any size, dynamic ones too."""


def any_op() -> ir.Type:
    """The type of handles to operations."""
    return transform.AnyOpType.get()


def sizes_param() -> ir.Type:
    """The type of the lists of sizes that match ops yield."""
    return transform.ParamType.get(ir.IntegerType.get_signless(64))


def element_types(workload: Workload) -> tuple[ir.Type, ...]:
    """The workload's element types, in the current context."""
    return tuple(each.to_ir() for each in workload.types)


def indexing_maps(workload: Workload) -> tuple[ir.AffineMap, ...]:
    """The workload's indexing maps, in the current context."""
    return tuple(each.to_ir() for each in workload.maps)


def require_role(found: ir.Value, workload: Workload, role: str) -> None:
    """Build the check that the sizes that a match op has found for a role are the workload's.

    A loop without an upper bound must be dynamic. A loop with bounds may be static; `require_bounds` checks
    them.
    """
    unknown = ir.ShapedType.get_dynamic_size()
    varying = {each.loop: unknown if each.upper is None else ANY_SIZE for each in workload.dynamic}
    require_sizes(found, [varying.get(loop, workload.loops[loop]) for loop in workload.role(role)])


def require_bounds(handle: ir.Value, workload: Workload, operand: int) -> None:
    """Build the checks that an op's dynamic loops have the sizes that the workload allows.

    `operand` is the first init, which the bounds were read from.
    """
    for loop in workload.dynamic:
        if loop == DynamicLoop(loop.loop):
            continue
        position = workload.maps[operand].dimension_of(loop.loop)
        if position is None:
            raise ValueError(f"the first init of {workload.name} has no dimension of loop {loop.loop}")
        value = transform.GetOperandOp(transform.AnyValueType.get(), handle, [operand]).result
        if loop.lower or loop.upper is not None:
            preprocessing_transform.MatchDimBoundsOp(
                value, position, lower_bound=loop.lower or None, upper_bound=loop.upper
            )
        if loop.multiple > 1:
            preprocessing_transform.MatchDimIsMultipleOfOp(value, position, loop.multiple)


def require_sizes(found: ir.Value, expected: Sequence[int]) -> None:
    """Build the check that a match op has found exactly these numbers, also none."""
    preprocessing_transform.MatchDimsEqualOp(found, list(expected))
