"""What `space_compile_rate.py` runs in workers, which import this module and not the script."""

from __future__ import annotations

import hashlib

from iree.compiler import ir

from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.worker import session_for

SKIPPED = {"linalg.yield", "linalg.index", "linalg.fill", "iree_linalg_ext.yield"}
OK = "ok "


def compile_with(flags: tuple[str, ...], source: bytes, puts: list[tuple[int, str, str]]) -> str:
    """In a worker: put attributes on compute ops and compile. `ok DIGEST`, or the first error."""
    session = session_for(flags)
    module = session.parse(source)
    ops = compute_ops(module)
    for place, name, value in puts:
        ops[place].attributes[name] = ir.Attribute.parse(value, session.context)
    del ops
    try:
        return OK + hashlib.sha256(session.to_vmfb(module, start="executable-sources")).hexdigest()
    except CompileError as error:
        return str(error)[:200]


def compute_ops(module: ir.Module) -> list[ir.Operation]:
    """Compute ops in program order, without fills."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith(("linalg.", "iree_linalg_ext.")) and op.name not in SKIPPED:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found
