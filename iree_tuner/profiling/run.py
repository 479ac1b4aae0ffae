"""Profile a program: compile, run, attribute.

A program is timed as a whole and, on the host, profiled at the same time, by `iree-benchmark-module`:
profiling needs a sink, which the Python bindings lack. It begins after the program is loaded, so that
initializers are not in it. The whole is timed without profiling, one invocation a sample as in the profile,
in turns with it, so that both meet the same machine.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import iree.runtime as rt
import numpy as np

from iree_tuner.compiler.versions import installed
from iree_tuner.compiler.worker import SentPath, WorkerError, Workers
from iree_tuner.device.bench import Bench
from iree_tuner.device.device_facts import DeviceFacts
from iree_tuner.device.program_inputs import Array, arguments_of
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_parameters import generate, load_index
from iree_tuner.device.program_request import request, sized_as_given
from iree_tuner.device.program_run import ProgramRun, scopes_of
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.measure.candidate import Builder, Built
from iree_tuner.measure.measurer import Measurer
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.profiling.attribution import (
    Spent,
    as_changed,
    quieter,
    rows_of,
    span_of,
    spent_in,
    work_of,
)
from iree_tuner.profiling.hal_events import EventRecording, Times, invocations_of, read_recording
from iree_tuner.profiling.profile import Method, Profile
from iree_tuner.profiling.roofline import Roofline, cpu_roofline, datasheet_roofline, keep_raised
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.entries import Taken
from iree_tuner.program.extract import extract
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.targets import Target, on_host
from iree_tuner.targets.runtime import RUNTIME_ERRORS, first_line

_FLUSHED = "--device_profiling_flush_interval_ms=1"  # for more events of an invocation than are kept
_FAMILIES = "host-execution,queue-events,executable-metadata"
_WARM_UP = 2
_FEWEST, _MOST = 3, 200
_ROUND_S = 0.2
_TOOL_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class MeasuredProgram:
    """A program's times."""

    functions: tuple[str, ...]  # the functions that were run, once each in an invocation
    samples_us: tuple[float, ...]  # of whole invocations, without profiling
    invocations: tuple[tuple[Times, ...], ...] = ()  # profiled invocations by function, without warm-up
    problem: str = ""  # why there is no profile; empty when there is one


_Call = tuple[str, Sequence[tuple[Taken, Array | float | int]]]
"""A function of the VM module, by its name there, and its arguments."""


def measure_here(path: str, device: str, run: ProgramRun, rounds: int, profiled: bool) -> MeasuredProgram:
    """Time a program, the VM module at `path`, in turns with its profile if it is to be `profiled`.

    Only devices on the host can profile. Raises TunerError if it does not run.
    """
    loaded = LoadedProgram(path, device, run)
    try:
        first_s = min(loaded.batch(1) for _ in range(1 + _WARM_UP))
        count = max(_FEWEST, min(_MOST, int(_ROUND_S / max(first_s, 1e-6))))
        samples: list[float] = []
        with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
            tool = _Tool(path, device, run, Path(folder), _calls(loaded, run)) if profiled else None
            found: list[list[Times]] = []
            problem = ""
            for _ in range(rounds):
                samples += (loaded.batch(1) * 1e6 for _ in range(count))
                if tool is not None and not problem:
                    problem = tool.profile(count, found)
            samples += (loaded.batch(1) * 1e6 for _ in range(count))
    except RUNTIME_ERRORS as error:
        raise TunerError(f"the program does not run: {first_line(error)}") from None
    names = tuple(each.name for each in loaded._functions)  # pyright: ignore[reportPrivateUsage]
    invocations = () if problem else tuple(map(tuple, found))
    return MeasuredProgram(names, tuple(samples), invocations, problem)


def _calls(loaded: LoadedProgram, run: ProgramRun) -> list[_Call]:
    """The functions that a loaded program runs, with the inputs of seed 0."""
    rng = np.random.default_rng(0)
    calls: list[_Call] = []
    for each in loaded._functions:  # pyright: ignore[reportPrivateUsage]
        arguments = arguments_of(run, each.name, each.taken, each.given)
        values = tuple((one.taken, one.value(0, rng)) for one in arguments)
        calls.append((each.signature.function.name, values))
    return calls


class _Tool:
    """`iree-benchmark-module` on one program, and `iree-profile` on its output."""

    def __init__(self, path: str, device: str, run: ProgramRun, folder: Path, calls: Sequence[_Call]) -> None:
        self._folder = folder
        self._common = [f"--module={path}", f"--device={device}", *_parameters(run, folder)]
        self._calls = [(name, _inputs(own, folder / f"inputs_{i}")) for i, (name, own) in enumerate(calls)]

    def profile(self, count: int, found: list[list[Times]]) -> str:
        """Add `count` profiled invocations of each function to `found`. Returns why not, if that fails."""
        if not found:
            found.extend([] for _ in self._calls)
        total = count + _WARM_UP
        for (name, inputs), into in zip(self._calls, found, strict=True):
            recording = self._record([f"--function={name}", *inputs], total)
            if isinstance(recording, EventRecording) and recording.lost:
                self._common.append(_FLUSHED)
                recording = self._record([f"--function={name}", *inputs], total)
            if isinstance(recording, str):
                return recording
            if recording.lost:
                return f"the runtime dropped {recording.lost} events of the profile"
            each = invocations_of(recording, total)
            into += each[_WARM_UP:] if len(each) > _WARM_UP else each
        return ""

    def _record(self, flags: Sequence[str], total: int) -> EventRecording | str:
        """The profile of `total` invocations, or why it is missing."""
        file, profile = self._folder / "flags.txt", self._folder / "profile.ireeprof"
        chosen = (f"--device_profiling_mode={_FAMILIES}", f"--device_profiling_output={profile}")
        file.write_text("\n".join((*self._common, *flags, *chosen)) + "\n")
        ran = _run("iree-benchmark-module", f"--flagfile={file}", f"--benchmark_min_time={total}x")
        if isinstance(ran, str):
            return ran
        told = _run("iree-profile", "export", "--format=ireeperf-jsonl", str(profile))
        if isinstance(told, str):
            return told
        try:
            return read_recording(told.decode().splitlines())
        except (ValueError, KeyError) as error:
            return f"the profile cannot be read: {type(error).__name__}: {error}"


def _run(tool: str, *arguments: str) -> bytes | str:
    """The output of a tool of the runtime, or why it failed."""
    from iree._runtime import libs  # where the runtime's package keeps its programs

    try:
        done = subprocess.run(
            [str(Path(libs.library_path) / tool), *arguments],
            capture_output=True, timeout=_TOOL_TIMEOUT_S, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        return f"the runtime has no {tool}"
    except subprocess.TimeoutExpired:
        return f"{tool} took more than {_TOOL_TIMEOUT_S:.0f} s"
    if done.returncode:
        told = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()
        return f"{tool} exited with status {done.returncode}: {told[-1] if told else 'no output'}"
    return done.stdout


def _inputs(values: Sequence[tuple[Taken, Array | float | int]], folder: Path) -> list[str]:
    """Flags for arguments, whose values are written to files."""
    folder.mkdir()
    flags: list[str] = []
    for number, (taken, value) in enumerate(values):
        if isinstance(value, np.ndarray):
            file = folder / f"{number}.bin"
            file.write_bytes(np.ascontiguousarray(value).tobytes())
            kind = "x".join((*map(str, value.shape), taken.element_type))
            flags.append(f"--input={kind}=@{file}")
        else:
            flags.append(f"--input={value}")
    return flags


def _parameters(run: ProgramRun, folder: Path) -> list[str]:
    """Flags for archives; parameters that are in none are generated into one."""
    flags = [_parameter_flag(scope, path) for scope, path in run.parameters]
    for number, scope in enumerate(scopes_of(run.wanted)):
        present = {key for key, _ in load_index([p for own, p in run.parameters if own == scope]).items()}
        missing = [each for each in run.wanted if each.scope == scope and each.key not in present]
        if missing:
            index = rt.ParameterIndex()
            for each in missing:
                index.add_buffer(each.key, generate(each).reshape(-1).view(np.uint8))
            path = folder / f"generated_{number}.irpa"
            index.create_archive_file(str(path))
            flags.append(_parameter_flag(scope, str(path)))
    return flags


def _parameter_flag(scope: str, path: str) -> str:
    return f"--parameters={scope}={path}" if scope else f"--parameters={path}"


# Each dispatch timed alone, for devices that cannot be profiled.


def time_alone(
    dispatches: Sequence[Dispatch], builder: Builder, measurer: Measurer, *, cold: bool = True
) -> dict[str, Spent]:
    """The time of all calls of each called dispatch, by name; a note for one that cannot be run alone."""
    called = [dispatch for dispatch in dispatches if dispatch.calls.count]
    building = [builder.submit(each.harness, None) if each.harness else None for each in called]
    built = [builder.result(each) if each else None for each in building]  # nothing compiles from here on
    return {
        dispatch.name: _time_one(dispatch, made, measurer, cold)
        for dispatch, made in zip(called, built, strict=True)
    }


def _time_one(dispatch: Dispatch, built: Built | None, measurer: Measurer, cold: bool) -> Spent:
    calls = float(dispatch.calls.count)
    if dispatch.harness is None or built is None:
        return Spent(0.0, calls, f"not measured: {dispatch.reason or 'it cannot be run alone'}")
    if built.outcome != "ok":
        return Spent(0.0, calls, f"not measured: {built.outcome}: {built.message}")
    bench = Bench(dispatch.harness, measurer.device, built.vmfb, Tolerance(), cold)
    timed = measurer.time_default(bench, checked=False)
    if timed.outcome != "ok":
        return Spent(0.0, calls, f"not measured: {timed.outcome}: {timed.message}")
    note = "called in a loop; one iteration is counted" if dispatch.calls.in_loop else ""
    return Spent(statistics.median(timed.samples_us) * calls, calls, note)


_TIMEOUT_S = 1800.0
_BUSY = 0.25  # quartiles that are so far apart, as a part of the median


@dataclass(frozen=True)
class Tools:
    """Workers for a profile."""

    compilers: Workers
    builder: Builder  # makes executables of dispatches
    measurer: Measurer
    cold: bool = True  # see `device.bench.Bench`


def profile_program(
    program: Program, target: Target, *, tools: Tools | None = None, run: ProgramRun | None = None,
    dispatches: Sequence[Dispatch] | None = None, method: Method | None = None,
    roofline: Roofline | None = None, cache: Path | None = None, with_roofline: bool = True, rounds: int = 6,
    vmfb: bytes | None = None, replaced: Mapping[str, Sequence[str]] | None = None,
) -> Profile:  # fmt: skip
    """Find out where a program's time goes on a target's device.

    Args:
        program: with its sizes, if it was given any (`program.dynamic.sized`).
        target: of the profile; it must have a device.
        tools: workers to use, by default new ones. Nothing may compile at the same time.
        run: the functions and their inputs; by default, those that can be run on generated inputs.
        dispatches: what `extract` finds in the program for these functions, if known.
        method: `hal` or `standalone`; by default `hal` on devices that can, and `standalone` if that fails.
        roofline: the device's; found or measured by default.
        cache: file that keeps the measured roofline of a CPU.
        with_roofline: whether to find or measure a roofline.
        rounds: turns of whole and profiled invocations.
        vmfb: the compiled program, if known.
        replaced: of a version of the program with other code, the dispatches that each piece of it computes.

    Raises:
        UsageError: the target has no device, or the device cannot be profiled as asked.
        TunerError: the program cannot be run; or it cannot be profiled and nothing else was allowed.
        CompileError: it does not compile.
        WorkerError: a worker died or did not come back.
    """
    profiled = _can_profile(target, method)
    program, run = sized_as_given(program, run or request(program, flags=target.user_flags))
    with ExitStack() as stack:
        tools = tools or _own_tools(target, stack)
        if dispatches is None:
            dispatches = extract(program, target, tools.compilers, run.functions).dispatches
        if not dispatches:
            raise TunerError("the program has no dispatches", location=program.name)
        vmfb = compile_program(program, target, tools.compilers).data if vmfb is None else vmfb
        measured = _measure(program, vmfb, tools, run, rounds, profiled)
        if method == "hal" and measured.problem:
            raise TunerError(f"no profile: {measured.problem}", location=program.name)
        if profiled and not measured.problem:
            chosen, spent = "hal", spent_in(measured.invocations)
            dispatches = dispatches if replaced is None else as_changed(spent, dispatches, replaced)
        else:
            chosen = "standalone"
            spent = time_alone(dispatches, tools.builder, tools.measurer, cold=tools.cold)
        notes, facts = _notes(measured, dispatches, chosen), tools.measurer.facts
        if roofline is None and with_roofline:
            roofline, problem = roofline_for(target, tools, cache)
            notes += (problem,) if problem else ()
        if roofline is not None and on_host(target.device or ""):  # no dispatch exceeds its memory's speed
            roofline = keep_raised(cache, target, facts, roofline, _reached(dispatches, spent))
    return _profile(program, target, chosen, measured, spent, dispatches, roofline, notes, facts)


def _reached(dispatches: Sequence[Dispatch], spent: Mapping[str, Spent]) -> Iterator[tuple[float, float]]:
    """Of dispatches that ran, the bytes that a call reads and writes, and its seconds."""
    ran = ((each, spent[each.name]) for each in dispatches if each.name in spent)
    return ((work_of(each).bytes, own.time_us * 1e-6 / own.calls) for each, own in ran if own.calls)


def _can_profile(target: Target, method: Method | None) -> bool:
    """Whether to ask the HAL. Raises UsageError for impossible requests."""
    device = target.device
    if device is None:
        raise UsageError(f"target {target} has no device to measure on", hint="give a device")
    if method == "hal" and not on_host(device):
        hint = "--method standalone measures each dispatch alone"
        raise UsageError(f"'{device}' cannot be profiled", hint=hint)
    return on_host(device) and method != "standalone"


def _own_tools(target: Target, stack: ExitStack) -> Tools:
    compilers = stack.enter_context(Workers(1))
    measurer = Measurer(target.device or "")
    stack.callback(measurer.close)
    return Tools(compilers, Builder(target, compilers), measurer)


def _measure(
    program: Program, vmfb: bytes, tools: Tools, run: ProgramRun, rounds: int, profiled: bool
) -> MeasuredProgram:
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        path = Path(folder) / "program.vmfb"
        path.write_bytes(vmfb)
        workers = tools.measurer.workers
        try:
            device, asked = tools.measurer.device, (run, rounds, profiled)
            return workers.call(measure_here, SentPath(path), device, *asked, timeout_s=_TIMEOUT_S)
        except WorkerError:
            raise
        except TunerError as error:
            if error.location:
                raise
            raise type(error)(error.message, location=program.name, hint=error.hint) from None


def _profile(
    program: Program, target: Target, method: Method, measured: MeasuredProgram, spent: dict[str, Spent],
    dispatches: Sequence[Dispatch], roofline: Roofline | None, notes: tuple[str, ...], facts: DeviceFacts,
) -> Profile:  # fmt: skip
    whole_us = statistics.fmean(quieter(measured.samples_us, float))
    low, _, high = statistics.quantiles(measured.samples_us, n=4)
    conditions = {
        "processor": facts.name, "cores": str(facts.units), "driver": facts.driver,
        "compiler": installed()["iree-base-compiler"] or "",
        "runtime": installed()["iree-base-runtime"] or "", "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip
    return Profile(
        program.name, str(target), target.device or "", measured.functions, method, whole_us, (low, high),
        rows_of(spent, dispatches, whole_us, roofline), span_of(measured.invocations), roofline,
        tuple((name, value) for name, value in conditions.items() if value), notes,
    )  # fmt: skip


def roofline_for(target: Target, tools: Tools, cache: Path | None) -> tuple[Roofline | None, str]:
    """A device's roofline, measured or from a data sheet, or why it is missing. `cache` keeps a CPU's."""
    device = tools.measurer.device
    if on_host(device):
        try:
            return cpu_roofline(target, tools.compilers, tools.builder, tools.measurer, cache), ""
        except TunerError as error:
            return None, str(error)
    facts = tools.measurer.facts
    found = datasheet_roofline(facts.name, facts.last_level_bytes)
    return found, "" if found else f"no roofline: there is no data sheet for '{facts.name}'"


def _notes(measured: MeasuredProgram, dispatches: Sequence[Dispatch], method: Method) -> tuple[str, ...]:
    notes: list[str] = []
    if measured.problem:
        notes.append(f"dispatches were measured alone, because there is no profile: {measured.problem}")
    low, middle, high = statistics.quantiles(measured.samples_us, n=4)
    if high - low > _BUSY * middle:
        spread = (high - low) / middle
        notes.append(f"measurements are noisy (spread {spread:.0%}): close other programs and repeat")
    if method == "standalone":
        notes.append("dispatches were measured alone; transfers and gaps between dispatches are not included")
        if any(each.calls.in_loop for each in dispatches):
            notes.append("some dispatches are called in loops; one iteration is counted")
    return tuple(notes)
