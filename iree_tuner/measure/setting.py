"""The facts that must be equal for two times to be comparable: compiler, target, driver, flags, device."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

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
