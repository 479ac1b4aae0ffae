"""Verdicts between runs: what is told of states, and how often noise is taken for a change."""

import math
from collections import Counter
from dataclasses import replace

import pytest
from amounts import amount
from made_runs import Made, Noise, made_run, operations

from iree_tuner.errors import TunerError
from iree_tuner.measure.statistics import CONFIDENCE_Z
from iree_tuner.suite.backends.backend import Conditions
from iree_tuner.suite.changes import (
    ALIKE,
    USUAL,
    WORTH,
    Spreads,
    cautions,
    changes,
    counts,
    ratio_of,
    spreads_of,
    verdict_of,
)
from iree_tuner.suite.results import History, Results, Row, RunFacts

NAMES = [name for name, *_ in operations(40)]
SLOW = dict.fromkeys(NAMES, 1.1)
SIZE = {"operations": amount(20, 40)}


def verdicts(before, after, **more):
    return Counter(each.verdict for each in changes(before, after, **more))


def pairs_of_runs(count, paired, **more):
    """The same code twice, or once with changes."""
    for seed in range(count):
        before = made_run(Made(f"before-{seed}", 2 * seed, **SIZE))
        against = before.facts.id if paired else ""
        yield before, made_run(Made(f"after-{seed}", 2 * seed + 1, against=against, **SIZE, **more))


@pytest.mark.parametrize("paired", [False, True])
def test_noise_is_no_change(paired):
    found = sum((verdicts(*each) for each in pairs_of_runs(amount(2, 5), paired)), Counter())
    assert found["FASTER"] + found["SLOWER"] <= 0.01 * found.total()
    quiet = found["SAME"] + (0 if paired else found["AMBIGUOUS"])
    assert quiet >= 0.95 * found.total() >= amount(190, 1000)


def test_a_machine_that_shifts_more_than_usual_needs_its_history():
    noise = Noise(shift=0.05)
    runs = tuple(made_run(Made(f"run-{seed}", seed, started=seed, noise=noise, **SIZE)) for seed in range(9))
    known = spreads_of(History("", runs[:7]))
    assert verdicts(runs[7], runs[8])["SLOWER"] > 2, "the usual spread is not that of this machine"
    found = verdicts(runs[7], runs[8], spreads=known)
    assert found["FASTER"] + found["SLOWER"] <= 0.02 * found.total()


def test_code_in_turns_that_is_slower_is_told_always():
    for before, after in pairs_of_runs(amount(1, 2), True, slower=SLOW):
        assert set(verdicts(before, after)) == {"SLOWER"}


def test_code_by_itself_that_is_slower_is_told_where_the_spread_allows():
    found = sum((verdicts(*each) for each in pairs_of_runs(amount(1, 3), False, slower=SLOW)), Counter())
    assert found["SLOWER"] >= 0.6 * found.total()
    assert found["SAME"] + found["FASTER"] <= 0.01 * found.total()
    calm = Noise(shift=0.003)
    runs = [made_run(Made(f"run-{seed}", seed, started=seed, noise=calm, **SIZE)) for seed in range(7)]
    later = made_run(Made("later", 8, noise=calm, slower=SLOW, **SIZE))
    known = spreads_of(History("", tuple(runs)))
    assert set(verdicts(runs[-1], later, spreads=known)) == {"SLOWER"}


def test_what_is_faster_is_told_with_its_ratio():
    ((before, after),) = pairs_of_runs(1, True, slower={NAMES[0]: 0.5})
    found = [each for each in changes(before, after) if each.key[0] == NAMES[0]]
    assert {each.verdict for each in found} == {"FASTER"}
    assert all(each.paired and abs(each.ratio - 2) < 0.1 for each in found)
    assert all(each.interval[0] < each.ratio < each.interval[1] for each in found)


def row(state="ok", operation="matmul", **more):
    timed = {"time_us": 100.0, "interval_us": (99.0, 101.0)} if state == "ok" else {}
    return Row(operation, "matmul", {}, "iree", "default", "local-task", "a CPU", state, **(timed | more))


def run(*rows, **more):
    return Results(RunFacts(**({"id": "r", "name": "r"} | more)), rows)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (None, row(), "NEW"),
        (None, row("failed"), "NEW"),
        (row(), None, "GONE"),
        (row("failed"), row(), "FIXED"),
        (row("missing"), row(), "FIXED"),
        (row(), row("failed"), "BROKEN"),
        (row(), row("lost"), "BROKEN"),
        (row("failed"), row("failed"), None),
        (row("skipped"), row("failed"), None),
        (row(), row(time_us=None, interval_us=None), "AMBIGUOUS"),
    ],
)
def test_states_are_compared_before_times(before, after, verdict):
    both = row(operation="in both")
    found = changes(run(both, *filter(None, [before])), run(both, *filter(None, [after])))
    told = {each.key[0]: each.verdict for each in found}
    assert told == {"in both": "SAME"} | ({"matmul": verdict} if verdict else {})


def test_a_change_against_another_run_does_not_count():
    after = row(change=2.0, change_interval=(1.9, 2.1))
    for against, verdict in (("before", "FASTER"), ("another", "SAME"), ("", "SAME")):
        (found,) = changes(run(row(), id="before"), run(after, id="after", against=against))
        assert (found.verdict, found.paired) == (verdict, against == "before")


def test_a_run_is_the_same_as_itself():
    wide = row(interval_us=(50.0, 200.0))
    (found,) = changes(run(wide, id="one"), run(wide, id="one"))
    assert (found.verdict, found.ratio) == ("SAME", 1.0)


def test_rows_without_samples_are_compared_by_their_intervals():
    ratio, (low, high) = ratio_of(row(), row(time_us=80.0, interval_us=(79.2, 80.8)), Spreads({"a CPU": 0.0}))
    error = math.hypot(*[math.log(101 / 99) / (2 * CONFIDENCE_Z)] * 2)
    assert ratio == pytest.approx(1.25)
    assert math.log(high / ratio) == pytest.approx(CONFIDENCE_Z * error, rel=1e-3)
    assert ratio / low == pytest.approx(high / ratio)
    assert ratio_of(row(interval_us=None), row()) == (1.0, None)
    assert ratio_of(row(time_us=None), row()) == (None, None)


@pytest.mark.parametrize("samples", [(1.0,) * 3, (0.0,) * 20, (math.nan,) * 20, (math.inf,) * 20])
def test_samples_that_say_nothing_are_passed_over(samples):
    assert ratio_of(row(samples_us=samples), row())[0] == 1.0


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((1.031, 1.5), "FASTER"),
        ((1.03, 1.5), "AMBIGUOUS"),
        ((1.031, 1.04), "FASTER"),
        ((0.9, 0.9708), "SLOWER"),
        ((0.9, 0.9709), "AMBIGUOUS"),
        ((0.95, 1.05), "SAME"),
        ((0.94, 1.0), "AMBIGUOUS"),
        ((1.0, 1.07), "AMBIGUOUS"),
        (None, "AMBIGUOUS"),
    ],
)
def test_the_rules(interval, verdict):
    assert verdict_of(interval, WORTH, ALIKE) == verdict


def test_counts_are_in_the_order_of_interest():
    both = row(operation="in both")
    found = changes(run(both, row(operation="a")), run(both, row("failed", "a"), row(operation="b")))
    assert list(counts(found).items()) == [("BROKEN", 1), ("NEW", 1), ("SAME", 1)]


def test_runs_without_common_rows_are_a_mistake():
    with pytest.raises(TunerError, match="the runs a and b have no rows in common"):
        changes(run(row(), id="a"), run(row(operation="other"), id="b"))


def test_other_machines_and_conditions_are_told():
    before = RunFacts("a", "", devices={"local-task": "a CPU", "cuda://0": "a GPU"})
    assert cautions(before, replace(before, id="b", commit="other", compiler="other")) == ()
    after = replace(before, devices={"local-task": "another"}, conditions=Conditions(timing="device"))
    assert cautions(before, after) == (
        "local-task was a CPU and is another", "the conditions differ: timing was call and is device",
    )  # fmt: skip


def test_a_spread_is_known_from_five_pairs_of_equal_runs():
    runs = [made_run(Made(f"run-{seed}", seed, started=seed, noise=Noise(shift=0.06))) for seed in range(12)]
    assert spreads_of(History("", tuple(runs[:5]))) == Spreads(), "four pairs"
    found = spreads_of(History("", tuple(runs)))
    true = 0.06 * math.sqrt(2)
    assert 0.6 * true < found.devices["a CPU"] < 1.2 * true, "between the usual one and the true one"
    other = [replace(each, facts=replace(each.facts, commit=str(place))) for place, each in enumerate(runs)]
    assert spreads_of(History("", tuple(other))) == Spreads(), "their code differs"
    nobody = [replace(each, facts=replace(each.facts, commit="")) for each in runs]
    assert spreads_of(History("", tuple(nobody))) == Spreads(), "nobody knows which code"


def test_a_row_that_jumps_does_not_speak_for_the_others():
    runs = []
    for seed in range(12):
        jump = {(NAMES[0], "iree"): 1.3 if seed % 2 else 1.0}
        runs.append(made_run(Made(f"run-{seed}", seed, started=seed, slower=jump, noise=Noise(shift=0.005))))
    found = spreads_of(History("", tuple(runs)))
    jumping = next(each for each in runs[0].rows if (each.operation, each.backend) == (NAMES[0], "iree"))
    assert found.of(jumping) > 0.15
    assert found.devices["a CPU"] < USUAL
    assert found.of(replace(jumping, device_name="elsewhere")) == USUAL
