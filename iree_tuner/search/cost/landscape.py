"""A space as strategies see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from iree_tuner.search.cost.encoder import Encoder
from iree_tuner.search.cost.forest import guess, shipped_prior
from iree_tuner.search.cost.terms import Array
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import JointSpace
from iree_tuner.targets.machine import Machine


class Landscape(Protocol):
    """The questions that a strategy may ask about a space. It never looks inside an assignment."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns of `encode`."""
        ...

    @property
    def kind(self) -> str:
        """Which features these are; see `Encoder`."""
        ...

    def shuffled(self, seed: int) -> Iterator[Assignment]:
        """Every member once, in a random order that is the same for the same seed."""
        ...

    def staged(self, seed: int) -> Iterator[Assignment]:
        """The same, but members with plain secondary options first, and then all others.

        So a tile comes once before its variants do.
        """
        ...

    def is_plain(self, assignment: Assignment) -> bool:
        """Whether a member is among the first of `staged`, and not a variant."""
        ...

    def encode(self, assignments: Sequence[Assignment]) -> Array:
        """A row of numbers for each assignment, logarithms of similar size."""
        ...

    def neighbors(self, assignment: Assignment) -> list[Assignment]:
        """Members next to one, a step of one knob away."""
        ...

    def guess(self, rows: Array) -> Array | None:
        """For rows of `encode`, log2 of the time as a multiple of the best, learned from other workloads.

        None if nothing is known about features of this kind.
        """
        ...


class SpaceLandscape:
    """A workload's spaces, as they are measured."""

    def __init__(self, space: JointSpace, machine: Machine) -> None:
        self.shuffled, self.staged = space.shuffled, space.staged
        self.is_plain, self.neighbors = space.is_plain, space.neighbors
        names = dict.fromkeys(name for each in space.spaces for name in each.names)
        self.encoder = Encoder(space.workload, space.label, tuple(names), machine)
        self.encode = self.encoder.encode
        self.features, self.kind = self.encoder.features, self.encoder.kind

    def guess(self, rows: Array) -> Array | None:
        """By the forest that ships for this kind of features."""
        forest = shipped_prior(self.kind)
        return None if forest is None else guess(forest, self.features, rows)
