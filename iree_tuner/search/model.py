"""The default strategy: it begins with a prior from other workloads, corrects it, and looks around the best.

The expected time of a candidate is the prior, weighted by how right it was here, plus a Gaussian process of
the differences. Some of a batch are chosen for the expected time, others for their uncertainty.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from iree_tuner.search.cost.landscape import ESTIMATE, Landscape
from iree_tuner.search.cost.terms import Array
from iree_tuner.search.sampled_space import Pool, ranked
from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment

_WORST = 3.0  # log2 of a time relative to the default, for what is slower, and for failures
_LEAST = 3  # results before the prior is corrected
_MOST = 256  # results that a correction is made from: the best and the last
_PARENTS = 3
_CLIMBS, _CLIMBERS = 4, 16
_OPTIMISM = (0.0, 1.0, 0.5, 2.0)
_TOO_NEAR = 0.02
_LOOKED_AT = 64  # of the most promising, for one that is not too near
_GOOD = 0.02  # quantile of the estimates that stands for the best one
_HOPELESS = 6.0  # log2: estimates beyond that times it say no more
_TAUGHT = 0.25  # weight of what other workloads teach, next to the estimate: it mostly repeats it
_TRUST = 0.7  # slope of times against the prior
_USUAL = 4.0  # results that this counts as
_NOISE = 0.05  # standard deviation of a measured value, of the spread of all
_LENGTHS = (0.25, 0.5, 1.0, 2.0)
_JITTER = 1e-8  # on the diagonal of a kernel, which rounding may leave singular


class Model:
    """See the module."""

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        self._space = space
        self._pool = Pool(space, seed)
        self._places: list[int] = []
        self._values: list[float] = []
        self._spread: set[int] = set()
        self._asked = 0
        self._guesses: Array | None = np.zeros(0)
        if start is not None:  # the default has the score 1 by definition
            self._learn(start, 1.0)
            self._pool.propose([self._pool.place(start)])

    def ask(self, count: int) -> list[Assignment]:
        """The most promising members that are not too similar to each other."""
        self._look_around()
        places = self._pool.left()
        if not places:
            return []
        mean, deviation = self._expected()
        chosen: list[int] = []
        scaled = self._pool.rows / self._pool.spread
        orders: dict[float, list[int]] = {}
        for _ in range(min(count, len(places))):
            optimism = _OPTIMISM[self._asked % len(_OPTIMISM)]
            self._asked += 1
            if optimism not in orders:
                orders[optimism] = ranked(mean - optimism * deviation, places)
            left = (place for place in orders[optimism] if place not in chosen)
            looked_at = list(islice(left, _LOOKED_AT))
            gaps = (np.square(scaled[place] - scaled[chosen]).mean(axis=1) for place in looked_at)
            apart = (place for place, gap in zip(looked_at, gaps, strict=True) if (gap > _TOO_NEAR).all())
            chosen.append(next(apart, looked_at[0]))
        return self._pool.propose(chosen)

    def tell(self, results: Sequence[Result]) -> None:
        """Learn from times, and from failures."""
        for result in results:
            self._learn(result.assignment, result.score)

    def _learn(self, assignment: Assignment, score: float) -> None:
        value = float(np.clip(np.log2(max(score, 1e-6)), -10.0, _WORST)) if np.isfinite(score) else _WORST
        self._places.append(self._pool.place(assignment))
        self._values.append(value)

    def _look_around(self) -> None:
        """Add the neighbors of the best; at first, next to the prior's best, step by step."""
        for each in np.argsort(np.array(self._values), kind="stable")[:_PARENTS]:
            place = self._places[each]
            if place not in self._spread:
                self._spread.add(place)
                self._pool.add(self._space.neighbors(self._pool.members[place]))
        seen: set[int] = set()
        for _ in range(0 if self._asked else _CLIMBS):  # among plain tiles: no times are known yet
            for place in ranked(self._prior(), range(len(self._pool.members)))[:_CLIMBERS]:
                if place not in seen:
                    seen.add(place)
                    around = self._space.neighbors(self._pool.members[place])
                    self._pool.add(each for each in around if self._space.is_plain(each))

    def _prior(self) -> Array:
        """The estimate and what other workloads teach: if one is wrong, the other often is not."""
        estimate, guess = self._pool.column(ESTIMATE), self._guessed()
        if estimate is None:
            return np.zeros(len(self._pool.members)) if guess is None else guess
        prior = np.minimum(estimate - float(np.quantile(estimate, _GOOD)), _HOPELESS)
        return prior if guess is None else prior + _TAUGHT * guess

    def _guessed(self) -> Array | None:
        """The landscape's guess for all members. Those that were added since the last time are new to it."""
        known, rows = self._guesses, self._pool.rows
        if known is not None and len(known) < len(rows):
            more = self._space.guess(rows[len(known) :])
            self._guesses = known = None if more is None else np.concatenate([known, more])
        return known

    def _expected(self) -> tuple[Array, Array]:
        prior = self._prior()
        if len(self._values) < _LEAST:
            return prior, np.zeros(len(prior))
        kept = self._kept()
        rows = self._pool.rows
        seen = np.array([self._places[each] for each in kept])
        values = np.array([self._values[each] for each in kept])
        line = _line(prior[seen], values)
        expected = line[0] + line[1] * prior
        process = _Process(rows[seen], values - expected[seen], self._pool.spread)
        mean, deviation = process.predict(rows)
        return expected + mean, deviation

    def _kept(self) -> list[int]:
        if len(self._values) <= _MOST:
            return list(range(len(self._values)))
        best = [int(each) for each in np.argsort(np.array(self._values), kind="stable")[: _MOST // 2]]
        last = [each for each in range(len(self._values) - 1, -1, -1) if each not in set(best)]
        return sorted([*best, *last[: _MOST // 2]])


def _line(prior: Array, values: Array) -> tuple[float, float]:
    """How well the prior predicts here: offset and slope of measured times against it."""
    spread = float(prior.var())
    slope = _TRUST
    if spread > 1e-6:
        # As if a few more results had shown the usual slope: with few results the line follows noise.
        weight = len(values) * spread
        usual = _USUAL * max(spread, 1.0)
        found = float(((prior - prior.mean()) * (values - values.mean())).sum())
        slope = float(np.clip((found + usual * _TRUST) / (weight + usual), 0.1, 1.0))
    return float(np.median(values - slope * prior)), slope


class _Process:
    """A Gaussian process, which predicts candidates from similar ones that were measured.

    Its kernel is Matern's of smoothness 5/2 (Rasmussen and Williams, 2006, chapter 4). The length scale is
    chosen from `_LENGTHS` (in units of the root of the number of features) by the likelihood. Features, a row
    for each of `values`, are divided by `scales`.
    """

    def __init__(self, rows: Array, values: Array, scales: Array) -> None:
        self._scales = scales
        self._rows = rows / scales
        self._spread = max(float(values.std()), 1e-3)
        self._values = values / self._spread
        root = float(np.sqrt(rows.shape[1]))
        self._length = max((length * root for length in _LENGTHS), key=self._likelihood)
        self._factor = self._factored(self._length)
        self._weights = _solve(self._factor, self._values)

    def predict(self, rows: Array) -> tuple[Array, Array]:
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
