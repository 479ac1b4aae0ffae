"""Reading the HAL's profile of the host, and dividing time that overlaps."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iree_tuner.profiling.hal_events import (
    BETWEEN,
    EventRecording,
    EventSpan,
    divide,
    invocations_of,
    read_recording,
    times_of,
)

SPANS = st.lists(
    st.builds(
        lambda name, start, length: EventSpan(name, start, start + length),
        st.sampled_from("abc"),
        st.integers(0, 50),
        st.integers(0, 30),
    ),
    max_size=12,
)


def event(op, start, end, *, key=None, buffer=1, index=0, valid=True):
    return json.dumps(
        {
            "record_type": "host_execution_event",
            "op": op,
            "key": key,
            "command_buffer_id": buffer,
            "command_index": index,
            "start_host_time_ns": start,
            "end_host_time_ns": end,
            "valid": valid,
        }
    )


def operation(op, index, buffer=1):
    return json.dumps(
        {"record_type": "command_operation", "op": op, "command_buffer_id": buffer, "command_index": index}
    )


def test_dispatches_that_overlap_share_the_time() -> None:
    spans = [EventSpan("long", 0, 100), EventSpan("short", 40, 60)]
    assert divide(spans) == {"long": 90.0, "short": 10.0}


@given(SPANS)
def test_parts_add_up_to_the_time_in_which_anything_runs(spans) -> None:
    busy = {instant for span in spans for instant in range(span.start_ns, span.end_ns)}
    assert sum(divide(spans).values()) == pytest.approx(len(busy))


@given(SPANS)
def test_nothing_takes_longer_than_its_own_spans(spans) -> None:
    found = divide(spans)
    for name, nanoseconds in found.items():
        assert nanoseconds <= sum(s.end_ns - s.start_ns for s in spans if s.name == name) + 1e-6


def test_gaps_of_an_execution_are_transfers_where_there_are_some() -> None:
    lines = [
        operation("dispatch", 0),
        operation("barrier", 1),
        operation("copy", 2),
        operation("dispatch", 3),
        operation("fill", 5),
        event("dispatch", 100, 300, key="first", index=0),
        event("dispatch", 500, 600, key="second", index=3),
        event("execute", 90, 1000, index=0xFFFFFFFF),
        event("alloca", 10, 20, buffer=0, index=0xFFFFFFFF),
    ]
    times = times_of(read_recording(lines))
    assert times.us == pytest.approx(
        {"first": 0.2, "second": 0.1, "(alloca)": 0.01, BETWEEN: 0.01, "(copy)": 0.2, "(fill)": 0.4}
    )
    assert times.calls["first"] == 1


def test_events_that_are_not_valid_do_not_count() -> None:
    lines = [event("dispatch", 0, 10, key="a"), event("dispatch", 10, 20, key="a", valid=False)]
    assert len(read_recording(lines).work) == 1


def test_lost_events_are_told() -> None:
    diagnostic = json.dumps({"record_type": "diagnostic", "dropped_records": 7})
    assert read_recording([diagnostic]).lost == 7


def test_text_that_is_no_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        read_recording(["no json"])


def recording_of(invocations):
    """Invocations one after the other, each an execution with dispatches of the given names and lengths."""
    work, executions, now = [], [], 0
    for number, dispatches in enumerate(invocations):
        start = now
        work.append(EventSpan("(alloca)", now, now + 5))
        for index, (name, length) in enumerate(dispatches):
            work.append(EventSpan(name, now + 10, now + 10 + length, 1, index))
            now += 10 + length
        executions.append(EventSpan("(execute)", start + 5, now + 5, 1))
        now += 100 + number
    return EventRecording(tuple(work), tuple(executions), {})


def test_invocations_are_told_apart_by_what_they_call() -> None:
    found = invocations_of(recording_of([[("a", 100), ("b", 50)], [("a", 300), ("b", 70)]]), 2)
    assert [each.us["a"] for each in found] == pytest.approx([0.1, 0.3])
    assert [each.us["b"] for each in found] == pytest.approx([0.05, 0.07])
    assert all(each.calls["a"] == 1 for each in found)


def test_an_invocation_spans_from_its_first_submission_to_its_end() -> None:
    recording = recording_of([[("a", 100)], [("a", 300)]])
    first, second = recording.executions
    submitted = (first.start_ns - 5, second.start_ns - 40)
    spans = [each.span_us for each in invocations_of(replace(recording, submitted_ns=submitted), 2)]
    assert spans == pytest.approx([(first.end_ns - submitted[0]) / 1e3, (second.end_ns - submitted[1]) / 1e3])


def test_invocations_that_differ_are_one_mean() -> None:
    recording = recording_of([[("a", 100), ("b", 50)], [("a", 300), ("a", 100)]])
    (found,) = invocations_of(recording, 2)
    assert found.us["a"] == pytest.approx(0.25)
    assert found.calls["a"] == pytest.approx(1.5)
    assert found.calls["b"] == pytest.approx(0.5)


@given(st.integers(1, 5), st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 50)), max_size=4))
def test_no_time_is_lost_between_invocations(count, dispatches) -> None:
    recording = recording_of([dispatches] * count)
    found = invocations_of(recording, count)
    parts = sum(sum(each.us.values()) for each in found) * (count / len(found))
    assert parts == pytest.approx(sum(times_of(recording).us.values()))


def test_an_invocation_without_dispatches_is_none_of_their_time() -> None:
    recording = replace(recording_of([[], []]), work=())
    (found,) = invocations_of(recording, 2)
    assert all(name.startswith("(") for name in found.us)
