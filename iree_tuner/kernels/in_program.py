"""Kernels in a program: contests of single problems, and the program with and without the winners."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.unbound import attribute_from
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import TunerError
from iree_tuner.kernels.contest import ROUNDS, Contest, Watch, hold_contest
from iree_tuner.kernels.find import Place, Places, executable_target, find_places
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.joint import JointProducts
from iree_tuner.kernels.kernel import Code, Kernel
from iree_tuner.kernels.save import save_kernel_spec
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.triton_norms import TritonNorms
from iree_tuner.measure.program import ProgramComparison, compare_programs
from iree_tuner.ops.family import ROOT
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.entry import read_flags
from iree_tuner.spec.grammar import COMPILATION_INFO
from iree_tuner.spec.io import load_spec
from iree_tuner.spec.starters import read_starters
from iree_tuner.targets import Target, with_flags
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.versions import for_processor, widened_of, with_spec

SPEC_FLAG = "--iree-preprocessing-transform-spec-filename"
SEARCH_FLAG = "--iree-hal-executable-object-search-path"
"""The folder where iree-compile looks for the code that a spec names. The in-process compiler rejects it."""

_BATCH_S = 0.05
Chosen = Sequence[tuple[Site, Code]]
"""Sites with the kernel's code for each."""

DEFAULT, TUNED = "default", "tuned"

Bases = Mapping[str, tuple[Program, Target]]
"""Programs with their targets by name, `DEFAULT` first. Kernels are put into each program."""


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
                attribute_from(starters[0].lowering_config),
                attribute_from(starters[0].translation_info),
            )
            found[key] = Configuration((OpConfiguration.of(ROOT, COMPILATION_INFO, info),))
    return found


@dataclass(frozen=True)
class Version:
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

    versions: tuple[Version, ...]
    best: Version | None = None
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
        Version(name, tuple(made[name][1]), each) for name, each in zip(list(made)[1:], found, strict=True)
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
