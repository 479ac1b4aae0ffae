"""A row: what came of one operation on one back end, in one configuration, on one device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import msgspec

from iree_tuner.suite.operation import Value

Verification = Literal["SUCCESS", "FAILED", "NOT VERIFIED"]
State = Literal["ok", "failed", "cannot", "missing", "lost"]


@dataclass(frozen=True)
class Row:
    """One line of the results.

    Attributes:
        operation: its name.
        kind: of the operation.
        arguments: of the operation.
        backend: iree, iree-tuned, numpy, torch, ...
        configuration: of the compiler: `default`, `spec`, or a configuration's name; empty for
            back ends that are not IREE.
        device: device URI.
        device_name: as the device names itself.
        state: `ok`: it runs; `failed`: it does not compile or run, or its results are wrong; `cannot`: the
            back end cannot do it; `missing`: it is not there; `lost`: the device has gone.
        verification: of the results against the reference.
        message: why it is not `ok`, in one line; of what is, a note or nothing.
        time_us: median of the samples, in microseconds; None where it was not timed.
        interval_us: of the time: where the center of other samples of the same run would be.
        samples_us: what was measured, in the order of the rounds.
        flops, bytes: of one run of the operation.
        compute_type: type of the multiplied elements.
        roofline_share: the least time that the device could take, as a part of the time; None: not known.
        normalized_us: what the time would be on the run's first device, with the same share of its roofline.
        speedup: against IREE's default in the same rounds; None where there is none.
        speedup_interval: of the speedup.
        change: how many times as fast as what an earlier run compiled, whose code ran again in the same
            rounds; below 1 it is slower. None where there was none.
        change_interval: of the change.
        worst_error: the largest difference from the reference, as a part of the tolerance.
        reference: the library that computed it: numpy, torch; empty where nothing was verified.
        at: when, seconds since the epoch.
    """

    operation: str
    kind: str
    arguments: Mapping[str, Value]
    backend: str
    configuration: str = ""
    device: str = ""
    device_name: str = ""
    state: State = "ok"
    verification: Verification = "NOT VERIFIED"
    message: str = ""
    time_us: float | None = None
    interval_us: tuple[float, float] | None = None
    samples_us: tuple[float, ...] = field(default=(), repr=False)
    flops: float = 0.0
    bytes: float = 0.0
    compute_type: str = ""
    roofline_share: float | None = None
    normalized_us: float | None = None
    speedup: float | None = None
    speedup_interval: tuple[float, float] | None = None
    change: float | None = None
    change_interval: tuple[float, float] | None = None
    worst_error: float | None = None
    reference: str = ""
    at: float = 0.0

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The key of a measurement in a run: operation, back end, configuration, device."""
        return self.operation, self.backend, self.configuration, self.device

    @property
    def dispatch(self) -> str:
        """The name that regular expressions are of: the operation's, with the configuration's behind it."""
        return f"{self.operation}_{self.configuration}" if self.configuration else self.operation

    @property
    def gflops(self) -> float | None:
        """10^9 arithmetic operations a second."""
        return self.flops / self.time_us / 1e3 if self.time_us else None

    @property
    def gbytes(self) -> float | None:
        """10^9 bytes a second."""
        return self.bytes / self.time_us / 1e3 if self.time_us else None


def to_json(row: Row) -> dict[str, Any]:
    """JSON-ready, with values derived from the fields."""
    return {**asdict(row), "gflops": row.gflops, "gbytes": row.gbytes}


def from_json(data: Mapping[str, Any]) -> Row:
    """The inverse of `to_json`; unknown keys are left out. Raises ValueError for other text."""
    return msgspec.convert(data, Row)
