"""`iree-tuner run` with a codegen script, whose results are compared with those without it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from cyclopts import Parameter

from iree_tuner.cli import run as core
from iree_tuner.cli.inputs import INPUTS, NO_FLAGS, CompiledName, InputFlags, Knobs, opened, parse_knobs
from iree_tuner.cli.output import people, print_json
from iree_tuner.cli.tuned import AS_IT_IS, TunedFlags
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import UsageError
from iree_tuner.measure.program import Ran, run_program
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.script.build import Scripted, agree_alone, compile_with_script
from iree_tuner.script.script import Script, load_script
from iree_tuner.tuning.lab import Lab
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
    with core.started(target, outputs) as (lab, folder):
        found = _with_script(source, script, compare, folder, lab, request)
    core.report_results(found.ran, outputs)
    _report(found, as_json=outputs.as_json)
    return 0 if found.ok else 1


@dataclass(frozen=True)
class _Found:
    """The results of a run and of their comparison."""

    ran: Ran
    scripted: Scripted
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


def _report(found: _Found, *, as_json: bool) -> None:
    lowered, others = found.scripted.lowered, found.scripted.others
    left = f"; not lowered by the script: {', '.join(others)}" if others else ""
    people.print(f"lowered by the script: {', '.join(lowered)}{left}")
    if as_json:
        print_json({"lowered": list(lowered), "others": list(others)})
    core.report_checks(found.ran, as_json=as_json)
    if found.ran.agreement is not None:
        core.report_agreement("the program", "the default", found.ran.agreement, as_json)
    for name, agreement in found.alone:
        core.report_agreement(name, "the default and NumPy", agreement, as_json)
