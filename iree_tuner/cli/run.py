"""`iree-tuner run`: run a program once."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from cyclopts import Parameter

from iree_tuner.cli.inputs import INPUTS, NO_FLAGS, CompiledName, InputFlags
from iree_tuner.cli.output import Json, answers_to, one_line, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.cli.tuned import AS_IT_IS, TunedFlags
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.files import planned_folder
from iree_tuner.measure.program import Ran, run_program
from iree_tuner.measure.program_worker import Output
from iree_tuner.program.phases import compile_program
from iree_tuner.targets import DEFAULT_DEVICE, Target, target_for_device
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import CompilerFlags
from iree_tuner.tuning.versions import depth_of, widened_of


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunDevice:
    """Where the program is run.

    Attributes
    ----------
    device
        Run on this device: local-task, local-sync, cuda://0.
    chip
        Compile for this chip: host, or a GPU's architecture. Options follow a +: host+data-tiling.
    """

    device: str = DEFAULT_DEVICE
    chip: str = "host"

    def target(self, compiling: CompilerFlags) -> Target:
        """The target to compile for. Raises UsageError and TunerError for a device that cannot be used."""
        return compiling.on(target_for_device(self.device, self.chip))


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunOutputs:
    """The form and the place of the results.

    Attributes
    ----------
    save
        Save the results in this folder, as result_N.npy.
    as_json
        Print JSON, one object per line.
    """

    save: Path | None = None
    as_json: Json = False


DEVICE, OUTPUTS = RunDevice(), RunOutputs()


def run(
    program: CompiledName,
    /,
    *,
    tuned: TunedFlags = AS_IT_IS,
    compare: Literal["default", "none"] = "default",
    on: RunDevice = DEVICE,
    compiling: CompilerFlags = NO_FLAGS,
    inputs: InputFlags = INPUTS,
    outputs: RunOutputs = OUTPUTS,
) -> int:
    """Run a program once, and print its results.

    With a spec, they are compared with those of the program without it. Exit status 1 if they differ, or a
    check in the program fails.

    Example: `iree-tuner run model.mlir --input x.npy --save results`

    Parameters
    ----------
    compare
        Reference for the results with a spec. default: the program without it. none: do not compare.
    """
    target = on.target(compiling)
    source, request = inputs.read(program, compiling.flags, tuned=tuned.given)
    with started(target, outputs) as (lab, folder):
        default, depth, widened = b"", ErrorDepth(), None
        if isinstance(source, bytes):
            vmfb = source
        else:
            with tuned.applied(source, target) as version:
                vmfb = compile_program(*version, lab.compilers).data
            if tuned.given and compare == "default":
                default, depth = compile_program(source, target, lab.compilers).data, depth_of(source, lab)
                widened = partial(widened_of, source, lab)
        ran = run_program(
            vmfb, folder, on.device, lab.measurer.workers, request, default=default, depth=depth,
            widened=widened,
        )  # fmt: skip
    report_results(ran, outputs)
    report_checks(ran, as_json=outputs.as_json)
    if ran.agreement is not None:
        report_agreement("the tuned program", "the default", ran.agreement, outputs.as_json)
    return 1 if any(ran.checks) or (ran.agreement is not None and not ran.agreement.ok) else 0


@contextmanager
def started(target: Target, outputs: RunOutputs) -> Generator[tuple[Lab, Path]]:
    """A lab whose workers start, and the folder for the results."""
    with ExitStack() as stack:
        folder = outputs.save or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="iree_tuner_")))
        planned_folder(folder)
        lab = stack.enter_context(Lab(target, 1))
        stack.enter_context(people.status("compiling and running"))
        lab.start()
        yield lab, folder


def report_results(ran: Ran, outputs: RunOutputs) -> None:
    """Print a program's results."""
    names = ("result", "type", "minimum", "maximum", "mean", "first values")
    results = table(*names, words=("type", "first values"))
    for number, each in enumerate(ran.outputs):
        kind = "x".join((*map(str, each.shape), each.element_type))
        figures = (f"{value:.6g}" for value in (each.least, each.greatest, each.mean))
        results.add_row(str(number), kind, *figures, " ".join(f"{value:.6g}" for value in each.first))
        if outputs.as_json:
            print_json(_to_json(each, number, saved=outputs.save is not None))
    console = answers_to(as_json=outputs.as_json)
    console.print(one_line(f"@{ran.function.replace(', ', ', @')}"))
    print_table(console, results)


def report_checks(ran: Ran, *, as_json: bool) -> None:
    """Print what the program overwrites, how many of its `check.expect_*` ops pass, and why others fail."""
    if ran.overwrites:
        people.print(f"note: {ran.overwrites}")
    if not ran.checks:
        return
    failed = [why for why in ran.checks if why]
    if as_json:
        print_json({"checks": len(ran.checks), "failed": failed})
    people.print(f"{len(ran.checks) - len(failed)} of {len(ran.checks)} checks of the program pass")
    for why in failed:
        people.print(f"check fails in {why}", style="red")


def report_agreement(what: str, other: str, found: Agreement, as_json: bool) -> None:
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


def _to_json(output: Output, number: int, *, saved: bool) -> dict[str, object]:
    """Convert a result to JSON-ready data. JSON has no infinities and no NaN: they become null."""
    figures = {"least": output.least, "greatest": output.greatest, "mean": output.mean}
    record: dict[str, object] = {"result": number, "shape": list(output.shape), "type": output.element_type}
    record |= {name: value if math.isfinite(value) else None for name, value in figures.items()}
    record["first"] = [value if math.isfinite(value) else None for value in output.first]
    return record | ({"path": output.path} if saved else {})
