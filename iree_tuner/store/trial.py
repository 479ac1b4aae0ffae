"""A trial: a candidate and its outcome."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from iree_tuner.device.outcome import DEFAULT_WRONG, UNKNOWN, Outcome, Readings
from iree_tuner.space.configuration import Assignment


@dataclass(frozen=True)
class Trial:
    """One candidate's outcome."""

    workload: str
    assignment: Assignment  # its knobs
    outcome: Outcome
    samples_us: tuple[float, ...] = ()  # device time of one run of the dispatch, one value per batch
    baseline_us: float = 0.0  # the default's time on the same device, the last one taken before
    message: str = ""  # for failures, the reason; see `corrects`
    digest: str = ""  # hash of the executable; equal code is measured once
    compile_s: float = 0.0  # time in the compiler
    measure_s: float = 0.0  # time in the measuring worker
    device: str = ""  # URI
    worst: float | None = None  # largest error as a multiple of its tolerance; None if not checked
    readings: Readings = UNKNOWN  # conditions on the device during the measurement
    at: float = 0.0  # when it ended, in seconds since 1970
    reproducer: str = ""  # folder that shows a failure with IREE's own tools; empty for other outcomes

    @property
    def time_us(self) -> float | None:
        """The least of the samples: what disturbs a run only makes it longer. None when it did not run."""
        return min(self.samples_us) if self.samples_us else None

    @property
    def corrects(self) -> bool:
        """Whether it is correct, but the default is wrong: its message says what is wrong there."""
        return self.outcome == "ok" and self.message.startswith(DEFAULT_WRONG)

    @property
    def score(self) -> float:
        """Time relative to the default's in the same round; infinite if it did not run."""
        time_us = self.time_us
        return float("inf") if time_us is None or not self.baseline_us else time_us / self.baseline_us


# The facts that must be equal for two times to be comparable: compiler, target, driver, flags, device.


PROTOCOL = 3
"""Number of the measuring protocol: times taken by different ones are not compared."""


@dataclass(frozen=True)
class Setting:
    """The machine and the software that candidates are compiled and timed with. Trials are reused only if
    it is equal.
    """

    compiler: str
    runtime: str
    target: str  # the target as it is written: `llvm-cpu:host`
    flags: tuple[str, ...]  # all compiler flags of the target
    device: str  # device URI without the part that distinguishes equal devices: `local-task`, `cuda`
    processor: str  # name of the processor that runs the code: the CPU's, or the GPU's
    cores: int  # cores that the runtime may use; multiprocessors of a GPU, 0 where unknown
    driver: str = ""  # version of the device's driver; empty for CPUs
    cold: bool = True  # whether buffers are rotated through more memory than the last-level cache holds
    protocol: int = PROTOCOL  # see `PROTOCOL`

    @property
    def key(self) -> str:
        """Equal settings have equal keys."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]
