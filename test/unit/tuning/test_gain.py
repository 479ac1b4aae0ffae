"""What more tries may be worth, and who goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iree_tuner.tuning.search import ExpectedGain, floor_score

scores = st.floats(0.05, 3.0)


def prospects(weight_us, *bests, floor=0.2, seconds=1.0):
    found = ExpectedGain(weight_us, floor)
    for best in bests:
        found.add(best, seconds)
    return found


@given(st.lists(scores, max_size=12), st.floats(0.1, 0.9))
def test_expectations_are_no_less_than_nothing_and_no_more_than_all(bests, floor):
    found = prospects(100.0, *bests, floor=floor)
    assert 0.0 <= found.gain_us() <= 100.0
    assert found.best <= 1.0
    assert found.fruitless <= len(bests)


@given(st.lists(scores, max_size=6))
def test_a_fruitless_slice_never_raises_hope(bests):
    before = prospects(100.0, *bests)
    after = prospects(100.0, *bests, 3.0)
    assert after.next_gain() <= before.next_gain() + 1e-12


def test_what_takes_more_of_the_program_is_worth_more():
    assert prospects(200.0).gain_us() == pytest.approx(2 * prospects(100.0).gain_us())


def test_no_headroom_no_hope():
    assert prospects(100.0, floor=0.9).gain_us() < prospects(100.0, floor=0.3).gain_us()
    assert prospects(100.0, 0.3, 0.3, 0.3, 0.3, floor=0.3).gain_us() == 0.0


def test_what_is_far_faster_than_the_default_goes_on():
    """Where no floor is known: a fifth of the default's time is not the end. Others have no hope then."""
    assert 0.0 < prospects(100.0, *[0.2] * 4).gain_us(0.2) < prospects(100.0, *[0.4] * 4).gain_us(0.4)
    assert prospects(100.0).gain_us(0.2) == prospects(100.0, 0.9).gain_us(0.15) == 0.0


def test_what_has_just_gained_is_worth_more_than_what_has_not():
    assert prospects(100.0, 1.0, 0.6, floor=0.5).gain_us() > prospects(100.0, 0.6, 0.6, floor=0.5).gain_us()


def test_a_floor_from_the_roofline_is_kept_in_bounds():
    assert floor_score(100.0, 0.0) == 0.2
    assert floor_score(100.0, 50.0) == 0.5
    assert floor_score(100.0, 200.0) == 0.9
    assert floor_score(0.0, 5.0) == 1.0


def test_what_another_kind_has_found_leaves_less_to_hope_for():
    fresh = prospects(100.0)
    assert fresh.gain_us(0.5) < fresh.gain_us()
    assert prospects(100.0, 0.9).gain_us(0.3) < prospects(100.0, 0.9).gain_us()
