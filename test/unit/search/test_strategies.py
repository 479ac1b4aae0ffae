"""Strategies are tested on a plain stand-in for a space: no compiler, no kernel."""

from dataclasses import dataclass

import numpy as np
import pytest

from iree_tuner.errors import UsageError
from iree_tuner.search.registry import make_strategy, strategy_names
from iree_tuner.space.configuration import Assignment


class Grid:
    """Knobs x and y from 0 to `side` - 1; everything is legal."""

    features = ("x", "y")
    kind = "grid"

    def __init__(self, side):
        self.side = side

    def encode(self, assignments):
        return np.array([[each["x"], each["y"]] for each in assignments], float).reshape(-1, 2)

    def guess(self, rows):
        return None

    def sample(self, n, seed):
        rng = np.random.default_rng(seed)
        picked = rng.choice(self.side**2, min(n, self.side**2), replace=False)
        return [Assignment.of({"x": int(p) // self.side, "y": int(p) % self.side}) for p in picked]

    def shuffled(self, seed):
        return iter(self.sample(self.side**2, seed))

    def neighbors(self, assignment):
        steps = [(1, 0), (-1, 0), (0, 1), (0, -1)]
        moved = [(assignment["x"] + dx, assignment["y"] + dy) for dx, dy in steps]
        inside = [(x, y) for x, y in moved if 0 <= x < self.side and 0 <= y < self.side]
        return [Assignment.of({"x": x, "y": y}) for x, y in inside]


@dataclass(frozen=True)
class Outcome:
    assignment: Assignment
    score: float


def bowl(assignment):
    return 0.5 + ((assignment["x"] - 20) ** 2 + (assignment["y"] - 11) ** 2) / 500


def play(strategy, score, rounds, batch=8):
    seen = []
    for _ in range(rounds):
        asked = strategy.ask(batch)
        strategy.tell([Outcome(assignment, score(assignment)) for assignment in asked])
        seen.extend(asked)
    return seen


@pytest.mark.parametrize("name", strategy_names())
def test_every_member_is_proposed_exactly_once(name):
    seen = play(make_strategy(name, Grid(6), 3, Assignment.of({"x": 0, "y": 0})), bowl, 20)
    # The starting point is the default's, which is measured anyway: some do not propose it.
    assert len(seen) == len(set(seen))
    assert len(seen) in (35, 36)


@pytest.mark.parametrize("name", strategy_names())
def test_the_same_seed_proposes_the_same(name):
    first, second = (play(make_strategy(name, Grid(40), 5), bowl, 6) for _ in range(2))
    assert first == second
    assert first != play(make_strategy(name, Grid(40), 6), bowl, 6)


@pytest.mark.parametrize("name", ["annealing", "genetic", "local", "model"])
def test_what_learns_beats_shuffle_on_a_smooth_space(name):
    def best(name, seed):
        strategy = make_strategy(name, Grid(60), seed, Assignment.of({"x": 32, "y": 24}))
        return min(bowl(assignment) for assignment in play(strategy, bowl, 8))

    wins = sum(best(name, seed) < best("shuffle", seed) for seed in range(10))
    assert wins >= 7


def test_failures_do_not_become_parents():
    strategy = make_strategy("local", Grid(50), 0, Assignment.of({"x": 25, "y": 25}))
    asked = strategy.ask(8)
    strategy.tell([Outcome(assignment, float("inf")) for assignment in asked])
    assert len(strategy.ask(8)) == 8


def test_an_unknown_strategy_is_named():
    with pytest.raises(UsageError, match="unknown strategy 'magic'"):
        make_strategy("magic", Grid(2), 0)
