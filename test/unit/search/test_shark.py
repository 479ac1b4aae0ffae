"""The SHARK tuner's order: each term, and where there is nothing to order by."""

import numpy as np
import pytest
from grid import Grid, Outcome

from iree_tuner.search.orders import Shuffle
from iree_tuner.space.configuration import Assignment

Shark = pytest.importorskip(
    "iree_tuner_strategies.shark", reason="needs `pip install ./benchmarks/strategies`"
).Shark

USUAL = {
    "tile_m": 64, "tile_n": 64, "tile_k": 32, "warps": 4, "tail_x": 1.25, "own_m": 32, "own_n": 32,
    "instructions": 16, "unused": 7,
}  # fmt: skip


class Listed:
    """Members with features that are given, as they come from `cost/gpu.py`: logarithms of six digits."""

    kind = "gpu_matrix"
    features = tuple(USUAL)

    def __init__(self, *rows):
        self.rows = [USUAL | row for row in rows]

    def shuffled(self, seed):
        places = np.random.default_rng(seed).permutation(len(self.rows))
        return (Assignment.of({"place": int(place)}) for place in places)

    def staged(self, seed):
        return self.shuffled(seed)

    def is_plain(self, assignment):
        return True

    def encode(self, assignments):
        rows = [[self.rows[each["place"]][name] for name in self.features] for each in assignments]
        return np.round(np.log2(np.array(rows, float)), 6)


def order(*rows, seed=0):
    return [each["place"] for each in Shark(Listed(*rows), seed).ask(len(rows))]


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ({"tile_k": 48}, {"tile_k": 1024}),
        ({"tile_k": 1023}, {"tile_k": 1}),
        ({"warps": 2}, {"warps": 12}),
        ({"warps": 6}, {"warps": 8}),
        ({"tail_x": 1.5}, {"tail_x": 1.01}),
        # The two that the original writes so that they order nothing:
        ({"instructions": 32}, {"instructions": 16}),
        ({"tile_m": 32, "tile_n": 128}, {"tile_m": 64, "tile_n": 128}),
    ],
)
def test_each_term_orders(worse, better):
    for seed in range(4):
        assert order(worse, better, seed=seed) == [1, 0]


def test_terms_are_compared_one_after_the_other():
    """As the original's tests have it: depth, subgroups, instruction, waves, shape."""
    rows = [
        {"tile_k": 48},
        {"warps": 3},
        {"instructions": 32, "tail_x": 1.0},
        {"tail_x": 1.5, "tile_m": 64},
        {"tile_m": 16},
        {},
    ]
    assert order(*rows) == [5, 4, 3, 2, 1, 0]


def test_equal_ones_come_in_a_random_order():
    orders = {tuple(order(*[{}] * 6, seed=seed)) for seed in range(5)}
    assert len(orders) > 1


def test_without_such_features_it_is_a_shuffle_and_learns_nothing():
    peer, shuffle = Shark(Grid(9), 3), Shuffle(Grid(9), 3)
    for _ in range(11):
        asked = peer.ask(8)
        assert asked == shuffle.ask(8)
        peer.tell([Outcome(member, 0.5) for member in asked])
