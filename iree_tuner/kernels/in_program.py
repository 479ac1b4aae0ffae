"""Kernels in a program: contests of single problems, and the program with and without the winners.

A contest compares a kernel's variants on one problem alone with the compiler's code, default and tuned.
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
from iree_tuner.device.bench import Bench
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import TunerError
from iree_tuner.kernels.find import Place, Places, executable_target, find_places
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.joint import JointProducts
from iree_tuner.kernels.kernel import Code, Kernel, Knobs
from iree_tuner.kernels.moves import with_packed
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.kernels.triton_norms import TritonNorms
from iree_tuner.kernels.variants import KernelVariants, prepare
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.judging import JudgePlan
from iree_tuner.measure.program import ProgramComparison, compare_programs
from iree_tuner.measure.statistics import Comparison
from iree_tuner.ops.family import ROOT
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.entry import read_flags
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.spec.grammar import COMPILATION_INFO
from iree_tuner.spec.io import load_spec, read_starters
from iree_tuner.store.trial import Trial
from iree_tuner.targets import Target, with_flags
from iree_tuner.tuning.engine import Engine, play
from iree_tuner.tuning.finals import FinalPlan, play_finals
from iree_tuner.tuning.jobs import Build, Compare, Jobs, result, results
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.search import OneSearch, Search
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.versions import for_processor, widened_of, with_spec

_BATCH_S = 0.05
Chosen = Sequence[tuple[Site, Code]]
"""Sites with the kernel's code for each."""

DEFAULT, TUNED = "default", "tuned"

Bases = Mapping[str, tuple[Program, Target]]
"""Programs with their targets by name, `DEFAULT` first. Kernels are put into each program."""

_FINALISTS = 3
ROUNDS = 64  # the most interleaved pairs of a comparison
_FINALS_PART = 0.3  # of a contest's time
_JUDGED_S = 120.0  # the most time of a final comparison

_NONE: Mapping[str, Configuration] = {}

Watch = Callable[[str], None]
"""A function that gets messages of progress, one line each."""


@dataclass(frozen=True)
class Best:
    """The fastest correct variant, by its trial, with its code."""

    trial: Trial
    code: Code

    @property
    def knobs(self) -> Knobs:
        return dict(self.trial.assignment)

    @property
    def score(self) -> float:
        return self.trial.score


@dataclass(frozen=True)
class Contest:
    """The results of a kernel on a problem alone.

    Attributes:
        default_us: time of the compiler's default, in microseconds.
        trials: all trials of variants.
        best: the winner of the finals; None if no variant is correct.
        over_default: the best variant compared with the compiler's default.
        tuned: a tuned configuration compared with the compiler's default, if there is one.
        over_tuned: the best variant compared with the tuned configuration.
        bench: where all were compared; None if there was no contest.
        configured: the tuned configuration, built for the bench; or empty.
        note: why there was no contest, or that the default's results differ from the CPU's.
    """

    site: Site
    kernel: str
    default_us: float = math.inf
    trials: tuple[Trial, ...] = ()
    best: Best | None = None
    over_default: Comparison | None = None
    tuned: Comparison | None = None
    over_tuned: Comparison | None = None
    bench: Bench | None = None
    configured: bytes = b""
    note: str = ""

    @property
    def wins(self) -> bool:
        against = self.over_tuned or self.over_default
        return self.best is not None and against is not None and against.verdict == "win"

    @property
    def speedup(self) -> float:
        """The speedup over the compiler's best code; 0 if no variant is correct."""
        against = self.over_tuned or self.over_default
        return against.speedup if against is not None else 0.0


def hold_contest(
    site: Site, kernel: Kernel, lab: Lab, *, tuned: Mapping[str, Configuration] = _NONE, most: int = 64,
    rounds: int = ROUNDS, seconds: float = math.inf, watch: Watch = lambda _: None,
    records: Records | None = None,
) -> Contest:  # fmt: skip
    """Try a kernel's variants on a problem, check their numbers, and compare the best on fresh samples.

    Variants that the records know are not tried again. The best variants are built again and compared.

    Args:
        site: the problem; its case must compile to one dispatch.
        kernel: does not refuse the problem.
        lab: where variants are built and timed.
        tuned: configurations to compare with too, by the workload's key.
        most: the most variants; 0 for all.
        rounds: the most interleaved pairs of a comparison.
        seconds: for the whole contest. The last part is kept for the finals, which are cut short if needed.
        watch: called with messages of progress.
        records: keeps the trials; no variant begins after a stop is requested there.

    Raises:
        DeviceLostError: the device does not run the default any more.
        WorkerError: a finalist failed in the comparison with the tuned configuration.
    """
    start = time.monotonic()
    records = records or Records(None, StopRequest())
    contest = Contest(site, kernel.name)
    (prepared,) = prepare([site], lab)
    if isinstance(prepared, str):
        return replace(contest, note=prepared)
    kind = KernelVariants(kernel, prepared, lab, records)
    contest = replace(contest, bench=kind.bench, default_us=kind.default_us)
    search = Search(kind, kind.strategy("", 0), records, cap=most or math.inf)
    until = start + (1.0 - _FINALS_PART) * seconds
    for _ in Engine(lab, records.stop, 2 * lab.jobs).run(OneSearch(search), lambda: until):
        most_tried = min(kind.size, search.cap)
        watch(f"{kernel.name} on {site.problem.name}: {search.tried} of {most_tried} variants")
    if not search.trials:
        return replace(contest, note="no time to try a variant")
    watch("finals")

    def plan(_: Search, left: int) -> FinalPlan:
        left_s = max(0.0, start + seconds - time.monotonic()) / left
        return FinalPlan(_FINALISTS, 1, rounds, min(_JUDGED_S, left_s), least=0.0)

    final = play_finals([search], lab, plan)[search]
    contest = replace(contest, trials=tuple(search.trials))
    if final.winner is None or final.built is None or not isinstance(final.built.code, Code):
        return replace(contest, note="no variant computes correct results")
    best = Best(final.winner, with_packed(kernel, site.problem, lab.target, final.built.code))
    contest = replace(contest, best=best, over_default=final.comparison, note=final.note)
    configuration = tuned.get(kind.workload)
    if configuration is None:
        return contest
    beside = _beside_tuned(contest, final.built, configuration, kind, lab, plan(search, 2))
    return play(lab, [beside])[0] or contest


def _beside_tuned(
    contest: Contest, best: Built, tuned: Configuration, kind: KernelVariants, lab: Lab, plan: FinalPlan
) -> Jobs[Contest]:
    submit = partial(lab.builder.submit, kind.bench.harness, tuned)
    configured = yield from result(Build(submit, lab.builder.result))
    if configured.outcome != "ok":
        note = f"the tuned configuration fails ({configured.outcome}): {configured.message}"
        return replace(contest, note=note)
    judging = JudgePlan(plan.rounds, seconds=plan.seconds)
    over_default, over_tuned = yield from results([
        Compare(kind.bench, [(kind.bench.default, [configured.vmfb])], judging),
        Compare(kind.bench, [(configured.vmfb, [best.vmfb])], judging),
    ])  # fmt: skip
    return replace(contest, tuned=over_default[0], over_tuned=over_tuned[0], configured=configured.vmfb)


@dataclass(frozen=True)
class Refusal:
    """A problem that a kernel does not compute, with the reason."""

    problem: str
    functions: tuple[str, ...]
    kernel: str
    why: str


@dataclass(frozen=True)
class Outlook:
    """The places of a program, with the kernels that compute them.

    Attributes:
        target: the executable target, as text.
        pairs: a contest is held for each.
        refusals: problems that no kernel computes, once for each kernel.
        joint: products that are combined into joint products.
        rewritten: the outlook of the program after these products are combined.
    """

    target: str
    pairs: tuple[tuple[Place, Site, Kernel], ...]
    refusals: tuple[Refusal, ...]
    joint: Chosen = ()
    rewritten: Outlook | None = None


def look_at(program: Program, target: Target, kernels: Sequence[Kernel], lab: Lab) -> Outlook:
    """Find the problems of a program, each with every kernel that computes it.

    Raises CompileError if it does not compile, TunerError if it has no functions or no dispatches.
    """
    return outlook_of(find_places(program, target, lab.compilers, kernels), kernels)


def outlook_of(found: Places, kernels: Sequence[Kernel]) -> Outlook:
    """Ask every kernel about every place. Parts of a larger problem that a kernel computes are left out."""
    pairs: list[tuple[Place, Site, Kernel]] = []
    refusals: list[Refusal] = []
    asked = [[(kernel, *place.site_for(kernel)) for kernel in kernels] for place in found.places]
    computed = {site.case for answers in asked for _, site, _ in answers if site is not None}
    for whole, answers in zip(found.places, asked, strict=True):
        if (place := whole.outside(computed)) is None:
            continue
        taken = [(place, site, kernel) for kernel, site, _ in answers if site is not None]
        pairs += taken
        name = place.sites[0].problem.name
        refusals += [
            Refusal(name, place.functions, kernel.name, why)
            for kernel, _, why in answers
            if not taken and not isinstance(kernel, FusedOps | TritonNorms)  # for chains only
        ]
    if not found.joint:
        return Outlook(found.target, tuple(pairs), tuple(refusals))
    joint = [(site, JointProducts().make(site.problem)) for site in found.joint]
    rewritten = outlook_of(Places(found.rewritten, found.target), kernels)
    return Outlook(found.target, tuple(pairs), tuple(refusals), joint, rewritten)


def hold_contests(
    outlook: Outlook, lab: Lab, *, tuned: Mapping[str, Configuration], most: int = 64,
    rounds: int = ROUNDS, seconds: float = float("inf"), watch: Watch = lambda _: None,
    records: Records | None = None,
) -> list[Contest]:  # fmt: skip
    """Hold a contest for every kernel on every problem that it computes. Ctrl-C ends the contests early.

    One contest for each pair of the outlook, in order; those that failed or did not begin have a note.
    `seconds` are shared by all contests. For other arguments, see `hold_contest`.
    """
    end = time.monotonic() + seconds
    found: list[Contest] = []
    records = records or Records(None, StopRequest())
    with records.stop as stop:
        for number, (_, site, kernel) in enumerate(outlook.pairs):
            left = (end - time.monotonic()) / (len(outlook.pairs) - number)
            if site.problem.fused or stop.requested or left <= 0:
                why = "not tried: interrupted" if stop.requested else "not tried: the time was used up"
                why = "compared only within the program" if site.problem.fused else why
                found.append(Contest(site, kernel.name, note=why))
                continue
            try:
                contest = hold_contest(
                    site, kernel, lab, tuned=tuned, most=most, rounds=rounds, seconds=left, watch=watch,
                    records=records,
                )  # fmt: skip
            except TunerError as error:
                contest = Contest(site, kernel.name, note=str(error))
            found.append(contest)
    return found


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


@dataclass(frozen=True)
class KernelVersion:
    """A version of the program, compared with the default.

    Attributes:
        what: a choice of kernels (`kernels`, `more kernels`, ...), `tuned`, or `tuned with` a choice.
        chosen: the kernels in it.
    """

    what: str
    chosen: tuple[tuple[Site, Code], ...]
    found: ProgramComparison

    @property
    def speedup(self) -> float:
        """The speedup over the default; 0 if the version does not run or is wrong."""
        return self.found.comparison.speedup if self.found.comparison and self.found.ok else 0.0


@dataclass(frozen=True)
class InProgram:
    """The comparison of a program with and without kernels.

    Attributes:
        versions: all versions, compared with the default in interleaved rounds, or with the reason why not.
        best: the fastest version that wins against the default, or None.
        over_tuned: the best version compared with the tuned program, if the best has kernels and both exist.
    """

    versions: tuple[KernelVersion, ...]
    best: KernelVersion | None = None
    over_tuned: ProgramComparison | None = None

    @property
    def chosen(self) -> Chosen:
        """The kernels of the best version; empty if it is not faster than the tuned program."""
        over = self.over_tuned.comparison if self.over_tuned else None
        if self.best is None or (self.over_tuned and (over is None or over.verdict != "win")):
            return []
        return self.best.chosen

    @property
    def is_tuned(self) -> bool:
        return self.best is not None and self.best.what.startswith(TUNED)


def compare_in_program(
    bases: Bases, choices: Mapping[str, Chosen], lab: Lab, run: ProgramRun,
    *, rounds: int = ROUNDS, seconds: float = 120.0,
) -> InProgram:  # fmt: skip
    """Compare the whole program with itself with each choice of kernels, untuned and tuned.

    Args:
        bases: the default program and, if there is one, the tuned program.
        choices: of kernels, by name (`source.choices_of`).
        lab: where the program is compiled and run.
        run: functions, inputs and parameters.
        rounds: the most interleaved pairs of a comparison.
        seconds: the most time that a comparison may take.

    Raises:
        TunerError: the default does not compile or run.
    """
    made: dict[str, tuple[bytes, Chosen]] = {}
    failed: list[KernelVersion] = []
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        for base, (source, target) in bases.items():
            made[base] = _compiled(source, target, lab), []
            executable = executable_target(target, lab.compilers)
            for name, chosen in choices.items():
                path = Path(folder) / f"{name.replace(' ', '_')}.mlir"
                save_kernel_spec(chosen, executable, lab.context, path)
                flagged = with_flags(target, (f"{SPEC_FLAG}={path}",))
                what = name if base == DEFAULT else f"{base} with {name}"
                try:
                    made[what] = _compiled(source, flagged, lab), chosen
                except TunerError as error:
                    unknown = ProgramComparison("", None, Agreement(True, 0.0), f"does not compile: {error}")
                    failed.append(KernelVersion(what, tuple(chosen), unknown))
    every = [site for chosen in choices.values() for site, _ in chosen]
    # Errors add up from one op to the next.
    longest = max(site.problem.workload.reduction_length for site in every)
    program, measurer = bases[DEFAULT][0], lab.measurer

    def compare(built: Sequence[bytes]) -> list[ProgramComparison]:
        return compare_programs(
            [built], measurer.device, measurer.workers, rounds, ErrorDepth(longest, len(every)), run,
            batch_s=_BATCH_S, seconds=seconds,
            for_host=None if lab.on_host else partial(for_processor, program, lab),
            widened=partial(widened_of, program, lab),
        )  # fmt: skip

    found = compare([vmfb for vmfb, _ in made.values()])
    versions = tuple(
        KernelVersion(name, tuple(made[name][1]), each)
        for name, each in zip(list(made)[1:], found, strict=True)
    )
    versions = (*versions, *failed)
    best = max(versions, key=lambda each: each.speedup, default=None)
    if best is None or best.found.comparison is None or best.found.comparison.verdict != "win":
        return InProgram(versions)
    if TUNED not in made or not best.chosen:
        return InProgram(versions, best)
    (over,) = compare([made[TUNED][0], made[best.what][0]])
    return InProgram(versions, best, over)


def bases_of(program: Program, target: Target, tuning_spec: Path | None, context: ir.Context) -> Bases:
    """The program as it is, and with a tuning spec and the flags that it names. Raises TunerError."""
    bases = {DEFAULT: (program, target)}
    if tuning_spec is not None:
        spec = load_spec(tuning_spec, context)
        bases[TUNED] = with_spec(program, to_bytecode(spec)), with_flags(target, read_flags(spec))
    return bases


def _compiled(program: Program, target: Target, lab: Lab) -> bytes:
    return compile_program(program, target, lab.compilers).data
