"""IREE's HAL profiling of the host, as the time of each dispatch in each invocation.

An event of a dispatch is a span of the wall clock: from the begin of its first workgroup to the end of its
last, for any number of threads (`tile_duration_sum_ns` is the sum over threads, not wall time). Dispatches
without a barrier between them overlap. An instant in which several run is divided among them, so that times
add up to the time in which anything ran. The rest of a command buffer's time is waiting at barriers and for
threads, and fills and copies, which have no events of their own.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

BETWEEN = "(between dispatches)"
_TRANSFERS = ("fill", "copy", "update")
_NO_INDEX = 0xFFFFFFFF


@dataclass(frozen=True)
class EventSpan:
    """A name's turn, in nanoseconds of the host's clock."""

    name: str
    start_ns: int
    end_ns: int
    command_buffer: int = 0
    command_index: int = _NO_INDEX


@dataclass(frozen=True)
class EventRecording:
    """A profile as it was read."""

    # dispatches, and operations of the queue in parentheses, in the order of their begin
    work: tuple[EventSpan, ...]
    executions: tuple[EventSpan, ...]  # whole executions of command buffers, in the order of their begin
    transfers: Mapping[int, Sequence[tuple[int, str]]]  # transfers by command buffer: index and kind
    lost: int = 0  # events that did not fit the runtime's buffer
    submitted_ns: tuple[int, ...] = ()  # when operations were given to the queue


@dataclass(frozen=True)
class Times:
    """One invocation."""

    us: Mapping[str, float]  # microseconds by name. Names of other work than dispatches are in parentheses
    calls: Mapping[str, float]  # how often, by name
    # from its first submission to the queue to the end of its last work; 0 where invocations cannot be
    # distinguished
    span_us: float = 0.0


def read_recording(lines: Iterable[str]) -> EventRecording:
    """From the lines of `iree-profile export --format=ireeperf-jsonl`. Raises ValueError for other text."""
    work: list[EventSpan] = []
    executions: list[EventSpan] = []
    transfers: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    submitted: list[int] = []
    lost = 0
    for line in lines:
        record: dict[str, Any] = json.loads(line)
        kind = record.get("record_type")
        if kind == "host_execution_event" and record["valid"]:
            (executions if record["op"] == "execute" else work).append(_span(record))
        elif kind == "queue_event":
            submitted.append(record["host_time_ns"])
        elif kind == "command_operation" and record["op"] in _TRANSFERS:
            transfers[record["command_buffer_id"]].append((record["command_index"], record["op"]))
        elif kind == "diagnostic":
            lost += int(record.get("dropped_records", 0))
    for spans in (work, executions):
        spans.sort(key=lambda span: span.start_ns)
    return EventRecording(tuple(work), tuple(executions), dict(transfers), lost, tuple(sorted(submitted)))


def invocations_of(recording: EventRecording, count: int) -> list[Times]:
    """The times of each of `count` invocations; one mean of all if they cannot be distinguished.

    They can be if all of them call the same dispatches equally often.
    """
    dispatches = [span for span in recording.work if not span.name.startswith("(")]
    size, left = divmod(len(dispatches), count)
    groups = [dispatches[i : i + size] for i in range(0, len(dispatches), size or 1)]
    kinds = [Counter(span.name for span in group) for group in groups]
    if left or not size or any(each != kinds[0] for each in kinds):
        whole = times_of(recording)
        us = {name: us / count for name, us in whole.us.items()}
        return [Times(us, {name: calls / count for name, calls in whole.calls.items()})]
    starts = [_begin(recording, before[-1], after[0]) for before, after in pairwise(groups)]

    def between(low: float, high: float) -> EventRecording:
        work, executions = (
            tuple(span for span in spans if low <= span.start_ns < high)
            for spans in (recording.work, recording.executions)
        )
        submitted_ns = tuple(each for each in recording.submitted_ns if low <= each < high)
        return replace(recording, work=work, executions=executions, submitted_ns=submitted_ns)

    bounds = [float("-inf"), *starts, float("inf")]
    return [times_of(between(*ends)) for ends in pairwise(bounds)]


def times_of(recording: EventRecording) -> Times:
    """Divide the time among dispatches, transfers, and what is between them."""
    us: defaultdict[str, float] = defaultdict(float)
    for name, nanoseconds in divide(recording.work).items():
        us[name] += nanoseconds / 1e3
    calls = Counter(span.name for span in recording.work)
    by_buffer: defaultdict[int, list[EventSpan]] = defaultdict(list)
    for span in recording.work:
        by_buffer[span.command_buffer].append(span)
    starts = {buffer: [span.start_ns for span in spans] for buffer, spans in by_buffer.items()}
    for execution in recording.executions:
        own = starts.get(execution.command_buffer, [])
        low, high = bisect_left(own, execution.start_ns), bisect_right(own, execution.end_ns)
        inside = by_buffer[execution.command_buffer][low:high]
        transfers = recording.transfers.get(execution.command_buffer, ())
        for name, nanoseconds in _gaps(execution, inside, transfers):
            us[name] += nanoseconds / 1e3
            calls[name] += 1
    every = (*recording.work, *recording.executions)
    begins = (*recording.submitted_ns, *(span.start_ns for span in every))
    span_ns = max((span.end_ns for span in every), default=0) - min(begins, default=0)
    return Times(dict(us), dict(calls), span_ns / 1e3)


def divide(spans: Sequence[EventSpan]) -> dict[str, float]:
    """Nanoseconds by name; an instant in which several run is divided equally among them."""
    edges = sorted(
        [(span.start_ns, 1, number) for number, span in enumerate(spans)]
        + [(span.end_ns, 0, number) for number, span in enumerate(spans)]
    )
    found: dict[str, float] = {span.name: 0.0 for span in spans}
    running: set[int] = set()
    before = 0
    for now, begins, number in edges:
        for each in running:
            found[spans[each].name] += (now - before) / len(running)
        before = now
        if begins and spans[number].end_ns > spans[number].start_ns:
            running.add(number)
        else:
            running.discard(number)
    return found


def _gaps(
    execution: EventSpan, inside: Sequence[EventSpan], transfers: Sequence[tuple[int, str]]
) -> list[tuple[str, float]]:
    """The parts of an execution without a running dispatch, and their names."""
    found: list[tuple[str, float]] = []
    reached, last_index = execution.start_ns, -1
    end = EventSpan("", execution.end_ns, execution.end_ns)
    for span in (*inside, end):
        if span.start_ns > reached:
            kinds = {kind for index, kind in transfers if last_index < index < span.command_index}
            name = f"({' and '.join(sorted(kinds))})" if kinds else BETWEEN
            found.append((name, float(span.start_ns - reached)))
        reached = max(reached, span.end_ns)
        last_index = max(last_index, span.command_index)
    return found


def _begin(recording: EventRecording, last: EventSpan, first: EventSpan) -> float:
    """The begin of an invocation, given its first dispatch and the last one of the invocation before.

    This is the first submission to the queue after the last dispatch's execution.
    """
    ends = (span.end_ns for span in recording.executions if span.start_ns <= last.start_ns <= span.end_ns)
    end = max(ends, default=last.end_ns)
    between = (each for each in recording.submitted_ns if end <= each <= first.start_ns)
    around = (span.start_ns for span in recording.executions if end <= span.start_ns <= first.start_ns)
    return min((*between, *around), default=first.start_ns)


def _span(record: Mapping[str, Any]) -> EventSpan:
    name = record["key"] if record["op"] == "dispatch" and record["key"] else f"({record['op']})"
    ends = record["start_host_time_ns"], record["end_host_time_ns"]
    return EventSpan(name, *ends, record["command_buffer_id"], record["command_index"])
