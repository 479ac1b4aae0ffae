"""The loop, and the one place that sees every room.

program -> flags -> dispatches -> workloads -> spaces -> candidates -> builds -> measurements -> verdicts
-> spec
"""

from __future__ import annotations

import math
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
from iree_tuner.search.registry import DEFAULT
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.starters import Starter, read_starters, shipped_specs
from iree_tuner.targets import Target, target_for_device
from iree_tuner.targets.options import flags_for_options, options_of
from iree_tuner.tuned import TuningResult, findings_of
from iree_tuner.tuning.budget import Budget
from iree_tuner.tuning.effort import effort_named
from iree_tuner.tuning.flags import Choice, try_options, untuned, worth_tuning
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Records, open_records
from iree_tuner.tuning.observer import Observer, Silent
from iree_tuner.tuning.options import TuningOptions
from iree_tuner.tuning.proof import reaching
from iree_tuner.tuning.reading import profile_of, read_dispatches
from iree_tuner.tuning.result import Findings, entries_of
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.task import Task
from iree_tuner.tuning.timeline import Timeline
from iree_tuner.tuning.unfinished import FlagChoices, choices_key, keep_choices, unfinished_choices
from iree_tuner.tuning.variant import FlagVariant, tune_variant
from iree_tuner.tuning.verdict import Judge, Tuned, Verdict
from iree_tuner.tuning.versions import ComparisonPlan, ProgramVersions

_FIRST_PART = 0.6  # of the search, for the faster of two choices of flags
_FLAGS_ROUNDS_S, _FLAGS_ROUNDS_PART = 15.0, 0.04  # to compare them in turns; of the budget
_LONG_S = 60.0
_PROFILE_S = 4.0  # before one was made
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
    timeline = Timeline()
    check_release()
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
        return _tune_program(program, records, lab, options, observer or Silent(), timeline)


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
    program: Program, records: Records, lab: Lab, options: TuningOptions, watch: Observer,
    timeline: Timeline,
) -> TuningResult:  # fmt: skip
    findings = Findings(records.stop, records)
    budget = Budget(options.budget_s or math.inf, timeline, lab.jobs, findings.stop)
    given = untuned(lab.target)
    with timeline.stage("reading the program"):
        versions = ProgramVersions(program, options.run, lab, watch, 1, budget.measured)
        versions.begin(given)
        dispatches, tasks = read_dispatches(program, lab, watch, options.run.functions)
        versions.reduction_length = _longest(tasks)
    with findings.stop:
        with timeline.stage("flags"):
            tried, note = _choices(program, versions, lab.target, findings, options, budget, watch)
        kept = worth_tuning(tried.choices)[: 1 if budget.is_short else None]
        options = replace(options, before_s=tried.searched_s / len(kept))
        tuned: list[Tuned] = []
        variants: dict[Target, FlagVariant] = {}
        for place, choice in enumerate(kept):
            if tuned and findings.stop.requested:
                break
            own = lab if choice.target == lab.target else lab.on(choice.target)
            with timeline.stage("reading the program"):
                if own is not lab:
                    dispatches, tasks = read_dispatches(program, own, watch, options.run.functions)
            variant = _profiled(
                FlagVariant(own, dispatches, tasks), program, versions, options, budget, watch
            )
            variants[choice.target] = variant
            part = _FIRST_PART if place == 0 and len(kept) > 1 else 1.0
            results = tune_variant(
                variant, findings, options, budget, watch, versions=2 * len(kept), part=part
            )
            with timeline.stage("proof"):
                entries, notes = reaching(entries_of(results), program, own)
            tuned.append(Tuned(choice.target, tuple(results), tuple(entries), tuple(notes)))
        with timeline.stage("verdict"):
            verdict, problem = _judged(versions, tuned, lab.target, options, budget)
        variant = variants[verdict.tuned.target]
        after = _profiled_after(variant, verdict, program, versions, options, budget, watch)
        result = _result(program, lab, verdict, findings, tried.choices, versions, (note, problem))
        result.profiles = (variant.profile, after)
        pools = (("compiler", lab.compilers), *((each.device, each.workers) for each in lab.measurers))
        result.time = timeline.use([(name, pool.spans) for name, pool in pools])
        _keep(findings.records, result)
        result.failure = findings.records.rescue()
        return result


def _keep(records: Records, result: TuningResult) -> None:
    for found in findings_of(result):
        records.write(lambda store, found=found: store.add_finding(records.run, found.kind, found.body))


def _longest(tasks: Sequence[Task]) -> int:
    """Errors add up from one dispatch to the next: the longest reduction, times the number of dispatches."""
    return max(task.workload.reduction_length for task in tasks) * len(tasks) ** 2


def _choices(
    program: Program, versions: ProgramVersions, target: Target, findings: Findings, options: TuningOptions,
    budget: Budget, watch: Observer,
) -> tuple[FlagChoices, str]:  # fmt: skip
    """Choices of flags, fastest first; the given one alone where none are tried, and why, if it failed."""
    given = FlagChoices((Choice(target),), 0.0, 0.0)
    effort = options.effort
    tried = options.try_flags and not options.self_test and not options_of(target) and target.axes
    if not tried or findings.stop.requested:
        return given, ""
    watch.working("trying compiler flags")
    key = choices_key(program, target, effort)
    known = unfinished_choices(findings.records, key, target)
    if known:
        watch.noted(
            "compiler flags: as the last run found them, which did not end (--fresh tries them again)"
        )
        versions.measured.build_s, versions.measured.check_s = known.build_s, known.check_s
        keep_choices(findings.records, key, known)
        return known, ""
    until = budget.flags_until()
    rounds_s = min(_FLAGS_ROUNDS_S, _FLAGS_ROUNDS_PART * budget.total_s)
    places = 1 if budget.limited else min(2, target.placements)
    plan = ComparisonPlan(places, effort.program_rounds, effort.program_batch_s, rounds_s)
    try:
        versions.vmfb(untuned(target))  # says how long the others will take
        most = int(min(effort.options, budget.versions_that_fit(until, rounds_s)))
        if most < 1:
            return given, "no compiler flags were tried: there is no time for another compilation"
        found = try_options(versions, target, plan, most, until - rounds_s, findings.stop)
    except _FAILED as error:
        return given, f"no flags were tried: {error}"
    choices = FlagChoices(tuple(found), versions.measured.build_s, versions.measured.check_s)
    if not findings.stop.requested:
        keep_choices(findings.records, key, choices)
    return choices, ""


def _profiled(
    variant: FlagVariant, program: Program, versions: ProgramVersions, options: TuningOptions, budget: Budget,
    watch: Observer,
) -> FlagVariant:  # fmt: skip
    """The variant with a profile, where there is time for one."""
    predicted_s = budget.measured.profile_s or _PROFILE_S
    if not options.profiled or options.self_test or not budget.profile_fits(predicted_s):
        return variant
    with budget.timeline.stage("profile"):
        try:
            vmfb = versions.vmfb(untuned(variant.lab.target))
        except _FAILED as error:
            watch.noted(f"the program was not profiled: {error}")
            return variant
        profile, problem = profile_of(program, vmfb, variant.dispatches, variant.lab, options, budget, watch)
    if problem:
        watch.noted(problem)
    return replace(variant, profile=profile, roofline=profile.roofline if profile else None)


def _judged(
    versions: ProgramVersions, tuned: Sequence[Tuned], given: Target, options: TuningOptions, budget: Budget
) -> tuple[Verdict, str]:
    """What the program says; where it cannot be run, the entries stand by their own verdicts."""
    few = len(tuned[0].results) > _MANY
    judge = Judge(versions, given, options.effort, budget, options.in_model, few_places=few)
    try:
        return judge.choose(tuned), ""
    except _FAILED as error:
        first = next((each for each in tuned if each.target == given), tuned[0])
        return Verdict(first, first.version), f"the whole program was not compared: {error}"


def _profiled_after(
    variant: FlagVariant, verdict: Verdict, program: Program, versions: ProgramVersions,
    options: TuningOptions, budget: Budget, watch: Observer,
) -> Profile | None:  # fmt: skip
    """Where the time goes with what is used; None where nothing changes, or there is no time to look."""
    if verdict.found is None or variant.profile is None or budget.left_s < 1.5 * budget.measured.profile_s:
        return None
    with budget.timeline.stage("profile"):
        vmfb = versions.vmfb(verdict.version)
        return profile_of(program, vmfb, variant.dispatches, variant.lab, options, budget, watch)[0]


def _result(
    program: Program, lab: Lab, verdict: Verdict, findings: Findings, choices: Sequence[Choice],
    versions: ProgramVersions, notes: Sequence[str],
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
        choices=tuple(choices), steps=tuple(versions.steps), run=findings.records.run,
    )  # fmt: skip
