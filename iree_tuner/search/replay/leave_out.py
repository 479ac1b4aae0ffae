"""Priors that never saw the workload they are used on: leave one workload out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from iree_tuner.errors import TunerError
from iree_tuner.ops.workload import Workload
from iree_tuner.search.cost.forest import Forest
from iree_tuner.search.cost.terms import Array
from iree_tuner.search.replay.recorded import RecordedSpace

# Train a prior on recordings. Needs scikit-learn: the extra `learn`.


_WORST = 4.0  # log2 of a time as a multiple of the best, for what is slower, and for failures
_DIGITS = 6  # see `search.cost.landscape`
_TREES = 100
_LEAVES = 256


def train(spaces: Sequence[RecordedSpace]) -> Forest:
    """A forest that guesses log2 of a member's time as a multiple of the best, from spaces of one kind.

    Each space counts the same, and its fast members count more, because their order matters. Raises
    TunerError if scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import ExtraTreesRegressor
    except ImportError:
        raise TunerError("scikit-learn is not installed", hint="pip install iree-tuner[learn]") from None
    tables = [_table(space) for space in spaces]
    rows = np.concatenate([table[0] for table in tables]).astype(np.float32)
    values = np.concatenate([table[1] for table in tables])
    weights = np.concatenate([_weights(table[1]) for table in tables])
    model: Any = ExtraTreesRegressor(
        _TREES, max_leaf_nodes=_LEAVES, min_samples_leaf=3, max_features=0.5, random_state=0
    )
    model.fit(rows, values, sample_weight=weights)
    about = tuple(f"{space.name} {space.workload.key}" for space in spaces)
    return _exported(model, spaces[0].features, about)


def _table(space: RecordedSpace) -> tuple[Array, Array]:
    times = [space.times_us.get(member, math.inf) / space.best_us for member in space.members]
    values = np.minimum(np.log2(np.array(times)), _WORST)
    return space.encode(space.members), np.asarray(np.round(values, _DIGITS), np.float64)


def _single(limits: Array) -> Array:
    """Limits in single precision that part the same rows: none is rounded up."""
    rounded = limits.astype(np.float32)
    return np.where(rounded > limits, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def _weights(values: Array) -> Array:
    weights = np.round(np.exp2(-values), _DIGITS)
    return weights / weights.sum()


def _exported(model: Any, features: tuple[str, ...], about: tuple[str, ...]) -> Forest:  # noqa: ANN401
    roots: list[int] = []
    parts: list[tuple[Any, ...]] = []
    count = 0
    for estimator in model.estimators_:
        tree = estimator.tree_
        leaf = tree.children_left < 0
        roots.append(count)
        parts.append((
            np.where(leaf, -1, tree.feature).astype(np.int16),
            np.where(leaf, 0.0, _single(tree.threshold)).astype(np.float32),
            np.where(leaf, 0, tree.children_left + count).astype(np.int32),
            np.where(leaf, 0, tree.children_right + count).astype(np.int32),
            tree.value[:, 0, 0].astype(np.float32),
        ))  # fmt: skip
        count += tree.node_count
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Forest(features, np.array(roots, np.int32), *columns, about=about)


_KNOBS = "knobs"
"""The kind of features that mean something else in each space; see `Encoder`."""


def can_train() -> bool:
    """Whether scikit-learn is installed."""
    return find_spec("sklearn") is not None


def others(space: RecordedSpace, spaces: Sequence[RecordedSpace]) -> list[RecordedSpace]:
    """The recordings that a prior for `space` may be trained on: of its kind, and of other workloads.

    The order does not depend on the order of `spaces`, because training depends on it.
    """
    if space.kind == _KNOBS:
        return []
    found = [
        each
        for each in spaces
        if (each.kind, each.features) == (space.kind, space.features)
        and not same_work(each.workload, space.workload)
    ]
    return sorted(found, key=lambda each: (each.workload.key, each.name))


def same_work(one: Workload, two: Workload) -> bool:
    """Whether one predicts the times of the other: equal keys, or the same sizes, types and maps.

    The second is for a dynamic workload that was recorded at the size of a static one.
    """
    shapes = ((each.loops, each.types, each.maps) for each in (one, two))
    return one.key == two.key or len(set(shapes)) == 1


def train_prior(space: RecordedSpace, spaces: Sequence[RecordedSpace]) -> Forest | None:
    """A prior from other workloads of the same kind; None if there are none. Raises what `train` does."""
    known = others(space, spaces)
    return train(known) if known else None
