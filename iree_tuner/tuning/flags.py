"""Flags as knobs of the whole program, and what else decides what its dispatches are.

Compiler flags are a source of candidates. Alternatives of all sources are tried first, flags of the runtime
last, on the version that is used. Trials are kept one by one, and a run that was killed goes on with them.
Comparisons of whole programs with other flags take as long as many trials, and are kept as soon as all are
there.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
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
from iree_tuner.targets.find import with_options
from iree_tuner.targets.kind import RuntimeFlag, RuntimeFlags
from iree_tuner.targets.options import flags_for_options, options_of
from iree_tuner.tuning.options import Effort, TuningOptions
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.run import Run
from iree_tuner.tuning.source import CandidateSource
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.versions import Change, ComparisonPlan, Compiling, ProgramVersion, ProgramVersions

KIND = "flags"
"""Of the finding: `key`, `choices` (see `_to_json`), and the seconds of `FlagChoices`."""

_CLOSE = 2.0
"""Tuning may make up for this factor: slower choices of flags are dropped."""

_ROUNDS_S, _ROUNDS_PART = 2.0, 0.015  # to compare compiler flags in turns; of the budget
_MOST_ROUNDS_S = 15.0

ENVIRONMENT = "IREE_PY_RUNTIME_FLAGS"
"""The variable that IREE's Python runtime reads flags from."""


class Flags(CandidateSource):
    """Compiler flags: the options of a target (`targets.options`)."""

    name = "flags"
    noun = "flag"

    def alternatives(self, run: Run) -> Sequence[Change]:
        target = run.lab.target
        return () if options_of(target) else [option(target, how) for axis in target.axes for how in axis]

    def flags(self, changes: Sequence[Change]) -> tuple[str, ...]:
        return tuple(flag for each in changes for flag in cast("tuple[str, ...]", each.made))

    def apply(self, to: Compiling, changes: Sequence[Change], workers: Calls, folder: Path) -> Compiling:
        del workers, folder
        return replace(to, target=optioned(to.target, changes))


def sources_of(
    options: TuningOptions, given: Sequence[CandidateSource], without: Collection[str] = ()
) -> tuple[CandidateSource, ...]:
    """The sources of a run: the given ones, and those of flags as `try_flags` says."""
    own = {each.name: each for each in (Flags(),)}
    if options.try_flags is False:
        return tuple(each for each in given if each.name not in own)
    left_out = {*without, *(each.name for each in given)} if options.try_flags or options.is_long else own
    return (*(each for name, each in own.items() if name not in left_out), *given)


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
    compare: Callable[[FlagChoice, Sequence[FlagChoice]], Sequence[ProgramComparison]],
) -> list[FlagChoice]:  # fmt: skip
    """Add changes one after the other, each time the best one, while that wins; the best choice comes first.

    Changes may need others to be useful, so all the rest is tried with the best so far. At most one change is
    made of those with the same source and place.

    Args:
        base: where to begin; it is among the results.
        changes: those of one place are in the order in which they are tried. The first of each place come
            first, then the second of each, and so on.
        compare: compares the first choice with the others, or only some of the first: if there is no time
            for any, the search ends.

    Raises:
        TunerError: as `compare`.
    """
    chosen, left = [base], _in_turns(changes)
    while left:
        others = [replace(base, comparison=None, base=base, changes=(*base.changes, each)) for each in left]
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
        left = [each for each in left if _place(each) != _place(base.changes[-1])]
    rest = [each for each in chosen if each is not base]
    return [base, *sorted(rest, key=lambda each: -each.speedup)]


def _place(change: Change) -> tuple[str, str]:
    return change.source, change.where


def _in_turns(changes: Sequence[Change]) -> list[Change]:
    places: dict[tuple[str, str], list[Change]] = {}
    for each in changes:
        places.setdefault(_place(each), []).append(each)
    return [each for turn in zip_longest(*places.values()) for each in turn if each is not None]


def try_flags(
    whole: ProgramVersions, target: Target, changes: Sequence[Change], look: ComparisonPlan, most: int,
    deadline: float, stop: StopRequest,
) -> list[FlagChoice]:  # fmt: skip
    """`try_changes` with at most so many compilations. No round but the first begins after the deadline."""
    until = math.inf

    def compare(base: FlagChoice, others: Sequence[FlagChoice]) -> Sequence[ProgramComparison]:
        nonlocal until, most
        if most < 1 or time.monotonic() >= until or stop.requested:
            return ()
        until, tried = deadline, [each.version for each in others[:most]]
        most -= len(tried)
        return whole.compare(base.version, tried, look)

    return try_changes(FlagChoice(target), changes, compare)


def worth_tuning(choices: Sequence[FlagChoice]) -> list[FlagChoice]:
    """At most two: the fastest, and the given one if tuning may still make it the faster."""
    best, given = choices[0], next(each for each in choices if each.base is None)
    if best is given:
        return [given]
    return [best, given] if best.speedup < _CLOSE else [best]


def choose_flags(run: Run) -> tuple[FlagChoices, str]:
    """Choices of flags, fastest first. If none are tried, the given one alone, and why."""
    program, versions, budget = run.program, run.versions, run.budget
    target, effort, records = run.lab.target, run.effort, run.records
    given = FlagChoices((FlagChoice(target),), 0.0, 0.0)
    changes = [change for each in run.sources for change in each.alternatives(run)]
    if not changes or run.stop.requested:
        return given, ""
    if own_target(program.data, program.name) is not None:
        return given, "no compiler flags were tried: they do not change a dumped dispatch"
    run.watch.working("trying compiler flags")
    key = choices_key(program, target, changes, effort)
    known = unfinished_choices(records, key, target, changes)
    if known:
        message = "results of the last run, which was interrupted (--fresh measures them again)"
        run.watch.noted(f"compiler flags: {message}")
        budget.measured.build_s, budget.measured.check_s = known.build_s, known.check_s
        keep_choices(records, key, known)
        return known, ""
    until = budget.flags_until()
    rounds_s = min(_MOST_ROUNDS_S, _ROUNDS_S + _ROUNDS_PART * budget.total_s)
    places = 1 if budget.limited else min(2, target.placements)
    look = ComparisonPlan(places, effort.program_rounds, effort.program_batch_s, rounds_s)
    try:
        with run.at_once():
            versions.vmfb(untuned(target))  # says how long the others will take
            if budget.limited:
                versions.time(untuned(target))
            most = int(min(effort.options, budget.versions_that_fit(until, rounds_s)))
            if most < 1:
                return given, "no compiler flags were tried: no time left for another compilation"
            found = try_flags(versions, target, changes, look, most, until - rounds_s, run.stop)
            choices = FlagChoices(tuple(found), budget.measured.build_s, budget.measured.check_s)
            if not run.stop.requested:
                keep_choices(records, key, choices)
            return choices, ""
    except TunerError as error:
        return given, f"no compiler flags were tried: {error}"
    return given, ""  # stopped


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
        [_change_to_json(each) for each in changes], RELEASE, effort.options, effort.program_rounds,
        effort.program_batch_s,
    )  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def keep_choices(records: Records, key: str, looked: FlagChoices) -> None:
    """Store the choices, in case the run is interrupted."""
    body = {
        "key": key,
        "choices": [_to_json(each, looked.choices) for each in looked.choices],
        "build_s": looked.build_s,
        "check_s": looked.check_s,
        "searched_s": looked.searched_s,
    }
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


def _to_json(choice: FlagChoice, among: Sequence[FlagChoice]) -> dict[str, object]:
    base = next((index for index, each in enumerate(among) if each is choice.base), None)
    comparison = asdict(choice.comparison) if choice.comparison else None
    return {
        "changes": [_change_to_json(each) for each in choice.changes],
        "base": base,
        "comparison": comparison,
    }


def _change_to_json(change: Change) -> list[str]:
    return [change.source, change.where, change.how, change.code]


def _from_json(
    body: Mapping[str, Any], target: Target, changes: Sequence[Change], tried_s: float
) -> FlagChoices:
    known = {tuple(_change_to_json(each)): each for each in changes}
    rows = cast("list[dict[str, Any]]", body["choices"])
    made: dict[int, FlagChoice] = {}

    def choice(index: int) -> FlagChoice:
        if index not in made:
            row = rows[index]
            found, base = row["comparison"], row["base"]
            comparison = comparison_from_json(found) if found is not None else None
            base = choice(base) if base is not None else None
            own = tuple(known[tuple(each)] for each in row["changes"])
            made[index] = FlagChoice(target, comparison, base, own)
        return made[index]

    choices = tuple(choice(index) for index in range(len(rows)))
    searched_s = float(body.get("searched_s", 0.0)) + tried_s
    return FlagChoices(choices, float(body["build_s"]), float(body["check_s"]), searched_s)


@dataclass(frozen=True)
class RuntimeChoice:
    """Flags of the runtime that make a program faster."""

    flags: tuple[str, ...] = ()  # as tools take them
    speedup: float = 1.0  # of the same program over the runtime's defaults: the product of the flags' own
    note: str = ""  # why none were tried


def runtime_flags_of(run: Run) -> list[RuntimeFlag]:
    """Flags to try on the first device, without the ones that the user has set for the process."""
    if not any(isinstance(each, Flags) for each in run.sources):
        return []
    measurer, given = run.lab.measurer, os.environ.get(ENVIRONMENT, "")
    known = kind_of_device(measurer.device).runtime_flags(measurer.device, measurer.facts.cores)
    return [each for each in known if each.name not in given]


def choose_runtime(run: Run, version: ProgramVersion | None) -> RuntimeChoice:
    """Flags that make a version measurably faster, added one at a time, the best first, while that wins."""
    left, budget = runtime_flags_of(run), run.budget
    chosen = RuntimeChoice()
    base: RuntimeFlags = ()
    while version is not None and left and not run.stop.requested:
        seconds = budget.runtime_rounds_s(len(left))
        if not budget.runtime_fits(len(left)):
            return chosen if base else RuntimeChoice(note="no runtime flags were tried: no time left")
        look = ComparisonPlan(1, run.effort.program_rounds, run.effort.program_batch_s, seconds)
        others: list[RuntimeFlags] = [(*base, each) for each in left]
        found: list[ProgramComparison] = []
        try:
            with run.at_once():
                found = run.versions.compare_runtimes(version, base, others, look)
        except TunerError as error:
            return replace(chosen, note=f"runtime flags were not compared: {error}")
        won = [
            (one.comparison.speedup, flags)
            for flags, one in zip(others, found, strict=False)
            if one.comparison is not None and one.comparison.verdict == "win"
        ]
        if not won:
            break
        speedup, base = max(won, key=lambda each: each[0])
        chosen = RuntimeChoice(tuple(each.text for each in base), chosen.speedup * speedup)
        left = [each for each in left if each.name != base[-1].name]
    return chosen
