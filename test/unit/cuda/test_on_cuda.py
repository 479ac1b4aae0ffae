"""On an NVIDIA GPU: numbers, faults that poison the context, and a run from a program to a spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from strided import strided
from whole_programs import scaling

from iree_tuner import tune_module
from iree_tuner.check.check_program import compile_check
from iree_tuner.check.parts import Pieces, judge_here
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.device.bench import Bench
from iree_tuner.device.program_request import request
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.measurer import Measurer
from iree_tuner.measure.program import compare_programs
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.parts import take_apart
from iree_tuner.program.phases import compile_program, submit_widened
from iree_tuner.program.source import load_program
from iree_tuner.space.build import build_spaces
from iree_tuner.targets import Target, target_for_device
from iree_tuner.targets.cuda import cuda_devices
from iree_tuner.targets.llvm_cpu import host_target
from iree_tuner.tuning.baseline import tolerance_of
from iree_tuner.tuning.faults import sums_of

pytestmark = [
    pytest.mark.hardware,
    pytest.mark.skipif(not cuda_devices(), reason="needs an NVIDIA GPU and its driver"),
]

DEVICE = "cuda://0"
MATMUL = """
func.func @main(%a: tensor<512x256xf16>, %b: tensor<256x384xf16>) -> tensor<512x384xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x384xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x384xf32>) -> tensor<512x384xf32>
  %r = linalg.matmul ins(%a, %b : tensor<512x256xf16>, tensor<256x384xf16>)
       outs(%init : tensor<512x384xf32>) -> tensor<512x384xf32>
  return %r : tensor<512x384xf32>
}
"""


@pytest.fixture(scope="module")
def target() -> Target:
    return target_for_device(DEVICE)


@pytest.fixture(scope="module")
def measurer() -> Iterator[Measurer]:
    with Workers(1, memory_bytes=None) as pool:
        yield Measurer(DEVICE, pool)


def bench_of(program: str, target: Target, compilers: Workers) -> tuple[Dispatch, Bench]:
    *_, dispatch = extract(load_program(program), target, compilers).dispatches
    assert dispatch.workload is not None
    assert dispatch.harness is not None
    default = Builder(target, compilers).build(dispatch.harness, None)
    check = compilers.call(compile_check, dispatch.harness, target)
    return dispatch, Bench(
        dispatch.harness, DEVICE, default.vmfb, tolerance_of(dispatch.workload), check=check
    )


def test_the_default_is_right_and_is_timed(target: Target, measurer: Measurer, compilers: Workers) -> None:
    _, bench = bench_of(MATMUL, target, compilers)
    assert bench.check
    assert measurer.time_default(bench).outcome == "ok"
    found = measurer.agrees(bench.default, bench)
    assert found.ok
    assert found.note == ""  # small enough for the reference


def test_members_of_every_space_are_right(target: Target, measurer: Measurer, compilers: Workers) -> None:
    dispatch, bench = bench_of(MATMUL, target, compilers)
    assert dispatch.workload is not None
    builder = Builder(target, compilers)
    for space in build_spaces(dispatch.workload, dispatch.limits, new_context()):
        for member in space.sample(3, seed=0):
            built = builder.build(bench.harness, space.configuration(member))
            if built.outcome == "ok":
                assert measurer.time(built.vmfb, bench).outcome == "ok", dict(member)


def test_where_the_default_is_wrong_the_processor_says_so(
    target: Target, measurer: Measurer, compilers: Workers
) -> None:
    """docs/upstream/cuda_strided_reduction.md; too large for the interpreter."""
    dispatch, bench = bench_of(strided(28, 512, 256), target, compilers)
    assert dispatch.workload is not None
    (space,) = build_spaces(dispatch.workload, dispatch.limits, new_context())
    builder = Builder(target, compilers)
    for member in space.sample(4, seed=0):
        built = builder.build(bench.harness, space.configuration(member))
        assert built.outcome == "ok", built.message
        assert measurer.time(built.vmfb, bench).outcome == "ok"
        found = measurer.agrees(built.vmfb, bench)
        assert found.ok
        assert found.note.startswith("the default itself is wrong: seed ")


def test_other_numbers_are_a_wrong_result(target: Target, measurer: Measurer, compilers: Workers) -> None:
    _, bench = bench_of(MATMUL, target, compilers)
    _, other = bench_of(MATMUL.replace("0.0 : f32", "1.0 : f32"), target, compilers)
    found = measurer.time(other.default, bench)
    assert found.outcome == "wrong_result"
    assert "expected" in found.message


def test_a_poisoned_context_is_left_behind(target: Target, compilers: Workers) -> None:
    """A kernel that reads far beyond its input: nothing runs in that process afterwards."""
    right, bad = (
        compile_program(load_program(text), target, compilers).data for text in (scaling(), scaling(crash=2))
    )
    with Workers(1, memory_bytes=None) as measuring:
        first, planted, last = compare_programs(
            [[right, right, bad, right]], DEVICE, measuring, 8, ErrorDepth(), batch_s=0.0005
        )
    assert planted.error
    assert planted.comparison is None
    for each in (first, last):
        assert each.ok
        assert each.comparison is not None


def test_from_a_program_to_a_spec() -> None:
    result = tune_module(MATMUL, device=DEVICE, effort="quick", budget_s=20, db=None)
    (found,) = result.results
    assert found.trials
    assert found.verdict in ("win", "tie")
    assert result.vmfb()


def test_a_program_whose_default_is_wrong_gets_a_spec_that_is_right() -> None:
    result = tune_module(strided(28, 512, 256), device=DEVICE, effort="quick", budget_s=30, db=None)
    assert result.entries
    assert result.comparison is not None
    assert result.comparison.verdict in ("win", "tie"), "as fast as the wrong default is enough"
    assert result.note.startswith("by default, the program computes wrong results")


def test_a_default_against_itself_is_a_tie() -> None:
    result = tune_module(MATMUL, device=DEVICE, effort="quick", budget_s=20, db=None, self_test=True)
    assert [each.verdict for each in result.results] == ["tie"]


def test_a_device_that_is_not_there_is_told(measurer: Measurer, target: Target, compilers: Workers) -> None:
    _, bench = bench_of(MATMUL, target, compilers)
    with Workers(1, memory_bytes=None) as pool:
        absent = Measurer("cuda://99", pool)
        with pytest.raises(TunerError, match="cuda://99: the device does not open"):
            absent.time(bench.default, replace(bench, device="cuda://99"))


CROSS = """
func.func @main(%p: tensor<4x64x77xf16>, %keys: tensor<4x77x64xf16>) -> tensor<4x64x64xf16> {
  %zero = arith.constant 0.0 : f32
  %v = arith.addf %keys, %keys : tensor<4x77x64xf16>
  %empty = tensor.empty() : tensor<4x64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %r = linalg.batch_matmul ins(%p, %v : tensor<4x64x77xf16>, tensor<4x77x64xf16>)
       outs(%init : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %h = arith.truncf %r : tensor<4x64x64xf32> to tensor<4x64x64xf16>
  %t = math.tanh %h : tensor<4x64x64xf16>
  return %t : tensor<4x64x64xf16>
}
"""


@pytest.mark.parametrize("flags", [(), ("--iree-dispatch-creation-enable-aggressive-fusion",)])
def test_the_product_is_named_that_reads_on_behind_77_keys(
    flags: tuple[str, ...], target: Target, compilers: Workers, tmp_path: Path
) -> None:
    """Versions of SDXL's transformer block differed by what lay behind its keys (docs/upstream)."""
    program = load_program(CROSS)
    made = take_apart(program.data, "cross.mlir", replace(target, flags=(*target.flags, *flags)))
    path = tmp_path / "parts.vmfb"
    path.write_bytes(made.vmfb)
    sums = sums_of(extract(program, target, compilers).dispatches)
    judged = judge_here(Pieces(str(path), replace(made, vmfb=b"")), None, DEVICE, request(program), sums)
    (fault,) = judged.own
    assert fault.fault == "unwritten"
    assert "77" in fault.dispatch


def test_the_default_is_blamed_and_not_the_version_that_reads_nothing(
    target: Target, compilers: Workers, measurer: Measurer
) -> None:
    """Where the default has no numbers, this machine's processor decides."""
    program = load_program(CROSS)
    default = compile_program(program, target, compilers).data
    (found,) = compare_programs(
        [[default, default]], DEVICE, measurer.workers, 4, ErrorDepth(77, 3), request(program),
        for_host=lambda: compile_program(program, host_target(), compilers).data,
        widened=lambda: submit_widened(program, target, compilers).result(),
    )  # fmt: skip
    assert found.ok
