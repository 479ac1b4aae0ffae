"""Whether an op starts from zeros of its own, or adds to values that are read."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.ops.family import describe
from iree_tuner.ops.structure import ACCUMULATES, initial_parameters
from iree_tuner.ops.workload import Workload

HEAD = """
func.func @f(%a: tensor<6x14xf32>, %b: tensor<14x10xf32>, %given: tensor<6x10xf32>) -> tensor<6x10xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x10xf32>
"""
FILL = "%init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x10xf32>) -> tensor<6x10xf32>"
TAIL = """
  %r = linalg.matmul ins(%a, %b : tensor<6x14xf32>, tensor<14x10xf32>)
    outs(INIT : tensor<6x10xf32>) -> tensor<6x10xf32>
  return %r : tensor<6x10xf32>
}
"""
ADD = "%init = arith.addf %given, %given : tensor<6x10xf32>"
READS = [(ACCUMULATES, (1,))]

CASES = {
    "a fill": (FILL, "%init", []),
    "nothing": ("", "%empty", []),
    "an argument": ("", "%given", READS),
    "another op's result": (ADD, "%init", READS),
}

CONV = """
func.func @f(%a: tensor<1x16x16x8xf32>, %b: tensor<3x3x8x12xf32>, %given: tensor<1x14x14x12xf32>)
    -> tensor<1x14x14x12xf32> {
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%a, %b : tensor<1x16x16x8xf32>, tensor<3x3x8x12xf32>)
    outs(%given : tensor<1x14x14x12xf32>) -> tensor<1x14x14x12xf32>
  return %r : tensor<1x14x14x12xf32>
}
"""


@contextmanager
def root_of(text: str, name: str) -> Generator[ir.Operation]:
    """The one op of that name; its module lives as long as the block."""
    module = ir.Module.parse(text, new_context())
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    (root,) = found
    yield root


def matmul_workload(what: str) -> Workload:
    before, init, _ = CASES[what]
    with root_of(HEAD + before + TAIL.replace("INIT", init), "linalg.matmul") as root:
        workload = describe(root)
    assert workload is not None
    return workload


@pytest.mark.parametrize("what", CASES)
def test_what_a_contraction_starts_from(what: str) -> None:
    before, init, parameters = CASES[what]
    with root_of(HEAD + before + TAIL.replace("INIT", init), "linalg.matmul") as root:
        assert initial_parameters(root) == parameters
    assert matmul_workload(what).parameter(ACCUMULATES) == dict(parameters).get(ACCUMULATES, ())


def test_accumulating_workloads_are_others() -> None:
    """Their spaces differ, so that what was found for one must not be taken for the other's."""
    filled, added = matmul_workload("a fill"), matmul_workload("an argument")
    assert filled != added
    assert filled.key != added.key


def test_convolutions_say_so_as_well() -> None:
    with root_of(CONV, "linalg.conv_2d_nhwc_hwcf") as root:
        workload = describe(root)
    assert workload is not None
    assert workload.parameter(ACCUMULATES) == (1,)
    assert workload.parameter("strides") == (1, 1)
