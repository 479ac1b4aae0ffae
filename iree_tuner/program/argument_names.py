"""Names of the arguments of a program's functions: from locations, from the text, and numbers."""

from __future__ import annotations

import re
from pathlib import Path

from iree.compiler import ir

from iree_tuner.program.entries import entry_operations
from iree_tuner.program.source import Program

# IR as text: of names the parser keeps only their place in the text
_SSA_NAME = re.compile(r"%([\w.$-]+)")
_NUMBERED = ("{}", "arg{}", "input{}", "arr_{}")
"""Names that every argument has: MLIR's printer, the compiler's declarations and `numpy.savez` make them."""


def argument_names(program: Program, module: ir.Module, function: str) -> dict[str, int]:
    """The number of each argument of an entry function, by each of its names; those of its own come last.

    JAX names arguments by locations. IREE's importer loses the names of ONNX, so the model is asked for them.
    """
    op = entry_operations(module)[function]
    arguments = list(op.regions[0].blocks[0].arguments)
    found = {form.format(number): number for number in range(len(arguments)) for form in _NUMBERED}
    lines = [] if program.is_bytecode else program.data.decode().splitlines()
    own = [_name(each.location, lines) for each in arguments]
    if Path(program.name).suffix == ".onnx":
        own = _names_of_onnx(program.name)
    return found | {name: number for number, name in enumerate(own) if name}


def _name(location: ir.Location, lines: list[str]) -> str:
    if isinstance(location, ir.NameLoc):
        return location.name_str
    if isinstance(location, ir.FileLineColLoc) and 0 < location.start_line <= len(lines):
        found = _SSA_NAME.match(lines[location.start_line - 1], location.start_col - 1)
        return found[1] if found else ""
    return ""


def _names_of_onnx(path: str) -> list[str]:
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    constant = {each.name for each in graph.initializer}
    return [each.name for each in graph.input if each.name not in constant]
