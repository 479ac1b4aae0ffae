"""Tables that are readable at 80 columns and in a pipe."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Column, Table

from iree_tuner.cli.output import SafeConsole, one_line
from iree_tuner.errors import UsageError

_GAP = 2  # between columns


class _LineTable(Table):
    """A table with one line in each cell: names may hold newlines."""

    def add_row(self, *cells: RenderableType | None, **how: Any) -> None:  # noqa: ANN401 (as the base has it)
        super().add_row(*(one_line(each) if isinstance(each, str) else each for each in cells), **how)


def table(*names: str, words: Collection[str] = (), apart: bool = False) -> Table:
    """A table without rows.

    Columns of `words` have text of any length, which is wrapped if there is no room. Cells of the other
    columns are short, such as numbers, and right-aligned. `apart` leaves an empty line between rows.
    """
    made = (Table if apart else _LineTable)(box=None, pad_edge=False, padding=(0, 1, int(apart), 1))
    for name in names:
        if name in words:
            made.add_column(name, overflow="fold")
        else:
            made.add_column(name, justify="right", no_wrap=True)
    return made


def print_table(console: Console, shown: Table, *, spare: Sequence[str] = (), otherwise: str = "") -> None:
    """Print a table.

    Args:
        spare: columns to drop if there is no room for all, in this order.
        otherwise: the text to print if the table has no rows.
    """
    width = console.table_width if isinstance(console, SafeConsole) else console.width
    for name in spare:
        if _room_left(shown, width) >= 0:
            break
        kept = [column for column in shown.columns if column.header != name]
        # rich pads columns by their number, which it does not adjust
        shown.columns = [replace(column, _index=number) for number, column in enumerate(kept)]
    if not console.is_terminal:  # names are searched in files: they are not broken
        width = min(console.width, width - min(0, _room_left(shown, width)))
    if _room_left(shown, width) >= 0:
        _share_room(shown, width)
    if shown.row_count or not otherwise:
        console.print(shown, markup=False, width=width)
    else:
        console.print(otherwise, markup=False)


def _room_left(shown: Table, width: int) -> int:
    """How much wider the table could be; negative if a number or a word has to be broken."""
    return width - sum(map(_least_width, shown.columns)) - _GAP * (len(shown.columns) - 1)


def _share_room(shown: Table, width: int) -> None:
    """Divide the remaining width equally among the text columns, the narrowest first."""
    left = _room_left(shown, width)
    wishes = sorted(
        ((_longest(column, str.splitlines) - _least_width(column), column) for column in shown.columns),
        key=lambda wish: wish[0],
    )
    for number, (wish, column) in enumerate(wishes):
        more = min(wish, left // (len(wishes) - number))
        column.width = _least_width(column) + more
        left -= more


def _least_width(column: Column) -> int:
    """The minimum width of a column without breaking a number or a word."""
    return _longest(column, str.splitlines if column.no_wrap else str.split)


def _longest(column: Column, parts: Callable[[str], list[str]]) -> int:
    texts = [str(column.header), *map(str, column.cells)]
    return max((cell_len(part) for text in texts for part in parts(text)), default=0)


# Percentages on the command line: `3%`, `0.03`.


_SHARE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)")


def parse_percent(text: str) -> float:
    """Parse a fraction. Raises UsageError for text that is not a percentage and not a number below 1."""
    found = _SHARE.fullmatch(text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else 1.0
    if found is None or (share >= 1 and not found[2]):
        raise UsageError(f"'{text}' is not a percentage", hint="write 3% or 0.03")
    return share
