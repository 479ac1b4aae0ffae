"""Lowering configs that a program carries, as data that comes along to its dispatches.

A program carries them as attributes on its ops: `compilation_info`, which a person wrote, or
`lowering_config` on an op and `translation_info` on its function, which the compiler chose. The compiler
follows them. If they are wrong, it may refuse the program, crash, or never end. So that they can be judged
first, each is noted in one more attribute of its op. The note stays with the op on its way into a dispatch,
where it is read and the configuration is taken off.
"""

from __future__ import annotations

from typing import cast

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import new_context, ops_around, ops_in, to_bytecode, walk
from iree_tuner.compiler.session import parse_module
from iree_tuner.program.bindings import OP_TAG
from iree_tuner.program.dispatch import Carried
from iree_tuner.program.harness import is_benchmark
from iree_tuner.program.source import Program, ProgramSource, called, read_program

NOTE = "iree_tuner.carried"
"""On an op: a dictionary of its configuration and its location."""

IN_MEMORY = "iree_codegen.tuning_spec_mlirbc"
"""On a program: a tuning spec as bytecode, which the compiler applies."""

COMPILATION_INFO = "compilation_info"
LOWERING_CONFIG = "lowering_config"
TRANSLATION_INFO = "translation_info"
DECOMPOSITION_CONFIG = "decomposition_config"
CONFIGURATIONS = (COMPILATION_INFO, LOWERING_CONFIG, DECOMPOSITION_CONFIG)
_EXECUTABLE = "hal.executable"
_DUMPED = (_EXECUTABLE, "util.global", "util.initializer")


def carrying(source: ProgramSource) -> tuple[Program, tuple[Carried, ...]]:
    """A program with a note on each op that carries a configuration, and these configurations in order.

    For a program that the compiler has brought to its executables, those of the executables.

    Raises the errors of `load_program`, and CompileError for text that is not MLIR.
    """
    program = read_program(source)
    module = parse_module(program.data, new_context(), program.name)
    with module.context, ir.Location.unknown():
        every = [
            op for op in walk(module.operation) if any(name in op.attributes for name in CONFIGURATIONS[:2])
        ]
        found = tuple(_note(op, program.name) for op in every)
        _keep_executables(module)
        return called(Program(program.name, to_bytecode(module))), found


def _keep_executables(module: ir.Module) -> None:
    """Drop calls of the executables of a program that has reached them; dumps stay unchanged."""
    operations = ops_in(module.body)
    others = [op for op in operations if op.name not in _DUMPED and not is_benchmark(op)]
    if others and any(op.name == _EXECUTABLE for op in operations):
        for op in operations:
            if op.name != _EXECUTABLE:
                op.erase()


def take_off(module: ir.Module) -> None:
    """Take configurations off the ops of a program that has notes of them."""
    for op in walk(module.operation):
        for name in (*CONFIGURATIONS, TRANSLATION_INFO):
            if name in op.attributes:
                del op.attributes[name]


def carried_in(function: ir.Operation) -> tuple[Carried, ...]:
    """The configurations that are noted in a dispatch, with their ops' labels; notes are erased."""
    found: list[Carried] = []
    for op in walk(function):
        if NOTE not in op.attributes:
            continue
        values = {each.name: ir.StringAttr(each.attr).value for each in ir.DictAttr(op.attributes[NOTE])}
        label = ir.StringAttr(op.attributes[OP_TAG]).value if OP_TAG in op.attributes else ""
        found.append(Carried(**values, label=label))
        del op.attributes[NOTE]
    return tuple(found)


def _note(op: ir.Operation, name: str) -> Carried:
    attributes = op.attributes
    lowering = str(attributes[LOWERING_CONFIG]) if LOWERING_CONFIG in attributes else ""
    around = (each for each in ops_around(op) if TRANSLATION_INFO in each.attributes)
    translation = next((str(each.attributes[TRANSLATION_INFO]) for each in around), "")
    if COMPILATION_INFO in attributes:
        info = attributes[COMPILATION_INFO]
        if isinstance(info, iree_codegen.CompilationInfoAttr):
            lowering, translation = str(info.lowering_config), str(info.translation_info)
    decomposition = str(attributes[DECOMPOSITION_CONFIG]) if DECOMPOSITION_CONFIG in attributes else ""
    found = Carried(op.name, place_of(op, name), lowering, translation, decomposition)
    entries = {key: value for key, value in vars(found).items() if value}
    op.attributes[NOTE] = ir.DictAttr.get({key: ir.StringAttr.get(text) for key, text in entries.items()})
    return found


def place_of(op: ir.Operation, name: str) -> str:
    """`file:line:column` of an op. The parser's name of a program from memory is `-`."""
    found = _first_place(op.location)
    if found is None:
        return name
    return f"{name if found.filename == '-' else found.filename}:{found.start_line}:{found.start_col}"


def _first_place(location: ir.Location) -> ir.FileLineColLoc | None:
    """The first part of a location that is in a file."""
    if isinstance(location, ir.FileLineColLoc):
        return location
    inner: list[ir.Location] = []
    if isinstance(location, ir.FusedLoc):
        inner = cast("list[ir.Location]", list(location.locations))
    elif isinstance(location, ir.NameLoc):
        inner = [location.child_loc]
    elif isinstance(location, ir.CallSiteLoc):
        inner = [location.callee, location.caller]
    return next(filter(None, map(_first_place, inner)), None)
