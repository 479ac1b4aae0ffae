"""A plain stand-in for a space, that strategies are tested on: no compiler, no kernel."""

from dataclasses import dataclass

import numpy as np

from iree_tuner.space.configuration import Assignment


def at(x, y):
    return Assignment.of({"x": x, "y": y})


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
        return [at(int(p) // self.side, int(p) % self.side) for p in picked]

    def shuffled(self, seed):
        return iter(self.sample(self.side**2, seed))

    def staged(self, seed):
        return self.shuffled(seed)

    def is_plain(self, assignment):
        return True

    def neighbors(self, assignment):
        steps = [(1, 0), (-1, 0), (0, 1), (0, -1)]
        moved = [(assignment["x"] + dx, assignment["y"] + dy) for dx, dy in steps]
        return [at(x, y) for x, y in moved if 0 <= x < self.side and 0 <= y < self.side]


@dataclass(frozen=True)
class Outcome:
    assignment: Assignment
    score: float


def bowl(assignment):
    return 0.5 + ((assignment["x"] - 20) ** 2 + (assignment["y"] - 11) ** 2) / 500


def play(strategy, score, rounds, batch=8):
    """What was asked for, in order."""
    seen = []
    for _ in range(rounds):
        asked = strategy.ask(batch)
        strategy.tell([Outcome(assignment, score(assignment)) for assignment in asked])
        seen.extend(asked)
    return seen
