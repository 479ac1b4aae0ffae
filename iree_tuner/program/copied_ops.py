"""Copies of ops of a program at phase `flow`, in a function that computes a part of it (`program.parts`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from iree.compiler import ir
from iree.compiler.dialects import arith, hal

from iree_tuner.compiler.unbound import hal_type
from iree_tuner.program.flow_ops import LOAD, global_of, is_scalar, nested
from iree_tuner.program.steps import Steps

if TYPE_CHECKING:
    _Index = ir.Value[ir.IndexType]

_NARROWEST = 32  # bits of an integer that a function gives


class CopiedOps:
    """Copies of ops in a part, at the current insertion point.

    Args:
        steps: of the program.
        arguments: of the part, for the values that it takes.
        views: tensors that functions import, by their arguments.
    """

    def __init__(
        self, steps: Steps, arguments: Mapping[ir.Value, ir.Value], views: Mapping[ir.Value, ir.Value]
    ) -> None:
        self._steps = steps
        self._made = dict(arguments)
        for leaf, argument in arguments.items():
            if not is_scalar(leaf.type):
                self._made[leaf] = _imported(leaf.type, argument)
        self._made |= {view: arguments[leaf] for view, leaf in views.items() if leaf in arguments}

    def add(self, op: ir.Operation) -> None:
        """Copy an op. One around others takes what globals hold before it, instead of loading them."""
        clone = op.clone().operation
        for each in (clone, *nested(clone)):
            for place, operand in enumerate(each.operands):
                found = self._steps.same(operand)
                if found in self._made:
                    each.operands[place] = self._made[found]
        before = self._steps.before.get(op, {})
        for each in list(nested(clone)):
            value = before.get(global_of(each)) if each.name == LOAD else None
            if value is not None:
                each.results[0].replace_all_uses_with(self._of(value))
                each.erase()
        self._made |= dict(zip(op.results, clone.results, strict=True))

    def _of(self, value: ir.Value) -> ir.Value:
        return self._made[self._steps.same(value)]

    def given(self, value: ir.Value, sizes: Sequence[ir.Value]) -> ir.Value:
        """A value as the part's result."""
        own = self._of(value)
        if not is_scalar(value.type):
            dims = [cast("_Index", self._of(each)) for each in sizes]
            return hal.TensorExportOp(hal_type("buffer_view"), own, value.type, dims).result
        wider = given_as(value.type)
        return own if wider == value.type else arith.ExtUIOp(wider, own).result


def _imported(kind: ir.Type, view: ir.Value) -> ir.Value:
    """A tensor of a view, with the view's sizes."""
    tensor = ir.RankedTensorType(kind)
    open_ = [place for place in range(tensor.rank) if tensor.is_dynamic_dim(place)]
    dims = [hal.BufferViewDimOp(view, place).result for place in open_]
    return hal.TensorImportOp(kind, view, kind, dims).result


def given_as(kind: ir.Type) -> ir.Type:
    """The type of a scalar as a function's result."""
    narrow_ = isinstance(kind, ir.IntegerType) and kind.width < _NARROWEST
    return ir.IntegerType.get_signless(_NARROWEST) if narrow_ else kind
