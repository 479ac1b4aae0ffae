"""Constraint ops made in tests, and z3's opinion of a whole space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import z3
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, smt
from space.made_workloads import matmul

from iree_tuner.compiler.context import new_context
from iree_tuner.space.constraints import build_constraints, integers
from iree_tuner.space.expressions import Integer, require
from iree_tuner.space.interpreter import smtlib
from iree_tuner.space.llvm_cpu.attributes import LOWERING_CONFIG, pipeline
from iree_tuner.space.space import Space

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
    return set(ours), set(_models(space))


def _models(space: Space) -> Iterator[tuple[int, ...]]:
    """Each member that z3 finds."""
    solver = z3.Solver()
    solver.from_string(smtlib(space.op.operation))
    while solver.check() == z3.sat:
        model = solver.model()
        values = [model.eval(z3.Int(name), model_completion=True).as_long() for name in space.names]
        yield tuple(values)
        solver.add(z3.Or([z3.Int(name) != value for name, value in zip(space.names, values, strict=True)]))


def emitted_space() -> Space:
    """The space of `EMITTED`."""
    with CONTEXT:
        return Space(matmul(1024, 1280, 1280, "f16"), ir.Module.parse(EMITTED.read_text()))
