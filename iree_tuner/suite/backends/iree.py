"""IREE itself: programs that were compiled before, by default, with a spec, or in a configuration."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import cast

import iree.runtime as rt
import numpy as np

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.versions import installed
from iree_tuner.device.memory import LoadedDispatch, Memory, hal_type, read_back
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Built
from iree_tuner.program.bindings import Harness
from iree_tuner.program.extract import extract_here
from iree_tuner.program.phases import submit_program
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Assignment, Configuration
from iree_tuner.space.joint import JointSpace, named
from iree_tuner.spec.build import SpecEntry, build_spec
from iree_tuner.spec.io import embed_bytes
from iree_tuner.suite.backends.backend import Job, TriedBackend
from iree_tuner.suite.operation import CannotError
from iree_tuner.suite.programs import Programs, load_programs, save_programs
from iree_tuner.suite.suite_file import Patterns, is_found, patterns_of
from iree_tuner.suite.tensors import Array, read_inputs
from iree_tuner.targets.registry import on_host, on_one_core
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for, first_line
from iree_tuner.tuning.baseline import Task, measure_baselines
from iree_tuner.tuning.jobs import Build as BuildJob
from iree_tuner.tuning.jobs import Jobs, result, results
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.reading import read_tasks
from iree_tuner.tuning.stop import StopRequest

DEFAULT, TUNED, BEFORE = "iree", "iree-tuned", "iree-before"
"""Names of back ends: as the compiler makes it, tuned, and as an earlier run's compiler made it."""

_streams = itertools.count()
_TITLES = {DEFAULT: "IREE", TUNED: "IREE, tuned", BEFORE: "IREE, earlier run"}


@dataclass(frozen=True)
class Iree(TriedBackend):
    """A compiled operation."""

    name: str = DEFAULT  # `DEFAULT`, `TUNED`, `BEFORE`
    programs: Programs | None = None  # its code; None where it did not compile

    @property
    def title(self) -> str:
        return _TITLES.get(self.name, self.name)

    def missing(self, device: str) -> str:
        """Nothing. A missing device is found when it is opened."""
        return ""

    def version(self) -> str:
        return installed()["iree-base-compiler"] or ""

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
    """Of several side by side on a GPU, each opens the device for itself, since a device has one stream."""
    if job.conditions.streams == 1 or on_host(job.device):
        return job
    uri = job.device if "://" in job.device else f"{job.device}://"
    return replace(job, device=f"{uri}?stream={next(_streams) % job.conditions.streams}")


class IreeRunning:
    """A program on a device: whole, and for device time its dispatches alone, one after the other."""

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
        """This many invocations; or, for device time, runs of each dispatch."""
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
        start = time.perf_counter()
        for _ in range(count):
            self._context.invoke(self._function, self._arguments[self._next], rt.VmVariantList(1))
            self._next = (self._next + 1) % len(self._arguments)
        return time.perf_counter() - start

    def result(self) -> Array:
        """Of new inputs: IREE 3.13 may write to the arguments that it is called with."""
        results = rt.VmVariantList(1)
        self._context.invoke(self._function, _copies(self._job, 1)[0], results)
        return read_back(self._device, results.get_variant(0))


@lru_cache(maxsize=1)
def _arguments(job: Job) -> list[rt.VmVariantList]:
    """Copies of the inputs on the device, the same for all versions of an operation that take turns."""
    return _copies(job, max(1, job.copies))


def _copies(job: Job, count: int) -> list[rt.VmVariantList]:
    inputs = read_inputs(job.operation, job.inputs)
    types = [each.element_type for each in job.operation.inputs]
    device = device_for(job.device)[0].device
    return [_pushed(device, inputs, types) for _ in range(count)]


_memory = lru_cache(maxsize=4)(Memory.for_timing)
"""The buffers of dispatches that have the same bindings."""


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


# Compile operations with IREE: as the compiler makes them, with a spec and flags, or in a configuration.


@dataclass(frozen=True)
class Build:
    """A way to compile an operation."""

    name: str  # behind the operation's name, of the files
    flags: tuple[str, ...] = ()  # in addition to the target's own
    spec: bytes = b""  # bytecode of a tuning spec; empty for none
    configuration: Configuration | None = None  # of the dispatch; `spec` has it too, for the whole program
    dispatch: str = ""  # which dispatch it is of


def compile_version(
    program: Program, version: Build, lab: Lab, folder: Path, stem: str, *, with_parts: bool
) -> Jobs[Programs]:
    """Compile one version of an operation, and write it to a folder.

    Args:
        program: the operation's.
        version: how it is compiled.
        lab: where.
        folder, stem: of the files.
        with_parts: whether device time is measured, which needs each dispatch alone.

    Raises:
        TunerError: it does not compile, or cannot be written.
    """
    lab = lab.on(replace(lab.target, flags=(*lab.target.flags, *version.flags)))
    data = embed_bytes(program.data, version.spec, name=program.name) if version.spec else program.data
    submit = partial(submit_program, replace(program, data=data), lab.target, lab.slots)
    whole = yield from result(BuildJob(submit, lab.slots.wait))
    parts, note = (yield from _parts(program, version, lab)) if with_parts else ([], "")
    save_programs(folder, stem, whole.data, parts, note)
    return load_programs(folder, stem)


def _parts(program: Program, version: Build, lab: Lab) -> Jobs[tuple[list[tuple[Harness, bytes, int]], str]]:
    """Each dispatch that is called, compiled alone; or none of them, and why."""
    submit = partial(lab.slots.submit, extract_here, program.data, program.name, lab.target)
    extraction = yield from result(BuildJob(submit, lab.slots.wait))
    called = [each for each in extraction.dispatches if each.calls.count]
    builds: list[BuildJob[Built]] = []
    for each in called:
        if each.harness is None or each.calls.in_loop:
            reason = each.reason or "it is called in a loop"
            return [], f"measured as a whole: {each.name} cannot run alone: {reason}"
        own = version.configuration if each.name == version.dispatch else None
        harness = each.harness
        if version.spec and version.configuration is None:
            harness = replace(harness, module=embed_bytes(harness.module, version.spec, name=each.name))
        builds.append(BuildJob(partial(lab.builder.submit, harness, own), lab.builder.result))
    parts: list[tuple[Harness, bytes, int]] = []
    for dispatch, built in zip(called, (yield from results(builds)), strict=True):
        if built.outcome != "ok" or dispatch.harness is None:
            reason = f"{dispatch.name} fails alone ({built.outcome}): {built.message}"
            return [], f"measured as a whole: {reason}"
        parts.append((dispatch.harness, built.vmfb, dispatch.calls.count))
    return parts, ""


def spec_of(entries: Sequence[SpecEntry], lab: Lab, flags: Sequence[str] = ()) -> bytes:
    """A tuning spec with these entries, as bytecode."""
    return to_bytecode(build_spec(entries, lab.context, flags=flags))


# The configurations of an operation's dispatch: named, so that regular expressions can choose among them.


ALL = "all"
_PLACE = re.compile(r"^(.*?)_(\d+)$")


@dataclass(frozen=True)
class Wanted:
    """Which configurations are wanted: every one, some at random, or those that expressions find."""

    count: int | None = None  # how many, at most; None for every one
    patterns: Patterns = ()  # regular expressions, of which one must be found in a name; empty for all
    seed: int = 0  # of the sample


def choice_of(text: str, seed: int = 0) -> Wanted:
    """Read `all`, a number, or regular expressions joined by commas. Raises UsageError for another text."""
    if text == ALL:
        return Wanted(seed=seed)
    if text.isdecimal():
        return Wanted(count=int(text), seed=seed)
    return Wanted(patterns=patterns_of(text), seed=seed)


def configuration_name(assignment: Assignment, label: str) -> str:
    """The pipeline and its knobs: `DoubleTilingExpert_distribution_64x128_vector_8x32x1`.

    Numbered knobs are one list.
    """
    own, knobs = named(assignment, label)
    groups: dict[str, list[int]] = {}
    for name, value in knobs.items():
        found = _PLACE.match(name)
        groups.setdefault(found[1] if found else name, []).append(value)
    parts = [f"{name}_{'x'.join(map(str, values))}" for name, values in groups.items()]
    return "_".join([re.sub(r"\W", "_", own), *parts])


class NamedConfigurations:
    """The space of the dispatch that takes most of an operation's time, which the lab's device measures.

    Raises TunerError if nothing can be configured, or the operation does not compile.
    """

    def __init__(self, program: Program, lab: Lab) -> None:
        first = measure_baselines(read_tasks(program, lab, Silent()), lab, StopRequest())[0]
        if first.space is None:
            raise TunerError(f"no dispatch has configurations: {first.note}", location=program.name)
        self._lab = lab
        self._task: Task = first.task
        self.space: JointSpace = first.space

    def chosen(self, choice: Wanted) -> Iterator[Build]:
        """The wanted versions, all in the order of the space, or a sample."""
        members = self.space.shuffled(choice.seed) if choice.count is not None else self._every()
        wanted = (each for each in members if is_found(choice.patterns, self.name(each)))
        return map(self.version, islice(wanted, choice.count))

    def name(self, assignment: Assignment) -> str:
        return configuration_name(assignment, self.space.label)

    def version(self, assignment: Assignment) -> Build:
        """The compilation of an operation in a configuration."""
        configuration = self.space.configuration(assignment)
        spec = spec_of([SpecEntry(self._task.workload, configuration)], self._lab)
        dispatch = self._task.dispatches[0].name
        return Build(self.name(assignment), spec=spec, configuration=configuration, dispatch=dispatch)

    def _every(self) -> Iterator[Assignment]:
        for place, space in enumerate(self.space.spaces):
            for member in space.enumerate():
                yield self.space.join(place, member)
