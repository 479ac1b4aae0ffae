"""`iree-tuner run`: a program on a device, with a codegen script or without, its results checked."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.table import Table

from iree_tuner.cli.inputs import InputFlags
from iree_tuner.cli.knobs import Knobs, parse_knobs
from iree_tuner.cli.output import people, print_json
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.measure.numerics import Agreement
from iree_tuner.measure.program import Ran, run_program
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device
from iree_tuner.transforms.build import Scripted, compile_with_script
from iree_tuner.transforms.check import agree_alone, reduction_length_of
from iree_tuner.transforms.script import load_script
from iree_tuner.tuning.lab import Lab

_DEFAULTS = InputFlags()


def run(
    program: str,
    /,
    *,
    transform_script: str | None = None,
    knob: Knobs = (),
    compare: Literal["default", "numpy", "none"] = "default",
    device: str = "local-task",
    chip: str = "host",
    inputs: InputFlags = _DEFAULTS,
    save: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Run a program and show its results, compiled as the compiler does or with a codegen script.

    With a script, the results are compared with those of the program without it; exit status 1 where they
    differ.

    Example: `iree-tuner run examples/scripts/matmul.mlir --transform-script cpu_matmul --knob rows=8`

    Parameters
    ----------
    program
        MLIR text or bytecode in any input dialect of the compiler, or an ONNX model.
    transform_script
        A codegen script, a file or the name of one that ships (iree-tuner script list).
    knob
        A value of one of the script's knobs, as rows=8. May be given several times.
    compare
        default: with the program as the compiler makes it; numpy: besides, each dispatch that the script
        lowers with its IR, interpreted by NumPy in double precision, where it is small enough; none.
    device
        Device URI: local-task, local-sync, cuda://0.
    chip
        What to compile for, with options: host, host+data-tiling; a GPU's architecture.
    save
        A folder for the results, result_N.npy.
    as_json
        One JSON object a line on standard output.
    """
    if knob and transform_script is None:
        raise UsageError("--knob is of a script", hint="give --transform-script")
    source, target = inputs.sized(load_program(program)), target_for_device(device, chip)
    script = load_script(transform_script).chosen(parse_knobs(knob)) if transform_script else None
    request = inputs.request(source)
    with ExitStack() as stack:
        folder = save or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="iree_tuner_")))
        _make(folder)
        lab = stack.enter_context(Lab(target, 1))
        status = stack.enter_context(people.status("compiling"))
        lab.start()
        scripted = compile_with_script(source, target, script, lab.compilers) if script else None
        others = script is None or compare != "none"
        default = compile_program(source, target, lab.compilers).data if others else b""
        status.update("running")
        length = reduction_length_of(source, lab) if scripted and default else 1
        ran = run_program(
            scripted.vmfb if scripted else default, folder, device, lab.measurer.workers, request,
            default=default if scripted else b"", reduction_length=length,
        )  # fmt: skip
        alone: Sequence[tuple[str, Agreement]] = ()
        if script is not None and scripted is not None and compare == "numpy":
            status.update("checking dispatches alone")
            alone = agree_alone(source, script, scripted.lowered, lab)
    _report(ran, scripted, alone, as_json, saved=save is not None)
    wrong = [each for each in (ran.agreement, *(found for _, found in alone)) if each and not each.ok]
    return 1 if wrong else 0


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TunerError(f"cannot be made: {error.strerror}", location=str(folder)) from None


def _report(
    ran: Ran, scripted: Scripted | None, alone: Sequence[tuple[str, Agreement]], as_json: bool, *, saved: bool
) -> None:
    table = Table("result", "type", "least", "greatest", "mean", "first values", box=None)
    for number, each in enumerate(ran.outputs):
        kind = "x".join((*map(str, each.shape), each.element_type))
        first = " ".join(f"{value:.6g}" for value in each.first)
        table.add_row(
            str(number), kind, f"{each.least:.6g}", f"{each.greatest:.6g}", f"{each.mean:.6g}", first
        )
        if as_json:
            record = {**asdict(each), "result": number}
            print_json(record if saved else {k: v for k, v in record.items() if k != "path"})
    people.print(f"@{ran.function.replace(', ', ', @')}", markup=False)
    people.print(table, markup=False)
    if scripted is not None:
        left = f", not {', '.join(scripted.others)}" if scripted.others else ""
        people.print(f"lowered by the script: {', '.join(scripted.lowered)}{left}", markup=False)
        if as_json:
            print_json({"lowered": list(scripted.lowered), "others": list(scripted.others)})
    if ran.agreement is not None:
        _tell("the program", "the default", ran.agreement, as_json)
    for name, found in alone:
        _tell(name, "the default and NumPy", found, as_json)


def _tell(what: str, other: str, found: Agreement, as_json: bool) -> None:
    """Whether results agree, by how much, and against what."""
    if as_json:
        print_json({"compared": what, "ok": found.ok, "of_tolerance": found.worst, "message": found.message,
                    "note": found.note})  # fmt: skip
    if found.ok:
        note = f" ({found.note})" if found.note else ""
        line = f"{what} agrees with {other}: {found.worst:.2g} of the tolerance{note}"
        people.print(line, markup=False)
    else:
        people.print(f"{what} does NOT agree with {other}: {found.message}", style="red", markup=False)
