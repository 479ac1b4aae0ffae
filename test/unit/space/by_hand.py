"""Constraint ops made in tests, and z3's opinion of a whole space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, smt
from space.made_workloads import matmul

from iree_tuner.compiler.context import new_context
from iree_tuner.space.constraints import build_constraints, integers
from iree_tuner.space.expressions import Integer, require
from iree_tuner.space.llvm_cpu.attributes import LOWERING_CONFIG, pipeline
from iree_tuner.space.space import Judge, Space

CONTEXT = new_context()

EMITTED = Path(__file__).parents[2] / "space" / "Inputs" / "tile_and_fuse_gfx942.mlir"
"""What release 3.13 emits on gfx942, for TileAndFuse: f16 1024x1280x1280, the right-hand side transposed."""


def space_of(fill: Callable[[], None], names: tuple[str, ...]) -> Space:
    """A space whose op has the body that `fill` builds; `names` are the knobs."""

    def body():
        fill()
        return {LOWERING_CONFIG: ir.DictAttr.get({"distribution": integers(names)})}

    with CONTEXT, ir.Location.unknown():
        return Space(matmul(8, 8, 8), build_constraints(pipeline("DoubleTilingExpert"), body))


def bare_knob(name: str) -> Integer:
    """A knob without bounds."""
    return Integer(iree_codegen.KnobOp(name).result)


def unknown(values: Sequence[int]) -> Integer:
    """An auxiliary: one of `values`, whichever suits."""
    declared = Integer(smt.DeclareFunOp(smt.IntType.get()).result)
    require(declared.is_one_of(values), "listed")
    return declared


def both(space: Space) -> tuple[set[tuple[int, ...]], set[tuple[int, ...]]]:
    """Our members and z3's."""
    ours = [tuple(member[name] for name in space.names) for member in space.enumerate()]
    assert len(ours) == len(set(ours)) == space.count()
    return set(ours), set(Judge(space.op.operation).each_model(space.names))


def emitted_space() -> Space:
    """The space of `EMITTED`."""
    with CONTEXT:
        return Space(matmul(1024, 1280, 1280, "f16"), ir.Module.parse(EMITTED.read_text()))
