"""Constraints that the compiler emits for a GPU are interpreted as they are. Needs no GPU."""

from __future__ import annotations

import pytest
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen
from space.made_workloads import matmul

from iree_tuner.compiler.session import CompilerSession
from iree_tuner.space.space import Space

PROGRAM = """
func.func @main(%a: tensor<1024x1024xf16>, %b: tensor<1024x1024xf16>) -> tensor<1024x1024xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %r = linalg.matmul ins(%a, %b : tensor<1024x1024xf16>, tensor<1024x1024xf16>)
      outs(%f : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}
"""
INSERT = (
    "builtin.module(hal.executable(hal.executable.variant(builtin.module("
    "func.func(iree-codegen-insert-smt-constraints)))))"
)


@pytest.fixture(scope="module")
def module() -> ir.Module:
    from iree.compiler import passmanager

    # Not --iree-codegen-emit-pipeline-constraints: that flag would leak into every later session.
    session = CompilerSession(("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"))
    found = session.parse(PROGRAM)
    session.run(found, stop="executable-sources")

    def mark(op: ir.Operation) -> ir.WalkResult:
        if op.name in ("linalg.matmul", "linalg.generic"):
            op.attributes["root_op"] = iree_codegen.RootOpAttr.get(0)
        return ir.WalkResult.ADVANCE

    with session.context:
        found.operation.walk(mark)
        passmanager.PassManager.parse(INSERT).run(found.operation)
    return found


@pytest.mark.exhaustive  # by default test_enumeration counts members of what is emitted for another chip
@pytest.mark.parametrize(("name", "count"), [("TileAndFuse", 1401), ("VectorDistribute", 1016)])
def test_sm_80_matmul(module: ir.Module, name: str, count: int) -> None:
    ops = [op for op in ir.get_ops_of_type(module, iree_codegen.ConstraintsOp) if name in str(op.pipeline)]
    space = Space(matmul(1024, 1024, 1024, "f16"), module, ops[0])
    assert space.count() == count
    for member in space.sample(5, seed=0):
        assert space.contains(member)
        assert f"#iree_gpu.pipeline<{name}>" in space.configuration(member).ops[0].value
