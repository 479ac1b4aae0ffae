"""A command from outside: `iree-tuner functions`."""

from __future__ import annotations

from iree_tuner.cli.inputs import ProgramName, opened
from iree_tuner.cli.output import Json, answers_to, print_json
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import parse_module


def functions(program: ProgramName, /, *, as_json: Json = False) -> int:
    """List the functions of a program.

    Parameters
    ----------
    as_json
        Print JSON, one object per function.
    """
    source = opened(program)
    for op in parse_module(source.data, new_context(), source.name).body.operations:
        name = op.attributes["sym_name"].value
        answers_to(as_json=as_json).print(name)
        if as_json:
            print_json({"function": name})
    return 0
