"""Delta debugging: which of many edits can be made together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

First = Callable[[Iterator[frozenset[int]]], int | None]
"""Which of some sets of edits is the first that keeps the defect; None where each loses it."""


def ddmin(count: int, first: First) -> frozenset[int]:
    """A set of edits that keeps the defect, and loses it with any one edit more.

    All are tried together, then halves, quarters and so on down to single edits, each in addition to the
    edits that are known to keep it.

    Args:
        count: of the edits, which are called 0 to `count` - 1.
        first: is asked about sets that it has not found to keep the defect; no edit at all does so.

    Raises:
        Exceptions of `first`.
    """
    made: frozenset[int] = frozenset()
    left = list(range(count))
    size = count
    while left and size:
        progress = False
        start = 0
        while start < len(left):
            chunks = [left[at : at + size] for at in range(start, len(left), size)]
            hit = first(map(made.union, chunks))
            if hit is None:
                break
            progress = True
            start += hit * size
            made = made.union(chunks[hit])
            left = [edit for edit in left if edit not in made]
        if size > 1:
            size = (size + 1) // 2
        elif not progress:
            break
    return made
