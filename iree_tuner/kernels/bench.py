"""Kernels in a program: contests alone, the winners as a spec, and the program with it and without."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.kernels.contest import Contest, Watch, hold_contest
from iree_tuner.kernels.find import Place, Places, find_places
from iree_tuner.kernels.kernel import Code, Kernel
from iree_tuner.kernels.problem import Problem
from iree_tuner.kernels.save import save_kernel_spec
from iree_tuner.kernels.site import Site
from iree_tuner.measure.program import ProgramComparison, compare_programs
from iree_tuner.measure.program_run import ProgramRun
from iree_tuner.ops.family import ROOT
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.grammar import COMPILATION_INFO
from iree_tuner.spec.io import load_spec
from iree_tuner.spec.starters import read_starters
from iree_tuner.targets import Target
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.whole import with_spec

SPEC_FLAG = "--iree-preprocessing-transform-spec-filename"

_ROUNDS, _BATCH_S = 64, 0.05


@dataclass(frozen=True)
class Refusal:
    """A problem that a kernel does not compute, and why."""

    problem: str
    functions: tuple[str, ...]
    kernel: str
    why: str


@dataclass(frozen=True)
class Outlook:
    """What kernels could do in a program: pairs to hold contests of, and what they refuse."""

    target: str
    pairs: tuple[tuple[Place, Site, Kernel], ...]
    refusals: tuple[Refusal, ...]


def look_at(program: Program, target: Target, kernels: Sequence[Kernel], lab: Lab) -> Outlook:
    """The problems of a program, each with every kernel that computes it.

    Raises:
        CompileError: the program does not compile.
        TunerError: it has no functions or no dispatches.
    """
    return outlook_of(find_places(program, target, lab.compilers), kernels)


def outlook_of(found: Places, kernels: Sequence[Kernel]) -> Outlook:
    """Ask every kernel about every place."""
    pairs: list[tuple[Place, Site, Kernel]] = []
    refusals: list[Refusal] = []
    for place in found.places:
        for kernel in kernels:
            site, why = place.site_for(kernel)
            if site is not None:
                pairs.append((place, site, kernel))
            else:
                name = place.sites[0].problem.name
                refusals.append(Refusal(name, place.functions, kernel.name, why))
    return Outlook(found.target, tuple(pairs), tuple(refusals))


def hold_contests(
    outlook: Outlook, lab: Lab, *, specs: Sequence[Path] = (), most: int = 64,
    seconds: float = float("inf"), watch: Watch = lambda _: None,
) -> list[Contest]:  # fmt: skip
    """Every kernel on every problem that it computes.

    Args:
        outlook: what there is to do.
        lab: where.
        specs: tuning specs whose configurations are compared with, too.
        most: variants of a kernel at most; 0 for all.
        seconds: shared by the contests.
        watch: told of progress.
    """
    tuned = configurations_of(specs, lab.context)
    end = time.monotonic() + seconds
    found: list[Contest] = []
    for number, (_, site, kernel) in enumerate(outlook.pairs):
        left = (end - time.monotonic()) / (len(outlook.pairs) - number)
        found.append(hold_contest(site, kernel, lab, tuned=tuned, most=most, seconds=left, watch=watch))
    return found


def configurations_of(specs: Sequence[Path], context: ir.Context) -> Mapping[str, Configuration]:
    """The first configuration that specs have for each workload, by its key."""
    found: dict[str, Configuration] = {}
    with context:
        for key, starters in read_starters(specs, context).items():
            info = iree_codegen.CompilationInfoAttr.get(
                ir.Attribute.parse(starters[0].lowering_config),
                ir.Attribute.parse(starters[0].translation_info),
            )
            found[key] = Configuration((OpConfiguration(ROOT, COMPILATION_INFO, str(info)),))
    return found


def winners(contests: Sequence[Contest]) -> list[tuple[Site, Code]]:
    """For each problem where a kernel wins alone, the one with the least time."""
    best: dict[Problem, Contest] = {}
    for contest in contests:
        if contest.wins and contest.best is not None:
            key = contest.site.problem
            other = best.get(key)
            if other is None or other.best is None or contest.best.time_us < other.best.time_us:
                best[key] = contest
    chosen = [(each.site, each.best.code) for each in best.values() if each.best is not None]
    return [(site, code) for site, code in chosen if code is not None]


@dataclass(frozen=True)
class InProgram:
    """A program with kernels against the same program without.

    Attributes:
        what: which two are compared.
        found: the second against the first.
    """

    what: str
    found: ProgramComparison


def compare_in_program(
    program: Program, chosen: Sequence[tuple[Site, Code]], outlook: Outlook, lab: Lab, run: ProgramRun,
    *, tuning_spec: Path | None = None, seconds: float = 60.0,
) -> list[InProgram]:  # fmt: skip
    """The whole program by default and with kernels, in turns; with a tuning spec too where one is given.

    Args:
        program: the program.
        chosen: which kernel goes where.
        outlook: what `look_at` found.
        lab: where it is compiled and run.
        run: how it is run.
        tuning_spec: a tuning spec; the program is compared with it alone, and with both.
        seconds: what each comparison may take.

    Raises:
        TunerError, WorkerCrashError, WorkerTimeoutError: the default does not compile or run.
    """
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        path = Path(folder) / "kernels.mlir"
        save_kernel_spec(chosen, outlook.target, lab.context, path)
        kernels = replace(lab.target, flags=(*lab.target.flags, f"{SPEC_FLAG}={path}"))
        names, built = (
            ["default", "kernels"],
            [_compiled(program, lab.target, lab), _compiled(program, kernels, lab)],
        )
        if tuning_spec is not None:
            tuned = with_spec(program, to_bytecode(load_spec(tuning_spec, lab.context)))
            names += ["tuned", "tuned with kernels"]
            built += [_compiled(tuned, lab.target, lab), _compiled(tuned, kernels, lab)]
    length = max(site.problem.workload.reduction_length for site, _ in chosen)
    found = [
        InProgram(f"{name} against {names[0]}", each)
        for name, each in zip(names[1:], _compared(built, lab, length, run, seconds), strict=True)
    ]
    if tuning_spec is not None:
        (last,) = _compared(built[2:], lab, length, run, seconds)
        found.append(InProgram(f"{names[3]} against {names[2]}", last))
    return found


def _compared(
    built: Sequence[bytes], lab: Lab, length: int, run: ProgramRun, seconds: float
) -> list[ProgramComparison]:
    return compare_programs(
        [built],
        lab.measurer.device,
        lab.measurer.workers,
        _ROUNDS,
        length,
        run,
        batch_s=_BATCH_S,
        seconds=seconds,
    )


def _compiled(program: Program, target: Target, lab: Lab) -> bytes:
    return compile_program(program, target, lab.compilers).data
