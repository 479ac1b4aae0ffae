"""A trial: a candidate and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

from iree_tuner.build.outcome import Outcome
from iree_tuner.space.configuration import Assignment


@dataclass(frozen=True)
class Conditions:
    """What a measurement was taken under; results are comparable only within equal ones."""

    device: str
    processor: str
    cores: int
    compiler: str
    runtime: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """One candidate's outcome.

    Attributes:
        workload: key of the workload.
        assignment: its knobs.
        outcome: how it ended.
        samples_us: time of one run of the dispatch, one value a batch, in microseconds.
        baseline_us: the default's time, taken in the same round.
        message: for failures, the reason.
        digest: hash of the executable; equal code is measured once.
        compile_s: time in the compiler.
    """

    workload: str
    assignment: Assignment
    outcome: Outcome
    samples_us: tuple[float, ...] = ()
    baseline_us: float = 0.0
    message: str = ""
    digest: str = ""
    compile_s: float = 0.0

    @property
    def time_us(self) -> float | None:
        """The least of the samples: what disturbs a run only makes it longer. None when it did not run."""
        return min(self.samples_us) if self.samples_us else None

    @property
    def score(self) -> float:
        """Time relative to the default's in the same round; infinite for what did not run."""
        time_us = self.time_us
        return float("inf") if time_us is None or not self.baseline_us else time_us / self.baseline_us
