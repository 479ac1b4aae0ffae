"""Constraints that the compiler emits for a dispatch's root op, taken as IR, in a worker.

The pass `iree-codegen-insert-smt-constraints` is run on a copy of the prepared dispatch. The flag that
makes the compiler run it itself is global to the process, and a compilation with it set fails after
`executable-configurations`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import defining_op, to_bytecode, walk
from iree_tuner.compiler.worker import Ok, Timeout, Workers, session_for
from iree_tuner.ops.workload import Workload
from iree_tuner.program.bindings import OP_TAG, Harness
from iree_tuner.program.extract import prepare
from iree_tuner.space.providers import provider
from iree_tuner.targets import Target, kind_named

_PASS = "iree-codegen-insert-smt-constraints"
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Emitted:
    """The constraints that the compiler emitted, as bytecode: a module for each constraints op.

    `note` says why there are none.
    """

    modules: tuple[bytes, ...] = ()
    note: str = ""


def emit(harness: Harness, workload: Workload, target: Target, workers: Workers) -> Emitted:
    """The compiler's constraints for a dispatch. A crash of the emitter is a note, not an error."""
    return begin_emitting(harness, workload, target, workers)()


def begin_emitting(
    harness: Harness, workload: Workload, target: Target, workers: Workers
) -> Callable[[], Emitted]:
    """`emit` for several dispatches at once: it starts now, and the returned function waits for it."""
    if not kind_named(target.backend).emits_constraints:
        return lambda: Emitted(note=f"the compiler has no constraints for {target.backend}")
    spaces = provider(workload.family)
    reason = spaces.emitter_crash(workload) if spaces is not None else ""
    if reason:
        return lambda: Emitted(note=reason)
    future = workers.submit(emit_here, harness.module, target.flags, timeout_s=_TIMEOUT_S)

    def found() -> Emitted:
        match workers.end(future):
            case Ok(modules):
                return Emitted(modules, "" if modules else "the compiler emits no constraints for this op")
            case Timeout(limit_s):
                return Emitted(note=f"the compiler emitted no constraints within {limit_s:.0f} s")
            case end:
                return Emitted(note=f"the compiler crashed while emitting constraints: {end}")

    return found


def emit_here(harness: bytes, flags: tuple[str, ...]) -> tuple[bytes, ...]:
    """The part of `emit` that runs in a worker."""
    session = session_for(flags)
    with session.context, ir.Location.unknown():
        module = session.parse(harness)
        for op in walk(module.operation):  # only the tagged root op is in the set that constraints are for
            if "root_op" in op.attributes:
                del op.attributes["root_op"]
            if OP_TAG in op.attributes and ir.StringAttr(op.attributes[OP_TAG]).value == "root":
                op.attributes["root_op"] = iree_codegen.RootOpAttr.get(0)
        prepare(module, (_PASS,), session)
        return tuple(to_bytecode(alone(op)) for op in ir.get_ops_of_type(module, iree_codegen.ConstraintsOp))


def alone(op: iree_codegen.ConstraintsOp) -> ir.Module:
    """Move a constraints op, with the constants that are its problem dimensions, to a module of its own."""
    module = ir.Module.create()
    moved: set[ir.Operation] = set()
    for dimension in op.problem_dims:
        owner = defining_op(dimension)
        assert owner is not None, "problem dimensions are constants"
        if owner not in moved:
            moved.add(owner)
            owner.detach_from_parent()
            module.body.append(owner)
    op.operation.detach_from_parent()
    module.body.append(op)
    return module
