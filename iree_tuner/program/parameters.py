"""Parameters that a program takes from outside: weights in a file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.compiler.context import walk
from iree_tuner.program.source import Program
from iree_tuner.program.valid.interval import Interval

_MARK = b"parameter.named"  # in text and in bytecode, where the attribute is stored as text
# IR as text: no accessor that reads a named parameter
_NAMED = re.compile(r'#\w+\.parameter\.named<("(?:[^"\\]|\\.)*")(?:::("(?:[^"\\]|\\.)*"))?')
_PLACES = ("initial_value", "value")  # of util.global, and of the constants that name one in place


@dataclass(frozen=True)
class Parameter:
    """A parameter as the program names it; `scope` is its archive's, empty for the nameless one.

    `values` are the integers that the program's uses allow, if these restrict it and it is generated.
    """

    scope: str
    key: str
    shape: tuple[int, ...]
    element_type: str
    values: Interval | None = None

    def __str__(self) -> str:
        return f"{self.scope}::{self.key}" if self.scope else self.key


def names_parameters(program: Program) -> bool:
    """Whether a program may have parameters, without parsing it."""
    return _MARK in program.data


def parameters_in(module: ir.Module) -> tuple[Parameter, ...]:
    """The parameters that a module names, each once, in its order."""
    found: dict[tuple[str, str], Parameter] = {}
    for _, parameter in parameters_held(module):
        found.setdefault((parameter.scope, parameter.key), parameter)
    return tuple(found.values())


def parameters_held(module: ir.Module) -> list[tuple[ir.Operation, Parameter]]:
    """The ops that hold a parameter, globals and constants, each with it."""
    found = (
        (op, _parameter(op.attributes[place]))
        for op in walk(module.operation)
        for place in _PLACES
        if place in op.attributes
    )
    return [(op, parameter) for op, parameter in found if parameter is not None]


def _parameter(attribute: ir.Attribute) -> Parameter | None:
    """The attribute has no binding: its text is read."""
    if isinstance(attribute, ir.DenseElementsAttr | ir.DenseResourceElementsAttr):  # may be long
        return None
    named = _NAMED.match(str(attribute))
    if named is None or not isinstance(attribute.type, ir.RankedTensorType):
        return None
    scope, key = (named[1], named[2]) if named[2] else ('""', named[1])
    shape = tuple(attribute.type.shape)
    return Parameter(json.loads(scope), json.loads(key), shape, str(attribute.type.element_type))
