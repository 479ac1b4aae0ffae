"""Profile a model in ONNX Runtime, by kind of layer."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iree_tuner.device.device_facts import usable_cores
from iree_tuner.errors import TunerError
from iree_tuner.profiling.layer_kinds import (
    ATTENTION,
    BETWEEN,
    CONVOLUTION,
    COPY,
    DEPTHWISE,
    ELEMENTWISE,
    POINTWISE,
    PRODUCT,
    REDUCTION,
    OtherProfile,
    quiet,
    samples_of,
)  # fmt: skip

_ONNX = (  # patterns of a node's operator
    (r"Attention", ATTENTION),
    (r"Gemm|MatMul", PRODUCT),
    (r"Softmax|Norm|Reduce|Pool|ArgM", REDUCTION),
    (r"Reorder|Transpose|Reshape|Concat|Split|Slice|Gather|Pad|Expand|queeze|Flatten|Shape|Tile|Cast", COPY),
)


def profile_onnx(path: Path, threads: int = 0) -> OtherProfile:
    """Run an `.onnx` model in ONNX Runtime on random inputs, without and with its profiler.

    Args:
        path: the model.
        threads: of an operator; 0 is one per core.

    Raises:
        TunerError: ONNX Runtime is not installed, or cannot load or run the model.
    """
    threads = threads or usable_cores()
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError:
        raise TunerError("ONNX Runtime is not installed", hint="pip install onnxruntime") from None
    try:
        with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
            samples_us, _ = _run(runtime, path, threads, None)
            _, trace = _run(runtime, path, threads, Path(folder) / "onnx")
            events = json.loads(trace.read_text()) if trace else []
    except TunerError:
        raise
    except Exception as error:  # ONNX Runtime's exceptions have no common base
        raise TunerError(f"ONNX Runtime: {str(error).splitlines()[0]}", location=str(path)) from None
    return OtherProfile("onnxruntime", version("onnxruntime"), quiet(samples_us), kinds_in(events))


def _run(runtime: Any, path: Path, threads: int, trace: Path | None) -> tuple[list[float], Path | None]:  # noqa: ANN401
    """Times of runs in microseconds, and the file of the profiler if it is on."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if trace is not None:
        options.enable_profiling, options.profile_file_prefix = True, str(trace)
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    inputs = {each.name: _random(rng, each.type, each.shape) for each in session.get_inputs()}
    samples_us = samples_of(lambda: session.run(None, inputs))
    return samples_us, Path(session.end_profiling()) if trace is not None else None


def _random(rng: np.random.Generator, kind: str, shape: Sequence[object]) -> npt.NDArray[Any]:
    """A random input. Sizes that the model leaves open are 1, and integers, which may be indices, are 0."""
    sizes = [size if isinstance(size, int) else 1 for size in shape]
    name = kind.removeprefix("tensor(").removesuffix(")")
    try:
        found = np.dtype({"float": np.single, "double": np.double}.get(name, name))
    except TypeError:
        raise TunerError(f"unsupported type of an input: {kind}") from None
    if found.kind == "f":
        return rng.standard_normal(sizes).astype(found)
    return np.zeros(sizes, found)


def kinds_in(events: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Microseconds of a run by kind of layer, from the events that ONNX Runtime's profiler writes."""
    runs = [event["dur"] for event in events if event.get("name") == "model_run"]
    found: dict[str, float] = {}
    for event in events:
        if event.get("cat") == "Node" and str(event.get("name", "")).endswith("_kernel_time"):
            kind = _kind_of_node(event["args"])
            found[kind] = found.get(kind, 0.0) + event["dur"] / len(runs)
    whole_us = sum(runs) / len(runs) if runs else 0.0
    return {**found, BETWEEN: max(0.0, whole_us - sum(found.values()))}


def _kind_of_node(arguments: Mapping[str, Any]) -> str:
    op = str(arguments["op_name"])
    if "Conv" not in op:
        return next((kind for pattern, kind in _ONNX if re.search(pattern, op)), ELEMENTWISE)
    shapes = [shape for each in arguments.get("input_type_shape", ()) for shape in each.values()]
    filters = next((shape for shape in shapes[1:] if len(shape) == 4), None)
    if filters is None:
        return CONVOLUTION
    outputs, inputs, *window = filters
    if inputs == 1 and outputs > 1 and shapes[0][1:2] != [1]:
        return DEPTHWISE
    return POINTWISE if window == [1, 1] else CONVOLUTION
