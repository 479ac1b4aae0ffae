"""Candidates that end or hold up the real compiler: the caller lives, and goes on."""

from pathlib import Path

import pytest
from programs import ZERO_MATMUL
from slow import SLOW_TILES, configured

from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.candidate import Builder
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.targets import parse_target

UPSTREAM = Path(__file__).parents[2] / "upstream"
PROGRAMS = Path(__file__).parents[3] / "programs" / "ops"


@pytest.fixture(scope="module")
def own_workers():
    with Workers(1) as workers:
        yield workers


def goes_on(workers, cpu, only_dispatch):
    harness = only_dispatch(ZERO_MATMUL).harness
    return Builder(cpu, workers).build(harness, None).outcome == "ok"


def test_an_llvm_error_is_a_crash(own_workers, cpu, only_dispatch):
    # See docs/upstream/nvptx_umul_lohi.md.
    target = parse_target("cuda:sm_80")
    program = load_program(UPSTREAM / "nvptx_umul_lohi.mlir")
    (dispatch,) = extract(program, target, own_workers).dispatches
    built = Builder(target, own_workers).build(dispatch.harness, None)
    assert built.outcome == "compile_crash"
    assert "umul_lohi" in built.message
    assert goes_on(own_workers, cpu, only_dispatch)


def test_a_compilation_of_more_than_a_minute_is_ended(own_workers, cpu, only_dispatch):
    target = parse_target("llvm-cpu:znver4")
    dispatch = only_dispatch(PROGRAMS / "cpu_matmul_one_row.mlir", target)
    # What is measured is the compiler, not the start of a worker.
    good, slow = configured(dispatch, (1, 16, 16)), configured(dispatch, SLOW_TILES)
    assert Builder(target, own_workers).build(dispatch.harness, good).outcome == "ok"
    built = Builder(target, own_workers, timeout_s=1.0).build(dispatch.harness, slow)
    assert built.outcome == "compile_timeout"
    assert Builder(target, own_workers).build(dispatch.harness, good).outcome == "ok"
    assert goes_on(own_workers, cpu, only_dispatch)
