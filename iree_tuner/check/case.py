"""The case of a bench, run on the host's processor. Runs in the measuring worker."""

from __future__ import annotations

import math
from typing import cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.bench import Bench, Case
from iree_tuner.device.data import dtype_of, values_in, written
from iree_tuner.device.memory import read_back
from iree_tuner.ops.element_type import NARROW_FLOATS
from iree_tuner.targets.registry import DEFAULT_DEVICE
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for

Array = npt.NDArray[np.generic]


class CaseOnHost:
    """The case of a bench, loaded at the first use."""

    def __init__(self, bench: Bench, case: Case) -> None:
        self._harness = bench.harness
        self._case = case
        self._function: rt.FunctionInvoker | None = None
        self._fails = False

    def outputs(self, buffer: npt.NDArray[np.uint8]) -> list[Array] | None:
        """The result for the inputs in a harness's buffer; None if the program does not run."""
        if self._fails:
            return None
        bindings = self._harness.bindings
        order = self._harness.inputs or range(len(self._case.shapes))
        given = [(bindings[at], bindings[at].tensors[0]) for at in order]
        try:
            arguments = [
                _argument(values_in(buffer, *each), each[1].element_type, shape)
                for each, shape in zip(given, self._case.shapes, strict=True)
            ]
            found = cast(rt.DeviceArray, self._loaded()(*arguments))
            device = device_for(DEFAULT_DEVICE)[0].device
            values = read_back(device, found._buffer_view)  # pyright: ignore[reportPrivateUsage]
        except RUNTIME_ERRORS:
            self._fails = True
            return None
        ((_, result, _),) = written(bindings)
        right = values.size == math.prod(result.shape)
        self._fails = not right
        return [values.reshape(result.shape)] if right else None

    def _loaded(self) -> rt.FunctionInvoker:
        if self._function is None:
            config, hal = device_for(DEFAULT_DEVICE)
            module = rt.VmModule.copy_buffer(config.vm_instance, self._case.vmfb)
            context = rt.VmContext(config.vm_instance, modules=[hal, module])
            main = module.lookup_function("main")
            assert main is not None, "a case has it"
            self._function = rt.FunctionInvoker(context, config.device, main)
        return self._function


def _argument(values: Array, element_type: str, shape: tuple[int, ...]) -> Array:
    if element_type in NARROW_FLOATS:
        return values.astype(np.float32).reshape(shape)
    kind = np.bool_ if element_type == "i1" else dtype_of(element_type)
    return values.reshape(shape).astype(kind, copy=True)
