"""Rounds of several hosts in turns: which samples are taken, when they end, and who drops out."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iree_tuner.suite.backends.backend import BackendError, Conditions
from iree_tuner.suite.device_run import take_rounds


class Clock:
    """Time that passes only while something is sampled."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Scripted:
    """Takes so long for each sample, and fails at one of them."""

    def __init__(self, number, clock, log, seconds=1.0, fails_at=None):
        self.number, self.clock, self.log = number, clock, log
        self.seconds, self.fails_at = seconds, fails_at
        self.taken = 0

    def sample(self, pause_s):
        self.clock.now += pause_s + self.seconds
        self.log.append(self.number)
        if self.taken == self.fails_at:
            raise BackendError("failed", f"host {self.number} is gone")
        self.taken += 1
        return 1000.0 * self.number + self.taken


def scripted(seconds, fails_at=None):
    clock, log = Clock(), []
    fails_at = fails_at or [None] * len(seconds)
    pairs = enumerate(zip(seconds, fails_at, strict=True))
    return [Scripted(number, clock, log, each, fail) for number, (each, fail) in pairs], clock, log


def taken_from(hosts, conditions, clock):
    return take_rounds([each.sample for each in hosts], conditions, clock)


def test_rounds_have_a_sample_of_each_host_in_changing_orders():
    hosts, clock, log = scripted([1.0] * 4)
    rounds = taken_from(hosts, Conditions(rounds=8, seconds=1e9, pause_s=0.0), clock)
    assert rounds.failures == {}
    expected = 1000.0 * np.arange(4)[None, :] + np.arange(1, 9)[:, None]
    assert np.array_equal(rounds.samples_us, expected)
    orders = [tuple(log[start : start + 4]) for start in range(0, 32, 4)]
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    # Each is first, second, ... equally often, and each follows each.
    assert all(Counter(order[place] for order in orders) == dict.fromkeys(range(4), 2) for place in range(4))
    assert len({pair for order in orders for pair in pairwise(order)}) == 12


def test_there_is_a_pause_before_each_sample():
    hosts, clock, _ = scripted([1.0, 1.0])
    taken_from(hosts, Conditions(rounds=3, seconds=1e9, pause_s=0.25), clock)
    assert clock.now == pytest.approx(100.0 + 3 * 2 * 1.25)


def test_no_round_begins_that_would_not_end_in_time():
    hosts, clock, _ = scripted([1.0, 2.0])
    assert len(taken_from(hosts, Conditions(rounds=99, seconds=10.0, pause_s=0.0), clock).samples_us) == 3


def test_there_is_one_round_however_long_it_takes():
    hosts, clock, _ = scripted([50.0, 50.0])
    assert len(taken_from(hosts, Conditions(rounds=9, seconds=10.0, pause_s=0.0), clock).samples_us) == 1


def test_one_that_fails_drops_out_with_its_message():
    hosts, clock, log = scripted([1.0] * 3, [None, 2, None])
    rounds = taken_from(hosts, Conditions(rounds=6, seconds=1e9, pause_s=0.0), clock)
    assert {place: (error.state, error.message) for place, error in rounds.failures.items()} == {
        1: ("failed", "host 1 is gone")
    }
    assert np.isfinite(rounds.samples_us[:, [0, 2]]).all()
    assert rounds.samples_us[:2, 1].tolist() == [1001.0, 1002.0]
    assert np.isnan(rounds.samples_us[2:, 1]).all()
    assert log.count(1) == 3


def test_none_are_left():
    hosts, clock, _ = scripted([1.0, 1.0], [1, 1])
    rounds = taken_from(hosts, Conditions(rounds=9, seconds=1e9, pause_s=0.0), clock)
    assert sorted(rounds.failures) == [0, 1]
    assert rounds.samples_us.shape == (2, 2)
    assert take_rounds([], Conditions(), clock).samples_us.shape == (0, 0)


def test_other_errors_are_not_hidden():
    class Broken:
        def sample(self, pause_s):
            raise AssertionError("a mistake")

    with pytest.raises(AssertionError, match="a mistake"):
        taken_from([Broken()], Conditions(), Clock())


hosts_ = st.lists(st.tuples(st.floats(0.01, 5), st.none() | st.integers(0, 12)), min_size=1, max_size=6)


@given(hosts_, st.integers(1, 12), st.floats(0.1, 100), st.floats(0, 0.5))
def test_whatever_they_do(plan, most, seconds, pause_s):
    hosts, clock, log = scripted([each for each, _ in plan], [fail for _, fail in plan])
    start = clock.now
    conditions = Conditions(rounds=most, seconds=seconds, pause_s=pause_s)
    rounds = taken_from(hosts, conditions, clock)
    count = len(rounds.samples_us)
    assert rounds.samples_us.shape == (count, len(hosts))
    assert 1 <= count <= most
    assert clock.now - start <= seconds + 1e-9 or count == 1
    for place, host in enumerate(hosts):
        column = rounds.samples_us[:, place]
        assert (place in rounds.failures) == (host.fails_at is not None and host.fails_at < count)
        good = host.taken
        assert column[:good].tolist() == [1000.0 * place + each for each in range(1, good + 1)]
        assert np.isnan(column[good:]).all()
        assert good == count if place not in rounds.failures else good < count
        assert log.count(place) == good + (place in rounds.failures)
    stayed = [place for place in range(len(hosts)) if place not in rounds.failures]
    if stayed and count < most:  # it was for the time: one more of the longest kind would not have ended
        longest = max(math.fsum(each + pause_s for each, _ in plan), 0)
        assert clock.now - start + longest > seconds - 1e-9
