"""Predictions for a space without measurements, from recordings of other workloads.

`scripts/train_priors.py` makes the forests next to this file from the recordings in the repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from iree_tuner.search.cost.access import Array
from iree_tuner.search.cost.forest import Forest

FOLDER = Path(__file__).parent / "priors"


@cache
def shipped_prior(kind: str) -> Forest | None:
    """The forest for a kind of features; None where there is none."""
    path = FOLDER / f"{kind}.npz"
    return Forest.load(path) if path.is_file() else None


def guess(forest: Forest, features: Sequence[str], rows: Array) -> Array:
    """The forest's values, in whatever order the columns are. Raises ValueError for a missing one."""
    places = [list(features).index(name) for name in forest.features]
    return forest.predict(rows[:, places])
