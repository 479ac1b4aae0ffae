"""What candidates may save whose default is another dispatch than the program's."""

from types import SimpleNamespace

import pytest
from tuning.fakes import close, fake_lab, fake_search

from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.queue import Queue, Queued
from iree_tuner.tuning.search import ExpectedGain, Search
from iree_tuner.tuning.stop import StopRequest

SPENT_US = 1e6


@pytest.fixture
def lab():
    found = fake_lab(alternate=True)
    yield found
    close(found)


def workload(lab, *defaults_us: float, spent_us: float = SPENT_US) -> Queued:
    """One that the program runs once, with a search for each default: configurations, then kernels."""
    task = SimpleNamespace(calls=1, workload=SimpleNamespace(key=str(spent_us)))
    found = Queued(task, 0.9, spent_us)
    for default_us in defaults_us:
        search = fake_search(["code:1 time:100"], lab, prospects=ExpectedGain(spent_us))
        search.kind.default_us, search.kind.name = default_us, "kernel" if found.searches else ""
        found.searches.append(search)
    return found


def test_a_kernel_beside_a_far_faster_default(lab) -> None:
    found = workload(lab, SPENT_US, 100.0)
    configurations, kernels = found.searches
    assert [found.scale(each) for each in found.searches] == [1.0, pytest.approx(1e-4)]
    kernels.best = SimpleNamespace(score=0.5)
    assert found.best is kernels.best
    assert found.gained_us == pytest.approx(SPENT_US - 50.0)
    assert found.gain_us(configurations) == 0.0  # nothing that is a fifth of the default at best
    assert 0.0 < found.gain_us(kernels) <= 50.0
    assert found.earlier(configurations) == [kernels]
    assert found.earlier(kernels) == []


def test_what_takes_as_long_as_the_default_waits_for_what_does_not(lab) -> None:
    found = workload(lab, SPENT_US, 100.0)
    configurations, kernels = found.searches
    queue = queue_of(found)
    asked = queue.ask(2)
    assert {search for search, _ in asked} == {kernels}
    assert queue.ask(2) == []  # as long as nothing is known of these
    ended(kernels, 0.5)
    assert queue.ask(2) == []  # nothing is left to gain by configurations
    found = workload(lab, SPENT_US, 100.0)
    configurations, kernels = found.searches
    queue = queue_of(found)
    queue.ask(2)
    ended(kernels, 20_000.0)  # they are slower than the program's default
    assert {search for search, _ in queue.ask(1)} == {configurations}


def test_kernels_come_before_configurations(lab) -> None:
    """Also where both take as long. Then the configurations hope for what the kernels have left."""
    found = workload(lab, SPENT_US, SPENT_US)
    configurations, kernels = found.searches
    found.configurations = configurations.kind
    assert found.earlier(configurations) == [kernels]
    assert found.earlier(kernels) == []
    queue = queue_of(found)
    asked = queue.ask(2)
    assert {search for search, _ in asked} == {kernels}
    ended(kernels, 0.7)
    assert {search for search, _ in queue.ask(1)} == {configurations}


def test_of_two_searches_never_both_wait(lab) -> None:
    """Where the code that kernels replace takes far longer alone, configurations come first."""
    found = workload(lab, SPENT_US, 100 * SPENT_US)
    configurations, kernels = found.searches
    found.configurations = configurations.kind
    assert [found.scale(each) for each in found.searches] == [1.0, pytest.approx(100.0)]
    assert found.earlier(kernels) == [configurations]
    assert found.earlier(configurations) == []


def ended(search: Search, score: float) -> None:
    """All of a search that was asked for ended, and this is the best."""
    search.tried = search.begun
    search.best = SimpleNamespace(score=score)
    search.prospects.add(score, 1.0)


def queue_of(*workloads: Queued) -> Queue:
    """A queue in which their baselines are measured."""
    found = Queue.__new__(Queue)
    found.workloads, found.total_us = [*workloads], SPENT_US
    found._waiting, found._weights_us, found._slice, found._owners = [], {}, 8, {}
    found.results, found._replaced = [], frozenset()
    options = SimpleNamespace(budget_s=60.0)
    found.run = SimpleNamespace(stop=StopRequest(), watch=Silent(), options=options, replaced=set())
    return found


def test_configurations_are_compared_with_the_programs_default_whatever_time_it_has(lab) -> None:
    found = workload(lab, 0.1 * SPENT_US)
    assert found.scale(found.searches[0]) == 1.0


def test_times_that_are_alike_are_not_scaled(lab) -> None:
    found = workload(lab, SPENT_US, 0.5 * SPENT_US, 2.0 * SPENT_US)
    assert [found.scale(each) for each in found.searches] == [1.0] * 3


def test_what_is_left_decides_who_is_worth_a_final(lab) -> None:
    """A thousandth of the program's time is much of it when the rest is gone."""
    first, second = workload(lab, SPENT_US, 100.0), workload(lab, 1000.0, spent_us=1000.0)
    first.searches[1].best = SimpleNamespace(score=0.5)
    second.searches[0].best = SimpleNamespace(score=0.5)
    queue = queue_of(first, second)
    assert queue.promising == [first, second]
    first.searches[1].best = None
    assert queue.promising == []  # a half of a thousandth is little while the other one stays
    queue.run.replaced = {first.task.workload.key}
    assert queue.promising == [second]
