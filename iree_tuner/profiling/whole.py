"""A program timed as a whole and, on the host, profiled at the same time. Runs in the measuring worker.

The profile is taken by `iree-benchmark-module`: profiling needs a sink, which the Python bindings lack. It
begins after the program is loaded, so that initializers are not in it. The whole is timed without profiling,
one invocation a sample as in the profile, in turns with it, so that both meet the same machine.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import iree.runtime as rt
import numpy as np

from iree_tuner.device.program_inputs import Array, argument
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_parameters import generate, load_index
from iree_tuner.device.program_run import ProgramRun, scopes_of
from iree_tuner.errors import TunerError
from iree_tuner.profiling.hal_events import EventRecording, Times, invocations_of, read_recording
from iree_tuner.program.entries import Taken
from iree_tuner.targets.runtime import RUNTIME_ERRORS, first_line

_FLUSHED = "--device_profiling_flush_interval_ms=1"  # for more events of an invocation than are kept
_FAMILIES = "host-execution,queue-events,executable-metadata"
_WARM_UP = 2
_FEWEST, _MOST = 3, 200
_ROUND_S = 0.2
_TOOL_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class ProfilePlan:
    """How much is measured."""

    rounds: int = 6  # turns of whole invocations and profiled ones
    profiled: bool = True  # whether to profile; only devices on the host can


@dataclass(frozen=True)
class MeasuredProgram:
    """A program's times."""

    functions: tuple[str, ...]  # the functions that were run, once each in an invocation
    samples_us: tuple[float, ...]  # of whole invocations, without profiling
    invocations: tuple[tuple[Times, ...], ...] = ()  # profiled invocations by function, without warm-up
    problem: str = ""  # why there is no profile; empty when there is one


@dataclass(frozen=True)
class _Call:
    """A function of the VM module, by its name there, with its arguments."""

    name: str
    values: tuple[tuple[Taken, Array | float | int], ...]


def measure_here(path: str, device: str, run: ProgramRun, plan: ProfilePlan) -> MeasuredProgram:
    """Time a program, the VM module at `path`, and profile it. Raises TunerError if it does not run."""
    loaded = LoadedProgram(path, device, run)
    try:
        first_s = min(loaded.batch(1) for _ in range(1 + _WARM_UP))
        count = max(_FEWEST, min(_MOST, int(_ROUND_S / max(first_s, 1e-6))))
        samples: list[float] = []
        with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
            tool = _Tool(path, device, run, Path(folder), _calls(loaded, run)) if plan.profiled else None
            found: list[list[Times]] = []
            problem = ""
            for _ in range(plan.rounds):
                samples += (loaded.batch(1) * 1e6 for _ in range(count))
                if tool is not None and not problem:
                    problem = tool.profile(count, found)
            samples += (loaded.batch(1) * 1e6 for _ in range(count))
    except RUNTIME_ERRORS as error:
        raise TunerError(f"the program does not run: {first_line(error)}") from None
    names = tuple(each.name for each in loaded._functions)  # pyright: ignore[reportPrivateUsage]
    if problem or not plan.profiled:
        return MeasuredProgram(names, tuple(samples), problem=problem)
    return MeasuredProgram(names, tuple(samples), tuple(map(tuple, found)))


def _calls(loaded: LoadedProgram, run: ProgramRun) -> list[_Call]:
    """The functions that a loaded program runs, with the inputs of seed 0."""
    rng = np.random.default_rng(0)
    calls: list[_Call] = []
    for each in loaded._functions:  # pyright: ignore[reportPrivateUsage]
        values: list[tuple[Taken, Array | float | int]] = []
        for number, taken in enumerate(each.taken):
            given = each.given[number] if number < len(each.given) else None
            value = argument(number, taken, given, run.sizes, 0, rng, run.feed(each.name, number))
            values.append((taken, value))
        calls.append(_Call(each.signature.function.name, tuple(values)))
    return calls


class _Tool:
    """`iree-benchmark-module` on one program, and `iree-profile` on its output."""

    def __init__(self, path: str, device: str, run: ProgramRun, folder: Path, calls: Sequence[_Call]) -> None:
        self._folder = folder
        self._common = [f"--module={path}", f"--device={device}", *_parameters(run, folder)]
        self._calls = [(call.name, _inputs(call, folder / f"inputs_{i}")) for i, call in enumerate(calls)]

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


def _inputs(call: _Call, folder: Path) -> list[str]:
    """Flags for arguments, whose values are written to files."""
    folder.mkdir()
    flags: list[str] = []
    for number, (taken, value) in enumerate(call.values):
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
