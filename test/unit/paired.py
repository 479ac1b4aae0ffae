"""A comparison of two executables from samples that are written down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iree_tuner.measure.statistics import Comparison, compare_rows


def compare_pairs(groups: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Comparison:
    """Compare paired samples: of the default and of the other, taken in turns; in microseconds.

    Raises ValueError if there are no groups, or one is empty or does not consist of pairs.
    """
    if not groups or any(len(first) != len(second) or not len(first) for first, second in groups):
        raise ValueError("samples must come in pairs, and there must be some")
    rows = [
        np.stack([np.asarray(first, float), np.asarray(second, float)], axis=1) for first, second in groups
    ]
    return compare_rows(rows)[0]
