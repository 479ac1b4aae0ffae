"""Compile programs and dispatches with a script."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import symbol_of, walk
from iree_tuner.compiler.session import CompileError, CompilerSession, Phase
from iree_tuner.compiler.worker import Crash, WorkerError, Workers, session_for
from iree_tuner.device.bench import Bench
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Built
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.phases import select_target
from iree_tuner.program.source import Program
from iree_tuner.script.diagnose import explain
from iree_tuner.script.script import Script
from iree_tuner.spec.io import embed
from iree_tuner.targets import Target
from iree_tuner.tuning.baseline import build_default, tolerance_of, why_it_fails
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.jobs import Agree, Build, Jobs, result
from iree_tuner.tuning.lab import Lab

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
    session.context.enable_multithreading(False)
    try:
        found = _finish(session.parse(harness), session, script)
        built = Built("ok", found.vmfb)
        if not found.lowered:
            built = Built("not_applied", message="the script does not lower this dispatch")
    except CompileError as error:
        built = Built("compile_error", message=str(error))
    return replace(built, seconds=time.perf_counter() - start)


def _compile_here(data: bytes, name: str, target: Target, script: bytes) -> Scripted:
    session = session_for(target.flags)
    module = session.parse(data, name)
    if not list(module.body.operations):
        raise TunerError("the program has no functions", location=name)
    select_target(module, target)
    session.run(module, stop="executable-sources")
    return _finish(module, session, script)


def _finish(module: ir.Module, session: CompilerSession, script: bytes) -> Scripted:
    embed(module, script, replace=True)
    session.run(module, start="executable-sources", stop=_CONFIGURED)
    functions = [op for op in walk(module.operation) if op.name == "func.func" and _INFO in op.attributes]
    infos = {symbol_of(op): iree_codegen.TranslationInfoAttr(op.attributes[_INFO]) for op in functions}
    mine = tuple(name for name, info in infos.items()
                 if isinstance(info.pass_pipeline, iree_codegen.NoPipelineAttr))  # fmt: skip
    others = tuple(name for name in infos if name not in mine)
    return Scripted(session.to_vmfb(module, start=_CONFIGURED), mine, others)


# Whether the code that a script makes of dispatches is right.


def depth_of(program: Program, lab: Lab) -> ErrorDepth:
    """Where errors of a program's results come from."""
    dispatches = extract(program, lab.target, lab.compilers).dispatches
    lengths = [each.workload.reduction_length for each in dispatches if each.workload is not None]
    return ErrorDepth(max(lengths, default=1), max(1, len(dispatches)))


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
