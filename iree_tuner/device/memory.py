"""Dispatches on a device, and the memory that they run on: copies of bindings, filled and read."""

from __future__ import annotations

import string
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar, cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.data import Image, loaded, parts, stored_size
from iree_tuner.errors import TunerError
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.bindings import Harness
from iree_tuner.targets import on_host
from iree_tuner.targets.runtime import device_for

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The most recently used values, up to a number of bytes; the last one in any case."""

    def __init__(self) -> None:
        self._found: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K, size: int, most: int, make: Callable[[], V]) -> V:
        """The value of a key of `size` bytes, made if missing; others are dropped beyond `most` bytes."""
        if key not in self._found:
            while self._found and size + sum(each for _, each in self._found.values()) > most:
                self._found.popitem(last=False)
            self._found[key] = make(), size
        self._found.move_to_end(key)
        return self._found[key][0]

    def clear(self) -> None:
        self._found.clear()


_SHARED = rt.MemoryType.DEVICE_LOCAL | rt.MemoryType.HOST_VISIBLE
_CACHED = rt.MemoryType.HOST_LOCAL | rt.MemoryType.HOST_CACHED
_READ_BACK = _CACHED | int(rt.MemoryType.DEVICE_VISIBLE)
"""Without HOST_CACHED IREE takes write-combined memory of CUDA, which is slow to read for the host."""
_MAPPED = rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING
_HAL_KINDS = {
    "i": 0x10, "si": 0x11, "ui": 0x12, "f": 0x21, "bf": 0x22, "complex": 0x23,
    "f8E5M2": 0x24, "f8E4M3FN": 0x25, "f8E5M2FNUZ": 0x26, "f8E4M3FNUZ": 0x27, "f8E8M0FNU": 0x28,
}  # fmt: skip
_COMPLEX = {32: "complex<f16>", 64: "complex<f32>", 128: "complex<f64>"}
_HAL_BOOLEAN, _HAL_SHIFT = 0x13, 24
"""The runtime's kinds of numbers, in front of an element's bits (`iree/hal/buffer_view.h`)."""

_IMAGES_KEPT = 3
_STEP = 64 << 20
_SENT = 8 << 20  # bytes of values that repeat, sent at once
_STAGED, _MOST_STAGED = 32 << 20, 128 << 20  # bytes

_stagings: Recent[int, tuple[rt.HalDevice, rt.HalBuffer]] = Recent()
"""By the `id` of a device, which stays alive in the value."""


class Memory:
    """A buffer on the device with copies of a harness's bindings."""

    def __init__(self, harness: Harness, buffer: rt.HalBuffer, copies: int = 1) -> None:
        self.harness = harness
        self.buffer = buffer  # `copies` times the harness's stride
        self.copies = copies
        self.next = 0  # the copy that the next run begins with

    @classmethod
    def for_checks(cls, harness: Harness, device: str) -> Memory:
        """One copy that the host can fill and read."""
        config, _ = device_for(device)
        if not on_host(device):
            return StagedMemory(harness, config.device)
        return cls(harness, _shared_buffer(config.device, harness.stride))

    @classmethod
    def for_timing(cls, harness: Harness, device: str, copies: int) -> Memory:
        """Copies in the device's own memory, each filled with the values of seed 0."""
        opened, size = device_for(device)[0].device, harness.stride
        one, every = _own_buffer(opened, size), _own_buffer(opened, size * copies)
        _fill_there(opened, one, harness, 0)
        with commands_on(opened) as commands:
            for number in range(copies):
                commands.copy(one, every, 0, number * size, length=size)
        return cls(harness, every, copies)

    def fill(self, seed: int) -> None:
        """Set inputs by seed, and poison the rest, including the guard behind the last binding."""
        Image(self.harness.bindings, self.harness.stride, seed).write(self._view())

    def read(self) -> npt.NDArray[np.uint8]:
        """The contents of the bindings and the guard: read only, and valid until it is filled or run."""
        return self._view()

    def advance(self, runs: int) -> int:
        """The copy to begin with; the next call begins where this one ends."""
        first = self.next
        self.next = (first + runs) % self.copies
        return first

    def _view(self) -> npt.NDArray[np.uint8]:
        return _mapped(self.buffer, self.harness.stride)


class Arena:
    """The memory of a device on the host in which all harnesses are timed, one after the other.

    Twice a cache of 480 MiB takes 0.8 s to allocate, page by page, and a tenth of a second to fill again.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._buffer: rt.HalBuffer | None = None
        self._held: Memory | None = None

    def hold(self, harness: Harness, copies: int) -> Memory:
        """A number of copies for a harness, with the values of seed 0. Another harness's copies are lost."""
        held, size = self._held, copies * harness.stride
        if held is not None and (held.harness, held.copies) == (harness, copies):
            return held
        if self._buffer is None or self._buffer.byte_length() < size:
            self._held = self._buffer = None
            room = -(-size // _STEP) * _STEP  # the next one may need a little more
            self._buffer = _shared_buffer(device_for(self._device)[0].device, room)
        self._held = Memory(harness, self._buffer, copies)
        first, *others = _mapped(self._buffer, size).reshape(copies, -1)
        Image(harness.bindings, harness.stride, 0).write(first)
        for each in others:
            each[:] = first
        return self._held


class StagedMemory(Memory):
    """One copy in the device's own memory; what the host writes and reads goes through another buffer.

    Memory that both see is slow on GPUs: each page moves when the other side touches it. The values of seeds
    are kept on the device, so that filling costs a copy there. `kept` has the contents at the last `keep`.
    """

    def __init__(self, harness: Harness, device: rt.HalDevice) -> None:
        self._device = device
        super().__init__(harness, _own_buffer(device, harness.stride))
        self.kept: rt.HalBuffer | None = None
        self._staging = device.allocator.allocate_buffer(_READ_BACK, _MAPPED, allocation_size=harness.stride)
        self._images: Recent[int, rt.HalBuffer] = Recent()
        self._semaphore = device.create_semaphore(0)
        self._copies = 0

    def fill(self, seed: int) -> None:
        if seed < 0:  # `magnitudes_of`: the default's once, and never again
            _fill_there(self._device, self.buffer, self.harness, seed)
        else:
            self._copy(self.image(seed), self.buffer)

    def image(self, seed: int) -> rt.HalBuffer:
        """Its contents after it was filled; not to be changed."""

        def make() -> rt.HalBuffer:
            found = _own_buffer(self._device, self.harness.stride)
            _fill_there(self._device, found, self.harness, seed)
            return found

        return self._images.get(seed, 1, _IMAGES_KEPT, make)

    def read(self) -> npt.NDArray[np.uint8]:
        return self.read_of(self.buffer)

    def read_of(self, buffer: rt.HalBuffer) -> npt.NDArray[np.uint8]:
        """The contents of another buffer of this size, read like `read`."""
        self._copy(buffer, self._staging)
        return _mapped(self._staging, self.harness.stride)

    def snapshot(self) -> rt.HalBuffer:
        """A buffer of the device with its current contents."""
        return copied(self._device, self.buffer)

    def restore(self, held: rt.HalBuffer) -> None:
        """Restore the contents of a snapshot."""
        self._copy(held, self.buffer)

    def keep(self) -> None:
        """Keep its current contents, on the device."""
        self.kept = self.kept or _own_buffer(self._device, self.harness.stride)
        self._copy(self.buffer, self.kept)

    def _copy(self, source: rt.HalBuffer, target: rt.HalBuffer) -> None:
        self._copies += 1
        self._device.queue_copy(source, target, [], [(self._semaphore, self._copies)])
        rt.HalFence.create_at(self._semaphore, self._copies).wait()


def _fill_there(device: rt.HalDevice, target: rt.HalBuffer, harness: Harness, seed: int) -> None:
    """Write the contents of `data.fill` on the device; only the repeated values are sent to it."""
    for part in parts(harness.bindings, harness.stride, seed):
        size, values = part.end - part.start, part.values
        with commands_on(device) as commands:  # once a part: they have no barriers
            if values.size <= 2:
                commands.fill(target, values.view(f"u{values.size}"), part.start, length=size)
                continue
            repeated = np.resize(values, min(size, max(1, _SENT // values.size) * values.size))
            sent = uploaded(device, repeated)
            for start in range(0, size, repeated.size):
                length = min(repeated.size, size - start)
                commands.copy(sent, target, 0, part.start + start, length=length)


@contextmanager
def commands_on(device: rt.HalDevice) -> Generator[rt.HalCommandBuffer]:
    """Commands for a device, which run when the block has recorded them; waits for their end."""
    commands = rt.HalCommandBuffer(device, begin=True)
    yield commands
    commands.end()
    semaphore = device.create_semaphore(0)
    device.queue_execute(commands, [], [(semaphore, 1)])
    rt.HalFence.create_at(semaphore, 1).wait()


def uploaded(device: rt.HalDevice, values: npt.NDArray[np.generic]) -> rt.HalBuffer:
    """A buffer of exactly these bytes, in a device's memory."""
    raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    found = _own_buffer(device, raw.size)
    if _is_mappable(found):
        _mapped(found, raw.size)[:] = raw
        return found
    staging = _staging(device)
    for start, length in _staged(raw.size):
        _mapped(staging, length)[:] = raw[start : start + length]
        copy_range(device, staging, found, 0, start, length)
    return found


def read_back(device: rt.HalDevice, view: rt.HalBufferView | rt.VmRef) -> npt.NDArray[np.generic]:
    """A copy of a result on the host: a buffer view, or a reference to one.

    Not `DeviceArray.to_host`: it imports numpy's memory, which Vulkan takes at whole pages only
    (docs/upstream/vulkan_to_host.md).
    """
    if isinstance(view, rt.VmRef):
        view = cast(rt.HalBufferView, view.deref(rt.HalBufferView))
    source = view.get_buffer()
    kind = _named(view.element_type)
    size = stored_size(view.shape, kind)
    if _is_mappable(source):
        return np.array(loaded(_mapped(source, source.byte_length())[:size], kind, view.shape))
    raw, staging = np.empty(size, np.uint8), _staging(device)
    for start, length in _staged(size):
        copy_range(device, source, staging, start, 0, length)
        raw[start : start + length] = _mapped(staging, length)
    return loaded(raw, kind, view.shape)


def _is_mappable(buffer: rt.HalBuffer) -> bool:
    visible = buffer.memory_type() & int(rt.MemoryType.HOST_VISIBLE)
    return bool(visible and buffer.allowed_usage() & int(rt.BufferUsage.MAPPING_SCOPED))


def _staging(device: rt.HalDevice) -> rt.HalBuffer:
    """Memory of the host that a device reads and writes; kept, as allocating it is slower than a copy."""

    def make() -> tuple[rt.HalDevice, rt.HalBuffer]:
        memory = _READ_BACK | int(rt.MemoryType.HOST_COHERENT)
        return device, device.allocator.allocate_buffer(memory, _MAPPED, allocation_size=_STAGED)

    return _stagings.get(id(device), _STAGED, _MOST_STAGED, make)[1]


def _staged(size: int) -> Iterator[tuple[int, int]]:
    """Start and length of each piece that goes through the staging memory."""
    return ((start, min(_STAGED, size - start)) for start in range(0, size, _STAGED))


def copy_range(
    device: rt.HalDevice, source: rt.HalBuffer, target: rt.HalBuffer, begin: int, to: int, length: int
) -> None:
    """Copy bytes on a device, from where they begin in the source to a place in the target."""
    with commands_on(device) as commands:
        commands.copy(source, target, begin, to, length=length)


def copied(device: rt.HalDevice, source: rt.HalBuffer, behind: int = 0, byte: int = 0) -> rt.HalBuffer:
    """A buffer with the bytes of another, copied on the device, and `behind` times `byte` behind them."""
    size = source.byte_length()
    found = _own_buffer(device, size + behind)
    with commands_on(device) as commands:
        if size:
            commands.copy(source, found, length=size)
        if behind:
            commands.fill(found, np.array([byte], np.uint8), size, length=behind)
    return found


def part_of(device: rt.HalDevice, source: rt.HalBuffer, start: int, length: int) -> rt.HalBuffer:
    """A buffer with a range of another, copied on the device."""
    found = _own_buffer(device, length)
    copy_range(device, source, found, start, 0, length)
    return found


def filled(device: rt.HalDevice, size: int, byte: int) -> rt.HalBuffer:
    """A device's own memory, filled there."""
    found = _own_buffer(device, size)
    fill_again(device, found, byte)
    return found


def fill_again(device: rt.HalDevice, buffer: rt.HalBuffer, byte: int) -> None:
    """Fill all of a buffer, on its device."""
    with commands_on(device) as commands:
        commands.fill(buffer, np.array([byte], np.uint8), length=buffer.byte_length())


def runtime_module(
    name: str, state: object, functions: Iterable[tuple[str, str, Callable[..., object]]]
) -> rt.VmModule:
    """A module in Python, which a context needs before the program: functions with names and types.

    They get the state as their first argument.
    """
    interface = rt.PyModuleInterface(name, lambda _: state)
    for each, kinds, function in functions:
        interface.export(each, kinds, function)
    return interface.create()


def push(arguments: rt.VmVariantList, value: object, element_type: str = "") -> None:
    """Add a reference, or a number of a type (Python's own without one), to a call's arguments."""
    if not isinstance(value, int | float):
        arguments.push_ref(cast(rt.VmRef, value))  # any ref object will do; the stubs name one
    elif ElementType.named(element_type).is_float if element_type else isinstance(value, float):
        arguments.push_float(float(value))
    else:
        arguments.push_int(int(value))


def _shared_buffer(device: rt.HalDevice, size: int) -> rt.HalBuffer:
    return device.allocator.allocate_buffer(_SHARED, _MAPPED, allocation_size=size)


def _own_buffer(device: rt.HalDevice, size: int) -> rt.HalBuffer:
    """Not asked to be mappable: on CUDA that is managed memory, which the host writes page by page."""
    return device.allocator.allocate_buffer(
        rt.MemoryType.DEVICE_LOCAL, rt.BufferUsage.DEFAULT, allocation_size=size
    )


def _mapped(buffer: rt.HalBuffer, size: int) -> npt.NDArray[np.uint8]:
    return buffer.map().asarray((size,), np.dtype(np.uint8))


def hal_type(element_type: str) -> rt.HalElementType:
    """The runtime's name of an element type, with any width of integers. Raises TunerError if it has none."""
    kind = ElementType.named(element_type)
    name = "complex" if kind.kind == "complex" else element_type
    code = _HAL_KINDS.get(name, _HAL_KINDS.get(name.rstrip(string.digits)))
    if code is None:
        raise TunerError(f"the runtime has no element type for {element_type}")
    code, bits = (_HAL_BOOLEAN, 8) if element_type == "i1" else (code, kind.bits)
    return cast(rt.HalElementType, code << _HAL_SHIFT | bits)  # the binding takes numbers; it names few


def _named(kind: rt.HalElementType) -> str:
    number = int(cast(int, kind))
    code, bits = number >> _HAL_SHIFT, number & 0xFFFF
    name = next((name for name, own in _HAL_KINDS.items() if own == code), "i1")
    if name == "complex":
        return _COMPLEX[bits]
    return f"{name}{bits}" if name.isalpha() else name


class LoadedDispatch:
    """A harness's executable, loaded.

    Without `memory`, it runs on one copy of its own, which is made when it is needed.

    Raises:
        RuntimeError, ValueError: it does not load, or does not export the harness's function.
            (`RUNTIME_ERRORS` are the errors of `run`.)
    """

    def __init__(self, vmfb: bytes, harness: Harness, device: str, memory: Memory | None = None) -> None:
        config, hal = device_for(device)
        self._module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
        self._context = rt.VmContext(config.vm_instance, modules=[hal, self._module])
        function = self._module.lookup_function(harness.function)
        if function is None:
            raise ValueError(f"the executable does not export {harness.function}")
        self._function = function
        self._memory = memory
        self.harness = harness
        self.device = device

    @property
    def memory(self) -> Memory:
        if self._memory is None:
            self._memory = Memory.for_checks(self.harness, self.device)
        return self._memory

    def use(self, memory: Memory) -> None:
        """Run on this memory from now on."""
        self._memory = memory

    def fill(self, seed: int) -> None:
        """Set inputs by seed, and poison the outputs."""
        self.memory.fill(seed)

    def read(self) -> npt.NDArray[np.uint8]:
        """See `Memory.read`."""
        return self.memory.read()

    def run(self, repeats: int, copies: int | None = None) -> float:
        """Run the dispatch `repeats` times, on the copies of its data in turn; seconds of the whole call."""
        memory = self.memory
        arguments = rt.VmVariantList(4)
        arguments.push_int(repeats)
        arguments.push_int(min(copies or memory.copies, memory.copies))
        arguments.push_int(memory.advance(repeats))
        arguments.push_ref(cast(rt.VmRef, memory.buffer))  # any ref object will do; the stubs name one
        results = rt.VmVariantList(0)
        start = time.perf_counter()
        self._context.invoke(self._function, arguments, results)
        return time.perf_counter() - start
