"""Where the compiler's own code is wrong on another device, the processor says that a kernel is right."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from contests import briefly, code_of
from epilogues import with_epilogue
from problems import matmul, site_in

from iree_tuner.check import expected
from iree_tuner.check.check import Check
from iree_tuner.check.reference import OnHost, Unsupported, on_host
from iree_tuner.device.bench import Bench
from iree_tuner.device.data import fill
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.program_request import request
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.executable import with_scratch
from iree_tuner.kernels.find import find_places
from iree_tuner.kernels.in_program import compare_in_program
from iree_tuner.kernels.source import outlook_of
from iree_tuner.kernels.variants import case_here, tolerance_for
from iree_tuner.program.source import load_program
from iree_tuner.targets import parse_target
from iree_tuner.tuning.baseline import tolerance_of
from iree_tuner.tuning.versions import ProgramVersions

STEPS = ("bias", "gelu", "residual")
TEXT = with_epilogue(32, 64, 48, STEPS, element="f16")


@pytest.fixture(scope="module", autouse=True)
def compiled_once():
    """Each dispatch, by all that ask for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_host, "compile_for_host", cache(on_host.compile_for_host))
        yield


@pytest.fixture
def bench(only_dispatch) -> Bench:
    """A dispatch for a GPU, as contests are held: with room for scratch memory."""
    target = parse_target("cuda:sm_89")
    harness = with_scratch(only_dispatch(TEXT, target).harness, 4096, target.flags)
    return Bench(harness, "cuda://0", b"", tolerance_for(site_in(TEXT).problem))


class Planted:
    """A loaded dispatch that writes the processor's values, times a factor, plus a shift."""

    def __init__(self, bench: Bench, factor: float, shift: float = 0.0):
        self.harness, self.on_host, self.factor, self.shift = bench.harness, OnHost(bench), factor, shift

    memory = None

    def fill(self, seed):
        self.seed = seed
        self.buffer = fill(self.harness.bindings, self.harness.stride, seed).copy()

    def run(self, repeats, copies=None):
        (right,) = self.on_host.outputs(self.seed)
        place = self.harness.bindings[-2].offset
        values = (right * np.float32(self.factor) + np.float32(self.shift)).reshape(-1).view(np.uint8)
        self.buffer[place : place + right.nbytes] = values
        return 1e-6 * repeats

    def read(self):
        return self.buffer.copy()


SHIFT = 2.2e-5  # as sums in another order may be off by


@pytest.mark.parametrize(
    ("default", "kernel", "says"),
    [(3.0, 1.0, ""), (1.0, 3.0, "the default's values"), (2**-14, 1.0, "")],
)
def test_alone(bench, monkeypatch, default, kernel, says) -> None:
    monkeypatch.setattr(expected, "LoadedDispatch", lambda *_: Planted(bench, default))
    monkeypatch.setattr("iree_tuner.check.reference.reference_outputs", lambda *_: Unsupported("too large"))
    found = Check(bench).thorough(Planted(bench, kernel, SHIFT))
    assert found.ok == (not says)
    assert says in found.message
    assert found.note.startswith("the default itself is wrong: seed 0: " if found.ok else "")


@pytest.mark.parametrize(("kernel", "ok"), [(1.0, True), (1.05, False)])
def test_what_replaces_several_dispatches_has_the_values_of_these(bench, monkeypatch, kernel, ok) -> None:
    """The op that stands for them is wrong, too large to interpret, and its code for the processor, too."""
    site = replace(site_in(TEXT), one_op=b"it takes several dispatches")
    planted = Planted(bench, kernel, SHIFT)
    monkeypatch.setattr(expected, "LoadedDispatch", lambda *_: Planted(bench, 2**-14))
    monkeypatch.setattr("iree_tuner.check.reference.reference_outputs", lambda *_: pytest.fail("asked"))
    found = Check(replace(bench, case=case_here(site))).thorough(planted)
    assert found.ok == ok
    assert "the default" not in found.message + found.note


@pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
@pytest.mark.parametrize(("start", "asked"), [("1.0", True), ("1.0", False), ("0x7FC00000", True)])
def test_in_the_program(lab, monkeypatch, start: str, asked: bool) -> None:
    """Without kernels the program starts its sums from ones, as if the compiler had made that of it.

    What is not a number does not move with the inputs, and so does not say how far results may be off.
    """
    right, wrong = (load_program(matmul(96, 96, 960, start=each)) for each in ("0.0", start))
    applied = ProgramVersions.applied

    def planted(self, version, program=None):
        found = applied(self, version, program)
        return found if version.changes else replace(found, program=wrong)

    monkeypatch.setattr(ProgramVersions, "applied", planted)
    monkeypatch.setattr(lab, "on_host", not asked)  # as on a GPU
    outlook = outlook_of(find_places(right, lab.target, lab.compilers, [CGemm()]), [CGemm()])
    ((_, site, kernel),) = outlook.pairs
    choices = {"kernels": [(site, code_of(kernel, site, lab.target))]}
    ((_, found),) = compare_in_program(right, request(right), choices, None, lab).versions
    if asked:
        assert found.ok
        assert found.comparison is not None
        assert found.agreement.note.startswith("by default, the program computes wrong results")
    else:
        assert found.error.startswith("wrong results: ")


@pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
def test_a_contest_says_that_the_default_is_wrong(lab, monkeypatch) -> None:
    note = "the default itself is wrong: seed 0: somewhere"
    monkeypatch.setattr(lab.measurer, "agrees", lambda *_: Agreement(True, 0.0, note=note))
    contest = briefly(site_in(matmul(96, 96, 96)), CGemm(), lab, most=1)
    assert contest.final.winner is not None
    assert contest.note == note


def test_steps_behind_a_truncation_have_a_tolerance_of_that_type() -> None:
    at_the_end, before = (
        site_in(with_epilogue(32, 64, 256, steps, element="f16")).problem
        for steps in (("bias", "gelu", "truncf"), ("truncf", "bias", "gelu"))
    )
    plain = tolerance_of(before.workload)
    assert tolerance_for(at_the_end) == plain
    assert tolerance_for(before) == replace(plain, factor_type="f16", factors=256)
