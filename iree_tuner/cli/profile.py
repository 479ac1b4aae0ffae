"""`iree-tuner profile`: where a program's time goes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, cast, get_args

from cyclopts import Parameter
from rich.console import Console

from iree_tuner.cli.database import default_database
from iree_tuner.cli.inputs import InputFlags, opened
from iree_tuner.cli.output import answers_to, people, print_json
from iree_tuner.cli.program_name import ProgramName
from iree_tuner.cli.table import print_table, table
from iree_tuner.errors import UsageError
from iree_tuner.files import planned_output, write
from iree_tuner.profiling.profile import Method, Profile, ProfileRow, row_to_json, to_json
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.profiling.run import profile_program
from iree_tuner.targets import DEFAULT_DEVICE, target_for_device
from iree_tuner.tuning.compiler_flags import CompilerFlags

_METHODS = cast("tuple[str, ...]", get_args(Method))
_DEFAULTS = InputFlags()
_NO_FLAGS = CompilerFlags()
_COLUMNS = ("share", "calls", "time us", "GFLOP/s", "GB/s", "least us", "of roof", "dispatch", "workload")
_SHORTEST = 0.0005  # rows below this share are summed, unless all are asked for


def profile(
    program: ProgramName,
    /,
    *,
    device: str = DEFAULT_DEVICE,
    chip: str = "host",
    compiling: CompilerFlags = _NO_FLAGS,
    inputs: InputFlags = _DEFAULTS,
    method: str | None = None,
    no_roofline: Annotated[bool, Parameter(negative="")] = False,
    every: Annotated[bool, Parameter(name="--all", negative="")] = False,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Show where a program's time goes: by dispatch, against what the device could do.

    Example: `iree-tuner profile examples/transformer_block.mlir -o profile.json`

    Parameters
    ----------
    device
        Device URI: local-task, local-sync, cuda://0.
    chip
        What to compile for, with options: host, host+data-tiling; a GPU's architecture.
    method
        hal: profiled invocations, on the host only; standalone: each dispatch timed alone. By default the
        first where it is to be had.
    no_roofline
        Do not ask what the device could do. Measuring that takes some seconds, once for a CPU.
    every
        Also show rows of less than 0.05 %.
    output
        Write the profile as JSON, .json.
    as_json
        Print the rows, by workload and by dispatch, and the sums, as JSON, one object a line.
    """
    if method is not None and method not in _METHODS:
        raise UsageError(f"there is no method '{method}'", hint=f"there are: {', '.join(_METHODS)}")
    source = inputs.sized(opened(program))
    if output is not None:
        planned_output(output, ".json")
    target = compiling.on(target_for_device(device, chip))
    with people.status("profiling"):
        found = profile_program(
            source, target, run=inputs.request(source), method=cast("Method | None", method),
            with_roofline=not no_roofline, cache=default_database().with_name("rooflines.json"),
        )  # fmt: skip
    if output is not None:
        write(output, json.dumps(to_json(found), indent=1) + "\n")
    for record in records(found) if as_json else ():
        print_json(record)
    _show(found, every, answers_to(as_json=as_json))
    return 0


def records(found: Profile) -> list[Mapping[str, object]]:
    """A profile as lines of JSON: its dispatches, its workloads, and the sums."""
    whole = {name: value for name, value in to_json(found).items() if name != "rows"}
    return [
        *({"row": "dispatch", **row_to_json(row)} for row in found.rows),
        *(
            {
                "row": "workload",
                "workload": each.workload,
                "workload_name": each.name,
                "dispatches": list(each.dispatches),
                "calls": each.calls,
                "time_us": each.time_us,
                "share": each.share,
                "attainable_us": each.attainable_us,
            }
            for each in found.by_workload()
        ),
        {"row": "profile", **whole},
    ]


def _show(found: Profile, every: bool, console: Console) -> None:
    parts = table(*_COLUMNS, words=_COLUMNS[-2:])
    shown = [row for row in found.rows if every or row.share >= _SHORTEST or _tells(row)]
    for row in shown:
        parts.add_row(*_cells(row))
    hidden = [row for row in found.rows if row not in shown]
    if hidden:
        time_us, calls = sum(row.time_us for row in hidden), sum(row.calls for row in hidden)
        part = _part(time_us, found)
        parts.add_row(part, f"{calls:g}", f"{time_us:.1f}", "", "", "", "", f"({len(hidden)} others)", "")
    print_table(console, parts, spare=("workload", "least us", "GB/s"))
    low, high = found.whole_range_us
    console.print(f"{', '.join(found.functions)} on {found.device}, {_told(found.method)}")
    spread = f"quartiles {low:.1f} to {high:.1f}"
    console.print(f"whole       {found.whole_us:10.1f} us of an invocation ({spread})")
    console.print(f"dispatches  {found.dispatches_us:10.1f} us, {_part(found.dispatches_us, found)}")
    console.print(f"all rows    {found.explained_us:10.1f} us, {_part(found.explained_us, found)}")
    if found.profiled_us:
        part = _part(found.profiled_us, found)
        console.print(f"profiled    {found.profiled_us:10.1f} us, {part}: an invocation while it is profiled")
    console.print(f"rest        {found.rest_us:+10.1f} us, {_part(found.rest_us, found)} not explained")
    if found.roofline is not None:
        console.print(roofline_line(found.roofline), markup=False)
    for note in found.notes:
        console.print(f"note: {note}", style="yellow", markup=False)


def _tells(row: ProfileRow) -> bool:
    """Whether a row without time is to be seen: what could not be timed is."""
    return row.kind == "dispatch" and not row.time_us and bool(row.note)


def _cells(row: ProfileRow) -> tuple[str, ...]:
    achieved = row.attainable_us / row.time_us if row.time_us else 0.0
    return (
        f"{row.share:.1%}",
        f"{row.calls:g}",
        f"{row.time_us:.1f}",
        f"{row.flops_per_s / 1e9:.1f}" if row.flops else "",
        f"{row.bytes_per_s / 1e9:.1f}" if row.bytes else "",
        f"{row.attainable_us:.1f}" if row.attainable_us else "",
        f"{achieved:.0%}" if achieved else "",
        row.name,
        row.workload_name if row.tunable else row.note,
    )


def _part(time_us: float, found: Profile) -> str:
    return f"{time_us / found.whole_us:.1%}" if found.whole_us else "-"


def _told(method: Method) -> str:
    if method == "hal":
        return "profiled while it ran"
    return "each dispatch timed alone, times its calls"


def roofline_line(roofline: Roofline) -> str:
    """A roofline in one line."""
    peaks = ", ".join(f"{kind} {value / 1e9:.0f} GFLOP/s" for kind, value in roofline.flops_per_s)
    levels = ", ".join(
        f"{each.bytes_per_s / 1e9:.0f} GB/s {_place(each.capacity_bytes)}"
        for each in roofline.levels
        if each.bytes_per_s is not None
    )
    return f"roofline of {roofline.name} ({roofline.how}): {peaks}; {levels}"


def _place(capacity_bytes: int | None) -> str:
    if capacity_bytes is None:
        return "from memory"
    return f"up to {capacity_bytes / (1 << 20):.0f} MiB"
