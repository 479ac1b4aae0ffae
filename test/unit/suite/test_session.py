"""Whole runs: what fails is a row, devices may go, and a run goes on where it ended.

The first test starts all processes of its run; those of the others go on from one test to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from session_fakes import Fake, KeptSite, Remembers

from iree_tuner.errors import TunerError
from iree_tuner.suite.backends.backend import Conditions
from iree_tuner.suite.backends.iree import Wanted
from iree_tuner.suite.kinds.product import Matmul
from iree_tuner.suite.plan import Item, SuitePlan, Tuning
from iree_tuner.suite.programs import load_programs
from iree_tuner.suite.results import PROGRAMS, ROWS, Results, Row, read_results
from iree_tuner.suite.session import run_suite
from iree_tuner.tuning.options import TuningOptions

QUICK = Conditions(threads=1, batch_s=0.001, pause_s=0.0, rounds=8)
ITEMS = [Item(Matmul(m=size, n=16, k=16)) for size in (16, 32)]
PEAKS = (
    '{"%s": {"name": "slow", "flops_per_s": {"f32": 1e9}, "levels": [{"bytes_per_s": 1e9, "capacity_bytes":'
    ' null}], "how": "given"}, "%s": {"name": "fast", "flops_per_s": {"f32": 2e9}, "levels":'
    ' [{"bytes_per_s": 2e9, "capacity_bytes": null}], "how": "given"}}'
)


@pytest.fixture
def plan(tmp_path: Path) -> SuitePlan:
    peaks = tmp_path / "peaks.json"
    peaks.write_text(PEAKS % ("local-task", "local-sync"))
    return SuitePlan("test", ITEMS, ("local-task",), tmp_path / "results", QUICK, rooflines=peaks, jobs=1)


@pytest.fixture(scope="module")
def site():
    found = KeptSite()
    yield found
    found.close()


@pytest.fixture
def answering(site, monkeypatch):
    """Makes a run whose devices answer, unless it is told otherwise."""
    monkeypatch.setattr("iree_tuner.suite.exact.Workers", lambda *_, **__: site.process())

    def run(plan: SuitePlan, watch: Remembers, lost=lambda _: "") -> Results:
        monkeypatch.setattr(site, "why_lost", lambda place: lost(str(place)))
        return run_suite(plan, watch, site=site)

    return run


def of(results: Results, backend: str) -> list[Row]:
    return [row for row in results.rows if row.backend == backend]


def test_each_operation_is_verified_timed_and_judged(plan: SuitePlan) -> None:
    results = run_suite(replace(plan, backends=[Fake()]), Remembers())
    assert [(row.backend, row.configuration) for row in results.rows] == 2 * [
        ("iree", "default"),
        ("fake", ""),
    ]
    for row in results.rows:
        assert (row.state, row.verification, row.reference) == ("ok", "SUCCESS", "numpy"), row.message
        assert row.time_us is not None
        assert row.interval_us is not None
        assert row.interval_us[0] <= row.time_us <= row.interval_us[1]
        assert row.speedup is not None
        assert row.roofline_share is not None
        assert len(row.samples_us) == 8
    fake = of(results, "fake")[0]
    assert fake.time_us == pytest.approx(100)
    assert results.facts.versions == {"fake": "1.0"}


FAKES = {
    Fake("absent", absent="fake is not installed: pip install fake"): ("missing", "pip install fake"),
    Fake("refuses", refused="it has no f32"): ("skipped", "it has no f32"),
    Fake("cannot", does="cannot"): ("skipped", "it has no such product"),
    Fake("dies", does="dies", on=ITEMS[0].operation.name): ("failed", "exit"),
    Fake("raises", does="raises"): ("failed", "out of luck"),
    Fake("wrong", does="wrong"): ("failed", "wrong results: at ["),
}


def test_what_a_back_end_cannot_do_is_a_row_and_the_rest_goes_on(answering, plan: SuitePlan) -> None:
    results = answering(replace(plan, backends=[*FAKES, Fake("other")]), Remembers())
    for fake, (state, message) in FAKES.items():
        first, second = of(results, fake.name)
        assert first.state == state
        assert message in first.message
        assert "\n" not in first.message
        assert first.time_us is None
        assert (first.verification == "FAILED") == (fake.does == "wrong")
        assert second.state == ("ok" if fake.on else state)  # one that died is started anew
    assert [row.state for name in ("iree", "other") for row in of(results, name)] == 4 * ["ok"]


def test_configurations_are_verified_and_timed_beside_the_default(answering, plan: SuitePlan) -> None:
    chosen = replace(plan, items=ITEMS[:1], choice=Wanted(count=2))
    results = answering(chosen, Remembers())
    assert [row.configuration == "default" for row in results.rows] == [True, False, False]
    for row in results.rows[1:]:
        assert (row.state, row.verification) == ("ok", "SUCCESS"), row.message
        assert row.configuration.startswith("DoubleTilingExpert_")
        assert row.speedup is not None
    again = Remembers()
    answering(chosen, again)
    assert again.rows == []


def test_device_time_is_that_of_dispatches(answering, plan: SuitePlan) -> None:
    device = replace(plan, items=ITEMS[:1], conditions=replace(QUICK, timing="device"))
    (row,) = answering(device, Remembers()).rows
    assert (row.state, row.verification, row.message) == ("ok", "SUCCESS", "")
    assert row.time_us is not None
    (programs,) = (plan.folder / PROGRAMS).glob("*.json")
    found = load_programs(programs.parent, programs.stem)
    assert len(found.parts) == 1


def test_tuned_code_comes_from_tuning_from_a_spec_and_from_the_store(
    answering, plan: SuitePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same operation three times; what tuning found is kept, and used again."""
    monkeypatch.setattr(
        "iree_tuner.suite.plan.TuningOptions",
        partial(TuningOptions, candidates=1, strategy="shuffle", profile=False),
    )
    item = ITEMS[0]
    db = tmp_path / "trials.db"
    tuning = replace(plan, items=[item], tuning=Tuning(effort="smoke", db=db))
    tuned = of(answering(tuning, Remembers()), "iree-tuned")[0]
    assert (tuned.state, tuned.verification, tuned.configuration) == ("ok", "SUCCESS", "spec"), tuned.message
    spec = plan.folder / "specs" / f"{item.operation.name}.mlir"
    assert spec.is_file()
    by_spec = replace(plan, items=[item], folder=tmp_path / "by_spec", tuning=Tuning(spec=spec))
    tuned = of(answering(by_spec, Remembers()), "iree-tuned")[0]
    assert (tuned.state, tuned.verification) == ("ok", "SUCCESS"), tuned.message
    by_store = replace(plan, items=[item], folder=tmp_path / "by_store", tuning=Tuning(db=db))
    stored = of(answering(by_store, Remembers()), "iree-tuned")[0]
    # What wins is for the machine to say; where nothing does, the row tells what to do.
    assert stored.state == "ok" or "the database has no win" in stored.message


def test_a_spec_that_is_none_is_a_row(answering, plan: SuitePlan, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.mlir"
    wrong.write_text("module {}\n")
    results = answering(replace(plan, items=ITEMS[:1], tuning=Tuning(spec=wrong)), Remembers())
    assert of(results, "iree")[0].state == "ok"
    (tuned,) = of(results, "iree-tuned")
    assert tuned.state == "failed"
    assert "not a tuning spec" in tuned.message


def test_a_run_goes_on_where_it_ended(answering, plan: SuitePlan) -> None:
    plan = replace(plan, verify=False)
    first = answering(plan, Remembers())
    path = plan.folder / ROWS
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:20])  # killed while it wrote
    again = Remembers()
    second = answering(plan, again)
    assert [row.operation for row in again.rows] == [ITEMS[1].operation.name]
    assert [row.key for row in second.rows] == [row.key for row in first.rows]
    assert second.rows[0] == first.rows[0]


def test_missing_back_ends_are_tried_again(answering, plan: SuitePlan) -> None:
    one = replace(plan, items=ITEMS[:1], verify=False)
    answering(replace(one, backends=[Fake(absent="not there")]), Remembers())
    results = answering(replace(one, backends=[Fake()]), Remembers())
    assert [row.state for row in of(results, "fake")] == ["ok"]


def test_results_of_other_conditions_are_not_mixed(answering, plan: SuitePlan) -> None:
    plan = replace(plan, items=ITEMS[:1], verify=False)
    answering(plan, Remembers())
    other = replace(plan, conditions=replace(QUICK, rounds=9))
    with pytest.raises(TunerError, match="other conditions"):
        answering(other, Remembers())
    results = answering(replace(other, fresh=True), Remembers())
    assert len(results.rows[0].samples_us) == 9


def test_a_device_that_goes_away_leaves_its_work_to_others(answering, plan: SuitePlan) -> None:
    asked: list[str] = []

    def lost(uri: str) -> str:
        asked.append(uri)
        return "it fell off the bus" if uri == "local-sync" and asked.count(uri) > 1 else ""

    watch = Remembers()
    items = [Item(Matmul(m=size, n=16, k=16)) for size in (16, 32, 48)]
    both = replace(
        plan, items=items, devices=("local-task", "local-sync"), backends=[Fake(does="raises")]
    )  # fmt: skip
    results = answering(both, watch, lost)
    assert {row.operation for row in of(results, "iree")} == {each.operation.name for each in items}
    assert {row.device for row in results.rows} == {"local-task"}
    assert [note for note in watch.notes if "no longer responds: it fell off the bus" in note]


def test_where_no_device_is_left_the_rest_is_lost(answering, plan: SuitePlan) -> None:
    asked: list[str] = []

    def lost(uri: str) -> str:
        asked.append(uri)
        return "gone" if len(asked) > 1 else ""

    results = answering(replace(plan, backends=[Fake(does="raises")]), Remembers(), lost)
    assert [(row.state, row.message) for row in of(results, "iree")] == 2 * [
        ("lost", "no device responds any more")
    ]
    back = answering(replace(plan, backends=[Fake()]), Remembers())
    assert {row.state for row in back.rows} == {"ok"}


def test_without_any_device_nothing_is_begun(answering, plan: SuitePlan) -> None:
    with pytest.raises(TunerError, match="no device responds: local-task: no such thing"):
        answering(plan, Remembers(), lambda _: "no such thing")
    assert not plan.folder.exists()


def test_times_are_normalised_to_the_first_device(answering, plan: SuitePlan) -> None:
    items: Sequence[Item] = [Item(Matmul(m=16 * (1 + size), n=16, k=16)) for size in range(2)]
    both = replace(plan, items=items, devices=("local-task", "local-sync"), verify=False)
    for row in answering(both, Remembers()).rows:
        assert row.time_us is not None
        assert row.normalized_us is not None
        factor = 1.0 if row.device == "local-task" else 2.0  # the second one could do twice as much
        assert row.normalized_us == pytest.approx(factor * row.time_us)


def test_the_code_of_an_earlier_run_takes_turns(answering, plan: SuitePlan) -> None:
    plan = replace(plan, items=ITEMS[:1], verify=False)
    first = answering(plan, Remembers())
    second = answering(
        replace(plan, folder=plan.folder.with_name("second"), against=plan.folder, launches=2), Remembers()
    )
    assert second.facts.against == first.facts.id
    assert {row.backend for row in second.rows} == {"iree"}
    for row in second.rows:
        assert row.change is not None
        assert row.change_interval is not None
        assert row.change_interval[0] <= row.change <= row.change_interval[1]
        assert len(row.samples_us) in (16, 24, 32, 40, 48, 56, 64)  # two launches, more where it is not clear


def test_a_folder_that_cannot_be_written_ends_the_run(
    answering, plan: SuitePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: object, row: Row) -> None:
        raise TunerError("cannot write: No space left on device", location="rows.jsonl")

    monkeypatch.setattr("iree_tuner.suite.results.ResultsFolder.add", full)
    with pytest.raises(TunerError, match="No space left on device"):
        answering(plan, Remembers())
    assert read_results(plan.folder).rows == ()
