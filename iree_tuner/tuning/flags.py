"""Flags as knobs of the whole program, and what else decides what its dispatches are.

Flags of the compiler and of the runtime are sources of candidates. Alternatives of all sources are tried
first, changes of how a program is run last, on the version that is used. Trials are kept one by one, and a
run that was killed goes on with them. Comparisons of whole programs with other flags take as long as many
trials, and are kept as soon as all are there.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from iree_tuner.compiler.versions import RELEASE
from iree_tuner.compiler.worker import Calls
from iree_tuner.errors import TunerError
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.measure.statistics import Comparison
from iree_tuner.program.dump_body import own_target
from iree_tuner.program.source import Program
from iree_tuner.store.rows import comparison_from_json
from iree_tuner.targets import Target, kind_of_device
from iree_tuner.targets.find import flags_for_options, fusing_more, options_of, with_options
from iree_tuner.targets.kind import RuntimeFlag
from iree_tuner.tuning.options import Effort, TuningOptions
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.run import Run
from iree_tuner.tuning.source import CandidateSource
from iree_tuner.tuning.versions import Change, ComparisonPlan, Compiling, ProgramVersion

KIND = "flags"
"""Of the finding: `key`, `choices` (see `keep_choices`), and the seconds of `FlagChoices`."""

_CLOSE = 2.0
"""Tuning may make up for this factor: slower choices of flags are dropped."""

_ROUNDS_S, _ROUNDS_PART = 2.0, 0.015  # to compare compiler flags in turns; of the budget
_MOST_ROUNDS_S = 15.0

ENVIRONMENT = "IREE_PY_RUNTIME_FLAGS"
"""The variable that IREE's Python runtime reads flags from."""


class Flags(CandidateSource):
    """Compiler flags: the options of a target (`targets.find`)."""

    name = "flags"
    noun = "flag"

    def usual(self, backend: str) -> None:
        """Runs have it by `sources_of`."""

    def alternatives(self, run: Run) -> Sequence[Change]:
        target = run.lab.target
        return () if options_of(target) else [option(target, how) for axis in target.axes for how in axis]

    def flags(self, changes: Sequence[Change]) -> tuple[str, ...]:
        return tuple(flag for each in changes for flag in cast("tuple[str, ...]", each.made))

    def apply(self, to: Compiling, changes: Sequence[Change], workers: Calls, folder: Path) -> Compiling:
        return replace(to, target=optioned(to.target, changes))


class Runtime(CandidateSource):
    """Flags of the runtime that a program is run with."""

    name = "runtime"
    noun = "runtime flag"

    def usual(self, backend: str) -> None:
        """As of `Flags`."""

    def last(self, run: Run) -> Sequence[Change]:
        """For the first device, without the ones that the user has set for the process."""
        measurer, given = run.lab.measurer, os.environ.get(ENVIRONMENT, "")
        known = kind_of_device(measurer.device).runtime_flags(measurer.device, measurer.facts.cores)
        return [
            Change(self.name, each.name, each.text, made=each) for each in known if each.name not in given
        ]

    def apply(self, to: Compiling, changes: Sequence[Change], workers: Calls, folder: Path) -> Compiling:
        return replace(to, runtime=(*to.runtime, *(cast("RuntimeFlag", each.made) for each in changes)))


def sources_of(options: TuningOptions, given: Sequence[CandidateSource]) -> list[CandidateSource]:
    """The sources of a run: those of flags, if `try_flags` asks for them, and the given ones."""
    wanted = options.is_long if options.try_flags is None else options.try_flags
    every = (*((Flags(), Runtime()) if wanted else ()), *given)
    return list({each.name: each for each in every}.values())


def option(target: Target, how: str) -> Change:
    """Options of a target, joined by +, as a change."""
    axis = next(axis for axis in target.axes if how in axis)
    return Change(Flags.name, axis[0], how, made=flags_for_options(with_options(target, how.split("+"))))


def optioned(target: Target, changes: Sequence[Change]) -> Target:
    """The target with the options among changes."""
    added = [name for each in changes if each.source == Flags.name for name in each.how.split("+")]
    return with_options(target, (*options_of(target), *added))


@dataclass(frozen=True)
class FlagChoice:
    """Changes of the whole program, such as flags, and what they are worth without any tuning."""

    target: Target  # as it was given
    comparison: Comparison | None = None  # with `base`; None for the program as it was given
    base: FlagChoice | None = None  # the choice that one change was added to
    changes: tuple[Change, ...] = ()

    @property
    def name(self) -> str:
        """The target's options and the changes; empty if there are none."""
        return "+".join((*options_of(self.target), *(each.how for each in self.changes)))

    @property
    def version(self) -> ProgramVersion:
        """The program with it, without a spec."""
        return ProgramVersion(self.name or "default flags", self.target, (), self.changes)

    @property
    def speedup(self) -> float:
        """Over the program as it was given."""
        before = self.base.speedup if self.base else 1.0
        return before * self.comparison.speedup if self.comparison else before


def untuned(target: Target) -> ProgramVersion:
    """The program as the compiler compiles it for a target, without a spec."""
    return FlagChoice(target).version


def try_changes(
    base: FlagChoice, changes: Sequence[Change],
    compare: Callable[[FlagChoice, Sequence[FlagChoice]], Sequence[ProgramComparison]], most: int = 1 << 10,
) -> list[FlagChoice]:  # fmt: skip
    """Add changes one after the other, each time the best one, while that wins; the best choice comes first.

    All the rest is tried with the best so far, as changes may need others to be useful. Of those with one
    place at most one is made. The first of each place are tried first. `compare` compares `most` others with
    one choice, and none if there is no time. Raises TunerError as `compare` does.
    """
    chosen, places = [base], dict[tuple[str, str], list[Change]]()
    for each in changes:
        places.setdefault((each.source, each.where), []).append(each)
    while places and most > 0:
        steps = [each for turn in zip_longest(*places.values()) for each in turn if each is not None][:most]
        most -= len(steps)
        others = [FlagChoice(base.target, None, base, (*base.changes, each)) for each in steps]
        found = [
            replace(each, comparison=one.comparison)
            for each, one in zip(others, compare(base, others), strict=False)
            if one.comparison is not None
        ]
        chosen += found
        winners = [each for each in found if each.comparison and each.comparison.verdict == "win"]
        if not winners:
            break
        base = max(winners, key=lambda each: each.speedup)
        del places[base.changes[-1].source, base.changes[-1].where]
    rest = [each for each in chosen if each is not base]
    return [base, *sorted(rest, key=lambda each: -each.speedup)]


def worth_tuning(choices: Sequence[FlagChoice]) -> list[FlagChoice]:
    """At most two: the fastest, and the given one if tuning may still make it the faster."""
    best, given = choices[0], next(each for each in choices if each.base is None)
    if best is given:
        return [given]
    return [best, given] if best.speedup < _CLOSE else [best]


_MUCH = 2.0  # a first answer of so much leaves little to flags


def choose_flags(run: Run, first: ProgramVersion | None = None, gain: float = 1.0) -> tuple[FlagChoices, str]:
    """Choices of flags, fastest first. If none are tried, the given one alone, and why.

    `gain` is that of the first answer: where sources make a program much faster, only the option that fuses
    more is tried, which changes the dispatches to search, and on top of the first answer: what sources
    replace counts no more. Other flags are tried with versions at the end.
    """
    program, versions, budget = run.program, run.versions, run.budget
    target, effort, records = run.lab.target, run.effort, run.records
    given = FlagChoices((FlagChoice(target),), 0.0, 0.0)
    changes = [change for each in run.sources for change in each.alternatives(run)]
    if not changes or run.stop.requested:
        return given, ""
    if own_target(program.data, program.name) is not None:
        return given, "no compiler flags were tried: they do not change a dumped dispatch"
    much = gain > _MUCH and budget.is_short
    late = f"most compiler flags were left to the end, as the first answer is {gain:.1f}x" if much else ""
    if much and not (changes := [each for each in changes if each.how == fusing_more(target)]):
        return given, late
    run.watch.working("trying compiler flags")
    key = choices_key(program, target, changes, effort)
    known = unfinished_choices(records, key, target, changes)
    if known:
        message = "results of the last run, which was interrupted (--fresh measures them again)"
        run.watch.noted(f"compiler flags: {message}")
        budget.measured.build_s, budget.measured.check_s = known.build_s, known.check_s
        keep_choices(records, key, known)
        return known, ""
    until, rounds_s = budget.flags_until(), _rounds_s(run)
    changed = first.changes if first is not None and much else ()
    places = 1 if budget.limited else min(2, target.placements)
    look = ComparisonPlan(places, effort.program_rounds, effort.program_batch_s, rounds_s)

    def compare(base: FlagChoice, others: Sequence[FlagChoice]) -> Sequence[ProgramComparison]:
        if base.changes and (time.monotonic() >= until - rounds_s or run.stop.requested):
            return ()
        one, *more = (replace(each.version, changes=(*each.changes, *changed)) for each in (base, *others))
        return versions.compare(one, more, look)

    try:
        with run.at_once():
            time_default(run)
            most = flags_that_fit(run)
            if most < 1:
                return given, late or "no compiler flags were tried: no time left for another compilation"
            found = try_changes(FlagChoice(target), changes, compare, most)
            choices = FlagChoices(tuple(found), budget.measured.build_s, budget.measured.check_s)
            if not run.stop.requested:
                keep_choices(records, key, choices)
            return choices, late
    except TunerError as error:
        return given, f"no compiler flags were tried: {error}"
    return given, ""  # stopped


def _rounds_s(run: Run) -> float:
    return min(_MOST_ROUNDS_S, _ROUNDS_S + _ROUNDS_PART * run.budget.total_s)


def flags_that_fit(run: Run) -> int:
    """How many alternatives there is time for."""
    if not any(each.alternatives(run) for each in run.sources):
        return 0
    budget = run.budget
    return int(min(run.effort.options, budget.versions_that_fit(budget.flags_until(), _rounds_s(run))))


def fuses_more(run: Run) -> bool:
    """Whether there is an option that fuses more, which changes the dispatches to search."""
    how = fusing_more(run.lab.target)
    return bool(how) and any(each.how == how for source in run.sources for each in source.alternatives(run))


def time_default(run: Run) -> None:
    """Find out how long the program takes to compile, to load and to run, from which the rest is predicted.

    Raises TunerError where it does not.
    """
    version = untuned(run.lab.target)
    run.versions.vmfb(version)
    if run.budget.limited and not run.budget.measured.invocation_s:
        run.versions.time(version)


@dataclass(frozen=True)
class FlagChoices:
    """The findings of trying choices of flags."""

    choices: tuple[FlagChoice, ...]  # the fastest first
    # build_s, check_s: what compiling and checking the program took, as `ProgramVersions` has it
    build_s: float
    check_s: float
    searched_s: float = 0.0  # time of the search in interrupted runs


def choices_key(program: Program, target: Target, changes: Sequence[Change], effort: Effort) -> str:
    """The facts that must be equal for choices to be taken over."""
    parts = (
        hashlib.sha256(program.data).hexdigest(), str(target), target.device, target.user_flags,
        list(map(str, changes)), RELEASE, effort.options, effort.program_rounds,
        effort.program_batch_s,
    )  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def keep_choices(records: Records, key: str, looked: FlagChoices) -> None:
    """Store the choices, in case the run is interrupted."""
    rows = [
        {"changes": list(map(str, each.changes)), "comparison": each.comparison and asdict(each.comparison)}
        for each in looked.choices
    ]
    times = {"build_s": looked.build_s, "check_s": looked.check_s, "searched_s": looked.searched_s}
    body = {"key": key, "choices": rows, **times}
    records.write(lambda store: store.add_finding(records.run, KIND, body))


def unfinished_choices(
    records: Records, key: str, target: Target, changes: Sequence[Change]
) -> FlagChoices | None:
    """The choices of the last run with this key, if it was interrupted; None for a fresh run."""
    if records.store is None or records.fresh or records.failure is not None:
        return None
    try:
        for finding, state, tried_s in records.store.latest_findings(KIND):
            if finding.body.get("key") == key:
                return None if state == "done" else _from_json(finding.body, target, changes, tried_s)
    except (TunerError, KeyError, TypeError, ValueError, IndexError, RecursionError):
        return None  # they are measured again
    return None


def _from_json(
    body: Mapping[str, Any], target: Target, changes: Sequence[Change], tried_s: float
) -> FlagChoices:
    known = {str(each): each for each in changes}
    rows = [
        (tuple(known[each] for each in row["changes"]), row["comparison"])
        for row in cast("list[dict[str, Any]]", body["choices"])
    ]
    made: dict[tuple[Change, ...], FlagChoice] = {}
    for own, found in sorted(rows, key=lambda row: len(row[0])):  # each after its base
        comparison = comparison_from_json(found) if found is not None else None
        made[own] = FlagChoice(target, comparison, made[own[:-1]] if own else None, own)
    searched_s = float(body.get("searched_s", 0.0)) + tried_s
    choices = tuple(made[own] for own, _ in rows)
    return FlagChoices(choices, float(body["build_s"]), float(body["check_s"]), searched_s)


@dataclass(frozen=True)
class RuntimeChoice:
    """Flags of the runtime that make a program faster."""

    flags: tuple[str, ...] = ()  # as tools take them
    speedup: float = 1.0  # of the same program over the runtime's defaults: the product of the flags' own
    note: str = ""  # why none were tried


def choose_last(run: Run, version: ProgramVersion) -> RuntimeChoice:
    """The changes at the end that make a version measurably faster: the best first, while that wins."""
    note, budget, effort = "", run.budget, run.effort

    def with_last(choice: FlagChoice) -> ProgramVersion:
        what = " ".join(each.how for each in choice.changes) or "the runtime's defaults"
        return replace(version, what=what, last=choice.changes)

    def compare(base: FlagChoice, others: Sequence[FlagChoice]) -> Sequence[ProgramComparison]:
        nonlocal note
        if run.stop.requested:
            return ()
        if not budget.runtime_fits(len(others)):
            note = "" if base.changes else "no runtime flags were tried: no time left"
            return ()
        seconds = budget.runtime_rounds_s(len(others))
        look = ComparisonPlan(1, effort.program_rounds, effort.program_batch_s, seconds)
        run.watch.working("trying runtime flags")
        try:
            with run.at_once():
                return run.versions.compare(with_last(base), [with_last(each) for each in others], look)
        except TunerError as error:
            note = f"runtime flags were not compared: {error}"
        return ()

    changes = [change for each in run.sources for change in each.last(run)]
    best, *_ = try_changes(FlagChoice(run.lab.target), changes, compare)
    return RuntimeChoice(tuple(each.how for each in best.changes), best.speedup, note)
