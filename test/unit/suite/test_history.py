"""Histories: what is appended is read again, torn lines and other writers do no harm."""

import json
import multiprocessing
from dataclasses import replace

import pytest
from amounts import amount
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import NASTY, Made, made_run

from iree_tuner.errors import TunerError
from iree_tuner.suite.backends.backend import Conditions
from iree_tuner.suite.results import Results, Row, RunFacts, add, read_history, run_named, runs

SMALL = {"operations": 2, "backends": ("iree", "torch")}

texts = st.text(max_size=12)
times = st.floats(1e-3, 1e9)
ends = st.none() | st.tuples(times, times)
rows = st.builds(
    Row, texts, texts, st.dictionaries(texts, st.integers() | texts), texts, texts, texts, texts,
    st.sampled_from(["ok", "failed", "skipped", "missing", "lost"]), st.just("SUCCESS"), texts,
    st.none() | times, ends, flops=times, bytes=times, speedup=st.none() | times, speedup_interval=ends,
    change=st.none() | times, change_interval=ends, worst_error=st.none() | times, at=times,
)  # fmt: skip
facts = st.builds(
    RunFacts, texts.filter(bool), texts, texts, texts, st.dictionaries(texts, texts),
    conditions=st.builds(Conditions, threads=st.integers(0, 9)), against=texts, started=times,
)  # fmt: skip
results = st.builds(
    Results, facts, st.lists(rows, min_size=1, max_size=4, unique_by=lambda row: row.key).map(tuple)
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.jsonl"


@settings(max_examples=amount(15, 50), deadline=None)
@given(st.lists(results, min_size=1, max_size=3, unique_by=lambda each: each.facts.id))
def test_what_is_added_is_read_again(tmp_path_factory, given):
    path = tmp_path_factory.mktemp("history") / "history.jsonl"
    assert [add(each, path) for each in given] == [len(each.rows) for each in given]
    assert [add(each, path) for each in given] == [0] * len(given), "they are there"
    found = read_history(path)
    assert found.note == ""
    assert [each.started for each in runs(found)] == sorted(each.facts.started for each in given)
    for each in given:
        assert run_named(found, each.facts.id).rows == each.rows or each.facts.id in ("first", "last")
        read = next(other for other in found.results if other.facts.id == each.facts.id)
        assert replace(read.facts, devices={}) == each.facts
        assert read.facts.devices.keys() == {row.device for row in each.rows}


def test_what_jobs_ask_a_line_for_is_there(path):
    made = made_run(Made(**SMALL))
    add(made, path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == len(made.rows) == 4
    for line, row in zip(lines, made.rows, strict=True):
        assert line["run"] == "run-1"
        assert (line["commit"], line["compiler"], line["started"]) == ("a1b2c3d4", "3.13.0", 1.76e9)
        assert (line["device_name"], line["operation"], line["backend"]) == ("a CPU", *row.key[:2])
        assert (line["time_us"], line["gflops"]) == (row.time_us, row.gflops)
        assert "samples_us" not in line


@settings(max_examples=amount(20, 60), deadline=None)
@given(st.data())
def test_a_torn_line_is_dropped_with_a_note_and_mended(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("torn") / "history.jsonl"
    made = made_run(Made(**SMALL))
    add(made, path)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:cut])
    found = read_history(path)
    kept = sum(len(each.rows) for each in found.results)
    lines = whole[:cut].count(b"\n")
    unended = whole[cut : cut + 1] == b"\n"  # only the end of the line is missing
    assert kept == lines + unended
    at_end = cut == 0 or whole[cut - 1 : cut] == b"\n"
    assert bool(found.note) == (not unended and not at_end)
    assert add(made, path) == len(made.rows) - kept
    assert path.read_bytes() == whole or unended
    assert len(run_named(read_history(path), "run-1").rows) == len(made.rows)


def test_a_run_that_went_on_gets_its_other_rows(path):
    made = made_run(Made(**SMALL))
    add(replace(made, rows=made.rows[:3]), path)
    again = replace(made.rows[0], time_us=1.0)
    assert add(replace(made, rows=(again, *made.rows[1:])), path) == 2
    found = run_named(read_history(path), "run-1").rows
    assert {row.key: row.time_us for row in found} == {
        row.key: row.time_us for row in (again, *made.rows[1:])
    }


def test_a_line_that_is_no_row_is_told_with_its_number(path):
    add(made_run(Made(**SMALL)), path)
    good = path.read_text().splitlines()
    broken = (
        "nonsense", "5", "[]", "{}", good[1].replace('"run-1"', "7"), good[1].replace('"ok"', '"fine"'),
        good[1].replace('"time_us": ', '"time_us": "soon", "x": '),
        good[1].replace('"interval_us": [', '"interval_us": [1.0, '),
        good[1].replace('"threads"', '"fibers"'),
    )  # fmt: skip
    for line in broken:
        assert line != good[1]
        path.write_text("\n".join([good[0], line, *good[2:]]) + "\n")
        with pytest.raises(TunerError, match=r"history.jsonl:2(:1)?: not (a row of a history|JSON): \w+"):
            read_history(path)
        with pytest.raises(TunerError, match=r"history.jsonl:2(:1)?: not (a row|JSON)"):
            add(made_run(Made("other", **SMALL)), path)


def append_runs(path, first, count):
    for place in range(first, first + count):
        add(made_run(Made(f"run-{place}", place, **SMALL)), path)


def test_writers_at_the_same_time_tear_nothing(path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=append_runs, args=(path, 10 * place, 10)) for place in range(4)]
    for each in workers:
        each.start()
    while any(each.is_alive() for each in workers):
        if path.exists():
            assert read_history(path).note == "", "who reads waits for who writes"
    for each in workers:
        each.join()
        assert each.exitcode == 0
    found = read_history(path)
    assert {each.facts.id: len(each.rows) for each in found.results} == {
        f"run-{place}": 4 for place in range(40)
    }


def test_a_full_disk_leaves_the_history_as_it_was(path, monkeypatch):
    add(made_run(Made(**SMALL)), path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("iree_tuner.suite.results.os.fsync", full)
    with pytest.raises(TunerError, match="cannot write: No space left on device"):
        add(made_run(Made("other", **SMALL)), path)
    assert path.read_bytes() == before


def test_runs_are_named_by_id_commit_and_place(path):
    for place, commit in enumerate(["aaa1", "aab2", "aab2", NASTY]):
        add(made_run(Made(f"run-{place}", place, started=10 - place, commit=commit, **SMALL)), path)
    history = read_history(path)
    named = {name: run_named(history, name).facts.id for name in ("first", "last", "run-2", "aaa", "aab")}
    assert named == {"first": "run-3", "last": "run-0", "run-2": "run-2", "aaa": "run-0", "aab": "run-1"}
    assert [each.id for each in runs(history, commit="aab")] == ["run-2", "run-1"]
    assert runs(history, compiler="3.12.0") == ()
    with pytest.raises(TunerError, match=r"several commits begin with 'aa' .aaa1, aab2"):
        run_named(history, "aa")
    for name in ("", "run-9"):
        with pytest.raises(TunerError, match=f"unknown run or commit '{name}' .the last run is run-0"):
            run_named(history, name)


def test_what_cannot_be_read_or_added_is_told(tmp_path, path):
    made = made_run(Made(**SMALL))
    with pytest.raises(TunerError, match="cannot read: No such file"):
        read_history(path)
    with pytest.raises(TunerError, match="cannot write: Is a directory"):
        add(made, tmp_path)
    with pytest.raises(TunerError, match="cannot write: No such file"):
        add(made, tmp_path / "missing" / "history.jsonl")
    with pytest.raises(TunerError, match="run run-1 has no rows yet"):
        add(replace(made, rows=()), path)
    assert not path.exists()
    path.touch()
    with pytest.raises(TunerError, match="the history has no runs"):
        run_named(read_history(path), "last")
