"""Compiler flags as knobs of the whole program: tried first, for they decide what its dispatches are."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from iree_tuner.measure.statistics import Comparison
from iree_tuner.targets import Target
from iree_tuner.targets.find import with_options
from iree_tuner.targets.options import options_of
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.versions import ComparisonPlan, ProgramVersion, ProgramVersions

_CLOSE = 2.0
"""Tuning may make up for so much: a slower choice of flags is not looked at any more."""


@dataclass(frozen=True)
class FlagChoice:
    """Flags, and what they are worth without any tuning.

    Attributes:
        target: with the options.
        comparison: with `base`; None for the program as it was given.
        base: the choice that one option was added to.
    """

    target: Target
    comparison: Comparison | None = None
    base: FlagChoice | None = None

    @property
    def speedup(self) -> float:
        """Over the program as it was given."""
        before = self.base.speedup if self.base else 1.0
        return before * self.comparison.speedup if self.comparison else before


def untuned(target: Target) -> ProgramVersion:
    """The program as the compiler compiles it for a target, without a spec."""
    options = options_of(target)
    return ProgramVersion("+".join(options) if options else "default flags", target)


def try_options(
    whole: ProgramVersions,
    target: Target,
    look: ComparisonPlan,
    most: int,
    deadline: float,
    stop: StopRequest | None = None,
) -> list[FlagChoice]:
    """Add options one axis after the other, each time the best one, while that wins; the best comes first.

    Flags of one axis may only show their worth together with flags of another, so that all the rest is tried
    with the best so far.

    Args:
        whole: the program.
        target: as it was given; it is among the results.
        look: how versions are compared.
        most: compilations at most.
        deadline: a time of the monotonic clock: no round but the first begins then.
        stop: a request to stop; no further round begins then.

    Raises:
        TunerError: the program cannot be compiled or run as it is.
    """
    base = FlagChoice(target)
    chosen = [base]
    axes = list(target.axes)
    until = math.inf
    while axes and most > 0 and time.monotonic() < until and not (stop and stop.requested):
        until = deadline
        candidates = list(_with_one_more(base.target, axes))[:most]
        most -= len(candidates)
        found = _compared(whole, base, candidates, look)
        chosen += found
        winners = [each for each in found if each.comparison and each.comparison.verdict == "win"]
        if not winners:
            break
        base = max(winners, key=lambda each: each.speedup)
        taken = set(options_of(base.target))
        axes = [axis for axis in axes if not any(set(option.split("+")) <= taken for option in axis)]
    rest = [each for each in chosen if each is not base]
    return [base, *sorted(rest, key=lambda each: -each.speedup)]


def worth_tuning(choices: Sequence[FlagChoice]) -> list[FlagChoice]:
    """At most two: the fastest, and the program as it was given where tuning may still make it the faster."""
    best, given = choices[0], next(each for each in choices if each.base is None)
    if best is given:
        return [given]
    return [best, given] if best.speedup < _CLOSE else [best]


def _with_one_more(base: Target, axes: Sequence[tuple[str, ...]]) -> Iterator[Target]:
    """The first option of each axis, then the second of each, and so on."""
    for options in zip_longest(*axes):
        for option in filter(None, options):
            yield with_options(base, (*options_of(base), *option.split("+")))


def _compared(
    whole: ProgramVersions, base: FlagChoice, candidates: Sequence[Target], look: ComparisonPlan
) -> list[FlagChoice]:
    """Versions that run and compute the same."""
    versions = [untuned(each) for each in candidates]
    found = whole.compare(untuned(base.target), versions, look)
    return [
        FlagChoice(each, one.comparison, base)
        for each, one in zip(candidates, found, strict=True)
        if one.comparison is not None
    ]
