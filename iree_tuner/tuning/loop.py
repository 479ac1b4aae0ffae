"""The steps of a run in their order. This is the only module that uses all rooms.

program -> flags -> dispatches -> workloads -> spaces -> candidates -> measurements -> verdicts -> spec
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import TunerError
from iree_tuner.kernels import in_program, source
from iree_tuner.kernels.find import Places, begin_finding, executable_target
from iree_tuner.kernels.kernel import Kernel
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.profiling.profile import Profile
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.source import Program
from iree_tuner.result import TuningResult
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import check_against_program
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import Target
from iree_tuner.targets.options import flags_for_options, options_of
from iree_tuner.tuning.faults import Blame, EntryCheck, blame, not_checked
from iree_tuner.tuning.flags import (
    FlagChoice,
    choose_flags,
    choose_runtime,
    runtime_flags_of,
    untuned,
    worth_tuning,
)
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.reading import ReadProgram, profile_of, read_program, with_profile
from iree_tuner.tuning.result import entries_of
from iree_tuner.tuning.run import Run
from iree_tuner.tuning.timeline import APART
from iree_tuner.tuning.verdict import ProgramJudge, Tuned, Verdict
from iree_tuner.tuning.versions import ProgramVersion
from iree_tuner.tuning.workloads import tune_workloads

_FIRST_PART = 0.6  # of the search, for the faster of two choices of flags
_APART_S, _APART_PART = 1.0, 0.01  # for dispatches in the program, on further inputs; of the budget
_MANY = 12  # workloads: what the place of code does to each levels out


@dataclass(eq=False)
class TuningLoop(Run):
    """A run that goes on to its result: `tune`."""

    kernels: Sequence[Kernel]  # external kernels to compare
    folder: Path  # for their specs

    def __post_init__(self) -> None:
        super().__post_init__()
        self._competitors: source.Competitors | None = None
        self._kernel_versions: dict[ProgramVersion, in_program.Chosen] = {}
        self._blamed: list[Blame] = []
        self._dispatches: Sequence[Dispatch] = ()

    def tune(self) -> TuningResult:
        """Run all steps and return the result."""
        with self.timeline.stage("reading the program"):
            self.versions.begin(untuned(self.lab.target), plain=True)
            self.versions.begin_widened()
            given = self._read(self.lab)
            self._dispatches = given.dispatches
            self.lab.check_devices()
            self.versions.check_compiles(untuned(self.lab.target))
            self.budget.runtime_flags = len(runtime_flags_of(self))
        with self.stop:
            self.versions.begin(untuned(self.lab.target))
            finding = None if self.lab.on_host else self._finding()  # it would disturb what is timed there
            with self.timeline.stage("flags"):
                tried, flags_note = choose_flags(self)
            with self.timeline.stage("kernels"):
                kernels_note = self._find_kernels(finding or self._finding())
            kept = worth_tuning(tried.choices)[: 1 if self.budget.is_short else None]
            self.before_s = tried.searched_s / len(kept)
            tuned: list[Tuned] = []
            reads: dict[Target, ReadProgram] = {}
            for place, choice in enumerate(kept):
                if tuned and self.stop.requested:
                    break
                part = _FIRST_PART if place == 0 and len(kept) > 1 else 1.0
                known = choice.target == self.lab.target
                read = with_profile(self, given if known else self._read(self.lab.on(choice.target)))
                reads[choice.target] = read
                tuned.append(self._tuned(read, choice, len(kept), part))
            with self.timeline.stage("verdict"):  # all that is left to compile, at once
                checks = [self._begin_last(each, reads[each.target]) for each in tuned]
                self.versions.settle()
            with self.timeline.stage(APART):
                tuned = [self._sound(*each) for each in zip(tuned, checks, strict=True)]
            with self.timeline.stage("verdict"):
                verdict, problem = self._judged(tuned)
            with self.timeline.stage(APART):
                self._explain_flags()
            with self.timeline.stage("runtime flags"):
                runtime = choose_runtime(self, None if problem else verdict.version)
            before = self._profile_before(reads.get(self.lab.target), given, verdict)
            after = self._profile_after(reads[verdict.tuned.target], verdict)
            result = self._result(verdict, tried.choices, (flags_note, kernels_note, problem, runtime.note))
            result.profiles, result.runtime = (before, after), runtime
            result.time = self.lab.time_use(self.timeline)
            records = self.records
            for each in result.record().findings():
                records.write(lambda store, each=each: store.add_finding(records.run, each.kind, each.body))
            result.failure = records.rescue()
            return result

    def _read(self, lab: Lab) -> ReadProgram:
        with self.timeline.stage("reading the program"):
            read = read_program(self.program, lab, self.watch, self.how.functions)
        longest, known = max(task.workload.reduction_length for task in read.tasks), self.versions.depth
        self.versions.depth = ErrorDepth(
            max(known.longest, longest), max(known.dispatches, len(read.dispatches)), known.moves
        )
        return read

    def _finding(self) -> Future[Places] | None:
        """Begin to find the ops that kernels compute."""
        if not self.kernels or self.options.self_test or self.stop.requested:
            return None
        return begin_finding(self.program, self.lab.target, self.lab.compilers, self.kernels)

    def _find_kernels(self, finding: Future[Places] | None) -> str:
        """Find kernels for ops. Returns a note if there are none."""
        if finding is None or self.stop.requested:
            return ""
        self.watch.working("finding dispatches for kernels")
        try:
            found = source.find_competitors(finding, self._dispatches, self.kernels, self.lab, self.records)
        except TunerError as error:
            return f"no kernels were compared: {error}"
        self._competitors, self.replaced = found, found.replaced
        cap = source.most_variants(self.effort.name, limited=self.options.budget_s is not None)
        for kind in filter(None, found.kinds):
            self.competing.setdefault(kind.workload, []).append((kind, cap))
        for note in found.notes:
            self.watch.noted(note)
        self.budget.proofs += found.apply  # compared, and proven, with them too
        return "" if found.apply else "no kernel applies to the program"

    def _tuned(self, read: ReadProgram, choice: FlagChoice, of: int, part: float) -> Tuned:
        competitors, given = self._competitors, self.lab.target
        further = (given,) if of == 1 and choice.target != given else ()
        versions = 2
        if competitors is not None:
            versions += competitors.versions(choice.target, len(further))
            read = replace(read, extra=competitors.beside(read.tasks, choice.speedup))
        results = tune_workloads(self, read, versions=of * versions, part=part)
        with self.timeline.stage("matcher check"):
            entries, notes = entries_that_match(entries_of(results), self.program, read.lab)
        tuned = Tuned(read.lab.target, tuple(results), tuple(entries), tuple(notes))
        choices = competitors.choices(results, tuned.target, self.lab) if competitors else {}
        made = source.versions_with(tuned, choices, self.lab, self.folder, further)
        self._kernel_versions |= made
        return replace(tuned, more=tuple(made))

    def _begin_last(self, tuned: Tuned, read: ReadProgram) -> EntryCheck | None:
        """Begin to compile the versions of the verdict and, if there is time, the check of entries."""
        self.versions.begin(*tuned.versions(self.lab.target))
        fits = self.budget.apart_fits(self.budget.least_verdict_s(2))  # right, before it is certain
        if not tuned.reached or self.stop.requested or not fits:
            return None
        return EntryCheck(tuned.reached, self.program, self.how, read.dispatches, read.lab)

    def _sound(self, tuned: Tuned, check: EntryCheck | None) -> Tuned:
        """Without entries that are wrong in the program, if there is time to check."""
        if check is None or self.stop.requested:
            return tuned
        self.watch.working("checking dispatches in the program")
        try:
            with self.at_once():
                seconds = _APART_S + _APART_PART * self.budget.total_s
                found = check.result(seconds, narrow=not self.versions.widened())
                if tuned.target == self.lab.target:
                    self.versions.depth = replace(self.versions.depth, moves=found.judged.moves)
                reached = tuple(entry for entry in tuned.reached if entry not in found.wrong)
                return replace(tuned, reached=reached, notes=(*tuned.notes, *found.notes))
        except TunerError as error:
            return replace(tuned, notes=(*tuned.notes, not_checked(error)))
        return tuned  # stopped

    def _judged(self, tuned: Sequence[Tuned]) -> tuple[Verdict, str]:
        """The program's verdict. If the program cannot be run, the entries' own verdicts count."""
        few, given = len(tuned[0].results) > _MANY, self.lab.target
        judge = ProgramJudge(
            self.versions, given, self.effort, self.budget, self.options.in_model, few_places=few,
            mend=self._mended,
        )  # fmt: skip
        try:
            return judge.choose(tuned), ""
        except TunerError as error:
            first = next((each for each in tuned if each.target == given), tuned[0])
            return Verdict(first, first.version), f"the whole program was not compared: {error}"

    def _blame(self, version: ProgramVersion, after_s: float = 0.0) -> Blame | None:
        """The faults of a version with wrong results; None if there is no time to find them."""
        if self.stop.requested or not self.budget.apart_fits(after_s):
            return None
        self.watch.working(f"finding the cause of wrong results with {version.what}")
        with self.at_once():
            found = blame(
                version, self.lab.target, self.program, self.versions.wrong.get(version, self.how),
                self._dispatches, self.lab,
                _APART_S + _APART_PART * self.budget.total_s,
            )  # fmt: skip
            self.watch.noted(found.note)
            self._blamed.append(found)
            return found
        return None  # stopped

    def _mended(self, version: ProgramVersion, found: ProgramComparison) -> ProgramVersion | None:
        """A version with kernels, without wrong kernels or the flags it fails with; None if there is none."""
        cause = None if found.agreement.ok else self._blame(version, self.budget.verdict_s(1))
        if cause is None and not found.agreement.ok:
            return None
        blamed = [each.dispatch for each in cause.findings] if cause else None
        mended = source.mended_with(version, self._kernel_versions, blamed, self.lab, self.folder)
        self._kernel_versions |= mended
        return next(iter(mended), None)

    def _explain_flags(self) -> None:
        """Explain why flags were refused that give wrong results: the first of them, if there is time."""
        known = {found.version for found in self._blamed} | set(self._kernel_versions)
        refused = [each for each in self.versions.wrong if not each.entries and each not in known]
        if refused and self.budget.explanation_fits(self.lab.time_use(self.timeline)):
            self._blame(refused[0])

    def _profile_before(
        self, known: ReadProgram | None, given: ReadProgram, verdict: Verdict
    ) -> Profile | None:
        """Of the original program; None if it is not wanted, or there was no time."""
        if known is not None:
            return known.profile if self.profiled else None
        profile_s = self.budget.measured.profile_s
        if not self.profiled or not profile_s or verdict.found is None or self.stop.requested:
            return None
        return with_profile(self, given).profile if self.budget.left_s >= 3.0 * profile_s else None

    def _profile_after(self, read: ReadProgram, verdict: Verdict) -> Profile | None:
        """Of the result; None if nothing changes, or there is no time."""
        before, with_kernels = read.profile, verdict.version in self._kernel_versions
        if (
            not self.profiled
            or verdict.found is None
            or before is None
            or (with_kernels and before.method != "hal")
        ):
            return None  # kernels are not dispatches, which can be timed alone
        if self.stop.requested or self.budget.left_s < 1.5 * self.budget.measured.profile_s:
            return None
        with self.timeline.stage("profile"):
            return profile_of(self, read, self.versions.vmfb(verdict.version))[0]

    def _hitting(self, version: ProgramVersion) -> tuple[SpecEntry, ...]:
        with self.timeline.stage("matcher check"), suppress(TunerError):
            return tuple(entries_that_match(version.entries, self.program, self.lab.on(version.target))[0])
        return version.entries  # not known: the compiler does not survive the check

    def _result(self, verdict: Verdict, choices: Sequence[FlagChoice], notes: Sequence[str]) -> TuningResult:
        lab = self.lab
        with_kernels = verdict.version in self._kernel_versions
        target = source.without_kernels(verdict.version.target) if with_kernels else verdict.version.target
        flags = flags_for_options(target) if options_of(target) != options_of(lab.target) else ()
        entries = self._hitting(verdict.version) if with_kernels else verdict.version.entries
        told = [*notes, verdict.note, *verdict.tuned.notes, *(each.note for each in self._blamed)]
        told.append(self.how.doubt)
        chosen = self._kernel_versions.get(verdict.version, [])
        return TuningResult(
            self.program, target, verdict.tuned.results,
            build_spec(entries, lab.context, flags=(*flags, *target.user_flags)),
            verdict.found,
            "; ".join(dict.fromkeys(filter(None, told))), self.stop.requested,
            bool(verdict.left_out) and not entries, flags=flags,
            flags_alone=verdict.flags_alone, left_out=verdict.left_out, entries=entries,
            choices=tuple(choices), steps=tuple(self.versions.steps), run=self.records.run,
            kernels=tuple(chosen),
            kernels_target=executable_target(target, lab.compilers) if with_kernels else "",
            facts=lab.measurer.facts,
        )  # fmt: skip


def entries_that_match(
    entries: Sequence[SpecEntry], program: Program, lab: Lab
) -> tuple[list[SpecEntry], list[str]]:
    """The entries that reach their dispatches in the whole program, and messages about the others.

    The program is compiled to `executable-configurations` with the spec inside, as a user would.

    Raises:
        TunerError: the compiler does not survive the spec.
    """
    if not entries:
        return [], []
    spec = build_spec(entries, lab.context)
    found = check_against_program(spec, program.data, lab.target, name=program.name, workers=lab.compilers)
    # Matchers stand in the order of their entries.
    reached = [
        entry
        for entry, matcher in zip(entries, found.matchers, strict=True)
        if matcher.hits and not any(hit.ignored for hit in matcher.hits)
    ]
    return reached, [str(problem) for problem in found.problems]
