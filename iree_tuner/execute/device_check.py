"""Compare results on the device that made them. Runs in the measuring worker; see `execute.check_program`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.execute.bench import Bench
from iree_tuner.execute.check_layout import FUNCTION, FloatOutput, float_outputs, words_in_row
from iree_tuner.execute.data import dtype_of, span, written
from iree_tuner.execute.memory import Memory, StagedMemory, filled
from iree_tuner.execute.numerics import largest_finite, tolerances
from iree_tuner.execute.untouched import Kept
from iree_tuner.program.bindings import Harness
from iree_tuner.targets.runtime import device_for

Array = npt.NDArray[np.generic]


class DeviceCheck:
    """What one seed's results must be, on a device, and the program that compares with it.

    Args:
        bench: the dispatch, with the program (`Bench.check`).
        image: the buffer before a run.
        values: what the default makes of it, for each output.
        magnitudes: what it makes of the inputs' absolute values.
        kept: what must stay as in `image`.
    """

    def __init__(
        self,
        bench: Bench,
        image: npt.NDArray[np.uint8],
        values: Sequence[Array],
        magnitudes: Sequence[Array],
        kept: Sequence[Kept],
    ) -> None:
        config, hal = device_for(bench.device)
        self._module = rt.VmModule.copy_buffer(config.vm_instance, bench.check)
        self._context = rt.VmContext(config.vm_instance, modules=[hal, self._module])
        function = self._module.lookup_function(FUNCTION)
        assert function is not None, "`check_program` exports it"
        outputs = float_outputs(bench.harness.bindings)
        assert outputs is not None, "there is a program only where all outputs can be compared"
        exact, mask = _exact(bench.harness, image, values, kept)
        words = exact.view(np.int32).reshape(-1, words_in_row(len(exact)))
        arrays: list[npt.NDArray[np.int32] | npt.NDArray[np.float32]]
        arrays = [words, mask.view(np.int32).reshape(words.shape)]
        for each in outputs:
            arrays += _scaled(each, bench, values[each.number], magnitudes[each.number])
        self._device = config.device
        self._expected = [rt.asdevicearray(config.device, array) for array in arrays]
        self._words = words.shape
        self._everywhere: rt.DeviceArray | None = None
        self._invoke = rt.FunctionInvoker(self._context, config.device, function)

    def worst(self, memory: Memory) -> float:
        """The largest error as a multiple of its tolerance, of what is in a memory now.

        Infinite where something else was written, or where one is not a number.
        """
        changed, *worst = self._compared(memory, *self._expected[:2])
        if changed.to_host().any():
            return math.inf
        return max((float(each.to_host().max()) for each in worst), default=0.0)

    def same(self, memory: StagedMemory) -> bool:
        """Whether what is in a memory now is what it kept, to the bit."""
        if memory.kept is None:
            return False
        if self._everywhere is None:
            ones = filled(self._device, 4 * math.prod(self._words), 0xFF)
            view = rt.HalBufferView(ones, list(self._words), rt.HalElementType.INT_32)
            self._everywhere = rt.DeviceArray(self._device, view)
        kept = rt.HalBufferView(memory.kept, list(self._words), rt.HalElementType.INT_32)
        changed, *_ = self._compared(memory, rt.DeviceArray(self._device, kept), self._everywhere)
        return not changed.to_host().any()

    def _compared(
        self, memory: Memory, words: rt.DeviceArray, mask: rt.DeviceArray
    ) -> Sequence[rt.DeviceArray]:
        """What the program says of a memory, with words to find in it where a mask has ones."""
        view = rt.HalBufferView(memory.buffer, [memory.harness.stride], rt.HalElementType.INT_8)
        return _listed(self._invoke(rt.DeviceArray(self._device, view), words, mask, *self._expected[2:]))


def _exact(
    harness: Harness, image: npt.NDArray[np.uint8], values: Sequence[Array], kept: Sequence[Kept]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """The bytes that must be as they are, and where they are: what is kept, and the integers."""
    exact, mask = image.copy(), np.zeros_like(image)
    for each in kept:
        mask[each.start : each.end] = 0xFF
    for (binding, each, _), expected in zip(written(harness.bindings), values, strict=True):
        dtype = dtype_of(each.element_type)
        if dtype is not None and dtype.kind == "i":
            start, size = span(binding, each)
            exact[start : start + size] = np.ascontiguousarray(expected).reshape(-1).view(np.uint8)
            mask[start : start + size] = 0xFF
    return exact, mask


def _scaled(
    output: FloatOutput, bench: Bench, expected: Array, magnitudes: Array
) -> list[npt.NDArray[np.float32]]:
    """What floats must be, held within their type's largest number, and one over what each may be off by."""
    tolerance = bench.tolerance
    allowed = tolerances(
        expected, output.element_type, tolerance.accumulator_type, tolerance.reduction_length, magnitudes,
        (tolerance.factor_type, tolerance.factors),
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
