"""The conditions of a comparison: equal for all back ends, and reported with the results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Timing = Literal["call", "device"]


@dataclass(frozen=True)
class Conditions:
    """How samples are taken.

    Attributes:
        timing: `call`: what a caller waits for, one call after the other, each waited for. `device`: what the
            device takes, calls handed to it in batches, and the cost of an empty batch taken off.
        threads: cores that each back end may use; 0 for a device that is not the host.
        copies_bytes: inputs rotate through copies of so many bytes, at least one: cold caches, and the seeds'
            rotating buffers; 0 for one copy, which stays where the caches hold it.
        background_load_s: a large product runs on the same device for so long before each sample; 0 for none.
        streams: copies of the operation that run side by side; a time is a batch's time divided by the number
            of all calls in it.
        batch_s: least length of a sample, in seconds.
        pause_s: before each sample, for pools of threads that go on turning.
        rounds: samples of each at most.
        seconds: for the samples of one operation at most.
    """

    timing: Timing = "call"
    threads: int = 0
    copies_bytes: int = 0
    background_load_s: float = 0.0
    streams: int = 1
    batch_s: float = 0.02
    pause_s: float = 0.02
    rounds: int = 24
    seconds: float = 60.0
