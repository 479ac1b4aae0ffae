"""Running on a device: samples, rejection, errors, wrong numbers."""

import os

import pytest
from programs import ONE_MATMUL, ZERO_MATMUL

from iree_tuner.build import Builder
from iree_tuner.compiler.worker import WorkerCrashError
from iree_tuner.measure import Measurer


@pytest.fixture(scope="module")
def measurer():
    found = Measurer("local-task")
    yield found
    found.close()


@pytest.fixture(scope="module")
def matmul(only_dispatch, cpu, compilers):
    dispatch = only_dispatch(ZERO_MATMUL)
    return dispatch, Builder(cpu, compilers).build(dispatch.harness, None).vmfb


def test_samples_are_of_one_run(measurer, matmul):
    dispatch, vmfb = matmul
    timed = measurer.time(vmfb, dispatch.harness)
    assert timed.outcome == "ok"
    assert len(timed.samples_us) == 5
    # 1.6 million floating point operations: neither a call's overhead alone nor a whole batch.
    assert 1 < min(timed.samples_us) < 5000


def test_what_is_too_slow_is_dropped_after_one_sample(measurer, matmul):
    dispatch, vmfb = matmul
    timed = measurer.time(vmfb, dispatch.harness, limit_us=0.01)
    assert timed.outcome == "too_slow"
    assert len(timed.samples_us) == 1


def test_what_does_not_load_is_a_run_error(measurer, matmul):
    dispatch, _ = matmul
    timed = measurer.time(b"not a module", dispatch.harness)
    assert timed.outcome == "run_error"
    assert timed.message


def test_the_worker_comes_back_after_a_crash(measurer, matmul):
    dispatch, vmfb = matmul
    with pytest.raises(WorkerCrashError):
        measurer.workers.call(os.abort)
    assert measurer.time(vmfb, dispatch.harness).outcome == "ok"


def test_the_default_agrees_with_itself_and_not_with_another_program(
    measurer, matmul, only_dispatch, cpu, compilers
):
    dispatch, vmfb = matmul
    other = only_dispatch(ONE_MATMUL)
    wrong = Builder(cpu, compilers).build(other.harness, None).vmfb
    assert measurer.agrees(vmfb, vmfb, dispatch.harness, dispatch.workload).worst == 0.0
    found = measurer.agrees(wrong, vmfb, dispatch.harness, dispatch.workload)
    assert not found.ok
    assert found.message.startswith("seed 0: largest error")


def test_comparisons_have_a_pair_for_each_round(measurer, matmul):
    dispatch, vmfb = matmul
    (found,) = measurer.compare([(vmfb, [vmfb]), (vmfb, [vmfb])], dispatch.harness, rounds=6)
    assert found.pairs == 6
    assert len(found.by_group) == 2
