"""Priors that never saw the workload they are used on: leave one workload out."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from iree_tuner.ops.workload import Workload
from iree_tuner.search.cost.forest import Forest
from iree_tuner.search.replay.recorded import RecordedSpace
from iree_tuner.search.replay.training import train

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
    """Whether knowing one is knowing the other: equal keys, or the same sizes, types and maps.

    The second is for a dynamic workload that was recorded at the size of a static one: their keys differ.
    """
    shapes = ((each.loops, each.types, each.maps) for each in (one, two))
    return one.key == two.key or len(set(shapes)) == 1


def train_prior(space: RecordedSpace, spaces: Sequence[RecordedSpace]) -> Forest | None:
    """A prior from the other workloads of `spaces`; None where there is none of the same kind.

    Raises:
        TunerError: scikit-learn is not installed.
    """
    known = others(space, spaces)
    return train(known) if known else None
