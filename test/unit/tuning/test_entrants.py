"""Who is let into the search, and when."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from iree_tuner.tuning import entrants
from iree_tuner.tuning.effort import effort_named
from iree_tuner.tuning.entrants import Entrants
from iree_tuner.tuning.gain import Prospects
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.schedule import search_by_gain
from iree_tuner.tuning.stop import StopRequest


class Fake:
    """A search that finds nothing, and tells what it was given."""

    def __init__(self, weighed, space, prospects: Prospects, *_: object) -> None:
        self.weighed, self.prospects, self.cap, self.slices = weighed, prospects, 4, 0

    @property
    def open(self) -> bool:
        return self.slices < self.cap

    @property
    def tried(self) -> int:
        return self.slices

    def advance(self, *_: object) -> None:
        self.slices += 1
        self.prospects.add(1.0, 1.0)

    def settle(self) -> None:
        pass


@pytest.fixture
def world(monkeypatch):
    """Tasks of 100, 99, ... microseconds; groups that were weighed, in order."""
    tasks = [
        SimpleNamespace(
            workload=SimpleNamespace(key=str(number), name=str(number)), calls=1, dispatches=[None]
        )
        for number in range(20)
    ]
    groups: list[list[str]] = []

    def weigh(some, lab, stop):
        groups.append([task.workload.key for task in some])
        weighed = SimpleNamespace(space=1, note="", default_us=1.0, weight_us=1.0, share=0.0)
        return [_Weighed(task, **vars(weighed)) for task in some]

    monkeypatch.setattr(entrants, "weigh", weigh)
    monkeypatch.setattr(entrants, "Campaign", Fake)
    monkeypatch.setattr(entrants, "replace", lambda weighed, share: weighed.with_share(share))
    return SimpleNamespace(tasks=tasks, groups=groups)


class _Weighed(SimpleNamespace):
    def __init__(self, task, **more) -> None:
        super().__init__(task=task, **more)

    def with_share(self, share: float) -> _Weighed:
        return _Weighed(**{**vars(self), "share": share})


def made(world, weights, *, budget_s=60.0, effort="default", stop=None):
    options = SimpleNamespace(budget_s=budget_s, effort=effort_named(effort), starters={})
    findings = SimpleNamespace(stop=stop or StopRequest())
    return Entrants(world.tasks, weights, SimpleNamespace(jobs=2), None, findings, options)


def weights(*sizes: float) -> dict[str, float]:
    return {str(number): size for number, size in enumerate(sizes)}


def run(found: Entrants, *, to_the_cap: bool) -> None:
    search_by_gain(found, 4, math.inf, StopRequest(), Silent(), to_the_cap=to_the_cap)


def test_the_largest_are_weighed_first_and_the_small_ones_never(world) -> None:
    found = made(world, weights(*[1.0] * 4, *[1000.0 - n for n in range(8)], *[1e-3] * 8))
    run(found, to_the_cap=False)
    assert world.groups[0] == ["4", "5", "6", "7", "8", "9", "10", "11"]
    assert {result.task.workload.key for result in found.left()} == {"16", "17", "18", "19"}
    assert all("others promised more" in result.note for result in found.left())


def test_all_have_their_turn_where_time_is_no_matter(world) -> None:
    found = made(world, weights(*[5.0] * 20), budget_s=None)
    run(found, to_the_cap=True)
    assert sum(map(len, world.groups)) == 20
    assert all(not each.open for each in found.campaigns)
    assert not found.left()


def test_without_a_budget_small_ones_are_left_alone(world) -> None:
    found = made(world, weights(1000.0, *[0.1] * 19), budget_s=None)
    run(found, to_the_cap=True)
    assert world.groups == [["0"]]
    assert len(found.results) == 19
    assert all("of the program's time" in result.note for result in found.results)


def test_without_a_profile_all_are_weighed_at_once(world) -> None:
    found = made(world, {})
    assert [len(group) for group in world.groups] == [20]
    assert found.hope_us() == 0.0
    assert not found.left()


def test_shares_are_of_the_whole_program(world) -> None:
    found = made(world, weights(75.0, 25.0, *[0.0] * 18))
    found.admit()
    assert [each.weighed.share for each in found.campaigns[:2]] == [0.75, 0.25]


def test_nobody_enters_after_a_request_to_stop(world) -> None:
    stop = StopRequest()
    found = made(world, weights(*[5.0] * 20), stop=stop)
    assert found.hope_us() > 0.0
    stop.request()
    assert found.hope_us() == 0.0
    assert len(found.left()) == 20
