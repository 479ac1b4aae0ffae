"""A Gaussian process: it predicts candidates from similar ones that were measured."""

from __future__ import annotations

import numpy as np

from iree_tuner.cost.access import Array

_NOISE = 0.05
_JITTER = 1e-8


class Process:
    """Regression with a Matern kernel of smoothness 5/2 (Rasmussen and Williams, 2006, chapter 4).

    The length scale is chosen by the likelihood from a few; features are scaled by their spread.

    Args:
        rows: features, a row each.
        values: what was seen there.
        scales: by which features are divided.
        lengths: length scales to choose from, in units of the root of the number of features.
    """

    def __init__(
        self, rows: Array, values: Array, scales: Array, lengths: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)
    ) -> None:
        self._scales = scales
        self._rows = rows / scales
        self._spread = max(float(values.std()), 1e-3)
        self._values = values / self._spread
        root = float(np.sqrt(rows.shape[1]))
        self._length = max((length * root for length in lengths), key=self._likelihood)
        self._factor = self._factored(self._length)
        self._weights = _solve(self._factor, self._values)

    def predict(self, rows: Array) -> tuple[Array, Array]:
        """Mean and standard deviation at other places."""
        across = _matern(rows / self._scales, self._rows, self._length)
        mean = across @ self._weights
        half = np.linalg.solve(self._factor, across.T)
        variance = np.maximum(1e-9, 1.0 - (half * half).sum(axis=0))
        return mean * self._spread, np.sqrt(variance) * self._spread

    def _factored(self, length: float) -> Array:
        kernel = _matern(self._rows, self._rows, length)
        noise = (_NOISE**2 + _JITTER) * np.eye(len(kernel))
        return np.asarray(np.linalg.cholesky(kernel + noise), np.float64)

    def _likelihood(self, length: float) -> float:
        factor = self._factored(length)
        weights = _solve(factor, self._values)
        value = -0.5 * float(self._values @ weights) - float(np.log(np.diag(factor)).sum())
        return round(value, 6)


def _solve(factor: Array, values: Array) -> Array:
    return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, values)), np.float64)


def _matern(left: Array, right: Array, length: float) -> Array:
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2.0 * left @ right.T
    distance = np.sqrt(5.0 * np.maximum(squares, 0.0)) / length
    return (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
