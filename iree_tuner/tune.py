"""The tuning loop. This is the only module that uses all packages.

program -> flags -> dispatches -> workloads -> spaces -> candidates -> measurements -> verdicts -> spec
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from iree_tuner.device.conditioning import Depth
from iree_tuner.device.program_request import request, sized_as_given
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.errors import TunerError
from iree_tuner.kernels import bench, competing
from iree_tuner.kernels.find import Places, begin_finding, executable_target
from iree_tuner.kernels.kernel import Kernel
from iree_tuner.measure.program_bench import ProgramComparison
from iree_tuner.profiling.profile import Profile
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.dynamic import Dim, given_sizes, sized_cases
from iree_tuner.program.source import Program, ProgramSource, load_program
from iree_tuner.report.progress import watching
from iree_tuner.result import TuningResult, findings_of
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.spec.starters import read_starters, shipped_specs
from iree_tuner.targets import Target
from iree_tuner.targets.options import flags_for_options, options_of
from iree_tuner.tuning.budget import Budget
from iree_tuner.tuning.faults import Blame, EntryCheck, blame, not_checked
from iree_tuner.tuning.flags import (
    FlagChoice,
    choose_flags,
    choose_runtime,
    runtime_flags_of,
    untuned,
    worth_tuning,
)
from iree_tuner.tuning.lab import Lab, lab_for
from iree_tuner.tuning.observer import Observer, Silent
from iree_tuner.tuning.options import TuningOptions, keywords
from iree_tuner.tuning.plan import TuningPlan
from iree_tuner.tuning.proof import reaching
from iree_tuner.tuning.reading import profile_of, read_dispatches
from iree_tuner.tuning.records import Records, open_records
from iree_tuner.tuning.result import RunContext, entries_of
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.timeline import APART, Timeline
from iree_tuner.tuning.variant import FlagVariant, tune_variant
from iree_tuner.tuning.verdict import ProgramJudge, TunedVariant, Verdict
from iree_tuner.tuning.versions import ProgramVersion, ProgramVersions

_FIRST_PART = 0.6  # of the search, for the faster of two choices of flags
_APART_S, _APART_PART = 1.0, 0.01  # for dispatches in the program, on further inputs; of the budget
_BASELINE_S = 0.5
_PROFILE_S, _PROFILE_RUNS = 4.0, 20.0  # before one was made
_MANY = 12  # workloads: what the place of code does to each levels out


@dataclass(frozen=True, kw_only=True)
class TuningArguments(TuningOptions):
    """Keyword arguments of `tune_module`.

    Attributes
    ----------
    dim
        Sizes of dynamic dimensions: 128 for all, {"batch": 4, "1.0": (64, 128)} by name. With
        several sizes, the first is tuned for, and the result must not be slower on any of them.
    run
        Entry functions, inputs and parameters (`device.program_request.request`). Default: generate them.
    kernels
        External kernels to compare (`kernels.registry.usual_kernels`). Default: none.
    observer
        Receives progress (see `Observer`).
    progress
        Show progress, as the command does. Ctrl-C keeps the results so far.
    client
        A client of dask.distributed whose workers compile and measure (docs/cluster.md).
    """

    dim: Dim = None
    run: ProgramRun | None = None
    kernels: Sequence[Kernel] = ()
    observer: Observer | None = None
    progress: bool = False
    client: object | None = None


@keywords(TuningArguments)
def tune_module(module: ProgramSource, arguments: TuningArguments) -> TuningResult:
    """Search for faster compiler flags and configurations of a program, and return them with a tuning spec.

    `program` is an `ir.Module`, MLIR text or bytecode, or a path. Final comparisons run on the first device.

    Raises TunerError for a problem with the program or the database, UsageError for wrong arguments.
    """
    program, run = sized_cases(load_program(module), given_sizes(arguments.dim)), arguments.run
    if run is not None and arguments.dim is not None:
        run = request(program, run.functions, run.inputs, run.parameters)
    with watching(arguments.observer, shown=arguments.progress) as watch:
        return tune_program(
            program,
            arguments,
            run=run,
            kernels=arguments.kernels,
            observer=watch,
            client=arguments.client,
        )


def tune_program(
    program: Program, options: TuningOptions,
    *, run: ProgramRun | None = None, kernels: Sequence[Kernel] = (), observer: Observer | None = None,
    client: object | None = None,
) -> TuningResult:  # fmt: skip
    """Tune a loaded program (see `tune_module`)."""
    timeline, db, watch = Timeline(), options.db, observer or Silent()
    program, run = sized_as_given(program, run or request(program, flags=options.flags))
    with (
        lab_for(options, cold=not options.warm, restriction=options.restriction, client=client) as lab,
        open_records(
            db, program.name, options.recorded, stop=StopRequest(watch.stopping), fresh=options.fresh
        ) as records,
        tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder,
    ):
        given = options.starters
        starters = shipped_specs(lab.target.backend) if given is None else map(Path, given)
        plan = TuningPlan(
            options, run, read_starters(starters, lab.context),
            Path(db).with_name("rooflines.json") if db else None,
        )  # fmt: skip
        return _TuningRun(program, records, lab, plan, kernels, watch, timeline, Path(folder)).tune()


class _TuningRun:
    """One run, from the program to its result. `tune` shows the order of the steps."""

    def __init__(
        self, program: Program, records: Records, lab: Lab, plan: TuningPlan, kernels: Sequence[Kernel],
        watch: Observer, timeline: Timeline, folder: Path,
    ) -> None:  # fmt: skip
        self.program = program
        self.lab = lab
        self.plan = plan
        self.kernels = kernels
        self.watch = watch
        self.timeline = timeline
        self.folder = folder
        self.findings = RunContext(records.stop, records)
        self.budget = Budget(plan.options.budget_s or math.inf, timeline, lab.jobs, records.stop)
        self.versions = ProgramVersions(program, plan.run, lab, watch, Depth(), self.budget.measured)
        self.plan = replace(plan, run=plan.run.cases[0])  # candidates are tried on one size
        self.competitors: competing.Competitors | None = None
        self.kernel_versions: dict[ProgramVersion, bench.Chosen] = {}
        self.blamed: list[Blame] = []
        self.dispatches: Sequence[Dispatch] = ()

    def tune(self) -> TuningResult:
        """Run all steps and return the result."""
        with self.timeline.stage("reading the program"):
            self.versions.begin(untuned(self.lab.target), plain=True)
            self.versions.begin_widened()
            given = self._read(self.lab)
            self.dispatches = given.dispatches
            self.lab.check_devices()
            self.versions.check_compiles(untuned(self.lab.target))
            self.budget.runtime_flags = len(runtime_flags_of(self.lab, self.plan))
        with self.findings.stop:
            self.versions.begin(untuned(self.lab.target))
            finding = None if self.lab.on_host else self._finding()  # it would disturb what is timed there
            with self.timeline.stage("flags"):
                tried, flags_note = choose_flags(
                    self.program, self.versions, self.lab, self.plan, self.budget, self.findings, self.watch
                )
            with self.timeline.stage("kernels"):
                kernels_note = self._find_kernels(finding or self._finding())
            kept = worth_tuning(tried.choices)[: 1 if self.budget.is_short else None]
            self.plan = replace(self.plan, before_s=tried.searched_s / len(kept))
            tuned: list[TunedVariant] = []
            variants: dict[Target, FlagVariant] = {}
            for place, choice in enumerate(kept):
                if tuned and self.findings.stop.requested:
                    break
                part = _FIRST_PART if place == 0 and len(kept) > 1 else 1.0
                known = choice.target == self.lab.target
                variant = self._profiled(given if known else self._read(self.lab.on(choice.target)))
                variants[choice.target] = variant
                tuned.append(self._tuned(variant, choice, len(kept), part))
            with self.timeline.stage("verdict"):  # all that is left to compile, at once
                checks = [self._begin_last(each, variants[each.target]) for each in tuned]
                self.versions.settle()
            with self.timeline.stage(APART):
                tuned = [self._sound(*each) for each in zip(tuned, checks, strict=True)]
            with self.timeline.stage("verdict"):
                verdict, problem = self._judged(tuned)
            with self.timeline.stage(APART):
                self._explain_flags()
            with self.timeline.stage("runtime flags"):
                runs = None if problem else verdict.version
                runtime = choose_runtime(runs, self.versions, self.lab, self.plan, self.budget)
            before = self._profiled_before(variants.get(self.lab.target), given, verdict)
            after = self._profiled_after(variants[verdict.tuned.target], verdict)
            result = self._result(verdict, tried.choices, (flags_note, kernels_note, problem, runtime.note))
            result.profiles, result.runtime = (before, after), runtime
            result.time = self.lab.time_use(self.timeline)
            records = self.findings.records
            for each in findings_of(result):
                records.write(lambda store, each=each: store.add_finding(records.run, each.kind, each.body))
            result.failure = records.rescue()
            return result

    def _read(self, lab: Lab) -> FlagVariant:
        """The program's dispatches under a choice of flags."""
        with self.timeline.stage("reading the program"):
            dispatches, tasks = read_dispatches(self.program, lab, self.watch, self.plan.run.functions)
        longest, known = max(task.workload.reduction_length for task in tasks), self.versions.depth
        self.versions.depth = Depth(
            max(known.longest, longest), max(known.dispatches, len(dispatches)), known.moves
        )
        return FlagVariant(lab, dispatches, tasks)

    def _at_once(self) -> AbstractContextManager[None]:
        """For stages that a request to stop ends at once."""
        return self.findings.stop.cancelling(self.lab.compilers, self.lab.measurer.workers)

    def _finding(self) -> Future[Places] | None:
        """Begin to look for ops that kernels compute, if there are kernels."""
        wanted = self.kernels and not self.plan.options.self_test and not self.findings.stop.requested
        found = self.program, self.lab.target, self.lab.compilers, self.kernels
        return begin_finding(*found) if wanted else None

    def _find_kernels(self, finding: Future[Places] | None) -> str:
        """Find kernels for ops; why none, if so."""
        if finding is None or self.findings.stop.requested:
            return ""
        self.watch.working("finding dispatches for kernels")
        try:
            found = finding, self.dispatches, self.kernels, self.lab, self.findings.records
            self.competitors = competing.find_competitors(*found)
        except TunerError as error:
            return f"no kernels were compared: {error}"
        for note in self.competitors.notes:
            self.watch.noted(note)
        self.budget.proofs += self.competitors.apply  # compared, and proven, with them too
        return "" if self.competitors.apply else "no kernel applies to the program"

    def _profiled(self, variant: FlagVariant) -> FlagVariant:
        """The variant with a profile, where there is time for one."""
        measured = self.budget.measured
        predicted_s = measured.profile_s or max(_PROFILE_S, _PROFILE_RUNS * measured.invocation_s)
        # Of many workloads few are searched: a profile says which, and only their baselines are measured.
        many = self.lab.on_host and len(variant.tasks) * _BASELINE_S > predicted_s
        wanted = self.plan.profiled or (many and self.plan.options.profile is None)
        if not wanted or self.plan.options.self_test or self.findings.stop.requested:
            return variant
        if not self.budget.profile_fits(predicted_s):
            return variant
        profile, problem = None, ""
        with self.timeline.stage("profile"), self._at_once():
            try:
                vmfb = self.versions.vmfb(untuned(variant.lab.target))
            except TunerError as error:
                self.watch.noted(f"the program was not profiled: {error}")
                return variant
            profile, problem = profile_of(
                self.program, vmfb, variant.dispatches, variant.lab, self.plan, self.budget, self.watch
            )
        if problem:
            self.watch.noted(problem)
        return replace(variant, profile=profile, roofline=profile.roofline if profile else None)

    def _profiled_before(
        self, known: FlagVariant | None, given: FlagVariant, verdict: Verdict
    ) -> Profile | None:
        """Of the program as it was given; None where it is not wanted, or there was no time to look."""
        if known is not None:
            return known.profile if self.plan.profiled else None
        measured = self.budget.measured
        if not self.plan.profiled or not measured.profile_s or verdict.found is None:
            return None
        if self.findings.stop.requested:
            return None
        if self.budget.left_s < 3.0 * measured.profile_s:
            return None
        return self._profiled(given).profile

    def _tuned(self, variant: FlagVariant, choice: FlagChoice, of: int, part: float) -> TunedVariant:
        """The result of a choice of flags, one `of` so many."""
        competitors, given = self.competitors, self.lab.target
        further = (given,) if of == 1 and choice.target != given else ()
        versions = 2 + (competitors.versions(choice.target, len(further)) if competitors else 0)
        cap = competing.most_variants(self.plan.effort.name, limited=self.plan.options.budget_s is not None)
        results = tune_variant(
            variant, self.findings, self.plan, self.budget, self.watch, versions=of * versions, part=part,
            competing=lambda key: [(kind, cap) for kind in competitors.of(key)] if competitors else (),
            extra_tasks=competitors.beside(variant.tasks, choice.speedup) if competitors else (),
            replaced=competitors.replaced if competitors else (),
        )  # fmt: skip
        with self.timeline.stage("matcher check"):
            entries, notes = reaching(entries_of(results), self.program, variant.lab)
        tuned = TunedVariant(variant.lab.target, tuple(results), tuple(entries), tuple(notes))
        choices = competitors.choices(results, tuned.target, self.lab) if competitors else {}
        made = competing.versions_with(tuned, choices, self.lab, self.folder, further)
        self.kernel_versions |= made
        return replace(tuned, more=tuple(made))

    def _begin_last(self, tuned: TunedVariant, variant: FlagVariant) -> EntryCheck | None:
        """Have compiled what the verdict compares, and what checks entries, if there is time for that."""
        self.versions.begin(*tuned.versions(self.lab.target))
        fits = self.budget.apart_fits(self.budget.least_verdict_s(2))  # right, before it is certain
        if not tuned.reached or self.findings.stop.requested or not fits:
            return None
        return EntryCheck(tuned.reached, self.program, self.plan.run, variant.dispatches, variant.lab)

    def _sound(self, tuned: TunedVariant, check: EntryCheck | None) -> TunedVariant:
        """Without entries that are wrong where the program uses them, if there is time to look."""
        if check is None or self.findings.stop.requested:
            return tuned
        self.watch.working("checking dispatches in the program")
        try:
            with self._at_once():
                seconds = _APART_S + _APART_PART * self.budget.total_s
                found = check.result(seconds, narrow=not self.versions.widened())
                if tuned.target == self.lab.target:
                    self.versions.depth = replace(self.versions.depth, moves=found.judged.moves)
                reached = tuple(entry for entry in tuned.reached if entry not in found.wrong)
                return replace(tuned, reached=reached, notes=(*tuned.notes, *found.notes))
        except TunerError as error:
            return replace(tuned, notes=(*tuned.notes, not_checked(error)))
        return tuned  # stopped

    def _judged(self, tuned: Sequence[TunedVariant]) -> tuple[Verdict, str]:
        """The program's verdict; where it cannot be run, the entries stand by their own verdicts."""
        few, given = len(tuned[0].results) > _MANY, self.lab.target
        judge = ProgramJudge(
            self.versions, given, self.plan.effort, self.budget, self.plan.options.in_model, few_places=few,
            mend=self._mended,
        )  # fmt: skip
        try:
            return judge.choose(tuned), ""
        except TunerError as error:
            first = next((each for each in tuned if each.target == given), tuned[0])
            return Verdict(first, first.version), f"the whole program was not compared: {error}"

    def _blame(self, version: ProgramVersion, after_s: float = 0.0) -> Blame | None:
        """The faults of a version with wrong results; None without time to look."""
        if self.findings.stop.requested or not self.budget.apart_fits(after_s):
            return None
        self.watch.working(f"finding the cause of wrong results with {version.what}")
        with self._at_once():
            found = blame(
                version, self.lab.target, self.program, self.versions.wrong.get(version, self.plan.run),
                self.dispatches, self.lab,
                _APART_S + _APART_PART * self.budget.total_s,
            )  # fmt: skip
            self.watch.noted(found.note)
            self.blamed.append(found)
            return found
        return None  # stopped

    def _mended(self, version: ProgramVersion, found: ProgramComparison) -> ProgramVersion | None:
        """A version with kernels, without wrong ones or flags it fails with; None where there is none."""
        cause = None if found.agreement.ok else self._blame(version, self.budget.verdict_s(1))
        if cause is None and not found.agreement.ok:
            return None
        blamed = [each.dispatch for each in cause.findings] if cause else None
        mended = competing.mended_with(version, self.kernel_versions, blamed, self.lab, self.folder)
        self.kernel_versions |= mended
        return next(iter(mended), None)

    def _explain_flags(self) -> None:
        """Why flags were refused that give wrong results: the first of them, if there is time."""
        known = {found.version for found in self.blamed} | set(self.kernel_versions)
        refused = [each for each in self.versions.wrong if not each.entries and each not in known]
        if refused and self.budget.explanation_fits(self.lab.time_use(self.timeline)):
            self._blame(refused[0])

    def _profiled_after(self, variant: FlagVariant, verdict: Verdict) -> Profile | None:
        """Where the time goes with the result; None where nothing changes, or there is no time to look."""
        measured = self.budget.measured
        before, with_kernels = variant.profile, verdict.version in self.kernel_versions
        if (
            not self.plan.profiled
            or verdict.found is None
            or before is None
            or (with_kernels and before.method != "hal")
        ):
            return None  # kernels are not dispatches, which can be timed alone
        if self.findings.stop.requested or self.budget.left_s < 1.5 * measured.profile_s:
            return None
        with self.timeline.stage("profile"):
            vmfb = self.versions.vmfb(verdict.version)
            return profile_of(
                self.program, vmfb, variant.dispatches, variant.lab, self.plan, self.budget, self.watch
            )[0]

    def _hitting(self, version: ProgramVersion) -> tuple[SpecEntry, ...]:
        """Entries of a version that reach dispatches: the other dispatches are kernels now."""
        with self.timeline.stage("matcher check"), suppress(TunerError):
            return tuple(reaching(version.entries, self.program, self.lab.on(version.target))[0])
        return version.entries  # not known: the compiler does not survive the check

    def _result(self, verdict: Verdict, choices: Sequence[FlagChoice], notes: Sequence[str]) -> TuningResult:
        lab = self.lab
        with_kernels = verdict.version in self.kernel_versions
        target = competing.without_kernels(verdict.version.target) if with_kernels else verdict.version.target
        flags = flags_for_options(target) if options_of(target) != options_of(lab.target) else ()
        entries = self._hitting(verdict.version) if with_kernels else verdict.version.entries
        told = [*notes, verdict.note, *verdict.tuned.notes, *(each.note for each in self.blamed)]
        told.append(self.plan.run.doubt)
        chosen = self.kernel_versions.get(verdict.version, [])
        return TuningResult(
            self.program, target, verdict.tuned.results,
            build_spec(entries, lab.context, flags=(*flags, *target.user_flags)),
            verdict.found,
            "; ".join(dict.fromkeys(filter(None, told))), self.findings.stop.requested,
            bool(verdict.left_out) and not entries, flags=flags,
            flags_alone=verdict.flags_alone, left_out=verdict.left_out, entries=entries,
            choices=tuple(choices), steps=tuple(self.versions.steps), run=self.findings.records.run,
            kernels=tuple(chosen),
            kernels_target=executable_target(target, lab.compilers) if with_kernels else "",
            facts=lab.measurer.facts,
        )  # fmt: skip
