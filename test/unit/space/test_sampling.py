"""Members in a random order: all of them, once each, uniformly, and without a look at the whole space."""

from __future__ import annotations

import contextlib
import io
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from amounts import amount, some
from by_hand import CONTEXT, space_of, unknown
from space.made_workloads import conv, matmul, softmax

from iree_tuner.space.build import build_space
from iree_tuner.space.constraints import knob
from iree_tuner.space.expressions import require
from iree_tuner.space.interpreter import read_program
from iree_tuner.space.sampling import Join, draw, enumerate_members, propose, shuffled
from iree_tuner.space.space import Space
from iree_tuner.targets import CpuLimits

Values = tuple[int, ...]
ORDERS = amount(150, 900)


def small_matmul() -> Space:
    return build_space(matmul(4, 6, 8), CpuLimits(), CONTEXT)


def open_auxiliary() -> Space:
    """`a <= x * y` has one solution for some members and eleven for others; `b` follows from `x` alone."""

    def fill() -> None:
        a, b = knob("a", range(1, 9), "listed"), knob("b", range(2, 40), "listed")
        x, y = unknown(range(1, 5)), unknown(range(1, 4))
        require(a <= x * y, "covered")
        require(b.equals(x * x + a), "b follows")
        require(knob("c", range(5), "listed") <= b, "order")

    return space_of(fill, ("a", "b", "c"))


def determined() -> Space:
    """The count follows from the tiles by a product, and the threads from the count."""

    def fill() -> None:
        outer, inner = knob("outer", range(1, 25), "listed"), knob("inner", range(1, 25), "listed")
        count, threads = unknown(range(1, 25)), knob("threads", range(32, 800, 32), "listed")
        require(outer.equals(inner * count), "the count")
        require(threads.equals(count * 32), "the threads")
        require(knob("free", range(4), "listed") < inner, "free")

    return space_of(fill, ("outer", "inner", "threads", "free"))


SPACES = [small_matmul, open_auxiliary, determined]
FRONTIERS = amount((1, 400), (1, 40, 400))


def join_of(space: Space) -> Join:
    return Join(read_program(space.op.operation))


def everyone(join: Join) -> list[Values]:
    members = enumerate_members(join)
    return [tuple(values) for values in members.values(np.arange(len(members))).tolist()]


def deviation(drawn: Iterable[Values], members: list[Values]) -> float:
    """By how many of its standard deviations chi-square is above what uniform draws are expected to give."""
    counts = Counter(drawn)
    assert counts.keys() <= set(members)
    expected = counts.total() / len(members)
    statistic = sum((counts[member] - expected) ** 2 for member in members) / expected
    return (statistic - (len(members) - 1)) / math.sqrt(2 * (len(members) - 1))


def drawn(join: Join, frontier: int, at_least: int) -> list[Values]:
    proposal, generator = propose(join, frontier), np.random.default_rng(5)
    found: list[Values] = []
    while len(found) < at_least:
        found.extend(map(tuple, draw(join, proposal, 1 << 14, generator).tolist()))
    return found


@pytest.mark.parametrize("frontier", FRONTIERS)
@pytest.mark.parametrize("make", SPACES)
def test_draws_are_uniform(make: Callable[[], Space], frontier: int) -> None:
    join = join_of(make())
    members = everyone(join)
    assert abs(deviation(drawn(join, frontier, 40 * len(members)), members)) < 5


@pytest.mark.parametrize("frontier", FRONTIERS)
@pytest.mark.parametrize("make", some(SPACES, 2))
def test_each_place_of_the_order_is_uniform(make: Callable[[], Space], frontier: int) -> None:
    join = join_of(make())
    members = everyone(join)
    orders = [
        islice(shuffled(join, lambda: enumerate_members(join), seed, frontier), 3) for seed in range(ORDERS)
    ]
    first, second, third = (list(values) for values in zip(*orders, strict=True))
    groups = [members.index(value) * 12 // len(members) for value in (*first, *second, *third)]
    sizes = Counter(place * 12 // len(members) for place in range(len(members)))
    for start in (0, ORDERS, 2 * ORDERS):
        counts = Counter(groups[start : start + ORDERS])
        expected = {group: ORDERS * size / len(members) for group, size in sizes.items()}
        assert sum((counts[g] - e) ** 2 / e for g, e in expected.items()) < 11 + 5 * math.sqrt(22)


@pytest.mark.parametrize("make", SPACES)
def test_the_measure_of_uniformity_finds_a_biased_sampler(make: Callable[[], Space]) -> None:
    """Choosing each knob evenly among the values that are still possible prefers members in sparse parts."""
    members = everyone(join_of(make()))
    choices: dict[Values, set[int]] = {}
    for member in members:
        for column, value in enumerate(member):
            choices.setdefault(member[:column], set()).add(value)
    chances = [math.prod(1 / len(choices[member[:c]]) for c in range(len(member))) for member in members]
    places = np.random.default_rng(5).choice(len(members), size=40 * len(members), p=chances)
    assert deviation((members[place] for place in places), members) > 10


def test_a_member_counts_once_whatever_its_auxiliaries() -> None:
    """Rows with auxiliaries, drawn evenly, are what `draw` must not return."""
    join = join_of(open_auxiliary())
    members = everyone(join)
    rows = [values for piece in join.complete(join.start()) for values in join.values(piece).tolist()]
    picked = np.random.default_rng(5).integers(len(rows), size=40 * len(members))
    assert len(rows) > len(members)
    assert deviation((tuple(rows[place]) for place in picked), members) > 10


@pytest.mark.parametrize("frontier", [*FRONTIERS, 1 << 15])
@pytest.mark.parametrize("make", SPACES)
def test_every_member_comes_once(make: Callable[[], Space], frontier: int) -> None:
    join = join_of(make())
    order = list(shuffled(join, lambda: enumerate_members(join), 3, frontier))
    assert len(order) == len(set(order))
    assert sorted(order) == everyone(join)


def test_what_draws_do_not_find_is_joined_and_enumerated() -> None:
    def fill() -> None:
        a, b, c, d = (knob(name, range(30), "listed") for name in "abcd")
        require((a * a + b * b).equals(c * c + d * d + 517), "rare")
        require(a <= b, "order")

    space = space_of(fill, tuple("abcd"))
    join = join_of(space)
    order = list(shuffled(join, lambda: enumerate_members(join), 0, 1))
    expected = {
        (a, b, c, d)
        for b in range(30)
        for a in range(b + 1)
        for c in range(30)
        for d in range(30)
        if a * a + b * b == c * c + d * d + 517
    }
    assert len(order) == len(expected)
    assert set(order) == expected


@pytest.mark.parametrize("workload", [matmul(512, 768, 1024), conv(56, 56, 64), softmax(1024, 128)])
def test_large_spaces_are_not_enumerated_for_a_sample(workload) -> None:
    def members():
        raise AssertionError("enumerated")

    space = build_space(workload, CpuLimits(), CONTEXT)
    values = list(islice(shuffled(join_of(space), members, 0), 300))
    assert len(set(values)) == 300
    sample = space.sample(20, seed=0)
    assert [tuple(member[name] for name in space.names) for member in sample] == values[:20]
    assert all(space.contains(member) for member in sample)


@pytest.mark.parametrize("workload", [matmul(16, 12, 8), matmul(512, 768, 1024)])
def test_a_sample_is_the_beginning_of_the_order(workload) -> None:
    space = build_space(workload, CpuLimits(), CONTEXT)
    order = list(islice(space.shuffled(seed=8), 200))
    assert space.sample(200, seed=8) == order
    assert space.sample(7, seed=8) == order[:7]
    assert space.sample(7, seed=9) != order[:7]
    space.count()  # what is known of the space by then changes nothing
    assert space.sample(200, seed=8) == order


PROGRAM = """
from space.by_hand import CONTEXT
from space.made_workloads import matmul
from iree_tuner.space.build import build_space
from iree_tuner.targets import CpuLimits
for size in (8, 512):
    print(build_space(matmul(size, 768, 1024), CpuLimits(), CONTEXT).sample(5, seed=4))
"""


def test_the_order_is_the_same_in_another_process() -> None:
    def run(hash_seed: str) -> str:
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        here = Path(__file__).parents[1]
        command = [sys.executable, "-c", PROGRAM]
        return subprocess.run(
            command, env=environment, cwd=here, check=True, capture_output=True, text=True, timeout=120
        ).stdout

    here = io.StringIO()
    with contextlib.redirect_stdout(here):
        exec(PROGRAM, {})
    assert here.getvalue() == run("1") != ""  # this process has a hash seed of its own


def test_a_space_without_choice_has_one_member() -> None:
    def fill() -> None:
        a = knob("a", (4,), "four")
        require(a >= 1, "positive")

    space = space_of(fill, ("a",))
    assert [dict(member) for member in space.shuffled(seed=0)] == [{"a": 4}]
    assert space.count() == 1
    assert space.neighbors({"a": 4}) == []
