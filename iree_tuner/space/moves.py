"""The members next to an assignment: one knob moved, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from iree_tuner.space.interpreter import Array
from iree_tuner.space.join import Join
from iree_tuner.space.relations import Rows

_MOVE = "#move"  # a column that says from which move a row comes


def neighbors(join: Join, assignment: Mapping[str, int]) -> list[list[int]]:
    """The values of all knobs in each member in which one leader has the nearest value below or above.

    Every value of each leader is tried, all at once; the nearest that makes a member is taken.
    """
    leaders = join.leaders
    table, moved = _moves(join, assignment)
    if not len(table):
        return []
    columns = {name: table[:, place] for place, name in enumerate(leaders)}
    rows = join.admit(Rows(len(table), columns | {_MOVE: np.arange(len(table))}))
    values = join.values(rows).tolist()
    knobs = [moved[place] for place in rows.column(_MOVE).tolist()]
    found: list[list[int]] = []
    for knob, name in enumerate(leaders):
        column = join.knobs.index(name)
        there = [row for row, each in zip(values, knobs, strict=True) if each == knob]
        found.extend([row for row in there if row[column] < assignment[name]][-1:])
        found.extend([row for row in there if row[column] > assignment[name]][:1])
    return found


def _moves(join: Join, assignment: Mapping[str, int]) -> tuple[Array, list[int]]:
    """The leaders' indices after each move, in the order of leaders and values; and which leader moved."""
    domains = [join.relations.domains[name] for name in join.leaders]
    values = [assignment[name] for name in join.leaders]
    here = [_place(domain, value) for domain, value in zip(domains, values, strict=True)]
    moves: list[list[int]] = []
    moved: list[int] = []
    for knob, domain in enumerate(domains):
        if any(index < 0 for other, index in enumerate(here) if other != knob):
            continue  # another knob has a value that no member has
        steps = [step for step in range(len(domain)) if step != here[knob]]
        moves.extend([*here[:knob], step, *here[knob + 1 :]] for step in steps)
        moved.extend([knob] * len(steps))
    return np.array(moves, np.intp), moved


def _place(domain: Array, value: int) -> int:
    return int(np.searchsorted(domain, value)) if value in domain else -1
