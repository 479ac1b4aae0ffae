"""The last word is the program's: versions compared whole, what hurts left out, the best one chosen.

Winners that hurt the program are found by leaving out halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from iree_tuner.measure.program import ProgramComparison
from iree_tuner.measure.statistics import Comparison, times_of
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import Target
from iree_tuner.tuning.budget import Budget
from iree_tuner.tuning.earlier import EarlierResult
from iree_tuner.tuning.flags import FlagChoice, untuned
from iree_tuner.tuning.options import Effort
from iree_tuner.tuning.result import WorkloadResult
from iree_tuner.tuning.versions import Change, ComparisonPlan, ProgramVersion, ProgramVersions

_LOOK_S = 60.0
_FEW_PLACES = 2

_LONG_BUILD_S = 2.0
"""A program that takes so long to compile has many dispatches, and what places do to each levels out."""

_KEPT_PROMISE = 0.5
"""The part of its entries' promised gain that the program must reach, or they are examined."""

_WORTH_A_LOOK = 0.02
"""Of the program's time: a smaller promise cannot be distinguished from no gain."""

Mend = Callable[[ProgramVersion, ProgramComparison], ProgramVersion | None]
"""Makes another version of one that is wrong or fails, if it can."""


@dataclass(frozen=True)
class Tuned:
    """The result of one choice of flags."""

    target: Target  # with these flags
    results: tuple[WorkloadResult, ...]
    reached: tuple[SpecEntry, ...]  # entries that reach their dispatches in the program
    notes: tuple[str, ...] = ()  # messages about the other entries
    more: tuple[ProgramVersion, ...] = ()  # further versions of the program that are judged with it
    changes: tuple[Change, ...] = ()  # of the choice

    @property
    def base(self) -> ProgramVersion:
        """The program without a spec."""
        return FlagChoice(self.target, changes=self.changes).version

    @property
    def version(self) -> ProgramVersion:
        """The program with all winners."""
        what = f"{self.base.what} with the spec" if self.reached else self.base.what
        return replace(self.base, what=what, entries=self.reached)

    def promised_us(self, entries: Sequence[SpecEntry]) -> float:
        """The expected saving of some entries, by their own verdicts: microseconds per invocation."""
        return sum(result.saved_us for result in self.results if result.entry in entries)

    @property
    def mending(self) -> tuple[SpecEntry, ...]:
        """Entries that correct wrong results of the compiler's defaults: they stay."""
        wanted = [result.entry for result in self.results if result.corrects]
        return tuple(entry for entry in self.reached if entry in wanted)

    def versions(self, given: ProgramVersion) -> list[ProgramVersion]:
        """The versions to compare with the original program."""
        flags = [self.base] if self.base != given else []
        return [*flags, *([self.version] if self.reached else []), *self.more]

    @property
    def promising(self) -> list[WorkloadResult]:
        """Workloads with further entries to try in the program, the heaviest first."""
        named = [result for result in self.results if result.others]
        return sorted(named, key=lambda result: (-result.saved_us, -result.weight_us))


@dataclass(frozen=True)
class Verdict:
    """The spec, flags and kernels that the program is to be compiled with."""

    tuned: Tuned  # the choice of flags
    version: ProgramVersion  # what is used: flags, and entries
    # compared with the original program; None if that is kept, or was not compared
    found: ProgramComparison | None = None
    flags_alone: Comparison | None = None  # the flags without entries, likewise; None for the original flags
    left_out: tuple[SpecEntry, ...] = ()  # entries that won alone and are not used
    note: str = ""  # why entries were left out, or why nothing is used
    # the result that is there already, compared with the original program in the same rounds as what is used
    earlier: ProgramComparison | None = None

    @property
    def corrected(self) -> tuple[SpecEntry, ...]:
        """Its entries that correct wrong results of the compiler's defaults."""
        return tuple(entry for entry in self.tuned.mending if entry in self.version.entries)

    @property
    def gain(self) -> float:
        """The speedup of what is used; 1 for the original program."""
        return self.found.comparison.speedup if self.found and self.found.comparison else 1.0


EarlierState = Literal["kept", "beaten", "not compared", "none"]


@dataclass(frozen=True)
class EarlierVerdict:
    """Whether an earlier result is used, and why."""

    # `kept`: it is the result of the run. `beaten`: the new result replaces it. `not compared`: its files
    # stay. `none`: it is of no use, so that the new result replaces what it would replace without it.
    state: EarlierState
    comparison: Comparison | None = None  # of the new result with it
    note: str = ""  # why it was not compared, or is of no use

    @property
    def stays(self) -> bool:
        """Whether its files are not replaced."""
        return self.state in ("kept", "not compared")


def against_earlier(verdict: Verdict, earlier: EarlierResult, why_not: str) -> tuple[Verdict, EarlierVerdict]:
    """The verdict on what is used: the earlier result, unless the new one wins against it.

    `why_not` is the reason if they were not compared.
    """
    known, new = verdict.earlier, verdict.found
    if known is None:
        return verdict, EarlierVerdict("not compared", note=why_not)
    if useless := _useless(known):
        return verdict, EarlierVerdict("none", note=useless)
    compared = new.over_rival if new is not None else None
    if new is not None and compared is None:
        return verdict, EarlierVerdict("not compared", note="they did not run in turns")
    corrected = [each.workload for each in verdict.corrected]
    if compared is not None and (compared.verdict == "win" or not earlier.configures(corrected)):
        return verdict, EarlierVerdict("beaten", compared)
    note = known.agreement.note
    kept = replace(verdict, version=earlier.version, found=known, flags_alone=None, left_out=(), note=note)
    return kept, EarlierVerdict("kept", compared)


def _useless(found: ProgramComparison) -> str:
    """Why a version counts as no earlier result; empty if it does."""
    if found.error:
        return found.error
    if found.same_code:
        return "it does not change this program"
    if found.comparison is not None and found.comparison.verdict == "lose":
        return f"it is slower than the compiler's default, {times_of(found.comparison)}"
    return ""


class ProgramJudge:
    """Chooses between versions of a program.

    Args:
        whole: the program.
        given: the target as it was requested. All is compared with its untuned program.
        effort: how much is compared.
        budget: of the run: harmful entries are looked for while there is time.
        in_model: candidates of a workload that are tried in the program.
        few_places: whether one code address is enough, because effects on many dispatches level out.
        mend: makes another version of one of `Tuned.more` that is wrong, or does not compile or run.
        earlier: an earlier result, with which all is compared, too; it is not chosen.
    """

    def __init__(
        self, whole: ProgramVersions, given: Target, effort: Effort, budget: Budget, in_model: int = 1,
        *, few_places: bool = False, mend: Mend = lambda _, __: None, earlier: ProgramVersion | None = None,
    ) -> None:  # fmt: skip
        self._whole = whole
        self._given = untuned(given)
        self._effort = effort
        self._budget = budget
        self._in_model = in_model
        self._mend = mend
        self._earlier = earlier
        self._found_earlier: ProgramComparison | None = None
        places = effort.places(given)
        self._few = min(_FEW_PLACES, places)
        slow = whole.measured.build_s > _LONG_BUILD_S
        self._places = 1 if few_places and budget.limited else self._few if slow else places

        def worth_another_step() -> bool:
            return not budget.stop.requested and budget.left_s > 2.0 * budget.versions_s(2, self._few)

        self._patience = Patience(effort.model_steps, worth_another_step)

    def _plan(self, versions: int, places: int) -> ComparisonPlan:
        """Of the next comparison; one more may follow."""
        places = self._budget.places_that_fit(versions, places)
        seconds = self._budget.comparison_s(versions, places, _LOOK_S)
        return ComparisonPlan(places, self._effort.program_rounds, self._effort.program_batch_s, seconds)

    def _compared(self, versions: Sequence[ProgramVersion], places: int) -> list[ProgramComparison]:
        """Versions compared with the original program, and with the earlier result."""
        every = versions if self._earlier is None else [*versions, self._earlier]
        found = self._whole.compare(self._given, every, self._plan(len(every), places), self._earlier)
        if self._earlier is not None:
            self._found_earlier = found.pop()
        return found

    def choose(self, tuned: Sequence[Tuned]) -> Verdict:
        """The fastest correct version; the original program if none is faster.

        Raises TunerError if the original program does not run.
        """
        found = self._choice(tuned)
        return replace(found, earlier=self._found_earlier)

    def _choice(self, tuned: Sequence[Tuned]) -> Verdict:
        first = next((each for each in tuned if each.base == self._given), tuned[0])
        pairs = [(each, version) for each in tuned for version in each.versions(self._given)]
        if not pairs:
            return self._from_nothing(first)
        found = self._compared([version for _, version in pairs], self._places)
        judged = [self._judged(each, version, one) for (each, version), one in zip(pairs, found, strict=True)]
        judged += self._mended(judged)
        alone = {each.version: each.found.comparison for each in judged if not each.version.entries}
        best = _chosen(judged)
        if best.version.entries or self._in_model > 1:
            best = self._improved(best, alone.get(best.tuned.base))
        if not best.accepted:  # what was mended may not have had the time to prove itself
            best = max(judged, key=lambda each: (each.accepted, each.tuned is best.tuned, each.hope))
        used = best.tuned if best.accepted else first
        return self._verdict(best, used, alone.get(best.tuned.base))

    def _mended(self, judged: Sequence[_Judged]) -> list[_Judged]:
        """For each version that is wrong or fails, another one without the cause."""
        found: list[_Judged] = []
        for each in judged:
            fails = each.version in each.tuned.more and each.found.comparison is None
            version = self._mend(each.version, each.found) if fails else None
            if version is not None:
                (one,) = self._compared([version], self._places)
                found.append(self._judged(each.tuned, version, one))
        return found

    def _from_nothing(self, tuned: Tuned) -> Verdict:
        """Without winners: entries that win only in the program, if these are wanted (`in_model`)."""
        version = self._swapped(self._given, tuned) if self._in_model > 1 else self._given
        if version == self._given:
            if self._earlier is not None:
                self._compared([], self._places)
            return Verdict(tuned, self._given)
        (found,) = self._compared([version], self._places)
        return self._verdict(self._judged(tuned, version, found), tuned, None)

    def _improved(self, best: _Judged, alone: Comparison | None) -> _Judged:
        """Without harmful entries, and with other entries if these are wanted (`in_model`)."""
        version = best.version
        if version.entries and (not best.accepted or not self._promise_kept(best, alone)):
            base = untuned(version.target)
            base = replace(base, entries=best.tuned.mending, changes=version.changes)
            version = prune(self._whole, version, best.found, base, self._plan(2, self._few), self._patience)
        if self._in_model > 1:
            version = self._swapped(version, best.tuned)
        if version == best.version:
            return best
        if version == self._given:
            return replace(best, version=version)  # nothing is left: what was found says why
        (found,) = self._compared([version], self._places)
        return self._judged(best.tuned, version, found)

    def _judged(self, tuned: Tuned, version: ProgramVersion, found: ProgramComparison) -> _Judged:
        mends = bool(tuned.mending) and set(tuned.mending) <= set(version.entries)
        changed = bool(version.changes) or version.target != self._given.target
        return _Judged(tuned, version, found, changed, mends)

    def _promise_kept(self, best: _Judged, alone: Comparison | None) -> bool:
        comparison = best.found.comparison
        if comparison is None:
            return False
        before = alone.speedup if alone else 1.0
        entries, mending = best.version.entries, best.tuned.mending
        each_us = before / comparison.default_us
        cost = best.tuned.promised_us(mending) * each_us  # no promise, and not to be made up for by others
        promised = best.tuned.promised_us([each for each in entries if each not in mending]) * each_us
        return keeps_its_promise(1.0 - before / comparison.speedup - cost, promised)

    def _swapped(self, version: ProgramVersion, tuned: Tuned) -> ProgramVersion:
        """Try other entries in the program; they must win there."""
        for result in tuned.promising:
            workload = result.task.workload
            used = next((each for each in version.entries if each.workload == workload), None)
            others = result.others[: self._in_model - (result.entry is not None)]
            if not self._patience.spend():
                break
            variants = [
                replace(
                    version,
                    what=f"{version.what}, other {place} of {workload.name}",
                    entries=(*(each for each in version.entries if each != used), other),
                )
                for place, other in enumerate(others, 1 + (result.entry is not None))
            ]
            found = self._whole.compare(version, variants, self._plan(len(variants), self._few))
            winners = [
                (one.comparison.speedup, variant)
                for variant, one in zip(variants, found, strict=True)
                if one.comparison is not None and one.comparison.verdict == "win"
            ]
            if winners:
                version = max(winners, key=lambda pair: pair[0])[1]
        return version

    def _verdict(self, best: _Judged, used: Tuned, alone: Comparison | None) -> Verdict:
        entries, reached = best.version.entries, best.tuned.reached
        if not best.accepted or best.version == self._given:
            return Verdict(used, self._given, None, None, reached, best.refusal if reached else "")
        lowered = {name for change in best.version.changes for name in change.dispatches}
        kept = {entry.workload for entry in entries} | {
            each.task.workload
            for each in best.tuned.results
            if lowered and {dispatch.name for dispatch in each.task.dispatches} <= lowered
        }
        left_out = tuple(entry for entry in reached if entry.workload not in kept)
        mended = best.tuned.mending if best.mends else ()
        inside = [entry for entry in entries if entry not in reached]
        notes = [best.found.agreement.note] if best.found.agreement.note else []
        notes += [
            f"{what}: {', '.join(entry.workload.name for entry in some)}"
            for what, some in (
                ("corrected, because the compiler's default computes wrong results", mended),
                ("chosen, because it wins in the program, though not alone", inside),
                ("left out, because the program is faster without", left_out),
            )
            if some
        ]
        return Verdict(best.tuned, best.version, best.found, alone, left_out, "; ".join(notes))


@dataclass(frozen=True)
class _Judged:
    tuned: Tuned
    version: ProgramVersion
    found: ProgramComparison
    changed: bool  # more than the spec: flags, or what sources change
    mends: bool = False

    @property
    def accepted(self) -> bool:
        """Whether it may be used: flags and changes must win; entries, which won alone, must not look slower.

        Entries that correct wrong results are used in any case.
        """
        comparison = self.found.comparison
        if comparison is None or self.mends:
            return comparison is not None
        if comparison.verdict == "lose":
            return False
        return comparison.verdict == "win" or (comparison.speedup >= 1.0 and not self.changed)

    @property
    def hope(self) -> tuple[bool, bool, float]:
        """The order of choice: accepted, then correcting, then faster ones."""
        comparison = self.found.comparison
        return self.accepted, self.mends, comparison.speedup if comparison else 0.0

    def beats(self, other: _Judged) -> bool:
        ours, theirs = self.found.comparison, other.found.comparison
        return ours is not None and (theirs is None or ours.interval[0] > theirs.interval[1])

    @property
    def refusal(self) -> str:
        comparison = self.found.comparison
        if comparison is None:
            return f"the spec is not used: {self.found.error}"
        case = next(
            (f", --dim {name}" for name, each in self.found.by_case if each.comparison == comparison), ""
        )
        if comparison.verdict == "lose":
            return f"the spec is not used: the program is slower with it, {times_of(comparison)}{case}"
        what = "flags are" if self.changed else "spec is"
        return f"the {what} not used: the program is not measurably faster, {times_of(comparison)}{case}"


def _chosen(judged: Sequence[_Judged]) -> _Judged:
    """The fastest, with its entries: they won alone, and stay unless they are measurably slower here."""
    best = max(judged, key=lambda each: each.hope)
    with_entries = [each for each in judged if each.tuned is best.tuned and each.version.entries]
    kept = [each for each in with_entries if each.accepted and not best.beats(each)]
    return max(kept, key=lambda each: each.hope, default=best)


@dataclass
class Patience:
    """The limit of the search for harmful entries: a number of comparisons, and time."""

    steps: int
    is_time: Callable[[], bool] = lambda: True

    def spend(self) -> bool:
        """Take one comparison; False when none is left."""
        self.steps -= 1
        return self.steps >= 0 and self.is_time()


def keeps_its_promise(gained: float, promised: float) -> bool:
    """Whether a program gains what its parts promise, both as parts of its time.

    Parts overlap, share caches, and are measured alone: a half is near enough.
    """
    return promised < _WORTH_A_LOOK or gained >= _KEPT_PROMISE * promised


def prune(
    whole: ProgramVersions, version: ProgramVersion, found: ProgramComparison, base: ProgramVersion,
    look: ComparisonPlan, patience: Patience,
) -> ProgramVersion:  # fmt: skip
    """The version without the entries that make the program slower, or its results wrong.

    Without an entry to leave out, the program is measurably faster on at least one of its sizes, or correct
    again. Such entries are found by leaving out halves of halves. If a half hurts and neither of its own
    halves does, all of it is left out.

    Args:
        whole: the program.
        version: with all entries.
        found: its comparison.
        base: the version with only the entries that must stay.
        look: how versions are compared.
        patience: limits the search; then the version found so far is returned.
    """
    if found.error:
        return _repaired(whole, version, base, look, patience)
    suspects = [entry for entry in version.entries if entry not in base.entries]
    return _without(version, _harmful(whole, version, suspects, look, patience))


def _harmful(
    whole: ProgramVersions, version: ProgramVersion, suspects: Sequence[SpecEntry], look: ComparisonPlan,
    patience: Patience,
) -> list[SpecEntry]:  # fmt: skip
    halves = _halves(suspects)
    if not halves or not patience.spend():
        return []
    found = whole.compare(version, [_without(version, half) for half in halves], look)
    harmful: list[SpecEntry] = []
    for half, one in zip(halves, found, strict=True):
        if one.comparison is not None and one.wins_somewhere:
            inside = _harmful(whole, version, half, look, patience) if len(half) > 1 else []
            harmful += inside or half
    return harmful


def _repaired(
    whole: ProgramVersions, version: ProgramVersion, base: ProgramVersion, look: ComparisonPlan,
    patience: Patience,
) -> ProgramVersion:  # fmt: skip
    """Halve until the program is correct, and keep the correct halves."""
    suspects = [entry for entry in version.entries if entry not in base.entries]
    if len(suspects) <= 1 or not patience.spend():
        return base
    halves = [replace(version, entries=(*base.entries, *half)) for half in _halves(suspects)]
    named = [replace(half, what=_named(version.what, half.entries)) for half in halves]
    found = whole.compare(base, named, look)
    good = [half.entries for half, one in zip(named, found, strict=True) if one.ok]
    bad = [half for half, one in zip(named, found, strict=True) if not one.ok]
    good += [_repaired(whole, half, base, look, patience).entries for half in bad]
    kept = {entry for half in good for entry in half}
    entries = tuple(entry for entry in version.entries if entry in kept)
    return replace(version, what=_named(version.what, entries), entries=entries)


def _halves(entries: Sequence[SpecEntry]) -> list[list[SpecEntry]]:
    """Every other entry, so that the entries with the largest shares are not all in one half."""
    return [half for half in (list(entries[::2]), list(entries[1::2])) if half]


def _without(version: ProgramVersion, part: Sequence[SpecEntry]) -> ProgramVersion:
    entries = tuple(entry for entry in version.entries if entry not in part)
    if entries == version.entries:
        return version
    left_out = ", ".join(entry.workload.name for entry in part)
    return replace(version, what=f"{version.what} without {left_out}", entries=entries)


def _named(what: str, entries: Sequence[SpecEntry]) -> str:
    names = ", ".join(entry.workload.name for entry in entries)
    return f"{what.split(' with only ')[0]} with only {names}" if names else what
