"""A tile of k1 makes attention wrong: the report, and the space that leaves such tiles out."""

from dataclasses import replace
from pathlib import Path

import pytest
from light_members import light

from iree_tuner.compiler.context import new_context
from iree_tuner.device.bench import Bench
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.measurer import Measurer
from iree_tuner.ops.generic import MASKED_ATTENTION
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.space.build import build_space
from iree_tuner.tuning.baseline import tolerance_of

MASKED = """
func.func @masked(%q: tensor<2x32x16xf32>, %k: tensor<2x48x16xf32>, %v: tensor<2x48x24xf32>,
                  %m: tensor<2x32x48xf32>) -> tensor<2x32x24xf32> {
  %s = arith.constant 0.25 : f32
  %e = tensor.empty() : tensor<2x32x24xf32>
  %r = iree_linalg_ext.attention <indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, k2)>, affine_map<(b, m, n, k1, k2) -> (b, m, n)>]>
      ins(%q, %k, %v, %s, %m : tensor<2x32x16xf32>, tensor<2x48x16xf32>, tensor<2x48x24xf32>, f32,
          tensor<2x32x48xf32>) outs(%e : tensor<2x32x24xf32>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x32x24xf32>
  return %r : tensor<2x32x24xf32>
}
"""
PROGRAM = Path(__file__).parents[3] / "programs" / "ops" / "cpu_attention.mlir"


@pytest.fixture(scope="module")
def measurer():
    found = Measurer("local-task")
    yield found
    found.close()


def test_only_whole_k1_is_right_and_only_that_is_offered(only_dispatch, cpu, compilers, measurer):
    small = PROGRAM.read_text().replace("4x128x", "1x32x").replace("4x256x", "1x64x")
    dispatch = only_dispatch(small)
    space = build_space(dispatch.workload, dispatch.limits, new_context())
    (k1,) = dispatch.workload.role("k1")
    size = dispatch.workload.loops[k1]
    knob = f"vector_{k1}"
    builder = Builder(cpu, compilers)
    default = builder.build(dispatch.harness, None)
    bench = Bench(
        dispatch.harness, "local-task", default.vmfb, Tolerance("f32", dispatch.workload.reduction_length)
    )
    members = light(space.sample(8, seed=0))
    assert {member[knob] for member in members} == {size}
    member = members[0]
    cut = {**member, knob: size // 2}
    assert not space.contains(cut)
    assert any("the whole of k1" in message for message in space.violations(cut))
    right = builder.build(dispatch.harness, space.configuration(member))
    wrong = builder.build(dispatch.harness, space.configuration(cut))
    assert (right.outcome, wrong.outcome) == ("ok", "ok"), "the compiler accepts both"
    assert measurer.agrees(right.vmfb, bench).ok
    found = measurer.agrees(wrong.vmfb, bench)
    assert not found.ok, "the compiler got it right: drop the assert and the report"
    assert found.worst > 10


def test_a_mask_changes_neither_the_space_nor_the_tolerance(only_dispatch):
    dispatch = only_dispatch(MASKED.replace("xf32", "xbf16"))
    assert dispatch.workload.op == MASKED_ATTENTION
    assert tolerance_of(dispatch.workload).factor_type == "bf16"
    space = build_space(dispatch.workload, dispatch.limits, new_context())
    assert space.pipeline == "LinalgExtTileAndVectorize"
    assert {member["vector_3"] for member in space.sample(20, seed=0)} == {16}


def test_vectors_are_smaller_with_shorter_registers(only_dispatch):
    dispatch = only_dispatch(PROGRAM.read_text())
    for native, largest in ((16, 8192), (32, 16384), (64, 32768)):
        space = build_space(
            dispatch.workload, replace(dispatch.limits, native_vector_bytes=native), new_context()
        )
        assert f"must stay below {largest} (large vector check)" in space.text
