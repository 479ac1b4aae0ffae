"""Find a program's dispatches: what each computes, how often it is called, and how to run it alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from iree.compiler import ir

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.diagnostics import Diagnostic
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.compiler.worker import Workers, session_for
from iree_tuner.errors import TunerError
from iree_tuner.ops.family import describe, family
from iree_tuner.ops.workload import Workload
from iree_tuner.program.calls import count_calls
from iree_tuner.program.dispatch import OP_TAG, Calls, Dispatch, Harness
from iree_tuner.program.harness import RawHarness, dump_benchmarks, find_function, run_passes, take_buffer
from iree_tuner.program.phases import select_target
from iree_tuner.program.roots import compute_ops, default_choice
from iree_tuner.program.source import Program
from iree_tuner.targets import Target
from iree_tuner.targets.limits import limits_of


@dataclass(frozen=True)
class Extraction:
    """A program's dispatches in the order of their names, and what the compiler said on the way."""

    dispatches: tuple[Dispatch, ...]
    diagnostics: tuple[Diagnostic, ...]


def extract(program: Program, target: Target, workers: Workers) -> Extraction:
    """Compile a program to `executable-sources` and describe its dispatches, in a worker.

    Raises:
        CompileError: the program does not parse or compile; the message has the location.
        TunerError: the program has no functions.
        WorkerCrashError, WorkerTimeoutError: the compiler died or did not come back.
    """
    return workers.call(extract_here, program.data, program.name, target)


def extract_here(data: bytes, name: str, target: Target) -> Extraction:
    """The part of `extract` that runs in a worker."""
    # The tuner's attributes name the root op; the flag is global to the process, so every session
    # here sets it, in one way or the other.
    session = session_for((*target.flags, "--iree-codegen-add-tuner-attributes=true"))
    with session.context, ir.Location.unknown():
        return _extract(data, name, target, session)


def _extract(data: bytes, name: str, target: Target, session: CompilerSession) -> Extraction:
    module = session.parse(data, name)
    if not list(module.body.operations):
        raise TunerError("the program has no functions", location=name)
    select_target(module, target)
    diagnostics = tuple(session.run(module, stop="executable-sources"))
    calls = count_calls(module)
    exports = _exports(module)
    found: dict[str, Dispatch] = {}
    for benchmark in dump_benchmarks(module, session):
        for raw in take_buffer(benchmark):
            found[raw.export] = _describe(raw, calls.get(raw.export, Calls(0)), target, session)
    for export in exports:
        if export not in found:
            reason = "its sizes or offsets are known only at run time"
            found[export] = Dispatch(export, calls.get(export, Calls(0)), None, reason)
    return Extraction(tuple(found[export] for export in exports), diagnostics)


def _describe(raw: RawHarness, calls: Calls, target: Target, session: CompilerSession) -> Dispatch:
    limits = limits_of(_target_attribute(raw.module))
    _prepare(raw.module, target.preparation, session)
    before = str(find_function(raw.module, raw.export))
    _prepare(raw.module, target.spec_prologue, session)
    function = find_function(raw.module, raw.export)
    prologue = target.spec_prologue if str(function) != before else ()
    choice = default_choice(raw.module, raw.export, session)
    workload, reason = _tag_root(function, choice.root, prologue)
    harness = Harness(to_bytecode(raw.module), raw.function, raw.buffer_bytes, raw.bindings)
    return Dispatch(
        raw.export, calls, workload, reason, harness, choice.lowering_config, choice.translation_info, limits
    )


def _tag_root(
    function: ir.Operation, root: int | None, prologue: tuple[str, ...]
) -> tuple[Workload | None, str]:
    """Describe the root op and tag it and its companions with their labels."""
    if root is None:
        return None, "the compiler finds no root op in it"
    op = compute_ops(function)[root]
    workload = describe(op)
    if workload is None:
        return None, f"no op family describes its root op {op.name}"
    for label, located in family(workload.family).locate(op, workload).items():
        located.attributes[OP_TAG] = ir.StringAttr.get(label, function.context)
    return replace(workload, prologue=prologue), ""


def _prepare(module: ir.Module, passes: tuple[str, ...], session: CompilerSession) -> None:
    if not passes:
        return
    nested = f"func.func({','.join(passes)})"
    pipeline = f"builtin.module(hal.executable(hal.executable.variant(builtin.module({nested}))))"
    try:
        run_passes(module, session, pipeline)
    except ir.MLIRError as error:
        found = [Diagnostic("error", info.message) for info in error.error_diagnostics]
        raise CompileError(found, "preparing a dispatch failed") from None


def _exports(module: ir.Module) -> list[str]:
    names: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "hal.executable.export":
            names.append(ir.StringAttr(op.attributes["sym_name"]).value)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return names


def _target_attribute(module: ir.Module) -> ir.Attribute:
    found: list[ir.Attribute] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "hal.executable.variant":
            found.append(op.attributes["target"])
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found[0]
