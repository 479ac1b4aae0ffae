"""`iree-tuner suite list`: list kinds of operations and suites, or the operations of a suite."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.output import answers_to, print_json
from iree_tuner.cli.suite_operations import OperationFlags, chosen_operations
from iree_tuner.cli.table import print_table, table
from iree_tuner.suite import operation, suite_file
from iree_tuner.suite.kinds.registry import KINDS, fields_of
from iree_tuner.suite.operation import Value

_DEFAULTS = OperationFlags()


def list_(
    *suites: str,
    flags: OperationFlags = _DEFAULTS,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """List the kinds of operations with their fields and defaults, and the suites with their sizes.

    With names of suites, list the names of their operations.

    Example: `iree-tuner suite list cpu --only ^softmax`

    Parameters
    ----------
    suites
        List the operations of these: names of suites, suite files (.toml), quoted commands of
        MIOpenDriver, BOO or Fusilli, or .txt files of such commands.
    as_json
        Print JSON, one object per kind and per suite, or per operation.
    """
    if suites or flags != _DEFAULTS:
        console = answers_to(as_json=as_json)
        for each in chosen_operations(suites, flags):
            console.print(each.name, soft_wrap=True, markup=False, highlight=False)
            if as_json:
                print_json({"operation": each.name, **operation.to_json(each)})
        return 0
    _list_all(as_json=as_json)
    return 0


def _list_all(*, as_json: bool) -> None:
    kinds = table("operation", "fields and their defaults", words=("operation", "fields and their defaults"))
    for name, kind in KINDS.items():
        fields = fields_of(kind)
        kinds.add_row(name, " ".join(f"{field}={_told(value)}" for field, value in fields.items()))
        if as_json:
            print_json({"operation": name, "fields": fields})
    known = table("suite", "operations", "what", words=("suite", "what"))
    for each in suite_file.suites():
        counts = Counter(one.kind for one in each.operations)
        known.add_row(each.name, str(len(each.operations)), each.summary)
        if as_json:
            print_json({"suite": each.name, "summary": each.summary, "operations": dict(counts)})
    console = answers_to(as_json=as_json)
    print_table(console, kinds)
    console.print()
    print_table(console, known)


def _told(value: Value) -> str:
    """Format a value as in options and in suite files."""
    return str(value).lower() if isinstance(value, bool) else str(value)
