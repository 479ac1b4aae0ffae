"""The identity of a dispatch's code, whatever its name: equal for equal functions in different programs."""

from __future__ import annotations

import hashlib

from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import parse_module
from iree_tuner.program.bindings import Harness


def fingerprint(harness: Harness) -> str:
    """Hash of the dispatch's function and of where its tensors lie, without names and locations."""
    module = parse_module(harness.module, new_context(), "dispatch.mlir")
    found: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.func":
            op.attributes["sym_name"] = ir.StringAttr.get("dispatch", op.context)
            found.append(str(op))
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    text = "\n".join([*found, repr(harness.bindings)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
