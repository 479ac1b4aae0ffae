"""Trials of kernels in a database: what is known is not tried again, what is other is not taken for it."""

from contextlib import contextmanager
from pathlib import Path

import pytest
from contests import all_briefly, briefly
from problems import matmul, site_in
from wrong_kernels import Changing, NotMade, Transposed

from iree_tuner.device.numerics import Agreement
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.measure.sampling import ScreenPlan
from iree_tuner.measure.timing import Timed
from iree_tuner.store import Store, StoreError
from iree_tuner.store.exchange import import_file
from iree_tuner.store.queries import summaries
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.records import open_records
from iree_tuner.tuning.stop import StopRequest

pytestmark = pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
SITE = site_in(matmul(96, 96, 96))
TWICE = [(SITE, CGemm())] * 2


@contextmanager
def run_in(path, *, fresh=False):
    """A run's records in a database."""
    with open_records(path, "program.mlir", {}, stop=StopRequest(), fresh=fresh) as records:
        yield records


def rows_in(path):
    """How often each assignment was written down, by study."""
    with Store.open(path, readonly=True) as store:
        found = store.read("SELECT study_id, assignment, count(*) AS n FROM trials GROUP BY 1, 2")
    return {(row["study_id"], row["assignment"]): row["n"] for row in found}


@pytest.mark.exhaustive
def test_a_second_contest_tries_nothing_again(lab, tmp_path):
    path = tmp_path / "trials.db"
    with run_in(path) as records:
        first = briefly(SITE, CGemm(), lab, most=3, records=records)
    assert len(rows_in(path)) == len(first.trials) == 3
    with run_in(path) as records:
        second = briefly(SITE, CGemm(), lab, most=5, records=records)
    assert set(rows_in(path).values()) == {1}
    assert len(rows_in(path)) == len(second.trials) == 5
    kept = {each.assignment: each for each in first.trials}
    assert all(each == kept.get(each.assignment, each) for each in second.trials)
    assert second.final.winner is not None
    assert second.final.built is not None, "the best is built again"
    assert second.final.comparison is not None
    with run_in(path, fresh=True) as records:
        briefly(SITE, CGemm(), lab, most=1, records=records)
    assert sorted(rows_in(path).values()) == [1, 1, 1, 1, 2]


def test_what_is_kept_of_a_trial(lab, tmp_path, monkeypatch):
    path = tmp_path / "trials.db"
    _, *others = ScreenPlan.__init__.__defaults__
    monkeypatch.setattr(ScreenPlan.__init__, "__defaults__", (0.02, *others))  # or there is no load to read
    with run_in(path) as records:
        contest = briefly(SITE, CGemm(), lab, most=1, records=records)
    with Store.open(path, readonly=True) as store:
        (summary,) = summaries(store)
        trials = store.trials(summary.number)
    assert summary.key.kernel == "c_gemm_f32"
    assert summary.key.space_size == len(CGemm().variants(SITE.problem, lab.target))
    assert {each.assignment: each for each in contest.trials} == trials
    right = next(trial for trial in trials.values() if trial.outcome == "ok")
    assert right.samples_us
    assert right.baseline_us > 0
    assert right.digest
    assert right.compile_s > 0
    assert right.measure_s > 0
    assert right.at > 0
    assert right.device == "local-task"
    assert right.readings.load is not None
    assert contest.final.winner is not None
    assert summary.verdict is not None
    assert summary.verdict.assignment == contest.final.winner.assignment
    assert summary.verdict.comparison == contest.final.comparison


@pytest.mark.parametrize("kernel", [Transposed(), NotMade()], ids=lambda each: each.name)
def test_failures_stay_known(lab, tmp_path, kernel):
    path = tmp_path / "trials.db"
    with run_in(path) as records:
        (first,) = briefly(SITE, kernel, lab, records=records).trials
    with run_in(path) as records:
        second = briefly(SITE, kernel, lab, records=records)
    assert list(second.trials) == [first]
    assert second.final.winner is None
    assert set(rows_in(path).values()) == {1}


def test_code_that_has_changed_is_timed_again(lab, tmp_path):
    """Its tools or its sources may have changed where no digest of them shows it."""
    path = tmp_path / "trials.db"
    with run_in(path) as records:
        (first,) = briefly(SITE, Changing(), lab, records=records).trials
    with run_in(path) as records:
        (second,) = briefly(SITE, Changing(), lab, records=records).trials
    assert first.outcome == second.outcome == "ok"
    assert first.digest != second.digest
    assert list(rows_in(path).values()) == [3], "each time it is built it is other code: for the finals, too"
    with Store.open(path) as store:
        assert store.trials(1) == {second.assignment: second}


def test_what_a_second_look_finds_wrong_is_kept_as_wrong(lab, tmp_path, monkeypatch):
    path = tmp_path / "trials.db"
    monkeypatch.setattr(lab.measurer, "agrees", lambda vmfb, bench: Agreement(False, 7.0, "differs at [1]"))
    with run_in(path) as records:
        contest = briefly(SITE, CGemm(), lab, most=1, records=records)
    assert contest.final.winner is None
    assert [each.outcome for each in contest.trials] == ["wrong_result"]
    monkeypatch.undo()
    with run_in(path) as records:
        again = briefly(SITE, CGemm(), lab, most=1, records=records)
    assert again.final.winner is None
    assert [(each.outcome, each.message) for each in again.trials] == [("wrong_result", "differs at [1]")]
    assert again.trials[0].worst == 7.0


class Answers:
    """What the measuring worker says of executables that are not the default, or of all."""

    def __init__(self, lab, monkeypatch, timed, *, default_too=False):
        submit, result, others = lab.measurer.submit_screen, lab.measurer.result, set()

        def submit_screen(vmfb, bench, *more):
            future = submit(vmfb, bench, *more)
            if default_too or vmfb != bench.default:
                others.add(future)
            return future

        monkeypatch.setattr(lab.measurer, "submit_screen", submit_screen)
        monkeypatch.setattr(
            lab.measurer, "result", lambda future: timed if future in others else result(future)
        )


def test_a_device_that_is_lost_is_not_the_kernels_fault(lab, tmp_path, monkeypatch):
    path = tmp_path / "trials.db"
    Answers(lab, monkeypatch, Timed("run_error", message="the device is gone"), default_too=True)
    monkeypatch.setattr(lab.measurer, "time_default", lambda *_, **__: Timed("ok", (1.0,)))
    with run_in(path) as records, pytest.raises(DeviceLostError, match="the device is gone"):
        briefly(SITE, CGemm(), lab, most=1, records=records)
    assert rows_in(path) == {}


def test_a_kernel_that_does_not_run_is_told_from_a_lost_device(lab, tmp_path, monkeypatch):
    path = tmp_path / "trials.db"
    Answers(lab, monkeypatch, Timed("run_crash", message="gone"))
    with run_in(path) as records:
        contest = briefly(SITE, CGemm(), lab, most=1, records=records)
    assert [each.outcome for each in contest.trials] == ["run_crash"]
    monkeypatch.undo()
    with run_in(path) as records:
        again = briefly(SITE, CGemm(), lab, most=1, records=records)
    assert again.trials == contest.trials


def test_a_failure_has_a_reproducer_with_the_kernels_code(lab, tmp_path):
    with run_in(tmp_path / "trials.db") as records:
        (trial,) = briefly(SITE, Transposed(), lab, records=records).trials
    folder = Path(trial.reproducer)
    assert (folder / "kernel.o").read_bytes()
    assert "kernel.o" in (folder / "dispatch.mlir").read_text()
    assert "kernel.o" not in (folder / "default.mlir").read_text()
    assert (folder / "reproduce.sh").stat().st_mode & 0o100


def test_a_full_disk_stops_the_contests_and_loses_nothing(lab, tmp_path, monkeypatch):
    path = tmp_path / "trials.db"

    def refuse(*_):
        raise StoreError("the disk is full", location=str(path))

    with run_in(path) as records:
        monkeypatch.setattr(records.store, "add", refuse)
        contests = all_briefly(TWICE, lab, most=4, records=records)
        told = records.rescue()
    assert contests[1].note == "not tried: interrupted"
    assert "the disk is full; " in told
    assert rows_in(path) == {}
    with Store.open(path) as store:
        added = import_file(store, Path(told.rpartition(" ")[2]))
    assert added.trials == len(contests[0].trials) > 0


def test_contests_for_which_no_time_is_left(lab):
    first, second = all_briefly(TWICE, lab, seconds=0.0)
    assert first.note == second.note == "not tried: the time was used up"
    assert first.trials == ()
