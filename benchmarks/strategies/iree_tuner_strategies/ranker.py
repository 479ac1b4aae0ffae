"""A learned ranker: an online classifier of "in the top decile of measured members".

Likelihood-free Bayesian optimisation (J. Song, L. Yu, W. Neiswanger and S. Ermon, *A General Recipe for
Likelihood-free Bayesian Optimization*, ICML 2022): where the good ones count as much as they are better than
the threshold, the probability that a classifier gives orders candidates as the improvement that is expected
of them. No assumption about the times of bad ones is needed, and failures count as bad ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from iree_tuner.search.cost.landscape import ESTIMATE, Landscape
from iree_tuner.search.cost.terms import Array
from iree_tuner.search.sampled_space import Pool, ranked
from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment

_DECILE = 0.1
_WARM = 16  # results before anything is learned: two batches of eight
_BELIEF = 16.0  # results that the order of the warm start counts as
_TREES = 100
_PARENTS = 3
_MOST = 1024  # results that are learned from: the last, and all that are good
_LOOKED_AT = 256  # of which the next of a batch is chosen
_WORST = 3.0  # log2 of a time relative to the default, for what is slower, and for failures
_HOPELESS = 6.0  # log2: estimates beyond that times the least say no more
_SAME = 1e-6
_ALIKE = 0.5  # how much less one is wanted that no tree can tell from one of its batch


class Ranker:
    """A random forest behind ask and tell; see the module.

    Args:
        space: what can be tried.
        seed: of everything random.
        start: where the compiler's own choice lies; it is learned from.
    """

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        self._space = space
        self._seed = seed
        self._pool = Pool(space, seed)
        self._places: list[int] = []
        self._values: list[float] = []
        self._guessed: Array | None = None
        if start is not None:  # the default has the score 1 by definition
            self._learn(start, 1.0)

    def ask(self, count: int) -> list[Assignment]:
        """The most likely to be good, and unlike those chosen with them."""
        self._look_around()
        places = self._pool.left()
        if not places:
            return []
        order = self._order()
        if len(self._values) < _WARM:
            return self._pool.propose(ranked(order, places)[:count])
        likely, leaves = self._judged(order)
        return self._pool.propose(_diverse(likely, leaves, ranked(-likely, places), count))

    def tell(self, results: Sequence[Result]) -> None:
        """Learn from times, and from failures."""
        for result in results:
            self._learn(result.assignment, result.score)

    def _learn(self, assignment: Assignment, score: float) -> None:
        value = float(np.clip(np.log2(max(score, 1e-6)), -10.0, _WORST)) if np.isfinite(score) else _WORST
        place = self._pool.place(assignment)
        self._pool.propose([place])  # what others asked for is not open any more
        self._places.append(place)
        self._values.append(value)

    def _look_around(self) -> None:
        """Add the neighbors of the best."""
        if len(self._values) >= _WARM:
            for each in np.argsort(np.array(self._values), kind="stable")[:_PARENTS]:
                self._pool.add(self._space.neighbors(self._pool.members[self._places[each]]))

    def _order(self) -> Array:
        """Before anything was seen, least first: first principles and what other workloads suggest, added."""
        size = len(self._pool.members)
        if self._guessed is None or len(self._guessed) != size:  # members are only ever added
            guess = self._space.guess(self._pool.rows)
            self._guessed = np.zeros(size) if guess is None else guess
        estimate, order = self._pool.column(ESTIMATE), self._guessed
        return order if estimate is None else order + np.minimum(estimate - estimate.min(), _HOPELESS)

    def _judged(self, order: Array) -> tuple[Array, Array]:
        """For each of the pool, how likely it is to be good; and its leaf in each tree."""
        values = np.array(self._values)
        bound = float(np.quantile(values, _DECILE))
        good = (values <= bound) & (values < _WORST)  # where most fail, the threshold is a failure
        belief = np.exp2(float(order.min()) - order)
        if not good.any():
            return belief, np.zeros((len(belief), 1))
        kept = np.flatnonzero(good | (np.arange(len(values)) >= len(values) - _MOST))
        weights = np.where(good, bound - values, 0.0)
        # The best count more; equal ones alike. All good ones together count as much as all bad ones.
        weights = weights + max(float(weights.max()), _SAME) * _DECILE
        weights[~good] = weights[good].sum() / max(1, int((~good).sum()))
        rows = np.column_stack([self._pool.rows, order])
        seen = np.array(self._places)[kept]
        forest: Any = RandomForestClassifier(
            n_estimators=_TREES, min_samples_leaf=1, criterion="log_loss", random_state=self._seed, n_jobs=1
        )
        forest.fit(rows[seen], good[kept], sample_weight=weights[kept] / weights[kept].mean())
        probability = forest.predict_proba(rows)[:, -1]  # of True, which comes last, and is never absent
        likely = (len(values) * probability + _BELIEF * belief) / (len(values) + _BELIEF)
        return likely, forest.apply(rows)


def _diverse(likely: Array, leaves: Array, order: Sequence[int], count: int) -> list[int]:
    """The likeliest, each unlike those before it.

    Two are alike if trees cannot tell them apart.
    """
    looked_at = list(order[: max(count, _LOOKED_AT)])
    chosen: list[int] = []
    unlike: Array = np.ones(len(looked_at))
    for _ in range(min(count, len(looked_at))):
        taken = set(chosen)
        open_ones = [each for each, place in enumerate(looked_at) if place not in taken]
        next_one = ranked(-likely[looked_at] * unlike, open_ones)[0]
        chosen.append(looked_at[next_one])
        shared = (leaves[looked_at] == leaves[looked_at[next_one]]).mean(axis=1)
        unlike = np.minimum(unlike, 1.0 - _ALIKE * shared)
    return chosen
