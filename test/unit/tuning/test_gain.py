"""What more tries may be worth, and who goes on."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tuning.fakes import close, fake_lab, fake_search

from iree_tuner.tuning.engine import Engine, Limits
from iree_tuner.tuning.gain import Prospects, floor_score
from iree_tuner.tuning.ledger import Records
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.schedule import choose, search_by_gain
from iree_tuner.tuning.stop import StopRequest

scores = st.floats(0.05, 3.0)


def prospects(weight_us, *bests, floor=0.2, seconds=1.0):
    found = Prospects(weight_us, floor)
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
    assert after.next_gain <= before.next_gain + 1e-12


def test_what_takes_more_of_the_program_is_worth_more():
    assert prospects(200.0).gain_us() == pytest.approx(2 * prospects(100.0).gain_us())


def test_no_headroom_no_hope():
    assert prospects(100.0, floor=0.9).gain_us() < prospects(100.0, floor=0.3).gain_us()
    assert prospects(100.0, 0.3, 0.3, 0.3, 0.3, floor=0.3).gain_us() == 0.0


def test_what_has_just_gained_is_worth_more_than_what_has_not():
    assert prospects(100.0, 1.0, 0.6, floor=0.5).gain_us() > prospects(100.0, 0.6, 0.6, floor=0.5).gain_us()


def test_a_floor_from_the_roofline_is_kept_in_bounds():
    assert floor_score(100.0, 0.0) == 0.2
    assert floor_score(100.0, 50.0) == 0.5
    assert floor_score(100.0, 200.0) == 0.9
    assert floor_score(0.0, 5.0) == 1.0


def campaign(weight_us, *bests, is_open=True, seconds=1.0):
    return SimpleNamespace(open=is_open, prospects=prospects(weight_us, *bests, seconds=seconds))


def test_the_next_second_goes_where_it_saves_most():
    large, small = campaign(100.0), campaign(10.0)
    assert choose([small, large]) is large
    tired = campaign(100.0, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4)
    assert choose([small, tired]) is small
    slow = campaign(100.0, 0.9, seconds=1000.0)
    assert choose([campaign(10.0, 0.9, seconds=1.0), slow]) is not slow
    assert choose([campaign(100.0, is_open=False)]) is None


class Searched:
    """A campaign over a fake compiler and device: what `schedule` needs of one."""

    def __init__(self, texts, weight_us, cap, lab, stop):
        self.prospects = Prospects(weight_us)
        self.cap = cap
        self.weighed = SimpleNamespace(task=None, share=0.5)
        self._search = fake_search(texts)
        ledger = Records(None, stop).ledger(lambda: None, lambda trial: "")
        self._engine = Engine(self._search, lab, Limits(0, 4, math.inf), stop, ledger)

    @property
    def tried(self):
        return len(self._search.trials)

    @property
    def open(self):
        return not self._engine.exhausted and self.tried < self.cap

    def settle(self):
        self._engine.settle()

    def advance(self, trials, deadline, watch):
        self._engine.extend(min(trials, self.cap - self.tried), deadline)
        list(self._engine.run())
        best = self._search.best
        self.prospects.add(best.score if best else 1.0, 1.0)


def run_searches(campaigns, *, to_the_cap, growing=False):
    total_us = sum(each.prospects.weight_us for each in campaigns)
    entrants = SimpleNamespace(campaigns=campaigns, total_us=total_us, hope_us=lambda: 0.0)
    search_by_gain(entrants, 4, math.inf, StopRequest(), Silent(), to_the_cap=to_the_cap, growing=growing)


def slices(*weights):
    """Lengths of the slices of searches with 60 candidates each, in one run."""
    stop, lab = StopRequest(), fake_lab(alternate=False)
    found = []
    try:
        texts = [f"code:{place + 1} time:{100 + place}" for place in range(60)]
        searches = [Searched(texts, weight, 60, lab, stop) for weight in weights]
        for each in searches:
            sizes, advance = [], each.advance
            found.append(sizes)
            each.advance = lambda trials, *rest, s=sizes, do=advance: (s.append(trials), do(trials, *rest))
        run_searches(searches, to_the_cap=True, growing=True)
    finally:
        close(lab)
    assert all(each.tried == 60 for each in searches)
    return found


def test_slices_of_a_search_that_is_chosen_again_grow():
    large, small = slices(1e6, 1.0)
    assert large[:4] == [4, 8, 16, 32]
    assert small[0] == 64


def test_a_search_that_is_alone_is_not_interrupted():
    (sizes,) = slices(1.0)
    assert sizes[:2] == [4, 64]


@pytest.mark.parametrize("alternate", [True, False])
def test_every_search_gets_its_trials_slice_by_slice(alternate):
    stop, lab = StopRequest(), fake_lab(alternate=alternate)
    texts = [f"code:{place + 1} time:{100 + place}" for place in range(12)]
    try:
        both = [Searched(texts, 100.0, 10, lab, stop), Searched(texts, 1.0, 12, lab, stop)]
        run_searches(both, to_the_cap=True)
    finally:
        close(lab)
    assert [each.tried for each in both] == [10, 12]


def test_a_search_that_finds_nothing_is_left_for_others():
    stop, lab = StopRequest(), fake_lab(alternate=True)
    try:
        hopeless = Searched([f"code:{place + 1} time:200" for place in range(400)], 1.0, 400, lab, stop)
        fruitful = Searched(
            [f"code:{place + 1} time:{90 - min(place, 80) // 8}" for place in range(400)],
            100.0,
            400,
            lab,
            stop,
        )
        run_searches([hopeless, fruitful], to_the_cap=False)
    finally:
        close(lab)
    assert hopeless.tried < fruitful.tried < 400, "no budget is spent to the last trial on hope alone"
