"""`iree-tuner space`: what may be tried for a workload."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, cast

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape

from iree_tuner.cli.output import people, print_json
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.ops.workload import Workload, from_json
from iree_tuner.program.extract import extract as extract_dispatches
from iree_tuner.program.source import load_program
from iree_tuner.space import Assignment, Space, build_space
from iree_tuner.targets import CpuLimits, parse_target, target_for_device

_Named = tuple[str, Workload, CpuLimits]


def space(
    source: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    sample: int = 0,
    seed: int = 0,
    show_ir: Annotated[bool, Parameter(name="--ir", negative="")] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    device: str = "local-task",
    target: str | None = None,
) -> int:
    """Print the search space of each workload: its size, its knobs, and samples of it.

    Example: `iree-tuner extract model.mlir --json | iree-tuner space - --sample 3`

    Parameters
    ----------
    source
        Workloads as JSON, one a line (as `extract --json` prints them, or bare), `-` for standard
        input; or a program, whose dispatches are extracted first.
    sample
        Print this many legal assignments and what they stand for.
    seed
        Decides which assignments are sampled.
    show_ir
        Print the constraints.
    as_json
        One JSON object a workload, on standard output.
    device
        Device that a program is compiled for.
    target
        Compile a program for this target instead: `llvm-cpu:znver4`.
    """
    if sample < 0:
        raise UsageError(f"--sample must not be negative, but is {sample}")
    context = new_context()
    found = 0
    for name, workload, limits in _workloads(source, target, device):
        found += 1
        built = build_space(workload, limits, context)
        picked = built.sample(sample, seed) if sample else []
        if as_json:
            print_json(_record(name, built, picked, show_ir))
        else:
            _show(name, built, picked, show_ir)
    if not found:
        raise TunerError("there is no workload to build a space for", location=source)
    return 0


def _workloads(source: str, target: str | None, device: str) -> Iterator[_Named]:
    data = sys.stdin.read().encode() if source == "-" else Path(source).read_bytes()
    if source == "-" or data.lstrip().startswith(b"{"):
        for number, line in enumerate(data.decode().splitlines(), start=1):
            if line.strip():
                yield from _read(line, f"{source}:{number}")
        return
    chosen = parse_target(target) if target else target_for_device(device)
    with Workers(1) as workers:
        extraction = extract_dispatches(load_program(source), chosen, workers)
    for dispatch in extraction.dispatches:
        if dispatch.workload is None:
            people.print(escape(f"{dispatch.name}: no space, {dispatch.reason}"))
        else:
            yield dispatch.name, dispatch.workload, dispatch.limits


def _read(line: str, location: str) -> Iterator[_Named]:
    try:
        record = cast(dict[str, Any], json.loads(line))
        data = record.get("workload", record if "family" in record else None)
        if data is None:
            people.print(escape(f"{location}: no workload"))
            return
        workload = from_json(data)
        limits = CpuLimits(**record.get("limits", {}))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TunerError(f"not a workload: {error}", location=location) from None
    yield str(record.get("dispatch", workload.name)), workload, limits


def _record(name: str, built: Space, picked: list[Assignment], show_ir: bool) -> dict[str, object]:
    record: dict[str, object] = {
        "name": name,
        "workload": built.workload.key,
        "count": built.count(),
        "knobs": {knob.name: list(knob.values) for knob in built.knobs},
    }
    if picked:
        record["samples"] = [
            {"assignment": dict(each), "configuration": _configuration(built, each)} for each in picked
        ]
    if show_ir:
        record["ir"] = built.text
    return record


def _configuration(built: Space, assignment: Assignment) -> dict[str, dict[str, str]]:
    return {op.label: {op.attribute: op.value} for op in built.configuration(assignment).ops}


def _show(name: str, built: Space, picked: list[Assignment], show_ir: bool) -> None:
    console = Console(soft_wrap=True, highlight=False, markup=False)
    console.print(f"{name}: {built.workload.name}, {built.count()} assignments of {len(built.knobs)} knobs")
    for knob in built.knobs:
        console.print(f"  {knob.name}: {' '.join(map(str, knob.values))}")
    for assignment in picked:
        console.print(f"  {' '.join(f'{knob}={value}' for knob, value in assignment.items())}")
        for op in built.configuration(assignment).ops:
            console.print(f"    {op.label} {op.attribute} = {op.value}")
    if show_ir:
        console.print(built.text)
