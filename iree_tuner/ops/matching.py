"""Pieces that matchers are built of. All need a context, a location and an insertion point in place.

Element types and affine maps have no builder that takes what a workload holds, so the two are
parsed, and only here.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from iree.compiler.dialects import preprocessing_transform, transform

from iree_tuner.ops.workload import Workload


def any_op() -> ir.Type:
    """The type of handles to operations."""
    return transform.AnyOpType.get()


def sizes_param() -> ir.Type:
    """The type of the lists of sizes that match ops yield."""
    return transform.ParamType.get(ir.IntegerType.get_signless(64))


def parse_type(text: str) -> ir.Type:
    """An element type as a workload has it."""
    return ir.Type.parse(text)


def parse_map(text: str) -> ir.AffineMap:
    """An indexing map as a workload has it."""
    return ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<{text}>")).value


def element_types(workload: Workload) -> tuple[ir.Type, ...]:
    """The workload's element types, in the current context."""
    return tuple(map(parse_type, workload.types))


def indexing_maps(workload: Workload) -> tuple[ir.AffineMap, ...]:
    """The workload's indexing maps, in the current context."""
    return tuple(map(parse_map, workload.maps))


def require_sizes(found: ir.Value, expected: Sequence[int]) -> None:
    """Build the check that a match op has found exactly these numbers; an empty list is required too."""
    preprocessing_transform.MatchDimsEqualOp(found, list(expected))
