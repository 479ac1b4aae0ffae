"""Names for ops that are matched by structure."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from iree_tuner.compiler import linalg
from iree_tuner.ops.scalar_body import ScalarBody
from iree_tuner.ops.structure import accesses, inputs_of, iterators

_NAMED = {"linalg.reduce": "reduction", "linalg.map": "elementwise"}
_MAXIMA = frozenset({"arith.maxnumf", "arith.maximumf"})


def called(ops: Sequence[ir.Operation], root: ir.Operation) -> str:
    """A short name for the work of `root` among the `ops` that are matched with it."""
    if _is_softmax(ops):
        return "softmax"
    if root.name == "iree_linalg_ext.online_attention":
        return "masked_attention"
    short = root.name.rpartition(".")[2]
    if "pooling" in short:
        return "pooling"
    if root.name in _NAMED:
        return _NAMED[root.name]
    if root.name == "linalg.generic":
        return _generic(root)
    return short if "reduction" in iterators(root) or _is_plain_copy(root) else "elementwise"


def _generic(op: ir.Operation) -> str:
    if "reduction" in iterators(op):
        if linalg.isa_convolution_op(op):
            body = ScalarBody.of(op)
            return "conv" if body and body.multiplies_and_accumulates else "pooling"
        return "reduction"
    if not _is_plain_copy(op):
        return "elementwise"
    source, destination = accesses(op)
    if len(source.results) < len(destination.results):
        return "broadcast"
    return "copy" if source == destination else "transpose"


def _is_plain_copy(op: ir.Operation) -> bool:
    return len(inputs_of(op)) == 1 and len(op.results) == 1 and ScalarBody.of(op) == ScalarBody(())


def _is_softmax(ops: Sequence[ir.Operation]) -> bool:
    found = [(ScalarBody.of(op), "reduction" in iterators(op)) for op in ops]
    bodies = [(set(body.ops) if body else set[str](), reduces) for body, reduces in found]
    return (
        any(reduces and body & _MAXIMA for body, reduces in bodies)
        and any(reduces and {"math.exp", "arith.addf"} <= body for body, reduces in bodies)
        and any("arith.divf" in body for body, _ in bodies)
    )
