"""`iree-tuner run` with a codegen script, whose results are compared with those without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from cyclopts import Parameter

from iree_tuner.cli import run as core
from iree_tuner.cli.inputs import INPUTS, NO_FLAGS, CompiledName, InputFlags, Knobs, opened, parse_knobs
from iree_tuner.cli.output import people, print_json
from iree_tuner.cli.tuned import AS_IT_IS, TunedFlags
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import UsageError
from iree_tuner.measure.program import Ran, run_program
from iree_tuner.program.phases import compile_program
from iree_tuner.script.build import Scripted, agree_alone, compile_with_script
from iree_tuner.script.script import Script, load_script
from iree_tuner.tuning.options import CompilerFlags
from iree_tuner.tuning.versions import depth_of, widened_of


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScriptFlags:
    """The codegen script to use.

    Attributes
    ----------
    transform_script
        Use this codegen script: a file, or the name of one that ships (iree-tuner script list).
    knob
        Set a knob of the script: rows=8. Repeatable.
    """

    transform_script: str | None = None
    knob: Knobs = ()

    def load(self) -> Script | None:
        """Load the script and set its knobs. None without a script. Raises what `load_script` raises."""
        if self.transform_script is None:
            if self.knob:
                raise UsageError("--knob requires --transform-script")
            return None
        return load_script(self.transform_script).chosen(parse_knobs(self.knob))


NO_SCRIPT = ScriptFlags()

Compare = Literal["default", "numpy", "none"]


def run(
    program: CompiledName,
    /,
    *,
    scripting: ScriptFlags = NO_SCRIPT,
    tuned: TunedFlags = AS_IT_IS,
    compare: Compare = "default",
    on: core.RunDevice = core.DEVICE,
    compiling: CompilerFlags = NO_FLAGS,
    inputs: InputFlags = INPUTS,
    outputs: core.RunOutputs = core.OUTPUTS,
) -> int:
    """Run a program once, print its results, and check them against a reference.

    With a spec or a codegen script, the reference is the same program without it. Exit status 1 if the
    results differ.

    Example: `iree-tuner run model.mlir --input x.npy --save results`

    Example: `iree-tuner run programs/matmuls/matmul.mlir --transform-script cpu_matmul --knob rows=8`

    Parameters
    ----------
    compare
        Reference for the results with a spec or a script. default: the program without it. numpy: also
        interpret small dispatches of a script in NumPy. none: do not compare.
    """
    script = scripting.load()
    if script is not None and tuned.given:
        raise UsageError("--transform-script excludes --spec and --kernels")
    if script is None:
        if compare == "numpy":
            raise UsageError("--compare numpy requires --transform-script")
        return core.run(
            program,
            tuned=tuned,
            compare=compare,
            on=on,
            compiling=compiling,
            inputs=inputs,
            outputs=outputs,
        )
    source, target = inputs.sized(opened(program)), on.target(compiling)
    request = inputs.request(source, compiling.flags)
    default, depth = b"", ErrorDepth()
    with core.started(target, outputs) as (lab, folder):
        scripted = compile_with_script(source, target, script, lab.compilers)
        if compare != "none":
            default, depth = compile_program(source, target, lab.compilers).data, depth_of(source, lab)
        ran = run_program(
            scripted.vmfb, folder, on.device, lab.measurer.workers, request, default=default, depth=depth,
            widened=partial(widened_of, source, lab),
        )  # fmt: skip
        alone = agree_alone(source, script, scripted.lowered, lab) if compare == "numpy" else []
    core.report_results(ran, outputs)
    return 0 if _report(scripted, ran, alone, as_json=outputs.as_json) else 1


def _report(scripted: Scripted, ran: Ran, alone: Sequence[tuple[str, Agreement]], *, as_json: bool) -> bool:
    """Print what the script lowers and how the results compare. Returns whether all is right."""
    lowered, others = ", ".join(scripted.lowered), ", ".join(scripted.others)
    people.print(f"lowered by the script: {lowered}{f'; not lowered by the script: {others}' * bool(others)}")
    if as_json:
        print_json({"lowered": list(scripted.lowered), "others": list(scripted.others)})
    core.report_checks(ran, as_json=as_json)
    compared = [("the program", "the default", ran.agreement)] if ran.agreement is not None else []
    compared += [(name, "the default and NumPy", found) for name, found in alone]
    for each in compared:
        core.report_agreement(*each, as_json)
    return not any(ran.checks) and all(found.ok for *_, found in compared)
