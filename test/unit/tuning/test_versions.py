"""Versions of a program are compared with memory from their caller, where allocations take varying time."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace

import pytest
from whole_programs import ADDING

from iree_tuner.device.numerics import Agreement
from iree_tuner.device.program_request import request
from iree_tuner.device.program_run import Filled
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import TunerError
from iree_tuner.measure.program import ProgramComparison, compared_on
from iree_tuner.measure.statistics import Comparison, over_cases
from iree_tuner.program.dynamic import sized_cases
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device
from iree_tuner.targets.registry import kind_of_device
from iree_tuner.tuning.budget import MeasuredTimes
from iree_tuner.tuning.flags import untuned
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.versions import ComparisonPlan, ProgramVersion, ProgramVersions

DEVICE = "local-task"
TWO = """
func.func @main(%a: tensor<33x70xf32>, %b: tensor<70x50xf32>) -> (tensor<33x50xf32>, tensor<33x50xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<33x70xf32>, tensor<70x50xf32>) -> tensor<33x50xf32>
  %1 = stablehlo.exponential %0 : tensor<33x50xf32>
  return %1, %0 : tensor<33x50xf32>, tensor<33x50xf32>
}
"""
SIZED_LATE = """
func.func @main(%a: tensor<?x64xf32>, %b: tensor<64x64xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %x = linalg.matmul ins(%a, %b : tensor<?x64xf32>, tensor<64x64xf32>)
      outs(%i : tensor<?x64xf32>) -> tensor<?x64xf32>
  %f = tensor.empty() : tensor<64xf32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<64xf32>) -> tensor<64xf32>
  %y = linalg.reduce ins(%x : tensor<?x64xf32>) outs(%j : tensor<64xf32>) dimensions = [0]
    (%in: f32, %out: f32) {
      %s = arith.addf %in, %out : f32
      linalg.yield %s : f32
    }
  return %y : tensor<64xf32>
}
"""
"""How much memory its product takes is known in the call."""

OF_ANY_SIZE = """
func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.exponential %a : tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""


class Watch(Silent):
    """Keeps what is noted."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.compared_: list[str] = []

    def noted(self, note: str) -> None:
        self.notes.append(note)

    def compared(self, what: str, comparison: Comparison) -> None:
        self.compared_.append(what)


@pytest.fixture(scope="module")
def lab():
    with Lab(target_for_device(DEVICE, "host"), 1) as found:
        yield found


@pytest.fixture
def varying(monkeypatch) -> None:
    monkeypatch.setattr(type(kind_of_device(DEVICE)), "varying_allocations", True)


def compared(lab: Lab, text: str, inputs: tuple[Filled, ...] = ()):
    """A program with another optimization level compared with itself: what was found, and noted."""
    program, watch = load_program(text), Watch()
    versions = ProgramVersions(program, request(program, inputs=inputs), lab, watch, ErrorDepth())
    base = untuned(lab.target)
    other = ProgramVersion("O1", replace(lab.target, flags=(*lab.target.flags, "--iree-opt-level=O1")))
    (found,) = versions.compare(base, [other], ComparisonPlan(1, 8, 0.0))
    return found, watch.notes


def test_memory_is_provided(lab, varying) -> None:
    found, notes = compared(lab, TWO)
    assert found.ok
    assert found.comparison.pairs == 8
    assert found.called == "main, calls in flight"
    assert not notes


def test_each_of_several_sizes_is_compared(lab) -> None:
    program, watch = sized_cases(load_program(OF_ANY_SIZE), {(0, 0): (3, 700)}), Watch()
    run = request(program)
    versions = ProgramVersions(program, run, lab, watch, ErrorDepth())
    base = untuned(lab.target)
    other = ProgramVersion("O1", replace(lab.target, flags=(*lab.target.flags, "--iree-opt-level=O1")))
    (found,) = versions.compare(base, [other], ComparisonPlan(1, 8, 0.0))
    assert [name for name, _ in found.by_case] == ["0.0=3", "0.0=700"]
    assert all(each.ok and each.comparison.pairs == 8 for _, each in found.by_case)
    assert found.comparison == over_cases([each.comparison for _, each in found.by_case])
    assert [what.rpartition(", ")[2] for what in watch.compared_] == [
        "--dim 0.0=3", "--dim 0.0=700", "O1 vs. default",
    ]  # fmt: skip
    assert versions.steps[0].by_case == found.by_case


def one(speedup: float, verdict: str) -> Comparison:
    return Comparison(
        100.0, 100.0 / speedup, speedup, (0.9 * speedup, 1.1 * speedup), speedup, (speedup,), verdict, 8
    )


@pytest.mark.parametrize(
    ("sizes", "verdict", "speedup"),
    [
        ([(2.0, "win"), (0.98, "tie")], "win", 1.4),
        ([(1.02, "tie"), (0.98, "tie")], "tie", 1.0),
        ([(4.0, "win"), (0.6, "tie")], "tie", 0.6),
        ([(4.0, "win"), (0.8, "lose"), (0.9, "lose")], "lose", 0.8),
        ([(2.0, "win")], "win", 2.0),
    ],
)
def test_a_version_that_loses_on_one_size_loses(sizes, verdict, speedup) -> None:
    found = over_cases([one(*each) for each in sizes])
    assert (found.verdict, found.speedup) == (verdict, pytest.approx(speedup, rel=1e-3))
    assert found.default_us / found.candidate_us == pytest.approx(found.speedup)


def test_a_version_that_is_wrong_on_one_size_is_wrong() -> None:
    right = ProgramComparison("main", one(2.0, "win"), Agreement(True, 0.1))
    wrong = ProgramComparison("main", None, Agreement(False, 3.0, "differs"), "wrong results: differs")
    found = compared_on([("1", right), ("4", wrong)])
    assert (found.comparison, found.agreement.ok, found.error) == (
        None,
        False,
        "--dim 4: wrong results: differs",
    )
    assert compared_on([("", right)]) is right


def test_the_default_is_timed_as_it_is(lab, varying) -> None:
    program, measured = load_program(TWO), MeasuredTimes()
    versions = ProgramVersions(program, request(program), lab, Watch(), ErrorDepth(), measured)
    versions.time(untuned(lab.target))
    assert 0.0 < measured.invocation_s < measured.loading_s
    assert not measured.check_s


DECLARED = """
func.func private @elsewhere(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def test_only_a_program_that_does_not_compile_as_it_is_is_refused(lab, monkeypatch) -> None:
    """Its twins, which fill what they allocate, may fail alone."""

    def failing(*_) -> bytes:
        raise TunerError("the module does not verify")

    monkeypatch.setattr(ProgramVersions, "vmfb", failing)
    right, wrong = (load_program(text) for text in (TWO, DECLARED))
    ProgramVersions(right, request(right), lab, Watch(), ErrorDepth()).check_compiles(untuned(lab.target))
    with pytest.raises(TunerError, match="the program does not compile, with or without a spec: failed to"):
        ProgramVersions(wrong, request(wrong), lab, Watch(), ErrorDepth()).check_compiles(untuned(lab.target))


def test_where_allocations_take_equal_time_programs_stay_as_they_are(lab) -> None:
    found, _ = compared(lab, TWO)
    assert found.ok
    assert found.called == "main"


def test_what_is_not_known_before_the_call_is_allocated_in_it(lab, varying) -> None:
    found, notes = compared(lab, SIZED_LATE, (Filled((50, 64), "f32", 0.5),))
    assert found.ok
    assert not found.memory_provided
    assert notes == [
        "memory cannot be provided to the program: @main takes memory for temporary values, of a size that "
        "depends on its inputs"
    ]


def test_results_of_any_size_are_allocated(lab, varying) -> None:
    found, notes = compared(lab, OF_ANY_SIZE, (Filled((50,), "f32", 0.5),))
    assert found.ok
    assert not found.memory_provided
    assert not notes


def test_memory_that_nobody_wrote_is_found_there_too(lab, varying) -> None:
    found, notes = compared(lab, ADDING.format(size=400))
    assert found.memory_provided
    assert "by default, result 0 depends on uninitialized memory: at [400]" in found.agreement.note
    assert notes == [f"O1: {found.agreement.note}"]


def test_a_widened_program_that_is_cancelled_is_none(lab):
    """A request to stop cancels what compiles; what is done by then is still compared."""
    program = load_program(TWO.replace("f32", "f16"))
    versions = ProgramVersions(program, request(program), lab, Silent(), ErrorDepth())
    versions._widened = Future()
    versions._widened.cancel()
    versions._widened.set_running_or_notify_cancel()  # as the workers do
    versions.settle()
    assert versions.widened() == b""
