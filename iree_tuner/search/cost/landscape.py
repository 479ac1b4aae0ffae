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
        """The same, but first the members whose secondary options are plain, and then all others.

        So that a tile comes once before its variants do, where a space has such options.
        """
        ...

    def is_plain(self, assignment: Assignment) -> bool:
        """Whether a member is among the first of `staged`, and not a variant of such a one."""
        ...

    def encode(self, assignments: Sequence[Assignment]) -> Array:
        """A row of numbers for each assignment, logarithms of similar size."""
        ...

    def neighbors(self, assignment: Assignment) -> list[Assignment]:
        """Members next to one, a step of one knob away."""
        ...

    def guess(self, rows: Array) -> Array | None:
        """For rows of `encode`, log2 of the time as a multiple of the best, as other workloads suggest.

        None where nothing is known of features like these.
        """
        ...


class SpaceLandscape:
    """A workload's spaces, as they are measured."""

    def __init__(self, space: JointSpace, machine: Machine) -> None:
        self._space = space
        names = dict.fromkeys(name for each in space.spaces for name in each.names)
        self.encoder = Encoder(space.workload, space.label, tuple(names), machine)
        self.features = self.encoder.features
        self.kind = self.encoder.kind

    def shuffled(self, seed: int) -> Iterator[Assignment]:
        """As `JointSpace` shuffles."""
        return self._space.shuffled(seed)

    def staged(self, seed: int) -> Iterator[Assignment]:
        """As `JointSpace` does."""
        return self._space.staged(seed)

    def is_plain(self, assignment: Assignment) -> bool:
        """As `JointSpace` tells."""
        return self._space.is_plain(assignment)

    def encode(self, assignments: Sequence[Assignment]) -> Array:
        """As `Encoder` encodes."""
        return self.encoder.encode(assignments)

    def neighbors(self, assignment: Assignment) -> list[Assignment]:
        """As `JointSpace` finds them."""
        return self._space.neighbors(assignment)

    def guess(self, rows: Array) -> Array | None:
        """By the forest that ships for this kind of features."""
        forest = shipped_prior(self.kind)
        return None if forest is None else guess(forest, self.features, rows)
