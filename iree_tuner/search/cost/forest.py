"""Regression trees as plain arrays: what was trained elsewhere, evaluated with numpy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iree_tuner.search.cost.terms import Array

_TOGETHER = 256
"""Rows that go through all trees at once."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees side by side; the value of a row is the mean over the trees."""

    features: tuple[str, ...]  # names of the columns that the trees look at
    roots: NDArray[np.int32]  # for each tree, its first node
    column: NDArray[np.int16]  # for each node, the column it looks at; -1 for a leaf
    limit: NDArray[np.float32]  # rows with a value up to it go left
    # left, right: the nodes there
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float32]  # of a leaf
    about: tuple[str, ...] = ()  # what it was trained on: names and keys of workloads

    def predict(self, rows: Array) -> Array:
        """A value for each row; `rows` has a column for each of `features`."""
        rounded, trees = rows.astype(np.float32), len(self.roots)
        found = np.zeros(len(rows))
        for start in range(0, len(rows), _TOGETHER):
            part = rounded[start : start + _TOGETHER]
            node = np.tile(self.roots, len(part))
            row = np.repeat(np.arange(len(part)), trees)
            inside = np.arange(len(node))
            while len(inside):
                at = node[inside]
                column = self.column[at]
                goes_on = column >= 0
                inside, at = inside[goes_on], at[goes_on]
                seen = part[row[inside], column[goes_on]]
                node[inside] = np.where(seen <= self.limit[at], self.left[at], self.right[at])
            for values in self.value[node].reshape(len(part), trees).T:
                found[start : start + _TOGETHER] += values
        return found / max(1, trees)

    def save(self, path: Path) -> None:
        """Write it, compressed; equal forests give equal files."""
        arrays: dict[str, Any] = {
            "features": np.array(self.features), "about": np.array(self.about), "roots": self.roots,
            "column": self.column, "limit": self.limit, "left": self.left, "right": self.right,
            "value": self.value,
        }  # fmt: skip
        with path.open("wb") as stream:
            np.savez_compressed(stream, **arrays)

    @classmethod
    def load(cls, path: Path) -> Forest:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as data:
            arrays: Mapping[str, Any] = {name: data[name] for name in data.files}
        texts = {name: tuple(str(each) for each in arrays[name]) for name in ("features", "about")}
        rest = {name: arrays[name] for name in arrays if name not in texts}
        return cls(**texts, **rest)


# Predictions for a space without measurements, from recordings of other workloads.
#
# `scripts/train_priors.py` makes the forests next to this file from the recordings in the repository.


FOLDER = Path(__file__).parent / "priors"


@cache
def shipped_prior(kind: str) -> Forest | None:
    """The forest for a kind of features, or None."""
    path = FOLDER / f"{kind}.npz"
    return Forest.load(path) if path.is_file() else None


def guess(forest: Forest, features: Sequence[str], rows: Array) -> Array:
    """The forest's values, for columns in any order. Raises ValueError for a missing one."""
    places = [list(features).index(name) for name in forest.features]
    return forest.predict(rows[:, places])
