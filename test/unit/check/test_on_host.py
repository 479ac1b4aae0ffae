"""The processor's word on a GPU's dispatch: compiled for CUDA's target here, and run without a GPU."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from strided import strided

from iree_tuner.check import expected
from iree_tuner.check.check import QUICK_SEED, Check
from iree_tuner.check.reference import OnHost, Unsupported, on_host, reference_outputs
from iree_tuner.device.bench import Bench
from iree_tuner.device.data import fill
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.targets import parse_target
from iree_tuner.tuning.baseline import tolerance_of


@pytest.fixture(scope="module", autouse=True)
def compiled_once():
    """Each dispatch, by all that ask for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_host, "compile_for_host", cache(on_host.compile_for_host))
        yield


@pytest.fixture(scope="module")
def bench(compilers):
    _, dispatch = extract(load_program(strided()), parse_target("cuda:sm_89"), compilers).dispatches
    return Bench(dispatch.harness, "cuda://0", b"", tolerance_of(dispatch.workload))


def test_it_has_the_interpreters_values(bench):
    on_host = OnHost(bench)
    for seed in (0, 1):
        (found,) = on_host.outputs(seed)
        image = fill(bench.harness.bindings, bench.harness.stride, seed)
        (expected,) = reference_outputs(bench.harness, image)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_what_would_take_too_long_is_not_asked(bench):
    long = replace(bench, tolerance=replace(bench.tolerance, reduction_length=10**9))
    assert OnHost(long).outputs(0) == Unsupported("the dispatch is too large for the CPU")


def test_what_does_not_compile_is_not_known(bench):
    broken = replace(bench, harness=replace(bench.harness, module=b"not a module"))
    found = OnHost(broken).outputs(0)
    assert isinstance(found, Unsupported)
    assert "does not compile for the CPU: " in found.reason


class Filled:
    """A loaded dispatch that writes the right values, times a factor."""

    def __init__(self, bench, factor):
        self.harness, self.on_host, self.factor = bench.harness, OnHost(bench), factor

    memory = None

    def fill(self, seed):
        self.seed = seed
        self.buffer = fill(self.harness.bindings, self.harness.stride, seed).copy()

    def run(self, repeats, copies=None):
        (right,) = self.on_host.outputs(self.seed)
        binding = self.harness.bindings[-1]
        place = self.buffer[binding.offset : binding.offset + right.nbytes]
        place[:] = (right * np.float32(self.factor)).reshape(-1).view(np.uint8)
        return 1e-6 * repeats

    def read(self):
        return self.buffer.copy()


@pytest.fixture
def check_of(bench, monkeypatch):
    """A check whose default is off by a factor, and whose interpreter gives up."""

    def make(factor, bench=bench):
        monkeypatch.setattr(expected, "LoadedDispatch", lambda *_: Filled(bench, factor))
        monkeypatch.setattr(
            "iree_tuner.check.reference.reference_outputs", lambda *_: Unsupported("too large")
        )
        return Check(bench)

    return make


def test_a_right_candidate_passes_where_the_default_is_wrong(check_of, bench):
    found = check_of(3.0).thorough(Filled(bench, 1.0))
    assert found.ok
    assert found.note.startswith("the default itself is wrong: seed 0: ")


def test_a_wrong_candidate_does_not_pass_with_the_processors_word(check_of, bench):
    found = check_of(1.0).quick(Filled(bench, 3.0))
    assert found.message.endswith("; the reference has the default's values")
    assert found.message.startswith(f"seed {QUICK_SEED}: ")


def test_where_none_agrees_with_the_processor_the_candidate_is_wrong(check_of, bench):
    found = check_of(2.0).quick(Filled(bench, 3.0))
    assert found.message.endswith("; the default itself is wrong, too")


def test_on_the_processor_itself_there_is_no_second_word(check_of, bench):
    local = replace(bench, device="local-task")
    found = check_of(3.0, local).quick(Filled(local, 1.0))
    assert not found.ok
    assert "the default" not in found.message
