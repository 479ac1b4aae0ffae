"""The check with executables that are plain functions: what it asks of them, and in which order."""

import numpy as np
import pytest

from iree_tuner.check import expected
from iree_tuner.check.check import QUICK_SEED, THOROUGH_SEEDS, Check
from iree_tuner.check.reference import Unsupported
from iree_tuner.device.bench import Bench
from iree_tuner.device.data import fill, random_values
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.bindings import Binding, Harness, TensorSlice

SIZE = 512
INPUT, OUTPUT = slice(0, 256), slice(256, 496)


def harness(access="write"):
    bindings = (
        Binding(0, 256, (TensorSlice(0, (8, 8), "f32", "read"),)),
        Binding(256, 240, (TensorSlice(0, (6, 10), "f32", access),)),
    )
    return Harness(b"", "run", SIZE, bindings)


def double(buffer):
    """The right kernel: twice the first 60 values."""
    values(buffer, OUTPUT)[:] = 2 * values(buffer, INPUT)[:60]


def values(buffer, part):
    return buffer[part].view(np.float32)


class Fake:
    """A loaded dispatch whose kernel is a function on its buffer."""

    def __init__(self, kernel, harness):
        self.kernel, self.harness = kernel, harness
        self.memory, self.buffer = None, np.zeros(SIZE, np.uint8)
        self.runs: list[int] = []
        self.seeds: list[int] = []

    def fill(self, seed):
        self.seeds.append(seed)
        self.buffer[:] = fill(self.harness.bindings, SIZE, seed)

    def run(self, repeats, copies=None):
        self.runs.append(repeats)
        for _ in range(repeats):
            self.kernel(self.buffer)
        return 1e-6 * repeats

    def read(self):
        return self.buffer  # as real memory: the next run writes over it


@pytest.fixture(params=[False, True], ids=["small", "large"])
def loads(monkeypatch, request):
    """Sets the default's kernel and the reference; counts how often the default is loaded."""
    loaded = []
    if request.param:  # as harnesses of gigabytes, whose contents are not kept
        monkeypatch.setattr("iree_tuner.device.data.LARGE", 0)
        monkeypatch.setattr("iree_tuner.device.data._BLOCK", 96)
        monkeypatch.setattr("iree_tuner.check.check.LARGE", 0)

    def use(kernel, access="write", reference=None):
        def load(vmfb, harness, device, memory):
            loaded.append(Fake(kernel, harness))
            return loaded[-1]

        def refer(harness, buffer):
            if reference is None:
                return Unsupported("none here")
            memory = buffer.copy()
            reference(memory)
            return [values(memory, OUTPUT).reshape(6, 10)]

        monkeypatch.setattr(expected, "LoadedDispatch", load)
        monkeypatch.setattr("iree_tuner.check.reference.reference_outputs", refer)
        return Check(Bench(harness(access), "fake", b"", Tolerance("f32", 4)))

    use.loaded = loaded
    return use


def test_the_default_runs_once_for_each_seed(loads):
    check = loads(double)
    for _ in range(3):
        assert check.quick(Fake(double, harness())).ok
    (default,) = loads.loaded
    assert default.seeds == [QUICK_SEED, -1 - QUICK_SEED]


def test_a_quick_check_fills_once_and_runs_twice(loads):
    fake = Fake(double, harness())
    assert loads(double).quick(fake).worst == 0.0
    assert (fake.seeds, fake.runs) == ([QUICK_SEED], [1, 1])


def test_what_adds_to_its_output_is_filled_before_each_run(loads):
    def add(buffer):
        values(buffer, OUTPUT)[:] += values(buffer, INPUT)[:60]

    fake = Fake(add, harness("read_write"))
    check = loads(add, "read_write")
    assert check.quick(fake).ok
    assert fake.seeds == [QUICK_SEED, QUICK_SEED]
    assert check.thorough(fake).ok


def test_a_thorough_check_takes_every_seed_and_ends_with_many_runs(loads):
    fake = Fake(double, harness())
    found = loads(double, reference=double).thorough(fake)
    assert found.ok
    assert found.note == ""
    assert fake.seeds == [*THOROUGH_SEEDS, THOROUGH_SEEDS[-1]]
    assert max(fake.runs) >= 16
    assert fake.runs[-20:] == [1] * 20


@pytest.mark.parametrize(
    ("default_varies", "told"), [(False, "the default's do not"), (True, "so do the default's (2)")]
)
def test_results_that_vary_within_their_tolerance_are_told(loads, default_varies, told):
    class Varying(Fake):
        def run(self, repeats, copies=None):
            seconds = super().run(repeats)
            if len(self.runs) % 2:
                out = values(self.buffer, OUTPUT)
                out[:] = np.nextafter(out, np.float32(np.inf))
            return seconds

    counted = [0]

    def sometimes(buffer):
        double(buffer)
        counted[0] += 1
        if default_varies and counted[0] % 2:
            out = values(buffer, OUTPUT)
            out[:] = np.nextafter(out, np.float32(np.inf))

    found = loads(sometimes, reference=double).thorough(Varying(double, harness()))
    assert found.ok
    assert found.note == f"results vary from run to run: 2 in 20 runs; {told}"


def test_a_race_that_shows_in_the_third_run_is_found_by_the_thorough_check(loads):
    class Racing(Fake):
        def run(self, repeats, copies=None):
            seconds = super().run(repeats)
            if len(self.runs) % 3 == 0:
                values(self.buffer, OUTPUT)[17] = 0
            return seconds

    check = loads(double)
    assert check.quick(Racing(double, harness())).ok
    found = check.thorough(Racing(double, harness()))
    assert not found.ok
    assert found.message.startswith("seed 0, right at first, on run 3: tensor 1 (6x10xf32) at [1, 7]: got 0,")


def test_what_only_many_runs_in_a_row_bring_out_is_found(loads):
    class Overlapping(Fake):
        def run(self, repeats, copies=None):
            seconds = super().run(repeats)
            if repeats > 1:
                values(self.buffer, OUTPUT)[0] = -5
            return seconds

    found = loads(double).thorough(Overlapping(double, harness()))
    assert found.message.startswith("seed 2, after 64 runs in a row: tensor 1 (6x10xf32) at [0, 0]: got -5,")


@pytest.mark.parametrize(
    ("byte", "says"),
    [
        (500, "written out of bounds: 1 bytes from byte 500, 4 bytes after the end of tensor 1"),
        (130, "input 0 was changed, 1 bytes, first at [4, 0]"),
    ],
)
def test_what_must_not_be_written_is_named(loads, byte, says):
    def stray(buffer):
        double(buffer)
        buffer[byte] ^= 1

    found = loads(double).quick(Fake(stray, harness()))
    assert not found.ok
    assert found.message == f"seed {QUICK_SEED}: {says}"


def test_what_the_default_writes_too_is_not_out_of_bounds(loads):
    def padding(buffer):
        double(buffer)
        buffer[496:500] = 0

    assert loads(padding).quick(Fake(padding, harness())).ok
    assert loads(padding).quick(Fake(double, harness())).ok


def triple(buffer):
    values(buffer, OUTPUT)[:] = 3 * values(buffer, INPUT)[:60]


def test_a_right_candidate_passes_where_the_default_is_wrong(loads):
    check = loads(triple, reference=double)
    for found in (check.quick(Fake(double, harness())), check.thorough(Fake(double, harness()))):
        assert found.ok
        assert found.corrects
        assert found.note.startswith("the default itself is wrong: seed ")


def test_two_that_are_wrong_alike_agree_with_a_note(loads):
    found = loads(triple, reference=double).thorough(Fake(triple, harness()))
    assert found.ok
    assert not found.corrects
    assert "but the default itself is wrong: seed 0: tensor 1" in found.note


def test_a_default_that_reads_behind_its_input_is_wrong(loads):
    def behind(buffer):
        double(buffer)
        values(buffer, OUTPUT)[59] += 0 * values(buffer, slice(496, 512))[0]

    check = loads(behind, reference=double)
    assert check.default().startswith(f"the default itself is wrong: seed {QUICK_SEED}: tensor 1")
    assert check.quick(Fake(double, harness())).corrects
    assert not check.quick(Fake(behind, harness())).corrects
    assert loads(double, reference=double).default() == ""
    assert loads(behind).default() == "", "nobody knows what is right"


def test_a_wrong_candidate_is_wrong_in_any_case(loads):
    def quadruple(buffer):
        values(buffer, OUTPUT)[:] = 4 * values(buffer, INPUT)[:60]

    found = loads(double, reference=double).quick(Fake(quadruple, harness()))
    assert found.message.endswith("; the reference has the default's values")
    found = loads(triple, reference=double).quick(Fake(quadruple, harness()))
    assert found.message.endswith("; the default itself is wrong, too")


def test_without_a_reference_there_is_a_note(loads):
    assert (
        loads(double).thorough(Fake(double, harness())).note == "not checked against a reference: none here"
    )


@pytest.mark.parametrize(
    ("element_type", "seed"), [("f32", 0), ("f16", 1), ("bf16", 2), ("i8", 0), ("f32", -2)]
)
def test_long_tensors_repeat_what_no_tile_size_divides(element_type, seed):
    found = random_values((1000, 1001), element_type, seed, np.random.default_rng(0)).reshape(-1)
    assert np.array_equal(found[262_147:], found[: found.size - 262_147])
    rows = found.reshape(1000, 1001)
    assert not any(np.array_equal(rows[0], row) for row in rows[1:])
    short = random_values((1000, 1000), element_type, seed, np.random.default_rng(0))
    assert short.dtype == found.dtype


def test_what_is_expected_does_not_change_with_the_next_run(loads):
    """Memory is looked at in place: results for the inputs' absolute values are kept before others come."""
    check = loads(double)
    check.quick(Fake(double, harness()))
    (expected,) = check._right.of(QUICK_SEED).values
    (magnitudes,) = check._right.of(QUICK_SEED).magnitudes
    assert (expected < 0).any()
    assert (magnitudes >= 0).all()
