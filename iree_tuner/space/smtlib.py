"""A constraints op as SMT-LIB."""

from __future__ import annotations

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.space.expressions import Integer, constant, if_else

_ABS = "smt.int.abs"


def smtlib(op: ir.Operation) -> str:
    """The constraints as the compiler exports them.

    The exporter of release 3.13 ends the process at `smt.int.abs` ("unknown SMT node"): a copy with other ops
    in its place is exported.
    """
    if any(view.operation.name == _ABS for view in op.regions[0].blocks[0].operations):
        op = op.clone().operation
        for view in list(op.regions[0].blocks[0].operations):
            if view.operation.name == _ABS:
                _replace(view.operation)
    return iree_codegen.convert_constraints_op_to_smtlib(op)


def _replace(absolute: ir.Operation) -> None:
    with absolute.context, ir.Location.unknown(), ir.InsertionPoint(absolute):
        value = Integer(absolute.operands[0])
        absolute.result.replace_all_uses_with(if_else(value >= 0, value, constant(0) - value).value)
    absolute.erase()
