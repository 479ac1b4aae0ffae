"""A recording as a landscape: what is read, what is heard at first sight, and what is refused."""

import gzip
import json
import math
import statistics

import numpy as np
import pytest
from search.replay.recordings import DEFAULT, HEADER, INPUTS, NAMES, lines, member, small, stump, write

from iree_tuner.errors import TunerError
from iree_tuner.search.replay.recorded import find_recordings, read_recording
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import SPACE


@pytest.fixture(scope="module", params=NAMES)
def space(request):
    return small(request.param)


def raw(name):
    data = (INPUTS / name).read_bytes()
    return [
        json.loads(line) for line in (gzip.decompress(data) if name.endswith(".gz") else data).splitlines()
    ]


def of(x):
    return Assignment.of({"x": x})


def test_every_line_is_a_member(space):
    count = next(len(raw(name)) for name in NAMES if name.startswith(f"{space.name}."))
    assert len(space.members) == len(space.scores) == count - 2
    assert set(space.times_us) == {each for each in space.members if math.isfinite(space.scores[each])}
    assert space.best_us == min(space.times_us.values())


def test_shuffled_is_a_seeded_permutation(space):
    order = list(space.shuffled(3))
    assert set(order) == set(space.members)
    assert len(order) == len(space.members)
    assert order == list(space.shuffled(3))
    assert order != list(space.shuffled(4))


def test_rows_are_finite_and_have_a_column_for_each_feature(space):
    rows = space.encode(space.members)
    assert rows.shape == (len(space.members), len(space.features))
    assert np.isfinite(rows).all()
    assert (space.encode(space.members[:1]) == rows[:1]).all(), "a row does not depend on those beside it"


def test_neighbors_are_eight_others(space):
    for here in space.members[:5]:
        around = space.neighbors(here)
        assert len(around) == len(set(around)) == 8
        assert here not in around
        assert set(around) <= set(space.members)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_depends_on_the_order_of_the_file(name, tmp_path):
    first = small(name)
    head, *rest = raw(name)
    second = read_recording(write(tmp_path / "turned.jsonl", [head, *reversed(rest)]))
    assert second.members == first.members
    assert second.features == first.features
    assert list(second.shuffled(7)) == list(first.shuffled(7))
    assert second.neighbors(first.members[0]) == first.neighbors(first.members[0])
    assert second.times_us == first.times_us


def test_compressed_or_not(tmp_path):
    plain = write(tmp_path / "plain.jsonl", lines())
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_recording(plain).times_us == read_recording(packed).times_us
    assert (read_recording(plain).name, read_recording(packed).name) == ("plain", "packed")


def test_scores_are_relative_to_the_default_of_the_same_round(tmp_path):
    records = [HEADER, DEFAULT, member(1, 8.0), member(2, 8.0, default_us=32.0), member(3)]
    found = read_recording(write(tmp_path / "a.jsonl", records))
    assert found.scores == {of(1): 0.5, of(2): 0.25, of(3): math.inf}
    assert found.times_us == {of(1): 8.0, of(2): 8.0}
    assert found.default_us == 16.0


def test_too_slow_ran_and_wrong_results_did_not(tmp_path):
    records = [HEADER, DEFAULT, member(1, 8.0), member(2, 90.0, outcome="too_slow")]
    records.append(member(3, 1.0, outcome="wrong_result"))
    found = read_recording(write(tmp_path / "a.jsonl", records))
    assert set(found.times_us) == {of(1), of(2)}
    assert found.scores[of(3)] == math.inf


def test_a_second_look_counts_and_scales_the_first(tmp_path):
    records = [HEADER, DEFAULT | {"again_us": 20.0}, member(1, 10.0, again_us=12.0)]
    records += [member(2, 10.0, again_us=14.0), member(3, 10.0, again_us=11.0), member(4, 30.0)]
    found = read_recording(write(tmp_path / "a.jsonl", records))
    assert found.times_us == {of(1): 12.0, of(2): 14.0, of(3): 11.0, of(4): pytest.approx(36.0)}
    assert found.scores[of(2)] == 10.0 / 16.0, "a strategy hears the first look"
    assert found.default_us == 20.0


def test_the_second_look_of_a_real_recording():
    found = small("tall_cpu.jsonl")
    ran = [line for line in raw("tall_cpu.jsonl")[2:] if "min_us" in line]
    again = [line for line in ran if "again_us" in line]
    factor = statistics.median(line["again_us"] / line["min_us"] for line in again)
    assert len(found.times_us) == len(ran) > len(again) > 0
    for line in ran:
        expected = line.get("again_us") or line["min_us"] * factor
        assert found.times_us[Assignment.of(line["knobs"])] == pytest.approx(expected)


def test_pipelines_are_a_knob(tmp_path):
    records = [*lines(2), member(1, 7.0, "B")]
    found = read_recording(write(tmp_path / "a.jsonl", records))
    assert [(each["x"], each[SPACE]) for each in found.members] == [(0, 0), (1, 0), (1, 1)]


def test_neighbors_count_steps_of_a_factor_of_two(tmp_path):
    records = [HEADER, DEFAULT, *(member(2**n - 1, 1.0) for n in (0, 1, 3, 6))]
    found = read_recording(write(tmp_path / "a.jsonl", records))
    assert [each["x"] for each in found.neighbors(of(7))] == [1, 0, 63]
    assert [each["x"] for each in found.neighbors(of(40))] == [63, 7, 1, 0], "not a member itself"


def test_the_prior_is_asked_with_the_columns_that_it_knows():
    found = small("tall_cpu.jsonl")
    rows = found.encode(found.members)
    assert found.guess(rows) is None
    feature = found.features[-1]
    limit = float(np.median(rows[:, -1]))
    found.prior = stump((feature, found.features[0]), feature, limit, 1.0, 2.0)
    assert found.guess(rows).tolist() == [1.0 if value <= np.float32(limit) else 2.0 for value in
                                          rows[:, -1].astype(np.float32)]  # fmt: skip


def test_the_machine_is_the_one_that_recorded():
    machine = small("tall_cpu.jsonl").encoder.machine
    assert (machine.kind, machine.units, machine.vector_bytes) == ("cpu", 2, 64)
    assert small("flat_h200.jsonl").encoder.machine.units == 132


def test_the_start_is_read():
    assert small("tall_cpu.jsonl").start["vector_1"] == 16
    assert small("flat_h200.jsonl").start is None


@pytest.mark.parametrize(
    "records",
    [
        [],
        [[]],
        [{"other": 1}],
        lines()[:1],
        [HEADER, *lines()[2:]],
        [HEADER, DEFAULT],
        [HEADER, DEFAULT, member(1)],
        [HEADER, DEFAULT, 7],
        [HEADER, DEFAULT, member(1, "fast")],
        [HEADER, DEFAULT, member(1, 0.0)],
        [HEADER, DEFAULT, member(1, -1.0)],
        [HEADER, DEFAULT, member(1, math.nan)],
        [HEADER, DEFAULT | {"min_us": 0}, member(1, 1.0)],
        [HEADER, DEFAULT | {"min_us": None}, member(1, 1.0)],
        [HEADER, DEFAULT, member(1, 1.0) | {"knobs": {"x": "wide"}}],
        [HEADER, DEFAULT, member(1, 1.0) | {"knobs": {"x": 1.5}}],
        [HEADER, DEFAULT, member(1, 1.0) | {"knobs": {"x": math.inf}}],
        [HEADER, DEFAULT, member(1, 1.0) | {"knobs": [1]}],
        [HEADER, DEFAULT, member(1, 1.0) | {"pipeline": 3}],
        [HEADER, DEFAULT, member(1, 1.0) | {"outcome": ["ok"]}],
        [HEADER | {"indexing_maps": []}, *lines()[1:]],
        [HEADER | {"indexing_maps": ["(m,n,k)->(q)"] * 3}, *lines()[1:]],
        [HEADER | {"m": "many"}, *lines()[1:]],
        [HEADER | {"target": 7}, *lines()[1:]],
        [HEADER | {"device": []}, *lines()[1:]],
        [HEADER | {"machine": 7}, *lines()[1:]],
        [HEADER | {"machine": {"kind": "cpu", "units": "two"}}, *lines()[1:]],
        [HEADER | {"machine": {"kind": "abacus"}}, *lines()[1:]],
        [HEADER | {"study": {}}, *lines()[1:]],
        [HEADER | {"start": 7}, *lines()[1:]],
        [HEADER | {"recording": 99}, *lines()[1:]],
    ],
)
def test_what_is_no_recording_is_told(tmp_path, records):
    path = write(tmp_path / "damaged.jsonl", records)
    with pytest.raises(TunerError, match=r"not a recording: .+") as told:
        read_recording(path)
    assert told.value.location == str(path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("cut", [0, 5, 40, -9, -4])
def test_a_damaged_archive_is_told(tmp_path, cut):
    whole = gzip.compress(write(tmp_path / "a.jsonl", lines(20)).read_bytes())
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(whole[:cut])
    with pytest.raises(TunerError):
        read_recording(path)
    path.write_bytes(whole[:20] + bytes(8) + whole[28:])
    with pytest.raises(TunerError):
        read_recording(path)


def test_what_cannot_be_read_is_told(tmp_path):
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "bytes.jsonl", tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(TunerError):
            read_recording(path)


def test_recordings_are_found_in_folders(tmp_path):
    (tmp_path / "deeper").mkdir()
    paths = [write(tmp_path / name, lines()) for name in ("b.jsonl", "a.jsonl", "deeper/c.jsonl")]
    (tmp_path / "notes.md").write_text("text")
    assert find_recordings([tmp_path]) == sorted(paths)
    assert find_recordings([paths[0], tmp_path / "deeper"]) == [paths[0], paths[2]]
    (tmp_path / "empty").mkdir()
    with pytest.raises(TunerError, match="no recordings"):
        find_recordings([tmp_path / "empty"])
