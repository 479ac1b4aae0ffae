"""Kernels as candidates for a program's workloads, and the program with the kernels that win."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Calls, WorkerError
from iree_tuner.kernels.find import Place, Places, begin_finding, executable_target
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.joint import JointProducts
from iree_tuner.kernels.kernel import Code, Kernel, KernelError, Knobs, Problem, usual_kernels
from iree_tuner.kernels.moves import with_packed
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.spec import executable_names, save_kernel_spec
from iree_tuner.kernels.triton_norms import TritonNorms
from iree_tuner.kernels.variants import KernelVariants, digest_of_code, prepare
from iree_tuner.measure.statistics import FAR
from iree_tuner.ops.workload import Workload
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.space.configuration import Assignment
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.targets import Target, with_flags
from iree_tuner.targets.find import fusing_more
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.candidate import CandidateKind, default_scale
from iree_tuner.tuning.finals import NEARLY
from iree_tuner.tuning.flags import FlagChoice, option, optioned
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import INSTANT
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.result import WorkloadResult
from iree_tuner.tuning.run import Run
from iree_tuner.tuning.source import CandidateSource, Found
from iree_tuner.tuning.verdict import Tuned
from iree_tuner.tuning.versions import Change, Compiling, ProgramVersion

_WITH_MOST = 2  # choices, those with most kernels, that are also tried with other flags

_VARIANTS = {INSTANT: 1, "smoke": 2, "quick": 4, "default": 32}
"""The most variants of a kernel on a problem, by effort, for runs without a budget."""

_NOT_TIMED = "not timed yet"

Chosen = Sequence[tuple[Site, Code]]
"""Sites with the kernel's code for each."""

Making = Mapping[Site, Future[Code]]
"""Code that workers make, by site."""


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
        notes: searches that failed, and why.
    """

    target: str
    pairs: tuple[tuple[Place, Site, Kernel], ...]
    refusals: tuple[Refusal, ...]
    joint: Chosen = ()
    rewritten: Outlook | None = None
    notes: tuple[str, ...] = ()


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
        return Outlook(found.target, tuple(pairs), tuple(refusals), notes=found.notes)
    joint = [(site, JointProducts().make(site.problem)) for site in found.joint]
    rewritten = outlook_of(Places(found.rewritten, found.target), kernels)
    return Outlook(found.target, tuple(pairs), tuple(refusals), joint, rewritten, found.notes)


def chains_in(outlook: Outlook) -> Chosen:
    """Chains of ops that can be fused into one op. They are compared only in the program."""
    fused = FusedOps()
    wanted = [site for _, site, kernel in outlook.pairs if kernel.name == fused.name]
    return [(site, fused.make(site.problem)) for site in dict.fromkeys(wanted)]


def make_norms(outlook: Outlook, lab: Lab) -> Making:
    """Let workers make the code of sums and norms that a kernel computes."""
    return {
        site: lab.compilers.submit(_made_here, kernel, site.problem, lab.target)
        for _, site, kernel in outlook.pairs
        if kernel.name == TritonNorms.name
    }


def norms_in(outlook: Outlook, making: Making, lab: Lab) -> Chosen:
    """The chains, with code of `make_norms` instead of ops; empty if there is no such code.

    They are compared only in the program.
    """
    made: dict[Site, Code] = {}
    for site, future in making.items():
        with suppress(KernelError, WorkerError):
            made[site] = lab.compilers.wait(future)
    every = dict.fromkeys(site for _, site, _ in outlook.pairs)
    made = {site: code for site, code in made.items() if site in every}
    chosen = {**dict(chains_in(outlook)), **made}
    return [(site, chosen[site]) for site in every if site in chosen] if made else []


def _made_here(kernel: Kernel, problem: Problem, target: Target) -> Code:
    return kernel.make(problem, target, kernel.variants(problem, target)[0])


def each_once(outlook: Outlook) -> list[tuple[Place, Site, Kernel]]:
    """The pairs of an outlook without ops for problems that a kernel computes, too."""
    written = {site for _, site, kernel in outlook.pairs if not isinstance(kernel, FusedOps)}
    return [pair for pair in outlook.pairs if pair[1] not in written or not isinstance(pair[2], FusedOps)]


def with_chains(choices: Mapping[str, Chosen], chains: Chosen, norms: Chosen = ()) -> dict[str, Chosen]:
    """Each choice of kernels without and with chains, and the last one with norms (`norms_in`).

    If there is no choice, the chains and norms alone.
    """
    found = dict(choices)
    for name, chosen in (choices or {"": []}).items() if chains else ():
        found[f"{name} and fused ops".removeprefix(" and ")] = [*chosen, *chains]
    if norms:
        name, chosen = list(choices.items())[-1] if choices else ("", [])
        found[f"{name} and norms".removeprefix(" and ")] = [*chosen, *norms]
    return found


@dataclass(frozen=True)
class Competitors(Found):
    """The kernels that compute problems of a program.

    Attributes:
        outlook: all problems, each with every kernel that computes it.
        own: the outlook without the problems that joint products create.
        kinds: for each pair of `outlook`, the kernel's variants, or why the problem cannot be timed alone.
        notes: why problems cannot be timed alone, and the time of problems that are several dispatches.
        replaced: keys of the workloads whose dispatches are large sums, which other ops or kernels replace.
        norms, joint_norms: chains and kernels of norms (`norms_in`), of `own` and with joint products.
        most: trials of each kernel on a problem.
        made: versions of the program with kernels, so far.
        codes: the code of variants for the program, so far.
    """

    outlook: Outlook
    own: Outlook
    kinds: tuple[KernelVariants | str, ...]
    notes: tuple[str, ...]
    replaced: frozenset[str] = frozenset()
    norms: Chosen = ()
    joint_norms: Chosen = ()
    most: float = math.inf
    made: list[ProgramVersion] = field(default_factory=list[ProgramVersion])
    codes: dict[tuple[Target, Site, _Pick], Code] = field(
        default_factory=dict[tuple[Target, Site, "_Pick"], Code]
    )

    def prepared(self, run: Run) -> Competitors:
        return find_competitors(self, run.dispatches, run.lab, run.records)

    @property
    def candidates(self) -> Sequence[tuple[CandidateKind, float]]:
        return [(kind, self.most) for kind in self.kinds if isinstance(kind, KernelVariants)]

    def of(self, workload: str) -> list[KernelVariants]:
        """The variants of kernels that compute a workload, by its key."""
        return [kind for kind in self.kinds if isinstance(kind, KernelVariants) and kind.workload == workload]

    @property
    def chains(self) -> Chosen:
        return chains_in(self.own)

    def choices(
        self, results: Sequence[WorkloadResult], target: Target, lab: Lab, proven: Collection[Site] = ()
    ) -> Mapping[str, Chosen]:
        """Choices to try in the program, by name: kernels, with chains, with norms, and joint products.

        One choice has the kernels that win alone, also over the best configuration. `more kernels` adds near
        winners: in the program, the surrounding ops may cost more or less than alone. It also adds kernels
        without a verdict: the best variant that was tried, or the first one if none was, or if all differ
        from the compiler's code alone while the program with the kernel is right (`proven`): that code may be
        wrong itself.
        """
        wins, near = _chosen(results, 1.0), _chosen(results, NEARLY)
        more = {**self._unjudged(results, target, proven), **near}
        picked = {"kernels": wins, "more kernels": more if len(more) > len(wins) else {}}
        found = self._made({name: picks for name, picks in picked.items() if picks}, target, lab)
        own = {site for _, site, _ in self.own.pairs}
        choices = {name: [each for each in chosen if each[0] in own] for name, chosen in found.items()}
        choices = {name: chosen for name, chosen in choices.items() if chosen}
        choices = with_chains(choices, self.chains, self.norms)
        if self.own.rewritten is not None:
            sites = {site for _, site, _ in self.own.rewritten.pairs}
            kept = [each for chosen in list(found.values())[-1:] for each in chosen if each[0] in sites]
            rest = self.joint_norms or chains_in(self.own.rewritten)
            choices["joint products"] = [*self.own.joint, *kept, *rest]
        return choices

    def _made(
        self, choices: Mapping[str, Mapping[Site, _Pick]], target: Target, lab: Lab
    ) -> dict[str, list[tuple[Site, Code]]]:
        """The code of each choice's variants, also for packed constants. Variants that fail are left out."""
        submit, known = lab.compilers.submit, self.codes
        making = {
            (target, site, pick): submit(code_here, pick.kernel, site.problem, target, pick.knobs, pick.code)
            for picks in choices.values()
            for site, pick in picks.items()
            if (target, site, pick) not in known
        }
        found = ((key, _result(future)) for key, future in making.items())
        known.update((key, code) for key, code in found if code is not None)
        return {
            name: [(site, code) for site, pick in picks.items() if (code := known.get((target, site, pick)))]
            for name, picks in choices.items()
        }

    def _unjudged(
        self, results: Sequence[WorkloadResult], target: Target, proven: Collection[Site]
    ) -> dict[Site, _Pick]:
        """For each problem without a verdict on a kernel, what seems to be the best variant."""
        tried = {id(each.kind): (result, each) for result in results for each in result.competitors}
        best: dict[Site, tuple[float, _Pick]] = {}
        for (_, site, kernel), kind in zip(self.outlook.pairs, self.kinds, strict=True):
            result, own = tried.get(id(kind), (None, None))
            if site.problem.fused or (own is not None and own.final.comparison is not None):
                continue
            alone = isinstance(kind, KernelVariants)
            speedup, variants = 1.0, kind.knobs if alone else kernel.variants(site.problem, target)
            knobs = next(iter(variants), None)
            if result is not None and own is not None and alone and own.trials:
                ran = [each for each in own.trials if each.outcome == "ok"]
                if not ran and site in proven:
                    best.setdefault(site, (1.0, _Pick(kernel, Assignment.of(kind.knobs[0]))))
                    continue
                fastest = min(ran, key=lambda trial: trial.score, default=None)
                configured = result.comparison.speedup if result.entry and result.comparison else 1.0
                slower = 1 / default_scale(kind, result.task, result.weight_us)
                speedup = slower / fastest.score if fastest is not None else 0.0
                knobs = dict(fastest.assignment) if fastest is not None and speedup > configured else None
            if knobs is not None and speedup > best.get(site, (0.0,))[0]:
                best[site] = speedup, _Pick(kernel, Assignment.of(knobs))
        return {site: pick for site, (_, pick) in best.items()}

    @property
    def applies(self) -> bool:
        return bool(self.candidates or self.chains or self.norms or self.own.joint)

    def count(self, target: Target, further: int) -> int:
        choices = bool(self.candidates) + bool(self.chains) + bool(self.norms) + bool(self.own.rewritten)
        return choices + (further + bool(fusing_more(target))) * min(choices, _WITH_MOST)

    def beside(self, tasks: Sequence[Task], speedup: float) -> Sequence[tuple[Task, float]]:
        known = {task.workload.key for task in tasks}
        found: dict[str, tuple[Task, float]] = {}
        for (place, _, _), kind in zip(self.outlook.pairs, self.kinds, strict=True):
            if isinstance(kind, KernelVariants) and kind.workload not in known:
                spent_us = kind.prepared.spent_us * len(place.functions)
                found[kind.workload] = Task(kind.competes_for, ()), spent_us / speedup
        return list(found.values())

    def versions(self, run: Run, tuned: Tuned, bases: Sequence[ProgramVersion]) -> Sequence[ProgramVersion]:
        proven = [site for site, _ in chosen_in(run.proven)]
        found = versions_with(tuned, self.choices(tuned.results, tuned.target, run.lab, proven), bases)
        self.made.extend(found)
        return found

    def without(self, version: ProgramVersion, wrong: Collection[str] | None) -> ProgramVersion | None:
        found = mended_with(version, self.made, wrong)
        self.made.extend(filter(None, [found]))
        return found


def competitors_of(
    own: Outlook, dispatches: Sequence[Dispatch], lab: Lab, most: float = math.inf
) -> Competitors:
    """The kernels that compute problems of a program, before anything is timed.

    Args:
        own: the problems.
        dispatches: of the program by default; without these, problems are known only as they are alone.
        lab: where kernels of norms are made.
        most: trials of each kernel on a problem.
    """
    known = {site for _, site, _ in own.pairs}
    more = own.rewritten.pairs if own.rewritten else ()
    outlook = replace(own, pairs=(*own.pairs, *(pair for pair in more if pair[1] not in known)))
    making = make_norms(outlook, lab)
    sums = {name for _, site, _ in own.pairs if site.problem.fused for name in site.dispatches}
    return Competitors(
        outlook, own, (_NOT_TIMED,) * len(outlook.pairs), (),
        frozenset(each.workload.key for each in dispatches if each.workload and each.name in sums),
        norms_in(own, making, lab), norms_in(own.rewritten, making, lab) if own.rewritten else (), most,
    )  # fmt: skip


def find_competitors(
    found: Competitors, dispatches: Sequence[Dispatch], lab: Lab, records: Records
) -> Competitors:
    """Time the compiler's code for the problems of a program that kernels compute.

    Args:
        found, dispatches: as of `competitors_of`.
        lab: where variants will be built and timed.
        records: keep their trials.
    """
    pairs = found.outlook.pairs
    sites = list(dict.fromkeys(site for _, site, _ in pairs if not site.problem.fused))
    workloads = {
        site: workload for _, site, _ in pairs if (workload := _in_program(site, dispatches)) is not None
    }
    prepared = dict(zip(sites, prepare(sites, lab, timed=workloads), strict=True))
    kinds: list[KernelVariants | str] = []
    notes = [*found.own.notes]
    for _, site, kernel in pairs:
        alone = prepared.get(site, "compared only within the program")
        if isinstance(alone, str):
            kinds.append(alone)
            notes.append(f"{site.problem.name}, {kernel.name}: {alone}")
        else:
            kinds.append(KernelVariants(kernel, alone, lab, records, workloads.get(site)))
            if site.one_op and site not in workloads:
                notes.append(
                    f"{site.problem.name}: the program spends {alone.spent_us:.0f} us on it, in several "
                    f"dispatches; {kernel.name} is compared with one op of the compiler's, which takes "
                    f"{alone.default_us:.0f} us"
                )
    return replace(found, kinds=tuple(kinds), notes=tuple(notes))


def _in_program(site: Site, dispatches: Sequence[Dispatch]) -> Workload | None:
    """The workload of a site's dispatch in the program.

    It may differ from the workload alone. For example, strides of 1x1 convolutions become strides of a
    reduction. None if a kernel replaces more than a dispatch and its padding, or the root op differs.
    """
    own = next((each.workload for each in dispatches if each.name in site.dispatches[:1]), None)
    alone = site.problem.workload
    if own is None or (site.one_op and not site.padded):
        return None
    same = own.reduction_length == alone.reduction_length and math.prod(own.loops) == math.prod(alone.loops)
    return own if same else None


def most_variants(effort: str, *, limited: bool) -> float:
    """The most variants of a kernel to try. With a budget, only time limits them."""
    return math.inf if limited and effort != INSTANT else _VARIANTS.get(effort, math.inf)


@dataclass(frozen=True)
class _Pick:
    """A kernel's variant for a problem; its code, if that was kept."""

    kernel: Kernel
    knobs: Assignment
    code: Code | None = field(default=None, compare=False)


def _chosen(results: Sequence[WorkloadResult], least: float) -> dict[Site, _Pick]:
    """For each problem, the fastest kernel that wins, also over the best configuration.

    If `least` is below 1, a kernel with so large a part of the best configuration's speed is also taken.
    """
    best: dict[Site, tuple[float, _Pick]] = {}
    for result in results:
        configured = result.comparison.speedup if result.entry and result.comparison else 1.0
        for each in result.competitors:
            kind, comparison = each.kind, each.final.comparison
            code = each.final.built.code if each.final.built is not None else None
            if not isinstance(kind, KernelVariants) or comparison is None or not isinstance(code, Code):
                continue
            site, scale = kind.prepared.site, default_scale(kind, result.task, result.weight_us)
            speedup = comparison.speedup / scale
            wins = comparison.verdict == "win" or comparison.interval[0] / scale > FAR
            wins = (wins and speedup > configured) or (speedup >= least * configured > 0 and least < 1.0)
            if wins and speedup > best.get(site, (0.0,))[0]:
                best[site] = speedup, _Pick(kind.kernel, Assignment.of(code.knobs), code)
    return {site: pick for site, (_, pick) in best.items()}


def code_here(kernel: Kernel, problem: Problem, target: Target, knobs: Knobs, code: Code | None) -> Code:
    """A variant's code with the code for a packed constant. Runs in workers. Raises KernelError."""
    return with_packed(kernel, problem, target, code or kernel.make(problem, target, knobs))


def _result(future: Future[Code]) -> Code | None:
    try:
        return future.result()
    except Exception:  # the kernel's error, or the end of its worker: it is left out
        return None


def versions_with(
    tuned: Tuned, choices: Mapping[str, Chosen], bases: Sequence[ProgramVersion] = ()
) -> list[ProgramVersion]:
    """The tuned program with each choice of kernels.

    The last choices, which have the most kernels, are also tried with further flags, as kernels change the
    ops that are left: with those of `bases`, and with the option that fuses more, if there is one.
    """
    found: list[ProgramVersion] = []
    more = fusing_more(optioned(tuned.target, tuned.changes))
    others = [*bases]
    if more:
        fused = FlagChoice(tuned.target, changes=(*tuned.changes, option(tuned.target, more)))
        others.append(replace(fused.version, entries=tuned.reached))
    for number, (name, chosen) in enumerate(choices.items()):
        for base in (tuned.version, *(others if number >= len(choices) - _WITH_MOST else ())):
            changes = (*base.changes, *changes_of(chosen))
            found.append(replace(base, what=f"{base.what} and {name}", changes=changes))
    return found


def changes_of(chosen: Chosen) -> tuple[Change, ...]:
    """Kernels as changes of a program."""
    return tuple(
        Change(
            Kernels.name, site.problem.name,
            " ".join([called(site, code), *(f"{name}={value}" for name, value in code.knobs.items())]),
            digest_of_code(code), (site, code), site.times, site.dispatches,
        )
        for site, code in chosen
    )  # fmt: skip


def called(site: Site, code: Code) -> str:
    """The code's name on a line that begins with the problem's: functions in PTX have both."""
    return code.entry.removesuffix(f"_{site.problem.name}")


def chosen_in(changes: Sequence[Change]) -> Chosen:
    """The kernels among changes."""
    return [cast("tuple[Site, Code]", each.made) for each in changes if each.source == Kernels.name]


def mended_with(
    version: ProgramVersion, known: Sequence[ProgramVersion], blamed: Collection[str] | None
) -> ProgramVersion | None:
    """Repair a version: leave out wrong kernels, or all but kernels. None if no new version results.

    The compiler may fail on a program with kernels under flags that work without kernels: under
    `--iree-opt-level=O3` it fuses more ops around them.

    Args:
        version: the program with kernels.
        known: all versions with kernels.
        blamed: names of dispatches with wrong results. None if the version does not compile or run: then it
            is compiled with the given flags.
    """
    chosen = chosen_in(version.changes)
    if blamed is None:
        what = f"{version.what}, with the given flags"
        mended = ProgramVersion(what, version.target, (), changes_of(chosen))
        same = any(each.changes == mended.changes for each in known)
    else:
        names = executable_names([site for site, _ in chosen])
        right = [each for name, each in zip(names, chosen, strict=True) if name not in blamed]
        others = [each for each in version.changes if each.source != Kernels.name]
        changes = (*others, *changes_of(right))
        mended = replace(version, what=f"{version.what} that are right", changes=changes)
        same = len(right) == len(chosen)
    return None if same or not chosen_in(mended.changes) else mended


class Kernels(CandidateSource):
    """External kernels, by default those that are usual for a backend and installed."""

    name = "kernels"
    noun = "kernel"

    def __init__(self, kernels: Sequence[Kernel] = ()) -> None:
        self._kernels = tuple(kernels)

    def usual(self, backend: str) -> Kernels | None:
        found = [each for each in usual_kernels(backend) if not each.missing()]
        return Kernels(found) if found else None

    def begin(self, run: Run) -> Callable[[], Found]:
        finding = begin_finding(
            run.program, run.lab.target, run.lab.compilers, self._kernels, run.budget.finding_s
        )  # fmt: skip
        most = most_variants(run.effort.name, limited=run.options.budget_s is not None)

        def found() -> Found:
            return competitors_of(outlook_of(finding(), self._kernels), run.dispatches, run.lab, most)

        return found

    def apply(self, to: Compiling, changes: Sequence[Change], workers: Calls, folder: Path) -> Compiling:
        code = hashlib.sha256("".join(each.where + each.code for each in changes).encode()).hexdigest()
        path = folder / f"kernels_{code[:16]}.mlir"
        self._write(changes, to.target, workers, path, movable=False)
        return replace(to, target=with_flags(to.target, (f"{SPEC_FLAG}={path}",)))

    def save(self, changes: Sequence[Change], target: Target, workers: Calls, path: Path) -> None:
        self._write(changes, target, workers, path, movable=True)

    def _write(
        self, changes: Sequence[Change], target: Target, workers: Calls, path: Path, *, movable: bool
    ) -> None:
        own = executable_target(target, workers)
        save_kernel_spec(chosen_in(changes), own, new_context(), path, movable=movable)
