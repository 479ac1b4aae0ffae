"""A tile of k1 makes attention wrong: the report, and the space that leaves such tiles out."""

from dataclasses import replace
from pathlib import Path

import pytest
from light_members import light
from programs import MASKED

from iree_tuner.compiler.context import new_context
from iree_tuner.device.bench import Bench
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.measurer import Measurer
from iree_tuner.ops.generic import MASKED_ATTENTION
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.space.build import build_space
from iree_tuner.tuning.baseline import tolerance_of

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
