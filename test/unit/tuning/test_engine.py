"""What the engine promises: nothing twice, nothing lost, devices busy or alone as they should be."""

import math
import random
import threading
import time
from concurrent.futures import Future
from dataclasses import replace

import pytest
from tuning.fakes import Threads, Watch, close, fake_bench, fake_lab, fake_search
from tuning.misbehaving import DEFAULT, fake_build, fake_screen, words_of
from tuning.studies import STUDY

from iree_tuner.compiler.worker import Timeout
from iree_tuner.measure.timing import Timed
from iree_tuner.program.bindings import Harness
from iree_tuner.tuning.candidate import CompileLimits
from iree_tuner.tuning.device import DeviceLostError, Track
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.records import open_records
from iree_tuner.tuning.search import InTurns
from iree_tuner.tuning.stop import StopRequest

FOREVER = math.inf


def run(
    texts, *, lab=None, trials=10_000, batch=8, deadline=FOREVER, stop=None, reproduce=lambda trial: "", **how
):
    lab = lab or fake_lab(**how)
    stop = stop or StopRequest()
    search = fake_search(texts, lab, stop=stop, reproduce=reproduce, cap=trials)
    engine = Engine(lab, stop, batch)
    try:
        return [trial for _, trial in engine.run(InTurns([search]), lambda: deadline)], search, engine
    finally:
        close(lab)


def codes(count, **more):
    extra = " ".join(f"{key}:{value}" for key, value in more.items())
    return [f"code:{index + 1} time:{100 + index} {extra}" for index in range(count)]


both = pytest.mark.parametrize("alternate", [True, False])


@both
def test_every_candidate_becomes_one_trial(alternate):
    texts = codes(100)
    for index in range(0, 100, 7):
        texts[index] = f"refuse id:{index}"
    trials, search, _ = run(texts, alternate=alternate, jobs=3)
    assert sorted(trial.assignment["x"] for trial in trials) == list(range(100))
    assert search.trials == trials == search.strategy.told
    refused = [trial.assignment["x"] for trial in trials if trial.outcome == "compile_error"]
    assert sorted(refused) == list(range(0, 100, 7))
    assert all(trial.baseline_us == 100 for trial in trials if trial.samples_us)
    assert search.best.time_us == 101


@pytest.mark.parametrize("jobs", [1, 4])
def test_nothing_compiles_while_something_is_timed_on_the_hosts_cores(jobs):
    watch = Watch()
    run(
        codes(40, compile=0.002, measure=0.002),
        alternate=True,
        jobs=jobs,
        build=watch.build,
        screen=watch.screen,
    )
    assert watch.overlaps == 0


def test_elsewhere_they_overlap_and_every_device_works():
    watch = Watch()
    lab = fake_lab(alternate=False, jobs=2, devices=4, build=watch.build, screen=watch.screen)
    trials, _, _ = run(codes(60, compile=0.002, measure=0.02), lab=lab)
    assert watch.overlaps > 10
    assert watch.most_measuring == 4
    assert {trial.device for trial in trials} == {f"fake://{index}" for index in range(4)}


def test_a_strategy_is_not_asked_for_each_candidate_where_compiling_and_measuring_overlap():
    lab, stop = fake_lab(alternate=False, jobs=5), StopRequest()
    search = fake_search(codes(120), lab)
    ask, sizes = search.ask, []
    search.ask = lambda count: (sizes.append(count), ask(count))[1]
    assert len(list(Engine(lab, stop, 8).run(InTurns([search])))) == 120
    close(lab)
    assert sizes[0] == 12
    assert min(sizes[:-1]) >= 6


def test_devices_go_on_while_a_strategy_thinks():
    begun, free = threading.Semaphore(0), threading.Event()
    allowed = threading.Semaphore(6)  # always six fewer than were asked for: there is something to go on with

    def screen(vmfb, *rest):
        assert vmfb == DEFAULT or free.is_set() or allowed.acquire(timeout=600.0)
        begun.release()
        return fake_screen(vmfb, *rest)

    lab = fake_lab(alternate=False, jobs=5, screen=screen)
    search = fake_search(codes(60), lab)
    ask, while_asked, told = search.ask, [], []

    def slow(count):
        if search.begun >= 48:
            free.set()
            allowed.release(60)
        elif search.begun:
            before = len(search.strategy.told)
            while begun.acquire(blocking=False):
                pass
            allowed.release(3)
            while_asked.append(all(begun.acquire(timeout=600.0) for _ in range(3)))
            told.append(len(search.strategy.told) - before)
            allowed.release(count - 3)
        return ask(count)

    search.ask = slow
    trials = [trial for _, trial in Engine(lab, StopRequest(), 8).run(InTurns([search]))]
    close(lab)
    assert len(trials) == 60
    assert while_asked
    assert all(while_asked)
    assert not any(told)


def test_a_longer_time_of_the_default_is_believed_when_it_comes_twice():
    track = Track()
    again = []
    for time_us in (100, 99, 400, 101, 250, 260, 262):
        track.begin(0.0)
        track.take(time_us)
        again.append(track.due)
    assert track.times_us == [100, 99, 101, 250, 262]
    assert again == [False, False, True, False, True, False, False]


def test_beside_compilations_it_is_looked_at_again_some_trials_later():
    """Two looks in a row may fall into one disturbance; a device that has become slower is believed."""
    track = Track(expected_us=100.0, apart=4)
    seen = iter([100, 152, 151, 100, 152, 150, 151, 100])
    looks = []
    for trial in range(40):
        while track.is_due(0.0):
            track.begin(0.0)
            looks.append((trial, time_us := next(seen)))
            track.take(time_us)
        track.count()
    assert looks[:4] == [(0, 100), (16, 152), (20, 151), (24, 100)], "one disturbance: nothing is believed"
    assert track.times_us == [100, 100]
    seen = iter([151, 152, 150])
    for _ in range(16):
        track.count()
        if track.is_due(0.0):
            track.begin(0.0)
            track.take(next(seen, 150))
    assert track.times_us[:3] == [100, 100, 150]


def test_the_first_time_is_compared_with_the_baselines():
    track = Track(expected_us=100.0, apart=4)
    for time_us in (150, 151, 101):
        assert track.due, "nothing is compared with it before it has a time"
        track.begin(0.0)
        track.take(time_us)
    assert track.times_us == [101]


def test_a_default_is_timed_again_after_some_trials_and_after_some_time():
    track = Track()
    assert track.is_due(0.0)
    track.begin(0.0)
    track.take(100.0)
    assert not track.is_due(29.0)
    assert track.is_due(31.0)
    for _ in range(16):
        assert not track.is_due(1.0)
        track.count()
    assert track.is_due(1.0)


class Turns:
    """A source that has several searches, and asks one after the other for a few."""

    def __init__(self, searches, each):
        self.searches, self.each = list(searches), each

    def ask(self, count):
        asked = []
        while len(asked) < count and any(search.open for search in self.searches):
            search = self.searches.pop(0)
            self.searches.append(search)
            asked += [(search, one) for one in search.ask(min(self.each, count - len(asked)))]
        return asked


@both
def test_candidates_of_several_searches_are_compared_with_their_own_default(alternate):
    lab = fake_lab(alternate=alternate, jobs=3, devices=1 if alternate else 2)
    stop = StopRequest()
    slow = replace(fake_bench(), default=b"code:0 time:1000", harness=Harness(b"other", "main", 64, ()))
    searches = [
        fake_search(codes(40), lab, stop=stop),
        fake_search([f"code:{n + 1} time:{500 + n}" for n in range(30)], lab, stop=stop, bench=slow),
    ]
    found = list(Engine(lab, stop, 8).run(Turns(searches, 4)))
    close(lab)
    assert [len(search.trials) for search in searches] == [40, 30]
    assert {trial.baseline_us for trial in searches[0].trials} == {100}
    assert {trial.baseline_us for trial in searches[1].trials} == {1000}
    assert len(found) == 70
    assert all(trial in search.trials for search, trial in found)


def test_nothing_is_begun_that_would_not_end_in_time():
    clock = [0.0]

    def build(*args):
        clock[0] += 1.0
        return replace(fake_build(*args), seconds=1.0)

    lab = fake_lab(alternate=True, jobs=1, build=build)
    stop = StopRequest()
    search = fake_search(codes(100), lab, stop=stop)
    found = list(Engine(lab, stop, 8, clock=lambda: clock[0]).run(InTurns([search]), until=lambda: 30.5))
    close(lab)
    assert clock[0] <= 31.0
    assert 25 <= len(found) <= 31
    assert not search.pending


def test_what_is_not_measured_at_the_deadline_is_dropped():
    clock = [0.0]

    def build(*args):
        clock[0] += 4.0
        return fake_build(*args)

    lab = fake_lab(alternate=True, jobs=1, build=build)
    stop = StopRequest()
    search = fake_search(codes(100), lab, stop=stop)
    found = list(Engine(lab, stop, 8, clock=lambda: clock[0]).run(InTurns([search]), until=lambda: 10.0))
    close(lab)
    assert found == []
    assert search.begun == search.pending == 0


@pytest.mark.parametrize(("alternate", "stopped"), [(True, False), (False, True), (False, False)])
def test_at_the_end_a_compilation_that_disturbs_nobody_keeps_its_worker(alternate, stopped):
    """The finals want it warm; cancelling a running call kills it."""
    compiling, ending, killed = threading.Event(), threading.Event(), []

    class Killed(Threads):
        def submit(self, function, *args, timeout_s=None, **kwargs):
            future = super().submit(function, *args, **kwargs)
            future.cancel = lambda: killed.append(future) if future.running() else Future.cancel(future)
            return future

    def build(*args):
        compiling.set()
        ending.wait(60.0)
        return fake_build(*args)

    workers, stop = Killed(1), StopRequest()
    lab = fake_lab(alternate=alternate, jobs=1, build=build, workers=workers)
    search = fake_search(codes(9), lab, stop=stop)

    def until():
        if compiling.is_set() and stopped:
            stop.request()
        return 0.0 if compiling.is_set() and not stopped else math.inf

    try:
        assert list(Engine(lab, stop, 8).run(InTurns([search]), until=until)) == []
    finally:
        ending.set()
        close(lab)
    assert search.begun == 0
    assert len(killed) == (alternate or stopped)


class LoadsAhead:
    """A driver that compiles: it notes what it saw, and takes too long for what says `driver-hangs`."""

    def __init__(self):
        self.pool, self.loaded = Threads(2), []

    def submit(self, vmfb, timeout_s):
        return self.pool.submit(self._load, vmfb)

    def _load(self, vmfb):
        time.sleep(0.002)
        self.loaded.append(vmfb)
        if b"driver-hangs" in vmfb:
            raise TimeoutError

    def result(self, future):
        return not isinstance(self.pool.end(future), Timeout)


def test_what_a_driver_compiles_is_loaded_before_it_is_measured():
    measured = []

    def screen(vmfb, *rest):
        measured.append((vmfb, list(driver.loaded)))
        return fake_screen(vmfb, *rest)

    driver = LoadsAhead()
    texts = codes(30)
    texts[7] += " driver-hangs"
    trials, _, _ = run(texts, alternate=False, loader=driver, screen=screen, timeout_s=7.0)
    driver.pool.close()
    others = [(vmfb, before) for vmfb, before in measured if vmfb != DEFAULT]
    assert len(others) == 29
    assert all(vmfb in before for vmfb, before in others)
    assert len(trials) == 30
    (given_up,) = [trial for trial in trials if trial.outcome != "ok"]
    assert given_up.assignment["x"] == 7
    assert given_up.outcome == "compile_timeout"
    assert given_up.message == "given up after 7.0 s in the device's driver"
    assert given_up.compile_s == 7.0


def test_a_stop_ends_what_is_loading():
    stop, driver = StopRequest(), LoadsAhead()

    def screen(vmfb, *rest):
        stop.request()
        return fake_screen(vmfb, *rest)

    trials, _, _ = run(codes(200), alternate=False, loader=driver, screen=screen, stop=stop)
    driver.pool.close()
    assert len(trials) < 50


def test_a_device_of_its_own_has_its_next_call_before_one_ends():
    """So that what the coordinator does between two calls is no time of the device."""
    queued = []

    def screen(vmfb, *rest):
        # Which of the two is built first is open: the first that comes waits for the other.
        first = vmfb != DEFAULT and not any(queued)
        deadline = time.monotonic() + 60
        while first and len(engine._running) < 2 and time.monotonic() < deadline:
            time.sleep(0.001)
        queued.append(len(engine._running))
        return fake_screen(vmfb, *rest)

    lab = fake_lab(alternate=False, screen=screen)
    engine = Engine(lab, StopRequest(), 8)
    search = fake_search(["code:1 time:101", "code:2 time:102"], lab)
    assert len(list(engine.run(InTurns([search])))) == 2
    close(lab)
    assert max(queued) == 2


@both
def test_equal_code_is_measured_once(alternate):
    measured = []

    def screen(vmfb, *rest):
        measured.append(vmfb)
        return fake_screen(vmfb, *rest)

    texts = [f"code:{index % 5 + 1} time:{110 + index % 5} id:{index}" for index in range(50)]
    trials, _, _ = run(texts, alternate=alternate, screen=screen, devices=1 if alternate else 3)
    others = [vmfb for vmfb in measured if vmfb != DEFAULT]
    assert len(others) == len(set(others)) == 5
    assert len(trials) == 50
    assert all(trial.time_us == 110 + trial.assignment["x"] % 5 for trial in trials)


@both
def test_the_defaults_own_code_is_a_tie_and_is_not_measured(alternate):
    texts = [f"{DEFAULT.decode()} id:{index}" for index in range(5)]
    trials, _, _ = run([*texts, "code:1 time:90"], alternate=alternate)
    same = [trial for trial in trials if trial.message == "the same code as the default"]
    assert len(same) == 5
    assert all(trial.score == 1 and trial.measure_s == 0 for trial in same)


@both
def test_failures_of_the_run_are_trials(alternate):
    texts = ["code:1 time:90 refuse-run", "code:2 time:80 wrong", "code:3 time:95", "code:4 time:1000"]
    trials, search, _ = run(texts, alternate=alternate, reproduce=lambda trial: f"/shown/{trial.outcome}")
    outcomes = {trial.assignment["x"]: trial.outcome for trial in trials}
    assert outcomes == {0: "run_error", 1: "wrong_result", 2: "ok", 3: "too_slow"}
    assert search.best.assignment["x"] == 2, "what is wrong is never the best"
    shown = {trial.outcome: trial.reproducer for trial in trials}
    assert shown == {
        "run_error": "/shown/run_error", "wrong_result": "/shown/wrong_result", "ok": "", "too_slow": "",
    }  # fmt: skip


@both
def test_a_request_to_stop_ends_it_and_keeps_what_was_measured(alternate):
    stop = StopRequest()
    lab = fake_lab(alternate=alternate)
    search = fake_search(codes(500, measure=0.002), lab)
    found = []
    for _, trial in Engine(lab, stop, 8).run(InTurns([search])):
        found.append(trial)
        if len(found) == 10:
            stop.request()
    close(lab)
    assert 10 <= len(found) <= 14, "a device may finish what it has, two calls where others compile"
    assert found == search.trials


@both
def test_limits(alternate):
    trials, _, _ = run(codes(100), alternate=alternate, trials=13)
    assert len(trials) == 13
    trials, _, _ = run(codes(100), alternate=alternate, deadline=time.monotonic() - 1)
    assert trials == []


def test_a_device_that_loses_the_default_is_given_up():
    calls = []

    def screen(vmfb, *rest):
        calls.append(vmfb)
        return (
            Timed("run_crash", message="gone")
            if vmfb == DEFAULT and len(calls) > 20
            else fake_screen(vmfb, *rest)
        )

    with pytest.raises(
        DeviceLostError, match=r"fake://0: the compiler's default no longer runs: run_crash: gone"
    ):
        run(codes(200), alternate=False, screen=screen)


def test_drift_of_the_default_is_told_and_normalised():
    clock = [100.0]

    def screen(vmfb, *rest):
        clock[0] *= 1.002
        factor = 1.0 if vmfb == DEFAULT else 0.9
        return Timed("ok", (clock[0] * factor,) * 3)

    trials, search, engine = run(codes(64), alternate=False, screen=screen)
    assert "machine speed changed by +" in engine.devices.note(search.kind.bench)
    # Against the default of its own time, a candidate is 10 % faster, late ones too.
    assert all(0.88 < trial.score < 0.95 for trial in trials)


@both
def test_random_loads_lose_nothing(alternate):
    rng = random.Random(7)
    texts = [
        f"code:{rng.randrange(60)} time:{rng.randrange(60, 400)} compile:{rng.random() / 300:.4f} id:{index}"
        + rng.choice(["", " refuse", " refuse-run", " wrong"]) for index in range(150)
    ]  # fmt: skip
    trials, search, _ = run(texts, alternate=alternate, jobs=3, devices=1 if alternate else 3)
    assert sorted(trial.assignment["x"] for trial in trials) == list(range(150))
    ran = [trial for trial in trials if trial.outcome == "ok"]
    assert search.best == min(ran, key=lambda trial: trial.score)


class Impatient(Threads):
    """Workers with time limits and without a clock: `needs:4` is over after a limit of less."""

    def submit(self, function, *args, timeout_s=None, **kwargs):
        needs = float(words_of(args[2].ops[0].value).get("needs", 0))
        if timeout_s is not None and needs > timeout_s:
            function, args, kwargs = self._end, (), {}
        return super().submit(function, *args, **kwargs)

    def _end(self):
        raise TimeoutError


def test_what_was_given_up_sooner_is_tried_again(tmp_path):
    path = tmp_path / "trials.db"
    texts = ["code:1 time:90 needs:4", "code:2 time:95"]

    def run_with(compile_s):
        stop = StopRequest()
        lab = fake_lab(alternate=True, workers=Impatient(1))
        shown = []
        with open_records(path, "program", {}, stop=stop, fresh=False) as records:
            search = fake_search(
                texts, lab, records, study=STUDY, limits=CompileLimits(compile_s),
                reproduce=lambda trial: shown.append(trial) or "",
            )  # fmt: skip
            trials = [trial for _, trial in Engine(lab, stop, 8).run(InTurns([search]))]
        close(lab)
        assert not shown, "impatience is no failure of the compiler"
        return {trial.assignment["x"]: trial for trial in trials}

    hasty = run_with(2.0)
    assert hasty[0].outcome == "compile_timeout"
    assert hasty[0].message == "given up after 2.0 s of compiling"
    assert run_with(2.0)[0].at == hasty[0].at, "known"
    patient = run_with(60.0)
    assert patient[0].outcome == "ok"
    assert patient[1].at == hasty[1].at, "known"
