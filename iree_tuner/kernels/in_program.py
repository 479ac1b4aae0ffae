"""Kernels compared with the compiler's code: problems alone in contests, then the program with the winners.

A contest compares a kernel's variants on one problem alone with the compiler's code, default and tuned.
Problems are found, and kernels are chosen, as when a program is tuned (`source`).
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.unbound import attribute_from
from iree_tuner.compiler.worker import Calls, WorkerError
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.kernels.find import Place
from iree_tuner.kernels.kernel import Kernel, Knobs
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.source import Chosen, Competitors, Kernels, changes_of, chosen_in
from iree_tuner.kernels.variants import KernelVariants
from iree_tuner.measure.judging import JudgePlan
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.measure.statistics import Comparison
from iree_tuner.ops.family import ROOT
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.entry import read_flags
from iree_tuner.spec.grammar import COMPILATION_INFO
from iree_tuner.spec.io import load_spec, read_starters
from iree_tuner.store.trial import Trial
from iree_tuner.targets import Target, with_flags
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.finals import Final, FinalPlan, play_searches
from iree_tuner.tuning.jobs import Build, Compare, Jobs, result, results
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.result import Competitor, WorkloadResult
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.source import CandidateSource
from iree_tuner.tuning.versions import (
    Change,
    ComparisonPlan,
    Compiling,
    ProgramVersion,
    ProgramVersions,
    with_spec,
)

_BATCH_S = 0.05

TUNED = "tuned"
_FINALISTS = 3
ROUNDS = 64  # the most interleaved pairs of a comparison
_FINALS_PART = 0.3  # of the contests' time
_JUDGED_S = 120.0  # the most time of a comparison

_UNPLAYED = Final(None, None)
_NONE: Mapping[str, Configuration] = {}

Watch = Callable[[str], None]
"""A function that gets messages of progress, one line each."""


@dataclass(frozen=True)
class Contest:
    """The results of a kernel on a problem alone.

    Attributes:
        kind: the kernel's variants; None if the problem cannot be timed alone.
        trials: all trials of variants.
        final: the winner of the finals, compared with the compiler's default; none if no variant is correct.
        tuned: a tuned configuration compared with the compiler's default, if there is one.
        over_tuned: the winner compared with the tuned configuration.
        configured: the tuned configuration, built for the bench; or empty.
        note: why there was no contest, or that the default's results differ from the CPU's.
    """

    place: Place
    site: Site
    kernel: str
    kind: KernelVariants | None = None
    trials: tuple[Trial, ...] = ()
    final: Final = _UNPLAYED
    tuned: Comparison | None = None
    over_tuned: Comparison | None = None
    configured: bytes = b""
    note: str = ""

    @property
    def against(self) -> Comparison | None:
        """The winner compared with the compiler's best code."""
        return self.over_tuned or self.final.comparison

    @property
    def wins(self) -> bool:
        return self.against is not None and self.against.verdict == "win"

    @property
    def knobs(self) -> Knobs:
        """Those of the winner; none if no variant is correct."""
        return dict(self.final.winner.assignment) if self.final.winner is not None else {}

    @property
    def result(self) -> WorkloadResult | None:
        """As a run has it, to choose kernels by."""
        if self.kind is None:
            return None
        final = replace(self.final, comparison=self.against)
        own = Competitor(self.kind, self.trials, final)
        return WorkloadResult(Task(self.kind.competes_for, ()), 0.0, competitors=(own,))


def hold_contests(
    found: Competitors, lab: Lab, records: Records, *, tuned: Mapping[str, Configuration] = _NONE,
    rounds: int = ROUNDS, seconds: float = math.inf, watch: Watch = lambda _: None,
) -> list[Contest]:  # fmt: skip
    """A contest for each pair of `found.outlook`, in order: try variants, check the best, compare them.

    The kernels take turns. Variants that the records know are not tried again. Ctrl-C ends the search early,
    and what was tried is judged.

    Args:
        found: the kernels.
        lab: where variants are built and timed.
        records: keep the trials; no variant begins after a stop is requested there.
        tuned: configurations to compare with too, by the workload's key.
        rounds: the most interleaved pairs of a comparison.
        seconds: for all contests. The last part is kept for the finals, which are cut short if needed.
        watch: called with messages of progress.

    Raises:
        DeviceLostError: the device does not run a default any more.
    """
    start = time.monotonic()
    searches = {
        Search(kind, kind.strategy("", 0), records, cap=found.most): kind.prepared.site.problem.name
        for kind in found.kinds
        if isinstance(kind, KernelVariants)
    }

    def tried(search: Search) -> None:
        of = f"{search.tried} of {min(search.kind.size, search.cap)} variants"
        watch(f"{search.kind.name} on {searches[search]}: {of}")

    def plan(_: Search, left: int) -> FinalPlan:
        watch("finals")
        left_s = max(0.0, start + seconds - time.monotonic()) / left
        return FinalPlan(_FINALISTS, 1, rounds, min(_JUDGED_S, left_s), least=0.0)

    until = start + (1.0 - _FINALS_PART) * seconds
    with records.stop as stop:
        finals = play_searches([*searches], lab, stop, plan, until, tried)
        left = iter(searches)
        contests = [
            Contest(*_named(pair), note=kind)
            if isinstance(kind, str)
            else _judged(Contest(*_named(pair), kind), next(left), finals, stopped=stop.requested)
            for pair, kind in zip(found.outlook.pairs, found.kinds, strict=True)
        ]
        each_s = max(0.0, start + seconds - time.monotonic()) / (2 * max(1, len(contests)))
        judging = JudgePlan(rounds, seconds=min(_JUDGED_S, each_s))
        judged = play(lab, [_beside_tuned(each, tuned, lab, judging) for each in contests])
    return [now or before for now, before in zip(judged, contests, strict=True)]


def _named(pair: tuple[Place, Site, Kernel]) -> tuple[Place, Site, str]:
    place, site, kernel = pair
    return place, site, kernel.name


def _judged(contest: Contest, search: Search, finals: Mapping[Search, Final], *, stopped: bool) -> Contest:
    if not search.trials:
        why = "interrupted" if stopped else "the time was used up"
        return replace(contest, note=f"not tried: {why}")
    contest, final = replace(contest, trials=tuple(search.trials)), finals[search]
    if final.winner is None:
        return replace(contest, note="no variant computes correct results")
    return replace(contest, final=final, note=final.note)


def _beside_tuned(
    contest: Contest, tuned: Mapping[str, Configuration], lab: Lab, judging: JudgePlan
) -> Jobs[Contest]:
    """With the comparisons of a tuned configuration, if there is one and it can be compared."""
    kind, best = contest.kind, contest.final.built
    if kind is None or best is None or (configuration := tuned.get(kind.workload)) is None:
        return contest
    submit = partial(lab.builder.submit, kind.bench.harness, configuration)
    configured = yield from result(Build(submit, lab.builder.result))
    if configured.outcome != "ok":
        note = f"the tuned configuration fails ({configured.outcome}): {configured.message}"
        return replace(contest, note=note)
    try:
        over_default, over_tuned = yield from results([
            Compare(kind.bench, [(kind.bench.default, [configured.vmfb])], judging),
            Compare(kind.bench, [(configured.vmfb, [best.vmfb])], judging),
        ])  # fmt: skip
    except WorkerError as error:
        return replace(contest, note=f"not compared with the tuned configuration: {error}")
    return replace(contest, tuned=over_default[0], over_tuned=over_tuned[0], configured=configured.vmfb)


def configurations_of(specs: Sequence[Path], context: ir.Context) -> Mapping[str, Configuration]:
    """The first configuration that specs have for each workload, by its key."""
    found: dict[str, Configuration] = {}
    with context:
        for key, starters in read_starters(specs, context).items():
            info = iree_codegen.CompilationInfoAttr.get(
                attribute_from(starters[0].lowering_config), attribute_from(starters[0].translation_info)
            )
            found[key] = Configuration((OpConfiguration.of(ROOT, COMPILATION_INFO, info),))
    return found


class TuningSpec(CandidateSource):
    """A tuning spec as the only change of a program, with the flags that it names. Raises TunerError."""

    name = "spec"
    noun = "spec"

    def __init__(self, path: Path, context: ir.Context) -> None:
        spec = load_spec(path, context)
        self._data, self._flags = to_bytecode(spec), read_flags(spec)

    def version(self, target: Target) -> ProgramVersion:
        """The program with it."""
        change = Change(self.name, "", TUNED)
        return ProgramVersion(TUNED, with_flags(target, self._flags), changes=(change,))

    def apply(self, to: Compiling, changes: Sequence[Change], workers: Calls, folder: Path) -> Compiling:
        del changes, workers, folder
        return replace(to, program=with_spec(to.program, self._data))


@dataclass(frozen=True)
class InProgram:
    """The comparison of a program with and without kernels.

    Attributes:
        versions: all versions, compared with the default in interleaved rounds, or with the reason why not.
        best: the fastest version that wins against the default, or None.
        over_tuned: the best version compared with the tuned program, if the best has kernels and both exist.
    """

    versions: tuple[tuple[ProgramVersion, ProgramComparison], ...]
    best: ProgramVersion | None = None
    over_tuned: ProgramComparison | None = None

    @property
    def chosen(self) -> Chosen:
        """The kernels of the best version; empty if it is not faster than the tuned program."""
        over = self.over_tuned.comparison if self.over_tuned else None
        if self.best is None or (self.over_tuned and (over is None or over.verdict != "win")):
            return []
        return chosen_in(self.best.changes)

    @property
    def is_tuned(self) -> bool:
        return self.best is not None and self.best.what.startswith(TUNED)


def compare_in_program(
    program: Program, run: ProgramRun, choices: Mapping[str, Chosen], spec: TuningSpec | None, lab: Lab,
    rounds: int = ROUNDS,
) -> InProgram:  # fmt: skip
    """Compare the whole program with itself with each choice of kernels, untuned and tuned.

    Args:
        program: the program.
        run: functions, inputs and parameters.
        choices: of kernels, by name (`Competitors.choices`).
        spec: the tuning spec, if there is one.
        lab: where the program is compiled and run.
        rounds: the most interleaved pairs of a comparison.

    Raises:
        TunerError: the default does not compile or run.
    """
    default, tuned = ProgramVersion("default", lab.target), [] if spec is None else [spec.version(lab.target)]
    versions = [*tuned]
    for base in (default, *tuned):
        for name, chosen in choices.items():
            what = name if base == default else f"{base.what} with {name}"
            versions.append(replace(base, what=what, changes=(*base.changes, *changes_of(chosen))))
    every = [site for chosen in choices.values() for site, _ in chosen]
    # Errors add up from one op to the next.
    depth = ErrorDepth(max(site.problem.workload.reduction_length for site in every), len(every))
    sources, plan = [*([spec] if spec else []), Kernels()], ComparisonPlan(1, rounds, _BATCH_S, _JUDGED_S)
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        whole = ProgramVersions(program, run, lab, Silent(), depth, sources=sources, folder=Path(folder))
        found = tuple(zip(versions, whole.compare(default, versions, plan), strict=True))
        best, compared = max(found, key=lambda each: _speedup(each[1]))
        if compared.comparison is None or compared.comparison.verdict != "win":
            return InProgram(found)
        if not tuned or not chosen_in(best.changes) or found[0][1].comparison is None:
            return InProgram(found, best)
        return InProgram(found, best, whole.compare(tuned[0], [best], plan)[0])


def _speedup(found: ProgramComparison) -> float:
    """The speedup over the default; 0 if the version does not run or is wrong."""
    return found.comparison.speedup if found.comparison and found.ok else 0.0
