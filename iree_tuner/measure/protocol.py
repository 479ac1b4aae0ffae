"""How one sample is taken: the time of one run of a dispatch, from a batch of many. No IREE in here.

A sample is `(t(n) - t(0)) / n`: `t(0)` is a call that runs nothing, and its least time is the cost of a call
without the runs. The other way is the slope `(t(n + m) - t(n)) / m`. It needs a second batch for each sample,
and a disturbance of the short one makes the sample too *small*, which a minimum then believes: on two busy
cores some slopes were negative. `t(0)` leaves out what only a call with work in it costs: on an H100, where
slopes spread a little less, samples are larger than slopes by 1 to 2 %. Candidates and default alike bear it,
so that a gain is seen a little smaller than it is. Executables that take turns share one `t(0)`: an error of
it must not favour one. Drivers' own timestamps would be better on GPUs; the HAL's profiling is not
implemented on CUDA in 3.13.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Protocol

_MOST_REPEATS = 1 << 16  # of a command buffer, all of whose commands are recorded before it ends
_MARGIN = 1.05
_GROWTH = 16
_LOOKS = 5
_CLOCK_STEPS = 1000
_CALLS = 20
_SURELY = 20.0  # times what a batch needs: no interruption is as long


class Runs(Protocol):
    """A function that runs something so many times in one call, and returns the seconds."""

    def run(self, repeats: int) -> float:
        """Run it."""
        ...


@cache
def clock_step() -> float:
    """The least difference between two readings of the host's clock, in seconds."""
    found = 1.0
    for _ in range(1000):
        start = time.perf_counter()
        end = time.perf_counter()
        while end <= start:
            end = time.perf_counter()
        found = min(found, end - start)
    return found


def call_cost(runs: Runs) -> float:
    """Seconds of a call that runs nothing, at the least."""
    return min(runs.run(0) for _ in range(_LOOKS))


class Batches:
    """Takes samples of one executable.

    Args:
        runs: the executable, loaded and warm.
        batch_s: least length of a batch, in seconds; never below 1000 steps of the clock or 20 calls that run
            nothing, so that their errors are a small part of a sample.
        overhead_s: the cost of a call that runs nothing; measured by default.

    Attributes:
        overhead_s: what is taken off a batch.
        repeats: runs in a batch.
    """

    def __init__(self, runs: Runs, batch_s: float, overhead_s: float | None = None) -> None:
        self._runs = runs
        self.overhead_s = call_cost(runs) if overhead_s is None else overhead_s
        self.repeats = self._calibrate(max(batch_s, _CLOCK_STEPS * clock_step(), _CALLS * self.overhead_s))

    def batch(self) -> float:
        """Microseconds of one run."""
        return self._seconds(self.repeats) / self.repeats * 1e6

    def _calibrate(self, batch_s: float) -> int:
        """Repeats that take `batch_s`; twice, as an interruption makes a short batch look long enough."""
        repeats = 1
        while True:
            elapsed = self._seconds(repeats)
            if repeats == 1 and elapsed >= _SURELY * batch_s:
                return 1
            if elapsed >= batch_s:
                elapsed = min(elapsed, self._seconds(repeats))
            if elapsed >= batch_s or repeats == _MOST_REPEATS:
                return repeats
            wanted = int(repeats * _MARGIN * batch_s / elapsed)
            repeats = min(_MOST_REPEATS, max(repeats + 1, min(wanted, repeats * _GROWTH)))

    def _seconds(self, repeats: int) -> float:
        """Of so many runs; a call is never quicker than the clock can tell."""
        return max(self._runs.run(repeats) - self.overhead_s, clock_step())
