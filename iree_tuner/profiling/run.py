"""Profile a program: compile, run, attribute."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from iree_tuner.compiler.versions import installed
from iree_tuner.compiler.worker import SentPath, WorkerError, Workers
from iree_tuner.device.bench import Bench
from iree_tuner.device.device_facts import DeviceFacts
from iree_tuner.device.program_request import request, sized_as_given
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.measure.builder import Builder
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.measurer import Measurer
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.profiling.attribution import Spent, quieter, rows_of, span_of, spent_in, work_of
from iree_tuner.profiling.profile import Method, Profile
from iree_tuner.profiling.roofline import Roofline, cpu_roofline, datasheet_roofline, keep_raised
from iree_tuner.profiling.whole import MeasuredProgram, ProfilePlan, measure_here
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.targets import Target, on_host

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
    program: Program,
    target: Target,
    *,
    tools: Tools | None = None,
    run: ProgramRun | None = None,
    dispatches: Sequence[Dispatch] | None = None,
    method: Method | None = None,
    roofline: Roofline | None = None,
    cache: Path | None = None,
    with_roofline: bool = True,
    rounds: int = 6,
    vmfb: bytes | None = None,
) -> Profile:
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
        measured = _measure(program, vmfb, tools, run, ProfilePlan(rounds, profiled))
        if method == "hal" and measured.problem:
            raise TunerError(f"no profile: {measured.problem}", location=program.name)
        if profiled and not measured.problem:
            chosen, spent = "hal", spent_in(measured.invocations)
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
    program: Program, vmfb: bytes, tools: Tools, run: ProgramRun, plan: ProfilePlan
) -> MeasuredProgram:
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        path = Path(folder) / "program.vmfb"
        path.write_bytes(vmfb)
        workers = tools.measurer.workers
        try:
            device = tools.measurer.device
            return workers.call(measure_here, SentPath(path), device, run, plan, timeout_s=_TIMEOUT_S)
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
