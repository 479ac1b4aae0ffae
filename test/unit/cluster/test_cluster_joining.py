"""Devices that join a cluster in the middle of a run take part in it, if they are of its kind."""

import asyncio
import contextlib
from collections import deque
from concurrent.futures import Future

import pytest

pytest.importorskip("distributed", reason="pip install 'iree-tuner[cluster]'")

from iree_tuner.cluster.cluster import Cluster, Joining, Member
from iree_tuner.compiler.task import HostLost
from iree_tuner.compiler.worker import WorkerError
from iree_tuner.errors import TunerError
from iree_tuner.targets import parse_target

OURS = parse_target("cuda:sm_90")


class Told:
    """A cluster whose devices say what the test lets them say."""

    kind = Cluster.kind

    def __init__(self, answers):
        self.answers = answers
        self.news = deque()
        self.processors = {}

    chip = Cluster.chip

    def architecture(self, worker):
        return ""

    def processor(self, worker):
        return self.processors.get(worker, "")

    def device_calls(self, uri, worker):
        self.asked = Future()
        answer = self.answers[worker]
        if isinstance(answer, Exception):
            self.asked.set_exception(answer)
        else:
            self.asked.set_result(answer)
        return contextlib.nullcontext(self)

    def submit(self, function, uri, chip):
        return self.asked


def member(name, *devices, slots=0):
    resources = {f"{uri}@{name}": 1.0 for uri in devices}
    return Member(name, f"tcp://{name}", resources | ({"compile": slots} if slots else {}), 0.0)


def joined(cluster, rounds, *, uris=("cuda://0",), target=OURS):
    """Who takes part after these members were there, round by round; and whose slots stay empty."""
    taken, owners = [], set()

    async def run():
        first = (uris[0], "first")
        joining = Joining(
            cluster, uris, "host", target, [first], owners, lambda *device: taken.append(device)
        )
        for members in rounds:
            joining.look(members)
            for _ in range(5):
                await asyncio.sleep(0)

    asyncio.run(run())
    return taken, owners


def test_devices_of_the_run_s_kind_are_taken_once():
    cluster = Told({"second": OURS, "third": OURS})
    first, second = member("first", "cuda://0"), member("second", "cuda://0", "cuda://1")
    third = member("third", "cuda://1")
    taken, owners = joined(cluster, [[first], [first, second], [first, second, third], [first], [second]])
    assert taken == [("cuda://0", "second")]
    assert owners == set()
    assert list(cluster.news) == ["cuda://0 of second joined the run"]


def test_another_chip_takes_no_part_and_is_told_of_once():
    cluster = Told({"second": parse_target("cuda:sm_80")})
    there = [member("first", "cuda://0"), member("second", "cuda://0")]
    assert joined(cluster, [there] * 3) == ([], set())
    assert list(cluster.news) == [
        "cuda://0 of second joined the cluster, but cannot be used: it is cuda:sm_80, "
        "but the run is for cuda:sm_90"
    ]


def test_who_could_not_say_what_it_is_is_asked_again_when_it_comes_back():
    answers = {"second": TunerError("no driver")}
    cluster = Told(answers)
    first, second = member("first", "cuda://0"), member("second", "cuda://0")

    def mended():
        answers["second"] = OURS
        yield first

    assert joined(cluster, [[first, second], mended(), [first, second]])[0] == [("cuda://0", "second")]
    assert list(cluster.news) == [
        "cuda://0 of second joined the cluster, but cannot be used: no driver",
        "cuda://0 of second joined the run",
    ]


def test_who_leaves_while_it_is_asked_is_not_told_of():
    cluster = Told({"second": WorkerError(HostLost(None, "", "gone"))})
    assert joined(cluster, [[member("second", "cuda://0")]]) == ([], set())
    assert not cluster.news


def test_nothing_compiles_on_a_processor_that_joins_and_another_processor_takes_no_part():
    host = parse_target("llvm-cpu:host")
    cluster = Told({"second": host, "third": host})
    cluster.processors = {"first": "Zen 5", "second": "Zen 5", "third": "Zen 3"}
    there = [member(name, "local-task", slots=2) for name in ("first", "second", "third")]
    taken, owners = joined(cluster, [there], uris=("local-task",), target=host)
    assert taken == [("local-task", "second")]
    assert owners == {"second"}
    assert "of third joined the cluster, but cannot be used: it is llvm-cpu:host (Zen 3)" in cluster.news[1]
