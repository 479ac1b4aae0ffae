"""A compiler and a device that are functions: what a candidate does is written in its configuration.

A configuration's value is a list of words: `compile:0.01` sleeps, `code:7` names the executable, `time:120`
is how many microseconds it takes, `abort`, `segfault`, `exit`, `hang`, `eat`, `flood`, `orphan` do that while
compiling, with `run-` in front of the word while measuring.
"""

import math
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from tuning.misbehaving import DEFAULT, fake_build, fake_screen

from iree_tuner.compiler.worker import Ok, Timeout, WorkerError
from iree_tuner.device.bench import Bench
from iree_tuner.measure.candidate import Builder, Built
from iree_tuner.measure.measurer import Measurer
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.bindings import Harness
from iree_tuner.space.configuration import Assignment, Configuration, OpConfiguration
from iree_tuner.targets import parse_target
from iree_tuner.tuning.candidate import CompileLimits
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.stop import StopRequest


class Threads:
    """Stands for Workers where nothing misbehaves: threads of this process."""

    there = True

    def __init__(self, count=1):
        self._pool = ThreadPoolExecutor(count)

    def submit(self, function, *args, timeout_s=None, **kwargs):
        return self._pool.submit(function, *args, **kwargs)

    def end(self, future):
        try:
            return Ok(future.result())
        except TimeoutError:
            return Timeout(0.0)
        except WorkerError as error:
            return error.end

    def wait(self, future):
        return future.result()

    def call(self, function, *args, timeout_s=None, **kwargs):
        return self.wait(self.submit(function, *args, **kwargs))

    def close(self):
        self._pool.shutdown(cancel_futures=True)


class Watch:
    """Counts who is at work, to see what overlaps."""

    def __init__(self):
        self._lock = threading.Lock()
        self.compiling = self.measuring = 0
        self.overlaps = self.most_measuring = 0

    def build(self, *args):
        with self._lock:
            self.compiling += 1
            self.overlaps += self.measuring
        try:
            return fake_build(*args)
        finally:
            with self._lock:
                self.compiling -= 1

    def screen(self, *args):
        with self._lock:
            self.measuring += 1
            self.most_measuring = max(self.most_measuring, self.measuring)
            self.overlaps += self.compiling
        try:
            return fake_screen(*args)
        finally:
            with self._lock:
                self.measuring -= 1


def fake_lab(
    *,
    alternate,
    jobs=2,
    devices=1,
    workers=None,
    measuring=None,
    loader=None,
    build=fake_build,
    screen=fake_screen,
    timeout_s=5.0,
    setup_s=30.0,
):
    """A lab on fakes; in threads unless workers are given."""
    target = parse_target("llvm-cpu:host")
    compilers = workers or Threads(jobs)
    pools = measuring or [Threads(1) for _ in range(devices)]
    measurers = [
        Measurer(f"fake://{index}", workers=pool, screen=screen, setup_s=setup_s)
        for index, pool in enumerate(pools)
    ]
    return SimpleNamespace(
        target=target, jobs=jobs, alternate=alternate, on_host=alternate, cold=True,
        queued=1 if alternate else 2, compilers=compilers, measurers=measurers, news=deque(),
        measurer=measurers[0], loader=loader, settle=lambda: None,
        builder=Builder(target, compilers, timeout_s, build=build),
    )  # fmt: skip


def close(lab):
    lab.compilers.close()
    for measurer in lab.measurers:
        measurer.close()


class Listed:
    """A strategy that asks for 0, 1, 2, ... and remembers what it was told."""

    def __init__(self, count):
        self._next = 0
        self._count = count
        self.told = []

    def ask(self, count):
        asked = [Assignment.of({"x": x}) for x in range(self._next, min(self._next + count, self._count))]
        self._next += len(asked)
        return asked

    def tell(self, results):
        self.told.extend(results)


def fake_bench():
    harness = Harness(b"module", "main", 64, ())
    return Bench(harness, "fake://0", DEFAULT, Tolerance("f32", 1))


class FakeKind:
    """Candidates of which texts say what each does."""

    name, workload, default_us, most_places, over = "", "workload", 100.0, 4, ""

    def __init__(self, texts, lab, reproduce=lambda trial: "", study=None, limits=None, bench=None):
        self.texts, self.lab, self.reproduce = texts, lab, reproduce
        self.bench = bench or fake_bench()
        self.default = Built("ok", self.bench.default)
        self.own_digest = self.default.digest
        self.wrong = ""
        self.limits = limits or CompileLimits()
        self.size = len(texts)
        self.study = lambda: study

    def strategy(self, name, seed):
        return Listed(len(self.texts))

    def configuration(self, assignment):
        return Configuration((OpConfiguration("root", "compilation_info", self.texts[assignment["x"]]),))

    def submit(self, assignment, limits, *, place, verify):
        configuration = self.configuration(assignment)
        return self.lab.builder.submit(
            self.bench.harness, configuration, place, limits.compile_s, limits.most_ops, verify
        )


def fake_search(texts, lab, records=None, stop=None, **how):
    """A search over so many candidates; `texts` says what each does."""
    prospects, cap = how.pop("prospects", None), how.pop("cap", math.inf)
    slice_trials = how.pop("slice_trials", 16)
    kind = FakeKind(texts, lab, **how)
    records = records or Records(None, stop or StopRequest())
    strategy = kind.strategy("listed", 0)
    return Search(kind, strategy, records, prospects=prospects, cap=cap, slice_trials=slice_trials)
