"""Sweeps: many operations of one kind, of all combinations of their fields' values.

A field's values are given as a value, as a list, or as text: `64,128,256`, or `64:1024:128` from the first to
the last, which belongs to them, by a step. `types` stands for all fields that say a type; see
`Operation.of_type`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from iree_tuner.errors import UsageError
from iree_tuner.suite.element_types import FLOATS, INTEGERS, OWN_F8, check_type
from iree_tuner.suite.hints import did_you_mean
from iree_tuner.suite.kinds.registry import fields_of, make
from iree_tuner.suite.operation import Operation, Value

TYPES = "types"
_MOST = 100_000
_BOOLEANS = {"true": True, "false": False}


def sweep(kind: type[Operation], given: Mapping[str, object], f8: str) -> list[Operation]:
    """The operations, checked; values of the last fields and types next to each other.

    Args:
        kind: of all of them.
        given: values by field; fields that are not here have their defaults.
        f8: what the type `f8` stands for.

    Raises:
        TunerError: a field that there is not, values that make no operation, or too many.
    """
    defaults = fields_of(kind)
    for name in given:
        if name != TYPES and name not in defaults:
            raise UsageError(
                f"{kind.kind} has no field '{name}'", hint=did_you_mean(name, [TYPES, *defaults])
            )
    values = {name: values_of(name, defaults.get(name, ""), told) for name, told in given.items()}
    types = [_type(each, f8) for each in values.pop(TYPES, [])]
    count = math.prod(map(len, values.values())) * (len(types) or 1)
    if count > _MOST:
        raise UsageError(f"{count} operations of {kind.kind} are too many: the limit is {_MOST}")
    found: list[Operation] = []
    for chosen in itertools.product(*values.values()):
        fields = dict(zip(values, chosen, strict=True))
        own = {name: _own(value, f8) for name, value in fields.items()}
        found += [make(kind, {**each, **own}) for each in map(kind.of_type, types)] or [make(kind, own)]
    return found


def values_of(field: str, default: Value, told: object) -> list[Value]:
    """A field's values. Raises UsageError for a value of another type than its default's."""
    if isinstance(told, list):
        every = [value for each in cast("list[object]", told) for value in values_of(field, default, each)]
        if not every:
            raise UsageError(f"{field}: no values")
        return every
    if not isinstance(told, str):
        return [cast(Value, told)]  # `make` looks at its type
    return [value for part in told.split(",") for value in _values(field, default, part.strip())]


def distinct(operations: Iterable[Operation]) -> list[Operation]:
    """Each operation once, in order."""
    return list({each.name: each for each in operations}.values())


def _values(field: str, default: Value, part: str) -> Sequence[Value]:
    if isinstance(default, str):
        return [part]
    if isinstance(default, bool):
        if part not in _BOOLEANS:
            raise UsageError(f"{field}: '{part}' is neither true nor false")
        return [_BOOLEANS[part]]
    try:
        first, *more = map(int, part.split(":"))
    except ValueError:
        raise _no_number(field, part) from None
    if not more:
        return [first]
    if len(more) != 2 or more[1] < 1:
        raise _no_number(field, part)
    found = range(first, more[0] + 1, more[1])
    if len(found) > _MOST:
        raise UsageError(f"{field}: '{part}' has {len(found)} values: the limit is {_MOST}")
    if not found:
        raise UsageError(f"{field}: '{part}' has no values: {first} is larger than {more[0]}")
    return found


def _no_number(field: str, part: str) -> UsageError:
    return UsageError(f"{field}: '{part}' is not a number", hint="write 64, or 64:1024:128 for a sweep")


def _type(told: Value, f8: str) -> str:
    check_type(TYPES, str(told), (*FLOATS, *INTEGERS, OWN_F8))
    return str(_own(told, f8))


def _own(value: Value, f8: str) -> Value:
    return f8 if value == OWN_F8 else value
