"""Where the time goes: the tasks of a program, their defaults, and what there is to search."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from iree_tuner.check.check_program import compile_check
from iree_tuner.compiler.worker import Ok
from iree_tuner.device.bench import Bench, Case
from iree_tuner.device.outcome import blamed
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.timing import Timed
from iree_tuner.ops.family import family_of
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.ops.workload import Workload
from iree_tuner.program.bindings import Harness
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.space.build import build_spaces, restricted
from iree_tuner.space.emitted import Emitted, begin_emitting
from iree_tuner.space.joint import JointSpace
from iree_tuner.targets import GpuLimits
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.jobs import Build, Jobs, TimeDefault, result, results
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.stop import StopRequest


@dataclass(frozen=True)
class Task:
    """A workload to tune once. `dispatches` are the ones that have it, the most called first."""

    workload: Workload
    dispatches: tuple[Dispatch, ...]

    @property
    def calls(self) -> int:
        """How often the program runs this workload."""
        return sum(dispatch.calls.count for dispatch in self.dispatches)


def make_tasks(dispatches: Sequence[Dispatch]) -> list[Task]:
    """Group what can be tuned by workload, without what runs only while a program is loaded."""
    groups: dict[Workload, list[Dispatch]] = {}
    for dispatch in dispatches:
        if dispatch.tunable and dispatch.workload is not None and dispatch.calls.count:
            groups.setdefault(dispatch.workload, []).append(dispatch)
    return [
        Task(workload, tuple(sorted(group, key=lambda dispatch: -dispatch.calls.count)))
        for workload, group in groups.items()
    ]


@dataclass(frozen=True)
class Baseline:
    """A task with its default."""

    task: Task
    bench: Bench  # the dispatch that stands for the task, the one called most, with the default's executable
    default: Built  # the compiler's own choice, built
    default_us: float  # its time, in microseconds a run; 0 when it does not run
    space: JointSpace | None  # what can be tried; None for nothing, with the reason in `note`
    share: float = 0.0  # part of the time of all tasks, from 0 to 1
    note: str = ""  # why nothing can be tried
    wrong: str = ""  # what is wrong with the default's results; empty where nothing is known

    @property
    def weight_us(self) -> float:
        """The program's time for the task, if it runs as it does alone: microseconds per invocation."""
        return self.default_us * self.task.calls


def measure_baselines(tasks: Sequence[Task], lab: Lab, stop: StopRequest) -> list[Baseline]:
    """Build and time all defaults, or those until a request to stop; largest share first."""
    found = [each for each in play(lab, [_baseline(task, lab) for task in tasks], stop) if each is not None]
    total = sum(item.weight_us for item in found) or 1.0
    shared = [replace(item, share=item.weight_us / total) for item in found]
    return sorted(shared, key=lambda item: -item.share)


def _baseline(task: Task, lab: Lab) -> Jobs[Baseline]:
    harness, limits = task.dispatches[0].harness, task.dispatches[0].limits
    assert harness is not None, "tasks hold only dispatches that can be run"
    on_gpu = isinstance(limits, GpuLimits)
    emitting = begin_emitting(harness, task.workload, lab.target, lab.compilers) if on_gpu else Emitted
    default, bench = yield from build_default(harness, tolerance_of(task.workload), lab)
    if default.outcome != "ok":
        return Baseline(task, bench, default, 0.0, None, note=why_it_fails(default, harness))
    space, note = None, ""
    try:
        spaces = build_spaces(task.workload, limits, lab.context, emitting().modules)
        space = JointSpace(restricted(spaces, lab.restriction) if lab.restriction else spaces)
    except TunerError as error:
        note = str(error)
    timed, bench = yield from time_default(bench, lab, checked=space is not None)
    if timed.outcome != "ok":
        return Baseline(task, bench, default, 0.0, None, note=why_it_fails(timed, harness))
    return Baseline(task, bench, default, min(timed.samples_us), space, note=note, wrong=timed.message)


def build_default(
    harness: Harness, tolerance: Tolerance, lab: Lab, case: Case | None = None
) -> Jobs[tuple[Built, Bench]]:
    """A dispatch as the compiler builds it, and the bench to compare others with it, if it was built."""
    builds: list[Build[Any]] = [Build(partial(lab.builder.submit, harness, None), lab.builder.result)]
    if not lab.on_host:  # results on GPUs are compared there: reading them back takes longer than timing
        check = partial(lab.compilers.submit, compile_check, harness, lab.target)
        builds.append(Build(check, partial(_check, lab)))
    default, *checks = yield from results(builds)
    device, check = lab.measurer.device, checks[0] if checks else b""
    return default, Bench(harness, device, default.vmfb, tolerance, lab.cold, check, case)


def _check(lab: Lab, compiling: Future[bytes]) -> bytes:
    """A compiled check. Empty if the compiler dies on it: then the host checks."""
    end = lab.compilers.end(compiling)
    return end.value if isinstance(end, Ok) else b""


def time_default(bench: Bench, lab: Lab, *, checked: bool = True) -> Jobs[tuple[Timed, Bench]]:
    """The default's time, and the bench with references, if results are to be `checked`."""
    bench = lab.referenced(bench) if checked else bench
    timing = yield from result(TimeDefault(bench, checked))
    return timing.timed, bench


def why_it_fails(end: Built | Timed, harness: Harness | None = None) -> str:
    """Why a default cannot be used."""
    unclear = harness.unclear if harness is not None and end.outcome.startswith("run_") else ()
    return blamed(f"the compiler's default fails ({end.outcome}): {end.message}", unclear)


def tolerance_of(workload: Workload) -> Tolerance:
    """How much the results of a workload may differ."""
    return family_of(workload).sums(workload)
