"""Devices join, leave and come back in a run: each candidate has one outcome, by its device's own default."""

from collections import deque
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from types import SimpleNamespace

import pytest
from amounts import amount
from hypothesis import given, settings
from hypothesis import strategies as st
from tuning.fakes import fake_search
from tuning.misbehaving import DEFAULT, fake_build, words_of

from iree_tuner.compiler.worker import CallFuture, Ok
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.measurer import Measurer
from iree_tuner.measure.timing import Timed
from iree_tuner.targets import parse_target
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.search import InTurns
from iree_tuner.tuning.stop import StopRequest


class AtOnce:
    """Compiles when it is asked."""

    there = True

    def submit(self, function, *args, timeout_s=None):
        future = Future()
        future.set_result(function(*args))
        return future

    def end(self, future):
        return Ok(future.result())


class Board:
    """A device whose calls end when the world says so, and wait while it is away."""

    def __init__(self, number):
        self.number = number
        self.there = True
        self.broken = False
        self.waiting = []
        self.asked = []  # what it was asked to time; None where it came back

    def submit(self, function, *args, timeout_s=None):
        future = CallFuture()
        self.waiting.append((future, args))
        self.asked.append(args[0])
        return future

    def end(self, future):
        return Ok(future.result())

    def work(self):
        self.waiting = [each for each in self.waiting if not each[0].cancelled()]
        if self.there and self.waiting:
            future, (vmfb, *_) = self.waiting.pop(0)
            time_us = float(words_of(vmfb.decode())["time"]) * (1 + self.number)
            refused = self.broken and vmfb == DEFAULT
            future.set_result(Timed("run_error", message="no") if refused else Timed("ok", (time_us,)))


class World:
    """Devices to which something happens whenever the engine waits. Stands for the engine's queue, too."""

    def __init__(self, steps, count=1):
        self.now = 0.0  # each wait is a second
        self.steps = deque(steps)
        self.boards = []
        self.measurers = []
        for _ in range(count):
            self.join()
        self._ended = SimpleQueue()
        target, compilers = parse_target("llvm-cpu:host"), AtOnce()
        self.lab = SimpleNamespace(
            target=target, jobs=2, alternate=False, on_host=False, cold=True, queued=2, compilers=compilers,
            measurers=self.measurers, measurer=self.measurers[0], news=deque(), loader=None,
            builder=Builder(target, compilers, build=fake_build),
        )  # fmt: skip

    def join(self, broken=False):
        self.boards.append(Board(len(self.boards)))
        self.boards[-1].broken = broken
        self.measurers.append(Measurer(f"fake://{len(self.boards) - 1}", workers=self.boards[-1]))

    def put(self, future):
        self._ended.put(future)

    def get_nowait(self):
        return self._ended.get_nowait()

    def get(self, timeout):
        self.now += 1.0
        if self._ended.empty():
            self._step()
        try:
            return self._ended.get_nowait()
        except Empty:
            return self._ended.get(timeout=0.001)  # a strategy may be asked meanwhile, in a thread

    def _step(self):
        if not self.steps:
            for board in self.boards:
                self._come_back(board)
                board.work()
            return
        what, number = self.steps.popleft()
        board = self.boards[number % len(self.boards)]
        match what:
            case "join":
                self.join()
            case "leave":
                board.there = False
            case "come back":
                self._come_back(board)
            case _:
                board.work()

    def _come_back(self, board):
        if not board.there:
            board.asked.append(None)
        board.there = True

    def run(self, texts):
        engine = Engine(self.lab, StopRequest(), 8, clock=lambda: self.now)
        engine._ended = self
        search = fake_search(texts, self.lab)
        return [trial for _, trial in engine.run(InTurns([search]))], search


TEXTS = [f"code:{number % 20 + 1} time:{90 + number % 20}" for number in range(30)]
STEP = st.tuples(st.sampled_from(["work", "work", "work", "join", "leave", "come back"]), st.integers(0, 4))


@settings(max_examples=amount(30, 1000))
@given(st.lists(STEP, max_size=60), st.integers(1, 2))
def test_each_candidate_has_one_outcome_by_the_default_of_its_device(steps, count):
    world = World(steps, count)
    trials, search = world.run(TEXTS)
    assert sorted(trial.assignment["x"] for trial in trials) == list(range(30))
    assert search.trials == trials == search.strategy.told
    assert {trial.outcome for trial in trials} == {"ok"}
    for trial in trials:
        assert trial.score == pytest.approx((90 + trial.assignment["x"] % 20) / 100), trial.device
    for board in world.boards:
        assert board.asked[:1] in ([], [DEFAULT]), "a device begins with the default"


def test_a_device_that_joins_takes_part_at_once():
    world = World([("work", 0)] * 3 + [("join", 0)] + [("work", 1), ("work", 0)] * 10)
    trials, _ = world.run(TEXTS)
    assert {trial.device for trial in trials} == {"fake://0", "fake://1"}
    assert world.boards[1].asked[0] == DEFAULT
    assert not world.lab.news


def test_what_a_device_had_that_leaves_is_measured_by_others_and_it_comes_back_with_its_default():
    away = [("leave", 1)] + [("work", 0)] * 12
    world = World([("work", 0), ("work", 1)] * 4 + away + [("come back", 1)], 2)
    trials, _ = world.run(TEXTS)
    assert len(trials) == 30
    asked = world.boards[1].asked
    back = asked.index(None)
    assert asked[back + 1] == DEFAULT
    lost = {vmfb for vmfb in asked[:back] if vmfb != DEFAULT} & set(world.boards[0].asked)
    assert lost, "what it had is measured elsewhere"
    assert list(world.lab.news) == [
        "fake://1 left: others measure its candidates",
        "fake://1 is available again",
    ]


def test_a_single_device_is_waited_for():
    world = World([("work", 0)] * 4 + [("leave", 0)] + [("work", 0)] * 20)
    trials, _ = world.run(TEXTS)
    assert len(trials) == 30
    assert not world.lab.news


def test_a_device_that_joins_and_does_not_run_the_default_is_left_out():
    world = World([("work", 0)] * 3)
    world.join(broken=True)
    trials, _ = world.run(TEXTS)
    assert {trial.device for trial in trials if trial.device} == {"fake://0"}
    assert len(trials) == 30
    (news,) = world.lab.news
    assert "fake://1: the compiler's default no longer runs: run_error: no" in news
    assert news.endswith("; the run goes on without it")


def test_the_device_that_judges_is_not_left_out():
    world = World([], 2)
    world.boards[0].broken = True
    with pytest.raises(DeviceLostError, match="fake://0"):
        world.run(TEXTS)
