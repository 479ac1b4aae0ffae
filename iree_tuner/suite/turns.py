"""Back ends take turns, so that all of them meet the same machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from iree_tuner.measure.sampling import turns
from iree_tuner.suite.backend_error import BackendError
from iree_tuner.suite.conditions import Conditions


class Sampled(Protocol):
    """A thing that can be sampled: a `BackendHost` that has an operation loaded."""

    def sample(self, pause_s: float) -> float:
        """Microseconds of one call. Raises BackendError where it failed."""
        ...


@dataclass(frozen=True)
class Rounds:
    """Samples that were taken in turns.

    Attributes:
        samples_us: rounds by hosts, in microseconds; NaN from the round on in which a host failed.
        failures: the failed ones, by their place.
    """

    samples_us: npt.NDArray[np.float64]
    failures: Mapping[int, BackendError]


def take_rounds(
    hosts: Sequence[Sampled], conditions: Conditions, clock: Callable[[], float] = time.monotonic
) -> Rounds:
    """Rounds of one sample of each host, in an order that changes from round to round.

    One that fails drops out, and the others go on. There is one round at least; another one begins only if
    the longest so far would end in time.

    Args:
        hosts: each with its operation loaded.
        conditions: how many rounds, for how long, and how long to pause before each sample.
        clock: the time, in seconds.
    """
    rows: list[list[float]] = []
    failures: dict[int, BackendError] = {}
    left = list(range(len(hosts)))
    begin = clock()
    longest = 0.0
    while left and len(rows) < max(1, conditions.rounds):
        start = clock()
        if rows and start - begin + longest > conditions.seconds:
            break
        row = [math.nan] * len(hosts)
        for place in [left[turn] for turn in turns(len(left), len(rows))]:
            try:
                row[place] = hosts[place].sample(conditions.pause_s)
            except BackendError as error:
                failures[place] = error
        left = [place for place in left if place not in failures]
        longest = max(longest, clock() - start)
        rows.append(row)
    return Rounds(np.array(rows, np.float64).reshape(len(rows), len(hosts)), failures)
