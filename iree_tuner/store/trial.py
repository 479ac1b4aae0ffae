"""A trial: a candidate and its outcome."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from iree_tuner.device.outcome import DEFAULT_WRONG, UNKNOWN, Outcome, Readings
from iree_tuner.space.configuration import Assignment


@dataclass(frozen=True)
class Trial:
    """One candidate's outcome.

    Attributes:
        workload: key of the workload.
        assignment: its knobs.
        outcome: how it ended.
        samples_us: device time of one run of the dispatch, one value a batch, in microseconds.
        baseline_us: the default's time on the same device, the last one taken before.
        message: for failures, the reason; see `corrects`.
        digest: hash of the executable; equal code is measured once.
        compile_s: time in the compiler.
        measure_s: time in the measuring worker.
        device: URI of the device that it ran on.
        worst: largest numerical error as a multiple of its tolerance; None where it was not checked.
        readings: conditions on the device meanwhile.
        at: when it ended, in seconds since 1970.
        reproducer: folder that shows a failure with IREE's own tools; empty for other outcomes.
    """

    workload: str
    assignment: Assignment
    outcome: Outcome
    samples_us: tuple[float, ...] = ()
    baseline_us: float = 0.0
    message: str = ""
    digest: str = ""
    compile_s: float = 0.0
    measure_s: float = 0.0
    device: str = ""
    worst: float | None = None
    readings: Readings = UNKNOWN
    at: float = 0.0
    reproducer: str = ""

    @property
    def time_us(self) -> float | None:
        """The least of the samples: what disturbs a run only makes it longer. None when it did not run."""
        return min(self.samples_us) if self.samples_us else None

    @property
    def corrects(self) -> bool:
        """Whether it ran, and is right where the default is wrong: its message says what is wrong there."""
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
    """The machine and the software that candidates are compiled and timed with. Trials are reused only where
    it is equal.

    Attributes:
        compiler: release of the compiler.
        runtime: release of the runtime.
        target: the target as it is written: `llvm-cpu:host`.
        flags: all compiler flags of the target.
        device: device URI without what tells two equal devices apart: `local-task`, `cuda`.
        processor: name of the processor that runs the code: the CPU's, or the GPU's.
        cores: cores that the runtime may use; multiprocessors of a GPU, 0 where unknown.
        driver: version of the device's driver; empty for CPUs.
        cold: whether buffers are rotated through more memory than the last-level cache holds.
        protocol: see `PROTOCOL`.
    """

    compiler: str
    runtime: str
    target: str
    flags: tuple[str, ...]
    device: str
    processor: str
    cores: int
    driver: str = ""
    cold: bool = True
    protocol: int = PROTOCOL

    @property
    def key(self) -> str:
        """Equal settings have equal keys."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]
