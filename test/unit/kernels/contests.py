"""Contests of few pairs, of problems that are in no program; and kernels' code, made once."""

from functools import cache

from iree_tuner.kernels.find import Place
from iree_tuner.kernels.in_program import Contest, hold_contests
from iree_tuner.kernels.kernel import Code, Kernel, Problem
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.source import Outlook, competitors_of, find_competitors
from iree_tuner.targets import Target
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.stop import StopRequest


@cache
def _first(kernel: type[Kernel], problem: Problem, target: Target) -> Code:
    own = kernel()
    return own.make(problem, target, own.variants(problem, target)[0])


def code_of(kernel: Kernel, site: Site, target: Target) -> Code:
    """A kernel's first variant on a site's problem."""
    return _first(type(kernel), site.problem, target)


def all_briefly(
    problems: list[tuple[Site, Kernel]], lab: Lab, most: float = 64, records: Records | None = None, **how
) -> list[Contest]:
    """A contest for each kernel on its problem."""
    pairs = tuple((Place((site,), ("main",)), site, kernel) for site, kernel in problems)
    records = records or Records(None, StopRequest())
    found = find_competitors(competitors_of(Outlook("", pairs, ()), (), lab, most), (), lab, records)
    return hold_contests(found, lab, records, rounds=8, **how)


def briefly(site: Site, kernel: Kernel, lab: Lab, **how) -> Contest:
    """A single contest."""
    (contest,) = all_briefly([(site, kernel)], lab, **how)
    return contest
