"""A space as strategies see it, and its assignments as rows of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from iree_tuner.ops.workload import Workload
from iree_tuner.search.cost import cpu, gpu, gpu_streams
from iree_tuner.search.cost.forest import guess, shipped_prior
from iree_tuner.search.cost.terms import Array, Estimate
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import JOINED, SPACE, JointSpace
from iree_tuner.targets.machine import Machine

_DIGITS = 6  # logarithms differ in the last bits between processors; decisions must not
_MODELS = {
    "gpu_attention": (gpu.fits_attention, gpu.estimate_attention),
    "gpu_threads": (gpu.fits_threads, gpu.estimate_threads),
    "gpu_streams": (gpu_streams.fits, gpu_streams.estimate),
}
"""Whether a model is for a space, and its estimate."""
ESTIMATE = "estimate"
"""The feature that holds the logarithm of the estimated time, if any."""


class Encoder:
    """Features of a space's assignments, for models: log2 of everything.

    Args:
        workload: of the space.
        label: the space's, or those of several joined by `+`.
        names: knobs of all of the spaces.
        machine: that it runs on.
    """

    def __init__(self, workload: Workload, label: str, names: Sequence[str], machine: Machine) -> None:
        self.workload = workload
        self.machine = machine
        self._labels = label.split(JOINED)
        self._names = tuple(names)
        blank = {name: np.zeros(1) for name in self._names}
        if machine.kind == "cpu":
            self.kind = "cpu"
        else:  # `knobs` has no model of costs: its rows cannot be compared across workloads
            models = {"gpu_matrix": gpu.fits} | {name: fits for name, (fits, _) in _MODELS.items()}
            self.kind = next((name for name, fits in models.items() if fits(workload, blank)), "knobs")
        with np.errstate(all="ignore"):  # only the names count
            self.features: tuple[str, ...] = tuple(self._table([Assignment.of({})]))

    def encode(self, assignments: Sequence[Assignment]) -> Array:
        """A row for each assignment, a column for each of `features`."""
        if not assignments:
            return np.zeros((0, len(self.features)))
        return np.stack(list(self._table(assignments).values()), axis=1)

    def estimate(self, assignments: Sequence[Assignment]) -> Estimate | None:
        """Terms and cycles from first principles; None without a model of costs."""
        knobs, count = self._columns(assignments), len(assignments)
        if self.kind == "cpu":
            return cpu.estimate(self.workload, knobs, count, self.machine)
        if self.kind == "gpu_matrix":
            pipelines = [self._labels[each.get(SPACE, 0)].partition(":")[0] for each in assignments]
            second = np.array([float(each == "VectorDistribute") for each in pipelines])
            return gpu.estimate(self.workload, knobs, second, self.machine)
        return _MODELS[self.kind][1](self.workload, knobs, self.machine) if self.kind in _MODELS else None

    def _columns(self, assignments: Sequence[Assignment]) -> dict[str, Array]:
        return {name: np.array([each.get(name, 0) for each in assignments], float) for name in self._names}

    def _table(self, assignments: Sequence[Assignment]) -> dict[str, Array]:
        found = self.estimate(assignments)
        if found is None:
            return {name: _logarithm(1.0 + column) for name, column in self._columns(assignments).items()}
        columns = {ESTIMATE: found.cycles, **found.features}
        return {name: _logarithm(column) for name, column in columns.items()}


def _logarithm(column: Array) -> Array:
    """To base two, rounded to digits that are equal on all processors."""
    return np.asarray(np.round(np.log2(np.maximum(column, 1e-9)), _DIGITS), np.float64)


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
