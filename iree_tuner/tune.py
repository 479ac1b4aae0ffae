"""The loop, and the one place that sees every room.

program -> dispatches -> workloads -> space -> candidates -> builds -> measurements -> verdicts -> spec
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from iree.compiler import ir

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.versions import check_release
from iree_tuner.compiler.worker import WorkerCrashError, Workers, WorkerTimeoutError
from iree_tuner.errors import TunerError
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program, ProgramSource, load_program
from iree_tuner.search.registry import DEFAULT, check_strategy
from iree_tuner.space.joint import JointSpace
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.io import save_spec
from iree_tuner.spec.starters import Starter, read_starters, shipped_specs
from iree_tuner.targets import Target, target_for_device
from iree_tuner.tuning.conditions import entry_with_provenance, setting_on
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.effort import Effort, effort_named
from iree_tuner.tuning.engine import Engine, Limits
from iree_tuner.tuning.failures import Reproducing
from iree_tuner.tuning.finals import Final, play_finals
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Ledger, open_records
from iree_tuner.tuning.observer import Observer, Silent
from iree_tuner.tuning.prepare import best_of_relatives, prepare_search, study_key
from iree_tuner.tuning.proof import reaching
from iree_tuner.tuning.reading import read_tasks
from iree_tuner.tuning.result import Findings, WorkloadResult
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.self_test import self_test
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.weigh import Weighed, weigh
from iree_tuner.tuning.whole import compare_whole, with_spec

_FINALS_PART = 0.25  # of a task's time


@dataclass(frozen=True)
class TuningOptions:
    """How to tune; see `tune_module` for what the fields mean."""

    effort: Effort
    strategy: str
    seed: int
    budget_s: float
    self_test: bool
    starters: Mapping[str, tuple[Starter, ...]]


@dataclass
class TuningResult:
    """What `tune_module` returns.

    Attributes:
        program: the program that was tuned.
        target: what it was tuned for.
        results: one for each workload, largest share of the time first.
        spec: the tuning spec, verified; one without entries when nothing won.
        whole: the program with and without the spec; None without winners, or where it could not be run.
        note: why there is no `whole`, or why winners were dropped.
        interrupted: whether the search was stopped before its end.
        dropped: whether winners are left out of the spec because the whole program speaks against them.
        failure: why trials could not be kept, and where they are instead; empty when they could.
    """

    program: Program
    target: Target
    results: tuple[WorkloadResult, ...]
    spec: ir.Module
    whole: ProgramComparison | None = None
    note: str = ""
    interrupted: bool = False
    dropped: bool = False
    failure: str = ""

    @property
    def wins(self) -> tuple[WorkloadResult, ...]:
        """Workloads for which something better than the default was found."""
        return tuple(result for result in self.results if result.verdict == "win")

    @property
    def speedup(self) -> float:
        """Of the whole program; 1 where it was not compared."""
        return self.whole.comparison.speedup if self.whole else 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of `speedup`, see `measure.statistics.Comparison`."""
        return self.whole.comparison.interval if self.whole else (1.0, 1.0)

    def save(self, path: str | Path) -> Path:
        """Write the spec as text (.mlir) or bytecode (.mlirbc). Raises TunerError when it cannot."""
        save_spec(self.spec, path)
        return Path(path)

    def vmfb(self) -> bytes:
        """The program compiled with the spec. Raises CompileError."""
        with Workers(1) as workers:
            return compile_program(with_spec(self.program, to_bytecode(self.spec)), self.target, workers).data


def tune_module(
    module: ProgramSource,
    *,
    device: str = "local-task",
    chip: str = "host",
    effort: str = "default",
    budget_s: float | None = None,
    strategy: str = DEFAULT,
    seed: int = 0,
    jobs: int | None = None,
    self_test: bool = False,
    starters: Sequence[str | Path] | None = None,
    db: str | Path | None = None,
    fresh: bool = False,
    warm: bool = False,
    observer: Observer | None = None,
) -> TuningResult:
    """Find faster configurations for a program's dispatches, and return them as a tuning spec.

    Args:
        module: an `ir.Module`, MLIR text or bytecode, or a path (also to an ONNX model).
        device: device URI to tune on: `local-task`, `local-sync`.
        chip: what to compile for, with options: `host`, `znver4`, `host+data-tiling`.
        effort: `quick`, `default` or `full`.
        budget_s: seconds for the search, over all workloads; building and the last comparison come on top.
        strategy: in what order candidates are tried.
        seed: of everything random.
        jobs: compile workers; one a core by default.
        self_test: try nothing but the default itself, to see that the measurements call it a tie.
        starters: specs whose configurations are tried first; those that ship for the target by default.
        db: database that keeps every trial. Trials of earlier runs under the same setting are not repeated.
        fresh: repeat them nevertheless.
        warm: time with data in the caches; otherwise buffers are rotated through more memory than they hold.
        observer: told of progress.

    Returns:
        The spec and the evidence. Ctrl-C ends the search and returns what was found until then; a second one
        interrupts as usual.

    Raises:
        TunerError: the program cannot be compiled, or has nothing to tune; the database cannot be used;
            UsageError for wrong arguments.
    """
    check_release()
    program = load_program(module)
    check_strategy(strategy)
    watch = observer or Silent()
    level = effort_named(effort)
    started = {"effort": effort, "strategy": strategy, "seed": seed, "device": device, "chip": chip}
    stop = StopRequest()
    with (
        open_records(db, program.name, started, stop=stop, fresh=fresh) as records,
        Lab(target_for_device(device, chip), jobs, cold=not warm) as lab,
    ):
        paths = shipped_specs(lab.target.backend) if starters is None else [Path(path) for path in starters]
        known = read_starters(paths, lab.context)
        options = TuningOptions(level, strategy, seed, budget_s or math.inf, self_test, known)
        return _tune_program(program, Findings(stop, records), lab, options, watch)


def _tune_program(
    program: Program, findings: Findings, lab: Lab, options: TuningOptions, watch: Observer
) -> TuningResult:
    tasks = read_tasks(program, lab, watch)
    with findings.stop:
        _tune_all(weigh(tasks, lab, findings.stop), findings, lab, options, watch)
        return _conclude(program, findings, lab, options, watch)


def _tune_all(
    weighed: Sequence[Weighed], findings: Findings, lab: Lab, options: TuningOptions, watch: Observer
) -> None:
    """Tune the tasks in the order of their share of the time, each within its share of the budget."""
    end = time.monotonic() + options.budget_s
    shares_left = sum(item.share for item in weighed)
    for item in weighed:
        part = item.share / shares_left if shares_left else 0.0
        shares_left -= item.share
        result = _tune_one(item, part * (end - time.monotonic()), findings, lab, options, watch)
        findings.results.append(result)
        watch.finished(result)
        if findings.stop.requested:
            return


def _tune_one(
    weighed: Weighed, budget_s: float, findings: Findings, lab: Lab, options: TuningOptions, watch: Observer
) -> WorkloadResult:
    """Search, then finals. A request to stop ends the search; what it found is still judged, in seconds."""
    start = time.monotonic()
    task, share, effort, space = weighed.task, weighed.share, options.effort, weighed.space
    if space is None:
        return WorkloadResult(task, share, note=weighed.note)
    if options.self_test:
        return self_test(weighed, lab, effort)
    starters = options.starters.get(task.workload.key, ())
    if share < effort.least_share and not starters:
        return WorkloadResult(task, share, note=f"only {share:.1%} of the program's time")
    search, ledger = _begin(weighed, space, findings, lab, options)
    # What is too small to be searched may still take what was found elsewhere.
    trials = effort.trials_for(share) if share >= effort.least_share else len(search.starters)
    watch.started(task, share, trials)
    deadline = start + budget_s * (1.0 - _FINALS_PART)
    limits = Limits(
        trials,
        effort.batch,
        deadline,
        effort.compile_limit_s(weighed.default.idle_s, waited_for=lab.alternate),
        effort.most_ops(weighed.default.ops),
    )
    engine = Engine(search, lab, limits, findings.stop, ledger)
    note = ""
    try:
        for trial in engine.run():
            watch.tried(task, [trial], search.best)
    except KeyboardInterrupt:  # where no handler could be set, or from an observer
        findings.stop.request()
    except DeviceLostError as error:
        findings.stop.request()
        note = str(error)
    if not search.trials:
        return WorkloadResult(task, share, note=note or "the budget was spent before its turn")
    final = (
        Final(None, None)
        if note
        else play_finals(task, search, lab, _judging_effort(options, findings), ledger)
    )
    entry = None
    if final.winner is not None and final.comparison is not None:
        configuration = space.configuration(final.winner.assignment)
        entry = entry_with_provenance(task, configuration, final.comparison, lab.target)
    return WorkloadResult(
        task, share, tuple(search.trials), space.count(), final.comparison, entry,
        "; ".join(filter(None, (note, final.note, engine.note))), time.monotonic() - start,
    )  # fmt: skip


def _begin(
    weighed: Weighed, space: JointSpace, findings: Findings, lab: Lab, options: TuningOptions
) -> tuple[Search, Ledger]:
    """A task's search, with all that is known already, and the place for its trials."""
    workload, records = weighed.task.workload, findings.records
    key = study_key(weighed, space, setting_on(lab.target, cold=lab.cold))
    search = prepare_search(
        weighed, space, options.strategy, options.seed, options.starters.get(workload.key, ()),
        best_of_relatives(records, key),
    )  # fmt: skip
    reproducing = Reproducing(
        records.failures, workload.name, weighed.bench.harness, lab.target, space.configuration
    )
    return search, records.ledger(lambda: key, reproducing)


def _judging_effort(options: TuningOptions, findings: Findings) -> Effort:
    """Who has asked to stop waits for no more than the least pairs that a verdict takes."""
    return effort_named("quick") if findings.stop.requested else options.effort


def _conclude(
    program: Program, findings: Findings, lab: Lab, options: TuningOptions, watch: Observer
) -> TuningResult:
    """Build the spec, and prove it on the whole program; one that makes it slower or wrong is dropped."""
    entries, notes = reaching(findings.entries, program, lab)
    spec = build_spec(entries, lab.context)
    results = tuple(findings.results)
    result = TuningResult(
        program, lab.target, results, spec, note="; ".join(notes), interrupted=findings.stop.requested,
        failure=findings.records.rescue(),
    )  # fmt: skip
    if not entries:
        return result
    effort = _judging_effort(options, findings)
    try:
        result.whole = compare_whole(program, to_bytecode(spec), result.results, lab, effort)
    except (TunerError, WorkerCrashError, WorkerTimeoutError) as error:
        result.note = f"the whole program was not compared: {error}"
        return result
    watch.compared(result.whole.comparison)
    refused = ""
    if not result.whole.agreement.ok:
        refused = f"the program's results differ with the spec ({result.whole.agreement.message})"
    elif result.whole.comparison.verdict == "lose":
        refused = f"the program is slower with the spec ({result.speedup:.3f}x)"
    if refused:
        result.spec, result.dropped, result.note = build_spec([], lab.context), True, refused
    return result
