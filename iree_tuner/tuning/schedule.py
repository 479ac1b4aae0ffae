"""Which workload is searched next: the one where the next second saves the program most."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence

from iree_tuner.tuning.campaign import Campaign
from iree_tuner.tuning.observer import Observer, Standing
from iree_tuner.tuning.stop import StopRequest

_LEAST_GAIN = 5e-4
"""Of the program's time: where the next slice is not expected to save so much anywhere, all is done."""

_UNKNOWN_S = 1.0
_MOST_GROWN = 16


def search_by_gain(
    campaigns: Sequence[Campaign], slice_trials: int, deadline: float, stop: StopRequest, watch: Observer,
    *, to_the_cap: bool, growing: bool = False,
) -> None:  # fmt: skip
    """Let searches go on, a slice at a time, until none is worth it, or the time is over, or to a stop.

    Args:
        campaigns: the searches.
        slice_trials: candidates in a slice.
        deadline: a time of the monotonic clock.
        stop: who may ask to stop.
        watch: told who goes on, and how all stand.
        to_the_cap: go on where hardly anything can be expected, until each has had its trials.
        growing: a search that is chosen again and again gets slices that double, up to 16 times the first:
            where compiling and measuring overlap, each slice begins with devices that wait for code.
    """
    total_us = sum(each.prospects.weight_us for each in campaigns)
    before, factor = None, 1
    until = math.inf  # the first slice comes whatever the time: a run that tries nothing is of no use
    while not stop.requested and time.monotonic() < until:
        chosen = choose(campaigns)
        if chosen is None or (not to_the_cap and chosen.prospects.gain_us() < _LEAST_GAIN * total_us):
            break
        watch.started(chosen.weighed.task, chosen.weighed.share, chosen.cap)
        factor = min(2 * factor, _MOST_GROWN) if growing and chosen is before else 1
        before = chosen
        chosen.advance(factor * slice_trials, until, watch)
        until = deadline
        watch.standing([standing_of(each) for each in campaigns])
    for each in campaigns:
        each.settle()


def choose(campaigns: Sequence[Campaign]) -> Campaign | None:
    """The search whose next slice saves most for the time it takes; None when all are at their end."""
    open_ones = [each for each in campaigns if each.open]
    known = [each.prospects.slice_s(0.0) for each in campaigns if each.prospects.bests]
    typical_s = statistics.median(known) if known else _UNKNOWN_S

    def worth(each: Campaign) -> float:
        return each.prospects.gain_us() / max(each.prospects.slice_s(typical_s), 1e-3)

    return max(open_ones, key=worth, default=None)


def standing_of(campaign: Campaign) -> Standing:
    """How a search stands, for whoever watches."""
    prospects = campaign.prospects
    return Standing(
        campaign.weighed.task, campaign.weighed.share, campaign.tried, prospects.best,
        prospects.weight_us * (1.0 - prospects.best), campaign.open,
    )  # fmt: skip
