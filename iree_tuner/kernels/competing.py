"""Kernels as candidates of a program's workloads: who computes which, and what goes into the program."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from iree_tuner.execute.statistics import FAR
from iree_tuner.kernels.bench import (
    SPEC_FLAG,
    Chosen,
    Outlook,
    chains_in,
    look_at,
    with_chains,
    with_flags,
)
from iree_tuner.kernels.find import Place, executable_target
from iree_tuner.kernels.kernel import Code, Kernel
from iree_tuner.kernels.packing import with_packed
from iree_tuner.kernels.save import save_kernel_spec
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.spec import executable_names
from iree_tuner.kernels.variants import KernelVariants, prepare
from iree_tuner.ops.workload import Workload
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.source import Program
from iree_tuner.targets import Target
from iree_tuner.targets.find import with_options
from iree_tuner.targets.options import fusing_more
from iree_tuner.tuning.finals import NEARLY
from iree_tuner.tuning.flags import untuned
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Records
from iree_tuner.tuning.result import WorkloadResult
from iree_tuner.tuning.task import Task
from iree_tuner.tuning.verdict import TunedVariant
from iree_tuner.tuning.versions import ProgramVersion

_VARIANTS = {"smoke": 2, "quick": 4, "default": 32}
"""Of a kernel on a problem, by effort, where no budget says when it is enough."""


@dataclass(frozen=True)
class Competitors:
    """What kernels can do in a program.

    Attributes:
        outlook: the problems, each with every kernel that computes it.
        own: the same without those of joint products.
        kinds: the variants of each of these kernels; None where the problem cannot be timed alone.
        notes: why those cannot; and what the program spends where what is timed alone is another.
    """

    outlook: Outlook
    own: Outlook
    kinds: tuple[KernelVariants | None, ...]
    notes: tuple[str, ...]

    def of(self, workload: str) -> list[KernelVariants]:
        """Those that compute a workload, by its key."""
        return [kind for kind in self.kinds if kind is not None and kind.workload == workload]

    @property
    def chains(self) -> Chosen:
        """Ops that the program can have as one op, of which the compiler makes fewer dispatches."""
        return chains_in(self.own)

    def choices(self, results: Sequence[WorkloadResult], target: Target) -> Mapping[str, Chosen]:
        """What is worth trying in the program, by name: kernels, with and without chains, joint products."""
        found = choices_among(results, target)
        own = {site for _, site, _ in self.own.pairs}
        choices = {name: [each for each in chosen if each[0] in own] for name, chosen in found.items()}
        choices = with_chains({name: chosen for name, chosen in choices.items() if chosen}, self.chains)
        if self.own.rewritten is not None:
            sites = {site for _, site, _ in self.own.rewritten.pairs}
            kept = [each for chosen in list(found.values())[-1:] for each in chosen if each[0] in sites]
            choices["joint products"] = [*self.own.joint, *kept, *chains_in(self.own.rewritten)]
        return choices

    @property
    def apply(self) -> bool:
        """Whether any can be compared, alone or in the program."""
        return any(self.kinds) or bool(self.chains or self.own.joint)

    def versions(self, target: Target) -> int:
        """How many versions of the program with kernels there will be, about (`versions_with`)."""
        choices = any(self.kinds) + bool(self.chains) + bool(self.own.rewritten)
        return choices + bool(fusing_more(target)) * min(choices, 2)

    def beside(self, tasks: Sequence[Task], faster: float) -> list[tuple[Task, float]]:
        """Workloads that only kernels compute, as flags have made others of them, with what is spent on them.

        That is in microseconds an invocation: what the default takes, as much faster as the flags make the
        program.
        """
        known = {task.workload.key for task in tasks}
        found: dict[str, tuple[Task, float]] = {}
        for (place, _, _), kind in zip(self.outlook.pairs, self.kinds, strict=True):
            if kind is not None and kind.workload not in known:
                spent_us = kind.prepared.spent_us * len(place.functions)
                found[kind.workload] = Task(kind.competes_for, ()), spent_us / faster
        return list(found.values())


def find_competitors(
    program: Program, dispatches: Sequence[Dispatch], kernels: Sequence[Kernel], lab: Lab, records: Records
) -> Competitors:
    """Look for the places of a program that kernels compute, and time what the compiler makes of them.

    Args:
        program: the program.
        dispatches: what the compiler makes of it.
        kernels: that may compute something of it.
        lab: with the target that the program was read for.
        records: keep the trials.

    Raises:
        CompileError: the program does not compile.
        TunerError: it has no functions or no dispatches.
    """
    own = look_at(program, lab.target, kernels, lab)
    known = {site for _, site, _ in own.pairs}
    more = own.rewritten.pairs if own.rewritten else ()
    outlook = replace(own, pairs=(*own.pairs, *(pair for pair in more if pair[1] not in known)))
    sites = list(dict.fromkeys(site for _, site, _ in outlook.pairs if not site.problem.fused))
    workloads = {
        site: workload
        for place, site, _ in outlook.pairs
        if (workload := _in_program(place, site, dispatches)) is not None
    }
    prepared = dict(zip(sites, prepare(sites, lab, timed=workloads), strict=True))
    kinds: list[KernelVariants | None] = []
    notes: list[str] = []
    for _, site, kernel in outlook.pairs:
        found = prepared.get(site)
        if found is None:
            notes.append(f"{site.problem.name}: {kernel.name} is compared in the program only")
            kinds.append(None)
        elif isinstance(found, str):
            notes.append(f"{kernel.name} does not support {site.problem.name}: {found}")
            kinds.append(None)
        else:
            kinds.append(KernelVariants(kernel, found, lab, records, workloads.get(site)))
            if site.one_op and site not in workloads:
                notes.append(
                    f"{site.problem.name}: the program spends {found.spent_us:.0f} us on it, in several "
                    f"dispatches; {kernel.name} is compared with one op of the compiler's, which takes "
                    f"{found.default_us:.0f} us"
                )
    return Competitors(outlook, own, tuple(kinds), tuple(notes))


def _in_program(place: Place, site: Site, dispatches: Sequence[Dispatch]) -> Workload | None:
    """The workload that the compiler makes of a site in the program, where that is one dispatch.

    It may be another than alone: strides of 1x1 convolutions become strides of a reduction, for example. None
    where a kernel replaces more than a dispatch and its padding, or where the dispatch has another root op.
    """
    own = next((each.workload for each in dispatches if each.name == place.dispatch), None)
    alone = site.problem.workload
    if own is None or (site.one_op and not site.padded):
        return None
    same = own.reduction_length == alone.reduction_length and math.prod(own.loops) == math.prod(alone.loops)
    return own if same else None


def most_variants(effort: str, *, limited: bool) -> float:
    """How many variants of a kernel are tried; where there is a budget, the time decides."""
    return math.inf if limited else _VARIANTS.get(effort, math.inf)


def choices_among(results: Sequence[WorkloadResult], target: Target) -> Mapping[str, Chosen]:
    """Which kernels are worth trying in the program, by name of the choice.

    Those that win alone, also over the best configuration; and with them those that nearly do: what surrounds
    a problem may cost more where the compiler makes it, or less.
    """
    found = {"kernels": _chosen(results, 1.0), "more kernels": _chosen(results, NEARLY)}
    if len(found["more kernels"]) == len(found["kernels"]):
        del found["more kernels"]
    plain = {(site, kernel): code for chosen in found.values() for site, (kernel, code) in chosen.items()}
    codes = {
        (site, kernel): with_packed(kernel, site.problem, target, code)
        for (site, kernel), code in plain.items()
    }
    return {
        name: [(site, codes[site, kernel]) for site, (kernel, _) in chosen.items()]
        for name, chosen in found.items()
        if chosen
    }


def _chosen(results: Sequence[WorkloadResult], least: float) -> dict[Site, tuple[Kernel, Code]]:
    """For each problem the fastest kernel that is at least so many times as fast as what it replaces."""
    best: dict[Site, tuple[float, Kernel, Code]] = {}
    for result in results:
        configured = result.comparison.speedup if result.entry and result.comparison else 1.0
        for each in result.competitors:
            kind, comparison = each.kind, each.final.comparison
            code = each.final.built.code if each.final.built is not None else None
            if not isinstance(kind, KernelVariants) or comparison is None or not isinstance(code, Code):
                continue
            site, slower = kind.prepared.site, _slower(kind, result)
            speedup = slower * comparison.speedup
            wins = comparison.verdict == "win" or slower * comparison.interval[0] > FAR
            wins &= speedup > configured
            if (wins or (speedup >= least * configured > 0 and least < 1.0)) and speedup > best.get(
                site, (0.0,)
            )[0]:
                best[site] = speedup, kind.kernel, code
    return {site: (kernel, code) for site, (_, kernel, code) in best.items()}


def _slower(kind: KernelVariants, result: WorkloadResult) -> float:
    """How many times as long as alone the default takes in the program, if that differs by far."""
    if kind.competes_for == kind.prepared.workload or not result.task.calls:
        return 1.0
    found = result.weight_us / result.task.calls / kind.default_us
    return found if found > FAR or 0.0 < found < 1.0 / FAR else 1.0


def versions_with(
    tuned: TunedVariant, choices: Mapping[str, Chosen], lab: Lab, folder: Path
) -> dict[ProgramVersion, Chosen]:
    """The tuned program with each choice of kernels.

    The last two, which have most in them, are also tried with the option that fuses more, where there is one:
    with kernels other ops are left to fuse than without.
    """
    found: dict[ProgramVersion, Chosen] = {}
    more = fusing_more(tuned.target)
    fused = [with_options(tuned.target, more)] if more else []
    for number, (name, chosen) in enumerate(choices.items()):
        for target in (tuned.target, *(fused if number >= len(choices) - 2 else ())):
            path = folder / f"{name.replace(' ', '_')}_{len(found)}.mlir"
            what = f"{tuned.version.what if target == tuned.target else untuned(target).what} and {name}"
            found[ProgramVersion(what, _with_kernels(target, chosen, lab, path), tuned.reached)] = chosen
    return found


def mended_with(
    version: ProgramVersion, known: Mapping[ProgramVersion, Chosen], blamed: Collection[str] | None,
    lab: Lab, folder: Path,
) -> dict[ProgramVersion, Chosen]:  # fmt: skip
    """A version without what makes it wrong or fail; none where nothing would be left, or there is the same.

    The compiler may fail on a program with kernels under flags that are fine without: under
    `--iree-opt-level=O3` it fuses more into what surrounds them.

    Args:
        version: the program with kernels.
        known: all of them, with their kernels.
        blamed: names of dispatches that compute wrong results; None where it does not compile or run, and is
            to have the flags that were given.
        lab: for those, and with the context of the spec.
        folder: where it is written.
    """
    plain, chosen = without_kernels(version.target), known[version]
    if blamed is None:
        right, entries, what = list(chosen), (), f"{version.what}, with the given flags"
        plain = lab.target
        same = any(without_kernels(each.target) == plain and own == right for each, own in known.items())
    else:
        names = executable_names([site for site, _ in chosen])
        right = [each for name, each in zip(names, chosen, strict=True) if name not in blamed]
        entries, what = version.entries, f"{version.what} that are right"
        same = len(right) == len(chosen)
    if not right or same:
        return {}
    path = folder / f"mended_{version.what.replace(' ', '_')}.mlir"
    return {ProgramVersion(what, _with_kernels(plain, right, lab, path), entries): right}


def without_kernels(target: Target) -> Target:
    """A target without the flag that names a spec of kernels."""
    return replace(target, flags=tuple(flag for flag in target.flags if not flag.startswith(SPEC_FLAG)))


def _with_kernels(target: Target, chosen: Chosen, lab: Lab, path: Path) -> Target:
    """The target with a spec of kernels, which is written to a file."""
    save_kernel_spec(chosen, executable_target(target, lab.compilers), lab.context, path)
    return with_flags(target, (f"{SPEC_FLAG}={path}",))
