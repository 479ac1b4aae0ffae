"""Copies of the data that runs rotate through, and samples without the cost of a call."""

from dataclasses import replace

import iree.runtime as rt
import numpy as np
import pytest
from programs import ZERO_MATMUL

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import parse_module
from iree_tuner.device.data import fill
from iree_tuner.device.memory import Arena, LoadedDispatch, Memory
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.sampling import Batches, clock_step
from iree_tuner.program.bindings import stride_of
from iree_tuner.targets import parse_target
from iree_tuner.targets.runtime import device_for

DEVICE = "local-task"


@pytest.fixture(scope="module")
def matmul(only_dispatch, cpu, compilers):
    dispatch = only_dispatch(ZERO_MATMUL)
    return dispatch.harness, Builder(cpu, compilers).build(dispatch.harness, None).vmfb


class Rotating:
    """A harness's executable with three copies of its data that the host can see."""

    copies = 3

    def __init__(self, harness, vmfb):
        config, _ = device_for(DEVICE)
        self.harness = harness
        self.buffer = config.device.allocator.allocate_buffer(
            memory_type=rt.MemoryType.DEVICE_LOCAL | rt.MemoryType.HOST_VISIBLE,
            allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
            allocation_size=self.copies * harness.stride,
        )
        self.loaded = LoadedDispatch(vmfb, harness, DEVICE, Memory(harness, self.buffer, self.copies))

    def view(self, copy, binding, shape):
        start = copy * self.harness.stride + self.harness.bindings[binding].offset
        whole = self.buffer.map().asarray((self.copies * self.harness.stride,), np.dtype(np.uint8))
        return whole[start : start + 4 * shape[0] * shape[1]].view(np.float32).reshape(shape)

    def prepare(self):
        """Copy i has an A of i + 1 and a B of ones; no result yet."""
        for copy in range(self.copies):
            self.view(copy, 0, (96, 128))[:] = copy + 1
            self.view(copy, 1, (128, 64))[:] = 1
            self.view(copy, 2, (96, 64))[:] = -1

    def results(self):
        found = [self.view(copy, 2, (96, 64)) for copy in range(self.copies)]
        assert all((each == each[0, 0]).all() for each in found)
        return [float(each[0, 0]) for each in found]


def test_each_run_takes_the_next_copy(matmul):
    rotating = Rotating(*matmul)
    rotating.prepare()
    rotating.loaded.run(2)
    assert rotating.results() == [128, 256, -1]
    rotating.prepare()
    rotating.loaded.run(2)  # goes on where the last call ended, and round
    assert rotating.results() == [128, -1, 384]
    rotating.prepare()
    rotating.loaded.run(0)
    assert rotating.results() == [-1, -1, -1]


def test_fewer_copies_may_be_used(matmul):
    rotating = Rotating(*matmul)
    rotating.prepare()
    rotating.loaded.run(5, copies=1)
    assert rotating.results() == [128, -1, -1]


def test_copies_for_timing_hold_the_data_of_seed_0(matmul):
    harness, vmfb = matmul
    loaded = LoadedDispatch(vmfb, harness, DEVICE, Memory.for_timing(harness, DEVICE, 5))
    assert loaded.run(12) > 0
    assert loaded.memory.next == 2
    loaded.use(Memory.for_checks(harness, DEVICE))
    loaded.fill(0)
    before = loaded.read().copy()
    assert len(before) == harness.stride
    loaded.run(1)
    after = loaded.read()
    written, end = harness.bindings[2].offset, harness.buffer_bytes
    np.testing.assert_array_equal(before[:written], after[:written])
    assert np.isnan(before[written:].view(np.float32)).all()
    assert np.isfinite(after[written:end].view(np.float32)).all()
    np.testing.assert_array_equal(before[end:], after[end:])


def test_harnesses_on_the_host_are_timed_in_the_same_memory_one_after_the_other(matmul):
    harness, vmfb = matmul
    larger = replace(harness, buffer_bytes=harness.buffer_bytes + 5 * 4096)
    arena = Arena(DEVICE)
    first = arena.hold(harness, 3)
    assert arena.hold(harness, 3) is first
    LoadedDispatch(vmfb, harness, DEVICE, first).run(3)
    other = arena.hold(larger, 2)
    assert other.buffer is first.buffer, "pages are made once"
    again = arena.hold(harness, 3)
    assert again is not first, "whoever had it has to ask again"
    values = _bytes(again)
    expected = np.tile(fill(harness.bindings, harness.stride, 0), 3)
    np.testing.assert_array_equal(values[: expected.size], expected)
    large = arena.hold(harness, 1 + first.buffer.byte_length() // harness.stride)
    assert large.buffer.byte_length() >= large.copies * harness.stride > first.buffer.byte_length()


def _bytes(memory):
    return memory.buffer.map().asarray((memory.buffer.byte_length(),), np.dtype(np.uint8))


def test_what_does_not_export_the_function_does_not_load(matmul):
    harness, vmfb = matmul
    other = type(harness)(harness.module, "other", harness.buffer_bytes, harness.bindings)
    with pytest.raises((ValueError, RuntimeError), match="other"):
        LoadedDispatch(vmfb, other, DEVICE)


@pytest.mark.parametrize(("size", "stride"), [(1, 4096), (3840, 4096), (3841, 8192), (4096, 8192)])
def test_copies_begin_at_pages(size, stride):
    assert stride_of(size) == stride


@pytest.mark.parametrize("target", ["cuda:sm_80", "vulkan:ampere"])
def test_harnesses_of_gpus_rotate_too(only_dispatch, compilers, target):
    found = parse_target(target)
    dispatch = only_dispatch(ZERO_MATMUL, found)
    assert Builder(found, compilers).build(dispatch.harness, None).outcome == "ok"
    text = str(parse_module(dispatch.harness.module, new_context()))
    assert "%arg1: i32, %arg2: i32, %arg3: !hal.buffer" in text
    assert f"iree_tuner.stride}} {dispatch.harness.stride} : index" in text
    assert "arith.remui" in text


class Simulated:
    """A call costs 40 us, a run 5 us; calls in `interrupted` take 10 ms more."""

    def __init__(self, *interrupted):
        self.calls = []
        self._interrupted = interrupted

    def run(self, repeats):
        self.calls.append(repeats)
        return 40e-6 + 5e-6 * repeats + (0.01 if len(self.calls) - 1 in self._interrupted else 0.0)


def test_a_sample_is_of_one_run_without_the_call():
    batches = Batches(Simulated(), 0.005)
    assert batches.overhead_s == pytest.approx(40e-6)
    assert batches.batch() == pytest.approx(5.0)
    assert batches.repeats * 5e-6 == pytest.approx(0.005, rel=0.2)


@pytest.mark.parametrize("call", range(12))
def test_an_interruption_does_not_make_batches_short(call):
    batches = Batches(Simulated(call), 0.005)
    assert batches.repeats * 5e-6 >= 0.005


def test_batches_are_long_beside_a_call_and_the_clock():
    batches = Batches(Simulated(), 0.0)
    assert batches.repeats * 5e-6 >= 20 * 40e-6
    assert batches.repeats * 5e-6 >= 1000 * clock_step()


def test_what_takes_no_time_still_has_a_time():
    class Nothing:
        def run(self, repeats):
            return 1e-6

    batches = Batches(Nothing(), 0.001)
    assert batches.batch() > 0
