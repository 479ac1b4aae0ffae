"""ONNX Runtime: an operation as a graph of standard ops, with the kernels that the runtime picks."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from iree_tuner.device.data import dtype_of
from iree_tuner.suite.backends.backend import (
    Job,
    LoadedCalls,
    Running,
    TriedBackend,
    copies_of,
    device_number,
    first_line,
    lacks,
    versions,
)
from iree_tuner.suite.operation import CannotError
from iree_tuner.suite.tensors import Array
from iree_tuner.targets import on_host
from iree_tuner.targets.registry import driver_of

Bound = tuple[Any, list[Any]]
"""Where a session finds its inputs and puts its result, and the values, which have to be kept."""


@dataclass(frozen=True)
class OnnxRuntime(TriedBackend):
    """ONNX Runtime on the host, or on a GPU of NVIDIA's with the package onnxruntime-gpu."""

    name: str = "onnxruntime"

    def missing(self, device: str) -> str:
        if not on_host(device) and driver_of(device) != "cuda":
            return "iree-tuner runs ONNX Runtime only on CPUs and CUDA"
        return lacks("ONNX Runtime", ("onnx", "onnxruntime"))

    def version(self) -> str:
        return versions("onnxruntime", "onnxruntime-gpu")

    def load(self, job: Job) -> Running:
        """A session, and the places of the result and of each copy of the inputs."""
        from iree_tuner.suite.backends.onnx_graph import TYPES, model_of

        runtime: Any = import_module("onnxruntime")
        provider, options, place = _provider(runtime, job.device)
        session = _session(runtime, model_of(job.operation), job, (provider, options))
        value = runtime.OrtValue
        result = job.operation.result
        memory = np.zeros(result.shape, dtype_of(result.element_type))
        out = _placed(value, memory, TYPES[result.element_type], place)
        bound: list[Bound] = []
        for copy in copies_of(job):
            values = [
                _placed(value, array, TYPES[each.element_type], place)
                for array, each in zip(copy, job.operation.inputs, strict=True)
            ]
            binding = session.io_binding()
            for number, each in enumerate(values):
                binding.bind_ortvalue_input(str(number), each)
            binding.bind_ortvalue_output("result", out)
            bound.append((binding, values))
        how, apart = runtime.RunOptions(), job.conditions.timing == "device" and not on_host(job.device)
        if apart:
            how.add_run_config_entry("disable_synchronize_execution_providers", "1")

        def call(each: Bound) -> Bound:
            session.run_with_iobinding(each[0], how)
            return each

        def wait(each: Bound) -> None:
            each[0].synchronize_outputs()

        def read(each: Bound) -> Array:
            wait(each)
            return (memory if on_host(job.device) else out.numpy()).copy()

        return LoadedCalls[Bound, Bound](call, bound, wait=wait if apart else None, read=read, each=not apart)


def _provider(runtime: Any, device: str) -> tuple[str, dict[str, Any], tuple[str, int]]:  # noqa: ANN401
    """Execution provider, its options, and where its data lies."""
    if on_host(device):
        return "CPUExecutionProvider", {}, ("cpu", 0)
    if "CUDAExecutionProvider" not in runtime.get_available_providers():
        raise CannotError("this ONNX Runtime has no kernels for CUDA: pip install onnxruntime-gpu")
    number = device_number(device)
    return "CUDAExecutionProvider", {"device_id": number, "use_tf32": 0}, ("cuda", number)


def _placed(value: Any, array: Array, kind: int, place: tuple[str, int]) -> Any:  # noqa: ANN401
    """A value of the runtime's; on the host the array itself."""
    if place[0] == "cpu":
        return value.ortvalue_from_numpy_with_onnx_type(array, kind)
    if array.dtype.type.__module__ != "numpy":
        raise CannotError(f"ONNX Runtime's Python API cannot copy {array.dtype} to a GPU")
    return value.ortvalue_from_numpy(array, *place)


def _session(runtime: Any, model: bytes, job: Job, provider: tuple[str, dict[str, Any]]) -> Any:  # noqa: ANN401
    options = runtime.SessionOptions()
    options.intra_op_num_threads = job.conditions.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(model, options, providers=[provider])
    except Exception as error:  # its errors have no common type of their own
        raise CannotError(f"ONNX Runtime: {first_line(error)}") from None
