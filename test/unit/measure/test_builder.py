"""Every way in which a build can end is a value."""

import os
import time
from dataclasses import replace

import once
import pytest
from once import each_once  # noqa: F401 (a fixture)
from programs import BATCH_OF_ONE_CONVOLUTION, ZERO_MATMUL

from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.candidate import Builder
from iree_tuner.space.configuration import Configuration, OpConfiguration


def configuration(lowering_config, translation_info):
    parts = f"lowering_config = {lowering_config}, translation_info = {translation_info}"
    info = f"#iree_codegen.compilation_info<{parts}>"
    return Configuration((OpConfiguration("root", "compilation_info", info),))


HUGE = (
    "#iree_cpu.lowering_config<distribution = [96, 64, 0], vector_common_parallel = [96, 64, 0], "
    "vector_reduction = [0, 0, 128]>"
)


@pytest.fixture
def builder(cpu, compilers):
    return Builder(cpu, compilers)


@pytest.fixture(scope="module")
def matmul(only_dispatch):
    return only_dispatch(ZERO_MATMUL)


def test_the_default_builds_to_the_same_bytes_each_time(builder, cpu, compilers, matmul, monkeypatch):
    """Also where it is really built again: other tests take it from each other (`once.py`)."""
    monkeypatch.setattr(Workers, "submit", once._submit)
    other = Builder(cpu, compilers)
    first, second = builder.build(matmul.harness, None), other.build(matmul.harness, None)
    assert first.outcome == "ok"
    assert first.digest == second.digest
    assert first.seconds > 0


def test_the_defaults_own_configuration_is_the_default(builder, matmul):
    own = builder.build(matmul.harness, configuration(matmul.default, matmul.pipeline))
    assert own.digest == builder.build(matmul.harness, None).digest


def test_another_configuration_is_other_code(builder, matmul):
    other = configuration(
        "#iree_cpu.lowering_config<distribution = [32, 32, 0], vector_common_parallel = [4, 16, 0], "
        "vector_reduction = [0, 0, 8]>",
        matmul.pipeline,
    )
    built = builder.build(matmul.harness, other)
    assert built.outcome == "ok"
    assert built.digest != builder.build(matmul.harness, None).digest


def test_what_the_compiler_refuses_keeps_its_reason(builder, matmul):
    built = builder.build(matmul.harness, configuration(HUGE, matmul.pipeline))
    assert built.outcome == "compile_error"
    assert "large vector sizes" in built.message


def test_a_configuration_that_does_not_arrive_is_not_applied(builder, cpu, only_dispatch):
    # Without the prologue, the compiler replaces the convolution after it was configured.
    dispatch = only_dispatch(BATCH_OF_ONE_CONVOLUTION, replace(cpu, spec_prologue=()))
    built = builder.build(dispatch.harness, configuration(dispatch.default, dispatch.pipeline))
    assert built.outcome == "not_applied"
    assert "replaced the op 'root'" in built.message
    with_prologue = only_dispatch(BATCH_OF_ONE_CONVOLUTION)
    assert with_prologue.workload.prologue == cpu.spec_prologue
    again = builder.build(with_prologue.harness, configuration(with_prologue.default, with_prologue.pipeline))
    assert again.outcome == "ok"


def dies(*_):
    os.abort()


def test_a_default_is_built_once_unless_it_failed(builder, matmul, monkeypatch):
    first = builder.submit(matmul.harness, None)
    assert builder.submit(matmul.harness, None) is first
    assert builder.submit(matmul.harness, None, 1) is not first, "another place is other code"
    monkeypatch.setattr(builder, "_build", dies)
    crashing = replace(matmul.harness, module=b"another")
    failed = builder.submit(crashing, None)
    assert builder.result(failed).outcome == "compile_crash"
    assert builder.submit(crashing, None) is not failed


def test_the_same_code_at_four_places(builder, matmul):
    futures = [builder.submit(matmul.harness, None, place) for place in range(4)]
    placed = list(map(builder.result, futures))
    assert [built.outcome for built in placed] == ["ok"] * 4
    assert len({built.digest for built in placed}) == 4


def test_crashes_and_hangs_are_outcomes(cpu, compilers, matmul, monkeypatch):
    builder = Builder(cpu, compilers, timeout_s=1.0)
    monkeypatch.setattr(builder, "submit", lambda *_: compilers.submit(os.abort))
    assert builder.build(matmul.harness, None).outcome == "compile_crash"
    monkeypatch.setattr(builder, "submit", lambda *_: compilers.submit(time.sleep, 60, timeout_s=1.0))
    hung = builder.build(matmul.harness, None)
    assert hung.outcome == "compile_timeout"
    assert "1 s" in hung.message
    monkeypatch.undo()
    assert Builder(cpu, compilers).build(matmul.harness, None).outcome == "ok"


def test_results_come_in_the_order_of_the_configurations(builder, matmul):
    good = configuration(matmul.default, matmul.pipeline)
    bad = configuration(HUGE, matmul.pipeline)
    outcomes = [built.outcome for built in builder.build_all(matmul.harness, [good, bad, good])]
    assert outcomes == ["ok", "compile_error", "ok"]


def test_code_of_too_many_operations_is_given_up_before_it_is_generated(builder, matmul):
    default = builder.build(matmul.harness, None)
    assert default.ops > 100
    found = builder.result(builder.submit(matmul.harness, None, most_ops=default.ops - 1))
    assert found.outcome == "compile_timeout"
    assert found.message == f"given up before code generation: {default.ops} operations"
    assert builder.result(builder.submit(matmul.harness, None, most_ops=default.ops)).digest == default.digest


def test_code_is_the_same_without_verification(builder, matmul):
    good = configuration(matmul.default, matmul.pipeline)
    verified, other = (
        builder.result(builder.submit(matmul.harness, good, verify=each)) for each in (True, False)
    )
    assert verified.outcome == "ok"
    assert verified.vmfb == other.vmfb
