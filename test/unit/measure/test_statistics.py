import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iree_tuner.measure.statistics import compare_pairs


def noisy(rng, center, count=40, spread=0.05):
    return (center * (1 + np.abs(rng.standard_normal(count)) * spread)).tolist()


def test_a_clear_gain_wins():
    rng = np.random.default_rng(1)
    found = compare_pairs([(noisy(rng, 100.0), noisy(rng, 70.0))])
    assert found.verdict == "win"
    assert found.interval[0] <= found.speedup <= found.interval[1]
    assert 1.3 < found.speedup < 1.55


def test_a_clear_loss_loses():
    rng = np.random.default_rng(2)
    assert compare_pairs([(noisy(rng, 70.0), noisy(rng, 100.0))]).verdict == "lose"


def test_equal_distributions_tie_nearly_always():
    verdicts = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        verdicts.append(compare_pairs([(noisy(rng, 50.0, 25), noisy(rng, 50.0, 25))]).verdict)
    # The interval alone would be wrong in 5 of 100, on both sides together.
    assert verdicts.count("tie") >= 190


def test_a_wave_that_hits_one_side_is_no_win():
    # Half of the default's samples fall into a disturbance; the least times are equal.
    default = [100.0] * 10 + [300.0] * 15
    assert compare_pairs([(default, [100.0] * 25)]).verdict == "tie"


@given(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=30))
def test_anything_against_itself_is_a_tie_of_one(samples):
    found = compare_pairs([(samples, samples)])
    assert found.verdict == "tie"
    assert found.speedup == 1.0


def test_samples_must_come_in_pairs():
    with pytest.raises(ValueError, match="pairs"):
        compare_pairs([([1.0, 2.0], [1.0])])
    with pytest.raises(ValueError, match="pairs"):
        compare_pairs([([], [])])
    with pytest.raises(ValueError, match="pairs"):
        compare_pairs([])


def test_groups_count_alike_however_many_samples_they_have():
    fast = ([200.0] * 30, [100.0] * 30)
    even = ([100.0] * 10, [100.0] * 10)
    found = compare_pairs([fast, even])
    assert found.speedup == pytest.approx(2**0.5)
    assert found.by_group == (2.0, 1.0)
    assert found.pairs == 40


def test_a_gain_in_one_place_and_a_loss_in_another_are_a_tie():
    rng = np.random.default_rng(4)
    gain = (noisy(rng, 140.0), noisy(rng, 100.0))
    loss = (noisy(rng, 100.0), noisy(rng, 140.0))
    assert compare_pairs([gain, loss]).verdict == "tie"
