"""Results compared by a program on the device, and on the host: both must think the same of them."""

import numpy as np
import pytest

from iree_tuner.check.check_program import compile_check
from iree_tuner.check.expected import CheckProgram, DeviceCheck, integers, kept
from iree_tuner.device.bench import Bench
from iree_tuner.device.data import fill, magnitudes_of, values_in, written
from iree_tuner.device.memory import StagedMemory, uploaded
from iree_tuner.device.numerics import compare, float_outputs
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.bindings import Binding, Harness, TensorSlice
from iree_tuner.targets.runtime import device_for

DEVICE = "local-task"
OPENED = device_for(DEVICE)[0].device
TOLERANCE = Tolerance("f32", 64)
SEED = 1
TYPES = ("f32", "i32", "f16", "bf16", "i8")
FLOATS = {"f32": 0, "f16": 2, "bf16": 3}
"""One program has outputs of all these types, and floats are those of these numbers."""


def harness(*types):
    """One input and outputs of 10 x 33 elements each: rows that are no power of two."""
    bindings, offset = [Binding(0, 4096, (TensorSlice(64, (8, 16), "f32", "read"),))], 4096
    for kind in types:
        bindings.append(Binding(offset, 2816, (TensorSlice(128, (10, 33), kind, "write"),)))
        offset += 4096
    return Harness(b"", "run", offset, tuple(bindings))


class Made:
    """A harness's memory with a result in it, and what it is compared with."""

    def __init__(self, harness, check):
        self.bench = Bench(harness, DEVICE, b"", TOLERANCE, check=check)
        self.memory = StagedMemory(harness, OPENED)
        self.image = fill(harness.bindings, harness.stride, SEED)
        rng = np.random.default_rng(0)
        self.right = self.image.copy()
        self.values, self.magnitudes = [], []
        for binding, tensor, _ in written(harness.bindings):
            place = values_in(self.right, binding, tensor)
            place[:] = (4 * rng.standard_normal(place.shape)).astype(place.dtype)
            self.values.append(place.copy())
            self.magnitudes.append(np.abs(place.astype(np.float64)) * 3)
        program = CheckProgram(self.bench)
        exact = self.image.copy()
        for binding, tensor in integers(harness):
            values_in(exact, binding, tensor)[:] = values_in(self.right, binding, tensor)
        mask = program.mask(kept(harness.bindings, harness.stride))
        wanted = program.allowed_by_host(self.values, self.magnitudes, [None] * len(self.values), TOLERANCE)
        self.checked = DeviceCheck(program, uploaded(OPENED, exact), mask, wanted)

    def worst(self, buffer):
        self.memory.buffer = uploaded(OPENED, buffer)
        return self.checked.worst(self.memory)

    def spoilt(self, change, number=0):
        """The right result with an output changed, what the device thinks of it, and what the host does."""
        buffer = self.right.copy()
        binding, tensor, _ = written(self.bench.harness.bindings)[number]
        values = values_in(buffer, binding, tensor)
        change(values)
        host = compare(values, self.values[number], tensor.element_type, TOLERANCE, self.magnitudes[number])
        return self.worst(buffer), host.worst


@pytest.fixture(scope="module")
def compiled(cpu, compilers):
    one = harness(*TYPES)
    return one, compilers.call(compile_check, one, cpu)


@pytest.fixture(scope="module")
def made_once(compiled):
    return Made(*compiled)


@pytest.mark.parametrize("number", FLOATS.values(), ids=FLOATS)
def test_errors_are_as_large_as_the_host_says(made_once, number):
    both, rng = made_once, np.random.default_rng(1)
    assert both.worst(both.right) == 0.0
    for size in (1e-7, 1e-3, 1.0):

        def change(values, size=size):
            wrong = values.astype(np.float64) + size * rng.standard_normal(values.shape)
            values[:] = wrong.astype(values.dtype)

        device, host = both.spoilt(change, number)
        assert device == pytest.approx(host, rel=1e-4)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (9, 32), (4, 17)])
def test_what_is_no_number_is_never_right(made_once, value, place):
    def change(values):
        values[place] = value

    device, host = made_once.spoilt(change)
    assert device > 1.0
    assert host > 1.0


@pytest.mark.parametrize("byte", [0, 63, 64 + 8 * 16 * 4 - 1, 4096 + 127, 4096 + 128 + 10 * 33 * 4])
def test_what_must_stay_is_compared_bit_by_bit(made_once, byte):
    """In front of the input, its first and last byte, and beside an output."""
    buffer = made_once.right.copy()
    buffer[byte] ^= 1
    assert made_once.worst(buffer) == np.inf


def test_integers_must_be_equal(made_once):
    def change(values):
        values[3, 3] += 1

    assert made_once.spoilt(change, number=1) == (np.inf, np.inf)


def test_an_output_that_was_not_written_is_seen(made_once):
    assert made_once.worst(made_once.image) > 1.0


def test_what_has_no_program(cpu, compilers):
    assert float_outputs(harness("f64").bindings) is None
    assert compilers.call(compile_check, harness("f32", "f64"), cpu) == b""
    assert compilers.call(compile_check, harness("complex<f32>"), cpu) == b""


def test_staged_memory_is_filled_and_read():
    one = harness("f32")
    memory = StagedMemory(one, device_for(DEVICE)[0].device)
    for seed in (0, 1, 2, 3, magnitudes_of(1), 0):  # more than it keeps
        memory.fill(seed)
        assert np.array_equal(memory.read(), fill(one.bindings, one.stride, seed))


def test_the_device_says_whether_a_result_is_the_one_it_kept_to_the_bit(compiled):
    both = Made(*compiled)
    memory = both.memory
    assert not both.checked.same(memory), "nothing was kept"
    memory.fill(SEED)
    memory.keep()
    assert both.checked.same(memory)
    for place in (0, 4097, both.bench.harness.stride - 1):
        other = fill(both.bench.harness.bindings, both.bench.harness.stride, SEED).copy()
        other[place] ^= 1
        kept, memory.buffer = memory.buffer, uploaded(OPENED, other)
        assert not both.checked.same(memory)
        memory.buffer = kept
    assert both.checked.same(memory)


def tolerated(both, change, changed):
    """What floats must be and one over their tolerances, by the device and by the host; are all numbers?"""
    buffers = [both.right.copy(), both.right.copy()]
    every, sums = [], []
    for number, (binding, tensor, _) in enumerate(written(both.bench.harness.bindings)):
        values, magnitudes = (values_in(buffer, binding, tensor) for buffer in buffers)
        magnitudes[:] = (np.abs(values.astype(np.float64)) * 3).astype(values.dtype)
        if number in changed:
            change(values)
        every.append(values)
        sums.append(magnitudes)
    program = CheckProgram(both.bench)
    found, numbers = program.allowed(*(uploaded(OPENED, each) for each in buffers), TOLERANCE)
    right = program.allowed_by_host(every, sums, [None] * len(every), TOLERANCE)
    return [each.to_host() for each in found], [each.to_host() for each in right], numbers


def test_the_device_derives_the_hosts_tolerances(made_once):
    def change(values):
        values[0, :4] = [0, 1e-7, 60000, -3]

    found, right, numbers = tolerated(made_once, change, FLOATS.values())
    assert len(found) == 2 * len(FLOATS)
    assert numbers
    for ours, theirs in zip(found, right, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_results_that_are_no_numbers_are_seen_on_the_device(made_once, value):
    def change(values):
        values[9, 32] = value

    found, right, numbers = tolerated(made_once, change, [FLOATS["f32"]])
    assert not numbers
    for ours, theirs in zip(found, right, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
