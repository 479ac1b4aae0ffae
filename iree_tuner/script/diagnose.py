"""Scripts applied to the functions of dispatches, as the compiler does, outside of its pipeline.

Where a script fails, and why: the compiler reports the payload, not always the script, or dies. And a script
stage by stage: a function after each sequence that is included.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import transform
from iree.compiler.dialects.transform import interpreter

from iree_tuner.compiler.context import new_context, symbol_of, walk
from iree_tuner.compiler.session import CompilerSession
from iree_tuner.compiler.task import exit_text
from iree_tuner.compiler.worker import Crash, Ok, Workers, session_for
from iree_tuner.errors import TunerError
from iree_tuner.program.extract import prepare
from iree_tuner.program.harness import run_passes
from iree_tuner.program.phases import select_target
from iree_tuner.program.source import Program
from iree_tuner.script.script import ENTRY, Script, place_of, symbols_in
from iree_tuner.targets import Target

# The compiler makes it when it begins to configure executables; scripts set the number of workgroups in it.
_DISPATCH_CONFIG = (
    "builtin.module(hal.executable(hal.executable.variant(iree-codegen-create-dispatch-config)))"
)


def _prepared(data: bytes, name: str, target: Target) -> tuple[CompilerSession, ir.Module]:
    """A program at the point where the compiler applies scripts."""
    session = session_for(target.flags)
    module = session.parse(data, name)
    select_target(module, target)
    session.run(module, stop="executable-sources")
    run_passes(module, session, _DISPATCH_CONFIG)
    prepare(module, target.preparation, session)
    return session, module


def functions_of(module: ir.Module) -> list[ir.Operation]:
    """The functions of a program's executables."""
    inside = [op for op in walk(module.operation) if op.name == "hal.executable.variant"]
    return [op for variant in inside for op in walk(variant) if op.name == "func.func"]


def apply(function: ir.Operation, script: ir.Module) -> str:
    """Apply a script to a function, in place. Returns the interpreter's error, or an empty text."""
    (entry,) = [op for op in script.body.operations if symbol_of(op.operation) == ENTRY]
    try:
        interpreter.apply_named_sequence(function, entry.operation, script.operation)
    except ValueError as error:
        return str(error)
    return ""


_MARK = "iree_tuner, op "
_PRINTED = re.compile(re.escape(_MARK) + r"(\d+)[^\n]*\n(\"?)")
_MATCHING = ("transform.collect_matching", "transform.foreach_match")
_ENDS = ("transform.yield", "transform.match.structured.yield")
_LOCATED = re.compile(r"^(?:Diagnostic message )?at loc\((.*?)\): (.*)$", re.MULTILINE)
_TIMEOUT_S = 300.0


def explain(program: Program, target: Target, script: Script, workers: Workers) -> TunerError | None:
    """The first failure of a linked script on a program, with the script's line; None if it does not fail.

    The compiler takes the program without the script. The script is applied again in a worker.
    """
    # IR as text: scripts are kept as bytecode
    marked = ir.Module.parse(script.data, new_context())
    ops = [(place_of(op), op.name) for op in _mark(marked)]
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        path = Path(folder) / "printed"
        future = workers.submit(
            _apply_here, program.data, program.name, target, script.data, str(path), timeout_s=_TIMEOUT_S
        )
        match workers.end(future):
            case Ok(said):
                pass
            case Crash(exit_code):
                said = f"the compiler {exit_text(exit_code)}"
            case end:
                said = str(end)
        printed = path.read_text(errors="replace") if path.exists() else ""
    reached = [(ops[int(number)], generic) for number, generic in _PRINTED.findall(printed)]
    for (before, _), (_, generic) in itertools.pairwise(reached):
        if generic:  # so invalid IR is printed; the op before has made it that
            return _told("leaves invalid IR", *before, program.name)
    if not said:
        return None
    return _told(said, *reached[-1][0], program.name) if reached else TunerError(said, location=script.path)


def _told(said: str, where: str, name: str, program: str) -> TunerError:
    """The interpreter's message, at the line of the op that it had reached."""
    # IR as text: IR that a diagnostic's message quotes
    short = [
        (place, re.split(r":? %\w+ = |: \n", text, maxsplit=1)[0]) for place, text in _LOCATED.findall(said)
    ]
    found = [(_readable(place, program), text) for place, text in short]
    found = found or [("", said.strip().splitlines()[-1])]
    told = [f"{text} ({place})" if place not in ("", where) else text for place, text in found
            if not text.startswith("see current")]  # fmt: skip
    return TunerError(f"{name}: {'; '.join(dict.fromkeys(told))}", location=where)


def _readable(place: str, program: str) -> str:
    """`file:line:column` of a printed location; empty for one that is not in a file."""
    found = re.match(r'(?:callsite\()?"?(.+?)"?:(\d+):(\d+)', place)
    if found is None:
        return ""
    return f"{program if found[1] == '-' else found[1]}:{found[2]}:{found[3]}"


def _apply_here(data: bytes, name: str, target: Target, script: bytes, path: str) -> str:
    """The interpreter's message about the first function on which a script fails; empty if none does.

    The numbers of the ops that it reaches are written to a file, in case this process dies.
    """
    session, module = _prepared(data, name, target)
    for function in functions_of(module):
        marked = session.parse(script, "script")
        _mark(marked)
        with _output_to(path):
            said = apply(function, marked)
        if said:
            return said
    return ""


def _mark(script: ir.Module) -> list[ir.Operation]:
    """Print a number before each op of the sequences, except in matchers, which may only match."""
    matchers = {name for op in walk(script.operation) if op.name in _MATCHING for name in symbols_in(op)}
    ops: list[ir.Operation] = []
    for sequence in list(script.body.operations):
        if symbol_of(sequence.operation) in matchers:
            continue
        for op in walk(sequence.operation):
            if (
                op == sequence.operation
                or op.name in _ENDS
                or op.name.startswith("transform.apply_patterns.")
            ):
                continue
            with ir.InsertionPoint(op), ir.Location.unknown(op.context):
                transform.PrintOp(name=f"{_MARK}{len(ops)}", skip_regions=True)
            ops.append(op)
    return ops


@contextmanager
def _output_to(path: str) -> Generator[None]:
    """Redirect the compiler's output and errors to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    saved = [(number, os.dup(number)) for number in (1, 2)]
    for number, _ in saved:
        os.dup2(file, number)
    os.close(file)
    try:
        yield
    finally:
        for number, copy in saved:
            os.dup2(copy, number)
            os.close(copy)


STAGES = "iree_tuner.stages"
"""Marks the sequence whose `transform.include` ops are the stages; the entry, where none is marked."""


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
    session, module = _prepared(data, name, target)
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
    return [op for op in walk(chosen) if op.name == "transform.include"]


def _cut(script: ir.Module, count: int) -> ir.Module:
    """The script with its first stages only."""
    last = _includes(script)[count - 1]
    ops = [op.operation for op in last.block.operations]
    for op in reversed(ops[ops.index(last) + 1 :]):
        if op.name == "transform.yield":
            if len(op.operands):
                raise TunerError("the stages of a sequence that yields cannot be shown")
            continue
        op.erase()
    return script
