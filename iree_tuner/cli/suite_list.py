"""`iree-tuner suite list`: list the kinds of operations with their fields, and the suites that ship."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.output import answers_to, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.suite.kinds.registry import KINDS, fields_of
from iree_tuner.suite.operation import Value
from iree_tuner.suite.suite_file import suites


def list_(*, as_json: Annotated[bool, Parameter(name="--json", negative="")] = False) -> int:
    """List the kinds of operations with their fields and defaults, and the suites with their sizes.

    Example: `iree-tuner suite list`

    Parameters
    ----------
    as_json
        Print JSON, one object per kind and per suite.
    """
    kinds = table("operation", "fields and their defaults", words=("operation", "fields and their defaults"))
    for name, kind in KINDS.items():
        fields = fields_of(kind)
        kinds.add_row(name, " ".join(f"{field}={_told(value)}" for field, value in fields.items()))
        if as_json:
            print_json({"operation": name, "fields": fields})
    known = table("suite", "operations", "what", words=("suite", "what"))
    for each in suites():
        counts = Counter(operation.kind for operation in each.operations)
        known.add_row(each.name, str(len(each.operations)), each.summary)
        if as_json:
            print_json({"suite": each.name, "summary": each.summary, "operations": dict(counts)})
    console = answers_to(as_json=as_json)
    print_table(console, kinds)
    console.print()
    print_table(console, known)
    return 0


def _told(value: Value) -> str:
    """Format a value as in options and in suite files."""
    return str(value).lower() if isinstance(value, bool) else str(value)
