"""IREE itself: programs that were compiled before, by default, with a spec, or in a configuration."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import cast

import iree.runtime as rt
import numpy as np

from iree_tuner.compiler.versions import installed
from iree_tuner.device.memory import Memory, hal_type, read_back
from iree_tuner.device.program_loaded import first_line
from iree_tuner.device.runner import LoadedDispatch
from iree_tuner.program.bindings import Harness
from iree_tuner.suite.backends.backend import Array, Job
from iree_tuner.suite.data import read_inputs
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.primitives import CannotError
from iree_tuner.suite.programs import Programs
from iree_tuner.targets.registry import on_host, on_one_core
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for

DEFAULT, TUNED, BEFORE = "iree", "iree-tuned", "iree-before"
"""Names of back ends: as the compiler makes it, tuned, and as an earlier run's compiler made it."""

_streams = itertools.count()
_TITLES = {DEFAULT: "IREE", TUNED: "IREE, tuned", BEFORE: "IREE, earlier run"}


@dataclass(frozen=True)
class Iree:
    """An operation that is compiled.

    Attributes:
        name: `DEFAULT`, `TUNED`, `BEFORE`.
        programs: its code; None where it did not compile.
    """

    name: str = DEFAULT
    programs: Programs | None = None

    @property
    def title(self) -> str:
        """As pages have it."""
        return _TITLES.get(self.name, self.name)

    def missing(self, device: str) -> str:  # noqa: ARG002 (of the protocol)
        """Nothing: it is always here. A device that is not is found out when it is opened."""
        return ""

    def version(self) -> str:
        """Of the compiler."""
        return installed()["iree-base-compiler"] or ""

    def refuses(self, operation: Operation, device: str) -> str:  # noqa: ARG002
        """Nothing that is known before it is compiled."""
        return ""

    def load(self, job: Job) -> IreeRunning:
        """Load an operation. Raises CannotError where it does not load."""
        job = _in_own_stream(job)
        if job.conditions.threads and on_host(job.device) and not on_one_core(job.device):
            rt.flags.parse_flags(f"--task_topology_group_count={job.conditions.threads}")
        if self.programs is None:
            raise CannotError("the program is not compiled")
        try:
            return IreeRunning(job, self.programs)
        except RUNTIME_ERRORS as error:
            raise CannotError(f"the program does not load: {first_line(error)}") from None


def _in_own_stream(job: Job) -> Job:
    """Of several side by side on a GPU, each opens the device for itself: a device has one stream."""
    if job.conditions.streams == 1 or on_host(job.device):
        return job
    uri = job.device if "://" in job.device else f"{job.device}://"
    return replace(job, device=f"{uri}?stream={next(_streams) % job.conditions.streams}")


class IreeRunning:
    """A program on a device: whole, and for device time its dispatches alone, one after the other.

    Args:
        job: the operation and its device.
        programs: the code.
    """

    def __init__(self, job: Job, programs: Programs) -> None:
        self._whole = _Whole(job, programs.program)
        self._parts: list[tuple[LoadedDispatch, int]] = []
        if job.conditions.timing == "device":
            for part in programs.parts:
                copies = max(1, job.conditions.copies_bytes // part.harness.stride)
                memory = _memory(part.harness, job.device, copies)
                loaded = LoadedDispatch(Path(part.vmfb).read_bytes(), part.harness, job.device, memory)
                loaded.run(1)
                self._parts.append((loaded, part.calls))

    def run(self, count: int) -> float:
        """So many invocations; or, for device time, so many runs of each dispatch."""
        if not self._parts:
            return self._whole.run(count)
        return sum(loaded.run(count * calls) for loaded, calls in self._parts)

    def result(self) -> Array:
        """Of the first inputs, by the whole program."""
        return self._whole.result()


class _Whole:
    """The program's one function, called as its users call it."""

    def __init__(self, job: Job, path: str) -> None:
        config, hal = device_for(job.device)
        self._device = config.device
        module = rt.VmModule.mmap(config.vm_instance, path)
        self._context = rt.VmContext(config.vm_instance, modules=[hal, module])
        function = module.lookup_function("main")
        if function is None:
            raise ValueError("the program has no function @main")
        self._function = function
        self._job = job
        self._arguments = _arguments(job)
        self._next = 0

    def run(self, count: int) -> float:
        """Seconds of so many calls; each is waited for."""
        start = time.perf_counter()
        for _ in range(count):
            self._context.invoke(self._function, self._arguments[self._next], rt.VmVariantList(1))
            self._next = (self._next + 1) % len(self._arguments)
        return time.perf_counter() - start

    def result(self) -> Array:
        """Of inputs of its own: IREE 3.13 may write to the arguments that it is called with."""
        results = rt.VmVariantList(1)
        self._context.invoke(self._function, _copies(self._job, 1)[0], results)
        view = cast(rt.HalBufferView, results.get_variant(0).deref(rt.HalBufferView))
        return read_back(self._device, view)


@lru_cache(maxsize=1)
def _arguments(job: Job) -> list[rt.VmVariantList]:
    """Copies of the inputs on the device: versions of an operation that take turns have the same."""
    return _copies(job, max(1, job.copies))


def _copies(job: Job, count: int) -> list[rt.VmVariantList]:
    inputs = read_inputs(job.operation, job.inputs)
    types = [each.element_type for each in job.operation.inputs]
    device = device_for(job.device)[0].device
    return [_pushed(device, inputs, types) for _ in range(count)]


@lru_cache(maxsize=4)
def _memory(harness: Harness, device: str, copies: int) -> Memory:
    """The buffers of dispatches that have the same bindings."""
    return Memory.for_timing(harness, device, copies)


def _pushed(device: rt.HalDevice, inputs: Sequence[Array], types: Sequence[str]) -> rt.VmVariantList:
    arguments = rt.VmVariantList(len(inputs))
    for value, element_type in zip(inputs, types, strict=True):
        view = device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL,
            allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
            device=device,
            buffer=np.ascontiguousarray(value),
            element_type=hal_type(element_type),
        )
        arguments.push_ref(cast(rt.VmRef, view))  # any ref object will do; the stubs name one
    return arguments
