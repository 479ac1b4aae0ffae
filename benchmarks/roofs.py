"""What each kernel of tuned models reaches of the GPU's roof, as Markdown.

    python benchmarks/roofs.py > benchmarks/roofs.md

Reads rows of `gpu_models.py` that have `roofs`, the newest one of each model: the time of each kernel in
the device's own trace of a tuned model (CUPTI), with the arithmetic and the bytes of its problem. The roof
is that of the maker's data sheet: the time of the arithmetic at the peak of dense matrix units, or of
reading operands and writing the result once at the speed of the device's memory, whichever is longer.
Results of one kernel are often still in the cache when the next one reads them, so that some are above the
roof.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from iree_tuner.kernels.kernel import Array, Code, Problem
from iree_tuner.kernels.nest import SUMS, Nest
from iree_tuner.kernels.site import Site
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.family import family_of
from iree_tuner.profiling.roofline import datasheet_roofline
from iree_tuner.tuning.versions import Change

RESULTS = Path(__file__).with_name("results")
FILES = [RESULTS / f"{name}.jsonl" for name in ("h200_kinds", "h200_models_short")]
COMMAND = "python benchmarks/roofs.py"
DEVICE, UNITS = "NVIDIA H200", 132
ENOUGH = 0.7
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
            found[code.entry] = {
                "problem": site.problem.name, "kernel": each.how.split(" ")[0], "calls": calls,
                "us": round(us / calls, 2), "flops": flops_of(site.problem), "bytes": bytes_of(site.problem),
                "type": site.problem.inputs[0].element_type, "workgroups": math.prod(code.launch.workgroups),
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
    lines = ["| kernel | problem | model | us | bound by | of roof | below 0.7 because |"]
    lines.append("|" + "---|" * 7)
    rated = [(each["kernel"], -roof_us(each)[0] / each["us"], model, each) for model, each in found]
    for kernel, minus, model, each in sorted(rated, key=lambda row: row[:3]):
        part, bound = -minus, roof_us(each)[1]
        cells = [kernel, f"`{each['problem']}`", model, f"{each['us']:.1f}", bound, f"{part:.2f}"]
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
