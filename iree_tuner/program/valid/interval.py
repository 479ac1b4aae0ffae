"""Integers from a low to a high one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product, starmap
from operator import mul


@dataclass(frozen=True)
class Interval:
    """Integers between two bounds, which belong to it; None is no bound.

    If it is `distinct`, no value may occur twice in a tensor, as for the rows that a scatter writes at once.
    """

    low: int | None = None
    high: int | None = None
    distinct: bool = False

    @property
    def is_empty(self) -> bool:
        return self.low is not None and self.high is not None and self.low > self.high

    def meet(self, other: Interval) -> Interval:
        """The integers in both."""
        lows = [each for each in (self.low, other.low) if each is not None]
        highs = [each for each in (self.high, other.high) if each is not None]
        return Interval(max(lows, default=None), min(highs, default=None), self.distinct or other.distinct)

    def is_within(self, other: Interval) -> bool:
        """Whether the other contains all integers of this one."""
        low = other.low is None or (self.low is not None and self.low >= other.low)
        return low and (other.high is None or (self.high is not None and self.high <= other.high))

    def shifted(self, low: int, high: int | None = None) -> Interval:
        """With the bounds moved by `low` and `high`; both by `low` without the latter."""
        by = low if high is None else high
        return replace(
            self,
            low=None if self.low is None else self.low + low,
            high=None if self.high is None else self.high + by,
        )

    def negated(self) -> Interval:
        """The integers whose negatives are in it."""
        low, high = self.low, self.high
        return replace(self, low=None if high is None else -high, high=None if low is None else -low)

    def divided(self, factor: int) -> Interval:
        """The integers whose products with a positive factor are in it."""
        return replace(
            self,
            low=None if self.low is None else -(-self.low // factor),
            high=None if self.high is None else self.high // factor,
        )

    def shared(self) -> Interval:
        """Integers of which any two have a sum in it."""
        half = self.divided(2)
        return replace(half, low=half.high) if half.is_empty else half


EVERYTHING = Interval()


def hull(intervals: Iterable[Interval | None]) -> Interval | None:
    """The least interval around several; None if one of them is not known."""
    found = list(intervals)
    known = [each for each in found if each is not None]
    if not known or len(known) != len(found):
        return None
    lows = [each.low for each in known if each.low is not None]
    highs = [each.high for each in known if each.high is not None]
    return Interval(
        min(lows) if len(lows) == len(known) else None, max(highs) if len(highs) == len(known) else None
    )


def corners(first: Interval, second: Interval) -> Interval | None:
    """The range of products of two intervals; None if a bound is missing."""
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return None
    products = list(starmap(mul, product((first.low, first.high), (second.low, second.high))))
    return Interval(min(products), max(products))
