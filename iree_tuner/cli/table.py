"""Tables for people: readable at 80 columns, and in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table

_GAP = 2  # between columns


def table(*names: str, words: Collection[str] = (), apart: bool = False) -> Table:
    """A table without rows.

    Args:
        names: of the columns. What they hold is short, as a number: it is not broken, and to the right.
        words: of these, columns of names and sentences of any length: they are folded where there is no room.
        apart: leave a line between rows, as cells have several.
    """
    made = Table(box=None, pad_edge=False, padding=(0, 1, int(apart), 1))
    for name in names:
        if name in words:
            made.add_column(name, overflow="fold")
        else:
            made.add_column(name, justify="right", no_wrap=True)
    return made


def print_table(console: Console, shown: Table, *, spare: Sequence[str] = (), otherwise: str = "") -> None:
    """Print a table.

    Args:
        console: where.
        shown: the table.
        spare: columns that are left out where there is no room for all, in this order.
        otherwise: what is said where it has no rows.
    """
    for name in spare:
        if _fits(shown, console):
            break
        shown.columns = [column for column in shown.columns if column.header != name]
    if _fits(shown, console):
        _share_room(shown, console.width)
    if shown.row_count or not otherwise:
        console.print(shown, markup=False)
    else:
        console.print(otherwise, markup=False)


def _fits(shown: Table, console: Console) -> bool:
    """Whether there is room without breaking a number or a word."""
    return sum(map(_least_width, shown.columns)) + _GAP * (len(shown.columns) - 1) <= console.width


def _share_room(shown: Table, width: int) -> None:
    """Give what is left to columns of words, in equal parts, those first that want least."""
    left = width - sum(map(_least_width, shown.columns)) - _GAP * (len(shown.columns) - 1)
    wishes = sorted(
        ((_longest(column, str.splitlines) - _least_width(column), column) for column in shown.columns),
        key=lambda wish: wish[0],
    )
    for number, (wish, column) in enumerate(wishes):
        more = min(wish, left // (len(wishes) - number))
        column.width = _least_width(column) + more
        left -= more


def _least_width(column: Column) -> int:
    """What a column takes when no number and no word is broken."""
    return _longest(column, str.splitlines if column.no_wrap else str.split)


def _longest(column: Column, parts: Callable[[str], list[str]]) -> int:
    texts = [str(column.header), *map(str, column.cells)]
    return max((cell_len(part) for text in texts for part in parts(text)), default=0)
