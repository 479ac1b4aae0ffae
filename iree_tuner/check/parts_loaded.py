"""A program in parts on a device: its dispatches are called one by one. Runs in the measuring worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.data import stored
from iree_tuner.device.held import Held
from iree_tuner.device.memory import copied, hal_type, read_back, uploaded
from iree_tuner.device.program_inputs import argument, why_no_value
from iree_tuner.device.program_loaded import first_line
from iree_tuner.device.program_parameters import parameter_module
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.recent import Recent
from iree_tuner.errors import TunerError
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.entries import Taken, plain_name
from iree_tuner.program.parts import Parts, ProgramPart, Value
from iree_tuner.targets import on_host
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for

Array = npt.NDArray[np.generic]

Uploads = Recent[tuple[int, int], tuple[Held, rt.HalBuffer]]
"""By value and filling: a value, which lives as long as it stands here, and its copy on the device."""

_BEHIND = 4096  # bytes behind each input that are filled, too
_MOST_UPLOADED = 1 << 30  # bytes


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
        uploads: values that are on a GPU already, for programs that get the same ones.
    """

    def __init__(self, pieces: Pieces, device: str, run: ProgramRun, uploads: Uploads | None = None) -> None:
        self._uploads = None if on_host(device) else uploads
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

    def inputs(self, seed: int) -> dict[int, Array | float | int]:
        """Values of the functions' arguments, by number, if they can be generated."""
        names = [*map(plain_name, self.parts.functions)]
        seeds = {name: (seed, place) if place else seed for place, name in enumerate(names)}
        rngs = {name: np.random.default_rng(each) for name, each in seeds.items()}
        found: dict[int, Array | float | int] = {}
        for place, ((name, number), value) in enumerate(
            zip(self.parts.takes, self.parts.values, strict=False)
        ):
            taken = Taken(value.element_type, value.shape)
            feed = self._run.feed(name, number)
            given = self._run.input(number) if name == names[0] else None
            written = self._run.written(name, number)
            if why_no_value(number, taken, given, self._run.sizes, written):
                continue
            found[place] = argument(number, taken, given, self._run.sizes, seed, rngs[name], feed, written)
        return found

    def call(self, part: ProgramPart, read: Sequence[Held], byte: int) -> list[Array]:
        """A part's results for values, in memory that is filled with a byte."""
        return [np.asarray(each) for each in self.values(part, read, byte)]

    def values(self, part: ProgramPart, read: Sequence[Held], byte: int) -> list[Array | float | int]:
        """The same, with scalars as they are passed on."""
        arguments, results = rt.VmVariantList(len(read) + 1), rt.VmVariantList(len(part.writes))
        for number, held in zip(part.reads, read, strict=True):
            value = held.within(byte)
            if isinstance(value, np.ndarray):
                arguments.push_ref(self._view(self.parts.values[number], held, value, byte))
            elif ElementType.named(self.parts.values[number].element_type).is_float:
                arguments.push_float(float(value))
            else:
                arguments.push_int(int(value))
        arguments.push_int(byte)
        function = self._module.lookup_function(part.function)
        assert function is not None, "`take_apart` exports it"
        self._context.invoke(function, arguments, results)
        return [self._read(results.get_variant(index)) for index in range(results.size)]

    def _read(self, value: object) -> Array | float | int:
        if not isinstance(value, rt.VmRef):
            assert isinstance(value, float | int)
            return value
        return read_back(self.device, cast(rt.HalBufferView, value.deref(rt.HalBufferView)))

    def _view(self, value: Value, held: Held, array: Array, byte: int) -> rt.VmRef:
        """A value on the device, in memory of its own: a dispatch may write to it (docs/upstream)."""
        raw = stored(array, value.element_type)
        if self._uploads is None:
            buffer = self.buffer(raw, byte)
        else:
            buffer = copied(self.device, self._upload(self._uploads, held, raw, byte))
        view = rt.HalBufferView(buffer, list(array.shape), hal_type(value.element_type))
        return cast(rt.VmRef, view)  # any ref object will do; the stubs name one

    def _upload(self, uploads: Uploads, held: Held, raw: npt.NDArray[np.uint8], byte: int) -> rt.HalBuffer:
        """A value's copy on the device that stays as it is."""
        key = (id(held), byte)
        return uploads.get(key, raw.size, _MOST_UPLOADED, lambda: (held, self.buffer(raw, byte)))[1]

    def buffer(self, raw: npt.NDArray[np.uint8], byte: int) -> rt.HalBuffer:
        """A buffer with bytes, and filled ones behind them."""
        return uploaded(self.device, np.concatenate([raw, np.full(_BEHIND, byte, np.uint8)]))


def runs(part: ProgramPart, values: Mapping[int, Held]) -> bool:
    """Whether the program runs a part, and all that it reads is known."""
    known = all(number in values for number in part.reads)
    return known and all(
        number in values and bool(values[number].value) == wanted for number, wanted in part.only_if
    )
