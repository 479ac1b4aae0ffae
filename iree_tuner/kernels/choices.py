"""Choices of kernels to try in a program: winners of contests, with chains and norms and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress

from iree_tuner.compiler.worker import WorkerError
from iree_tuner.kernels.bench import Chosen, Outlook
from iree_tuner.kernels.contest import Contest
from iree_tuner.kernels.find import Place
from iree_tuner.kernels.fused_ops import FusedOps
from iree_tuner.kernels.kernel import Code, Kernel
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.triton_norms import TritonNorms
from iree_tuner.targets import Target
from iree_tuner.tuning.finals import NEARLY
from iree_tuner.tuning.lab import Lab


def winners(contests: Sequence[Contest], least: float = 1.0) -> Chosen:
    """The fastest kernel for each problem where a kernel wins alone.

    Args:
        contests: of all kernels and problems.
        least: a speedup over the compiler's code; below 1, kernels that reach it are taken without a win.
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


def choices_of(
    contests: Sequence[Contest], chains: Chosen = (), norms: Chosen = ()
) -> dict[str, Chosen]:  # fmt: skip
    """Choices of kernels to try in the program: the ones that win alone, and these with near winners.

    In the program, the surrounding ops may cost more or less than alone: the compiler fuses them with the
    problem, and may treat the problem differently.
    """
    found = {"kernels": winners(contests), "more kernels": winners(contests, NEARLY)}
    if len(found["more kernels"]) == len(found["kernels"]):
        del found["more kernels"]
    return with_chains({name: chosen for name, chosen in found.items() if chosen}, chains, norms)


def chains_in(outlook: Outlook) -> Chosen:
    """Chains of ops that can be fused into one op. They are compared only in the program."""
    fused = FusedOps()
    wanted = [site for _, site, kernel in outlook.pairs if kernel.name == fused.name]
    return [(site, fused.make(site.problem)) for site in dict.fromkeys(wanted)]


Making = Mapping[Site, Future[Code]]
"""Code that workers make, by site."""


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
    """The part of `make_norms` that runs in a worker. Raises KernelError."""
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
