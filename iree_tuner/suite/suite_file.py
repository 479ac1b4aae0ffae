"""Suites: operations in a TOML file; a suite that ships has a name.

A suite has a `summary` and tables named as kinds, `[[matmul]]`, whose fields are values, lists or sweeps
(`suite.suite_file`); each table stands for all combinations of its fields' values.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from iree_tuner.errors import TunerError, UsageError, did_you_mean
from iree_tuner.files import read_toml
from iree_tuner.suite.kinds.registry import fields_of, kind_named, make
from iree_tuner.suite.operation import Operation, Value
from iree_tuner.suite.tensors import FLOATS, INTEGERS, OWN_F8, check_type

# Sweeps: many operations of one kind, of all combinations of their fields' values.
#
# A field's values are given as a value, as a list, or as text: `64,128,256`, or `64:1024:128` from the first
# to the last, inclusive, by a step. `types` stands for all fields with types; see `Operation.of_type`.


TYPES = "types"
_MOST = 100_000
_BOOLEANS = {"true": True, "false": False}


def sweep(kind: type[Operation], given: Mapping[str, object], f8: str) -> list[Operation]:
    """The operations, checked; values of the last fields and types next to each other.

    Args:
        kind: of all of them.
        given: values by field; missing fields have their defaults.
        f8: the type that `f8` stands for.

    Raises:
        TunerError: an unknown field, values that make no operation, or too many.
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


FOLDER = Path(__file__).parent / "suites"
DEFAULT_F8 = "f8E4M3FN"
_SUMMARY = "summary"


@dataclass(frozen=True)
class Suite:
    """Operations that belong together."""

    name: str  # of the file, without its suffix
    summary: str  # one line for people
    operations: tuple[Operation, ...]  # each once, in the order of the file


def suites(f8: str = DEFAULT_F8) -> list[Suite]:
    """The shipped ones, by name; `f8` as for `load_suite`."""
    return [_read(path, f8) for path in sorted(FOLDER.glob("*.toml"))]


def load_suite(name: str, f8: str = DEFAULT_F8) -> Suite:
    """A suite that ships, by its name, or a .toml file; `f8` stands for that type, the target's own.

    Raises TunerError if it does not exist, or has a mistake; the message names table and field.
    """
    if name.endswith(".toml"):
        return _read(Path(name), f8)
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        raise UsageError(
            f"unknown suite '{name}'",
            hint=did_you_mean(name, sorted(each.stem for each in FOLDER.glob("*.toml"))),
        )
    return _read(path, f8)


def _read(path: Path, f8: str) -> Suite:
    data = read_toml(path)
    summary = data.pop(_SUMMARY, "")
    if not isinstance(summary, str):
        raise TunerError("the summary is not a text", location=str(path))
    found = [each for kind, tables in data.items() for each in _operations(path, kind, tables, f8)]
    if not found:
        raise TunerError("the suite has no operations", location=str(path))
    return Suite(path.stem, summary, tuple(distinct(found)))


def _operations(path: Path, kind: str, tables: object, f8: str) -> list[Operation]:
    if not isinstance(tables, list):
        raise TunerError(f"'{kind}' is not a table", location=str(path), hint=f"write [[{kind}]]")
    found: list[Operation] = []
    for number, table in enumerate(cast("list[object]", tables), 1):
        place = f"{path}: {kind} {number}"
        if not isinstance(table, Mapping):
            raise TunerError("not a table", location=place)
        try:
            found += sweep(kind_named(kind), cast("Mapping[str, object]", table), f8)
        except TunerError as error:
            raise TunerError(error.message, location=place, hint=error.hint) from None
    return found


# Regular expressions over names, joined by commas, as in the dispatch profiler.


Patterns = tuple[re.Pattern[str], ...]


def patterns_of(text: str) -> Patterns:
    """The expressions in a text. Raises UsageError for a wrong one."""
    found: list[re.Pattern[str]] = []
    for part in filter(None, text.split(",")):
        try:
            found.append(re.compile(part))
        except re.error as error:
            raise UsageError(f"'{part}' is not a regular expression: {error}") from None
    return tuple(found)


def is_found(patterns: Sequence[re.Pattern[str]], name: str) -> bool:
    """Whether one of them is somewhere in a name; true without any."""
    return not patterns or any(each.search(name) for each in patterns)
