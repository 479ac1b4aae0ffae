"""Several spaces of one workload as one: which of them is a knob more."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from iree_tuner.ops.workload import Workload
from iree_tuner.space.configuration import Assignment, Configuration
from iree_tuner.space.space import Space

SPACE = "space"
"""The knob that says which one: its place among the spaces."""

JOINED = "+"
"""Between the labels of several spaces."""


def named(assignment: Mapping[str, int], label: str) -> tuple[str, dict[str, int]]:
    """The label of an assignment's own space, and its knobs there; `label` is the label of all spaces."""
    labels = label.split(JOINED)
    if len(labels) == 1:
        return label, dict(assignment)
    knobs = {name: value for name, value in assignment.items() if name != SPACE}
    return labels[assignment[SPACE]], knobs


def unnamed(own: str, knobs: Mapping[str, int], label: str) -> Assignment:
    """The inverse of `named`. Raises ValueError for a label that is not one of `label`."""
    labels = label.split(JOINED)
    return Assignment.of(knobs if len(labels) == 1 else {**knobs, SPACE: labels.index(own)})


class JointSpace:
    """The spaces of a workload, one or more, as `build_spaces` returns them.

    With one space, its assignments are that space's own.
    """

    def __init__(self, spaces: Sequence[Space]) -> None:
        self.spaces = tuple(spaces)

    @property
    def workload(self) -> Workload:
        return self.spaces[0].workload

    @cached_property
    def label(self) -> str:
        """The spaces' labels: `TileAndFuse+VectorDistribute`."""
        return JOINED.join(space.label for space in self.spaces)

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits, equal for equal constraints."""
        text = "".join(space.text for space in self.spaces)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def count(self) -> int:
        """Exact. Raises TunerError for a space too large to be counted."""
        return sum(space.count() for space in self.spaces)

    def shuffled(self, seed: int) -> Iterator[Assignment]:
        """Every member once, in a random order; the spaces take turns as long as they last.

        A small space may hold the best member as well as a large one, so all have equal shares.
        """
        return self._in_turn([space.shuffled(seed) for space in self.spaces])

    def staged(self, seed: int) -> Iterator[Assignment]:
        """As `shuffled`, but plain members come first. Without secondary knobs the order is the same."""
        yield from self._in_turn([space.shuffled_plain(seed) for space in self.spaces])
        yield from self._in_turn([_variants(space, seed) for space in self.spaces])

    def is_plain(self, assignment: Assignment) -> bool:
        """Whether every secondary knob of its own space has its plain value."""
        place, member = self.split(assignment)
        return self.spaces[place].is_plain(member)

    def neighbors(self, assignment: Assignment) -> list[Assignment]:
        place, member = self.split(assignment)
        return [self.join(place, each) for each in self.spaces[place].neighbors(member)]

    def configuration(self, assignment: Assignment) -> Configuration:
        place, member = self.split(assignment)
        return self.spaces[place].configuration(member)

    def contains(self, assignment: Assignment) -> bool:
        place, member = self.split(assignment)
        return 0 <= place < len(self.spaces) and self.spaces[place].contains(member)

    def join(self, place: int, member: Mapping[str, int]) -> Assignment:
        """A member of one of the spaces as a member of this space."""
        return Assignment.of(member if len(self.spaces) == 1 else {**member, SPACE: place})

    def split(self, assignment: Assignment) -> tuple[int, Assignment]:
        """The place of the assignment's space, and the member there."""
        if len(self.spaces) == 1:
            return 0, assignment
        knobs = {name: value for name, value in assignment.items() if name != SPACE}
        return assignment.get(SPACE, -1), Assignment.of(knobs)

    def _in_turn(self, orders: Sequence[Iterator[Assignment]]) -> Iterator[Assignment]:
        left = list(range(len(orders)))
        while left:
            for place in tuple(left):
                member = next(orders[place], None)
                if member is None:
                    left.remove(place)
                else:
                    yield self.join(place, member)


def _variants(space: Space, seed: int) -> Iterator[Assignment]:
    if not space.secondary:
        return iter(())
    return (member for member in space.shuffled(seed) if not space.is_plain(member))
