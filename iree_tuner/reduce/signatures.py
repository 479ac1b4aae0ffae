"""Edits of signatures: results and arguments that nothing needs, and inputs of `linalg.generic`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from iree.compiler import ir

from iree_tuner.compiler.context import walk
from iree_tuner.reduce.function import Function, functions, remade, without
from iree_tuner.reduce.parts import attributes_of
from iree_tuner.reduce.symbols import Edit
from iree_tuner.spec.grammar import pairs

_GENERIC = "linalg.generic"
_MAPS, _SEGMENTS = "indexing_maps", "operandSegmentSizes"


def results(module: ir.Module) -> list[Edit]:
    """Drop results of functions that no call uses."""
    return [
        partial(function.drop_result, index)
        for function in functions(module)
        if not function.matched
        for index in reversed(range(len(function.results)))
    ]


def arguments(module: ir.Module) -> list[Edit]:
    """Drop arguments of functions that the body does not use."""
    return [
        partial(function.drop_argument, index)
        for function in functions(module)
        if not function.matched
        for index in reversed(range(len(function.inputs)))
    ]


def handed_over(module: ir.Module) -> list[Edit]:
    """Drop arguments that an action does not use, and the matchers' results that they come from."""
    known = {function.op: function for function in functions(module)}
    matchers: dict[ir.Operation, list[Function]] = {}
    for pair in pairs(module):
        if pair.matcher_op is not None and pair.action_op is not None:
            others, matcher = matchers.setdefault(pair.action_op, []), known[pair.matcher_op]
            if matcher not in others:
                others.append(matcher)
    return [
        partial(_drop, known[op], others, index)
        for op, others in matchers.items()
        for index in reversed(range(len(known[op].inputs)))
    ]


def inputs(module: ir.Module) -> list[Edit]:
    """Drop inputs of `linalg.generic` that its body does not use."""
    return [
        partial(place.drop_input, index)
        for place in [_Generic(op) for op in walk(module.operation) if op.name == _GENERIC]
        for index in reversed(range(place.inputs))
    ]


@dataclass
class _Generic:
    """A `linalg.generic` that others take the place of."""

    op: ir.Operation

    @property
    def inputs(self) -> int:
        """How many it has; its other operands are outputs."""
        return ir.DenseI32ArrayAttr(self.op.attributes[_SEGMENTS])[0]

    def drop_input(self, index: int) -> None:
        """Take an input out, unless the body uses it."""
        (block,) = self.op.regions[0]
        if any(block.arguments[index].uses):
            return
        maps = list(ir.ArrayAttr(self.op.attributes[_MAPS]))
        outputs = len(maps) - self.inputs
        attributes = attributes_of(self.op) | {
            _MAPS: ir.ArrayAttr.get(without(maps, index)),
            _SEGMENTS: ir.DenseI32ArrayAttr.get([self.inputs - 1, outputs]),
        }
        block.erase_argument(index)
        self.op = remade(self.op, operands=without(list(self.op.operands), index), attributes=attributes)


def _drop(action: Function, matchers: list[Function], index: int) -> None:
    if action.drop_argument(index):
        for matcher in matchers:
            matcher.drop_result(index)
