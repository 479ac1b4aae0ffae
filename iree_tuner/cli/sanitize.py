"""`iree-tuner sanitize`: run a program's dispatches one by one under a memory checker."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.inputs import INPUTS, NO_FLAGS, InputFlags, ProgramName, opened
from iree_tuner.cli.output import Json, answers_to, counted, people, print_json
from iree_tuner.cli.run import DEVICE, RunDevice
from iree_tuner.cli.table import print_table, table
from iree_tuner.cli.tuned import TunedFlags
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import CompilerFlags
from iree_tuner.tuning.sanitize import CUDA_TOOLS, sanitize


def sanitize_(
    program: ProgramName,
    /,
    *,
    spec: Path | None = None,
    kernels: Path | None = None,
    on: RunDevice = DEVICE,
    tool: Annotated[tuple[str, ...], Parameter(negative="")] = CUDA_TOOLS,
    compiling: CompilerFlags = NO_FLAGS,
    inputs: InputFlags = INPUTS,
    as_json: Json = False,
) -> int:
    """Run a program's dispatches under a memory checker and report out-of-bounds accesses.

    On CPUs, each input ends at a guard page. On CUDA, dispatches run under compute-sanitizer. Exit status 1
    if a dispatch accesses memory out of bounds.

    Example: `iree-tuner sanitize model.mlir --spec model.spec.mlir`

    Parameters
    ----------
    spec
        Apply this spec, written by `iree-tuner tune`. Default: no spec.
    kernels
        Use the external kernels of this spec, written by `iree-tuner kernel` or `tune --kernels`.
    tool
        Tool of compute-sanitizer, for CUDA: memcheck, racecheck, initcheck, synccheck. Repeat it for several
        runs.
    as_json
        Print JSON, one object per line: the findings, then a summary.
    """
    source, target = inputs.sized(opened(program)), on.target(compiling)
    request = inputs.request(source, compiling.flags)
    with (
        TunedFlags(spec=spec, kernels=kernels).applied(source, target) as (tuned, target),
        Lab(target, 1) as lab,
        people.status("running dispatches"),
    ):
        found = sanitize(tuned, request, lab, tool)
    console = answers_to(as_json=as_json)
    hits = table("dispatch", "found by", "count", "access", words=("dispatch", "found by", "access"))
    for hit in found.hits:
        hits.add_row(hit.dispatch, hit.tool, str(hit.count), hit.message)
        if as_json:
            print_json(asdict(hit))
    if found.hits:
        print_table(console, hits)
    wrong = len({hit.dispatch for hit in found.hits})
    left = f"; not run: {'; '.join(found.left_out)}" if found.left_out else ""
    checked = f"{counted(found.dispatches, 'dispatch')} checked with {', '.join(found.tools)}"
    console.print(f"{checked}: {wrong} with out-of-bounds accesses{left}")
    if as_json:
        print_json({"dispatches": found.dispatches, "wrong": wrong, "tools": list(found.tools),
                    "left_out": list(found.left_out)})  # fmt: skip
    return 1 if found.hits else 0
