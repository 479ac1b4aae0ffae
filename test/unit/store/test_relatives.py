"""What a run takes over from other workloads, other machines and other releases."""

from dataclasses import replace

import hand_made
import pytest
from store.samples import KEY, trial

from iree_tuner.store import Store
from iree_tuner.store.queries import relatives

LARGER = replace(KEY, workload=replace(KEY.workload, loops=(8, 5, 6)))
MUCH_LARGER = replace(KEY, workload=replace(KEY.workload, loops=(64, 64, 64)))
ELSEWHERE = replace(KEY, setting=replace(KEY.setting, processor="another CPU"))
OTHER_TYPES = replace(KEY, workload=replace(KEY.workload, types=hand_made.named("f16", "f16", "f32")))
OTHER_SPACE = replace(KEY, space_label="Mmt4dTilingExpert", space="0")


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "trials.db") as opened:
        yield opened


def fill(store, key, *values, **more):
    run = store.start_run("program", {})
    store.add(store.study(key), run, [trial(value, digest=f"{value}", **more) for value in values])


def test_nearest_first_and_the_best_of_each(store):
    fill(store, MUCH_LARGER, 1, 2)
    fill(store, LARGER, 7, 3, 5)
    fill(store, ELSEWHERE, 9)
    found = relatives(store, KEY, 3, 2)
    assert [each.key for each in found] == [ELSEWHERE, LARGER, MUCH_LARGER] or [
        each.key for each in found
    ] == [LARGER, ELSEWHERE, MUCH_LARGER]
    assert [each.assignment["x"] for each in next(f for f in found if f.key == LARGER).best] == [3, 5]
    assert found[0].distance <= found[1].distance < found[2].distance


def test_what_is_no_relative(store):
    fill(store, KEY, 1)
    fill(store, OTHER_TYPES, 1)
    fill(store, OTHER_SPACE, 1)
    fill(store, LARGER, 1, outcome="compile_error")
    assert relatives(store, KEY, 5, 5) == []


def test_what_is_slower_than_the_default_is_not_taken(store):
    run = store.start_run("program", {})
    slow = replace(trial(1), samples_us=(150.0,))
    store.add(store.study(LARGER), run, [slow])
    assert relatives(store, KEY, 5, 5) == []


def test_equal_code_is_taken_once(store):
    run = store.start_run("program", {})
    store.add(
        store.study(LARGER), run, [trial(1, digest="same"), trial(2, digest="same"), trial(3, digest="3")]
    )
    (found,) = relatives(store, KEY, 5, 5)
    assert [each.assignment["x"] for each in found.best] == [1, 3]
