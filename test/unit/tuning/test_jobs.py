"""What the engine promises to generators of jobs, over a compiler and a device that are functions."""

import random
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from queue import Empty
from types import SimpleNamespace

import pytest
from amounts import amount
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tuning.fakes import fake_bench
from tuning.misbehaving import DEFAULT, words_of

from iree_tuner.compiler.worker import CallFuture, Crash, Ok, WorkerError
from iree_tuner.device.numerics import Agreement
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.measurer import Measurer
from iree_tuner.measure.statistics import JudgePlan
from iree_tuner.measure.timing import Timed
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.jobs import Agree, Build, Compare, Time, TimeDefault, result, results, turn
from iree_tuner.tuning.stop import StopRequest

BENCH = fake_bench()
PLAN = JudgePlan(16, fixed=True)


def built(number):
    return Built("ok", f"code:{number} time:{100 + number}".encode())


class World:
    """Workers and devices whose calls end one after the other, whichever is drawn next; each takes a second.

    `begun` has what began, with the number of compilations and measurements that ran then. Stands for the
    engine's queue of ended calls: whatever happens, happens while the engine waits.
    """

    def __init__(self, *, alternate, devices, seed):
        self.random = random.Random(seed)
        self.now, self.until, self.stop_at = 0.0, float("inf"), float("inf")
        self.stop = StopRequest()
        self.compiling, self.boards, self.ended, self.begun = [], [], [], []
        measurers = [self.device(f"fake://{number}") for number in range(devices)]
        lab = SimpleNamespace(
            alternate=alternate, jobs=2, queued=1 if alternate else 2, news=[], loader=None,
            measurers=measurers, measurer=measurers[0], settle=lambda: None,
        )  # fmt: skip
        self.engine = Engine(lab, self.stop, clock=lambda: self.now)
        self.engine._ended = self

    def device(self, name):
        board = []
        self.boards.append(board)

        def submit(function, vmfb, *args, timeout_s):
            self.note("time", name, vmfb)
            board.append((CallFuture(), vmfb))
            return board[-1][0]

        workers = SimpleNamespace(submit=submit, end=lambda future: Ok(future.result()), there=True)
        measurer = Measurer(name, workers)

        def judged(kind, found):
            def call(*args, **how):
                self.note(kind, name, None)
                self.pass_time()
                return found(*args)

            return call

        measurer.time_default = judged("default", lambda bench: Timed("ok", (100.0,)))
        measurer.compare = judged("compare", self.compared)
        measurer.agrees = judged("agree", lambda vmfb, bench: Agreement(True, 0.0, vmfb.decode()))
        return measurer

    def compared(self, placed, bench, plan):
        if any(b"refuse" in vmfb for vmfb in placed[0][1]):
            raise WorkerError(Crash(None, "", "refused"))
        return list(placed[0][1])

    def compile(self, number):
        self.note("build", "", number)
        self.compiling.append((CallFuture(), number))
        return self.compiling[-1][0]

    def note(self, kind, device, what):
        assert self.now < self.until, "it is too late"
        assert not self.stop.requested
        others = self.boards if kind == "build" else [self.compiling]
        if self.engine._lab.alternate:
            assert all(future.done() for calls in others for future, _ in calls), f"{kind} next to them"
        self.begun.append((kind, device, what))

    def pass_time(self):
        self.now += 1.0
        if self.now >= self.stop_at:
            self.stop.request()

    def put(self, future):
        self.ended.append(future)

    def get_nowait(self):
        if not self.ended:
            raise Empty
        return self.ended.pop(0)

    def get(self, timeout):
        if not self.ended:
            self.work()
        return self.get_nowait()

    def work(self):
        """One call ends."""
        self.pass_time()
        for calls in (self.compiling, *self.boards):
            calls[:] = [each for each in calls if not each[0].done()]
        calls = [*self.compiling, *(board[0] for board in self.boards if board)]
        if not calls:
            return
        future, what = self.random.choice(calls)
        if isinstance(what, bytes):
            future.set_result(Timed("ok", (float(words_of(what.decode())["time"]),)))
        else:
            future.set_result(built(what))


def build(world, number):
    return Build(partial(world.compile, number), lambda future: future.result())


def right(job, found):
    """Whether this is the result of the job."""
    match job:
        case Build(begin):
            return found == built(begin.args[0])
        case Time(_, made):
            time_us = float(words_of(made.vmfb.decode())["time"])
            return found.timed.samples_us == (time_us,) and found.baseline_us == 100.0
        case TimeDefault():
            return found.timed.samples_us == (100.0,)
        case Compare(_, placed):
            return found == list(placed[0][1])
        case Agree(_, vmfb):
            return found.message == vmfb.decode()


@dataclass
class Script:
    """A generator that yields such batches of jobs, and checks what it is sent."""

    batches: list
    sent: int = 0
    ended: str = ""

    def jobs(self):
        try:
            for batch in self.batches:
                found = yield batch
                assert len(found) == len(batch)
                assert all(map(right, batch, found))
                self.sent += 1
            self.ended = "done"
        except GeneratorExit:
            self.ended = "closed"
        return self.sent


def test_a_comparison_that_fails_is_raised_where_it_was_asked_for():
    world, said = World(alternate=True, devices=1, seed=0), []

    def jobs(refused):
        try:
            vmfb = b"refuse" if refused else DEFAULT
            yield from results([Compare(BENCH, [(DEFAULT, [vmfb])], PLAN), build(world, 1)])
        except WorkerError as error:
            said.append(str(error))
            made = yield from result(build(world, 2))
            return made.vmfb
        return b""

    found = world.engine.play([jobs(refused=True), jobs(refused=False)])
    assert found == [built(2).vmfb, b""]
    assert len(said) == 1


@pytest.mark.parametrize("alternate", [True, False])
def test_a_generator_keeps_its_turn_until_it_builds_and_then_others_have_theirs(alternate):
    world, order = World(alternate=alternate, devices=1, seed=3), []

    def jobs(name):
        for step in range(2):
            yield from result(build(world, 10 * step + 1))
            yield from turn()
            for _ in range(2):
                order.append((step, name))
                yield from result(Agree(BENCH, DEFAULT))

    world.engine.play([jobs(name) for name in "abc"])
    assert order[::2] == order[1::2], "both at once"
    assert sorted(order[::2]) == [(step, name) for step in range(2) for name in "abc"]
    if alternate:  # else who has built goes first
        assert order[::2] == sorted(order[::2])


def test_what_a_generator_raises_ends_the_others():
    world = World(alternate=True, devices=1, seed=0)
    script = Script([[build(world, 1)], [build(world, 2)], [Agree(BENCH, DEFAULT)]])

    def faulty():
        yield from result(build(world, 3))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        world.engine.play([faulty(), script.jobs()])
    assert script.ended == "closed"


def test_equal_calls_to_compile_are_one_and_each_gets_the_result():
    world = World(alternate=True, devices=1, seed=0)
    shared = world.compile(7)
    asked = Build(lambda: shared, lambda future: future.result())

    def jobs():
        made = yield from result(asked)
        return made

    assert world.engine.play([jobs(), jobs()]) == [built(7), built(7)]


def test_a_call_that_raises_is_raised_where_it_was_asked_for():
    world = World(alternate=True, devices=1, seed=0)

    def end(future):
        raise KeyError(future.result().digest)

    def jobs():
        with pytest.raises(KeyError, match=built(1).digest):
            yield from result(replace(build(world, 1), end=end))
        return (yield from results([]))

    assert world.engine.play([jobs()]) == [[]]


KINDS = st.sampled_from(["build", "build", "time", "time", "default", "compare", "agree"])
BATCH = st.lists(st.tuples(KINDS, st.integers(1, 9)), max_size=3)
BATCHES = st.lists(st.lists(BATCH, max_size=4), min_size=1, max_size=4)
"""Of each generator that is run."""


class Rules(RuleBasedStateMachine):
    """Generators with any jobs are run on any devices, stopped or not, again and again on one engine."""

    @initialize(alternate=st.booleans(), devices=st.integers(1, 3), seed=st.integers(0, 1000))
    def begin(self, alternate, devices, seed):
        self.world = World(alternate=alternate, devices=1 if alternate else devices, seed=seed)
        self.scripts = []

    def job(self, kind, number):
        vmfb = built(number).vmfb
        match kind:
            case "build":
                return build(self.world, number)
            case "time":
                return Time(BENCH, built(number))
            case "default":
                return TimeDefault(BENCH)
            case "compare":
                return Compare(BENCH, [(DEFAULT, [vmfb])], PLAN)
            case _:
                return Agree(BENCH, vmfb)

    @rule(batches=BATCHES)
    def run(self, batches):
        self.play(batches)
        assert all(each.ended == "done" for each in self.scripts)

    @rule(batches=BATCHES, seconds=st.integers(0, 12))
    def run_until(self, batches, seconds):
        self.world.until = self.world.now + seconds
        self.play(batches)
        self.world.until = float("inf")

    @rule(batches=BATCHES, seconds=st.integers(1, 12))
    def run_and_stop(self, batches, seconds):
        self.world.stop_at = self.world.now + seconds
        self.play(batches)
        self.world.stop_at, self.world.stop.requested = float("inf"), False

    def play(self, batches):
        self.world.begun = []
        self.scripts = [Script([[self.job(*each) for each in batch] for batch in own]) for own in batches]
        jobs = [each.jobs() for each in self.scripts]
        self.check(self.world.engine.play(jobs, lambda: self.world.until))

    def check(self, found):
        assert found == [each.sent if each.ended else None for each in self.scripts], "what they have"
        begun, first = self.world.begun, {}
        for kind, device, vmfb in begun:
            if kind == "time":
                assert first.setdefault(device, vmfb) == DEFAULT, "a device begins with the default"
            elif kind != "build":
                assert device == "fake://0", "only one judges"
        times = Counter(vmfb for kind, _, vmfb in begun if kind == "time" and vmfb != DEFAULT)
        assert all(count == 1 for count in times.values()), "equal code is timed once"

    def teardown(self):
        assert not self.world.engine._turns
        assert not self.world.engine._to_build
        assert not self.world.engine._compiling


Rules.TestCase.settings = settings(max_examples=amount(20, 1000), stateful_step_count=12)
TestRules = Rules.TestCase
