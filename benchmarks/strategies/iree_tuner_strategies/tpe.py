"""Optuna's TPE sampler (J. Bergstra et al., 2011; T. Akiba et al., 2019) as a strategy.

A sampler needs parameters, and a strategy does not know the knobs. The parameters are the principal
components of the members' features; the member that is nearest to a suggestion is proposed, and the sampler
gets that member's place.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import optuna

from iree_tuner.search.cost.landscape import Landscape
from iree_tuner.search.cost.terms import Array
from iree_tuner.search.sampled_space import Pool
from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment

_PARAMETERS = 8
_VARIANCE = 0.99  # that the parameters explain, if that few can
_WORST = 3.0  # log2 of a time relative to the default, for what is slower, and for failures


class Optuna:
    """Multivariate TPE; candidates that are being measured count as bad ones, so that batches are diverse.

    Args:
        space: what can be tried.
        seed: of everything random.
        start: where the compiler's own choice lies; the sampler gets it.
    """

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        self._pool = Pool(space, seed)
        self._axes = _Axes(self._pool.rows)
        points = self._axes.of(self._pool.rows)
        self._distributions = {
            f"component_{place}": optuna.distributions.FloatDistribution(column.min(), column.max())
            for place, column in enumerate(points.T)
        }
        with _quiet():
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
            self._study: Any = optuna.create_study(sampler=sampler)
        self._waiting: dict[int, Any] = {}
        if start is not None:  # the default has the score 1 by definition
            self._learn(self._pool.place(start), 1.0)

    def ask(self, count: int) -> list[Assignment]:
        """The nearest open members to the sampler's suggestion."""
        asked: list[Assignment] = []
        while len(asked) < count and (left := self._pool.left()):
            asked += self._pool.propose([self._suggested(left)])
        return asked

    def tell(self, results: Sequence[Result]) -> None:
        """Pass it on; a failure is a bad time."""
        for result in results:
            place = self._pool.place(result.assignment)
            self._pool.propose([place])  # what others asked for is not open any more
            trial = self._waiting.pop(place, None)
            if trial is not None:  # it lies at the suggestion, not at the member
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
            self._learn(place, result.score)

    def _suggested(self, left: Sequence[int]) -> int:
        trial = self._study.ask(self._distributions)
        wanted = np.array([trial.params[name] for name in self._distributions])
        points = self._axes.of(self._pool.rows[list(left)])
        place = left[int(np.argmin(np.round(np.square(points - wanted).sum(axis=1), 6)))]
        self._waiting[place] = trial
        return place

    def _learn(self, place: int, score: float) -> None:
        point = self._axes.of(self._pool.rows[[place]])[0]
        params = {
            name: float(np.clip(value, each.low, each.high))  # a member that was added may lie further out
            for (name, each), value in zip(self._distributions.items(), point, strict=True)
        }
        value = float(np.clip(np.log2(max(score, 1e-6)), -10.0, _WORST)) if np.isfinite(score) else _WORST
        done = optuna.trial.create_trial(params=params, distributions=self._distributions, value=value)
        self._study.add_trial(done)


class _Axes:
    """Principal components of rows, each feature scaled by its spread."""

    def __init__(self, rows: Array) -> None:
        self._center = rows.mean(axis=0)
        self._spread = np.maximum(rows.std(axis=0), 1e-3)
        _, sizes, axes = np.linalg.svd((rows - self._center) / self._spread, full_matrices=False)
        explained = np.cumsum(sizes**2) / max(float((sizes**2).sum()), 1e-12)
        count = min(_PARAMETERS, int(np.searchsorted(explained, _VARIANCE)) + 1, int((sizes > 1e-6).sum()))
        kept = axes[:count]
        # Either direction is right: that in which the largest part is positive is the same on every machine.
        largest = np.argmax(np.round(np.abs(kept), 6), axis=1)
        self._axes = kept * np.sign(kept[np.arange(count), largest])[:, None]

    def of(self, rows: Array) -> Array:
        """Rows as positions along the axes."""
        return np.round(((rows - self._center) / self._spread) @ self._axes.T, 6)


@contextmanager
def _quiet() -> Generator[None]:
    """Nothing on standard error about a new study, and about options that are called experimental."""
    loud = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(loud)
