"""Flags that a run has tried are not tried again by the run that goes on with it."""

import pytest
from paired import compare_pairs
from studies import STUDY

from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Assignment
from iree_tuner.store import Store
from iree_tuner.store.trial import Trial
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.flags import (
    KIND,
    FlagChoice,
    FlagChoices,
    choices_key,
    keep_choices,
    option,
    unfinished_choices,
)
from iree_tuner.tuning.options import effort_named
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.stop import StopRequest

TARGET = target_for_device("local-task")
PROGRAM = Program("m.mlir", b"module {}")
TILING, O2 = CHANGES = option(TARGET, "data-tiling"), option(TARGET, "O2")
KEY = choices_key(PROGRAM, TARGET, CHANGES, effort_named("default"))


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "trials.db") as opened:
        yield opened


def records(store, **more):
    return Records(store, StopRequest(), store.start_run("m.mlir", {}), **more)


def tried_at(store, run, *times):
    """Trials of a run, each of which ended at one of these times."""
    trials = [Trial("w", Assignment.of({"x": n}), "error", at=at) for n, at in enumerate(times)]
    store.add(store.study(STUDY), run.run, trials)


def choices():
    """The best first, as `try_changes` has them: bases come after what was added to them."""
    given = FlagChoice(TARGET)
    tiled = FlagChoice(TARGET, compare_pairs([([2.0] * 20, [1.0] * 20)]), given, (TILING,))
    both = FlagChoice(TARGET, compare_pairs([([1.2] * 20, [1.0] * 20)]), tiled, (TILING, O2))
    return FlagChoices((both, tiled, given), 3.5, 7.25)


def test_a_run_that_was_killed_leaves_its_choices(store):
    keep_choices(records(store), KEY, choices())
    found = unfinished_choices(records(store), KEY, TARGET, CHANGES)
    assert found == choices()
    assert found.choices[0].speedup == pytest.approx(2.4)
    assert found.choices[0].base is found.choices[1]


def test_how_long_was_searched_adds_up_from_run_to_run(store, monkeypatch):
    first = records(store)
    keep_choices(first, KEY, choices())
    tried_at(store, first, 100.0, 160.0)
    second = records(store)
    found = unfinished_choices(second, KEY, TARGET, CHANGES)
    assert found.searched_s == pytest.approx(60.0)
    keep_choices(second, KEY, found)
    tried_at(store, second, 300.0, 325.0)
    assert unfinished_choices(records(store), KEY, TARGET, CHANGES).searched_s == pytest.approx(85.0)


@pytest.mark.parametrize("state", ["interrupted", "failed"])
def test_so_does_one_that_was_stopped(store, state):
    first = records(store)
    keep_choices(first, KEY, choices())
    store.end_run(first.run, state)
    assert unfinished_choices(records(store), KEY, TARGET, CHANGES) == choices()


def test_a_run_that_ended_is_not_gone_on_with(store):
    keep_choices(records(store), KEY, choices())
    second = records(store)
    keep_choices(second, KEY, choices())
    store.end_run(second.run, "done")
    assert unfinished_choices(records(store), KEY, TARGET, CHANGES) is None


def test_only_the_same_is_taken_over(store):
    keep_choices(records(store), KEY, choices())
    others = [
        choices_key(Program("m.mlir", b"module { }"), TARGET, CHANGES, effort_named("default")),
        choices_key(PROGRAM, target_for_device("local-sync"), CHANGES, effort_named("default")),
        choices_key(PROGRAM, TARGET, CHANGES, effort_named("full")),
    ]
    assert len({KEY, *others}) == 4
    for key in others:
        assert unfinished_choices(records(store), key, TARGET, CHANGES) is None
    assert unfinished_choices(records(store, fresh=True), KEY, TARGET, CHANGES) is None
    assert unfinished_choices(Records(None, StopRequest()), KEY, TARGET, CHANGES) is None


@pytest.mark.parametrize(
    "rows",
    [
        "no list",
        [{"changes": ["O4"], "comparison": None}],
        [{"changes": [str(O2)], "comparison": None}],
        [{"changes": [], "comparison": {"speedup": 1.0}}],
        [{}],
    ],
)
def test_what_cannot_be_read_is_measured_again(store, rows):
    run = store.start_run("m.mlir", {})
    store.add_finding(run, KIND, {"key": KEY, "choices": rows, "build_s": 1.0, "check_s": 1.0})
    assert unfinished_choices(records(store), KEY, TARGET, CHANGES) is None
