"""The facts about a whole run of the suite: machine, software and conditions."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from iree_tuner.suite.backends.backend import Backend, Job, Running
from iree_tuner.suite.conditions import Conditions
from iree_tuner.suite.kinds.product import Matmul
from iree_tuner.suite.tensors import write_inputs
from iree_tuner.targets import on_host


@dataclass(frozen=True)
class RunFacts:
    """Head of a run's results."""

    id: str  # of the run, unique: time and a few random letters
    name: str  # of the run, for people: what was asked for
    commit: str = ""  # of the code under test, given or from git; empty where unknown
    compiler: str = ""  # release of IREE's compiler
    # of the back ends' libraries, by name
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    devices: Mapping[str, str] = field(default_factory=dict[str, str])  # URI to the name of the device
    # URI to `profiling.roofline.to_json`, of known devices
    rooflines: Mapping[str, Any] = field(default_factory=dict[str, Any])
    conditions: Conditions = field(default_factory=Conditions)  # how samples were taken
    against: str = ""  # id of the earlier run whose code ran in turns with this one's; empty for none
    started: float = 0.0  # seconds since the epoch


# Work that keeps a device busy before a sample, as the rest of a model does.


_HOST_SIZE, _GPU_SIZE = 1024, 8192


class BackgroundLoad:
    """A large product of f32 on the same device, by the same library, in the same process.

    Args:
        backend: that library.
        job: the measured job, of whose device and threads it is.

    Raises:
        CannotError: the back end multiplies no f32.
    """

    def __init__(self, backend: Backend, job: Job) -> None:
        size = _HOST_SIZE if on_host(job.device) else _GPU_SIZE
        product = Matmul(m=size, n=size, k=size)
        conditions = replace(job.conditions, timing="call", streams=1)
        with tempfile.TemporaryDirectory() as folder:
            inputs = write_inputs(product, Path(folder))
            self._running: Running = backend.load(Job(product, inputs, job.device, conditions))
        self._running.run(1)

    def run_for(self, seconds: float) -> None:
        """Compute for this long; a product that has begun ends."""
        passed = 0.0
        while passed < seconds:
            passed += self._running.run(1)
