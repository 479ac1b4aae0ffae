"""A profile by kind of layer, next to ONNX Runtime's profile of the same model."""

from __future__ import annotations

import json
import math
import re
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iree_tuner.errors import TunerError
from iree_tuner.profiling.profile import Profile, ProfileRow

PRODUCT, POINTWISE, CONVOLUTION = "products", "1x1 convolutions", "other convolutions"
DEPTHWISE, ATTENTION, REDUCTION = "depthwise convolutions", "fused attention", "softmax, norms, reductions"
ELEMENTWISE, COPY, BETWEEN = "elementwise", "copies and layouts", "between"
ARITHMETIC = (PRODUCT, POINTWISE, CONVOLUTION, DEPTHWISE)
KINDS = (*ARITHMETIC, ATTENTION, REDUCTION, ELEMENTWISE, COPY, BETWEEN)
"""In the order of tables."""

KERNEL = "kernel: "
"""The beginning of a row's note: an external kernel for the problem that follows."""

_NAMED = (  # of a dispatch or a problem: the first that fits
    (r"depthwise_conv", DEPTHWISE),
    (r"attention_", ATTENTION),
    (r"conv", CONVOLUTION),
    (r"matmul|vecmat|matvec|mmt4d|contraction|^dot|joint", PRODUCT),
    (r"softmax|norm|reduction|pool|reduce|argmax", REDUCTION),
    (r"transpose|pack|copy|memcpy|broadcast|pad|slice|gather|concat|reshape", COPY),
)
_ONNX = (  # of a node's operator, in the same way
    (r"Attention", ATTENTION),
    (r"Gemm|MatMul", PRODUCT),
    (r"Softmax|Norm|Reduce|Pool|ArgM", REDUCTION),
    (r"Reorder|Transpose|Reshape|Concat|Split|Slice|Gather|Pad|Expand|queeze|Flatten|Shape|Tile|Cast", COPY),
)
_SIZES = re.compile(r"(?:^|_)(\d+(?:x\d+)+)")
_WARM_UP, _LEAST_RUNS, _SECONDS = 3, 10, 3.0


@dataclass(frozen=True)
class OnnxProfile:
    """A model in ONNX Runtime.

    Attributes:
        version: of ONNX Runtime.
        whole_us: time of one run without profiling: the mean of the quietest quarter of its samples.
        kinds_us: time of a profiled run by kind of layer.
    """

    version: str
    whole_us: float
    kinds_us: Mapping[str, float]


@dataclass(frozen=True)
class KindTimes:
    """A kind of layer in both.

    Attributes:
        kind: one of `KINDS`.
        time_us: in one invocation.
        flops: of products and convolutions; 0 for other kinds.
        other_us: in one run of ONNX Runtime.
    """

    kind: str
    time_us: float
    flops: float
    other_us: float


def by_kind(profile: Profile, other: OnnxProfile) -> list[KindTimes]:
    """Sum up both profiles by kind of layer, in the order of `KINDS`. Kinds that neither has are left out."""
    own: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    flops: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    for row in profile.rows:
        kind = kind_of(row)
        own[kind] += row.time_us
        if kind in ARITHMETIC:
            flops[kind] += row.flops or row.calls * _flops(_described(row))
    return [
        KindTimes(each, own[each], flops[each], other.kinds_us.get(each, 0.0))
        for each in KINDS
        if own[each] or other.kinds_us.get(each)
    ]


def kind_of(row: ProfileRow) -> str:
    """The kind of layer that a row of a profile belongs to, from the name of its workload or problem."""
    if row.kind != "dispatch":
        return COPY if row.kind == "transfer" else BETWEEN
    name = _described(row)
    found = next((kind for pattern, kind in _NAMED if re.search(pattern, name)), ELEMENTWISE)
    return POINTWISE if found == CONVOLUTION and _window(name) == 1 else found


def _described(row: ProfileRow) -> str:
    if row.note.startswith(KERNEL):
        return row.note.removeprefix(KERNEL)
    return row.workload_name or re.sub(r"^.*_dispatch_\d+_", "", row.name)


def _window(name: str) -> int:
    """The size of a 2-D convolution's window, from its loops: channels last, or channels first."""
    sizes = _sizes(name)
    if len(sizes) < 7:
        return 0
    return sizes[4] if sizes[4] == sizes[5] else sizes[5]


def _sizes(name: str) -> tuple[int, ...]:
    found = _SIZES.search(name)
    return tuple(map(int, found[1].split("x"))) if found else ()


def _flops(name: str) -> float:
    """Operations of a product or a convolution: two for each iteration of its loops."""
    return 2.0 * math.prod(_sizes(name)) if _sizes(name) else 0.0


def profile_onnx(path: Path, threads: int) -> OnnxProfile:
    """Run a model in ONNX Runtime on random inputs, without and with its profiler.

    Args:
        path: the model, `.onnx`.
        threads: threads of an operator.

    Raises:
        TunerError: ONNX Runtime is not installed, or cannot load or run the model.
    """
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
    quiet = sorted(samples_us)[: max(1, len(samples_us) // 4)]
    return OnnxProfile(version("onnxruntime"), statistics.fmean(quiet), kinds_in(events))


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
    samples: list[float] = []
    deadline = time.monotonic() + _SECONDS
    while len(samples) < _WARM_UP + _LEAST_RUNS or time.monotonic() < deadline:
        start = time.perf_counter()
        session.run(None, inputs)
        samples.append((time.perf_counter() - start) * 1e6)
    return samples[_WARM_UP:], Path(session.end_profiling()) if trace is not None else None


def _random(rng: np.random.Generator, kind: str, shape: Sequence[object]) -> npt.NDArray[Any]:
    """An input. Sizes that the model leaves open are 1, and integers are 0, as they may be indices."""
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
    runs = sum(event.get("name") == "model_run" for event in events)
    found: dict[str, float] = {}
    nodes_us = 0.0
    for event in events:
        if event.get("cat") != "Node" or not str(event.get("name", "")).endswith("_kernel_time"):
            continue
        kind = _kind_of_node(event["args"])
        found[kind] = found.get(kind, 0.0) + event["dur"] / runs
        nodes_us += event["dur"] / runs
    whole_us = (
        sum(event["dur"] for event in events if event.get("name") == "model_run") / runs if runs else 0.0
    )
    return {**found, BETWEEN: max(0.0, whole_us - nodes_us)}


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
