"""Sizes that are known only at run time, on GPUs: tuned at one size, matched by bounds."""

from __future__ import annotations

import pytest

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.program.dynamic import sized
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.space.build import build_space
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import check_against_program
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import parse_target

DYNAMIC = """
func.func @main(%a: tensor<?x512xf16>, %b: tensor<512x256xf16>) -> tensor<?x256xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %a, %c0 : tensor<?x512xf16>
  %m = util.assume.int %d<umin = 16, umax = UPPER DIVISOR> : index
  %e = tensor.empty(%m) : tensor<?x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x256xf32>) -> tensor<?x256xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x512xf16>, tensor<512x256xf16>)
      outs(%f : tensor<?x256xf32>) -> tensor<?x256xf32>
  return %r : tensor<?x256xf32>
}
"""
STATIC = """
func.func @main(%a: tensor<ROWSx512xf16>, %b: tensor<512x256xf16>) -> tensor<ROWSx256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<ROWSx256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<ROWSx256xf32>) -> tensor<ROWSx256xf32>
  %r = linalg.matmul ins(%a, %b : tensor<ROWSx512xf16>, tensor<512x256xf16>)
      outs(%f : tensor<ROWSx256xf32>) -> tensor<ROWSx256xf32>
  return %r : tensor<ROWSx256xf32>
}
"""


@pytest.fixture(scope="module")
def workers():
    with Workers(1) as pool:
        yield pool


def dynamic(upper: int, divisor: str = "") -> str:
    return DYNAMIC.replace("UPPER", str(upper)).replace(" DIVISOR", divisor)


@pytest.mark.parametrize("name", ["cuda:sm_80", "hip:gfx942"])
@pytest.mark.parametrize("divisor", ["", ", udiv = 16"])
def test_a_spec_is_used_within_its_bounds(name: str, divisor: str, workers: Workers) -> None:
    target, context = parse_target(name), new_context()
    program = sized(Program("program.mlir", dynamic(4096, divisor).encode()), ["128"])
    (dispatch,) = extract(program, target, workers).dispatches
    assert dispatch.workload is not None
    assert dispatch.workload.dynamic
    space = build_space(dispatch.workload, dispatch.limits, context)
    (member,) = space.sample(1, seed=0)
    spec = build_spec([SpecEntry(dispatch.workload, space.configuration(member))], context)

    def is_hit(text: str) -> bool:
        found = check_against_program(spec, text, target, workers=workers)
        assert {each.kind for each in found.problems} <= {"hits_nothing"}
        return any(each.hits for each in found.matchers)

    assert is_hit(dynamic(4096, divisor))
    assert is_hit(dynamic(1024, divisor)), "its bounds lie within"
    assert not is_hit(dynamic(8192, divisor))
    if not divisor:  # what is a multiple of 16 is matched as two loops, which static sizes are not
        assert is_hit(STATIC.replace("ROWS", "96"))
        assert not is_hit(STATIC.replace("ROWS", "8192"))
