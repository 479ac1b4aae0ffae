"""Whether two results are the same, within what their types allow.

Two programs that add the same K numbers in different orders differ by about sqrt(K) roundings of the
accumulator, each at most half an epsilon of the running sum; the running sum is no larger than the largest
result by much. So a result may differ by `2 sqrt(K)` (at least 16) epsilons of the accumulator's type,
relative to the largest value of its tensor, plus two epsilons of its own type for its last rounding.
Integers must be equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import numpy.typing as npt

from iree_tuner.measure.data import dtype_of

_LEAST_ROUNDINGS = 16.0


@dataclass(frozen=True)
class Agreement:
    """Outcome of one comparison.

    Attributes:
        ok: within tolerance everywhere.
        worst: largest error as a multiple of its tolerance (1 is the limit); inf where one is not a number.
        message: what differs; empty when `ok`.
    """

    ok: bool
    worst: float
    message: str = ""


def epsilon(element_type: str) -> float:
    """Distance from 1 to the next number; 0 for integers."""
    dtype = dtype_of(element_type)
    if dtype is None or dtype.kind == "i":
        return 0.0
    kind = np.float32 if dtype.kind == "c" else dtype
    return float(ml_dtypes.finfo(kind).eps)


def compare(
    got: npt.NDArray[np.generic],
    expected: npt.NDArray[np.generic],
    element_type: str,
    accumulator_type: str,
    reduction_length: int,
) -> Agreement:
    """Compare a result with the expected one; see the module's text for the tolerance."""
    dtype = dtype_of(element_type)
    if dtype is not None and dtype.kind == "i":
        wrong = int(np.count_nonzero(got != expected))
        return Agreement(wrong == 0, math.inf if wrong else 0.0, f"{wrong} integers differ" if wrong else "")
    wide = np.complex128 if dtype is not None and dtype.kind == "c" else np.float64
    a, b = got.astype(wide), expected.astype(wide)
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(np.isnan(a), np.isnan(b)):
        count = int(np.count_nonzero(np.isfinite(a) != finite))
        return Agreement(False, math.inf, f"{count} values are finite in one result only")
    if not finite.any():
        return Agreement(True, 0.0)
    a, b = a[finite], b[finite]
    roundings = max(_LEAST_ROUNDINGS, 2.0 * math.sqrt(reduction_length))
    allowed = np.abs(b) * 2.0 * epsilon(element_type)
    allowed = allowed + float(np.abs(b).max()) * epsilon(accumulator_type) * roundings
    error = np.abs(a - b)
    worst = float((error / np.maximum(allowed, np.finfo(np.float64).tiny)).max())
    if worst <= 1.0:
        return Agreement(True, worst)
    message = f"largest error {error.max():.3g}, {worst:.3g} times the tolerance"
    return Agreement(False, worst, message)
