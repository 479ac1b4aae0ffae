"""`iree-tuner run`: run a program once, with or without a codegen script, and check its results."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from iree_tuner.cli.inputs import INPUTS, NO_FLAGS, NO_SCRIPT, InputFlags, ProgramName, ScriptFlags, opened
from iree_tuner.cli.output import Json, answers_to, one_line, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.files import planned_folder
from iree_tuner.measure.program import Ran, run_program
from iree_tuner.measure.program_worker import Output
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.script.build import Scripted, agree_alone, compile_with_script, depth_of
from iree_tuner.script.script import Script
from iree_tuner.targets import DEFAULT_DEVICE, target_for_device
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import CompilerFlags
from iree_tuner.tuning.versions import widened_of

Compare = Literal["default", "numpy", "none"]


def run(
    program: ProgramName,
    /,
    *,
    scripting: ScriptFlags = NO_SCRIPT,
    compare: Compare = "default",
    device: str = DEFAULT_DEVICE,
    chip: str = "host",
    compiling: CompilerFlags = NO_FLAGS,
    inputs: InputFlags = INPUTS,
    save: Path | None = None,
    as_json: Json = False,
) -> int:
    """Run a program once, print its results, and check them against a reference.

    With a codegen script, the reference is the same program without the script. Exit status 1 if the results
    differ.

    Example: `iree-tuner run model.mlir --input x.npy --save results`

    Example: `iree-tuner run programs/matmuls/matmul.mlir --transform-script cpu_matmul --knob rows=8`

    Parameters
    ----------
    compare
        Reference for a script's results. default: the program without the script. numpy: also interpret
        small dispatches in NumPy with double precision. none: do not compare.
    device
        Run on this device: local-task, local-sync, cuda://0.
    chip
        Compile for this chip: host, or a GPU's architecture. Options follow a +: host+data-tiling.
    save
        Save the results in this folder, as result_N.npy.
    as_json
        Print JSON, one object per line.
    """
    source, target = inputs.sized(opened(program)), compiling.on(target_for_device(device, chip))
    script, request = scripting.load(), inputs.request(source, compiling.flags)
    with ExitStack() as stack:
        folder = save or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="iree_tuner_")))
        planned_folder(folder)
        lab = stack.enter_context(Lab(target, 1))
        stack.enter_context(people.status("compiling and running"))
        lab.start()
        if script is None:
            vmfb = compile_program(source, target, lab.compilers).data
            ran = run_program(vmfb, folder, device, lab.measurer.workers, request)
            found = _Found(ran)
        else:
            found = _with_script(source, script, compare, folder, lab, request)
    _report(found, as_json, saved=save is not None)
    return 0 if found.ok else 1


@dataclass(frozen=True)
class _Found:
    """The results of a run and of their comparison."""

    ran: Ran
    scripted: Scripted | None = None
    alone: tuple[tuple[str, Agreement], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all results agree, and the program's own checks pass."""
        every = [self.ran.agreement, *(found for _, found in self.alone)]
        return not any(self.ran.checks) and all(each.ok for each in every if each is not None)


def _with_script(
    source: Program, script: Script, compare: Compare, folder: Path, lab: Lab, request: ProgramRun
) -> _Found:
    scripted = compile_with_script(source, lab.target, script, lab.compilers)
    default = b"" if compare == "none" else compile_program(source, lab.target, lab.compilers).data
    depth = depth_of(source, lab) if default else ErrorDepth()
    ran = run_program(
        scripted.vmfb, folder, lab.measurer.device, lab.measurer.workers, request,
        default=default, depth=depth, widened=partial(widened_of, source, lab),
    )  # fmt: skip
    alone = agree_alone(source, script, scripted.lowered, lab) if compare == "numpy" else []
    return _Found(ran, scripted, tuple(alone))


def _report(found: _Found, as_json: bool, *, saved: bool) -> None:
    names = ("result", "type", "minimum", "maximum", "mean", "first values")
    results = table(*names, words=("type", "first values"))
    for number, each in enumerate(found.ran.outputs):
        kind = "x".join((*map(str, each.shape), each.element_type))
        figures = (f"{value:.6g}" for value in (each.least, each.greatest, each.mean))
        results.add_row(str(number), kind, *figures, " ".join(f"{value:.6g}" for value in each.first))
        if as_json:
            print_json(_to_json(each, number, saved))
    console = answers_to(as_json=as_json)
    console.print(one_line(f"@{found.ran.function.replace(', ', ', @')}"))
    print_table(console, results)
    if found.scripted is not None:
        lowered, others = found.scripted.lowered, found.scripted.others
        left = f"; not lowered by the script: {', '.join(others)}" if others else ""
        people.print(f"lowered by the script: {', '.join(lowered)}{left}")
        if as_json:
            print_json({"lowered": list(lowered), "others": list(others)})
    if found.ran.overwrites:
        people.print(f"note: {found.ran.overwrites}")
    if found.ran.checks:
        _tell_checks(found.ran.checks, as_json)
    if found.ran.agreement is not None:
        _tell("the program", "the default", found.ran.agreement, as_json)
    for name, agreement in found.alone:
        _tell(name, "the default and NumPy", agreement, as_json)


def _to_json(output: Output, number: int, saved: bool) -> dict[str, object]:
    """Convert a result to JSON-ready data. JSON has no infinities and no NaN: they become null."""
    figures = {"least": output.least, "greatest": output.greatest, "mean": output.mean}
    record: dict[str, object] = {"result": number, "shape": list(output.shape), "type": output.element_type}
    record |= {name: value if math.isfinite(value) else None for name, value in figures.items()}
    record["first"] = [value if math.isfinite(value) else None for value in output.first]
    return record | ({"path": output.path} if saved else {})


def _tell_checks(checks: Sequence[str], as_json: bool) -> None:
    """Print how many of the program's `check.expect_*` ops pass, and why others fail."""
    failed = [why for why in checks if why]
    if as_json:
        print_json({"checks": len(checks), "failed": failed})
    people.print(f"{len(checks) - len(failed)} of {len(checks)} checks of the program pass")
    for why in failed:
        people.print(f"check fails in {why}", style="red")


def _tell(what: str, other: str, found: Agreement, as_json: bool) -> None:
    """Print whether the results agree with a reference, and by how much they differ."""
    if as_json:
        worst = found.worst if math.isfinite(found.worst) else None
        record = {"compared": what, "ok": found.ok, "of_tolerance": worst}
        print_json({**record, "message": found.message, "note": found.note})
    if found.ok:
        note = f" ({found.note})" if found.note else ""
        line = f"{what} agrees with {other}: largest difference is {found.worst:.2g} of the tolerance{note}"
        people.print(line)
    else:
        people.print(f"{what} does NOT agree with {other}: {found.message}", style="red")
