"""Running on a device: samples, rejection, errors, wrong numbers; and what becomes of a worker that fails."""

import os
import subprocess
import sys
from dataclasses import replace

import faulty_worker
import pytest
from once import each_once  # noqa: F401 (a fixture)
from programs import ONE_MATMUL, ZERO_MATMUL

from iree_tuner.compiler.worker import WorkerError, Workers
from iree_tuner.device.bench import Bench, Case
from iree_tuner.measure import timing
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.measurer import Measurer
from iree_tuner.measure.sampling import ScreenPlan
from iree_tuner.measure.statistics import JudgePlan
from iree_tuner.measure.timing import Timed, rounds_here
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.bindings import Harness


@pytest.fixture(scope="module")
def measurer():
    found = Measurer("local-task")
    yield found
    found.close()


@pytest.fixture(scope="module")
def bench(only_dispatch, cpu, compilers):
    dispatch = only_dispatch(ZERO_MATMUL)
    default = Builder(cpu, compilers).build(dispatch.harness, None).vmfb
    return Bench(dispatch.harness, "local-task", default, Tolerance("f32", 128))


def test_samples_are_of_one_run_on_more_data_than_the_caches_hold(measurer, bench):
    plan = ScreenPlan()
    timed = measurer.time(bench.default, bench, plan=plan)
    assert timed.outcome == "ok"
    assert plan.least <= len(timed.samples_us) <= plan.most
    # 1.6 million floating point operations: neither a call's overhead alone nor a whole batch.
    assert 1 < min(timed.samples_us) < 5000
    assert timed.repeats >= 1  # one where the machine pauses while a run is timed
    assert timed.copies * bench.harness.stride > 1 << 20
    assert timed.worst == 0.0
    assert timed.seconds > plan.batch_s
    assert timed.readings.throttled >= 0


def test_warm_runs_use_one_copy(measurer, bench):
    warm = Bench(bench.harness, bench.device, bench.default, bench.tolerance, cold=False)
    assert measurer.time(warm.default, warm).copies == 1


def test_what_is_too_slow_is_dropped_at_once(measurer, bench):
    timed = measurer.time(bench.default, bench, limit_us=0.01)
    assert timed.outcome == "too_slow"
    assert len(timed.samples_us) <= 3


def test_what_does_not_load_is_a_run_error(measurer, bench):
    timed = measurer.time(b"not a module", bench)
    assert timed.outcome == "run_error"
    assert timed.message


def test_wrong_numbers_are_found_before_anything_is_timed(measurer, bench, only_dispatch, cpu, compilers):
    wrong = Builder(cpu, compilers).build(only_dispatch(ONE_MATMUL).harness, None).vmfb
    # Both export the same function: the program's name does not tell them apart.
    timed = measurer.time(wrong, bench)
    assert timed.outcome == "wrong_result"
    assert "96x64xf32" in timed.message
    assert timed.worst > 1
    assert timed.samples_us == ()
    assert not measurer.agrees(wrong, bench).ok


def test_a_default_that_only_stands_for_the_program_is_timed_all_the_same(
    measurer, bench, only_dispatch, cpu, compilers
):
    wrong = Builder(cpu, compilers).build(only_dispatch(ONE_MATMUL).harness, None).vmfb
    alone = replace(bench, default=wrong, case=Case(b""))
    timed = measurer.time_default(alone)
    assert timed.outcome == "ok"
    assert timed.worst > 1
    assert timed.samples_us
    other = Builder(cpu, compilers).build(only_dispatch(ZERO_MATMUL).harness, None).vmfb
    assert measurer.time(other, alone).worst <= 1


def test_the_default_agrees_with_itself(measurer, bench):
    found = measurer.agrees(bench.default, bench, seeds=(0, 1))
    assert found.ok
    assert found.worst <= 1


def test_the_worker_comes_back_after_a_crash(measurer, bench):
    with pytest.raises(WorkerError):
        measurer.workers.call(os.abort)
    assert measurer.time(bench.default, bench).outcome == "ok"


def test_rounds_have_one_sample_of_each(measurer, bench):
    rows = measurer.workers.call(rounds_here, [bench.default] * 3, bench, 4, 0.001)
    assert [len(row) for row in rows] == [3] * 4
    assert all(sample > 0 for row in rows for sample in row)


def test_rounds_go_on_in_their_own_data_after_others_had_the_memory(bench):
    """Both are timed in one arena: the table's copies are not the other's."""
    timing._table.cache_clear()
    first = rounds_here([bench.default] * 2, bench, 1, 0.001)
    held = timing._rotation(bench)
    warm = replace(bench, cold=False)
    rounds_here([bench.default], warm, 1, 0.001)
    second = rounds_here([bench.default] * 2, bench, 1, 0.001)
    assert len(first) == len(second) == 1
    table = timing._table((bench.default,) * 2, bench, 0.001)
    assert all(each.memory is timing._rotation(bench) for each in table._loaded)
    assert timing._rotation(bench) is not held
    timing.let_go()
    assert not timing._arenas


def test_what_checking_takes_is_told_apart(measurer, bench):
    checked, unchecked = (
        measurer.time(bench.default, bench, plan=ScreenPlan(checked=each)) for each in (True, False)
    )
    assert unchecked.check_s < checked.check_s < checked.seconds


def test_comparisons_have_a_group_for_each_place(measurer, bench):
    places = [(bench.default, [bench.default])] * 2
    (found,) = measurer.compare(places, bench, JudgePlan(8))
    assert 0 < found.pairs <= 8
    assert len(found.by_group) == 2


@pytest.fixture
def faulty():
    """A measurer whose worker obeys orders, with short time limits."""
    found = Measurer(
        "cuda://0",
        Workers(1),
        screen=faulty_worker.screen,
        rounds=faulty_worker.rounds,
        agree=faulty_worker.agree,
        setup_s=6.0,
    )
    yield found
    found.close()


def orders():
    return Bench(Harness(b"module", "main", 64, ()), "cuda", b"default", Tolerance())


def worker_of(measurer):
    timed = measurer.time(b"default", orders())
    assert timed.outcome == "ok"
    return timed.samples_us[0]


def test_a_device_error_costs_the_worker_and_not_the_next_candidate(faulty):
    before = worker_of(faulty)
    assert worker_of(faulty) == before
    poisoned = faulty.time(b"poison", orders())
    assert (poisoned.outcome, poisoned.message) == ("run_error", "CUDA_ERROR_ILLEGAL_ADDRESS")
    assert worker_of(faulty) != before
    agreement = faulty.agrees(b"poison", orders())
    assert (agreement.ok, agreement.message) == (False, "CUDA_ERROR_ILLEGAL_ADDRESS")
    assert faulty.agrees(b"default", orders(), (3, 4)).note == "(3, 4)"


def test_a_device_error_in_the_finals_is_a_crash_of_the_finalist(faulty):
    with pytest.raises(WorkerError, match="ILLEGAL_ADDRESS"):
        faulty.compare([(b"default", [b"poison"])], orders(), JudgePlan(4))
    (found,) = faulty.compare([(b"default", [b"other"])], orders(), JudgePlan(8))
    assert found.speedup == pytest.approx(0.5)


def test_a_crash_and_a_hang_are_outcomes(faulty):
    assert faulty.time(b"abort", orders(), limit_us=10.0).outcome == "run_crash"
    assert worker_of(faulty)
    assert faulty.time(b"hang", orders(), limit_us=10.0).outcome == "run_timeout"
    assert worker_of(faulty)


def test_a_run_on_the_host_that_takes_far_too_long_is_ended(faulty):
    before = worker_of(faulty)
    ended = faulty.time(b"slow run", orders(), limit_us=10.0)
    assert (ended.outcome, ended.samples_us) == ("too_slow", ())
    assert "took too long" in ended.message
    after = worker_of(faulty)
    assert after != before
    assert faulty.time(b"quick run", orders(), limit_us=10.0).outcome == "ok"
    assert faulty.time(b"slow run on a GPU", orders(), limit_us=10.0).outcome == "ok"
    assert worker_of(faulty) == after


def test_candidates_run_on_the_measurers_own_device(faulty):
    assert faulty.result(faulty.submit_screen(b"default", orders())).message == "cuda://0"


def test_measuring_does_without_the_compiler():
    """A worker that does not load it starts in a fraction of the time."""
    program = "import sys, iree_tuner.measure.timing; sys.exit('iree.compiler' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)


def test_a_default_is_timed_once(monkeypatch):
    measurer, asked, outcomes = Measurer("local-task", Workers(1)), [], iter(["run_error", "ok"])
    monkeypatch.setattr(measurer, "time", lambda vmfb, *_, **__: asked.append(vmfb) or Timed(next(outcomes)))
    bench = orders()
    found = [measurer.time_default(bench).outcome for _ in range(3)]
    assert found == ["run_error", "ok", "ok"]
    assert len(asked) == 2
    measurer.close()
