"""`iree-tuner profile`: measure a program by dispatch."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, cast

from cyclopts import Parameter
from rich.console import Console

from iree_tuner.cli.db import default_database
from iree_tuner.cli.inputs import INPUTS, NO_FLAGS, InputFlags, ProgramName, opened
from iree_tuner.cli.output import Json, answers_to, one_line, people, print_json
from iree_tuner.cli.run import DEVICE, RunDevice
from iree_tuner.cli.table import print_table, table
from iree_tuner.cli.tuned import with_kernels
from iree_tuner.compiler.context import new_context
from iree_tuner.device.device_facts import usable_cores
from iree_tuner.errors import UsageError
from iree_tuner.files import planned_output, write
from iree_tuner.installed import brought, loaded
from iree_tuner.profiling.layer_kinds import KERNEL, OtherProfile, by_kind
from iree_tuner.profiling.profile import Method, Profile, ProfileRow, to_json
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.profiling.run import profile_program
from iree_tuner.spec.external import located, problems_in
from iree_tuner.targets import on_host
from iree_tuner.tuning.options import CompilerFlags

Profiler = Callable[[Path], OtherProfile]
"""Profiles a model on this CPU: what an entry point of `iree_tuner.profilers` names."""

_HOW: Mapping[Method, str] = {
    "hal": "measured with the runtime's profiler",
    "standalone": "each dispatch measured alone, multiplied by its calls",
}
_COLUMNS = ("share", "calls", "time us", "GFLOP/s", "GB/s", "bound us", "of bound", "dispatch", "workload")
_SHORTEST = 0.0005  # rows below this share are summed, unless all are asked for


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class OtherRuntimes:
    """The same model in other runtimes.

    Attributes
    ----------
    onnx
        Also profile the same model, .onnx, in ONNX Runtime on this CPU. Compare times by kind of layer.
    xla
        Also profile the same program in XLA on this CPU: a file written by jax.export.
    """

    onnx: Path | None = None
    xla: Path | None = None

    def profilers(self, device: str) -> list[tuple[Profiler, Path]]:
        """Find those that are asked for. Raises UsageError for one that is not there, or not for a device."""
        found: list[tuple[Profiler, Path]] = []
        for name, path in (("onnx", self.onnx), ("xla", self.xla)):
            if path is None:
                continue
            if not on_host(device):
                raise UsageError(f"--{name} requires a CPU", hint="--device local-task")
            entry = brought("iree_tuner.profilers", "profiler").get(name)
            if entry is None:
                raise UsageError(f"--{name}: no installed package profiles this runtime")
            found.append((cast(Profiler, loaded(entry, "profiler")), path))
        return found


_ALONE = OtherRuntimes()


def profile(
    program: ProgramName,
    /,
    *,
    on: RunDevice = DEVICE,
    compiling: CompilerFlags = NO_FLAGS,
    inputs: InputFlags = INPUTS,
    method: str | None = None,
    kernels: Path | None = None,
    others: OtherRuntimes = _ALONE,
    no_roofline: Annotated[bool, Parameter(negative="")] = False,
    every: Annotated[bool, Parameter(name="--all", negative="")] = False,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    as_json: Json = False,
) -> int:
    """Show how much time each dispatch takes, compared with the device's roofline.

    `bound us` is the roofline's shortest time, `of bound` is that time divided by the measured time.

    Example: `iree-tuner profile examples/transformer_block.mlir -o profile.json`

    Parameters
    ----------
    method
        hal: use the runtime's profiler, on CPUs only. standalone: measure each dispatch alone. Default: hal
        if it is available.
    kernels
        Use the external kernels of this spec, written by `iree-tuner kernel` or `tune --kernels`.
    no_roofline
        Do not compare with the roofline. Measuring it takes a few seconds, once per CPU.
    every
        Also show dispatches that take less than 0.05 % of the time.
    output
        Also write the profile to this file, .json.
    as_json
        Print the dispatches, the workloads and the totals as JSON, one object per line.
    """
    if method is not None and method not in _HOW:
        raise UsageError(f"unknown method '{method}'", hint=f"one of: {', '.join(_HOW)}")
    profilers = others.profilers(on.device)
    source = inputs.sized(opened(program))
    if output is not None:
        planned_output(output, ".json")
    target = on.target(compiling)
    with with_kernels(target, kernels) as flagged, people.status("profiling"):
        found = profile_program(
            source, flagged, run=inputs.request(source, compiling.flags), with_roofline=not no_roofline,
            method=cast("Method | None", method), cache=default_database().with_name("rooflines.json"),
        )  # fmt: skip
        found = _with_problems(replace(found, target=str(target)), kernels)
        compared = [profiled(path) for profiled, path in profilers]
    if output is not None:
        write(output, json.dumps(to_json(found), indent=1) + "\n")
    for record in records(found, compared) if as_json else ():
        print_json(record)
    console = answers_to(as_json=as_json)
    _show(found, every, console)
    if compared:
        _show_kinds(found, compared, console)
    return 0


def _with_problems(found: Profile, kernels: Path | None) -> Profile:
    """The profile, with the names of problems in the rows of external kernels."""
    if kernels is None:
        return found
    names = problems_in(located(kernels, new_context()))
    rows = (
        replace(row, note=f"{KERNEL}{names[row.name]}") if row.name in names else row for row in found.rows
    )
    return replace(found, rows=tuple(rows))


def records(found: Profile, others: Sequence[OtherProfile] = ()) -> list[Mapping[str, object]]:
    """Convert a profile to JSON-ready records: dispatches, workloads, kinds of layers, totals."""
    whole = {name: value for name, value in to_json(found).items() if name != "rows"}
    return [
        *({"row": "dispatch", **asdict(row)} for row in found.rows),
        *(
            {
                "row": "workload", "workload": each.workload, "workload_name": each.name,
                "dispatches": list(each.dispatches), "calls": each.calls, "time_us": each.time_us,
                "share": each.share, "attainable_us": each.attainable_us,
            }
            for each in found.by_workload()
        ),
        *({"row": "kind", **asdict(each)} for each in (by_kind(found, others) if others else ())),
        {"row": "profile", **whole},
    ]  # fmt: skip


def _show(found: Profile, every: bool, console: Console) -> None:
    parts = table(*_COLUMNS, words=_COLUMNS[-2:])
    shown = [  # a dispatch that could not be measured has a note instead of a time
        row for row in found.rows
        if every or row.share >= _SHORTEST or (row.kind == "dispatch" and not row.time_us and row.note)
    ]  # fmt: skip
    for row in shown:
        parts.add_row(*_cells(row))
    hidden = [row for row in found.rows if row not in shown]
    if hidden:
        time_us, calls = sum(row.time_us for row in hidden), sum(row.calls for row in hidden)
        part = _part(time_us, found)
        others = f"({len(hidden)} other{'s' * (len(hidden) != 1)})"
        parts.add_row(part, f"{calls:g}", f"{time_us:.1f}", "", "", "", "", others, "")
    print_table(console, parts, spare=("workload", "bound us", "GB/s"))
    low, high = found.whole_range_us
    console.print(f"{one_line(', '.join(found.functions))} on {found.device}, {_HOW[found.method]}")
    console.print(f"program      {found.whole_us:10.1f} us per invocation, the quietest quarter of samples")
    console.print(f"usually      {low:10.1f} to {high:.1f} us, the middle half of samples")
    console.print(f"dispatches   {found.dispatches_us:10.1f} us, {_part(found.dispatches_us, found)}")
    console.print(f"all rows     {found.explained_us:10.1f} us, {_part(found.explained_us, found)}")
    if found.profiled_us:
        part = _part(found.profiled_us, found)
        console.print(f"profiled     {found.profiled_us:10.1f} us, {part}: an invocation under the profiler")
    console.print(f"unexplained  {found.rest_us:+10.1f} us, {_part(found.rest_us, found)}")
    if found.roofline is not None:
        console.print(roofline_line(found.roofline))
    for note in found.notes:
        console.print(f"note: {note}", style="yellow")


def _show_kinds(found: Profile, others: Sequence[OtherProfile], console: Console) -> None:
    own = ("kind of layer", "time us", "share", "GFLOP/s", "of f32 peak")
    kinds = table(*own, *(f"{other.runtime} us" for other in others), words=own[:1])
    peak = 0.0 if found.roofline is None else dict(found.roofline.flops_per_s).get("f32", 0.0)
    for each in by_kind(found, others):
        per_s = each.flops / each.time_us * 1e6 if each.time_us else 0.0
        kinds.add_row(
            each.kind, f"{each.time_us:.0f}", _part(each.time_us, found),
            f"{per_s / 1e9:.0f}" if per_s else "", f"{per_s / peak:.0%}" if per_s and peak else "",
            *(_compared(time_us, each.time_us) for time_us in each.others_us.values()),
        )  # fmt: skip
    whole = [_compared(other.whole_us, found.whole_us) for other in others]
    kinds.add_row("program", f"{found.whole_us:.0f}", "", "", "", *whole)
    console.print()
    print_table(console, kinds, spare=("GFLOP/s",))
    names = ", ".join(f"{other.runtime} {other.version}" for other in others)
    console.print(
        f"by kind of layer; by their profilers, on {usable_cores()} threads: {names}. "
        "In brackets: how many times as fast the program is"
    )


def _compared(other_us: float, own_us: float) -> str:
    """Another runtime's time, and our speedup over it; empty if it has no layer of the kind."""
    if not other_us:
        return ""
    return f"{other_us:.0f} ({other_us / own_us:.2f}x)" if own_us else f"{other_us:.0f}"


def _cells(row: ProfileRow) -> tuple[str, ...]:
    achieved = row.attainable_us / row.time_us if row.time_us else 0.0
    return (
        f"{row.share:.1%}", f"{row.calls:g}", f"{row.time_us:.1f}",
        f"{row.flops_per_s / 1e9:.1f}" if row.flops else "",
        f"{row.bytes_per_s / 1e9:.1f}" if row.bytes else "",
        f"{row.attainable_us:.1f}" if row.attainable_us else "", f"{achieved:.0%}" if achieved else "",
        row.name, row.workload_name if row.tunable else row.note,
    )  # fmt: skip


def _part(time_us: float, found: Profile) -> str:
    return f"{time_us / found.whole_us:.1%}" if found.whole_us else "-"


def roofline_line(roofline: Roofline) -> str:
    """Format a roofline in one line."""
    peaks = ", ".join(f"{kind} {value / 1e9:.0f} GFLOP/s" for kind, value in roofline.flops_per_s)
    levels: list[str] = []
    for each in roofline.levels:
        size = "from memory"
        if each.capacity_bytes is not None:
            size = f"for data of up to {each.capacity_bytes / (1 << 20):.0f} MiB"
        if each.bytes_per_s is not None:
            levels.append(f"{each.bytes_per_s / 1e9:.0f} GB/s {size}")
    return f"roofline of {roofline.name} ({roofline.how}): {peaks}; {', '.join(levels)}"
