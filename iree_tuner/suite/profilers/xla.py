"""Profile a model in XLA, by kind of layer: JAX runs what `jax.export` wrote."""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iree_tuner.errors import TunerError
from iree_tuner.profiling.layer_kinds import (
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
)

_TRACED = 10  # runs
_TRACER_LEVEL = 3  # of the host: from 2 on, XLA's executor reports each operation

_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\{$")
_OPERATION = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([a-z][\w\-]*)\(")
_CALLED = re.compile(r"(?:calls|body|called_computations|to_apply)=\{?%?([\w.\-]+)")
_GROUPS, _KERNEL = re.compile(r"feature_group_count=(\d+)"), re.compile(r"window=\{size=([\dx]+)")
_REDUCING = {"reduce", "reduce-window", "sort", "topk"}
_NO_WORK = {"parameter", "constant", "bitcast", "tuple", "get-tuple-element", "iota", "reshape"}
_COPYING = {
    "broadcast", "concatenate", "copy", "dynamic-slice", "dynamic-update-slice", "gather", "pad", "reverse",
    "scatter", "slice", "transpose",
}  # fmt: skip
_CONVOLVED = "conv_general_dilated"  # in the name of what JAX wrote; XLA makes products of some


_Operation = tuple[str, str]
"""Of the compiled program: its opcode, and its line of text."""


@dataclass(frozen=True)
class TraceSpan:
    """An operation on a thread, in nanoseconds."""

    begin: float
    end: float
    operation: str


def profile_xla(path: Path) -> OtherProfile:
    """Run a program in XLA on this CPU's cores, on generated inputs, without and with its profiler.

    Args:
        path: written by `jax.export.Exported.serialize`.

    Raises:
        TunerError: JAX is not installed, or cannot load or run the program.
    """
    try:
        jax: Any = import_module("jax")
        export: Any = import_module("jax.export")
        data: Any = jax.profiler.ProfileData
    except (ImportError, AttributeError):
        raise TunerError("JAX is not installed, or is older than 0.6.1", hint="pip install jax") from None
    try:
        exported = export.deserialize(bytearray(path.read_bytes()))
        with jax.default_device(jax.devices("cpu")[0]):
            rng = np.random.default_rng(0)
            values = [jax.device_put(_generated(rng, each.dtype, each.shape)) for each in exported.in_avals]
            positional, named = jax.tree.unflatten(exported.in_tree, values)
            compiled = jax.jit(exported.call).lower(*positional, **named).compile()

            def run() -> None:
                jax.block_until_ready(compiled(*positional, **named))

            samples_us = samples_of(run)
            traced_us, spans = _traced(jax, data, run)
    except OSError as error:
        raise TunerError(f"cannot read: {error.strerror}", location=str(path)) from None
    except Exception as error:  # JAX's exceptions have no common base
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise TunerError(f"XLA: {line}", location=str(path)) from None
    kinds = kinds_in(compiled.as_text(), spans, _TRACED)
    kinds[BETWEEN] = max(0.0, traced_us - sum(kinds.values()))
    return OtherProfile("XLA", f"of JAX {version('jax')}", quiet(samples_us), kinds)


def _generated(rng: np.random.Generator, dtype: npt.DTypeLike, shape: Sequence[int]) -> npt.NDArray[Any]:
    """An argument, of a size that keeps values of deep models finite. Integers, maybe indices, are 0."""
    if np.issubdtype(dtype, np.integer) or np.dtype(dtype).kind == "b":
        return np.zeros(shape, dtype)
    if len(shape) <= 1:
        return rng.uniform(0.5, 1.5, shape).astype(dtype)
    return (rng.standard_normal(shape) / math.sqrt(math.prod(shape[:-1]))).astype(dtype)


def _traced(jax: Any, data: Any, run: Callable[[], None]) -> tuple[float, list[list[TraceSpan]]]:  # noqa: ANN401
    """Microseconds of a run under the profiler, and the spans of all runs by thread."""
    options = jax.profiler.ProfileOptions()
    options.host_tracer_level, options.python_tracer_level = _TRACER_LEVEL, 0
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            start = time.perf_counter()
            for _ in range(_TRACED):
                run()
            elapsed_s = time.perf_counter() - start
        (written,) = Path(folder).rglob("*.xplane.pb")
        spans = [
            [TraceSpan(event.start_ns, event.start_ns + event.duration_ns, str(stats["hlo_op"]))
             for event in line.events if "hlo_op" in (stats := dict(event.stats))]
            for plane in data.from_file(str(written)).planes for line in plane.lines
        ]  # fmt: skip
    return elapsed_s / _TRACED * 1e6, spans


def kinds_in(hlo: str, threads: Iterable[Sequence[TraceSpan]], runs: int) -> dict[str, float]:
    """Microseconds of a run by kind of layer. Operations that run at the same time share it.

    Args:
        hlo: text of the compiled program.
        threads: the spans of each thread in all runs; inner ones are parts of outer ones.
        runs: their number.
    """
    kinds = kinds_of_operations(hlo)
    found: dict[str, float] = {}
    for operation, nanoseconds in _shared(threads).items():
        kind = kinds.get(operation, ELEMENTWISE)
        found[kind] = found.get(kind, 0.0) + nanoseconds / runs / 1e3
    return found


def _shared(threads: Iterable[Sequence[TraceSpan]]) -> Mapping[str, float]:
    """Nanoseconds of each operation: a moment belongs in equal parts to the threads that work then."""
    spans = [
        (number, span) for number, every in enumerate(threads) for span in every if span.end > span.begin
    ]
    # At one time, ends come before begins, and spans before those inside them.
    moments = [(span.begin, 1, -span.end, number, span) for number, span in spans]
    moments += [(span.end, 0, 0.0, number, span) for number, span in spans]
    found: dict[str, float] = {}
    running: dict[int, list[TraceSpan]] = {number: [] for number, _ in spans}
    before = 0.0
    for now, begins, _, number, span in sorted(moments, key=lambda each: each[:4]):
        working = [stack[-1].operation for stack in running.values() if stack]
        for operation in working:
            found[operation] = found.get(operation, 0.0) + (now - before) / len(working)
        if begins:
            running[number].append(span)
        else:
            running[number].remove(span)
        before = now
    return found


def kinds_of_operations(hlo: str) -> dict[str, str]:
    """The kind of layer of each operation of a compiled program, by the operation's name."""
    bodies: dict[str, list[_Operation]] = {}
    named: dict[str, _Operation] = {}
    body: list[_Operation] = []
    for line in hlo.splitlines():
        header, operation = _COMPUTATION.match(line), _OPERATION.match(line)
        if header is not None:
            body = bodies.setdefault(header[1], [])
        elif operation is not None:
            body.append((operation[3], line))
            named[operation[1]] = body[-1]
    return {name: _kind(list(_inside(each, bodies))) for name, each in named.items()}


def _inside(operation: _Operation, bodies: Mapping[str, Sequence[_Operation]]) -> Iterable[_Operation]:
    """An operation, or the operations of the computations that it calls."""
    opcode, line = operation
    if opcode not in ("fusion", "call", "while", "custom-call"):
        yield operation
        return
    called = [body for name in _CALLED.findall(line) for body in bodies.get(name, ())]
    for each in called:
        yield from _inside(each, bodies)
    if not called:
        yield operation


def _kind(operations: Sequence[_Operation]) -> str:
    """The kind of the most expensive of operations that run as one."""
    lines = dict(operations)
    if "convolution" in lines:
        groups, kernel = _GROUPS.search(lines["convolution"]), _KERNEL.search(lines["convolution"])
        if groups is not None and int(groups[1]) > 1:
            return DEPTHWISE
        return POINTWISE if kernel is None or set(kernel[1].split("x")) == {"1"} else CONVOLUTION
    product = lines.get("dot") or lines.get("custom-call", "")
    if "dot" in lines or re.search(r"custom_call_target=\"[^\"]*(?:matmul|gemm|dot|conv)", product):
        return POINTWISE if _CONVOLVED in product else PRODUCT
    if _REDUCING & lines.keys():
        return REDUCTION
    return COPY if _COPYING & lines.keys() and not lines.keys() - _COPYING - _NO_WORK else ELEMENTWISE
