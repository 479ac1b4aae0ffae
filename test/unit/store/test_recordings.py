"""What is recorded is what a replay reads."""

import json
import math
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store.samples import KEY, trial

from iree_tuner.device.outcome import Readings
from iree_tuner.search.replay.recorded import read_recording
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import SPACE
from iree_tuner.store.recordings import Recording, to_recording, workload_of
from iree_tuner.store.trial import Trial
from iree_tuner.targets.machine import Machine

JOINT = replace(KEY, space_label="TileAndFuse+VectorDistribute")
MACHINE = Machine("cpu", "a CPU", 2, 64, 32, 48 << 10, 1 << 20, 32 << 20)

times = st.floats(0.001, 1e6)
knobs = st.fixed_dictionaries({"vector_0": st.integers(0, 64), "distribution_1": st.integers(0, 4096)})
candidates = st.lists(
    st.tuples(
        knobs, st.integers(0, 1), st.sampled_from(["ok", "too_slow", "compile_error", "wrong_result"]),
        st.lists(times, min_size=1, max_size=4), times,
    ),
    min_size=1, max_size=12, unique_by=lambda each: (tuple(each[0].values()), each[1]),
)  # fmt: skip


def read(recording):
    """Written to a file and read from there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "name.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in to_recording(recording)))
        return read_recording(path)


def tried(values, outcome, samples, baseline_us, at):
    samples = () if outcome == "compile_error" else tuple(samples)
    return Trial(KEY.workload.key, Assignment.of(values), outcome, samples, baseline_us=baseline_us, at=at)


@settings(deadline=None, max_examples=60)
@given(candidates, st.booleans())
def test_members_and_times_come_back(drawn, joint):
    key = JOINT if joint else KEY
    drawn = drawn if joint else [each for each in drawn if each[1] == 0]
    trials = tuple(
        tried(values | ({SPACE: place} if joint else {}), outcome, samples, baseline_us, float(at))
        for at, (values, place, outcome, samples, baseline_us) in enumerate(drawn)
    )
    ran = {each.assignment: each for each in trials if each.outcome in ("ok", "too_slow")}
    if not ran:
        return
    found = read(Recording(key, trials, machine=MACHINE))
    assert found.workload == KEY.workload
    assert found.encoder.machine == MACHINE
    assert found.name == "name"
    assert set(found.members) == {each.assignment for each in trials}
    assert found.times_us == {member: each.time_us for member, each in ran.items()}
    assert found.scores == {
        each.assignment: each.score if each.assignment in ran else math.inf for each in trials
    }
    assert found.default_us == trials[-1].baseline_us


def test_a_second_look_comes_back():
    trials = tuple(trial(x) for x in range(6))
    again = {None: 110.0, Assignment.of({"x": 0}): 60.0, Assignment.of({"x": 1}): 58.0}
    found = read(Recording(KEY, trials, again, MACHINE))
    factor = statistics.median([60.0 / 50.0, 58.0 / 51.0])
    assert found.default_us == 110.0
    assert found.times_us[Assignment.of({"x": 0})] == 60.0
    assert found.times_us[Assignment.of({"x": 1})] == 58.0
    assert found.times_us[Assignment.of({"x": 5})] == pytest.approx(55.0 * factor)
    assert found.best_us == 58.0


def test_joint_labels_are_written_by_pipeline():
    trials = tuple(replace(trial(x), assignment=Assignment.of({"x": x, SPACE: x % 2})) for x in range(4))
    start = Assignment.of({"x": 7, SPACE: 1})
    header, *lines = to_recording(Recording(JOINT, trials, machine=MACHINE, start=start))
    assert header["start"] == {"pipeline": "VectorDistribute", "knobs": {"x": 7}}
    assert [(line["pipeline"], line["knobs"]) for line in lines[1:]] == [
        (("TileAndFuse", "VectorDistribute")[x % 2], {"x": x}) for x in range(4)
    ]
    found = read(Recording(JOINT, trials, machine=MACHINE, start=start))
    assert set(found.members) == {each.assignment for each in trials}
    assert found.start == start


def test_the_header_says_what_was_measured_and_how():
    readings = [Readings(clock_mhz=3000.0 + x, load=0.5 * x) for x in range(3)]
    trials = tuple(trial(x, at=10.0 + x, readings=each) for x, each in enumerate(readings))
    header, default, *lines = to_recording(Recording(KEY, trials, machine=MACHINE))
    assert header["machine"]["vector_bytes"] == 64
    assert header["conditions"] == {
        "from": 10.0, "to": 12.0, "clock_mhz": [3000.0, 3002.0], "temperature_c": None, "load": [0.0, 1.0],
        "stolen": None, "default_us": [100.0, 100.0],
    }  # fmt: skip
    assert (header["m"], header["n"], header["k"]) == (4, 5, 6)
    assert default["pipeline"] is None
    assert [line["default_us"] for line in lines] == [100.0] * 3
    assert workload_of(header) == KEY.workload
    assert "start" not in header


def test_nothing_is_left_out_without_trials():
    (header,) = to_recording(Recording(KEY, ()))
    assert "conditions" not in header
    assert "machine" not in header
