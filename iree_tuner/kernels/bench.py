"""Kernels in a program: contests alone, the winners as a spec, and the program with it and without."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.unbound import attribute_from
from iree_tuner.errors import TunerError
from iree_tuner.execute.conditioning import Depth
from iree_tuner.execute.numerics import Agreement
from iree_tuner.execute.program import ProgramComparison, compare_programs
from iree_tuner.execute.program_run import ProgramRun
from iree_tuner.kernels.contest import ROUNDS, Contest, Watch, hold_contest
from iree_tuner.kernels.find import Place, Places, executable_target, find_places
from iree_tuner.kernels.fused_ops import FusedOps
from iree_tuner.kernels.joint_products import JointProducts
from iree_tuner.kernels.kernel import Code, Kernel
from iree_tuner.kernels.problem import Problem
from iree_tuner.kernels.save import save_kernel_spec
from iree_tuner.kernels.site import Site
from iree_tuner.ops.family import ROOT
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.entry import read_flags
from iree_tuner.spec.grammar import COMPILATION_INFO
from iree_tuner.spec.io import load_spec
from iree_tuner.spec.starters import read_starters
from iree_tuner.targets import Target
from iree_tuner.tuning.finals import NEARLY
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Records
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.versions import for_processor, with_spec

SPEC_FLAG = "--iree-preprocessing-transform-spec-filename"
SEARCH_FLAG = "--iree-hal-executable-object-search-path"
"""Where iree-compile looks for the code that a spec names; in process the compiler does not take it."""

_BATCH_S = 0.05
Chosen = Sequence[tuple[Site, Code]]
"""Which kernel's code goes where."""

DEFAULT, TUNED = "default", "tuned"

Bases = Mapping[str, tuple[Program, Target]]
"""By name, `DEFAULT` first, the program and what it is compiled for: kernels are put into each of them."""


@dataclass(frozen=True)
class Refusal:
    """A problem that a kernel does not compute, and why."""

    problem: str
    functions: tuple[str, ...]
    kernel: str
    why: str


@dataclass(frozen=True)
class Outlook:
    """What kernels could do in a program.

    Attributes:
        target: the executable target, as text.
        pairs: to hold contests of.
        refusals: what kernels refuse.
        joint: products as parts of joint ones.
        rewritten: what they could do in the program with these.
    """

    target: str
    pairs: tuple[tuple[Place, Site, Kernel], ...]
    refusals: tuple[Refusal, ...]
    joint: Chosen = ()
    rewritten: Outlook | None = None


def look_at(program: Program, target: Target, kernels: Sequence[Kernel], lab: Lab) -> Outlook:
    """The problems of a program, each with every kernel that computes it.

    Raises:
        CompileError: the program does not compile.
        TunerError: it has no functions or no dispatches.
    """
    return outlook_of(find_places(program, target, lab.compilers, kernels), kernels)


def outlook_of(found: Places, kernels: Sequence[Kernel]) -> Outlook:
    """Ask every kernel about every place. The parts of a larger problem that one computes are nobody's."""
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
            if not taken and not isinstance(kernel, FusedOps)  # which is for nothing else
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
    """Every kernel on every problem that it computes; a problem that fails says so. Ctrl-C ends it early.

    Args:
        outlook: what there is to do.
        lab: where.
        tuned: by workload's key, configurations to compare with too.
        most: variants of a kernel at most; 0 for all.
        rounds: interleaved pairs of a comparison at most.
        seconds: shared by the contests; when they have passed, no more are begun.
        watch: told of progress.
        records: keep the trials, and know those of earlier runs.

    Returns:
        One for each pair of the outlook, in order; what was not begun says so.
    """
    end = time.monotonic() + seconds
    found: list[Contest] = []
    records = records or Records(None, StopRequest())
    with records.stop as stop:
        for number, (_, site, kernel) in enumerate(outlook.pairs):
            left = (end - time.monotonic()) / (len(outlook.pairs) - number)
            if site.problem.fused or stop.requested or left <= 0:
                why = "interrupted before it was tried" if stop.requested else "no time left for it"
                why = "compared in the program only" if site.problem.fused else why
                found.append(Contest(site, kernel.name, note=why))
                continue
            try:
                contest = hold_contest(
                    site,
                    kernel,
                    lab,
                    tuned=tuned,
                    most=most,
                    rounds=rounds,
                    seconds=left,
                    watch=watch,
                    records=records,
                )
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
                attribute_from(starters[0].lowering_config),
                attribute_from(starters[0].translation_info),
            )
            found[key] = Configuration((OpConfiguration.of(ROOT, COMPILATION_INFO, info),))
    return found


def winners(contests: Sequence[Contest], least: float = 1.0) -> Chosen:
    """For each problem where a kernel wins alone, the one with the least time.

    Args:
        contests: of all kernels and problems.
        least: below 1, also kernels that are only so many times as fast as what the compiler makes.
    """
    best: dict[Problem, Contest] = {}
    for contest in contests:
        if contest.best is None or not (contest.wins or contest.speedup >= least < 1.0):
            continue
        key = contest.site.problem
        other = best.get(key)
        if other is None or other.best is None or contest.best.score < other.best.score:
            best[key] = contest
    return [(each.site, each.best.code) for each in best.values() if each.best is not None]


def choices_of(contests: Sequence[Contest], chains: Chosen = ()) -> dict[str, Chosen]:
    """What is worth trying in the program: the kernels that win alone, and with them those that nearly do.

    What surrounds a problem may cost more where the compiler makes it, or less: it fuses, and may see another
    op there than alone.
    """
    found = {"kernels": winners(contests), "more kernels": winners(contests, NEARLY)}
    if len(found["more kernels"]) == len(found["kernels"]):
        del found["more kernels"]
    return with_chains({name: chosen for name, chosen in found.items() if chosen}, chains)


def chains_in(outlook: Outlook) -> Chosen:
    """Chains of ops that the program can have as one op: they are compared in the program alone."""
    fused = FusedOps()
    wanted = [site for _, site, kernel in outlook.pairs if kernel.name == fused.name]
    return [(site, fused.make(site.problem)) for site in dict.fromkeys(wanted)]


def with_chains(choices: Mapping[str, Chosen], chains: Chosen) -> dict[str, Chosen]:
    """Each choice of kernels without chains and with them; chains alone, where there is no kernel."""
    if not chains:
        return dict(choices)
    more = {f"{name} and fused ops": [*chosen, *chains] for name, chosen in choices.items()}
    return {**choices, **(more or {"fused ops": chains})}


@dataclass(frozen=True)
class Version:
    """A way to compile the program, against its default.

    Attributes:
        what: `kernels`, `more kernels`, `tuned`, or `tuned with` one of these.
        chosen: the kernels in it.
        found: the comparison.
    """

    what: str
    chosen: tuple[tuple[Site, Code], ...]
    found: ProgramComparison

    @property
    def speedup(self) -> float:
        """Over the default; 0 where it does not run or is wrong."""
        return self.found.comparison.speedup if self.found.comparison and self.found.ok else 0.0


@dataclass(frozen=True)
class InProgram:
    """A program with kernels and without.

    A version that does not compile, run or compute the same says so.

    Attributes:
        versions: each against the default, all in turns.
        best: the fastest that wins against the default; None where none does.
        over_tuned: the best against the tuned program, in turns, where the best has kernels and both exist.
    """

    versions: tuple[Version, ...]
    best: Version | None = None
    over_tuned: ProgramComparison | None = None

    @property
    def chosen(self) -> Chosen:
        """The kernels of the best version; none where it is not faster than the tuned program."""
        over = self.over_tuned.comparison if self.over_tuned else None
        if self.best is None or (self.over_tuned and (over is None or over.verdict != "win")):
            return []
        return self.best.chosen

    @property
    def is_tuned(self) -> bool:
        """Whether the best version is tuned."""
        return self.best is not None and self.best.what.startswith(TUNED)


def compare_in_program(
    bases: Bases, choices: Mapping[str, Chosen], lab: Lab, run: ProgramRun,
    *, rounds: int = ROUNDS, seconds: float = 120.0,
) -> InProgram:  # fmt: skip
    """The whole program by default and with each choice of kernels, in turns; all of it tuned, too.

    Args:
        bases: the program by default and, if there is one, tuned.
        choices: by name, which kernel goes where (`choices_of`).
        lab: where it is compiled and run.
        run: how it is run.
        rounds: interleaved pairs of a comparison at most.
        seconds: what it may take.

    Raises:
        TunerError: the default does not compile or run.
    """
    made: dict[str, tuple[bytes, Chosen]] = {}
    failed: list[Version] = []
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
                    failed.append(Version(what, tuple(chosen), unknown))
    every = [site for chosen in choices.values() for site, _ in chosen]
    # Errors add up from one op to the next.
    longest = max(site.problem.workload.reduction_length for site in every)
    look = _Look(bases[DEFAULT][0], lab, Depth(longest, len(every)), run, rounds, seconds)
    found = look.compare([vmfb for vmfb, _ in made.values()])
    versions = tuple(
        Version(name, tuple(made[name][1]), each) for name, each in zip(list(made)[1:], found, strict=True)
    )
    versions = (*versions, *failed)
    best = max(versions, key=lambda each: each.speedup, default=None)
    if best is None or best.found.comparison is None or best.found.comparison.verdict != "win":
        return InProgram(versions)
    if TUNED not in made or not best.chosen:
        return InProgram(versions, best)
    (over,) = look.compare([made[TUNED][0], made[best.what][0]])
    return InProgram(versions, best, over)


def bases_of(program: Program, target: Target, tuning_spec: Path | None, context: ir.Context) -> Bases:
    """The program as it is, and with a tuning spec and the flags that it names. Raises TunerError."""
    bases = {DEFAULT: (program, target)}
    if tuning_spec is not None:
        spec = load_spec(tuning_spec, context)
        bases[TUNED] = with_spec(program, to_bytecode(spec)), with_flags(target, read_flags(spec))
    return bases


def with_flags(target: Target, flags: Sequence[str]) -> Target:
    """The target with more flags, each once."""
    return replace(target, flags=tuple(dict.fromkeys((*target.flags, *flags))))


@dataclass(frozen=True)
class _Look:
    """How versions of a program are compared; where a GPU's differ, this machine's processor is asked."""

    program: Program
    lab: Lab
    depth: Depth
    run: ProgramRun
    rounds: int
    seconds: float

    def compare(self, built: Sequence[bytes]) -> list[ProgramComparison]:
        """The first against each of the others."""
        measurer = self.lab.measurer
        return compare_programs(
            [built], measurer.device, measurer.workers, self.rounds, self.depth, self.run, batch_s=_BATCH_S,
            seconds=self.seconds,
            for_host=None if self.lab.on_host else partial(for_processor, self.program, self.lab),
        )  # fmt: skip


def _compiled(program: Program, target: Target, lab: Lab) -> bytes:
    return compile_program(program, target, lab.compilers).data
