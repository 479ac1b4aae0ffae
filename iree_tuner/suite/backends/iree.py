"""IREE itself: programs that were compiled before, by default, with a spec, or in a configuration."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path

import iree.runtime as rt

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.device.data import stored
from iree_tuner.device.memory import LoadedDispatch, Memory, hal_type, push, read_back, uploaded
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Built
from iree_tuner.program.bindings import Harness
from iree_tuner.program.extract import extract_here
from iree_tuner.program.phases import submit_program
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Assignment, Configuration
from iree_tuner.space.joint import named
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.spec.io import embed_bytes
from iree_tuner.suite.backends.backend import Job, LoadedCalls
from iree_tuner.suite.operation import CannotError
from iree_tuner.suite.programs import Programs, load_programs, save_programs
from iree_tuner.suite.suite_file import Patterns, is_found, patterns_of
from iree_tuner.suite.tensors import Array, read_inputs
from iree_tuner.targets.registry import on_host, on_one_core
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for, first_line
from iree_tuner.tuning.baseline import measure_baselines
from iree_tuner.tuning.jobs import Build as BuildJob
from iree_tuner.tuning.jobs import Jobs, result, results
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.reading import read_tasks
from iree_tuner.tuning.stop import StopRequest

DEFAULT, TUNED, BEFORE = "iree", "iree-tuned", "iree-before"
"""Names of back ends: as the compiler makes it, tuned, and as an earlier run's compiler made it."""

_streams = itertools.count()


@dataclass(frozen=True)
class Iree:
    """A compiled operation: a `Contender`."""

    name: str = DEFAULT  # `DEFAULT`, `TUNED`, `BEFORE`
    programs: Programs | None = None  # its code; None where it did not compile

    def load(self, job: Job) -> IreeRunning:
        """Load an operation. Raises CannotError where it does not load."""
        if job.conditions.streams > 1 and not on_host(job.device):
            # Each of those side by side opens the device for itself, since a device has one stream.
            uri = job.device if "://" in job.device else f"{job.device}://"
            job = replace(job, device=f"{uri}?stream={next(_streams) % job.conditions.streams}")
        if job.conditions.threads and on_host(job.device) and not on_one_core(job.device):
            rt.flags.parse_flags(f"--task_topology_group_count={job.conditions.threads}")
        if self.programs is None:
            raise CannotError("the program is not compiled")
        try:
            return IreeRunning(job, self.programs)
        except RUNTIME_ERRORS as error:
            raise CannotError(f"the program does not load: {first_line(error)}") from None


class IreeRunning:
    """A program on a device: whole, and for device time its dispatches alone, one after the other."""

    def __init__(self, job: Job, programs: Programs) -> None:
        self._job = job
        self._whole = _whole(job, programs.program)
        self.note = programs.note
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
        """By the whole program, of new inputs: IREE 3.13 may write to the arguments of a call."""
        return self._whole.read(self._whole.call(_copies(self._job, 1)[0]))


def _whole(job: Job, path: str) -> LoadedCalls[rt.VmVariantList, rt.VmVariantList]:
    """The program's one function, called as its users call it."""
    config, hal = device_for(job.device)
    module = rt.VmModule.mmap(config.vm_instance, path)
    context = rt.VmContext(config.vm_instance, modules=[hal, module])
    function = module.lookup_function("main")
    if function is None:
        raise ValueError("the program has no function @main")

    def call(arguments: rt.VmVariantList) -> rt.VmVariantList:
        results = rt.VmVariantList(1)
        context.invoke(function, arguments, results)
        return results

    def read(results: rt.VmVariantList) -> Array:
        return read_back(config.device, results.get_variant(0))

    return LoadedCalls(call, _arguments(job), read=read)


@lru_cache(maxsize=1)
def _arguments(job: Job) -> list[rt.VmVariantList]:
    """Copies of the inputs on the device, the same for all versions of an operation that take turns."""
    return _copies(job, max(1, job.copies))


def _copies(job: Job, count: int) -> list[rt.VmVariantList]:
    inputs = read_inputs(job.operation, job.inputs)
    kinds = [each.element_type for each in job.operation.inputs]
    device = device_for(job.device)[0].device
    found = [rt.VmVariantList(len(inputs)) for _ in range(count)]
    for arguments in found:
        for value, kind in zip(inputs, kinds, strict=True):
            buffer = uploaded(device, stored(value, kind))
            push(arguments, rt.HalBufferView(buffer, list(value.shape), hal_type(kind)))
    return found


_memory = lru_cache(maxsize=4)(Memory.for_timing)
"""The buffers of dispatches that have the same bindings."""


# Compile operations with IREE: as the compiler makes them, with a spec and flags, or in a configuration.


@dataclass(frozen=True)
class Build:
    """A way to compile an operation."""

    name: str  # behind the operation's name, of the files
    flags: tuple[str, ...] = ()  # in addition to the target's own
    spec: bytes = b""  # bytecode of a tuning spec; empty for none
    configuration: Configuration | None = None  # of the dispatch; `spec` has it too, for the whole program
    dispatch: str = ""  # which dispatch it is of
    note: str = ""  # a remark about it


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


def spec_of(entries: Sequence[SpecEntry], lab: Lab) -> bytes:
    """A tuning spec with these entries, as bytecode."""
    return to_bytecode(build_spec(entries, lab.context))


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


def configurations(program: Program, lab: Lab, choice: Wanted) -> Iterator[Build]:
    """The wanted configurations of the dispatch that takes most of an operation's time on the lab's device.

    They are in the order of the space, or a sample. Raises TunerError if nothing can be configured, or the
    operation does not compile.
    """
    first = measure_baselines(read_tasks(program, lab, Silent()), lab, StopRequest())[0]
    if (space := first.space) is None:
        raise TunerError(f"no dispatch has configurations: {first.note}", location=program.name)
    workload, dispatch = first.task.workload, first.task.dispatches[0].name

    def build(assignment: Assignment) -> Build:
        name, configuration = configuration_name(assignment, space.label), space.configuration(assignment)
        spec = spec_of([SpecEntry(workload, configuration)], lab)
        return Build(name, spec=spec, configuration=configuration, dispatch=dispatch)

    every = (space.join(place, each) for place, own in enumerate(space.spaces) for each in own.enumerate())
    members = space.shuffled(choice.seed) if choice.count is not None else every
    wanted = (each for each in members if is_found(choice.patterns, configuration_name(each, space.label)))
    return map(build, islice(wanted, choice.count))
