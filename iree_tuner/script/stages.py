"""A script stage by stage: a function after each sequence that is included."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.compiler.context import symbol_of, walk
from iree_tuner.compiler.session import CompilerSession
from iree_tuner.compiler.worker import Workers, session_for
from iree_tuner.errors import TunerError
from iree_tuner.program.phases import select_target
from iree_tuner.program.source import Program
from iree_tuner.script.diagnose import apply, explain, functions_of, prepare_for_scripts
from iree_tuner.script.script import ENTRY, Script, symbols_in
from iree_tuner.targets import Target

STAGES = "iree_tuner.stages"
"""Marks the sequence whose `transform.include` ops are the stages; the entry, where none is marked."""

_INCLUDE = "transform.include"
_YIELD = "transform.yield"


@dataclass(frozen=True)
class ScriptStage:
    """A function after a stage."""

    function: str
    name: str  # of the sequence that was applied last; `input` before the first
    text: str  # its IR


def stages_of(program: Program, target: Target, script: Script, workers: Workers) -> tuple[ScriptStage, ...]:
    """The functions that a script is for, at first and after each of its stages.

    Raises:
        CompileError: the compiler refuses the program.
        TunerError: the script fails, with the line; or is for none of the dispatches.
        WorkerError: the compiler died or did not come back.
    """
    error = explain(program, target, script, workers)
    if error is not None:
        raise error
    found = workers.call(_stages_here, program.data, program.name, target, script.data)
    if not found:
        raise TunerError(f"the script applies to no dispatch of {program.name}", location=script.path)
    return found


def _stages_here(data: bytes, name: str, target: Target, script: bytes) -> tuple[ScriptStage, ...]:
    session = session_for(target.flags)
    module = session.parse(data, name)
    select_target(module, target)
    session.run(module, stop="executable-sources")
    prepare_for_scripts(module, session, target)
    found: list[ScriptStage] = []
    for number in range(len(functions_of(module))):
        found += _stages_of(module, number, session, script)
    return tuple(found)


def _stages_of(program: ir.Module, number: int, session: CompilerSession, script: bytes) -> list[ScriptStage]:
    """The stages of one function; empty if the script does not change it."""
    whole = session.parse(script)
    names = [symbols_in(op)[0] for op in _includes(whole)]
    before = str(functions_of(program)[number])
    function = symbol_of(functions_of(program)[number])
    found = [ScriptStage(function, "input", before)]
    for count, name in enumerate(names, 1):
        copy = session.parse(program.operation.get_asm(enable_debug_info=True))
        function_op = functions_of(copy)[number]
        apply(function_op, _cut(session.parse(script), count))
        found.append(ScriptStage(function, name, str(functions_of(copy)[number])))
    return found if found[-1].text != before else []


def _includes(script: ir.Module) -> list[ir.Operation]:
    sequences = [op.operation for op in script.body.operations]
    marked = [op for op in sequences if STAGES in op.attributes]
    chosen = marked[0] if marked else next(op for op in sequences if symbol_of(op) == ENTRY)
    return [op for op in walk(chosen) if op.name == _INCLUDE]


def _cut(script: ir.Module, count: int) -> ir.Module:
    """The script with its first stages only."""
    last = _includes(script)[count - 1]
    ops = [op.operation for op in last.block.operations]
    for op in reversed(ops[ops.index(last) + 1 :]):
        if op.name == _YIELD:
            if len(op.operands):
                raise TunerError("the stages of a sequence that yields cannot be shown")
            continue
        op.erase()
    return script
