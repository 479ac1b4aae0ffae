"""JAX: the whole operation compiled by XLA, on processors with as many threads as there are usable cores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from iree_tuner.suite.backends.backend import (
    Job,
    LoadedCalls,
    Running,
    TriedBackend,
    copies_of,
    device_number,
    first_line,
    is_gpu,
    lacks,
    versions,
)
from iree_tuner.suite.operation import CannotError
from iree_tuner.targets import on_host


@dataclass(frozen=True)
class Jax(TriedBackend):
    """JAX's `jit`."""

    name: str = "jax"

    def missing(self, device: str) -> str:
        if not on_host(device) and not is_gpu(device):
            return "iree-tuner runs JAX only on CPUs, CUDA and ROCm"
        return lacks("JAX", ("jax", "jaxlib"))

    def version(self) -> str:
        return versions("jax")

    def load(self, job: Job) -> Running:
        """Compiled for its sizes; it takes its inputs from the device."""
        # It would take most of a GPU's memory for itself, and others compute there too.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        jax: Any = import_module("jax")
        tensors = (*job.operation.inputs, job.operation.result)
        jax.config.update("jax_enable_x64", any("64" in each.element_type for each in tensors))
        device = _device(jax, job.device)
        from iree_tuner.suite.backends.jax_primitives import JaxPrimitives

        operation, ops = job.operation, JaxPrimitives()

        def compute(*inputs: Any) -> Any:  # noqa: ANN401
            return operation.compute(ops, inputs)

        copies = [[jax.device_put(each, device) for each in copy] for copy in copies_of(job)]
        jax.clear_caches()
        try:
            compiled = jax.jit(compute).lower(*copies[0]).compile()
        except (RuntimeError, NotImplementedError) as error:
            if isinstance(error, NotImplementedError) or "UNIMPLEMENTED" in str(error):
                raise CannotError(f"JAX: {first_line(error)}") from None
            raise
        return LoadedCalls[Sequence[Any], Any](
            lambda inputs: compiled(*inputs), copies, wait=jax.block_until_ready, read=np.asarray,
            each=job.conditions.timing == "call",
        )  # fmt: skip


def _device(jax: Any, uri: str) -> Any:  # noqa: ANN401
    if on_host(uri):
        return jax.devices("cpu")[0]
    number = device_number(uri)
    try:
        return jax.devices(uri.partition("://")[0].replace("hip", "rocm"))[number]
    except (RuntimeError, IndexError):
        raise CannotError(f"JAX finds no device {uri}: pip install 'jax[cuda12]'") from None
