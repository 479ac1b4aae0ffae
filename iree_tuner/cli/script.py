"""`iree-tuner script`: codegen scripts in the transform dialect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from iree_tuner.cli.inputs import opened
from iree_tuner.cli.knobs import Knobs, parse_knobs
from iree_tuner.cli.output import answers_to, people, print_json
from iree_tuner.cli.program_name import ProgramName
from iree_tuner.cli.table import print_table, table
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import UsageError
from iree_tuner.files import planned_output, write
from iree_tuner.targets import parse_target
from iree_tuner.transforms.script import Script, load_script, shipped
from iree_tuner.transforms.stages import stages_of
from iree_tuner.tuning.compiler_flags import CompilerFlags

LIBRARY_FLAG = "--iree-codegen-transform-dialect-library"

_NO_FLAGS = CompilerFlags()

app = App(name="script", help="Codegen scripts in the transform dialect (docs/transforms.md).")


@app.command(name="list")
def list_(*, as_json: Annotated[bool, Parameter(name="--json", negative="")] = False) -> int:
    """List the scripts that ship: what they are for, and their knobs.

    Example: `iree-tuner script list`

    Parameters
    ----------
    as_json
        One JSON object a script on standard output.
    """
    listed = table("script", "for", "knobs", words=("script", "for", "knobs"))
    for path in shipped():
        script = load_script(path)
        if as_json:
            print_json(_to_json(script))
        knobs = " ".join(f"{knob.name}={knob.default}" for knob in script.knobs)
        listed.add_row(script.name, script.summary, knobs)
    print_table(answers_to(as_json=as_json), listed)
    return 0


@app.command
def link(
    script: str,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    knob: Knobs = (),
) -> int:
    """Write a script with all that it includes, for plain iree-compile.

    Example: `iree-tuner script link cpu_matmul --knob rows=8 -o linked.mlir`

    Parameters
    ----------
    script
        A file, or the name of a script that ships.
    output
        The linked script, .mlir.
    knob
        A value of a knob, as rows=8. May be given several times.
    """
    chosen = load_script(script).chosen(parse_knobs(knob))
    write(planned_output(output, ".mlir"), chosen.text())
    people.print(f"{output}: iree-compile ... {LIBRARY_FLAG}={output}", soft_wrap=True, markup=False)
    return 0


@app.command
def stages(
    program: ProgramName,
    script: str,
    /,
    *,
    knob: Knobs = (),
    stage: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    target: str = "llvm-cpu:host",
    compiling: CompilerFlags = _NO_FLAGS,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Print the IR of the functions that a script lowers, at first and after each stage, for FileCheck too.

    Example: `iree-tuner script stages examples/scripts/matmul.mlir cpu_matmul --stage vectorize`

    Parameters
    ----------
    script
        A file, or the name of a script that ships.
    knob
        A value of a knob, as rows=8. May be given several times.
    stage
        Only this stage: the name of a sequence that is included, or input. May be given several times.
    target
        What to compile for.
    as_json
        One JSON object a stage.
    """
    source, chosen = opened(program), load_script(script).chosen(parse_knobs(knob))
    with Workers(1) as workers, people.status("applying the script"):
        found = stages_of(source, compiling.on(parse_target(target)), chosen, workers)
    known = dict.fromkeys(each.name for each in found)
    for name in stage:
        if name not in known:
            raise UsageError(f"there is no stage '{name}'", hint=f"there are: {', '.join(known)}")
    for each in found:
        if stage and each.name not in stage:
            continue
        if as_json:
            print_json({"function": each.function, "stage": each.name, "ir": each.text})
        else:
            print(f"// {each.function}, {each.name}\n{each.text}\n")
    return 0


def _to_json(script: Script) -> dict[str, object]:
    knobs = [
        {"name": each.name, "default": each.default, "values": list(each.values)} for each in script.knobs
    ]
    return {"script": script.name, "path": script.path, "for": script.summary, "knobs": knobs}
