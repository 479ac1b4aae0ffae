"""Compare results on the device that made them. Runs in the measuring worker; see `check.check_program`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.check.untouched import Kept
from iree_tuner.device.bench import Bench, Tolerance
from iree_tuner.device.data import dtype_of, span, written
from iree_tuner.device.memory import Memory, StagedMemory, filled, read_back, run_commands
from iree_tuner.device.numerics import (
    ALLOW,
    CHECK,
    SURVEY,
    FloatOutput,
    Floats,
    Terms,
    float_outputs,
    largest_finite,
    median_of,
    tolerances,
    words_in_row,
)
from iree_tuner.program.bindings import Binding, Harness, TensorSlice
from iree_tuner.targets.runtime import device_for

Array = npt.NDArray[np.generic]


class CheckProgram:
    """The program that compares a bench's results on its device, loaded.

    Args:
        bench: the dispatch, with the program (`Bench.check`).
    """

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
        self._check = self._function(CHECK)

    def compare(
        self, got: rt.HalBuffer, exact: rt.HalBuffer, mask: rt.HalBuffer, wanted: Sequence[rt.DeviceArray]
    ) -> tuple[bool, float]:
        """Whether bytes differ from exact ones where a mask has ones, and the largest error of floats.

        Args:
            got: a result.
            exact: bytes to find in it.
            mask: where.
            wanted: what floats must be, and one over what each may be off by (`allowed`).
        """
        words = self._as_words(exact), self._as_words(mask)
        changed, *worst = _listed(self._check(self._as_bytes(got), *words, *wanted))
        largest = max((float(self._values(each).max()) for each in worst), default=0.0)
        return bool(self._values(changed).any()), largest

    def allowed(
        self, expected: rt.HalBuffer, magnitudes: rt.HalBuffer, tolerance: Tolerance
    ) -> tuple[list[rt.DeviceArray], bool]:
        """The expected floats, and one over their tolerances; and whether all values are numbers.

        Args:
            expected: its results for the inputs.
            magnitudes: its results for their absolute values.
            tolerance: of results.
        """
        if not self.outputs:
            return [], True
        found = _listed(self._function(SURVEY)(self._as_bytes(expected)))
        terms: list[float] = []
        for number, each in enumerate(self.outputs):
            rows, _, sample = (self._values(part) for part in found[3 * number : 3 * number + 3])
            largest = float(rows.max())
            largest = largest if largest >= 0.0 else 1.0
            own = _terms(each, tolerance)
            terms += [largest, median_of(sample, largest), own.rounding, own.functions, own.relative]
            terms += [own.halting, own.normal, own.least]
        numbers = not any(self._values(part).any() for part in found[1::3])
        made = self._function(ALLOW)(self._as_bytes(expected), self._as_bytes(magnitudes), *terms)
        return list(_listed(made)), numbers

    def allowed_by_host(
        self, values: Sequence[Array], magnitudes: Sequence[Array], sums: Sequence[Floats | None],
        tolerance: Tolerance,
    ) -> list[rt.DeviceArray]:  # fmt: skip
        """The same of values that the host has, of each output."""
        found: list[rt.DeviceArray] = []
        for each in self.outputs:
            own = each.number
            arrays = _scaled(each, tolerance, values[own], magnitudes[own], sums[own])
            found += [rt.asdevicearray(self.device, array) for array in arrays]
        return found

    def mask(self, ranges: Sequence[Kept]) -> rt.HalBuffer:
        """Ones in some ranges of a buffer, and where integers are written; zeros elsewhere."""
        found = filled(self.device, self.bench.harness.stride, 0)
        commands = rt.HalCommandBuffer(self.device, begin=True)
        ones = np.array([0xFF], np.uint8)
        places = [(each.start, each.end - each.start) for each in ranges]
        for start, size in [*places, *(span(*each) for each in integers(self.bench.harness))]:
            commands.fill(found, ones, start, length=size)
        commands.end()
        run_commands(self.device, commands)
        return found

    @cached_property
    def everywhere(self) -> rt.HalBuffer:
        """Ones in a whole buffer."""
        return filled(self.device, self.bench.harness.stride, 0xFF)

    def _function(self, name: str) -> rt.FunctionInvoker:
        function = self._module.lookup_function(name)
        assert function is not None, f"`check_program` exports {name}"
        return rt.FunctionInvoker(self._context, self.device, function)

    def _values(self, found: rt.DeviceArray) -> Array:
        return read_back(self.device, found._buffer_view)  # pyright: ignore[reportPrivateUsage]

    def _as_words(self, buffer: rt.HalBuffer) -> rt.DeviceArray:
        view = rt.HalBufferView(buffer, self.words, rt.HalElementType.INT_32)
        return rt.DeviceArray(self.device, view)

    def _as_bytes(self, buffer: rt.HalBuffer) -> rt.DeviceArray:
        view = rt.HalBufferView(buffer, [self.bench.harness.stride], rt.HalElementType.INT_8)
        return rt.DeviceArray(self.device, view)


class DeviceCheck:
    """The expected results of one seed, on a device.

    Args:
        program: what compares.
        exact: a buffer with the bytes that must be as they are.
        mask: where they are (`CheckProgram.mask`).
        wanted: what floats must be (`CheckProgram.allowed`).
    """

    def __init__(
        self,
        program: CheckProgram,
        exact: rt.HalBuffer,
        mask: rt.HalBuffer,
        wanted: Sequence[rt.DeviceArray],
    ) -> None:
        self._program = program
        self._exact = exact
        self._mask = mask
        self._wanted = wanted

    def worst(self, memory: Memory) -> float:
        """The largest error of a memory's contents, as a multiple of its tolerance.

        Infinite where something else was written, or where one is not a number.
        """
        changed, worst = self._program.compare(memory.buffer, self._exact, self._mask, self._wanted)
        return math.inf if changed else worst

    def same(self, memory: StagedMemory) -> bool:
        """Whether a memory's contents are equal to the ones that it kept, to the bit."""
        if memory.kept is None:
            return False
        everywhere = self._program.everywhere
        changed, _ = self._program.compare(memory.buffer, memory.kept, everywhere, self._wanted)
        return not changed


def integers(harness: Harness) -> list[tuple[Binding, TensorSlice]]:
    """The outputs that must be equal to the bit."""
    found: list[tuple[Binding, TensorSlice]] = []
    for binding, tensor, _ in written(harness.bindings):
        dtype = dtype_of(tensor.element_type)
        if dtype is not None and dtype.kind == "i":
            found.append((binding, tensor))
    return found


def _terms(output: FloatOutput, tolerance: Tolerance) -> Terms:
    factors = (tolerance.factor_type, tolerance.factors)
    return Terms.of(output.element_type, tolerance.accumulator_type, tolerance.reduction_length, factors)


def _scaled(
    output: FloatOutput, tolerance: Tolerance, expected: Array, magnitudes: Array, sums: Floats | None
) -> list[npt.NDArray[np.float32]]:
    """The expected floats, limited to their type's largest number, and one over each one's tolerance."""
    allowed = tolerances(
        expected, output.element_type, tolerance.accumulator_type, tolerance.reduction_length, magnitudes,
        (tolerance.factor_type, tolerance.factors), sums,
    )  # fmt: skip
    limit, most = largest_finite(output.element_type), float(np.finfo(np.float32).max)
    shape = (output.rows, output.columns)
    with np.errstate(all="ignore"):
        want = np.clip(expected.astype(np.float32), -limit, limit).reshape(shape)
        scale = np.minimum(1.0 / allowed, most).astype(np.float32).reshape(shape)
    return [np.ascontiguousarray(want), np.ascontiguousarray(scale)]


def _listed(results: object) -> Sequence[rt.DeviceArray]:
    """The runtime gives a single result as it is, several as a list."""
    return cast(Sequence[rt.DeviceArray], results if isinstance(results, list | tuple) else [results])
