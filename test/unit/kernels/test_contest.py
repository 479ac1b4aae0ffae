"""Contests: what is wrong is never chosen and told; what is right is compared with the default."""

from dataclasses import replace

import pytest
from amounts import amount
from contests import all_briefly, briefly
from epilogues import with_epilogue
from problems import conv, matmul, site_in
from wrong_kernels import NoObject, NotMade, Slow, TooFar, Transposed, WrongGrid

from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.executable import (
    build_kernel_here,
    extract_alone_here,
    tools_of,
    why_unfit,
    with_scratch,
)
from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.in_program import Contest
from iree_tuner.kernels.kernel import scratch_room
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.variants import digest_of_code, make_here
from iree_tuner.measure.candidate import Built
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.stop import StopRequest

pytestmark = pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
SQUARE = matmul(96, 96, 96)
WEIGHTS = """
func.func @main(%x: tensor<24x64xf32>) -> tensor<24x96xf32> {
  %w = flow.tensor.constant #flow.parameter.named<"model"::"w"> : tensor<64x96xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<24x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<24x96xf32>) -> tensor<24x96xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<24x64xf32>, tensor<64x96xf32>)
      outs(%init : tensor<24x96xf32>) -> tensor<24x96xf32>
  return %0 : tensor<24x96xf32>
}
"""


@pytest.mark.parametrize(
    ("kernel", "outcome", "message"),
    [
        (Transposed(), "wrong_result", "tensor 2 (96x96xf32) at ["),
        (WrongGrid(), "wrong_result", "got nan"),
        pytest.param(TooFar(), "wrong_result", "differ", marks=pytest.mark.exhaustive),  # wrong numbers, too
        (NotMade(), "compile_error", "there is no code"),
        (NoObject(), "compile_error", ""),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_wrong_kernels_are_told_and_not_chosen(lab, kernel, outcome, message) -> None:
    contest = briefly(site_in(SQUARE), kernel, lab)
    (trial,) = contest.trials
    assert trial.outcome == outcome, trial.message
    assert message in trial.message
    assert contest.final.winner is None
    assert not contest.wins
    assert contest.note == "no variant computes correct results"
    assert contest.knobs == {}


@pytest.mark.parametrize(
    "text",
    [  # the next test has a product with a bias and a residual
        pytest.param(matmul(40, 64, 72, transposed=True), marks=pytest.mark.exhaustive),
        pytest.param(with_epilogue(40, 64, 72, ("bias", "gelu", "residual")), marks=pytest.mark.exhaustive),
        pytest.param(
            conv((6, 9), 12, 32, stride=2), marks=pytest.mark.exhaustive
        ),  # of it, test/kernels/conv.test
        pytest.param(
            with_epilogue(40, 64, 72, ("residual", "gelu_tanh", "bias"), together=True),
            marks=pytest.mark.exhaustive,
        ),
    ],
    ids=["product", "gelu", "convolution", "gelu_tanh"],
)
def test_right_kernels_are_compared(lab, text: str) -> None:
    is_compared(briefly(site_in(text), CGemm(), lab, most=amount(1, 3)))


def is_compared(contest: Contest) -> None:
    """A variant is right, and was compared with the default."""
    assert [each.outcome for each in contest.trials].count("ok") >= 1
    assert contest.final.winner is not None
    assert contest.final.comparison is not None
    assert contest.final.comparison.pairs > 0
    assert contest.wins == (contest.final.comparison.verdict == "win")
    assert contest.final.built.for_check is None, "nothing of it is packed"


def alone(site: Site, lab: Lab) -> tuple[Dispatch, ...]:
    """The dispatches of a site's problem, as contests have them."""
    return lab.compilers.call(extract_alone_here, site.alone, site.problem.name, lab.target).dispatches


RESIDUAL_FIRST = """
    func.func @main(%a: tensor<40x72xf32>, %b: tensor<72x64xf32>, %c: tensor<64xf32>, %d: tensor<40x64xf32>)
        -> tensor<40x64xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<40x72xf32>, tensor<72x64xf32>) -> tensor<40x64xf32>
      %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<64xf32>) -> tensor<40x64xf32>
      %2 = stablehlo.add %0, %1 : tensor<40x64xf32>
      %3 = stablehlo.add %d, %2 : tensor<40x64xf32>
      return %3 : tensor<40x64xf32>
    }
"""


def test_a_kernel_gets_its_inputs_in_the_order_of_the_problem(lab) -> None:
    """In the compiler's dispatch the residual, as the left operand, comes before the bias."""
    (place,) = find_here(RESIDUAL_FIRST.encode(), "residual.mlir", lab.target).places
    site = place.sites[-1]
    assert site.problem.epilogue == ("bias", "residual")
    (dispatch,) = alone(site, lab)
    assert dispatch.harness.inputs == (0, 1, 3, 2)
    assert why_unfit(dispatch.harness, site.problem) == ""
    contest = briefly(site, CGemm(), lab, most=1)
    is_compared(contest)


def test_no_more_are_begun_after_the_time(lab) -> None:
    contest = briefly(site_in(SQUARE), Slow(), lab, seconds=0.0)
    assert contest.trials == ()
    assert contest.note == "not tried: the time was used up"


def test_dispatches_that_are_not_the_problem(lab) -> None:
    site = site_in(SQUARE)
    contest = briefly(
        replace(site, problem=replace(site.problem, inputs=site.problem.inputs[:1])), CGemm(), lab
    )
    assert contest.trials == ()
    assert "other inputs or results than the problem" in contest.note


def test_bindings(only_dispatch) -> None:
    harness = only_dispatch(SQUARE).harness
    assert why_unfit(harness, site_in(SQUARE).problem) == ""
    assert why_unfit(harness, site_in(matmul(96, 96, 64)).problem) != ""


def test_a_problem_that_fails_says_so_and_the_rest_goes_on(lab) -> None:
    site = site_in(SQUARE)
    first, second = all_briefly([(replace(site, case=b"no program"), CGemm()), (site, Transposed())], lab)
    assert "cannot parse" in first.note
    assert [each.outcome for each in second.trials] == ["wrong_result"]


def test_a_request_to_stop(lab) -> None:
    stop = StopRequest()
    stop.request()
    assert briefly(site_in(SQUARE), CGemm(), lab, records=Records(None, stop)).trials == ()


def test_a_constant_is_timed_packed_and_checked_as_it_is(lab) -> None:
    """In the program it is packed once, when it is loaded."""
    site = site_in(WEIGHTS)
    assert site.problem.constants == (1,)
    contest = briefly(site, CGemm(), lab, most=1)
    assert {each.outcome for each in contest.trials} <= {"ok", "too_slow"}
    (dispatch,) = alone(site, lab)
    room = scratch_room(site.problem)  # as contests have it, so that nothing is built again
    harness = lab.compilers.call(with_scratch, dispatch.harness, room, lab.target.flags)
    kernel, knobs = CGemm(), dict(contest.trials[0].assignment)

    def made(*, checked: bool) -> Built:
        return lab.compilers.call(
            make_here, kernel, site.problem, lab.target, knobs, harness, tools_of(kernel), checked=checked
        )

    built, unchecked = (made(checked=each) for each in (True, False))
    assert built.for_check not in (None, b"", built.vmfb)
    assert (unchecked.for_check, unchecked.code_digest) == (b"", built.code_digest)
    assert digest_of_code(built.code) != built.code_digest, "what is checked is the other code"


def test_a_kernel_that_needs_more_memory_than_there_is_is_a_trial(lab) -> None:
    """Not the end of the run."""
    (dispatch,) = extract_alone_here(SQUARE.encode(), "square", lab.target).dispatches
    site = site_in(SQUARE)
    kernel = CGemm()
    code = kernel.make(site.problem, lab.target, kernel.variants(site.problem, lab.target)[0])
    code = replace(code, scratch_bytes=1 << 30)
    built = build_kernel_here(dispatch.harness, lab.target.flags, site.problem, code)
    assert built.outcome == "compile_error"
    assert "no space for 1073741824 bytes" in built.message
