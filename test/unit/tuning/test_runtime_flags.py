"""Flags of the runtime, tried in the end: what is chosen, and when nothing is tried."""

import math
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest

from iree_tuner.device.numerics import Agreement
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.program.source import Program
from iree_tuner.targets import parse_target
from iree_tuner.targets.cuda import Cuda
from iree_tuner.targets.llvm_cpu import LlvmCpu
from iree_tuner.tuning.budget import Budget, MeasuredTimes
from iree_tuner.tuning.flags import ENVIRONMENT, Flags, Runtime, RuntimeChoice, choose_last
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.options import effort_named
from iree_tuner.tuning.run import Run
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.timeline import Timeline
from iree_tuner.tuning.versions import Compiling, ProgramVersion, applied

VERSION = ProgramVersion("the result", parse_target("llvm-cpu:host"))
SPIN, FEW = "--task_worker_spin_us", "--task_topology_max_group_count"


@dataclass
class FakeWhole:
    """Each flag is worth a factor."""

    worth: dict[str, float]
    asked: list[list[str]] = field(default_factory=list)

    def compare(self, against, others, look):
        assert all(replace(each, last=against.last) == against for each in others)
        self.asked.append([each.what for each in others])
        return [self._one(each.last[-1].how) for each in others]

    def _one(self, flag):
        speedup = self.worth.get(flag, 1.0)
        if not speedup:
            return ProgramComparison("main", None, Agreement(True, 0.0), "the device does not open")
        verdict = "win" if speedup > 1.01 else "lose" if speedup < 0.99 else "tie"
        found = SimpleNamespace(speedup=speedup, verdict=verdict)
        return ProgramComparison("main", found, Agreement(True, 0.0))


def lab(device="local-task", cores=4):
    measurer = SimpleNamespace(device=device, facts=SimpleNamespace(cores=cores), workers=None)
    return SimpleNamespace(measurer=measurer, compilers=None, target=VERSION.target)


BOTH = (Flags(), Runtime())


def run_of(versions=None, budget=None, sources=BOTH):
    found = Run.__new__(Run)
    found.sources, found.effort = sources, effort_named("default")
    found.lab, found.versions, found.budget, found.stop = lab(), versions, budget, StopRequest()
    found.watch = Silent()
    return found


def choose(worth, *, total_s=math.inf, **measured):
    whole, clock = FakeWhole(worth), lambda: 1000.0
    budget = Budget(total_s, Timeline(clock), 2, StopRequest(), MeasuredTimes(**measured))
    return choose_last(run_of(whole, budget), VERSION), whole


def test_winners_are_added_one_at_a_time():
    worth = {f"{SPIN}=20": 1.1, f"{SPIN}=200": 1.05, f"{FEW}=2": 1.2, f"{FEW}=1": 0.5}
    choice, whole = choose(worth)
    assert choice == RuntimeChoice((f"{FEW}=2", f"{SPIN}=20"), pytest.approx(1.2 * 1.1))
    assert len(whole.asked[0]) == 4
    assert whole.asked[1] == [f"{FEW}=2 {SPIN}=20", f"{FEW}=2 {SPIN}=200"]
    assert len(whole.asked) == 2  # no other name is left


def test_ties_and_failures_change_nothing():
    choice, whole = choose({f"{FEW}=1": 0.0})
    assert choice == RuntimeChoice()
    assert len(whole.asked) == 1


def test_without_time_nothing_is_tried():
    choice, whole = choose({f"{SPIN}=20": 1.5}, total_s=5.0, invocation_s=2.0)
    assert choice == RuntimeChoice(note="no runtime flags were tried: no time left")
    assert whole.asked == []


def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, f"{SPIN}=100")
    assert {each.where for each in Runtime().last(run_of())} == {FEW}


def test_without_the_source_none_are_tried():
    assert choose_last(run_of(sources=BOTH[:1]), VERSION) == RuntimeChoice()


def test_a_program_is_run_with_them(cpu, tmp_path):
    change = Runtime().last(run_of())[0]
    to = applied(Compiling(Program("p.mlir", b""), cpu), [change], [*BOTH], None, tmp_path)
    assert to == Compiling(Program("p.mlir", b""), cpu, (change.made,))
    assert change.made.text == change.how == f"{SPIN}=20"


def test_flags_of_devices():
    """One worker has nothing to choose; with few cores there is one cache."""
    assert LlvmCpu().runtime_flags("local-sync", 8) == ()
    assert LlvmCpu().runtime_flags("local-task://?threads=2", 8) == ()
    assert [each.text for each in LlvmCpu().runtime_flags("local-task", 1)] == [f"{SPIN}=20", f"{SPIN}=200"]
    assert [each.text for each in LlvmCpu().runtime_flags("local-task", 2)][2:] == [f"{FEW}=1"]
    every = LlvmCpu().runtime_flags("local-task", 8)
    assert [each.text for each in every][2:] == [
        f"{FEW}=4", f"{FEW}=1", "--task_topology_distribution=compact",
    ]  # fmt: skip
    assert all(each.default.startswith(f"{each.name}=") for each in (*every, *Cuda().runtime_flags("", 1)))
