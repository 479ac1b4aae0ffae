"""Compiler flags are added one axis after the other, while that wins."""

import math
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from iree_tuner.errors import UsageError
from iree_tuner.program.source import Program
from iree_tuner.targets import parse_target
from iree_tuner.targets.find import flags_for_options, options_of, with_options
from iree_tuner.tuning import flags
from iree_tuner.tuning.budget import Budget
from iree_tuner.tuning.flags import (
    FlagChoice,
    Flags,
    choose_flags,
    fuses_more,
    option,
    optioned,
    sources_of,
    try_changes,
    worth_tuning,
)
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.options import TuningOptions, effort_named
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.timeline import Timeline
from iree_tuner.tuning.versions import Change, ComparisonPlan, ProgramVersion

LOOK = ComparisonPlan(1, 8, 0.01)
HOST = parse_target("llvm-cpu:host")


class FakeWhole:
    """A program whose time is a function of its options; None: it does not compile."""

    def __init__(self, time_of):
        self._time_of = time_of
        self.compared = []

    def compare(self, against, others, look):
        base = self._time_of(frozenset(options(against)))
        self.compared.append([options(each) for each in others])
        return [self._one(base, self._time_of(frozenset(options(each)))) for each in others]

    def _one(self, base, time_us):
        if time_us is None:
            return SimpleNamespace(comparison=None, error="does not compile", ok=False)
        speedup = base / time_us
        verdict = "win" if speedup > 1.02 else "lose" if speedup < 0.98 else "tie"
        return SimpleNamespace(
            comparison=SimpleNamespace(speedup=speedup, verdict=verdict), error="", ok=True
        )


def options(each):
    return options_of(optioned(each.target, each.changes))


def run_with(target):
    return SimpleNamespace(lab=SimpleNamespace(target=target))


def chosen(time_of, most=16):
    whole = FakeWhole(time_of)

    def compare(base, others):
        return whole.compare(base.version, [each.version for each in others], LOOK)

    return try_changes(FlagChoice(HOST), Flags().alternatives(run_with(HOST)), compare, most), whole


def test_options_that_need_each_other_are_found():
    def time_of(options):
        if {"im2col", "data-tiling"} <= options:
            return 20.0
        return 50.0 if "im2col" in options else 100.0

    choices, _ = chosen(time_of)
    assert options(choices[0])[:2] == ("im2col", "data-tiling")
    assert choices[0].speedup == pytest.approx(5.0)
    assert worth_tuning(choices) == [choices[0]], "tuning does not make up for five times"


def test_nothing_wins_and_nothing_is_changed():
    choices, whole = chosen(lambda options: 100.0)
    assert choices[0].changes == ()
    assert worth_tuning(choices) == [choices[0]]
    assert len(whole.compared) == 1, "there is nothing to add to"


def test_a_small_gain_leaves_the_program_as_given_in_the_race():
    choices, _ = chosen(lambda options: 80.0 if "data-tiling" in options else 100.0)
    kept = worth_tuning(choices)
    assert [options(each) for each in kept] == [("data-tiling",), ()]


def test_what_does_not_compile_is_no_choice():
    choices, _ = chosen(lambda options: None if options else 100.0)
    assert [each.changes for each in choices] == [()]


def test_there_is_an_end_of_compilations():
    _, few = chosen(lambda options: 100.0 / (1 + len(options)), most=3)
    assert sum(map(len, few.compared)) == 3


def run_of(whole, target, total_s=math.inf):
    whole.vmfb, whole.time = lambda version: b"", lambda version: None
    return SimpleNamespace(
        program=Program("p.mlir", b"module {}"), versions=whole,
        budget=Budget(total_s, Timeline(), 2, StopRequest()), lab=run_with(target).lab,
        effort=effort_named("default"), records=Records(None, StopRequest()), sources=[Flags()],
        stop=StopRequest(), watch=Silent(), at_once=nullcontext,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("target", "gain", "total_s", "tried"),
    [
        ("cuda:sm_90", 3.3, 115.0, [[("aggressive-fusion",)]]),
        ("cuda:sm_90", 1.5, 115.0, [[("aggressive-fusion",), ("O1",), ("O2",), ("O3",)]]),
        ("cuda:sm_90", 3.3, 3600.0, [[("aggressive-fusion",), ("O1",), ("O2",), ("O3",)]]),
        ("llvm-cpu:znver4", 3.3, 115.0, []),
    ],
)
def test_after_a_much_faster_first_answer_more_fusion_is_tried(target, gain, total_s, tried, monkeypatch):
    """It changes the dispatches that are searched next; other flags wait for the end."""
    monkeypatch.setattr(flags, "keep_choices", lambda *_: None)
    whole = FakeWhole(lambda options: 100.0)
    kernel = Change("kernels", "matmul", "tiled")
    first = ProgramVersion("kernels", parse_target(target), (), (kernel,))
    seen, compare = [], whole.compare
    whole.compare = lambda one, others, look: (seen.extend([one, *others]), compare(one, others, look))[1]
    _, note = choose_flags(run_of(whole, parse_target(target), total_s), first, gain)
    assert all((kernel in each.changes) == (gain > 2 and total_s < 300) for each in seen)
    assert whole.compared == tried
    assert ("left to the end" in note) == (gain > 2 and total_s < 300)


@pytest.mark.parametrize(
    ("target", "fuses"),
    [("cuda:sm_90", True), ("cuda:sm_90+aggressive-fusion", False), ("llvm-cpu:znver4", False)],
)
def test_a_profile_waits_for_an_option_that_changes_the_dispatches(target, fuses):
    run = run_of(FakeWhole(lambda options: 100.0), parse_target(target))
    assert fuses_more(run) is fuses


@pytest.mark.parametrize(("late", "rounds"), [(True, 1), (False, 3)])
def test_there_is_an_end_of_time(late, rounds, monkeypatch):
    """Who asks for flags gets a round whatever the time."""
    whole = FakeWhole(lambda options: 100.0 / (1 + len(options)))
    monkeypatch.setattr(flags, "keep_choices", lambda *_: None)
    run = run_of(whole, HOST)
    run.budget.flags_until = lambda: -math.inf if late else math.inf
    found, note = choose_flags(run)
    assert len(whole.compared) == rounds
    assert note == ""
    assert len(found.choices[0].changes) == rounds


def test_where_there_is_time_for_a_few_they_are_the_first_of_each_axis():
    _, whole = chosen(lambda options: 100.0, most=4)
    assert whole.compared == [[("data-tiling",), ("im2col",), ("O1",), ("data-tiling", "no-microkernels")]]


def test_options_of_a_user_s_own_are_not_added_to():
    assert Flags().alternatives(run_with(parse_target("llvm-cpu:host+im2col"))) == ()


def test_a_change_has_the_flags_of_its_options():
    tiled = option(HOST, "data-tiling+no-microkernels")
    target = parse_target("llvm-cpu:host+data-tiling+no-microkernels")
    assert optioned(HOST, [tiled]) == target
    assert Flags().flags([tiled]) == flags_for_options(target)


@pytest.mark.parametrize(
    ("how", "names"),
    [
        ({"effort": "smoke"}, []), ({}, ["flags", "runtime"]), ({"try_flags": False}, []),
        ({"effort": "smoke", "try_flags": True}, ["flags", "runtime"]), ({"budget_s": 59.0}, []),
    ],
)  # fmt: skip
def test_long_runs_try_flags_unless_these_are_kept(how, names):
    options, given = TuningOptions(**how), SimpleNamespace(name="given")
    assert [each.name for each in sources_of(options, [given])] == [*names, "given"]
    both = [each.name for each in sources_of(options, [given, Flags()])]
    assert sorted(both) == sorted({*names, "flags", "given"})


def test_no_two_options_of_one_axis():
    choices, _ = chosen(lambda options: 100.0 / (1 + len(options)))
    for each in choices:
        taken = set(options(each))
        for axis in HOST.axes:
            within = [option for option in axis if set(option.split("+")) <= taken]
            assert len(within) <= 2, "an option of an axis may hold another"
            assert len({frozenset(option.split("+")) for option in within if "+" in option}) <= 1


@pytest.mark.parametrize("text", ["llvm-cpu:host+im2col+O2", "cuda:sm_80+O3", "hip:gfx942+aggressive-fusion"])
def test_options_are_part_of_a_chip(text):
    target = parse_target(text)
    assert f"{target}" == text
    plain = with_options(target, ())
    assert target.flags == (*plain.flags, *flags_for_options(target))
    assert with_options(plain, options_of(target)).flags == target.flags


@pytest.mark.parametrize("text", ["llvm-cpu:host+fast", "cuda:sm_80+data-tiling", "vulkan:ampere+"])
def test_unknown_options_are_refused(text):
    with pytest.raises(UsageError, match="has no option"):
        parse_target(text)
