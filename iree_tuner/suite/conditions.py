"""The conditions of a comparison: equal for all back ends, and reported with the results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Timing = Literal["call", "device"]


@dataclass(frozen=True)
class Conditions:
    """How samples are taken."""

    # `call`: what a caller waits for, one call after the other, each waited for. `device`: what the device
    # takes, calls handed to it in batches, and the cost of an empty batch taken off
    timing: Timing = "call"
    threads: int = 0  # cores that each back end may use; 0 for a device that is not the host
    # inputs rotate through copies of this many bytes, at least one: cold caches, and the seeds' rotating
    # buffers; 0 for one copy, which stays where the caches hold it
    copies_bytes: int = 0
    background_load_s: float = 0.0  # duration of a large product that runs on the device before each sample
    # copies of the operation that run side by side; a time is a batch's time divided by the number of all
    # calls in it
    streams: int = 1
    batch_s: float = 0.02  # least length of a sample, in seconds
    pause_s: float = 0.02  # before each sample, for pools of threads that go on turning
    rounds: int = 24  # samples of each at most
    seconds: float = 60.0  # for the samples of one operation at most
