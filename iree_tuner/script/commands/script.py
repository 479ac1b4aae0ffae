"""`iree-tuner script`: list, link and inspect codegen scripts in the transform dialect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from iree_tuner.cli.inputs import NO_FLAGS, Knobs, ProgramName, opened, parse_knobs
from iree_tuner.cli.output import Json, answers_to, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import UsageError
from iree_tuner.files import planned_output, write
from iree_tuner.script.build import stages_of
from iree_tuner.script.script import load_script, shipped
from iree_tuner.targets import parse_target
from iree_tuner.tuning.options import CompilerFlags

LIBRARY_FLAG = "--iree-codegen-transform-dialect-library"


app = App(
    name="script",
    help="""List, link and inspect codegen scripts in the transform dialect.

    See docs/codegen-scripts.md. `iree-tuner run`, `bench` and `tune` do not use scripts unless you pass one.

    Example: `iree-tuner script list`
    """,
)


@app.command(name="list")
def list_(*, as_json: Json = False) -> int:
    """List the scripts that ship, with their purpose and their knobs' defaults.

    Example: `iree-tuner script list`

    Parameters
    ----------
    as_json
        Print JSON, one object per script.
    """
    listed = table("script", "purpose", "knobs", words=("script", "purpose", "knobs"))
    for path in shipped():
        script = load_script(path)
        if as_json:
            knobs = [
                {"name": each.name, "default": each.default, "values": list(each.values)}
                for each in script.knobs
            ]
            print_json({"script": script.name, "path": script.path, "for": script.summary, "knobs": knobs})
        defaults = " ".join(f"{knob.name}={knob.default}" for knob in script.knobs)
        listed.add_row(script.name, script.summary, defaults)
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
    """Write a script together with all scripts that it includes, for iree-compile.

    Example: `iree-tuner script link cpu_matmul --knob rows=8 -o linked.mlir`

    Parameters
    ----------
    script
        A file, or the name of a script that ships.
    output
        Write the linked script to this file, .mlir.
    knob
        Set a knob: rows=8. Repeatable.
    """
    chosen = load_script(script).chosen(parse_knobs(knob))
    write(planned_output(output, ".mlir"), chosen.text())
    people.print(f"{output}: iree-compile ... {LIBRARY_FLAG}={output}", soft_wrap=True)
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
    compiling: CompilerFlags = NO_FLAGS,
    as_json: Json = False,
) -> int:
    """Print the IR of a script's functions before its first stage and after each stage.

    Tests can check the output with FileCheck.

    Example: `iree-tuner script stages programs/matmuls/matmul.mlir cpu_matmul --stage vectorize`

    Parameters
    ----------
    script
        A file, or the name of a script that ships.
    knob
        Set a knob: rows=8. Repeatable.
    stage
        Print only this stage: `input`, or the name of an included sequence. Repeatable. Default: all stages.
    target
        Compile for this target.
    as_json
        Print JSON, one object per stage.
    """
    source, chosen = opened(program), load_script(script).chosen(parse_knobs(knob))
    with Workers(1) as workers, people.status("applying the script"):
        found = stages_of(source, compiling.on(parse_target(target)), chosen, workers)
    known = dict.fromkeys(each.name for each in found)
    for name in stage:
        if name not in known:
            raise UsageError(f"there is no stage '{name}'", hint=f"one of: {', '.join(known)}")
    for each in found:
        if stage and each.name not in stage:
            continue
        if as_json:
            print_json({"function": each.function, "stage": each.name, "ir": each.text})
        else:
            print(f"// {each.function}, {each.name}\n{each.text}\n")
    return 0
