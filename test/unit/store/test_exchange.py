"""Export, import, merge, recordings, T4 and pruning."""

import io
import json
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from amounts import amount
from hypothesis import given, settings
from hypothesis import strategies as st
from store.samples import COMPARISON, KEY, KEYS, SETTING, trial, trials

from iree_tuner.store import Store, StoreError, write_rescue
from iree_tuner.store.exchange import INVALIDITY, Added, import_file, load, merge, records, to_t4, write_lines
from iree_tuner.store.queries import Unwanted, all_studies, failures, key_of, prune, summaries, unwanted
from iree_tuner.store.recordings import Recording, to_recording
from iree_tuner.store.rows import OUTCOMES
from iree_tuner.store.trial import PROTOCOL

NOTHING = Added()

batches = st.lists(st.tuples(st.sampled_from(KEYS), st.lists(trials, max_size=3)), max_size=3)


def content(store):
    """All that a database says, whatever its numbers are."""
    return sorted(json.dumps(each, sort_keys=True) for each in records(store, all_studies(store)))


def fill(store, batch):
    run = store.start_run("program", {"effort": "quick"})
    for key, some in batch:
        store.add(store.study(key), run, some)
        store.add_verdict(store.study(key), run, some[0].assignment if some else None, COMPARISON)
    store.end_run(run, "done")


@settings(max_examples=amount(8, 20), deadline=None)
@given(batches, batches)
def test_merge_in_either_order_and_twice(first, second):
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / part for part in ("a.db", "b.db", "ab.db", "ba.db")]
        a, b, ab, ba = (Store.open(path) for path in paths)
        fill(a, first)
        fill(b, second)
        for target, sources in ((ab, (a, b)), (ba, (b, a))):
            for source in sources:
                merge(target, source)
        assert content(ab) == content(ba)
        assert Counter(content(ab)) == Counter(set(content(a)) | set(content(b)))
        assert merge(ab, a) == merge(ab, ba) == NOTHING
        for key in KEYS:
            assert ab.trials(ab.study(key)) == ba.trials(ba.study(key))
        for each in (a, b, ab, ba):
            each.close()


@settings(max_examples=amount(8, 20), deadline=None)
@given(batches)
def test_export_and_import_is_identity(batch):
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "trials.jsonl"
        with Store.open(Path(name) / "a.db") as a, Store.open(Path(name) / "b.db") as b:
            fill(a, batch)
            with file.open("w") as stream:
                write_lines(stream, records(a, all_studies(a)))
            import_file(b, file)
            assert content(a) == content(b)
            assert import_file(b, file) == NOTHING


def test_merge_learns_how_a_run_ended(store, other):
    run = other.start_run("program", {})
    other.add(other.study(KEY), run, [trial(1)])
    merge(store, other)
    other.add(other.study(KEY), run, [trial(2)])
    other.end_run(run, "interrupted")
    assert merge(store, other) == Added(trials=1)
    assert [tuple(row) for row in store.read("SELECT state FROM runs")] == [("interrupted",)]


def test_merge_learns_that_a_run_went_on(store, other):
    """Runs of earlier releases went on with kernels; databases that are merged know when one ended last."""
    run = store.start_run("a.mlir", {})
    store.add(store.study(KEY), run, [trial(1)])
    store.end_run(run, "done")
    merge(other, store)
    before = other.read("SELECT ended FROM runs")[0]["ended"]
    with store.write() as connection:
        connection.execute("UPDATE runs SET ended = NULL, state = 'running'")
    merge(other, store)
    assert other.read("SELECT ended, state FROM runs")[0]["ended"] == before
    store.end_run(run, "interrupted")
    merge(other, store)
    (row,) = other.read("SELECT ended, state FROM runs")
    assert row["ended"] > before
    assert row["state"] == "interrupted"


def test_rescued_trials_are_imported_once(store, tmp_path):
    file = tmp_path / "rescue.jsonl"
    write_rescue(file, [(KEY, trial(1)), (KEYS[1], trial(2)), (KEY, trial(3, "run_crash", reproducer="x"))])
    assert import_file(store, file) == Added(studies=2, runs=1, trials=3)
    assert import_file(store, file) == NOTHING
    assert set(store.trials(store.study(KEY)).values()) == {trial(1), trial(3, "run_crash", reproducer="x")}


def test_a_rescue_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(StoreError, match="cannot write"):
        write_rescue(tmp_path / "missing" / "rescue.jsonl", [])


def exported(store):
    stream = io.StringIO()
    write_lines(stream, records(store, all_studies(store)))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize(
    ("damage", "line", "message"),
    [
        (lambda lines: [], 1, "the file is empty"),
        (lambda lines: ["[]"], 1, "not a JSON object"),
        (lambda lines: ['{"other": 1}'], 1, "neither trials of iree-tuner nor a recording"),
        (lambda lines: ['{"iree_tuner_trials": 99}'], 1, "neither trials"),
        (lambda lines: [*lines[:3], lines[3][:40]], 4, "not JSON"),
        (lambda lines: [lines[0], *lines[2:]], 3, "no earlier line has the study or the run of this line"),
        (lambda lines: [*lines[:3], lines[3].replace('"ok"', '"fine"')], 4, "unknown outcome"),
        (lambda lines: [*lines[:3], lines[3].replace('"baseline_us": 100.0', '"b": 1')], 4, "baseline_us is"),
        (lambda lines: [*lines[:3], lines[3].replace('"x": 1', '"x": "1"')], 4, "not an integer"),
        (lambda lines: [*lines[:3], '{"kind": "other"}'], 4, "unknown kind"),
        (lambda lines: [*lines[:3], '{"kind": "run", "run": 3, "ended": null}'], 4, "missing|not a text"),
        (lambda lines: [lines[0], lines[1].replace('"flags"', '"flugs"')], 2, "required field `flags`"),
    ],
)  # fmt: skip
def test_a_damaged_file_changes_nothing(store, other, tmp_path, damage, line, message):
    other.add(other.study(KEY), other.start_run("program", {}), [trial(1)])
    file = tmp_path / "damaged.jsonl"
    file.write_text("\n".join(damage(exported(other))))
    with pytest.raises(StoreError, match=message) as told:
        import_file(store, file)
    assert told.value.location == f"{file}:{line}"
    assert content(store) == []


def test_bytes_that_are_no_text_are_told(store, tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StoreError, match="not a text file"):
        import_file(store, tmp_path / "bytes")


RECORDING = [
    {
        "recording": 1, "device": "A GPU", "driver": "580", "compiler": "3.13.0", "target": "cuda:sm_80",
        "op": "matmul", "m": 128, "n": 256, "k": 512, "lhs": "f16", "rhs": "f16", "result": "f32",
        "indexing_maps": ["(m,n,k)->(m,k)", "(m,n,k)->(k,n)", "(m,n,k)->(m,n)"], "space_size": 10,
        "repeats_in_one_call": 6,
    },
    {"pipeline": "A", "knobs": {"x": 1}, "outcome": "ok", "time_us": 9.0, "min_us": 8.0, "samples": 10,
     "compile_s": 1},
    {"pipeline": None, "knobs": None, "outcome": "ok", "time_us": 20.0, "min_us": 16.0, "samples": 7,
     "compile_s": 1},
    {"pipeline": "B", "knobs": {"y": 2}, "outcome": "compile_timeout", "compile_s": None},
]  # fmt: skip


def test_a_recording_of_others_is_imported(store, tmp_path):
    file = tmp_path / "recording.jsonl"
    file.write_text("\n".join(map(json.dumps, RECORDING)))
    assert import_file(store, file) == Added(studies=2, runs=1, trials=2)
    assert import_file(store, file) == NOTHING
    a, b = sorted(summaries(store), key=lambda each: each.key.space_label)
    workload = a.key.workload
    assert workload.loops == (128, 256, 512)
    assert workload.iterators == ("parallel", "parallel", "reduction")
    assert str(workload.maps[1]) == "(d0, d1, d2) -> (d2, d1)"
    assert workload.sizes("k") == (512,)
    assert a.best.time_us == 8.0
    assert a.best.score == 0.5, "the default may stand anywhere in the file"
    assert b.outcomes == {"compile_timeout": 1}
    assert a.key.setting.protocol != PROTOCOL, "no run takes such times for its own"


@pytest.mark.parametrize("name", ["device", "indexing_maps", "m", "space_size"])
def test_a_recording_without_a_fact_is_told(store, tmp_path, name):
    file = tmp_path / "recording.jsonl"
    header = {key: value for key, value in RECORDING[0].items() if key != name}
    file.write_text("\n".join(map(json.dumps, [header, *RECORDING[1:]])))
    with pytest.raises(StoreError, match=f"{name} is missing"):
        import_file(store, file)


def test_own_recordings_come_back_to_their_study(store, other, tmp_path):
    kept = [trial(1), trial(2), trial(3, "run_error")]
    store.add(store.study(KEY), store.start_run("program", {}), kept)
    lines = list(to_recording(Recording(KEY, tuple(store.trials(store.study(KEY)).values()))))
    assert lines[0].keys() >= RECORDING[0].keys() - {"repeats_in_one_call"}
    assert lines[1]["pipeline"] is None
    assert lines[1]["min_us"] == 100.0
    assert all(line.keys() >= {"pipeline", "knobs", "outcome", "compile_s"} for line in lines[1:])
    file = tmp_path / "recording.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    import_file(other, file)
    assert key_of(other, *all_studies(other)) == KEY
    found = other.trials(other.study(KEY)).values()
    assert {(each.assignment, each.outcome, each.time_us, each.score) for each in found} == {
        (each.assignment, each.outcome, each.time_us, each.score) for each in kept
    }


T4_ITEM = {
    "type": "object",
    "required": ["configuration", "times", "invalidity", "correctness"],
    "properties": {
        "timestamp": {"type": "string"},
        "configuration": {"type": "object"},
        "objectives": {"type": "array"},
        "times": {
            "type": "object",
            "properties": {
                "runtimes": {"type": "array"},
                **{
                    name: {"type": "number"}
                    for name in ("compilation_time", "framework", "search_algorithm", "validation")
                },
            },
        },
        "invalidity": {"enum": ["timeout", "compile", "runtime", "correctness", "constraints", "correct"]},
        "correctness": {"type": "number"},
        "measurements": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "value": {"type": ["number", "string", "array"]},
                    "unit": {"type": "string"},
                },
            },
        },
    },
}
T4 = {
    "type": "object",
    "required": ["schema_version", "results"],
    "properties": {
        "schema_version": {"type": "string", "pattern": "^[0-9]+.[0-9]+.[0-9]+$"},
        "results": {"type": "array", "items": T4_ITEM},
    },
}
"""Facts of kernel_tuner/schema/T4/1.0.0/results-schema.json, and that both members must be there."""


def test_t4_is_valid():
    jsonschema = pytest.importorskip("jsonschema")
    assert set(INVALIDITY) == set(OUTCOMES)
    document = json.loads(json.dumps(to_t4([trial(1, outcome) for outcome in OUTCOMES]), allow_nan=False))
    jsonschema.validate(document, T4)
    by_outcome = dict(zip(OUTCOMES, document["results"], strict=True))
    assert by_outcome["ok"]["times"]["runtimes"] == [0.051, 0.052]
    assert by_outcome["ok"]["measurements"][0] == {"name": "time", "value": 0.051, "unit": "ms"}
    assert [name for name, each in by_outcome.items() if each["correctness"]] == ["ok", "too_slow"]
    broken = {**document, "results": [{**document["results"][0], "invalidity": "fine"}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, T4)


def test_failures_are_grouped_by_cause(store):
    run = store.start_run("program", {})
    first = [trial(n, "compile_error", at=float(n), message=f"bad tile {n}") for n in range(5)]
    store.add(store.study(KEY), run, [*first, trial(0), trial(9, "run_crash", message="abort")])
    again = trial(1, "compile_error", at=9.0, message="bad tile 1", reproducer="folder")
    store.add(store.study(KEYS[2]), run, [again])
    store.add(store.study(KEY), run, [trial(4, at=10.0)])
    worst, other = failures(store)
    assert (worst.outcome, worst.cause, worst.count, worst.studies) == ("compile_error", "bad tile N", 4, 2)
    assert (worst.message, worst.reproducer) == ("bad tile 1", "folder")
    assert (other.outcome, other.count) == ("run_crash", 1)


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        (Unwanted(outcome="run_crash"), 5),
        (Unwanted(older_than_s=1e6), 3),
        (Unwanted(compiler="3.13.0"), 2),
        (Unwanted(compiler="3.13.0", outcome="run_crash"), 5),
        (Unwanted(outcome="too_slow"), 6),
        (Unwanted(studies=(1,)), 2),
        (Unwanted(studies=()), 6),
        (Unwanted(), 0),
    ],
)
def test_prune_deletes_what_fits(store, choice, left):
    later = 4e9
    newer = replace(KEY, setting=replace(SETTING, compiler="4.0"))
    fill(store, [(KEY, [trial(1), trial(2), trial(3, at=later), trial(4, "run_crash", at=later)])])
    fill(store, [(newer, [trial(1), trial(2, at=later)])])
    found = unwanted(store, choice)
    assert len(store.read("SELECT id FROM trials")) == 6, "only looking deletes nothing"
    prune(store, found)
    assert len(store.read("SELECT id FROM trials")) == left
    with_trials = store.read("SELECT DISTINCT study_id FROM trials")
    assert len(all_studies(store)) == len(with_trials)
    assert len(store.read("SELECT id FROM runs")) == len(with_trials)
    assert store.read("PRAGMA foreign_key_check") == []


def test_failures_of_kernels_are_their_own(store):
    run = store.start_run("a.mlir", {})
    labels = ("DoubleTilingExpert", "kernel:mine", "kernel:yours")
    for number, label in enumerate(labels):
        study = store.study(replace(KEY, space=label, space_label=label))
        store.add(study, run, [trial(each, "run_error", message="no") for each in range(3 - number)])
    found = [(each.kernel, each.cause, each.count, each.named_cause) for each in failures(store)]
    assert found == [("", "no", 3, "no"), ("mine", "no", 2, "mine: no"), ("yours", "no", 1, "yours: no")]


def test_prune_leaves_what_a_run_uses(store):
    study, run = store.study(KEY), store.start_run("program", {})
    store.add(study, run, [trial(1)])
    prune(store, unwanted(store, Unwanted()))
    store.add(study, run, [trial(2)])
    assert [each["x"] for each in store.trials(study)] == [2]


def test_load_takes_all_or_nothing(store, other):
    other.add(other.study(KEY), other.start_run("program", {}), [trial(1)])
    with pytest.raises(ValueError, match="unknown kind"):
        load(store, [*records(other, all_studies(other)), {"kind": "other"}])
    assert content(store) == []
