"""What each kernel of tuned models reaches of the GPU's roof, as Markdown.

    python benchmarks/roofs.py > benchmarks/roofs.md

Reads rows of `gpu_models.py` that have `roofs`, the newest one of each model: the time of each kernel in
the device's own trace of a tuned model (CUPTI), with the arithmetic and the bytes of its problem. The roof
is that of the maker's data sheet: the time of the arithmetic at the peak of dense matrix units, or of
reading operands and writing the result once at the speed of the device's memory, whichever is longer.
Results of one kernel are often still in the cache when the next one reads them, so that some are above the
roof. Beside it, PyTorch's own kernel for the root op (cuBLAS, cuDNN, attention) on operands of the same
sizes, without what is fused to it (weights of few bits: of 16); for moves and steps, a copy of as many
bytes. Its time, too, is that of the device's trace.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from iree_tuner.kernels.kernel import Array, Code, Problem
from iree_tuner.kernels.nest import SUMS, Nest
from iree_tuner.kernels.shapes import conv_shape
from iree_tuner.kernels.site import Site
from iree_tuner.ops.attention import is_attention
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.family import family_of
from iree_tuner.profiling.roofline import datasheet_roofline
from iree_tuner.tuning.versions import Change

RESULTS = Path(__file__).with_name("results")
FILES = [RESULTS / f"{name}.jsonl" for name in ("h200_kinds", "h200_models_short")]
COMMAND = "python benchmarks/roofs.py"
DEVICE, UNITS = "NVIDIA H200", 132
TRACED = 5
"""Calls whose launches are looked at."""
ENOUGH = 0.7
AS_FAST = 0.95
"""Of the library's speed: differences that runs have anyway."""
SHORT_US = 6.0
"""Beginning a grid, a first read from memory and the end of the slowest workgroup take some of these."""


def roofs_of(changes: Sequence[Change], launches: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Time and work of each kernel of a program.

    Args:
        changes: the program's kernels.
        launches: names, calls and microseconds of all calls, as the device's trace has them.
    """
    spent = {name: (calls, us) for name, calls, us in launches}
    found: dict[str, dict[str, Any]] = {}
    for each in changes:
        site, code = cast("tuple[Site, Code]", each.made)
        calls, us = spent.get(code.entry, (0, 0.0))
        if code.kind == "ptx" and calls:
            moved = bytes_of(site.problem)
            found[code.entry] = {
                "problem": site.problem.name, "kernel": each.how.split(" ")[0], "calls": calls,
                "us": round(us / calls, 2), "flops": flops_of(site.problem), "bytes": moved,
                "type": site.problem.inputs[0].element_type, "workgroups": math.prod(code.launch.workgroups),
                "library_us": library_us(site.problem, moved),
            }  # fmt: skip
    return list(found.values())


def flops_of(problem: Problem) -> float:
    """Operations of the root op on the keys that its queries see; 0 for ops that only move or combine."""
    if problem.nest is not None:
        return 0.0
    whole = family_of(problem.workload).flops(problem.workload)
    if not problem.masks:
        return whole
    queries, keys = (math.prod(problem.workload.sizes(role)) for role in ("m", "k2"))
    last = [min(keys, at + 1 + (keys if problem.after is None else problem.after)) for at in range(queries)]
    first = [0 if problem.before is None else max(0, at - problem.before) for at in range(queries)]
    seen = sum(max(0, end - begin) for begin, end in zip(first, last, strict=True))
    return whole * seen / (queries * keys)


def bytes_of(problem: Problem) -> float:
    """Bytes that are read and written where each element is once."""
    nest = problem.nest
    inputs = problem.inputs
    read = sum(map(size, inputs))
    if problem.views:
        parts = [math.prod(problem.workload.loops[loop] for group in view.loops for loop in group)
                 * width(inputs[view.input]) for view in problem.views]  # fmt: skip
        whole = {view.input for view in problem.views}
        read = sum(parts) + sum(size(each) for at, each in enumerate(inputs) if at not in whole)
    elif nest is not None:
        read = sum(min(size(each), elements_read(nest, at) * width(each)) for at, each in enumerate(inputs))
    return read + size(problem.result)


def elements_read(nest: Nest, number: int) -> int:
    """The most elements that a nest's accesses of an input can reach."""
    return sum(
        math.prod(extent for extent, stride in zip(nest.sizes, each.strides, strict=True) if stride)
        for each in nest.accesses
        if each.input == number and number != SUMS
    )


def width(array: Array) -> float:
    """Bytes of an element."""
    return ElementType.named(array.element_type).bits / 8


def size(array: Array) -> float:
    """Bytes of an array."""
    return math.prod(array.shape) * width(array)


def launches_of(calls: Callable[[int], object]) -> list[list[Any]]:
    """What a call launches on the device: name, times per call and microseconds of all of them.

    The device's own trace of this process (CUPTI), through PyTorch; empty where there is none.
    """
    try:
        from torch.profiler import ProfilerActivity, profile
    except ImportError:
        return []
    calls(2)
    with profile(activities=[ProfilerActivity.CUDA]) as trace:
        calls(TRACED)
    found = [
        [each.key, each.count / TRACED, round(each.self_device_time_total / TRACED, 1)]
        for each in trace.key_averages()
    ]
    return sorted(found, key=lambda row: -row[2])


def library_us(problem: Problem, moved: float) -> float | None:
    """Microseconds of PyTorch's own kernels for a problem's root op: cuBLAS, cuDNN, attention.

    Without what is fused to the op. Where there is no op but moves and steps: of a copy that moves as many
    bytes. None where PyTorch has none, or refuses.

    Args:
        problem: a kernel's.
        moved: bytes that are read and written.
    """
    try:
        import torch

        with torch.inference_mode():
            call = in_library(problem, moved)
            if call is None:
                return None

            def calls(count: int) -> None:
                for _ in range(count):
                    call()
                torch.cuda.synchronize()

            return round(sum(us for _, _, us in launches_of(calls)), 2) or None
    except (ImportError, RuntimeError):
        return None


def in_library(problem: Problem, moved: float, device: str = "cuda") -> Callable[[], Any] | None:
    """PyTorch's call for a root op on drawn operands, as `library_us` says."""
    import torch

    workload = problem.workload
    types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
    kind = types.get(str(workload.types[0]))
    conv, attention = conv_shape(problem), is_attention(workload)
    if not (conv or attention or is_contraction(workload)):
        halves = torch.empty((2, max(1, int(moved / 2))), dtype=torch.uint8, device=device)
        return lambda: halves[0].copy_(halves[1])
    if kind is None:
        return None

    def drawn(*shape: int) -> Any:
        return torch.randn(shape, dtype=kind, device=device)

    if shape := conv:
        if shape.spread != (1, 1):
            return None
        images = drawn(shape.images, shape.groups * shape.channels, shape.in_h, shape.in_w)
        filters = drawn(shape.groups * shape.filters, shape.channels, shape.window_h, shape.window_w)
        images, filters = (each.to(memory_format=torch.channels_last) for each in (images, filters))
        return lambda: torch.nn.functional.conv2d(
            images, filters, None, shape.strides, shape.low, shape.dilations, shape.groups
        )
    if attention:
        return _attention_in_library(problem, drawn)
    batch, m, n, k = (math.prod(workload.sizes(role)) for role in ("batch", "m", "n", "k"))
    shared = [not {*workload.role("batch")} & {*each.loops} for each in workload.maps[:2]]
    if shared[0]:  # one operand for all: a wider product
        batch, n = 1, batch * n
    elif shared[1]:
        batch, m = 1, batch * m
    left, right = drawn(batch, m, k), drawn(batch, n, k).transpose(1, 2)
    return (lambda: left[0] @ right[0]) if batch == 1 else (lambda: left @ right)


def _attention_in_library(problem: Problem, drawn: Callable[..., Any]) -> Callable[[], Any] | None:
    import torch

    workload = problem.workload
    m, n, k1, k2 = (math.prod(workload.sizes(role)) for role in ("m", "n", "k1", "k2"))
    heads = math.prod(workload.sizes("batch"))
    of_keys = math.prod(
        workload.loops[each] for each in workload.role("batch") if each in workload.maps[1].loops
    )
    causal = problem.after == 0
    if problem.added or problem.before is not None or (causal and m != k2):
        return None
    queries, keys, values = drawn(1, heads, m, k1), drawn(1, of_keys, k2, k1), drawn(1, of_keys, k2, n)
    return lambda: torch.nn.functional.scaled_dot_product_attention(
        queries, keys, values, is_causal=causal, enable_gqa=heads != of_keys
    )


def roof_us(found: Mapping[str, Any]) -> tuple[float, str]:
    """The shortest time by the data sheet, and what it is bound by."""
    roofline = datasheet_roofline(DEVICE, 0)
    assert roofline is not None
    arithmetic = found["flops"] / (roofline.peak(found["type"]) or math.inf) * 1e6
    memory = found["bytes"] / (roofline.bytes_per_s(found["bytes"]) or math.inf) * 1e6
    return max((arithmetic, "arithmetic"), (memory, "memory"))


def reason(found: Mapping[str, Any], part: float) -> str:
    """Why a kernel is below the roof, as far as its launch tells."""
    if part >= ENOUGH:
        return ""
    if (library := found.get("library_us")) and library >= AS_FAST * found["us"]:
        return f"PyTorch's own reaches {part * found['us'] / library:.2f}"
    if found["us"] < SHORT_US:
        return f"takes {found['us']:.1f} us: the beginning and the end of a launch count"
    groups = found["workgroups"]
    if groups < UNITS:
        return f"{groups} workgroups for {UNITS} multiprocessors"
    waves = groups / UNITS
    if waves < 4 and waves / math.ceil(waves) < ENOUGH + 0.1:
        return f"{groups} workgroups: the last round of {math.ceil(waves)} is not full"
    return "not known"


def rows_in(paths: Sequence[Path]) -> list[tuple[str, dict[str, Any]]]:
    """The newest `roofs` of each model, one kernel each."""
    newest: dict[str, list[dict[str, Any]]] = {}
    for path in paths:
        for line in path.read_text().splitlines():
            row = json.loads(line)
            if "roofs" in row:
                newest[row["model"]] = row["roofs"]
    return [(model, each) for model, found in newest.items() for each in found]


def table(found: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """A row for each kernel and problem, by kernel; the largest part of the roof first."""
    lines = ["| kernel | problem | model | us | PyTorch's | bound by | of roof | below 0.7 because |"]
    lines.append("|" + "---|" * 8)
    rated = [(each["kernel"], -roof_us(each)[0] / each["us"], model, each) for model, each in found]
    for kernel, minus, model, each in sorted(rated, key=lambda row: row[:3]):
        part, bound, library = -minus, roof_us(each)[1], each.get("library_us")
        times = f"{each['us']:.1f}", f"{library:.1f}" if library else ""
        cells = [kernel, f"`{each['problem']}`", model, *times, bound, f"{part:.2f}"]
        lines.append(f"| {' | '.join([*cells, reason(each, part)])} |")
    return "\n".join(lines)


def page(paths: Sequence[Path]) -> str:
    """The page of these files."""
    head = "# What kernels reach of an H200's roof", "", f"Generated by `{COMMAND}`; roofs.py says how."
    return "\n".join([*head, "", table(rows_in(paths)), ""])


def main() -> None:
    """Print the page."""
    print(page([Path(each) for each in sys.argv[1:]] or FILES), end="")


if __name__ == "__main__":
    main()
