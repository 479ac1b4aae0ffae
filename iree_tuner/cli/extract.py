"""`iree-tuner extract`: list a program's dispatches."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from iree_tuner.cli.inputs import INPUTS, NO_FLAGS, InputFlags, ProgramName, opened
from iree_tuner.compiler.task import preload
from iree_tuner.compiler.worker import Workers
from iree_tuner.targets.registry import DEFAULT_DEVICE
from iree_tuner.tuning.options import CompilerFlags

if TYPE_CHECKING:
    from rich.table import Table

    from iree_tuner.program.dispatch import Dispatch
    from iree_tuner.program.source import Program
    from iree_tuner.targets import Target


def extract(
    program: ProgramName,
    /,
    *,
    device: str = DEFAULT_DEVICE,
    target: str | None = None,
    compiling: CompilerFlags = NO_FLAGS,
    inputs: InputFlags = INPUTS,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """List a program's dispatches: workload, number of calls, and the compiler's configuration.

    Nothing is run, and inputs are only checked. A dispatch that cannot be tuned is listed with the reason.

    Example: `iree-tuner extract model.mlir --json`

    Parameters
    ----------
    device
        Compile for this device. A file that the compiler dumped names its own target, which is the default
        for it.
    target
        Compile for this target instead of a device: `llvm-cpu:znver4`.
    as_json
        Print JSON, one object per dispatch.
    """
    with Workers(1) as workers:
        # The worker starts while this process imports the same: half of the time that the command takes.
        workers.submit(preload, "iree_tuner.program.extract")
        from iree_tuner.cli.output import people, print_json
        from iree_tuner.device.program_request import sized_as_given
        from iree_tuner.errors import TunerError
        from iree_tuner.program.extract import extract as extract_dispatches

        source = inputs.sized(opened(program))
        if inputs.input or inputs.parameters:
            source, _ = sized_as_given(source, inputs.request(source, compiling.flags))
        chosen = compiling.on(chosen_target(source, target, device))
        found = extract_dispatches(source, chosen, workers, inputs.functions)
    for diagnostic in found.diagnostics:
        people.print(str(diagnostic), style="yellow")
    if not found.dispatches:
        raise TunerError("the program has no dispatches", location=source.name)
    if as_json:
        for dispatch in found.dispatches:
            print_json(dispatch_to_json(dispatch))
    else:
        from iree_tuner.cli.output import answers
        from iree_tuner.cli.table import print_table

        print_table(answers, _table(found.dispatches), spare=("compiler's choice", "family"))
    return 0


def chosen_target(program: Program, target: str | None, device: str) -> Target:
    """Choose the target of a command that only compiles.

    Raises UsageError, TunerError for a missing device.
    """
    from iree_tuner.program.dump_body import own_target
    from iree_tuner.targets import parse_target, target_for_device

    if target:
        return parse_target(target)
    own = own_target(program.data, program.name) if device == DEFAULT_DEVICE else None
    return own or target_for_device(device)


def dispatch_to_json(dispatch: Dispatch) -> dict[str, object]:
    """Convert a dispatch to JSON-ready data."""
    from iree_tuner.ops.workload import to_json

    return {
        "dispatch": dispatch.name, "calls": dispatch.calls.count, "in_loop": dispatch.calls.in_loop,
        "tunable": dispatch.tunable, "reason": dispatch.reason,
        "workload": to_json(dispatch.workload) if dispatch.workload else None,
        "default": dispatch.default, "pipeline": dispatch.pipeline, "limits": asdict(dispatch.limits),
    }  # fmt: skip


def _table(dispatches: tuple[Dispatch, ...]) -> Table:
    from iree_tuner.cli.table import table

    names = ("dispatch", "calls", "family", "workload", "compiler's choice")
    listed = table(*names, words=(names[0], *names[2:]))
    for dispatch in dispatches:
        workload = dispatch.workload
        calls = f"{dispatch.calls.count}{'+ (loop)' if dispatch.calls.in_loop else ''}"
        choice = dispatch.default.partition("<")[2].removesuffix(">").replace(", ", ",").replace(",v", ", v")
        known = (workload.family, workload.name) if workload else ("-", dispatch.reason)
        listed.add_row(dispatch.name, calls, *known, choice)
    return listed
