import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paired import compare_pairs

from iree_tuner.measure.statistics import center_of, compare_rows


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
    assert verdicts.count("tie") >= 198


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
    assert found.by_group == pytest.approx((2.0, 1.0))
    assert found.pairs == 40


def test_a_gain_in_one_place_and_a_loss_in_another_are_a_tie():
    rng = np.random.default_rng(4)
    gain = (noisy(rng, 140.0), noisy(rng, 100.0))
    loss = (noisy(rng, 100.0), noisy(rng, 140.0))
    assert compare_pairs([gain, loss]).verdict == "tie"


def test_spikes_move_neither_the_speedup_nor_its_interval_much():
    rng = np.random.default_rng(5)
    default, other = rng.normal(103, 1, 160), rng.normal(100, 1, 160)
    calm = compare_pairs([(default, other)])
    default[::9] *= 20
    other[4::13] *= 50
    spiked = compare_pairs([(default, other)])
    assert spiked.verdict == "win"
    assert spiked.speedup == pytest.approx(calm.speedup, abs=0.004)
    assert spiked.interval[1] - spiked.interval[0] < 2 * (calm.interval[1] - calm.interval[0])


def test_neighbors_that_are_alike_widen_the_interval():
    rng = np.random.default_rng(6)
    values = rng.normal(100, 5, 160)
    alike = compare_pairs([(np.repeat(values[:16], 10), np.full(160, 100.0))])
    apart = compare_pairs([(rng.permutation(np.repeat(values[:16], 10)), np.full(160, 100.0))])
    assert alike.interval[1] / alike.interval[0] - 1 > 2 * (apart.interval[1] / apart.interval[0] - 1)


def test_groups_that_differ_widen_the_interval():
    rng = np.random.default_rng(7)
    calm = [(rng.normal(center, 0.5, 40), rng.normal(100, 0.5, 40)) for center in (103.0,) * 4]
    torn = [
        (rng.normal(center, 0.5, 40), rng.normal(100, 0.5, 40)) for center in (112.0, 100.0, 100.0, 100.0)
    ]
    assert compare_pairs(calm).verdict == "win"
    assert compare_pairs(torn).verdict == "tie"


def test_times_with_a_clean_floor_are_compared_by_it():
    # Every second batch is disturbed, at random: pairs say little, the quiet ones of some rounds a lot.
    rng = np.random.default_rng(8)

    def half_disturbed(center):
        return rng.normal(center, 0.5, 160) * rng.choice([1.0, 1.5], 160)

    found = compare_pairs([(half_disturbed(103.0), half_disturbed(100.0))])
    assert found.verdict == "win"
    assert found.speedup == pytest.approx(1.03, abs=0.01)


@given(st.floats(0.01, 100.0), st.integers(0, 1000))
def test_verdicts_do_not_depend_on_the_unit(scale, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(100, 3, (2, 40, 3)) * np.array([1.0, 0.97, 1.0])
    plain, scaled = compare_rows(list(rows)), compare_rows(list(rows * scale))
    assert [found.speedup for found in scaled] == pytest.approx([found.speedup for found in plain])
    assert [found.verdict for found in scaled] == [found.verdict for found in plain]


@given(st.integers(0, 1000))
def test_candidates_are_judged_as_if_each_were_alone(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(100, 3, (4, 40, 4))
    together = compare_rows(list(rows))
    for index, found in enumerate(together):
        alone = compare_pairs([(group[:, 0], group[:, 1 + index]) for group in rows])
        assert alone.interval == pytest.approx(found.interval)
        assert (alone.verdict, alone.pairs) == (found.verdict, found.pairs)


@given(st.integers(0, 1000), st.floats(-0.05, 0.05))
def test_a_win_seen_from_the_other_side_is_a_loss(seed, shift):
    rng = np.random.default_rng(seed)
    pairs = [(rng.normal(100, 1, 41), rng.normal(100 * (1 + shift), 1, 41)) for _ in range(4)]
    mirror = {"win": "lose", "lose": "win", "tie": "tie"}
    there = compare_pairs(pairs).verdict
    assert compare_pairs([(second, first) for first, second in pairs]).verdict == mirror[there]


def test_a_few_pairs_are_no_evidence():
    assert compare_pairs([([200.0], [100.0])]).verdict == "tie"
    assert compare_pairs([([200.0] * 7, [100.0] * 7)]).verdict == "tie"
    assert compare_pairs([([200.0] * 8, [100.0] * 8)]).verdict == "win"


def test_a_center_is_where_other_samples_have_theirs():
    rng = np.random.default_rng(8)
    found = [center_of(100 * np.exp(rng.normal(0, 0.05, 40))) for _ in range(400)]
    centers, errors = np.array(found).T
    assert centers.mean() == pytest.approx(np.log(100), abs=0.002)
    assert centers.std() <= np.median(errors) <= 1.6 * centers.std()


def test_spikes_do_not_move_a_center():
    assert center_of([10.0] * 20 + [500.0] * 3) == pytest.approx((np.log(10), 0.0))


def test_waves_widen_the_error_of_a_center():
    rng = np.random.default_rng(9)
    white = rng.normal(0, 0.05, 80)
    assert center_of(np.exp(np.sort(white)))[1] > 2 * center_of(np.exp(white))[1]


@pytest.mark.parametrize("samples", [[], [1.0, 0.0], [float("nan")]])
def test_a_center_needs_times(samples):
    with pytest.raises(ValueError, match="above 0"):
        center_of(samples)
