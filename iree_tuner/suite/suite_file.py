"""Suites: operations in a TOML file, of a name where they ship.

A suite has a `summary` and tables named as kinds, `[[matmul]]`, whose fields are values, lists or sweeps
(`suite.sweep`); each table stands for all combinations of its fields' values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import read_toml
from iree_tuner.suite.hints import did_you_mean
from iree_tuner.suite.kinds.registry import kind_named
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.sweep import distinct, sweep

FOLDER = Path(__file__).parent / "suites"
DEFAULT_F8 = "f8E4M3FN"
_SUMMARY = "summary"


@dataclass(frozen=True)
class Suite:
    """Operations that belong together.

    Attributes:
        name: of the file, without its suffix.
        summary: one line for people.
        operations: each once, in the order of the file.
    """

    name: str
    summary: str
    operations: tuple[Operation, ...]


def suites(f8: str = DEFAULT_F8) -> list[Suite]:
    """The shipped ones, by name; `f8` as for `load_suite`."""
    return [_read(path, f8) for path in sorted(FOLDER.glob("*.toml"))]


def load_suite(name: str, f8: str = DEFAULT_F8) -> Suite:
    """A suite that ships, by its name, or a .toml file.

    Args:
        name: of the suite, or the path.
        f8: what the type `f8` stands for: the target's own.

    Raises:
        TunerError: there is none, or it has a mistake; the message says in which table and field.
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
    found: list[Operation] = []
    for kind, tables in data.items():
        found += _operations(path, kind, tables, f8)
    if not found:
        raise TunerError("the suite has no operations", location=str(path))
    return Suite(path.stem, summary, tuple(distinct(found)))


def _operations(path: Path, kind: str, tables: object, f8: str) -> list[Operation]:
    """Of all tables of a kind."""
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
