"""The case of a bench, run on the host's processor. Runs in the measuring worker."""

from __future__ import annotations

import math
from functools import cached_property
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

_HELD_AS = {**dict.fromkeys(NARROW_FLOATS, np.dtype(np.float32)), "i1": np.dtype(np.bool_)}


class CaseOnHost:
    """The case of a bench, loaded at the first use."""

    def __init__(self, bench: Bench, case: Case) -> None:
        self._harness = bench.harness
        self._case = case
        self._fails = False

    def outputs(self, buffer: npt.NDArray[np.uint8]) -> list[Array] | None:
        """The result for the inputs in a harness's buffer; None if the program does not run."""
        if self._fails:
            return None
        bindings = self._harness.bindings
        ((_, result, _),) = written(bindings)
        arguments: list[Array] = []
        order = self._harness.inputs or range(len(self._case.shapes))
        for binding, shape in zip((bindings[at] for at in order), self._case.shapes, strict=True):
            tensor = binding.tensors[0]
            kind = _HELD_AS.get(tensor.element_type) or dtype_of(tensor.element_type)
            arguments.append(values_in(buffer, binding, tensor).reshape(shape).astype(kind, copy=True))
        try:
            found = cast(rt.DeviceArray, self._main(*arguments))
            device = device_for(DEFAULT_DEVICE)[0].device
            values = read_back(device, found._buffer_view)  # pyright: ignore[reportPrivateUsage]
        except RUNTIME_ERRORS:
            self._fails = True
            return None
        self._fails = values.size != math.prod(result.shape)
        return None if self._fails else [values.reshape(result.shape)]

    @cached_property
    def _main(self) -> rt.FunctionInvoker:
        config, hal = device_for(DEFAULT_DEVICE)
        module = rt.VmModule.copy_buffer(config.vm_instance, self._case.vmfb)
        context = rt.VmContext(config.vm_instance, modules=[hal, module])
        main = module.lookup_function("main")
        assert main is not None, "a case has it"
        return rt.FunctionInvoker(context, config.device, main)
