"""A trial: a candidate and its outcome; and a study: all trials that may stand for each other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import msgspec

from iree_tuner.device.outcome import DEFAULT_WRONG, UNKNOWN, Outcome, Readings
from iree_tuner.files import refuse_unknown
from iree_tuner.ops import workload as workloads
from iree_tuner.ops.workload import Workload
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


KERNEL = "kernel:"
"""How the label of a space begins whose members are variants of an external kernel; its name follows."""


@dataclass(frozen=True)
class StudyKey:
    """The facts that must be equal for a trial to be used again; the last two only describe."""

    setting: Setting  # compiler, target, driver, flags, device and protocol
    workload: Workload  # the root op, with the sizes that stand for its dynamic loops
    # fingerprint of the whole dispatch: another epilogue is another study. Of an external kernel's problem,
    # the problem's own text counts too
    code: str
    space: str  # hash of the constraint IR; of an external kernel, of all that its code is made of
    space_label: str  # what people call the space
    space_size: int  # how many members it has

    @property
    def kernel(self) -> str:
        """Name of the external kernel whose variants were tried; empty for configurations."""
        return self.space_label.removeprefix(KERNEL) if self.space_label.startswith(KERNEL) else ""

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits, equal for keys whose trials may stand for each other."""
        data = to_json(self)
        del data["space_label"], data["space_size"]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def to_json(key: StudyKey) -> dict[str, object]:
    """The key as JSON-ready data."""
    rest = {name: getattr(key, name) for name in ("code", "space", "space_label", "space_size")}
    return {"setting": asdict(key.setting), "workload": workloads.to_json(key.workload), **rest}


def from_json(data: Mapping[str, object]) -> StudyKey:
    """The key again. Raises ValueError for data that `to_json` did not write."""
    read = {**data, "workload": workloads.from_json(msgspec.convert(data.get("workload"), dict[str, object]))}
    found = msgspec.convert(read, StudyKey, from_attributes=True)
    refuse_unknown(data, msgspec.to_builtins(found))
    return found
