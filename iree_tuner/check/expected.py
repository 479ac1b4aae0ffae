"""The expected results of a dispatch, on the host and on the device, and the bytes that it must not write.

They are the default's results, or a reference's. Runs in the measuring worker; see `check.check`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.check.case import CaseOnHost
from iree_tuner.device.bench import Bench
from iree_tuner.device.data import (
    Image,
    dtype_of,
    is_opaque,
    kind_of,
    magnitudes_of,
    span,
    step_of,
    stepped_of,
    values_in,
    written,
)
from iree_tuner.device.memory import (
    LoadedDispatch,
    Memory,
    StagedMemory,
    commands_on,
    copied,
    filled,
    read_back,
    uploaded,
)
from iree_tuner.device.numerics import (
    ALLOW,
    CHECK,
    SAME,
    SURVEY,
    FloatOutput,
    Floats,
    Held,
    Terms,
    finite,
    float_outputs,
    largest_finite,
    median_of,
    partial_sums,
    same_bytes,
    tolerances,
    words_in_row,
)
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.bindings import Binding, Harness, TensorSlice
from iree_tuner.targets import on_host
from iree_tuner.targets.runtime import device_for

if TYPE_CHECKING:
    from iree_tuner.check.reference import OnHost, Unsupported


@dataclass(frozen=True)
class Kept:
    """Bytes `start` to `end` that a dispatch must not change: input number `tensor`, or a gap (None)."""

    start: int
    end: int
    tensor: int | None = None


def kept(bindings: Sequence[Binding], buffer_bytes: int) -> list[Kept]:
    """All that a dispatch must leave alone: its inputs, and what is between and behind its tensors."""
    every = [(*span(binding, tensor), tensor.access) for binding in bindings for tensor in binding.tensors]
    inputs = [
        Kept(start, start + size, n) for n, (start, size, access) in enumerate(every) if access == "read"
    ]
    changing = [Kept(start, start + size) for start, size, access in every if access != "read"]
    changing += [Kept(each.offset, each.offset + each.length) for each in bindings if is_opaque(each)]
    edges = {edge for each in (*inputs, *changing) for edge in (each.start, each.end)}
    found: list[Kept] = []
    for start, end in pairwise(sorted({0, buffer_bytes, *edges})):
        if end > buffer_bytes or any(each.start <= start < each.end for each in changing):
            continue
        who = next((each.tensor for each in inputs if each.start <= start < each.end), None)
        if found and found[-1].end == start and found[-1].tensor == who:
            start = found.pop().start
        found.append(Kept(start, end, who))
    return found


def unchanged(got: Buffer, image: Image, kept: Kept) -> bool:
    """Whether bytes are as before the run."""
    blocks = image.blocks(kept.start, kept.end)
    return all(same_bytes(got[start : start + before.size], before) for start, before in blocks)


def changing(ranges: Sequence[Kept], buffer_bytes: int) -> list[slice]:
    """The rest of a buffer."""
    edges = [0, *(edge for each in ranges for edge in (each.start, each.end)), buffer_bytes]
    return [slice(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]


def changed(got: Buffer, image: Image, ranges: Sequence[Kept], bindings: Sequence[Binding]) -> str:
    """The forbidden writes that were found; empty if there are none."""
    for each in ranges:
        if unchanged(got, image, each):
            continue
        wrong = [
            start + np.flatnonzero(got[start : start + before.size] != before)
            for start, before in image.blocks(each.start, each.end)
        ]
        count, first = sum(part.size for part in wrong), int(next(part[0] for part in wrong if part.size))
        if each.tensor is not None:
            where = _position(bindings, each.tensor, first)
            return f"input {each.tensor} was changed, {count} bytes, first at {where}"
        return f"written out of bounds: {count} bytes from byte {first}, {_neighbor(bindings, first)}"
    return ""


def _position(bindings: Sequence[Binding], number: int, byte: int) -> str:
    binding, tensor = _tensors(bindings)[number]
    start, size = span(binding, tensor)
    width = max(1, size // max(1, math.prod(tensor.shape)))
    return str([int(each) for each in np.unravel_index((byte - start) // width, tensor.shape)])


def _neighbor(bindings: Sequence[Binding], byte: int) -> str:
    """The tensor in front of a byte, otherwise the first one behind it."""
    ends = [(sum(span(*each)), number) for number, each in enumerate(_tensors(bindings))]
    before = [each for each in ends if each[0] <= byte]
    if before:
        end, number = max(before)
        return f"{byte - end} bytes after the end of tensor {number}"
    start, number = min((span(*each)[0], number) for number, each in enumerate(_tensors(bindings)))
    return f"{start - byte} bytes before tensor {number}"


def _tensors(bindings: Sequence[Binding]) -> list[tuple[Binding, TensorSlice]]:
    return [(binding, tensor) for binding in bindings for tensor in binding.tensors]


class CheckProgram:
    """The loaded program that compares a bench's results on its device (`Bench.check`)."""

    def __init__(self, bench: Bench) -> None:
        config, hal = device_for(bench.device)
        self.bench = bench
        self.device = config.device
        outputs = float_outputs(bench.harness.bindings)
        assert outputs is not None, "there is a program only where all outputs can be compared"
        self.outputs: tuple[FloatOutput, ...] = outputs
        size = bench.harness.stride
        self.words = [size // 4 // words_in_row(size), words_in_row(size)]
        self._module = rt.VmModule.copy_buffer(config.vm_instance, bench.check)
        self._context = rt.VmContext(config.vm_instance, modules=[hal, self._module])
        self._check, self._same = self._function(CHECK), self._function(SAME)

    def compare(
        self, got: rt.HalBuffer, exact: rt.HalBuffer, mask: rt.HalBuffer, wanted: Sequence[rt.DeviceArray]
    ) -> tuple[bool, float]:
        """Whether bytes differ from exact ones where a mask has ones, and the largest error of floats.

        `wanted` has what floats must be, and one over what each may be off by (`allowed`).
        """
        words = self._as_words(exact), self._as_words(mask)
        differs, *worst = _listed(self._check(self._as_bytes(got), *words, *wanted))
        largest = max((float(self._values(each).max()) for each in worst), default=0.0)
        return bool(self._values(differs).any()), largest

    def same(self, got: rt.HalBuffer, before: rt.HalBuffer) -> bool:
        """Whether two buffers are equal to the bit."""
        return not self._values(_listed(self._same(self._as_bytes(got), self._as_bytes(before)))[0]).any()

    def allowed(
        self, expected: rt.HalBuffer, magnitudes: rt.HalBuffer, tolerance: Tolerance
    ) -> tuple[list[rt.DeviceArray], bool]:
        """The expected floats, and one over their tolerances; and whether all values are numbers.

        `magnitudes` are the results for the absolute values of the inputs.
        """
        if not self.outputs:
            return [], True
        found = _listed(self._function(SURVEY)(self._as_bytes(expected)))
        terms: list[float] = []
        for number, each in enumerate(self.outputs):
            rows, _, sample = (self._values(part) for part in found[3 * number : 3 * number + 3])
            largest = float(rows.max())
            largest = largest if largest >= 0.0 else 1.0
            own = Terms.of(each.element_type, tolerance)
            terms += [largest, median_of(sample, largest), own.rounding, own.functions, own.relative]
            terms += [own.halting, own.normal, own.least]
        are_numbers = not any(self._values(part).any() for part in found[1::3])
        made = self._function(ALLOW)(self._as_bytes(expected), self._as_bytes(magnitudes), *terms)
        return list(_listed(made)), are_numbers

    def allowed_by_host(
        self, values: Sequence[Array], magnitudes: Sequence[Array], sums: Sequence[Floats | None],
        tolerance: Tolerance,
    ) -> list[rt.DeviceArray]:  # fmt: skip
        """The same as `allowed` from the host's values, one array for each output."""
        found: list[rt.DeviceArray] = []
        for each in self.outputs:
            limit, own = largest_finite(each.element_type), each.number
            off_by = tolerances(values[own], each.element_type, tolerance, magnitudes[own], sums[own])
            with np.errstate(all="ignore"):
                want = np.clip(values[own].astype(np.float32), -limit, limit)
                scale = np.minimum(1.0 / off_by, np.finfo(np.float32).max).astype(np.float32)
            found += [self._there(want, each), self._there(scale, each)]
        return found

    def _there(self, values: npt.NDArray[np.float32], output: FloatOutput) -> rt.DeviceArray:
        buffer = uploaded(self.device, values)
        view = rt.HalBufferView(buffer, [output.rows, output.columns], rt.HalElementType.FLOAT_32)
        return rt.DeviceArray(self.device, view)

    def mask(self, ranges: Sequence[Kept]) -> rt.HalBuffer:
        """Ones in some ranges of a buffer, and where integers are written; zeros elsewhere."""
        found = filled(self.device, self.bench.harness.stride, 0)
        ones = np.array([0xFF], np.uint8)
        places = [(each.start, each.end - each.start) for each in ranges]
        with commands_on(self.device) as commands:
            for start, size in [*places, *(span(*each) for each in integers(self.bench.harness))]:
                commands.fill(found, ones, start, length=size)
        return found

    def _function(self, name: str) -> rt.FunctionInvoker:
        function = self._module.lookup_function(name)
        assert function is not None, f"`check_program` exports {name}"
        return rt.FunctionInvoker(self._context, self.device, function)

    def _values(self, found: rt.DeviceArray) -> Array:
        return read_back(self.device, found._buffer_view)  # pyright: ignore[reportPrivateUsage]

    def _as_words(self, buffer: rt.HalBuffer) -> rt.DeviceArray:
        return rt.DeviceArray(self.device, rt.HalBufferView(buffer, self.words, rt.HalElementType.INT_32))

    def _as_bytes(self, buffer: rt.HalBuffer) -> rt.DeviceArray:
        shape = [self.bench.harness.stride]
        return rt.DeviceArray(self.device, rt.HalBufferView(buffer, shape, rt.HalElementType.INT_8))


@dataclass(frozen=True)
class DeviceCheck:
    """The expected results of one seed, on a device."""

    program: CheckProgram  # what compares
    exact: rt.HalBuffer  # bytes that must be equal where `mask` has ones (`CheckProgram.mask`)
    mask: rt.HalBuffer
    wanted: Sequence[rt.DeviceArray]  # what floats must be (`CheckProgram.allowed`)

    def worst(self, memory: Memory) -> float:
        """The largest error of a memory's contents, as a multiple of its tolerance.

        Infinite if anything else was written, or a value is not a number.
        """
        differs, worst = self.program.compare(memory.buffer, self.exact, self.mask, self.wanted)
        return math.inf if differs else worst

    def same(self, memory: StagedMemory) -> bool:
        """Whether a memory's contents are equal to the bit to those that it kept."""
        return memory.kept is not None and self.program.same(memory.buffer, memory.kept)


def integers(harness: Harness) -> list[tuple[Binding, TensorSlice]]:
    """The outputs that must be equal to the bit."""
    return [
        (binding, tensor)
        for binding, tensor, _ in written(harness.bindings)
        if (dtype := dtype_of(tensor.element_type)) is not None and dtype.kind == "i"
    ]


def _listed(results: object) -> Sequence[rt.DeviceArray]:
    """The runtime gives a single result as it is, several as a list."""
    return cast(Sequence[rt.DeviceArray], results if isinstance(results, list | tuple) else [results])


Buffer = npt.NDArray[np.uint8]
Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Expected:
    """The default's results for one seed."""

    values: list[Array]  # of each output
    magnitudes: list[Array]  # the results for the inputs' absolute values; see `device.numerics`
    # the least size of partial sums, where results do not show it (`numerics.partial_sums`)
    sums: list[Floats | None]
    kept: list[Kept]  # bytes that a candidate must leave alone, since the default does
    tolerance: Tolerance  # of results


@dataclass(frozen=True)
class _OnDevice:
    """Checks against the default first, then other correct values; and whether the default's are finite."""

    checks: list[DeviceCheck]
    numbers: bool


class Expectations:
    """The default's results of one bench for each seed, computed at the first use.

    Without `memory`, the default runs in memory of its own.
    """

    def __init__(self, bench: Bench, memory: Memory | None = None) -> None:
        self._bench = bench
        self._memory = memory
        self._harness = bench.harness
        self.written = written(bench.harness.bindings)
        self._expected: dict[int, Expected] = {}
        self._on_device: dict[int, _OnDevice] = {}
        self._masks: dict[tuple[Kept, ...], rt.HalBuffer] = {}
        self._references: dict[int, list[Array] | Unsupported] = {}
        self._on_host: OnHost | None = None
        self._case: CaseOnHost | None = None
        self._size = max(bench.harness.buffer_bytes, 1)

    @cached_property
    def default(self) -> LoadedDispatch:
        return LoadedDispatch(self._bench.default, self._harness, self._bench.device, self._memory)

    @cached_property
    def _program(self) -> CheckProgram:
        return CheckProgram(self._bench)

    def of(self, seed: int) -> Expected:
        """The expected results of a seed. Afterwards, the device's memory has its contents again."""
        if seed not in self._expected:
            memory = self.default.memory
            held = memory.snapshot() if isinstance(memory, StagedMemory) else None
            self._expected[seed] = self._made(seed)
            if held is not None and isinstance(memory, StagedMemory):
                memory.restore(held)
        return self._expected[seed]

    def _made(self, seed: int) -> Expected:
        got = self._run(seed)
        self._size = len(got)
        values, left = self._values(got), self._left_alone(got, seed)
        results = self._computed
        if self._bench.case is not None and isinstance(reference := self.reference(seed), list):
            values, results = reference, self._referred
        magnitudes = values if kind_of(seed) == "positive" else results(magnitudes_of(seed))
        sums: list[Floats | None] = [None] * len(values)
        if self._harness.bounded:
            step, stepped = step_of(self._harness.bindings), results(stepped_of(seed))
            alike = self._bench.tolerance.reduction_length if kind_of(seed) == "positive" else 1
            sums = [partial_sums(*pair, step, alike) for pair in zip(values, stepped, strict=True)]
        return Expected(values, magnitudes, sums, left, self._bench.tolerance.on(kind_of(seed)))

    def _computed(self, seed: int) -> list[Array]:
        return self._values(self._run(seed))

    def _referred(self, seed: int) -> list[Array]:
        """The reference's results, or if it has none, the default's."""
        found = self.arbiter(seed)
        return found if isinstance(found, list) else self._computed(seed)

    def _left_alone(self, got: Buffer, seed: int) -> list[Kept]:
        """The bytes that the default does not write, which a candidate may write: padding, for example."""
        image = self.image(seed, len(got))
        return [each for each in kept(self._harness.bindings, len(got)) if unchanged(got, image, each)]

    def _run(self, seed: int) -> Buffer:
        self.default.fill(seed)
        self.default.run(1)
        return self.default.read()

    def on_device(self, seed: int) -> list[DeviceCheck]:
        """Checks of a seed's results on the device, the default's first; empty where the host compares.

        The contents of the device's memory are lost.
        """
        found = self._there(seed)
        return found.checks if found else []

    def are_numbers(self, seed: int) -> bool:
        """Whether all of the default's results for a seed are finite."""
        found = self._there(seed)
        return found.numbers if found else finite(list(map(Held, self.of(seed).values)))

    def is_right_too(self, seed: int, right: Expected) -> None:
        """Have the device accept other results of a seed, too."""
        if checks := self.on_device(seed):
            checks.append(self._check_of(seed, right))

    def _there(self, seed: int) -> _OnDevice | None:
        memory = self.default.memory
        if not self._bench.check or not isinstance(memory, StagedMemory):
            return None
        if seed not in self._on_device:
            compared = self._bench.case is not None and isinstance(self.reference(seed), list)
            if compared or self._harness.bounded:
                right = self.of(seed)
                found = _OnDevice([self._check_of(seed, right)], finite(list(map(Held, right.values))))
            else:
                found = self._made_there(memory, seed)
            self._on_device[seed] = found
        return self._on_device[seed]

    def _made_there(self, memory: StagedMemory, seed: int) -> _OnDevice:
        magnitudes = None if kind_of(seed) == "positive" else self._results_there(memory, magnitudes_of(seed))
        expected = self._results_there(memory, seed)
        tolerance = self._bench.tolerance.on(kind_of(seed))
        wanted, are_numbers = self._program.allowed(expected, magnitudes or expected, tolerance)
        exact, every = memory.image(seed), tuple(kept(self._harness.bindings, self._harness.stride))
        if equal := integers(self._harness):
            exact = copied(self._program.device, exact)
            with commands_on(self._program.device) as commands:
                for start, size in (span(*each) for each in equal):
                    commands.copy(expected, exact, start, start, length=size)
        mask = self._mask(every)
        if self._program.compare(expected, exact, mask, wanted)[0]:
            mask = self._mask(tuple(self._left_alone(memory.read_of(expected), seed)))
        return _OnDevice([DeviceCheck(self._program, exact, mask, wanted)], are_numbers)

    def _results_there(self, memory: StagedMemory, seed: int) -> rt.HalBuffer:
        self.default.fill(seed)
        self.default.run(1)
        return memory.snapshot()

    def _check_of(self, seed: int, expected: Expected) -> DeviceCheck:
        """A check against values of the host."""
        program = self._program
        right = self.image(seed, self._harness.stride).read(0, self._harness.stride).copy()
        for (binding, tensor, _), own in zip(self.written, expected.values, strict=True):
            right_values = values_in(right, binding, tensor)
            with np.errstate(all="ignore"):
                right_values[...] = own.reshape(right_values.shape)
        wanted = program.allowed_by_host(
            expected.values, expected.magnitudes, expected.sums, expected.tolerance
        )  # fmt: skip
        mask = self._mask(tuple(expected.kept))
        return DeviceCheck(program, uploaded(program.device, right), mask, wanted)

    def _mask(self, ranges: tuple[Kept, ...]) -> rt.HalBuffer:
        if ranges not in self._masks:
            self._masks[ranges] = self._program.mask(ranges)
        return self._masks[ranges]

    def reference(self, seed: int) -> list[Array] | Unsupported:
        """The results of the bench's case, or an interpreter's; or why there are none (too large)."""
        if seed not in self._references:
            self._references[seed] = self._reference(seed)
        return self._references[seed]

    def _reference(self, seed: int) -> list[Array] | Unsupported:
        image, case = self.image(seed, self._size), self._bench.case
        if case is not None and case.vmfb:
            self._case = self._case or CaseOnHost(self._bench, case)
            if (found := self._case.outputs(image.read(0, self._size))) is not None:
                return found
        for each in self._references.values():  # ops that are not interpreted depend on no values
            if not isinstance(each, list):
                return each
        from iree_tuner.check.reference import read_ahead, reference_outputs  # it loads the compiler

        found = read_ahead(self._harness, self._bench.references, seed)
        return reference_outputs(self._harness, image.read(0, self._size)) if found is None else found

    def arbiter(self, seed: int) -> list[Array] | Unsupported:
        """The reference, or the processor's results if there is none and the device is another."""
        found = self.reference(seed)
        if isinstance(found, list) or on_host(self._bench.device):
            return found
        if self._on_host is None:
            from iree_tuner.check.reference import OnHost  # it loads the compiler

            self._on_host = OnHost(self._bench)
        self._references[seed] = found = self._on_host.outputs(seed)
        return found

    def arbitrated(self, seed: int) -> Expected | None:
        """What the arbiter expects; None if there is none. A wrong default may have wrong magnitudes, too."""
        values = self.arbiter(seed)
        if not isinstance(values, list):
            return None
        magnitudes = values if kind_of(seed) == "positive" else self.arbiter(magnitudes_of(seed))
        found = replace(self.of(seed), values=values)
        return replace(found, magnitudes=magnitudes) if isinstance(magnitudes, list) else found

    def image(self, seed: int, size: int) -> Image:
        """The buffer before a run, as the host has it."""
        return Image(self._harness.bindings, size, seed)

    def _values(self, buffer: Buffer) -> list[Array]:
        return [values_in(buffer, binding, tensor).copy() for binding, tensor, _ in self.written]
