"""Parameters of programs: from archives, which are mapped, and generated. Runs in the measuring worker."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.data import dtype_of, random_values, stored, stored_size
from iree_tuner.device.memory import copy_range, part_of, runtime_module, uploaded
from iree_tuner.device.program_run import ProgramRun, scopes_of
from iree_tuner.errors import TunerError
from iree_tuner.program.parameters import Parameter
from iree_tuner.targets.runtime import RUNTIME_ERRORS

_ALIGNMENT = 4096
_DRAWN = 4_194_301  # a prime: rows of a matrix do not begin with the same values
_IMMUTABLE = 1 << 19
"""Of a buffer's usage: it may be shared, as nothing writes to it (`iree/hal/buffer.h`)."""
_SIGNATURES = {"gather": "0rIrrrrrrr_v", "load": "0rIrrrIiirrr_r", "scatter": "0rIrrrrrrr_v"}
"""The functions of the runtime's module, and their types (`iree/modules/io/parameters/exports.inl`)."""
_PLACE = re.compile(r"c/\S+:\d+: \w+; ")  # in the runtime's source


def with_parameters(
    run: ProgramRun, instance: rt.VmInstance, device: rt.HalDevice | None, modules: Sequence[rt.VmModule]
) -> tuple[Sequence[rt.VmModule], rt.VmContext]:
    """The modules of a program behind that of its parameters, if it has any, and a context of them.

    Programs on one device share the memory of their parameters. If that does not load, each has its own.

    Args:
        run: the parameters.
        instance: of the runtime.
        device: with memory of its own; None for the host.
        modules: the others.

    Raises:
        TunerError: an archive cannot be read, or a type has no values.
        RuntimeError, ValueError: the modules do not load.
    """
    if not run.wanted and not run.parameters:
        return modules, rt.VmContext(instance, modules=[*modules])
    if device is not None:
        with suppress(*RUNTIME_ERRORS):
            if _resident(device, run.parameters, run.wanted).changed:  # this program begins with those given
                forget_parameters()
            shared = [_resident(device, run.parameters, run.wanted).module(), *modules]
            return shared, rt.VmContext(instance, modules=shared)
        forget_parameters()
    indices = _indices(run.parameters, run.wanted)  # the runtime uses this memory in place on the host
    providers = (index.create_provider(scope=scope) for scope, index in indices)
    own = [rt.create_io_parameters_module(instance, *providers), *modules]
    return own, rt.VmContext(instance, modules=own)


def forget_parameters() -> None:
    """Release the memory of devices that holds them, once no loaded program uses it."""
    _resident.cache_clear()


class ResidentParameters:
    """Parameters in a device's own memory, copied there once for all programs that are loaded.

    The runtime's module copies them for each program (`iree/modules/io/parameters`, whose three functions
    these are).

    Args:
        device: it.
        indices: the parameters of each scope.
    """

    def __init__(self, device: rt.HalDevice, indices: Sequence[tuple[str, rt.ParameterIndex]]) -> None:
        self._device = device
        self._entries = {(scope, key): entry for scope, index in indices for key, entry in index.items()}
        self._held: dict[tuple[str, str], rt.HalBuffer] = {}
        self.changed = False  # by a program that stores parameters

    def module(self) -> rt.VmModule:
        """The module, which a context needs before the program."""
        own = (ResidentParameters._gather, ResidentParameters._load, ResidentParameters._scatter)
        every = ((*each, function) for each, function in zip(_SIGNATURES.items(), own, strict=True))
        return runtime_module("io_parameters", self, every)

    def _load(
        self, _device: rt.VmRef, _queue: int, waits: rt.VmRef, signals: rt.VmRef, scope: rt.VmRef,
        _target_queue: int, _memory: int, usage: int, *keys: rt.VmRef,
    ) -> rt.VmRef:  # fmt: skip
        """A buffer for each span: the parameter itself, or a copy for a part of it and for what changes."""
        with _ordered(waits, signals):
            found = rt.VmVariantList(0)
            for name, start, _, length in _spans(scope, *keys):
                held = self._whole(name)
                if not usage & _IMMUTABLE or (start, length) != (0, held.byte_length()):
                    held = part_of(self._device, held, start, length)
                found.push_ref(cast(rt.VmRef, held))  # any ref object will do; the stubs name one
            return found.ref

    def _gather(
        self, _device: rt.VmRef, _queue: int, waits: rt.VmRef, signals: rt.VmRef, scope: rt.VmRef,
        target: rt.VmRef, *keys: rt.VmRef,
    ) -> None:  # fmt: skip
        with _ordered(waits, signals):
            buffer = cast(rt.HalBuffer, target.deref(rt.HalBuffer))
            for name, start, to, length in _spans(scope, *keys):
                copy_range(self._device, self._whole(name), buffer, start, to, length)

    def _scatter(
        self, _device: rt.VmRef, _queue: int, waits: rt.VmRef, signals: rt.VmRef, source: rt.VmRef,
        scope: rt.VmRef, *keys: rt.VmRef,
    ) -> None:  # fmt: skip
        with _ordered(waits, signals):
            buffer = cast(rt.HalBuffer, source.deref(rt.HalBuffer))
            for name, to, start, length in _spans(scope, *keys):
                copy_range(self._device, buffer, self._whole(name), start, to, length)
        self.changed = True

    def _whole(self, name: tuple[str, str]) -> rt.HalBuffer:
        if name not in self._held:
            if name not in self._entries:
                raise ValueError(f"parameter not found: {'::'.join(name)}")
            entry = self._entries[name]
            if entry.is_file:
                values = np.frombuffer(entry.file_view, np.uint8)
            else:
                values = np.resize(np.frombuffer(entry.splat_pattern, np.uint8), entry.length)
            self._held[name] = uploaded(self._device, values)
        return self._held[name]


@contextmanager
def _ordered(waits: rt.VmRef, signals: rt.VmRef) -> Generator[None]:
    """Begin when the device has come to one fence, and let it go on from the other."""
    if waits.isinstance(rt.HalFence):
        cast(rt.HalFence, waits.deref(rt.HalFence)).wait()
    yield
    if signals.isinstance(rt.HalFence):
        cast(rt.HalFence, signals.deref(rt.HalFence)).signal()


def _spans(
    scope: rt.VmRef, table: rt.VmRef, keys: rt.VmRef, spans: rt.VmRef
) -> Iterator[tuple[tuple[str, str], int, int, int]]:
    """Of each span: the parameter, the first byte in it and in the buffer, and the length."""
    places, data = np.frombuffer(_bytes(table), np.uint32).reshape(-1, 2), _bytes(keys)
    rows = np.frombuffer(_bytes(spans), np.uint64).reshape(-1, 3)
    for (at, size), (start, to, length) in zip(places.tolist(), rows.tolist(), strict=False):
        yield (_bytes(scope).decode(), data[at : at + size].decode()), start, to, length


def _bytes(buffer: rt.VmRef) -> bytes:
    if not buffer.isinstance(rt.VmBuffer):  # an empty scope
        return b""
    return bytes(memoryview(cast(bytes, buffer.deref(rt.VmBuffer))))  # it has the protocol of buffers


def withheld_parameters() -> rt.VmModule:
    """A module for a program of which only the code is loaded: that is loaded before any parameters.

    Creating a context of a program with parameters fails, when the code is there and no memory is taken.
    """

    def refuse(*_: object) -> None:
        raise ValueError("parameters are withheld")

    return runtime_module("io_parameters", None, ((*each, refuse) for each in _SIGNATURES.items()))


def stored_bytes(parameter: Parameter) -> int:
    """The length of a parameter in an archive. Raises TunerError for a type without values."""
    _dtype(parameter)
    return stored_size(parameter.shape, parameter.element_type)


def load_index(paths: Sequence[str]) -> rt.ParameterIndex:
    """Map archives. Raises TunerError if one cannot be read."""
    index = rt.ParameterIndex()
    for path in paths:
        try:
            index.load(path)
        except (RuntimeError, ValueError, IndexError, OSError) as error:
            reason = _PLACE.sub("", str(error).splitlines()[0])
            raise TunerError(f"cannot read the parameters: {reason}", location=path) from None
    return index


def generate(parameter: Parameter) -> npt.NDArray[np.generic]:
    """Values for a parameter, the same in every process.

    Vectors and integers are like inputs: positive, as scales and variances must be. Larger tensors of floats
    are weights: normal, and divided by the root of the number that is summed, so that values keep their size
    through many layers. (Infinities would make all results alike.) After `_DRAWN` values of a tensor they are
    repeated: those of a language model would take minutes. Raises TunerError if the type has no
    values.
    """
    dtype = _dtype(parameter)
    rng = np.random.default_rng(zlib.crc32(f"{parameter.scope}::{parameter.key}".encode()))
    shape = parameter.shape
    if len(shape) < 2 or dtype.kind in "iuc" or not math.prod(shape):
        found = random_values(shape, parameter.element_type, 0, rng, parameter.values)
        return stored(found, parameter.element_type)
    # A matrix may be either way round, a filter has its outputs first or last.
    summed = max(1, math.prod(shape) // max(shape[0], shape[-1]))
    values = rng.standard_normal(min(math.prod(shape), _DRAWN), np.float32)
    values *= np.float32(1 / math.sqrt(summed))
    return np.resize(values.astype(dtype, copy=False), shape)


@lru_cache(1)
def _indices(
    archives: tuple[tuple[str, str], ...], wanted: tuple[Parameter, ...]
) -> list[tuple[str, rt.ParameterIndex]]:
    found: dict[str, rt.ParameterIndex] = {}
    for scope in (*(scope for scope, _ in archives), *scopes_of(wanted)):
        if scope not in found:
            found[scope] = load_index([path for own, path in archives if own == scope])
            present = {key for key, _ in found[scope].items()}
            for parameter in wanted:
                if parameter.scope == scope and parameter.key not in present:
                    found[scope].add_buffer(parameter.key, _aligned(generate(parameter)))
    return list(found.items())


@lru_cache(1)
def _resident(
    device: rt.HalDevice, archives: tuple[tuple[str, str], ...], wanted: tuple[Parameter, ...]
) -> ResidentParameters:
    return ResidentParameters(device, _indices(archives, wanted))


def _aligned(values: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """The bytes of an array, aligned so that the runtime can use them without a copy."""
    room = np.empty(values.nbytes + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    found = room[start : start + values.nbytes]
    found[:] = values.reshape(-1).view(np.uint8)
    return found


def _dtype(parameter: Parameter) -> np.dtype[np.generic]:
    dtype = dtype_of(parameter.element_type)
    if dtype is None:
        kind = parameter.element_type
        raise TunerError(f"parameter {parameter} has the type {kind}, which is not supported")
    return dtype
