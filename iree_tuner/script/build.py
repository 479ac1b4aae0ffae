"""Compile programs and dispatches with a script, and apply a script outside of the compiler's pipeline.

Where a script fails, and why: the compiler reports the payload, not always the script, or dies. And a script
stage by stage: a function after each sequence that is included.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, transform
from iree.compiler.dialects.transform import interpreter

from iree_tuner.compiler.context import new_context, symbol_of, walk
from iree_tuner.compiler.session import CompileError, CompilerSession, Phase
from iree_tuner.compiler.task import exit_text
from iree_tuner.compiler.worker import Crash, Ok, WorkerError, Workers, session_for
from iree_tuner.device.bench import Bench
from iree_tuner.device.numerics import Agreement
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Built
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract, prepare
from iree_tuner.program.harness import run_passes
from iree_tuner.program.phases import select_target
from iree_tuner.program.source import Program
from iree_tuner.script.script import ENTRY, Script, place_of, symbols_in
from iree_tuner.spec.io import embed
from iree_tuner.targets import Target
from iree_tuner.tuning.baseline import build_default, tolerance_of, why_it_fails
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.jobs import Agree, Build, Jobs, result
from iree_tuner.tuning.lab import Lab

# The compiler makes it when it begins to configure executables; scripts set the number of workgroups in it.
_DISPATCH_CONFIG = (
    "builtin.module(hal.executable(hal.executable.variant(iree-codegen-create-dispatch-config)))"
)


def _sources(data: bytes, name: str, target: Target) -> tuple[CompilerSession, ir.Module]:
    """A program's executables before any is configured."""
    session = session_for(target.flags)
    module = session.parse(data, name)
    if not list(module.body.operations):
        raise TunerError("the program has no functions", location=name)
    select_target(module, target)
    session.run(module, stop="executable-sources")
    return session, module


def _prepared(data: bytes, name: str, target: Target) -> tuple[CompilerSession, ir.Module]:
    """A program at the point where the compiler applies scripts."""
    session, module = _sources(data, name, target)
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
        for op in list(walk(sequence.operation))[1:]:
            if op.name in _ENDS or op.name.startswith("transform.apply_patterns."):
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
    """The stages of the functions that the script changes. Runs in workers."""
    session, module = _prepared(data, name, target)
    whole = session.parse(script)
    names = [symbols_in(op)[0] for op in _includes(whole)]
    every: list[ScriptStage] = []
    for number, function in enumerate(functions_of(module)):
        found = [ScriptStage(symbol_of(function), "input", str(function))]
        for count, stage in enumerate(names, 1):
            copy = session.parse(module.operation.get_asm(enable_debug_info=True))
            apply(functions_of(copy)[number], _cut(session.parse(script), count))
            found.append(ScriptStage(symbol_of(function), stage, str(functions_of(copy)[number])))
        every += found if found[-1].text != found[0].text else []
    return tuple(every)


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


_CONFIGURED: Phase = "executable-configurations"
_INFO = "translation_info"
_LOWERED = "#iree_codegen.no_pipeline"


@dataclass(frozen=True)
class Scripted:
    """A program compiled with a script."""

    vmfb: bytes
    lowered: tuple[str, ...]  # functions of dispatches that the script lowered
    others: tuple[str, ...]  # dispatches that it left to the compiler


def compile_with_script(program: Program, target: Target, script: Script, workers: Workers) -> Scripted:
    """Compile a program; a script lowers the dispatches that it is for.

    Raises:
        CompileError: the compiler refuses the program, with any script.
        TunerError: the script fails, with the line; or it lowers none of the dispatches.
        WorkerError: the compiler died or did not come back.
    """
    try:
        found = workers.call(_compile_here, program.data, program.name, target, script.data)
    except (CompileError, WorkerError) as error:
        if isinstance(error, WorkerError) and not isinstance(error.end, Crash):
            raise
        try:
            told = explain(program, target, script, workers)
        except CompileError:  # of the program itself
            told = None
        raise told or error from None
    if not found.lowered:
        why = f"applies to none of them, or does not leave them with {_INFO}<pipeline = {_LOWERED}>"
        names = ", ".join(found.others) or "it has none"
        raise TunerError(f"the script lowers no dispatch of {program.name} ({names})", location=script.path,
                         hint=why)  # fmt: skip
    return found


def build_here(harness: bytes, flags: tuple[str, ...], script: bytes) -> Built:
    """Compile a dispatch's harness; `not_applied` if the script does not lower it. Runs in workers."""
    start = time.perf_counter()
    session = session_for(flags)
    session.context.enable_multithreading(False)  # it is one function
    try:
        found = _finish(session.parse(harness), session, script)
        built = Built("ok", found.vmfb)
        if not found.lowered:
            built = Built("not_applied", message="the script does not lower this dispatch")
    except CompileError as error:
        built = Built("compile_error", message=str(error))
    finally:
        session.context.enable_multithreading(True)  # the same session compiles whole programs
    return replace(built, seconds=time.perf_counter() - start)


def _compile_here(data: bytes, name: str, target: Target, script: bytes) -> Scripted:
    session, module = _sources(data, name, target)
    return _finish(module, session, script)


def lowered_here(data: bytes, name: str, target: Target, script: bytes) -> tuple[str, ...]:
    """The functions of a program's dispatches that a script lowers. Runs in workers."""
    session, module = _sources(data, name, target)
    return _configured(module, session, script)[0]


def _configured(
    module: ir.Module, session: CompilerSession, script: bytes
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Let a script configure a program's functions. Returns those that it lowers, and the others."""
    embed(module, script, replace=True)
    session.run(module, start="executable-sources", stop=_CONFIGURED)
    functions = [op for op in walk(module.operation) if op.name == "func.func" and _INFO in op.attributes]
    infos = {symbol_of(op): iree_codegen.TranslationInfoAttr(op.attributes[_INFO]) for op in functions}
    mine = tuple(name for name, info in infos.items()
                 if isinstance(info.pass_pipeline, iree_codegen.NoPipelineAttr))  # fmt: skip
    return mine, tuple(name for name in infos if name not in mine)


def _finish(module: ir.Module, session: CompilerSession, script: bytes) -> Scripted:
    lowered, others = _configured(module, session, script)
    return Scripted(session.to_vmfb(module, start=_CONFIGURED), lowered, others)


# Whether the code that a script makes of dispatches is right.


def agree_alone(
    program: Program, script: Script, lowered: Sequence[str], lab: Lab
) -> list[tuple[str, Agreement]]:
    """Compare each of the `lowered` dispatches with the compiler's code and, if it is small, with NumPy.

    Several inputs, several runs (`check.check`); `Agreement.note` says if there was no reference.
    """
    every = extract(program, lab.target, lab.compilers).dispatches
    lowers = [dispatch for dispatch in every if dispatch.name in lowered]
    found = play(lab, [_agree_alone(dispatch, script, lab) for dispatch in lowers])
    return [each for each in found if each is not None]


def _agree_alone(dispatch: Dispatch, script: Script, lab: Lab) -> Jobs[tuple[str, Agreement]]:
    bench = yield from bench_of(dispatch, lab)
    if isinstance(bench, str):
        return dispatch.name, _unknown(f"alone: {bench}")
    begin = partial(lab.compilers.submit, build_here, bench.harness.module, lab.target.flags, script.data)
    built = yield from result(Build(begin, lab.builder.result))
    if built.outcome != "ok":
        return dispatch.name, _unknown(f"alone, it fails ({built.outcome}): {built.message}")
    return dispatch.name, (yield from result(Agree(bench, built.vmfb)))


def bench_of(dispatch: Dispatch, lab: Lab) -> Jobs[Bench | str]:
    """A dispatch with the compiler's own code, to compare with; or why it cannot be run alone."""
    if dispatch.harness is None or dispatch.workload is None:
        return dispatch.reason or "its sizes are known at run time only"
    default, bench = yield from build_default(dispatch.harness, tolerance_of(dispatch.workload), lab)
    return bench if default.outcome == "ok" else why_it_fails(default)


def _unknown(message: str) -> Agreement:
    return Agreement(False, float("inf"), message)
