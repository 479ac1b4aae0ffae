"""The loop, and the one place that sees every room.

program -> flags -> dispatches -> workloads -> spaces -> candidates -> builds -> measurements -> verdicts
-> spec
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from iree_tuner.compiler.versions import check_release
from iree_tuner.compiler.worker import WorkerCrashError, WorkerTimeoutError
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.measure.program_request import request
from iree_tuner.measure.program_run import ProgramRun
from iree_tuner.profiling.profile import Profile
from iree_tuner.program.source import Program, ProgramSource, load_program
from iree_tuner.search.registry import DEFAULT, check_strategy
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.starters import Starter, read_starters, shipped_specs
from iree_tuner.targets import Target, target_for_device
from iree_tuner.targets.options import flags_for_options, options_of
from iree_tuner.tuned import TuningResult, findings_of
from iree_tuner.tuning.arm import Arm, judging_effort, tune_arm
from iree_tuner.tuning.effort import Effort, effort_named
from iree_tuner.tuning.flags import Choice, try_options, worth_tuning
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Records, open_records
from iree_tuner.tuning.observer import Observer, Silent
from iree_tuner.tuning.options import TuningOptions
from iree_tuner.tuning.proof import reaching
from iree_tuner.tuning.reading import profile_of, read_tasks
from iree_tuner.tuning.result import Findings, entries_of
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.task import Task
from iree_tuner.tuning.unfinished import Looked, choices_key, keep_choices, unfinished_choices
from iree_tuner.tuning.verdict import Judge, Tuned, Verdict
from iree_tuner.tuning.whole import Look, Whole, with_entries

_FLAGS_PART, _PROOF_PART, _MOST_PROOF_PART = 0.25, 0.15, 0.4  # of the budget
_FIRST_PART = 0.6  # of the search, for the faster of two choices of flags
_FLAGS_LOOK_S = 15.0
_LONG_S = 60.0
_MANY = 12  # workloads: what the place of code does to each levels out

_FAILED = (TunerError, WorkerCrashError, WorkerTimeoutError)


def tune_module(
    module: ProgramSource,
    *,
    device: str | Sequence[str] = "local-task",
    chip: str = "host",
    effort: str = "default",
    budget_s: float | None = None,
    candidates: int | None = None,
    strategy: str = DEFAULT,
    seed: int = 0,
    jobs: int | None = None,
    self_test: bool = False,
    starters: Sequence[str | Path] | None = None,
    db: str | Path | None = None,
    fresh: bool = False,
    warm: bool = False,
    run: ProgramRun | None = None,
    try_flags: bool | None = None,
    in_model: int = 1,
    profile: bool | None = None,
    observer: Observer | None = None,
) -> TuningResult:
    """Find faster compiler flags and configurations for a program; the latter are returned as a tuning spec.

    Args:
        module: an `ir.Module`, MLIR text or bytecode, or a path (also to an ONNX model).
        device: URI to tune on (`local-task`, `cuda://0`), or several GPUs of one kind; the first one judges.
        chip: what to compile for: `host`, `znver4`, `host+data-tiling`. With options, no others are tried.
        effort: `smoke`, `quick`, `default` or `full`: trials of each workload, and how they are judged.
        budget_s: seconds for all of it, spent where the program gains most by them.
        candidates: configurations of a workload that are tried at most; None: what effort and budget allow.
        strategy, seed, jobs: the order of candidates; of everything random; compile workers, one a core.
        self_test: try nothing but the default itself, to see that the measurements call it a tie.
        starters: specs whose configurations are tried first; those that ship for the target by default.
        db, fresh: database that keeps every trial, so that none is repeated; repeat them nevertheless.
        warm: time with data in the caches; else buffers rotate through more memory than they hold.
        run: functions, inputs and parameters (`measure.program_request.request`), or they are generated.
        in_model: candidates of a workload that are tried in the whole program, where several win alone.
        try_flags, profile: try compiler flags; profile before and after; both by default from a minute up.
        observer: told of progress.

    Ctrl-C keeps what was found. Raises TunerError for the program or the database, UsageError for arguments.
    """
    check_release()
    check_strategy(strategy)
    program = load_program(module)
    options = TuningOptions(
        effort_named(effort), strategy, seed, budget_s, candidates, self_test, run=run or request(program),
        try_flags=_is_long(effort, budget_s) if try_flags is None else try_flags, in_model=in_model,
        profiled=_is_long(effort, budget_s) if profile is None else profile,
        rooflines=Path(db).with_name("rooflines.json") if db else None,
    )  # fmt: skip
    target, others = _targets((device,) if isinstance(device, str) else device, chip)
    started = {"effort": effort, "strategy": strategy, "seed": seed, "device": target.device, "chip": chip}
    with (
        open_records(db, program.name, started, stop=StopRequest(), fresh=fresh) as records,
        Lab(target, jobs, devices=others, cold=not warm) as lab,
    ):
        options = replace(options, starters=_starters(starters, lab))
        return _tune_program(program, Findings(records.stop, records), lab, options, observer or Silent())


def _targets(devices: Sequence[str], chip: str) -> tuple[Target, tuple[str, ...]]:
    """What is compiled for, and further devices that run it. Raises UsageError."""
    if not devices or len(set(devices)) < len(devices):
        raise UsageError("give each device once, and one at least")
    target, *others = (target_for_device(each, chip) for each in devices)
    for uri, other in zip(devices[1:], others, strict=True):
        if (other.backend, other.chip) != (target.backend, target.chip):
            raise UsageError(f"{uri} is not of the same kind as {devices[0]}: {other} and {target}")
    return target, tuple(devices[1:])


def _is_long(effort: str, budget_s: float | None) -> bool:
    return effort not in ("smoke", "quick") if budget_s is None else budget_s >= _LONG_S


def _starters(given: Sequence[str | Path] | None, lab: Lab) -> Mapping[str, tuple[Starter, ...]]:
    paths = shipped_specs(lab.target.backend) if given is None else [Path(path) for path in given]
    return read_starters(paths, lab.context)


def _tune_program(
    program: Program, findings: Findings, lab: Lab, options: TuningOptions, watch: Observer
) -> TuningResult:
    start = time.monotonic()
    budget_s = math.inf if options.budget_s is None else options.budget_s
    end = start + budget_s
    tasks = read_tasks(program, lab, watch, options.run.functions)
    with findings.stop:
        whole = Whole(program, options.run, lab, watch, _longest(tasks))
        places = min(1 if len(tasks) > _MANY else 2, lab.target.placements)
        look = Look(places, options.effort.program_rounds, options.effort.program_batch_s, _FLAGS_LOOK_S)
        looked, note = _choices(
            program, whole, lab.target, findings, options, look, start + _FLAGS_PART * budget_s, watch
        )
        tuned: list[Tuned] = []
        profiles: dict[Target, Profile] = {}
        kept = worth_tuning(looked.choices)
        options = replace(options, before_s=looked.searched_s / len(kept))
        for place, choice in enumerate(kept):
            if tuned and findings.stop.requested:
                break
            arm = _arm(program, choice.target, tasks, lab, options, watch)
            if arm.profile is not None:
                profiles[choice.target] = arm.profile
            until = end - _proof_s(whole, budget_s, len(kept)) if budget_s < math.inf else end
            if place == 0 and len(kept) > 1 and until < math.inf:
                until = time.monotonic() + _FIRST_PART * (until - time.monotonic())
            results = tune_arm(arm, findings, options, until, watch)
            entries, notes = reaching(entries_of(results), program, arm.lab)
            tuned.append(Tuned(choice.target, tuple(results), tuple(entries), tuple(notes)))
        verdict, problem = _judged(whole, tuned, findings, lab.target, options, end)
        before = profiles.get(lab.target)
        if before is None and profiles and verdict.found is not None and options.profiled:
            before = profile_of(program, lab, options, None, watch)[0]
        after = _profile_after(program, verdict, lab, options, watch)
        result = _result(program, lab, verdict, findings, looked.choices, whole, (note, problem))
        result.profiles = (before, after)
        _keep(findings.records, result)
        result.failure = findings.records.rescue()
        return result


def _proof_s(whole: Whole, budget_s: float, arms: int) -> float:
    """What the program's verdict and the profiles after it will take, by what its comparisons took so far."""
    versions, places, profiles = 1 + 2 * arms, 2, 2
    built_s = (versions * places + profiles) * whole.build_s
    return min(_MOST_PROOF_PART * budget_s, max(_PROOF_PART * budget_s, built_s + 2.0 * whole.compare_s))


def _keep(records: Records, result: TuningResult) -> None:
    for found in findings_of(result):
        records.write(lambda store, found=found: store.add_finding(records.run, found.kind, found.body))


def _longest(tasks: Sequence[Task]) -> int:
    """Errors add up from one dispatch to the next: the longest reduction, times the number of dispatches."""
    return max(task.workload.reduction_length for task in tasks) * len(tasks) ** 2


def _choices(
    program: Program, whole: Whole, target: Target, findings: Findings, options: TuningOptions, look: Look,
    deadline: float, watch: Observer,
) -> tuple[Looked, str]:  # fmt: skip
    """Choices of flags, fastest first; the given one alone where none are tried, and why, if it failed."""
    given = Looked((Choice(target),), 0.0, 0.0)
    effort = options.effort
    tried = options.try_flags and not options.self_test and not options_of(target) and target.axes
    if not tried or findings.stop.requested:
        return given, ""
    key = choices_key(program, target, effort)
    known = unfinished_choices(findings.records, key, target)
    if known:
        watch.noted(
            "compiler flags: as the last run found them, which did not end (--fresh tries them again)"
        )
        whole.build_s, whole.compare_s = known.build_s, known.compare_s
        keep_choices(findings.records, key, known)
        return known, ""
    try:
        found = try_options(whole, target, look, effort.options, deadline, findings.stop)
    except _FAILED as error:
        return given, f"no flags were tried: {error}"
    looked = Looked(tuple(found), whole.build_s, whole.compare_s)
    if not findings.stop.requested:
        keep_choices(findings.records, key, looked)
    return looked, ""


def _arm(
    program: Program, target: Target, tasks: Sequence[Task], lab: Lab, options: TuningOptions, watch: Observer
) -> Arm:
    """The program's tasks under one choice of flags."""
    if target != lab.target:
        lab = lab.on(target)
        tasks = read_tasks(program, lab, watch, options.run.functions)
    if not options.profiled or options.self_test:
        return Arm(lab, tasks)
    profile, problem = profile_of(program, lab, options, None, watch)
    if problem:
        watch.noted(problem)
    return Arm(lab, tasks, profile, profile.roofline if profile else None)


def _judged(
    whole: Whole,
    tuned: Sequence[Tuned],
    findings: Findings,
    given: Target,
    options: TuningOptions,
    end: float,
) -> tuple[Verdict, str]:
    """What the program says; where it cannot be run, the entries stand by their own verdicts."""
    effort: Effort = judging_effort(findings, options)
    if findings.stop.requested:
        end = time.monotonic()
    judge = Judge(whole, given, effort, end, options.in_model)
    try:
        return judge.choose(tuned), ""
    except _FAILED as error:
        first = next((each for each in tuned if each.target == given), tuned[0])
        return Verdict(first, first.version), f"the whole program was not compared: {error}"


def _profile_after(
    program: Program, verdict: Verdict, lab: Lab, options: TuningOptions, watch: Observer
) -> Profile | None:
    """Where the time goes with what is used; None where nothing changes."""
    if not options.profiled or verdict.found is None:
        return None
    lab = lab.on(verdict.version.target)
    tuned = with_entries(program, verdict.version.entries, lab.context)
    return profile_of(tuned, lab, options, None, watch)[0]


def _result(
    program: Program, lab: Lab, verdict: Verdict, findings: Findings, choices: Sequence[Choice], whole: Whole,
    notes: Sequence[str],
) -> TuningResult:  # fmt: skip
    target = verdict.version.target
    added = options_of(target) != options_of(lab.target)
    flags = flags_for_options(target) if added else ()
    told = [*notes, verdict.note, *verdict.tuned.notes]
    return TuningResult(
        program, target, verdict.tuned.results, build_spec(verdict.version.entries, lab.context, flags=flags),
        verdict.found, "; ".join(dict.fromkeys(filter(None, told))), findings.stop.requested,
        bool(verdict.left_out) and not verdict.version.entries, flags=flags,
        flags_alone=verdict.flags_alone, left_out=verdict.left_out, entries=verdict.version.entries,
        choices=tuple(choices), steps=tuple(whole.steps), run=findings.records.run,
    )  # fmt: skip
