"""A family with spaces and a target from another package, tuned the whole way (`pip install test/plugin`)."""

import pytest

pytest.importorskip("iree_tuner_test_plugin", reason="needs `pip install test/plugin`")

from iree_tuner import tune_module
from iree_tuner.compiler.context import new_context
from iree_tuner.errors import UsageError
from iree_tuner.space.build import build_space
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import check_against_program, check_spec
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import CpuLimits, parse_target, target_for_device

POOLING = """
func.func @main(%image: tensor<1x30x30x32xf32>) -> tensor<1x14x14x32xf32> {
  %window = tensor.empty() : tensor<3x3xf32>
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<1x14x14x32xf32>
  %filled = linalg.fill ins(%low : f32) outs(%empty : tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xf32>
  %pooled = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%image, %window : tensor<1x30x30x32xf32>, tensor<3x3xf32>)
      outs(%filled : tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xf32>
  return %pooled : tensor<1x14x14x32xf32>
}
"""

PORTABLE = "portable-cpu:generic"


def test_a_target_from_another_package_is_asked_for_by_name():
    assert parse_target(PORTABLE).backend == "portable-cpu"
    assert target_for_device("local-task").backend == "llvm-cpu"
    with pytest.raises(UsageError, match="unknown target 'portable-cpu:znver4'"):
        parse_target("portable-cpu:znver4")
    with pytest.raises(UsageError, match="cuda://0 cannot run code of portable-cpu"):
        target_for_device("cuda://0", PORTABLE)


def test_it_is_tuned_and_a_spec_of_it_is_used():
    found = tune_module(
        POOLING, chip=PORTABLE, effort="smoke", candidates=3, strategy="shuffle", seed=1, try_flags=False,
        profile=False,
    )  # fmt: skip
    assert found.target == target_for_device("local-task", PORTABLE)
    (result,) = found.results
    assert result.task.workload.family == "max_pooling"
    ran = [each for each in result.trials if each.outcome in ("ok", "too_slow")]
    assert len(ran) >= 2
    assert {each.outcome for each in result.trials} <= {"ok", "too_slow", "wrong_result"}
    assert result.task.dispatches[0].limits == CpuLimits(16, 16384, mmt4d_microkernel=True)
    dispatch, context = result.task.dispatches[0], new_context()
    space = build_space(dispatch.workload, dispatch.limits, context)
    configuration = space.configuration(ran[0].assignment)
    spec = build_spec([SpecEntry(dispatch.workload, configuration)], context)
    assert check_spec(spec) == []
    checked = check_against_program(spec, POOLING, target_for_device("local-task", PORTABLE))
    assert checked.problems == ()
    assert [each.hits for each in checked.matchers] != [()]
