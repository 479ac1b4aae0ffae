"""The library's front door."""

from contextlib import nullcontext
from dataclasses import dataclass, field

import pytest
from iree.compiler import ir
from programs import TWO_EPILOGUES, ZERO_MATMUL

import iree_tuner
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.options import EFFORTS

ALONE = {"try_flags": False, "profile": False, "strategy": "shuffle"}
"""Without what is tried and measured for the program as a whole: the first test has that."""


@dataclass
class Recorder(Silent):
    """A dataclass that can be compared has no hash: an observer needs none."""

    interrupt_after: int | None = None
    trials: list = field(default_factory=list)
    results: list = field(default_factory=list)

    def tried(self, task, trials, best):
        self.trials.extend(trials)
        if self.interrupt_after is not None and len(self.trials) >= self.interrupt_after:
            raise KeyboardInterrupt

    def finished(self, result):
        self.results.append(result)


@pytest.fixture(scope="module")
def lab():
    with Lab(target_for_device("local-task"), 1) as found:
        yield found


@pytest.fixture
def kept(lab, monkeypatch):
    """The workers of an earlier test: only the first test starts its own, as users do."""
    monkeypatch.setattr("iree_tuner.tune.lab_for", lambda *_, **__: nullcontext(lab))


def test_a_module_in_memory_is_tuned_and_compiled(tmp_path):
    context = ir.Context()
    module = ir.Module.parse(ZERO_MATMUL, context)
    watch = Recorder()
    result = iree_tuner.tune_module(module, effort="smoke", candidates=2, observer=watch)
    (found,) = result.results
    assert found.trials == tuple(watch.trials)
    assert {trial.outcome for trial in found.trials} <= {"ok", "too_slow", "compile_error", "compile_timeout"}
    assert result.spec.operation.verify()
    assert result.save(tmp_path / "spec.mlirbc").stat().st_size > 0
    assert len(result.vmfb()) > 1000
    if found.verdict == "win" and result.entries:
        assert found.comparison.interval[0] > 1
        assert "compilation_info" in str(result.spec)


OPEN = """
func.func @main(%a: tensor<?x48xf32>, %b: tensor<48x32xf32>) -> tensor<?x32xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<?x48xf32>, tensor<48x32xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
"""


@pytest.mark.exhaustive
def test_each_of_several_sizes_is_compared():
    result = iree_tuner.tune_module(OPEN, dim={"0.0": (9, 40)}, effort="smoke", candidates=1, jobs=1, **ALONE)
    (found,) = result.results
    assert found.task.workload.loops == (9, 32, 48)
    compared = result.whole.by_case if result.whole else ()
    assert [case for case, _ in compared] == ["0.0=9", "0.0=40"] * bool(compared)


def test_sizes_are_keywords():
    with pytest.raises(iree_tuner.UsageError, match="dim must have integers of at least 1, but has 0"):
        iree_tuner.tune_module(OPEN, dim=0)
    with pytest.raises(iree_tuner.TunerError, match="head is not dynamic"):
        iree_tuner.tune_module(OPEN, dim={"head": 4})


@pytest.mark.usefixtures("kept")
def test_ctrl_c_keeps_what_was_found():
    watch = Recorder(interrupt_after=3)
    result = iree_tuner.tune_module(ZERO_MATMUL, effort="smoke", observer=watch, **ALONE)
    assert result.interrupted
    (found,) = result.results
    assert len(found.trials) == 3
    assert watch.results == [found]


@pytest.mark.usefixtures("kept")
def test_equal_dispatches_are_one_task_and_others_are_reached_too():
    result = iree_tuner.tune_module(TWO_EPILOGUES, effort="smoke", candidates=1, **ALONE)
    (found,) = result.results
    # The two matmuls have different epilogues: two dispatches, one workload.
    assert len(found.task.dispatches) == 2
    assert found.task.calls == 2


@pytest.mark.usefixtures("kept")
def test_the_default_against_itself_is_a_tie():
    result = iree_tuner.tune_module(ZERO_MATMUL, effort="smoke", self_test=True, **ALONE)
    assert result.wins == ()
    assert (result.verdict, result.speedup, result.interval) == (None, None, None)
    assert "not compared" in result.why_not_compared
    assert "foreach_match" not in str(result.spec)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "warp"}, "unknown device 'warp'"),
        ({"effort": "heroic"}, "unknown effort 'heroic'"),
        ({"strategy": "magic"}, "unknown strategy 'magic'"),
        ({"candidates": 0}, "candidates must be at least 1"),
    ],
)
def test_wrong_arguments_say_what_is_possible(arguments, message):
    with pytest.raises(iree_tuner.UsageError, match=message):
        iree_tuner.tune_module(ZERO_MATMUL, **arguments)


def test_trials_follow_the_share():
    quick = EFFORTS["quick"]
    assert quick.trials_for(0.9) == quick.trials
    assert quick.trials_for(0.01) == round(quick.trials / 3)
    assert quick.trials_for(0.01) < quick.trials_for(0.15) < quick.trials
