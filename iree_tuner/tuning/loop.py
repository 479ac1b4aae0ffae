"""The steps of a run in their order. This is the only module that uses all rooms.

program -> flags -> dispatches -> workloads -> spaces -> candidates -> measurements -> verdicts -> spec
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from iree.compiler import ir

from iree_tuner.compiler.session import parse_module
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import TunerError
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.profiling.profile import Profile
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.source import Program
from iree_tuner.result import TuningResult
from iree_tuner.spec.build import build_spec, record_flags
from iree_tuner.spec.check import begin_check
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.spec.grammar import entry_sequences
from iree_tuner.spec.link import link_specs
from iree_tuner.tuning.budget import FIRST_S, PROFILE_AGAIN
from iree_tuner.tuning.faults import Blame, Soundness, begin_entry_check, blame, not_checked
from iree_tuner.tuning.flags import (
    FlagChoice,
    Flags,
    RuntimeChoice,
    choose_flags,
    choose_last,
    flags_that_fit,
    fuses_more,
    time_default,
    untuned,
    worth_tuning,
)
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import INSTANT
from iree_tuner.tuning.queue import NOT_TRIED
from iree_tuner.tuning.reading import ReadProgram, profile_of, read_program, with_profile
from iree_tuner.tuning.result import WorkloadResult, entries_of
from iree_tuner.tuning.run import Run
from iree_tuner.tuning.source import CandidateSource, Found, flags_of, specs_of
from iree_tuner.tuning.timeline import APART
from iree_tuner.tuning.verdict import EarlierVerdict, ProgramJudge, Tuned, Verdict, against_earlier
from iree_tuner.tuning.versions import Change, ComparisonPlan, ProgramVersion
from iree_tuner.tuning.workloads import tune_workloads

_FIRST_PART = 0.6  # of the search, for the faster of two choices of flags
_APART_S, _APART_PART = 1.0, 0.01  # for dispatches in the program, on further inputs; of the budget
_SOON_S = 10.0  # a user who stops a run waits so long for the program's verdict
_MANY = 12  # workloads: what the place of code does to each levels out


_Finding = Sequence[tuple[CandidateSource, Callable[[], Found]]]
_EntryCheck = Callable[[float, bool], Soundness]


@dataclass(eq=False)
class TuningLoop(Run):
    """A run that goes on to its result: `tune`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            if self.earlier is not None:
                self.versions.applied(self.earlier.version)
        except TunerError as error:  # it contradicts a spec that the program carries
            self.watch.noted(f"the earlier result does not count: {error}")
            self.earlier = None
        self._found: dict[str, Found] = {}  # by the source's name
        self._blamed: list[Blame] = []
        # of versions, the entries that reach their dispatches: waits for them
        self._hitting: dict[ProgramVersion, Callable[[], tuple[Sequence[SpecEntry], Sequence[str]]]] = {}

    def tune(self) -> TuningResult:
        with self.timeline.stage("reading the program"):
            self.versions.begin(untuned(self.lab.target), plain=True)
            self.versions.begin_widened()
            finding = self._finding()
            given = self._read(FlagChoice(self.lab.target))
            self.dispatches = given.dispatches
            self.lab.check_devices()
            self.versions.check_compiles(untuned(self.lab.target))
            self.budget.runtime_flags = sum(len(each.last(self)) for each in self.sources)
        with self.stop:
            self.versions.begin(untuned(self.lab.target))
            given, first, sources_note = self._first(given, finding)
            with self.timeline.stage("flags"):
                likely, gain = (first.version, first.gain) if first else (None, 1.0)
                tried, flags_note = choose_flags(self, likely, gain)
            kept = worth_tuning(tried.choices)[: 1 if self.budget.is_short else None]
            self.before_s = tried.searched_s / len(kept)
            over = first is not None and self.budget.is_over
            tuned: list[Tuned] = []
            reads: dict[ProgramVersion, ReadProgram] = {}
            for place, choice in enumerate(kept):
                if tuned and self.stop.requested:
                    break
                part = _FIRST_PART if place == 0 and len(kept) > 1 else 1.0
                known = choice.version == given.version
                read = given if known else self._read(choice)
                if over or not self.effort.trials:
                    reads[choice.version] = read
                    tuned.append(_untried(read, choice, NOT_TRIED) if over else self._known(read, choice))
                    continue
                read = with_profile(self, read)
                reads[choice.version] = read
                tuned.append(self._tuned(read, choice, len(kept), part))
            verdict, problem = self._decided(tuned, reads, first, over=over)
            with self.timeline.stage("verdict"):
                verdict, against = self._against_earlier(verdict, problem)
            with self.timeline.stage(APART):
                self._explain_flags()
            with self.timeline.stage("runtime flags"):
                runtime = RuntimeChoice() if problem else choose_last(self, verdict.version)
            before = self._profile_before(reads.get(given.version), given, verdict)
            after = self._profile_after(reads[verdict.tuned.base], verdict)
            result = self._result(verdict, tried.choices, (flags_note, sources_note, problem, runtime.note))
            result.profiles, result.runtime, result.earlier = (before, after), runtime, against
            result.time = self.lab.time_use(self.timeline)
            records = self.records
            for each in result.record().findings():
                records.write(lambda store, each=each: store.add_finding(records.run, each.kind, each.body))
            result.failure = records.rescue()
            return result

    def _first(self, given: ReadProgram, finding: _Finding) -> tuple[ReadProgram, Verdict | None, str]:
        """Sources' findings, the first answer, and a profile while that compiles: the steps before flags."""
        with self.timeline.stage("other candidates"), self.at_once():
            self.lab.settle()  # nothing may compile on cores that are timed
        if self.lab.alternate:
            self._time_default()
        notes, likely = list[str](), None
        with self.timeline.stage("other candidates"), self.at_once():
            notes = self._find(finding)
            likely = self._likely(FlagChoice(self.lab.target))
        self._time_default()  # while that compiles
        first = None
        if likely and self.lab.alternate:  # it is compiled
            with self.timeline.stage("first answer"):
                first = self._first_answer(*likely)
        if first is None or not self.budget.is_over:  # otherwise it is the result
            with self.timeline.stage("other candidates"), self.at_once():
                notes += self._prepare()
        later = likely is not None and fuses_more(self)  # a much faster first answer leaves this to be tried
        if self.effort.trials and not later and not flags_that_fit(self):
            given = with_profile(self, given)
        if likely and not self.lab.alternate:
            with self.timeline.stage("first answer"):
                first = self._first_answer(*likely)
        return given, first, "; ".join(notes)

    def _time_default(self) -> None:
        """Find out how long the program takes, once; where it does not run, the verdict says why."""
        with self.timeline.stage("flags"), self.at_once(), suppress(TunerError):
            if self.sources:
                time_default(self)

    def _read(self, choice: FlagChoice) -> ReadProgram:
        with self.timeline.stage("reading the program"):
            own = self.versions.applied(choice.version)
            lab = self.lab.on(own.target) if choice.base else self.lab
            read = read_program(own.program, choice.version, lab, self.watch, self.how.functions)
        longest, known = max(task.workload.reduction_length for task in read.tasks), self.versions.depth
        self.versions.depth = ErrorDepth(
            max(known.longest, longest), max(known.dispatches, len(read.dispatches)), known.moves
        )
        return read

    def _finding(self) -> _Finding:
        """Begin to find what the sources can change."""
        if self.stop.requested:
            return []
        begun = ((source, source.begin(self)) for source in self.sources)
        return [(source, found) for source, found in begun if found is not None]

    def _find(self, finding: _Finding) -> list[str]:
        """Wait for what the sources can change. Returns notes about those that failed."""
        notes: list[str] = []
        for source, found_by in finding:
            if self.stop.requested:
                break
            self.watch.working(f"finding dispatches for {source.name}")
            try:
                self._found[source.name] = found_by()
            except TunerError as error:
                notes.append(_not_compared(source, error))
        return notes

    def _prepare(self) -> list[str]:
        """Time what candidates are compared with. Returns notes about sources that can change nothing."""
        notes: list[str] = []
        for source in self.sources:
            if source.name not in self._found or self.stop.requested:
                continue
            self.watch.working(f"timing the compiler's code for what {source.name} replace")
            try:
                found = self._found[source.name] = self._found[source.name].prepared(self)
            except TunerError as error:
                del self._found[source.name]
                notes.append(_not_compared(source, error))
                continue
            self.replaced |= set(found.replaced)
            for kind, most in found.candidates:
                self.competing.setdefault(kind.workload, []).append((kind, most))
            for note in found.notes:
                self.watch.noted(note)
            self.budget.sources += found.applies
            if not found.applies:
                notes.append(f"no {source.noun} applies to the program")
        return notes

    def _tuned(self, read: ReadProgram, choice: FlagChoice, of: int, part: float) -> Tuned:
        further = (untuned(self.lab.target),) if of == 1 and choice.changes else ()
        again = (self.earlier is not None) + bool(self.proven)  # earlier results, compared with later ones
        more = sum(each.count(read.lab.target, len(further)) for each in self._found.values())
        versions = 2 + min(more, self.budget.versions_at_the_end)
        beside = [pair for each in self._found.values() for pair in each.beside(read.tasks, choice.speedup)]
        read = replace(read, extra=beside)
        results = tune_workloads(self, read, versions=of * versions + again, part=part)
        tuned = Tuned(choice.target, tuple(results), tuple(entries_of(results)), changes=choice.changes)
        return self._checked(tuned, read, further)

    def _checked(self, tuned: Tuned, read: ReadProgram, further: Sequence[ProgramVersion] = ()) -> Tuned:
        """With its versions, and without entries that do not reach their dispatches in the program."""
        checked, early = begin_matching(tuned.reached, read.program, read.lab), not self.lab.alternate
        if early:  # nearly always, all do: the versions are compiled meanwhile
            tuned = replace(tuned, more=self._versions(tuned, further))
            self.versions.begin(*tuned.versions(untuned(self.lab.target)))
        with self.timeline.stage("spec check"):
            entries, notes = checked()
        same = tuple(entries) == tuned.reached
        tuned = replace(tuned, reached=tuple(entries), notes=tuple(notes))
        return tuned if same and early else replace(tuned, more=self._versions(tuned, further))

    def _versions(self, tuned: Tuned, further: Sequence[ProgramVersion] = ()) -> tuple[ProgramVersion, ...]:
        """Versions with what sources can change on top of what was tuned; none if nothing was, on request."""
        tried = (each.trials or any(other.trials for other in each.competitors) for each in tuned.results)
        if self.stop.requested and not any(tried):
            return ()
        begun = self.timeline.clock()
        with self.timeline.stage("other candidates"):
            found = [
                version for each in self._found.values() for version in each.versions(self, tuned, further)
            ]
        self.budget.measured.choices_s = self.timeline.clock() - begun
        return tuple(found[-self.budget.versions_at_the_end :])  # the last ones have most changes

    def _known(self, read: ReadProgram, choice: FlagChoice) -> Tuned:
        """The program with configurations from specs, and what sources choose without a search."""
        found = [
            starters[0].entry(task.workload)
            for task in read.tasks
            if (starters := self.starters.get(task.workload.key))
        ]
        untried = _untried(read, choice, f"not tried: --effort {INSTANT}")
        return self._checked(replace(untried, reached=tuple(found)), read)

    def _likely(self, choice: FlagChoice) -> tuple[Tuned, ProgramVersion] | None:
        """Begin to compile the version that sources would choose before any search, if it costs little."""
        if self.stop.requested or not self.effort.trials or not self.budget.first_fits(self.lab.alternate):
            return None
        known = Tuned(choice.target, (), (), changes=choice.changes)
        versions = self._versions(known)
        if not versions:
            return None
        # Without further flags, and with most changes: later ones have more.
        likely = min(reversed(versions), key=lambda each: len(flags_of(each.changes, [Flags()])))
        likely = replace(likely, what=f"{likely.what} (first answer)")
        self.versions.begin(likely)
        self.lab.settle()
        return replace(known, more=(likely,)), likely

    def _first_answer(self, known: Tuned, likely: ProgramVersion) -> Verdict | None:
        """Compare it with the original program: what is kept if the user wants the answer at once."""
        if self.stop.requested:
            return None
        look = ComparisonPlan(1, self.effort.program_rounds, self.effort.program_batch_s, FIRST_S)
        try:
            with self.at_once():
                (found,) = self.versions.compare(untuned(self.lab.target), [likely], look)
                if found.ok and self.budget.may_be_cold(self.lab.alternate):
                    self.versions.check_again(untuned(self.lab.target), likely)
                if found.comparison is not None and found.comparison.verdict == "win":
                    self.budget.measured.version_s = found.comparison.candidate_us * 1e-6
                    took_s = self.timeline.clock() - self.timeline.began
                    self.watch.noted(
                        f"first answer after {took_s:.0f} s: {found.comparison.speedup:.2f}x; Ctrl-C keeps it"
                    )
                    self.proven = likely.changes
                    return Verdict(known, likely, found)
        except TunerError as error:
            self.watch.noted(f"no first answer: {error}")
        return None

    def _decided(
        self, tuned: Sequence[Tuned], reads: Mapping[ProgramVersion, ReadProgram], first: Verdict | None,
        *, over: bool,
    ) -> tuple[Verdict, str]:  # fmt: skip
        """The program's verdict, or the first answer if that is the last; and why nothing was compared."""
        if first is None:
            return self._verdict(tuned, reads)
        answer = replace(first, tuned=replace(tuned[0], more=first.tuned.more))
        versions = sum(len(each.versions(untuned(self.lab.target))) for each in tuned)
        if over or (self.stop.requested and self.budget.least_verdict_s(versions) > _SOON_S):
            return answer, ""  # a user who stops the run does not wait so long for another
        # It is compared in turns with the others, if there is time for one more.
        known, room = any(first.version in each.more for each in tuned), self.budget.versions_at_the_end
        fits = self.budget.least_verdict_s(versions + 1) <= self.budget.left_s
        if not known and len(tuned[0].more) < room and fits:
            tuned = [replace(tuned[0], more=(*tuned[0].more, first.version)), *tuned[1:]]
        verdict, problem = self._verdict(tuned, reads)
        again = not problem and any(first.version in each.more for each in tuned)
        if not again and _is_faster(first, verdict):  # by numbers of different times: the machine may differ
            answer = replace(answer, note="the first answer is faster than what was found after it")
            return answer, problem
        return verdict, problem

    def _against_earlier(self, verdict: Verdict, problem: str) -> tuple[Verdict, EarlierVerdict | None]:
        """The verdict after a comparison with the earlier result, which is used unless the new one wins."""
        if self.earlier is None:
            return verdict, None
        if verdict.found is not None and verdict.earlier is None and not problem:
            verdict, problem = self._in_turns(verdict, self.earlier.version)
        why_not = problem or ("interrupted" if self.stop.requested else "out of time")
        verdict, found = against_earlier(verdict, self.earlier, why_not)
        if found.comparison is not None:
            what = verdict.version.what if found.state == "beaten" else "the new result"
            self.versions.compared(what, self.earlier.version.what, found.comparison)
        return verdict, found

    def _in_turns(self, verdict: Verdict, earlier: ProgramVersion) -> tuple[Verdict, str]:
        """A first answer compared once more, in turns with the earlier result, if there is time; why not."""
        needed_s = self.budget.least_verdict_s(2)
        if needed_s > (_SOON_S if self.stop.requested else self.budget.left_s):
            return verdict, ""
        given, effort = untuned(self.lab.target), self.effort
        seconds = self.budget.comparison_s(2, 1, needed_s)
        look = ComparisonPlan(1, effort.program_rounds, effort.program_batch_s, seconds)
        try:
            found, known = self.versions.compare(given, [verdict.version, earlier], look, earlier)
        except TunerError as error:
            return verdict, f"the program fails: {error}"
        return replace(verdict, found=found if found.ok else verdict.found, earlier=known), ""

    def _verdict(
        self, tuned: Sequence[Tuned], reads: Mapping[ProgramVersion, ReadProgram]
    ) -> tuple[Verdict, str]:
        with self.timeline.stage("verdict"):  # all that is left to compile, at once
            checks = [self._begin_last(each, reads[each.base]) for each in tuned]
            self.versions.settle()
            for version in () if self.lab.alternate else [one for each in tuned for one in each.more]:
                self._begin_hitting(version)  # while they are compared
        with self.timeline.stage(APART):
            tuned = [self._sound(*each) for each in zip(tuned, checks, strict=True)]
        with self.timeline.stage("verdict"):
            return self._judged(tuned)

    def _begin_last(self, tuned: Tuned, read: ReadProgram) -> _EntryCheck | None:
        """Begin to compile the versions of the verdict and, if there is time, the check of entries."""
        self.versions.begin(*tuned.versions(untuned(self.lab.target)))
        if self.earlier is not None:
            self.versions.begin(self.earlier.version)
        fits = self.budget.apart_fits(self.budget.least_verdict_s(2))  # right, before it is certain
        if not tuned.reached or self.stop.requested or not fits:
            return None
        return begin_entry_check(tuned.reached, read.program, self.how, read.dispatches, read.lab)

    def _sound(self, tuned: Tuned, check: _EntryCheck | None) -> Tuned:
        """Without entries that are wrong in the program, if there is time to check."""
        if check is None or self.stop.requested:
            return tuned
        self.watch.working("checking dispatches in the program")
        try:
            with self.at_once():
                seconds = _APART_S + _APART_PART * self.budget.total_s
                found = check(seconds, not self.versions.widened())
                if tuned.base == untuned(self.lab.target):
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
            mend=self._mended, earlier=self.earlier.version if self.earlier else None,
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
                version, self.lab.target, self.versions, self.program,
                self.versions.wrong.get(version, self.how), self.dispatches, self.lab,
                _APART_S + _APART_PART * self.budget.total_s,
            )  # fmt: skip
            self.watch.noted(found.note)
            self._blamed.append(found)
            return found
        return None  # stopped

    def _mended(self, version: ProgramVersion, found: ProgramComparison) -> ProgramVersion | None:
        """A version without wrong changes or the flags it fails with; None if there is none."""
        cause = None if found.agreement.ok else self._blame(version, self.budget.verdict_s(1))
        if cause is None and not found.agreement.ok:
            return None
        blamed = [each.dispatch for each in cause.findings] if cause else None
        mended = (each.without(version, blamed) for each in self._found.values())
        return next(filter(None, mended), None)

    def _explain_flags(self) -> None:
        """Explain why flags were refused that give wrong results: the first of them, if there is time."""
        known = {found.version for found in self._blamed}
        refused = [
            each
            for each in self.versions.wrong
            if not each.entries and each not in known and flags_of(each.changes, self.sources)
        ]
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
        before, changed = read.profile, verdict.version.changes != verdict.tuned.changes
        if (
            not self.profiled
            or verdict.found is None
            or before is None
            or (changed and before.method != "hal")
        ):
            return None  # what changes may not be dispatches, which can be timed alone
        if self.stop.requested or self.budget.left_s < PROFILE_AGAIN * self.budget.measured.profile_s:
            return None
        with self.timeline.stage("profile"):
            changes = verdict.version.changes if changed else ()
            return profile_of(self, read, self.versions.vmfb(verdict.version), changes)[0]

    def _begin_hitting(self, version: ProgramVersion) -> None:
        """Begin to look which entries reach a dispatch that is left when the changes are made."""
        if version not in self._hitting:
            own = self.versions.applied(replace(version, entries=()))
            lab = self.lab.on(own.target)
            self._hitting[version] = begin_matching(version.entries, own.program, lab)

    def _hits(self, version: ProgramVersion) -> tuple[SpecEntry, ...]:
        with self.timeline.stage("spec check"), suppress(TunerError):
            self._begin_hitting(version)
            return tuple(self._hitting[version]()[0])
        return version.entries  # not known: the compiler does not survive the check

    def _result(self, verdict: Verdict, choices: Sequence[FlagChoice], notes: Sequence[str]) -> TuningResult:
        lab, version, sources = self.lab, verdict.version, self.every_source
        flags = flags_of(version.changes, sources)  # the spec records them
        by_flags = [each for each in version.changes if flags_of([each], sources)]
        target = self.versions.applied(ProgramVersion("", version.target, (), tuple(by_flags))).target
        same = version.changes == verdict.tuned.changes
        entries = version.entries if same else self._hits(version)
        told = [*notes, verdict.note, *verdict.tuned.notes, *(each.note for each in self._blamed)]
        told.append(self.how.doubt)
        others = tuple(each for each in version.changes if each.source != Flags.name)  # `target` has these
        nouns = {each.name: each.noun for each in sources}
        added = specs_of(version.changes, sources)
        return TuningResult(
            self.program, target,
            with_replaced(verdict.tuned.results, version.changes, self.dispatches, nouns),
            result_spec(entries, added, (*flags, *target.user_flags), lab.context),
            verdict.found,
            "; ".join(dict.fromkeys(filter(None, told))), self.stop.requested,
            bool(verdict.left_out) and not entries, flags=flags,
            flags_alone=verdict.flags_alone, left_out=verdict.left_out, entries=entries,
            choices=tuple(choices), steps=tuple(self.versions.steps), run=self.records.run,
            changes=others, sources=sources, facts=lab.measurer.facts, options=self.options.recorded,
        )  # fmt: skip


def _is_faster(one: Verdict, other: Verdict) -> bool:
    """Whether what is used after one verdict is certainly faster than after another."""
    found, against = (each.found and each.found.comparison for each in (one, other))
    return bool(found) and found.interval[0] > (against.interval[1] if against else 1.0)


def _not_compared(source: CandidateSource, error: TunerError) -> str:
    return f"no {source.name} were compared: {error}"


def _untried(read: ReadProgram, choice: FlagChoice, note: str) -> Tuned:
    results = tuple(WorkloadResult(task, 0.0, note=note) for task in read.tasks)
    return Tuned(choice.target, results, (), changes=choice.changes)


def result_spec(
    entries: Sequence[SpecEntry], added: Sequence[bytes], flags: Sequence[str], context: ir.Context
) -> ir.Module:
    """The spec of a result: its entries, then specs that sources add; it records the flags."""
    own = build_spec(entries, context, flags=flags)
    if not added:
        return own
    linked = link_specs([own, *(parse_module(each, context, "spec") for each in added)])
    record_flags(entry_sequences(linked)[0], flags)
    return linked


def with_replaced(
    results: Sequence[WorkloadResult], changes: Sequence[Change], dispatches: Sequence[Dispatch],
    nouns: Mapping[str, str],
) -> tuple[WorkloadResult, ...]:  # fmt: skip
    """The results, of which those say so whose dispatches (of the program by default) are all replaced."""
    by = {name: nouns[each.source] for each in changes for name in each.dispatches}
    left = {each.workload for each in dispatches if each.name not in by}
    taken = {each.workload: by[each.name] for each in dispatches if each.name in by}
    found: list[WorkloadResult] = []
    for each in results:
        noun = taken.get(each.task.workload, "") if each.task.workload not in left else ""
        note = f"replaced by a {noun}" if noun and each.skipped else each.note
        found.append(replace(each, note=note, replaced_by=noun))
    return tuple(found)


def begin_matching(
    entries: Sequence[SpecEntry], program: Program, lab: Lab
) -> Callable[[], tuple[Sequence[SpecEntry], Sequence[str]]]:
    """Begin to look which entries reach their dispatches in the whole program.

    The program is compiled to `executable-configurations` with the spec inside, as a user would. The function
    that is returned waits for the entries that do, and messages about the others. It raises TunerError if the
    compiler does not survive the spec.
    """
    if not entries:
        return lambda: ((), ())
    spec = build_spec(entries, lab.context)
    checked = begin_check(spec, program.data, lab.target, lab.compilers, name=program.name)

    def found() -> tuple[Sequence[SpecEntry], Sequence[str]]:
        check = checked()
        # Matchers stand in the order of their entries.
        reached = [
            entry
            for entry, matcher in zip(entries, check.matchers, strict=True)
            if matcher.hits and not any(hit.ignored for hit in matcher.hits)
        ]
        return reached, [str(problem) for problem in check.problems]

    return found
