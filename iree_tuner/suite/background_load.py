"""Work that keeps a device busy before a sample, as the rest of a model does."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from iree_tuner.suite.backends.backend import Backend, Job, Running
from iree_tuner.suite.data import write_inputs
from iree_tuner.suite.kinds.matmul import Matmul
from iree_tuner.targets import on_host

_HOST_SIZE, _GPU_SIZE = 1024, 8192


class BackgroundLoad:
    """A large product of f32 on the same device, by the same library, in the same process.

    Args:
        backend: whose.
        job: the job that it runs next to; its device and its threads count.

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
        """Compute for so long; a product that has begun ends."""
        passed = 0.0
        while passed < seconds:
            passed += self._running.run(1)
