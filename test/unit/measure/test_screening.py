from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest

from iree_tuner.device.outcome import UNKNOWN, Readings
from iree_tuner.device.sensors import Sensors
from iree_tuner.measure.sampling import ScreenPlan, drift, interleave, screen, settled, turns
from iree_tuner.measure.timing import first_run_us

PLAN = ScreenPlan(least=3, most=12, precision=0.02)


class Times:
    """A source that gives these times, and then the last one for ever."""

    def __init__(self, *times: float) -> None:
        self.taken = 0
        self._times = times

    def batch(self) -> float:
        self.taken += 1
        return self._times[min(self.taken, len(self._times)) - 1]


class Alarm:
    """Sensors that report a disturbance at these looks, the first of which is the one before any sample."""

    def __init__(self, looks: Iterator[bool]) -> None:
        self._looks = looks

    def start(self) -> None:
        pass

    def disturbed(self) -> bool:
        return next(self._looks, False)

    def readings(self) -> Readings:
        return UNKNOWN


def always() -> Iterator[bool]:
    while True:
        yield True


def test_screening_stops_when_samples_agree():
    source = Times(100.0, 101.0, 100.5)
    found = screen(source, Sensors(), PLAN, None)
    assert (found.samples_us, found.discarded, found.too_slow) == ((100.0, 101.0, 100.5), 0, False)


def test_screening_goes_on_while_they_differ_and_stops_at_most():
    source = Times(*(100.0 * 1.1**power for power in range(20)))
    assert len(screen(source, Sensors(), PLAN, None).samples_us) == PLAN.most
    assert source.taken == PLAN.most


def test_a_slow_candidate_is_given_up_after_two_samples():
    source = Times(350.0)
    found = screen(source, Sensors(), PLAN, 300.0)
    assert found.too_slow
    assert source.taken == 2


def test_one_sample_of_a_long_run_is_enough():
    assert len(screen(Times(2e6), Sensors(), PLAN, None).samples_us) == 1
    slow = screen(Times(2e6), Sensors(), PLAN, 300.0)
    assert (slow.too_slow, len(slow.samples_us)) == (True, 2)


@pytest.mark.parametrize("times", [(900.0, 100.0), (100.0, 900.0), (100.0, 900.0, 900.0, 900.0, 100.0)])
def test_a_spike_does_not_reject_a_good_candidate(times):
    found = screen(Times(*times), Sensors(), PLAN, 300.0)
    assert not found.too_slow
    assert min(found.samples_us) == 100.0


@pytest.mark.parametrize(
    ("runs_ms", "found_us"), [((5, 0.1), 100), ((5, 6, 0.1), 100), ((5, 6, 7), 7000), ((300, 0.1), 300_000)]
)
def test_a_spike_in_the_first_run_does_not_reject_a_good_candidate(runs_ms, found_us):
    """It may be many times as long as the run; a run that is long itself is not repeated."""
    left = iter(runs_ms)
    assert first_run_us(lambda: next(left) * 1e-3, 400.0) == pytest.approx(found_us)


def test_disturbed_samples_are_taken_again():
    alarm = Alarm(iter([True, False, True, True]))  # before; then the second and the third
    found = screen(Times(100.0, 170.0, 180.0, 100.0), alarm, PLAN, None)
    assert found.samples_us == (100.0, 100.0, 100.0)
    assert (found.discarded, found.disturbed) == (2, False)


def test_when_everything_is_disturbed_it_is_kept_and_said():
    source = Times(100.0)
    found = screen(source, Alarm(always()), PLAN, None)
    assert source.taken == len(found.samples_us) == 2 * PLAN.most
    assert found.disturbed
    assert found.discarded == 0
    slow = screen(Times(400.0), Alarm(always()), PLAN, 300.0)
    assert slow.too_slow
    assert slow.disturbed


def test_settled_looks_at_the_least_three():
    assert settled([300.0, 100.0, 101.0, 900.0, 102.0], 0.02)
    assert not settled([100.0, 101.0, 110.0], 0.02)
    assert not settled([100.0, 100.0], 0.02)


@pytest.mark.parametrize("count", range(1, 10))
def test_turns_are_balanced(count):
    rounds = [turns(count, place) for place in range(2 * count)]
    assert all(sorted(order) == list(range(count)) for order in rounds)
    assert set(Counter((turn, index) for order in rounds for turn, index in enumerate(order)).values()) == {2}
    followed = Counter(pair for order in rounds for pair in pairwise(order))
    assert list(followed.values()) == [2] * (count * (count - 1))


def test_rows_are_by_source_whatever_the_order():
    sources = [Times(float(index)) for index in range(5)]
    assert interleave(sources, Sensors(), 7, start=3) == [[0.0, 1.0, 2.0, 3.0, 4.0]] * 7
    assert interleave(sources, Sensors(), 0) == []


def test_a_later_start_goes_on_with_the_order():
    def order_of(calls: list[tuple[int, int]]) -> list[int]:
        taken: list[int] = []

        class Noted:
            def __init__(self, index: int) -> None:
                self.index = index

            def batch(self) -> float:
                taken.append(self.index)
                return 1.0

        sources = [Noted(index) for index in range(4)]
        for rounds, start in calls:
            interleave(sources, Sensors(), rounds, start)
        return taken

    assert order_of([(3, 0), (5, 3)]) == order_of([(8, 0)])


def test_a_disturbed_round_is_repeated_whole():
    first, second = Times(1.0, 50.0, 3.0), Times(2.0, 60.0, 4.0)
    rows = interleave([first, second], Alarm(iter([True, False, True])), 2)
    assert rows == [[1.0, 2.0], [3.0, 4.0]]


def test_repeating_is_bounded():
    source = Times(1.0)
    assert interleave([source], Alarm(always()), 10) == [[1.0]] * 10
    assert source.taken == 20


def test_drift_is_of_the_last_against_the_first():
    assert drift([100.0] * 5 + [104.0] * 5) == pytest.approx(0.04)
    assert drift([100.0, 300.0, 100.0, 100.0, 100.0, 100.0, 100.0, 250.0, 100.0]) == 0.0
    assert drift([100.0, 90.0]) == 0.0
