"""A program in parts on a device: its dispatches are called one by one. Runs in the measuring worker."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.errors import TunerError
from iree_tuner.execute.held import Held
from iree_tuner.execute.program_inputs import argument
from iree_tuner.execute.program_loaded import first_line, hal_type
from iree_tuner.execute.program_parameters import parameter_module
from iree_tuner.execute.program_run import ProgramRun
from iree_tuner.program.entries import ASYNC, Taken
from iree_tuner.program.parts import Part, Parts, Value
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for

Array = npt.NDArray[np.generic]

Copies = OrderedDict[tuple[str, int, int], tuple[Held, rt.VmRef]]
"""By device, value and filling: a value, which lives as long as it stands here, and its copy there."""

_BEHIND = 4096  # bytes behind each input that are filled, too
_MOST_COPIES = 1 << 30  # bytes


@dataclass(frozen=True)
class Pieces:
    """A program in parts, as a file.

    Attributes:
        path: the VM module.
        parts: without it.
    """

    path: str
    parts: Parts


class LoadedParts:
    """Parts on a device.

    Args:
        pieces: the program.
        device: device URI.
        run: how it is run.
        copies: values that are on the device, for programs that get the same ones.
    """

    def __init__(self, pieces: Pieces, device: str, run: ProgramRun, copies: Copies | None = None) -> None:
        self._copies = copies
        self.parts = pieces.parts
        self._run = run
        self.device_uri = device
        config, hal = device_for(device)
        self.device = config.device
        try:
            self._module = rt.VmModule.mmap(config.vm_instance, pieces.path)
            parameters = parameter_module(run, config.vm_instance)
            modules = [hal, self._module] if parameters is None else [parameters, hal, self._module]
            self._context = rt.VmContext(config.vm_instance, modules=modules)
        except RUNTIME_ERRORS as error:
            raise TunerError(f"the program in parts does not load: {first_line(error)}") from None

    def inputs(self, seed: int) -> list[Array | float | int]:
        """Values of what the function takes."""
        rng = np.random.default_rng(seed)
        found: list[Array | float | int] = []
        for number, value in zip(self.parts.takes, self.parts.values, strict=False):
            taken = Taken(value.element_type, value.shape)
            feed = self._run.feed(self.parts.function.removesuffix(ASYNC), number)
            given = self._run.input(number)
            found.append(argument(number, taken, given, self._run.sizes, seed, rng, feed))
        return found

    def call(self, part: Part, read: Sequence[Held], byte: int) -> list[Array]:
        """What a part makes of values, in memory that is filled with a byte."""
        arguments, results = rt.VmVariantList(len(read) + 1), rt.VmVariantList(len(part.writes))
        for number, held in zip(part.reads, read, strict=True):
            value = held.within(byte)
            if isinstance(value, np.ndarray):
                arguments.push_ref(self._view(self.parts.values[number], held, value, byte))
            elif isinstance(value, float):
                arguments.push_float(value)
            else:
                arguments.push_int(int(value))
        arguments.push_int(byte)
        function = self._module.lookup_function(part.function)
        assert function is not None, "`take_apart` exports it"
        self._context.invoke(function, arguments, results)
        views = [results.get_as_ref(index).deref(rt.HalBufferView) for index in range(results.size)]
        found = [
            rt.DeviceArray(self.device, cast(rt.HalBufferView, view), implicit_host_transfer=True).to_host()
            for view in views
        ]
        # What the host maps lives as long as the device's buffer does.
        return [np.array(each) for each in found] if self.device_uri.startswith("local-") else found

    def _view(self, value: Value, held: Held, array: Array, byte: int) -> rt.VmRef:
        """A value on the device: programs that share copies get the same ones."""
        key = (self.device_uri, id(held), byte)
        if self._copies is not None and key in self._copies:
            self._copies.move_to_end(key)
            return self._copies[key][1]
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        view = rt.HalBufferView(
            self.buffer(raw, byte), list(array.shape), hal_type(value.element_type, array)
        )
        found = cast(rt.VmRef, view)  # any ref object will do; the stubs name one
        if self._copies is not None:
            self._copies[key] = held, found
            while len(self._copies) > 1 and _bytes(self._copies) > _MOST_COPIES:
                self._copies.popitem(last=False)
        return found

    def buffer(self, raw: npt.NDArray[np.uint8], byte: int) -> rt.HalBuffer:
        """A buffer with bytes, and filled ones behind them."""
        return self.copied(np.concatenate([raw, np.full(_BEHIND, byte, np.uint8)]))

    def copied(self, raw: npt.NDArray[np.uint8]) -> rt.HalBuffer:
        """A buffer of exactly these bytes."""
        made = self.device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL,
            allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
            device=self.device,
            buffer=raw,
        )
        return cast(rt.HalBuffer, made)  # no element type is given: not a view


def _bytes(copies: Copies) -> int:
    return sum(held.array.nbytes for held, _ in copies.values())
