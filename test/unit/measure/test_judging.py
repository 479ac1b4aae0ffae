"""Verdicts on simulated devices: how often noise is taken for a gain, and how often a gain is found."""

from math import comb

import numpy as np
import pytest
from amounts import amount
from simulated import MODELS, PLACES, Device, Floats, Model, final

from iree_tuner.measure.statistics import JudgePlan, compare_rows, judge

ALL_FINALS = 1000
FINALS = amount(20, ALL_FINALS)
FEWER = amount(20, 150)
FOUND = amount(60, ALL_FINALS)
MOST_FALSE = max(0.01, 1 / FINALS)
"""One of 20 finals may be a false win where one of 100 is: the bound of a rate is wider for fewer."""
LEAST_FOUND = 0.9
GAIN = 1.03

QUICK = JudgePlan(160)
LONG = JudgePlan(1280)

# What is found only with more pairs. White noise of 10 % gives pairs a deviation of 14 % and 160 of them a
# standard error of 1.1 %: too much to tell 3 % from 0 with errors of 1 % and 10 %, which takes 0.82 %.
LONGER = {"white 10 %", "sticky modes"}

# Found by nothing that only takes more pairs. A mode of 5 % that comes with loading leaves a standard error
# of 0.05 / sqrt(2) / sqrt(4) = 1.8 % after any number of pairs at four places; and in the recording with as
# many busy processes as cores, copies of one executable differ by 10 % and more for all of it.
NEVER = {"modes by load", "trace, loaded", "trace, loaded, spikes and modes"}


def wins(model: Model, plan: JudgePlan, gain: float, count: int) -> int:
    """How many finals end with a win."""
    found = [final(model, np.random.default_rng([seed, 7]), plan, gain)[0] for seed in range(count)]
    return sum(each.verdict == "win" for each in found)


@pytest.mark.parametrize("name", MODELS)
def test_equal_copies_do_not_win(name):
    assert wins(MODELS[name], QUICK, 1.0, FINALS) <= MOST_FALSE * FINALS


@pytest.mark.parametrize("name", MODELS)
def test_equal_copies_do_not_win_in_long_comparisons(name):
    assert wins(MODELS[name], LONG, 1.0, FINALS) <= MOST_FALSE * FINALS


@pytest.mark.parametrize("name", [name for name in MODELS if name not in LONGER | NEVER])
def test_a_gain_of_3_percent_is_found(name):
    assert wins(MODELS[name], QUICK, GAIN, FEWER) >= LEAST_FOUND * FEWER


@pytest.mark.parametrize("name", sorted(LONGER))
def test_a_gain_of_3_percent_is_found_in_a_long_comparison(name):
    assert wins(MODELS[name], LONG, GAIN, FOUND) >= LEAST_FOUND * FOUND


@pytest.mark.parametrize("name", sorted(NEVER))
def test_a_gain_of_half_is_found_in_any_noise(name):
    assert wins(MODELS[name], LONG, 1.5, FEWER) >= LEAST_FOUND * FEWER


def test_a_clear_verdict_takes_few_pairs():
    device = Device(MODELS["white 1 %"], [1.3, 0.7, 1.0], np.random.default_rng(1))
    found = judge(device.take, 3, JudgePlan(1280))
    assert [each.verdict for each in found] == ["win", "lose", "tie"]
    assert device.rounds <= 64


def test_all_go_on_while_one_is_undecided():
    device = Device(MODELS["white 3 %"], [1.5, 1.02], np.random.default_rng(2))
    found = judge(device.take, 2, JudgePlan(1280))
    assert found[0].pairs == found[1].pairs == device.rounds > 64


@pytest.mark.parametrize("rounds", [1, 3, 4, 8, 50, 64, 65, 160, 161])
@pytest.mark.parametrize("name", ["white 10 %", "modes by load"])
def test_no_more_rounds_than_planned(name, rounds):
    device = Device(MODELS[name], [1.02] * 2, np.random.default_rng(3))
    found = judge(device.take, 2, JudgePlan(rounds))
    # Every place has as many as the others, and one at least.
    assert device.rounds == found[0].pairs <= -(-rounds // PLACES) * PLACES


@pytest.mark.parametrize("batch_s", [0.01, 0.1, 1.0, 30.0])
def test_seconds_are_a_limit_too(batch_s):
    device = Device(MODELS["modes by load"], [1.02] * 3, np.random.default_rng(6))
    now = [0.0]

    def take(rounds: int) -> list[Floats]:
        now[0] += rounds * PLACES * 4 * batch_s
        return device.take(rounds)

    found = judge(take, 3, JudgePlan(1280, seconds=60.0), clock=lambda: now[0])
    assert now[0] <= max(60.0, 2 * PLACES * 4 * batch_s)  # two rounds at each place are the least
    assert all(np.isfinite(each.interval).all() for each in found)


@pytest.mark.parametrize(
    ("gain", "verdict", "pairs"), [(100.0, "win", 3), (0.01, "lose", 3), (1.5, "win", 9), (1.0, "tie", 9)]
)
def test_long_rounds_need_not_be_many_where_all_is_plain(gain, verdict, pairs):
    """Three pairs of a round of two seconds, where none could be mistaken; else as many as fit."""
    now, rng = [0.0], np.random.default_rng(8)

    def take(rounds: int) -> list[Floats]:
        now[0] += 2.0 * rounds
        times = rng.normal(1e6, 1e4, (rounds, 2))
        return [times / np.array([1.0, gain])]

    (found,) = judge(take, 1, JudgePlan(640, seconds=18.0), clock=lambda: now[0])
    assert (found.verdict, found.pairs) == (verdict, pairs)


def test_few_pairs_are_not_enough_where_the_fastest_is_undecided():
    """One candidate is far slower, and no time is left: the other one still gets enough pairs to win."""
    now, rng = [0.0], np.random.default_rng(9)

    def take(rounds: int) -> list[Floats]:
        now[0] += 3.0 * rounds
        times = rng.normal(1e6, 1e4, (rounds, 3))
        return [times / np.array([1.0, 2.9, 0.1])]

    found = judge(take, 2, JudgePlan(640, seconds=4.0), clock=lambda: now[0])
    assert [(each.verdict, each.pairs) for each in found] == [("win", 8), ("lose", 8)]


def test_three_pairs_of_which_one_is_not_plain():
    rows = np.array([[100.0, 1.0], [100.0, 1.0], [100.0, 50.0]])
    (found,) = compare_rows([rows])
    assert found.verdict == "tie"
    (found,) = compare_rows([rows[:2]])
    assert found.verdict == "tie"


def test_no_call_asks_for_nothing():
    device = Device(MODELS["white 10 %"], [1.02], np.random.default_rng(4))
    asked: list[int] = []

    def take(rounds: int) -> list[Floats]:
        asked.append(rounds)
        return device.take(rounds)

    judge(take, 1, JudgePlan(160))
    assert min(asked) > 0
    assert sum(asked) == 40


def test_simulated_times_are_of_the_executables_that_they_are_said_to_be_of():
    for name, model in MODELS.items():
        rows = Device(model, [2.0, 4.0], np.random.default_rng(5)).take(500)[0]
        ratios = np.median(rows[:, :1] / rows[:, 1:], axis=0)
        assert ratios == pytest.approx([2.0, 4.0], rel=0.3), name


def test_the_bound_that_finals_are_held_to_means_something():
    # Were the true rate of false wins 3 %, more than 10 wins in 1000 finals would be all but certain.
    chance = sum(comb(ALL_FINALS, hits) * 0.03**hits * 0.97 ** (ALL_FINALS - hits) for hits in range(11))
    assert chance < 1e-4


def test_candidates_are_compared_with_a_rival_in_the_same_rounds():
    """It is 1.25 times as fast as the default, and the others 2 and 1.25 times."""
    rows = [[100.0, 50.0, 80.0, 80.0]] * 40
    taken = []

    def take(more):
        taken.append(more)
        return [rows[:more]]

    found = judge(take, 3, JudgePlan(32), rival=1)
    assert [each.speedup for each in found] == pytest.approx([2.0, 1.25, 1.25, 1.6, 1.0, 1.0])
    assert [each.verdict for each in found] == ["win", "win", "win", "win", "tie", "tie"]
    assert [each.pairs for each in found] == [sum(taken)] * 6
