"""A budget is kept: what comes after the search is predicted, and the search gets the rest. On a
simulated clock.
"""

import math
from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from iree_tuner.measure.statistics import FAR_PAIRS, LEAST_PAIRS
from iree_tuner.tuning import reading
from iree_tuner.tuning.budget import Budget, MeasuredTimes
from iree_tuner.tuning.options import EFFORTS, effort_named
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.timeline import APART, Stage, Timeline, TimeUse, WorkerTimeline


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self):
        return self.now


def budget(total_s, clock=None, jobs=2, **measured):
    return Budget(total_s, Timeline(clock or Clock()), jobs, StopRequest(), MeasuredTimes(**measured))


def test_without_a_budget_nothing_ends():
    free = budget(math.inf)
    assert free.search_until(3, 5) == math.inf
    assert free.versions_that_fit(math.inf, 1.0) == math.inf
    assert free.final_plan(effort_named("default"), 4, 3, 1, 0.0).finalists == 6


@given(
    total_s=st.floats(60, 3600),
    build_s=st.floats(0.2, 6),
    check_s=st.floats(0.01, 0.5),
    workloads=st.integers(1, 30),
)
def test_at_least_half_of_the_time_is_left_for_trials(total_s, build_s, check_s, workloads):
    """Where what must be done is short beside the budget; three fifths from five minutes up."""
    assume(4 * build_s + 6 * check_s < 0.1 * total_s)
    clock = Clock()
    kept = budget(total_s, clock, build_s=build_s, check_s=check_s)
    clock.now = kept.flags_until() + 0.07 * total_s  # reading, flags and the profile have had their parts
    least = 0.5 if total_s < 300 else 0.6
    assert kept.search_until(2, workloads) - clock.now >= least * total_s


@given(
    total_s=st.floats(60, 3600),
    build_s=st.floats(0.1, 20),
    check_s=st.floats(0.01, 2),
    workloads=st.integers(1, 12),
    agree_s=st.floats(0.0, 3.0),
    late=st.floats(0.0, 1.1),
    effort=st.sampled_from(sorted(EFFORTS)),
)
def test_what_follows_the_search_ends_in_time(total_s, build_s, check_s, workloads, agree_s, late, effort):
    """Finals, their checks, proof and verdict take what was planned; the sum is kept, however late the search
    ended.
    """
    clock = Clock()
    kept = budget(total_s, clock, build_s=build_s, check_s=check_s)
    until = kept.search_until(2, workloads, agree_s * workloads)
    if until < clock.now:
        return  # not even what must be done fits
    clock.now += late * (until - clock.now)
    after_s = kept.verdict_s(2) + kept.proof_s
    finals = max(1, len(kept.finals_that_fit(after_s, [agree_s] * workloads)))
    for left in range(finals, 0, -1):  # of several finalists one is chosen; and what is built for the next
        plan = kept.final_plan(effort_named(effort), 2, finals + left, 1, after_s + agree_s * left)
        clock.now += agree_s + (plan.finalists > 1) * plan.seconds / 0.7
    for left in range(finals, 0, -1):
        clock.now += kept.final_plan(effort_named(effort), 2, left, 1, after_s).seconds / 0.7
    clock.now += kept.proof_s
    clock.now += kept.versions_s(2, kept.places_that_fit(2, 2))
    clock.now += max(0.0, min(kept.comparison_s(0, 0, 60.0), kept.left_s))
    assert clock.now <= kept.end + max(3.0, 0.05 * total_s)


def test_a_verdict_leaves_time_to_finals_but_for_its_least_rounds():
    clock = Clock()
    kept = budget(200.0, clock, build_s=1.0, check_s=0.3)
    finals_s = kept.finals_s(12) + 4.0
    wanted_s = kept.verdict_s(2) + kept.proof_s + kept.apart_s
    least_s = wanted_s - kept.verdict_s(2) + kept.least_verdict_s(2)
    clock.now = kept.end - 1.0 - wanted_s - finals_s
    assert kept.after_finals_s(2, 12, 4.0) == pytest.approx(wanted_s)
    clock.now += 3.0
    assert kept.after_finals_s(2, 12, 4.0) == pytest.approx(wanted_s - 3.0)
    clock.now += 20.0
    assert kept.after_finals_s(2, 12, 4.0) == pytest.approx(least_s)


def test_a_final_with_a_long_check_does_not_keep_others_from_theirs():
    clock = Clock()
    kept = budget(90.0, clock)
    clock.now += 70.0
    assert kept.finals_that_fit(5.0, [2.0, 30.0, 0.5, 8.0, 2.0]) == [0, 2, 3]
    assert kept.finals_that_fit(20.0, [2.0]) == []


def test_versions_that_do_not_fit_are_not_compiled():
    clock = Clock()
    kept = budget(90.0, clock, build_s=4.0, check_s=0.5)
    assert kept.versions_that_fit(kept.flags_until(), 3.0) == pytest.approx((4.0 + 0.035 * 90 - 3.0) / 3.3)
    assert budget(90.0, build_s=40.0).versions_that_fit(clock.now + 10.8, 3.0) < 1


@pytest.mark.parametrize(
    ("build_s", "loading_s", "alone", "fits"),
    [
        (2.0, 0.5, True, True),
        (8.0, 2.0, True, False),  # 11 s of 100 are more than a search should give
        (8.0, 2.0, False, True),  # it compiles while others are timed
        (8.0, 9.0, True, True),  # a version takes seconds: there is little to search in that time
        (8.0, 20.0, True, False),
    ],
)
def test_a_first_answer_costs_a_part_of_the_budget(build_s, loading_s, alone, fits):
    measured = {"build_s": build_s, "loading_s": loading_s}
    assert budget(100.0, **measured).first_fits(alone) is fits
    assert budget(math.inf, **measured).first_fits(alone)


@pytest.mark.parametrize(
    ("total_s", "build_s", "fits"), [(10.0, 2.5, True), (30.0, 4.5, True), (30.0, 9.0, False)]
)
def test_in_short_runs_a_first_answer_may_cost_more(total_s, build_s, fits):
    """A search could try little, and the first answer has all kernels."""
    assert budget(total_s, build_s=build_s, check_s=0.3).first_fits(True) is fits


def test_rounds_of_faster_versions_take_less():
    """A round has one invocation of the program, and one of each version."""
    unknown, known = (budget(180.0, invocation_s=8.0, version_s=each) for each in (0.0, 0.5))
    saved = [getattr(unknown, each)(4) - getattr(known, each)(4) for each in ("least_verdict_s", "verdict_s")]
    assert saved == [FAR_PAIRS * 4 * 7.5, LEAST_PAIRS * 4 * 7.5]


def test_a_search_goes_on_where_finals_have_left_time():
    """All but what the steps after them need, and as much for finals once more as they took."""
    clock = Clock()
    kept = budget(100.0, clock, build_s=2.0, check_s=0.5)
    clock.now += 50.0
    after_s = kept.least_verdict_s(3) + kept.proof_s + kept.apart_s
    until = kept.search_again_until(3, 5.0)
    assert 5.0 < 50.0 - (until - clock.now) - after_s < 15.0
    assert kept.search_again_until(3, 40.0) == 0.0, "less than a tenth of the budget is left"
    kept.stop.request()
    assert kept.search_again_until(3, 5.0) == 0.0
    assert budget(math.inf, clock).search_again_until(3, 5.0) == 0.0


def test_a_long_first_check_on_a_device_with_a_driver_is_repeated():
    assert budget(90.0, check_s=4.0).may_be_cold(on_host=False)
    assert not budget(90.0, check_s=4.0).may_be_cold(on_host=True)
    assert not budget(90.0, check_s=0.2).may_be_cold(on_host=False)
    assert not budget(math.inf, check_s=4.0).may_be_cold(on_host=False)


def test_where_nothing_can_be_searched_the_first_answer_is_the_result():
    clock = Clock()
    kept = budget(60.0, clock, build_s=8.0, loading_s=8.0, invocation_s=1.0)
    assert not kept.first_fits(True)
    clock.now += 28.0
    assert kept.is_over
    assert kept.first_fits(True)


def test_checks_are_predicted_from_the_nearest_that_was_measured():
    guessed, loaded, checked = (
        budget(90.0, parts_check_s=4.0, **known)
        for known in ({}, {"loading_s": 1.0}, {"loading_s": 1.0, "check_s": 0.5})
    )
    least = [each.least_verdict_s(3) - 2.0 for each in (guessed, loaded, checked)]
    assert least == [16.0, 4.0, 2.0]


@pytest.mark.parametrize("total_s", [10.0, 60.0, 300.0])
def test_the_search_goes_on_while_nothing_wins(total_s):
    """Until only the first final and its verdict would fit."""
    clock = Clock()
    kept = budget(total_s, clock, build_s=0.5, check_s=0.05)
    begun = clock.now = clock.now + 3.0
    none, one = (kept.search_until(2, workloads, 0.0, begun) for workloads in (0, 1))
    assert one < none < clock.now - 3.0 + total_s - kept.least_verdict_s(1)


def test_the_result_is_compiled_within_the_budget():
    until = [
        Budget(
            120.0, Timeline(Clock()), 2, StopRequest(), MeasuredTimes(build_s=10.0), compiled=compiled
        ).search_until(2, 3)
        for compiled in (False, True)
    ]
    assert until[0] - until[1] >= 10.0


@pytest.mark.parametrize(("profile_s", "kept_s"), [(4.0, 6.0), (5.0, 0.0)])
def test_a_profile_of_the_result_has_its_time(profile_s, kept_s):
    plain = budget(90.0, profile_s=profile_s)
    profiled = replace(plain, profiled=True)
    assert plain.search_until(2, 3) - profiled.search_until(2, 3) == pytest.approx(1.1 * kept_s)


def test_a_profile_that_would_take_too_long_is_left_out():
    assert budget(60.0).profile_fits(reading._PROFILE_S), "from a minute on, as --help says"
    assert budget(90.0).profile_fits(4.0)
    assert not budget(90.0).profile_fits(20.0)
    assert budget(math.inf).profile_fits(1e6)


def test_who_asks_to_stop_waits_for_the_least_that_a_verdict_takes():
    kept = budget(math.inf)
    kept.stop.request()
    plan = kept.final_plan(effort_named("full"), 4, 3, 1, 0.0)
    assert (plan.finalists, plan.places, plan.rounds) == (2, 2, 320)
    assert plan.seconds <= 3.0
    assert kept.comparison_s(2, 2, 60.0) <= 5.0


def test_slow_programs_have_fewer_versions_and_a_longer_verdict():
    clock = Clock()
    fast = budget(120.0, clock, build_s=1.0, check_s=0.1, invocation_s=0.001)
    slow = budget(120.0, clock, build_s=1.0, check_s=0.1, invocation_s=1.0)
    until = fast.flags_until()
    assert fast.versions_that_fit(until, 3.0) > 5
    assert slow.versions_that_fit(until, 3.0) < 1, "the least rounds of one more take 13 s"
    assert slow.verdict_s(1) > 16.0 > fast.verdict_s(1)
    assert slow.least_verdict_s(1) < slow.verdict_s(1)
    rounds = [slow.least_verdict_s(each) - slow.versions_s(each, 1) for each in (1, 2)]
    assert rounds == pytest.approx([6.0, 9.0]), "three rounds, of which the default takes a second in each"
    assert fast.apart_s < 2.5
    assert fast.apart_fits(fast.least_verdict_s(2))
    moved = budget(120.0, clock, build_s=1.0, check_s=0.1, invocation_s=0.001, parts_bytes=4e9)
    assert not moved.apart_fits(moved.least_verdict_s(2)), "20 s, more than a part of the budget"
    assert not moved.apart_s


def time_use(finals_s: float, apart_s: float) -> TimeUse:
    """After finals' checks and the checks of dispatches, which took so long."""
    apart = Stage(APART, 150.0, 150.0 + apart_s)
    return TimeUse((apart,), (WorkerTimeline("cuda://0", (("agree_here", 140.0, 140.0 + finals_s),)),))


def test_explanations_get_what_checks_leave_of_their_part():
    clock = Clock()
    kept = budget(200.0, clock, build_s=0.5, check_s=0.1, invocation_s=0.001)
    assert kept.explanation_fits(time_use(6.4, 4.0)), "14.4 s of 16 with another 4"
    assert not kept.explanation_fits(time_use(7.4, 5.0)), "17.4 s"
    clock.now += 197.0
    assert not kept.explanation_fits(time_use(6.4, 4.0)), "too late"
    assert budget(math.inf, clock).explanation_fits(time_use(600.0, 60.0))
