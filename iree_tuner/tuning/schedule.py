"""Which workload is searched next: the one where the next second saves the program most."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from typing import Protocol

from iree_tuner.tuning.campaign import Campaign
from iree_tuner.tuning.observer import Observer, Standing
from iree_tuner.tuning.stop import StopRequest

_LEAST_GAIN = 5e-4
"""Of the program's time: where the next slice is not expected to save so much anywhere, all is done."""

_UNKNOWN_S = 1.0
_MOST_GROWN = 16


class Entering(Protocol):
    """Who may be searched; see `tuning.entrants.Entrants`.

    Attributes:
        campaigns: the searches so far; more come by `admit`.
        total_us: what the program spends on all, in microseconds an invocation.
    """

    campaigns: list[Campaign]
    total_us: float

    def hope_us(self) -> float:
        """What the first slice of the next one may save; 0 where none waits."""
        ...

    def admit(self) -> None:
        """Let the next ones in."""
        ...


def search_by_gain(
    entrants: Entering, slice_trials: int, deadline: float, stop: StopRequest, watch: Observer,
    *, to_the_cap: bool, growing: bool = False,
) -> None:  # fmt: skip
    """Let searches go on, a slice at a time, until none is worth it, or the time is over, or to a stop.

    Args:
        entrants: the searches, and who waits for one.
        slice_trials: candidates in a slice.
        deadline: a time of the monotonic clock.
        stop: who may ask to stop.
        watch: told who goes on, and how all stand.
        to_the_cap: go on where hardly anything can be expected, until each has had its trials.
        growing: a search that is chosen again and again gets slices that double, up to 16 times the first,
            and the only one that is left gets the longest at once: where compiling and measuring overlap,
            devices wait for code at both ends of a slice.
    """
    campaigns = entrants.campaigns
    before, factor = None, 1
    until = math.inf  # the first slice comes whatever the time: a run that tries nothing is of no use
    while not stop.requested and time.monotonic() < until:
        chosen = choose(campaigns)
        if entrants.hope_us() > (worth(chosen, campaigns) * typical_s(campaigns) if chosen else 0.0):
            entrants.admit()
            continue
        if chosen is None or (
            not to_the_cap and chosen.prospects.gain_us() < _LEAST_GAIN * entrants.total_us
        ):
            break
        watch.started(chosen.weighed.task, chosen.weighed.share, chosen.cap)
        factor = min(2 * factor, _MOST_GROWN) if growing and chosen is before else 1
        if growing and before is not None and sum(each.open for each in campaigns) == 1:
            factor = _MOST_GROWN
        before = chosen
        chosen.advance(factor * slice_trials, until, watch)
        until = deadline
        watch.standing([standing_of(each) for each in campaigns])
    for each in campaigns:
        each.settle()


def choose(campaigns: Sequence[Campaign]) -> Campaign | None:
    """The search whose next slice saves most for the time it takes; None when all are at their end."""
    open_ones = [each for each in campaigns if each.open]
    return max(open_ones, key=lambda each: worth(each, campaigns), default=None)


def worth(campaign: Campaign, campaigns: Sequence[Campaign]) -> float:
    """Microseconds of an invocation that a search's next slice may save, for each second that it takes."""
    seconds = campaign.prospects.slice_s(typical_s(campaigns))
    return campaign.prospects.gain_us() / max(seconds, 1e-3)


def typical_s(campaigns: Sequence[Campaign]) -> float:
    """Seconds of a slice, of the searches that have had one and go on."""
    known = [each.prospects.slice_s(0.0) for each in campaigns if each.open and each.prospects.bests]
    return statistics.median(known) if known else _UNKNOWN_S


def standing_of(campaign: Campaign) -> Standing:
    """How a search stands, for whoever watches."""
    prospects = campaign.prospects
    return Standing(
        campaign.weighed.task, campaign.weighed.share, campaign.tried, prospects.best,
        prospects.weight_us * (1.0 - prospects.best), campaign.open,
    )  # fmt: skip
