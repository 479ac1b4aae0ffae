"""Knobs of a script: constants that say what else they may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from iree.compiler import ir

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.script.places import place_of, walk

KNOB = "iree_tuner.knob"
VALUES = "iree_tuner.values"
DIVIDES = "iree_tuner.divides"

_CONSTANT = "transform.param.constant"


@dataclass(frozen=True)
class ScriptKnob:
    """A constant of a script that may have other values."""

    name: str
    default: int  # the value that the script has
    values: tuple[int, ...]  # those to search, ascending; the default is one of them
    divides: str = ""  # the knob that it must divide; empty for none


def read_knobs(module: ir.Module) -> tuple[ScriptKnob, ...]:
    """The knobs of a script, in its order. Equal declarations of a name are one knob.

    Raises:
        TunerError: a knob without values, with another default, or that divides a name that is not a knob.
    """
    found: dict[str, ScriptKnob] = {}
    for op in _constants(module):
        knob = _knob(op)
        if found.setdefault(knob.name, knob) != knob:
            raise _wrong(op, f"the knob '{knob.name}' is declared twice with different values")
    for op in _constants(module):
        knob = _knob(op)
        if knob.divides and knob.divides not in found:
            raise _wrong(op, f"the knob '{knob.name}' divides '{knob.divides}', which is not a knob")
        if knob.divides and found[knob.divides].default % knob.default:
            raise _wrong(op, f"the default of '{knob.name}' does not divide that of '{knob.divides}'")
    return tuple(found.values())


def set_knobs(module: ir.Module, values: Mapping[str, int]) -> None:
    """Give the knobs of a script values, in place; others keep their values.

    The values need not be among those to search. Raises UsageError for an unknown knob or a value below 1.
    """
    known = {knob.name for knob in read_knobs(module)}
    for name, value in values.items():
        if name not in known:
            hint = f"one of: {', '.join(sorted(known))}" if known else "it has none"
            raise UsageError(f"the script has no knob '{name}'", hint=hint)
        if value < 1:
            raise UsageError(f"the knob '{name}' must be at least 1, not {value}")
    for op in _constants(module):
        name = ir.StringAttr(op.attributes[KNOB]).value
        if name in values:
            old = ir.IntegerAttr(op.attributes["value"])
            op.attributes["value"] = ir.IntegerAttr.get(old.type, values[name])


def _constants(module: ir.Module) -> Iterator[ir.Operation]:
    for op in walk(module):
        if KNOB not in op.attributes:
            continue
        if op.name != _CONSTANT:
            raise _wrong(op, f"a knob must be a {_CONSTANT}")
        yield op


def _knob(op: ir.Operation) -> ScriptKnob:
    name, value, values = op.attributes[KNOB], op.attributes["value"], op.attributes.get(VALUES, None)
    if not isinstance(name, ir.StringAttr) or not isinstance(value, ir.IntegerAttr):
        raise _wrong(op, f"a knob must be an integer, and {KNOB} must be its name")
    if not isinstance(values, ir.DenseI64ArrayAttr):
        # IR as text: an example in a message
        raise _wrong(op, f"the knob '{name.value}' has no {VALUES} = array<i64: ...>")
    domain = tuple(sorted({int(each) for each in np.asarray(list(values))}))
    if value.value not in domain or domain[0] < 1:
        raise _wrong(op, f"the values of '{name.value}' must be at least 1, and its default among them")
    divides = op.attributes.get(DIVIDES, None)
    other = divides.value if isinstance(divides, ir.StringAttr) else ""
    return ScriptKnob(name.value, value.value, domain, other)


def _wrong(op: ir.Operation, message: str) -> TunerError:
    return TunerError(message, location=place_of(op))
