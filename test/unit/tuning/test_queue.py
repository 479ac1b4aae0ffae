"""Which candidates are tried next, and who is let into the search."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
from tuning.fakes import close, fake_lab, fake_search

from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.options import TuningOptions, effort_named
from iree_tuner.tuning.queue import Queue
from iree_tuner.tuning.search import ExpectedGain
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.timeline import Timeline


@dataclass(frozen=True)
class Workload:
    key: str

    @property
    def name(self):
        return self.key


@dataclass(frozen=True)
class Task:
    workload: Workload
    calls: int = 1
    dispatches: tuple = ()


@dataclass(frozen=True)
class Baseline:
    task: Task
    share: float = 0.0
    space: object = "some"
    note: str = ""
    default_us: float = 1.0
    weight_us: float = 1.0


TEXTS = [f"code:{place + 1} time:{100 + place}" for place in range(40)]


class World:
    """Twenty tasks, whose defaults are measured in groups, and searches over a fake compiler and device."""

    def __init__(self, monkeypatch, *, alternate=True, texts=lambda key: TEXTS, count=20):
        self.lab = fake_lab(alternate=alternate)
        self.stop = StopRequest()
        keys = [str(number) for number in range(count)]
        self.tasks = [Task(Workload(key), dispatches=(SimpleNamespace(name=key),)) for key in keys]
        self.groups, self.asked = [], []
        self.cap = 40
        world = self

        def configure(queue, queued, baseline):
            """Candidates without a compiler."""
            queued.searches.append(
                fake_search(
                    texts(queued.task.workload.key), world.lab, stop=world.stop,
                    prospects=ExpectedGain(queued.weight_us, queued.floor), slice_trials=queue._slice,
                    cap=world.cap,
                )
            )  # fmt: skip

        monkeypatch.setattr(Queue, "_configure", configure)

    def measure(self, tasks, lab, stop):
        self.groups.append([task.workload.key for task in tasks])
        return [Baseline(task, share=1 / len(tasks)) for task in tasks]

    def queue(self, *weights, budget_s=60.0, whole_us=0.0, extra=(), proven=(), until=math.inf):
        run = SimpleNamespace(
            options=TuningOptions(effort="quick", budget_s=budget_s), effort=effort_named("quick"),
            stop=self.stop, watch=Silent(), timeline=Timeline(), starters={}, competing={}, replaced=set(),
            proven=[SimpleNamespace(source="kernels", dispatches=proven)],
            every_source=[SimpleNamespace(name="kernels", noun="kernel")],
            budget=SimpleNamespace(baselines_until=lambda: until),
        )  # fmt: skip
        weights_us = {str(number): size for number, size in enumerate(weights)}
        read = SimpleNamespace(
            lab=self.lab, tasks=self.tasks, weights_us=weights_us, roofline=None, extra=extra,
            profile=SimpleNamespace(whole_us=whole_us) if weights else None,
        )  # fmt: skip
        return Queue(run, read, measure=self.measure)

    def run(self, queue, most=10_000):
        """Keys of the workloads whose candidates were tried, in order."""
        found = []
        for search, _ in Engine(self.lab, self.stop, 8).run(queue):
            queue.add(search)
            key = next(each.task.workload.key for each in queue.workloads if search in each.searches)
            found.append(key)
            if len(found) == most:
                self.stop.request()
        return found


@pytest.fixture
def world(monkeypatch):
    made = World(monkeypatch)
    yield made
    close(made.lab)


def test_the_largest_are_measured_first_and_the_small_ones_never(world):
    queue = world.queue(*[0.01] * 4, *[1000.0 - n for n in range(8)], *[1e-4] * 8)
    world.run(queue)
    assert world.groups == [["4", "5", "6", "7", "8", "9", "10", "11"]]
    left = ["0", "1", "2", "3", "12", "13", "14", "15", "16", "17", "18", "19"]
    assert [result.task.workload.key for result in queue.left()] == left
    assert {result.note for result in queue.left()} == {"only 0.0% of the program's time"}


def test_what_no_time_was_left_for_says_so(world):
    queue = world.queue(*[5.0] * 20)
    assert {result.note for result in queue.left()} == {"not tuned: out of time"}
    world.stop.request()
    assert {result.note for result in queue.left()} == {"interrupted before it was tried"}


def test_shares_of_workloads_are_unknown_if_the_baselines_are_interrupted(world):
    measured = world.measure

    def interrupted(tasks, *given):
        world.stop.request()
        return measured(tasks[:1], *given)

    world.measure = interrupted
    left = world.queue().left()
    assert [result.task for result in left] == world.tasks
    assert {(each.share, each.note) for each in left} == {(0.0, "interrupted before it was tried")}


def test_all_have_their_turn_where_time_is_no_matter(world):
    world.cap = 4
    queue = world.queue(*[5.0] * 20, budget_s=None)
    world.run(queue)
    assert sum(map(len, world.groups)) == 20
    assert all(not each.open for each in queue.workloads)
    assert not queue.left()


def test_without_a_budget_small_ones_are_left_alone(world):
    queue = world.queue(1000.0, *[0.1] * 19, budget_s=None)
    world.run(queue)
    assert world.groups == [["0"]]
    assert len(queue.results) == 19
    assert all("of the program's time" in result.note for result in queue.results)


@pytest.mark.parametrize("step", [0.001, 0.02, 0.04])
def test_where_all_are_small_the_four_largest_are_searched(monkeypatch, step):
    """At most one of thirty has the twentieth part of the time that the effort asks for."""
    world = World(monkeypatch, count=30)
    try:
        queue = world.queue(*[1.5 - step * number for number in range(30)], budget_s=None)
        world.run(queue)
        assert [each.task.workload.key for each in queue.workloads] == ["0", "1", "2", "3"]
        assert len(queue.results) == 26
        assert all("of the program's time" in result.note for result in queue.results)
    finally:
        close(world.lab)


def test_without_a_profile_all_are_measured_at_once(world):
    queue = world.queue()
    assert [len(group) for group in world.groups] == [20]
    assert not queue.left()


def test_without_a_profile_those_with_most_work_are_measured_while_there_is_time(world, monkeypatch):
    monkeypatch.setattr("iree_tuner.tuning.queue._work", lambda task: float(task.workload.key))
    queue = world.queue(until=0.0)
    most = 2 * world.lab.jobs
    assert world.groups == [[str(19 - number) for number in range(most)]]
    assert len(queue.workloads) == most
    assert sum(each.share for each in queue.workloads) == pytest.approx(1.0)
    assert [each.note for each in queue.results] == ["not tuned: out of time"] * (20 - most)


def test_every_large_workload_is_tried_before_any_has_a_second_slice(world):
    queue = world.queue(1000.0, 500.0, 200.0, 100.0, 80.0, 70.0, *[1.0] * 14)
    tried = world.run(queue, most=24)
    assert set(tried[:24]) == {"0", "1", "2", "3", "4", "5"}


def test_shares_are_of_the_whole_program(world):
    queue = world.queue(75.0, 25.0, *[0.0] * 18)
    queue.ask(1)
    assert [each.share for each in queue.workloads[:2]] == [0.75, 0.25]


@pytest.mark.parametrize(("whole_us", "share"), [(0.0, 0.05), (50.0, 0.05), (200.0, 0.025)])
def test_shares_are_of_the_program_or_of_workloads_that_take_longer_alone(world, whole_us, share):
    joint = Task(Workload("joint"), dispatches=())
    queue = world.queue(*[5.0] * 20, whole_us=whole_us, extra=[(joint, 150.0)])
    assert {result.share for result in queue.left()} == {share}
    (own,) = queue.workloads
    assert own.share == (0.75 if whole_us == 200.0 else 1.0)


def test_shares_without_a_profile_count_workloads_that_cannot_be_tried(world):
    measured = world.measure
    world.measure = lambda *given: [replace(each, space=None) for each in measured(*given)]
    queue = world.queue(extra=[(Task(Workload("joint"), dispatches=()), 5.0)])
    (own,) = queue.workloads
    assert (own.share, len(queue.results)) == (0.25, 20)


def test_devices_of_their_own_begin_with_the_first_while_the_others_are_measured(monkeypatch):
    world = World(monkeypatch, alternate=False)
    try:
        queue = world.queue(1000.0, 500.0, 200.0, *[1.0] * 17)
        (search,) = {search for search, _ in queue.ask(64)}
        assert search.kind.own_digest
        assert world.groups == [["0"]]
        asked = queue.ask(64)
        assert len(world.groups) == 2
        assert world.groups[1][:2] == ["1", "2"]
        assert {search for search, _ in asked} >= {each.searches[0] for each in queue.workloads[1:3]}
    finally:
        close(world.lab)


def test_nobody_enters_after_a_request_to_stop(world):
    queue = world.queue(*[5.0] * 20)
    world.stop.request()
    assert queue.ask(8) == []
    assert len(queue.left()) == 20
    assert world.groups == []


def test_what_the_first_answer_replaces_comes_last(world):
    """Also before the largest of them, whose parts take 3 % of the program's time each."""
    queue = world.queue(*[1000.0] * 8, *[400.0] * 12, proven=[str(number) for number in range(8)])
    words = [queue.replaced_by(each) for each in world.tasks]
    assert words == ["kernel"] * 8 + [""] * 12, "that is said of those that are not tried"
    tried = world.run(queue)
    assert world.groups[0] == [str(number) for number in range(8, 16)]
    assert max(tried.index(str(number)) for number in range(8, 20)) < tried.index("0")


@pytest.mark.parametrize("alternate", [True, False])
def test_a_search_that_finds_nothing_is_left_for_others(monkeypatch, alternate):
    hopeless = [f"code:{place + 1} time:200" for place in range(400)]
    fruitful = [f"code:{place + 1} time:{90 - min(place, 80) // 8}" for place in range(400)]
    world = World(monkeypatch, alternate=alternate, texts=lambda key: hopeless if key == "0" else fruitful)
    world.cap = 400
    try:
        tried = world.run(world.queue(10.0, 100.0, *[0.0] * 18))
    finally:
        close(world.lab)
    assert tried.count("0") < tried.count("1") < 400, "no budget is spent to the last trial on hope alone"


def test_the_next_second_goes_where_it_saves_most(world):
    queue = world.queue(100.0, 10.0, *[0.0] * 18)
    queue.ask(8)  # both, as both are large
    large, small = queue.workloads[:2]
    for each in (large, small):
        each.searches[0].begun = 1  # nothing is on its way any more
        each.searches[0].tried = 1
    assert queue._choose(may_admit=True) == (large, large.searches[0])
    for _ in range(8):
        large.searches[0].prospects.add(0.4, 1.0)
    assert queue._choose(may_admit=True) == (small, small.searches[0])


def test_a_kernel_of_a_workload_competes_from_its_first_slice(world):
    queue = world.queue(100.0, 10.0, *[0.0] * 18)
    queue.ask(1)
    first = queue.workloads[0]
    kernel = fake_search(TEXTS, world.lab, stop=world.stop, prospects=ExpectedGain(100.0), cap=40)
    kernel.kind.name = "a kernel"
    first.searches.append(kernel)
    assert any(search is kernel for search, _ in queue.ask(24))
