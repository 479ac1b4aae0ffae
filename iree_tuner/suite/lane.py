"""One device of a run: the processes of its back ends, kept from one operation to the next.

A failure is a row, and the other operations go on. A back end that dies is started anew for the next
operation; a device that is lost ends the lane. Other devices measure its remaining work, or it is reported as
lost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from iree_tuner.compiler.worker import Calls
from iree_tuner.measure.sampling import turns
from iree_tuner.measure.statistics import CONFIDENCE_Z, LEAST_PAIRS, Floats, compare_rows
from iree_tuner.suite.backends.backend import BackendError, Job
from iree_tuner.suite.backends.iree import BEFORE, DEFAULT, TUNED
from iree_tuner.suite.changes import ALIKE, WORTH, verdict_of
from iree_tuner.suite.conditions import Conditions
from iree_tuner.suite.exact import Reference, References
from iree_tuner.suite.host import BackendHost
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.plan import Entrant
from iree_tuner.suite.results import Row
from iree_tuner.suite.site import Device
from iree_tuner.suite.tensors import write_inputs

# Back ends take turns, so that all of them meet the same machine.


class Sampled(Protocol):
    """A thing that can be sampled: a `BackendHost` that has an operation loaded."""

    def sample(self, pause_s: float) -> float:
        """Microseconds of one call. Raises BackendError where it failed."""
        ...


@dataclass(frozen=True)
class Rounds:
    """Samples that were taken in turns."""

    samples_us: npt.NDArray[np.float64]  # rounds by hosts; NaN from the round in which a host failed
    failures: Mapping[int, BackendError]  # the failed ones, by their place


def take_rounds(
    hosts: Sequence[Sampled], conditions: Conditions, clock: Callable[[], float] = time.monotonic
) -> Rounds:
    """Rounds of one sample of each host, in an order that changes from round to round.

    One that fails drops out, and the others go on. At least one round; another one begins only if the longest
    so far would end in time.

    Args:
        hosts: each with its operation loaded.
        conditions: rounds, their time limit, and the pause before each sample.
        clock: the time, in seconds.
    """
    rows: list[list[float]] = []
    failures: dict[int, BackendError] = {}
    left = list(range(len(hosts)))
    begin = clock()
    longest = 0.0
    while left and len(rows) < max(1, conditions.rounds):
        start = clock()
        if rows and start - begin + longest > conditions.seconds:
            break
        row = [math.nan] * len(hosts)
        for place in [left[turn] for turn in turns(len(left), len(rows))]:
            try:
                row[place] = hosts[place].sample(conditions.pause_s)
            except BackendError as error:
                failures[place] = error
        left = [place for place in left if place not in failures]
        longest = max(longest, clock() - start)
        rows.append(row)
    return Rounds(np.array(rows, np.float64).reshape(len(rows), len(hosts)), failures)


# Rounds of samples as numbers of rows: medians, intervals, speedups.


Interval = tuple[float, float]


def with_time(row: Row, column: int, launches: Sequence[Floats]) -> Row:
    """A row with its own times.

    Args:
        row: of the back end.
        column: of the back end in the rounds.
        launches: rounds by back ends, in microseconds, one array for each time that all were loaded.
    """
    taken = np.concatenate([rows[:, column] for rows in launches])
    samples = np.sort(taken)
    medians = [float(np.median(rows[:, column])) for rows in launches]
    # Of order statistics, which assumes no distribution of the samples; launches may differ as a whole.
    reach = CONFIDENCE_Z * math.sqrt(len(samples)) / 2
    first = max(0, math.floor(len(samples) / 2 - reach))
    last = min(len(samples) - 1, math.ceil(len(samples) / 2 + reach))
    interval = min(float(samples[first]), min(medians)), max(float(samples[last]), max(medians))
    return replace(
        row, time_us=float(np.median(samples)), interval_us=interval, samples_us=tuple(taken.tolist())
    )


def with_speedup(row: Row, column: int, default: int, launches: Sequence[Floats]) -> Row:
    """A row with its speedup over the default, of the same rounds."""
    speedup, interval = beside(column, default, launches)
    return replace(row, speedup=speedup, speedup_interval=interval)


def beside(column: int, other: int, launches: Sequence[Floats]) -> tuple[float, Interval | None]:
    """Speedup of one column over another; without an interval for too few rounds."""
    (found,) = compare_rows([rows[:, [other, column]] for rows in launches])
    return found.speedup, None if sum(map(len, launches)) < LEAST_PAIRS else found.interval


# How many copies of its inputs an operation rotates through.


_MOST = 4096
"""More are not worth their cost: each is memory of its own, at least a page."""


def copies_for(operation: Operation, conditions: Conditions) -> int:
    """The number of copies that have `copies_bytes` together, from 1 to 4096."""
    each = sum(tensor.bytes for tensor in operation.inputs)
    if not conditions.copies_bytes or not each:
        return 1
    return max(1, min(_MOST, int(-(-conditions.copies_bytes // each))))


_MOST_TIMES = 4
"""Factor of the given launches, where changes stay ambiguous."""


@dataclass(frozen=True)
class _Seat:
    """One version of an operation in a back end's process: it is sampled."""

    host: BackendHost
    slot: str

    def sample(self, pause_s: float) -> float:
        return self.host.sample(pause_s, self.slot)


class Lane:
    """Measures operations on one device.

    Args:
        device: of the lane.
        process: starts a process for a back end at the device's host.
        conditions: of all samples.
        references: give the right results; None to verify nothing.
        launches: how often everything is loaded anew for one operation; up to four times that where changes
            since an earlier run are ambiguous.
        scratch: folder for inputs.
    """

    def __init__(
        self, device: Device, process: Callable[[], Calls], conditions: Conditions,
        references: References | None, scratch: Path, launches: int = 1,
    ) -> None:  # fmt: skip
        self._device = device
        self._process = process
        self._conditions = conditions
        self._references = references
        self._scratch = scratch
        self._launches = launches
        self._hosts: dict[str, BackendHost] = {}

    def measure(self, operation: Operation, entrants: Sequence[Entrant]) -> list[Row]:
        """Rows of all entrants in their order, without an earlier run's code, which is only compared with.

        Raises:
            TunerError: the inputs cannot be written.
        """
        job = self._job(operation)
        expected = self._expected(operation, job)
        rows = {index: self._row(operation, each, expected.problem) for index, each in enumerate(entrants)}
        launches: list[tuple[list[int], Floats]] = []
        try:
            for count in range(1, _MOST_TIMES * self._launches + 1):
                taken = self._launch(job, entrants, rows, expected)
                if taken is not None:
                    launches.append(taken)
                if count >= self._launches and _is_decided(_judged(entrants, dict(rows), launches)):
                    break
        finally:
            for path in job.inputs:
                Path(path).unlink(missing_ok=True)
        found = _judged(entrants, rows, launches)
        pairs = zip(entrants, found, strict=True)
        return [self._finished(row) for each, row in pairs if each.backend.name != BEFORE]

    def close(self) -> None:
        """End the processes."""
        for host in self._hosts.values():
            host.close()
        self._hosts.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _job(self, operation: Operation) -> Job:
        inputs = write_inputs(operation, self._scratch)
        copies = copies_for(operation, self._conditions)
        return Job(operation, inputs, self._device.place.uri, self._conditions, copies)

    def _expected(self, operation: Operation, job: Job) -> Reference:
        if self._references is None:
            return Reference()
        return self._references.expected(operation, job.inputs, self._scratch)

    def _launch(
        self, job: Job, entrants: Sequence[Entrant], rows: dict[int, Row], expected: Reference
    ) -> tuple[list[int], Floats] | None:
        """Load all that did not fail before, and take rounds; those that did not fail, and their samples."""
        seats: dict[int, _Seat] = {}
        for index, each in enumerate(entrants):
            if rows[index].state == "ok":
                seat = _Seat(self._host(each), _slot(each))
                rows[index] = _load(seat, each, job, rows[index], expected)
                if rows[index].state == "ok":
                    seats[index] = seat
        if not seats:
            return None
        order = list(seats)
        taken = take_rounds(list(seats.values()), self._conditions)
        for place, error in taken.failures.items():
            index = order[place]
            rows[index] = replace(rows[index], state=error.state, message=error.message)
        stayed = [index for place, index in enumerate(order) if place not in taken.failures]
        return stayed, taken.samples_us[:, [order.index(index) for index in stayed]]

    def _host(self, entrant: Entrant) -> BackendHost:
        """The process of a back end; one for all of IREE's versions, as times differ between processes."""
        key = DEFAULT if entrant.backend.name in (TUNED, BEFORE) else entrant.backend.name
        if key not in self._hosts:
            self._hosts[key] = BackendHost(self._process)
        return self._hosts[key]

    def _row(self, operation: Operation, entrant: Entrant, problem: str) -> Row:
        row = Row(
            operation.name, operation.kind, operation.arguments, entrant.backend.name, entrant.configuration,
            str(self._device.place), self._device.name, flops=operation.flops, bytes=operation.bytes,
            compute_type=operation.compute_type, message=entrant.note,
            reference=self._references.who(operation) if self._references else "",
        )  # fmt: skip
        if problem:
            row = replace(row, message="; ".join(filter(None, (row.message, problem))), reference="")
        if entrant.problem is not None:
            state, message = entrant.problem
            return replace(row, state=state, message=message, reference="")
        return row

    def _finished(self, row: Row) -> Row:
        share, roofline = None, self._device.roofline
        if row.time_us and roofline is not None:
            least = roofline.attainable_us(row.flops, row.bytes, row.compute_type)
            share = least / row.time_us if least else None
        return replace(row, roofline_share=share, at=time.time())


def _load(seat: _Seat, entrant: Entrant, job: Job, row: Row, expected: Reference) -> Row:
    try:
        loaded = seat.host.load(entrant.backend, job, expected.result, expected.magnitudes, seat.slot)
    except BackendError as error:
        return replace(row, state=error.state, message=error.message)
    message = "; ".join(filter(None, (row.message, loaded.note)))
    row = replace(row, message="; ".join(dict.fromkeys(message.split("; "))))
    agreement = loaded.agreement
    if agreement is None:
        return row
    if agreement.ok:
        return replace(row, worst_error=agreement.worst, verification="SUCCESS")
    return replace(row, worst_error=agreement.worst, verification="FAILED", state="failed",
                   message=f"wrong results: {agreement.message}")  # fmt: skip


def _is_decided(rows: Sequence[Row]) -> bool:
    """Whether no change since an earlier run is ambiguous."""
    intervals = [row.change_interval for row in rows if row.change_interval is not None]
    return all(verdict_of(each, WORTH, ALIKE) != "AMBIGUOUS" for each in intervals)


def _slot(entrant: Entrant) -> str:
    """Of a version in its process; all configurations share one, as they come one after the other."""
    return f"{entrant.backend.name}{', chosen' if _is_chosen(entrant) else ''}"


def _is_chosen(entrant: Entrant) -> bool:
    return entrant.configuration not in ("", "default")


def _judged(
    entrants: Sequence[Entrant], rows: dict[int, Row], launches: Sequence[tuple[list[int], Floats]]
) -> list[Row]:
    """Rows with times; rows that were measured in every launch have speedups over the default."""
    always = [index for index, row in rows.items() if row.state == "ok"]
    if not launches or not always:
        return list(rows.values())
    arrays = [
        np.stack([samples[:, stayed.index(index)] for index in always], axis=1)
        for stayed, samples in launches
    ]
    places = {index: column for column, index in enumerate(always)}
    default = _place(entrants, places, DEFAULT)
    before = _place(entrants, places, BEFORE)
    for index, column in places.items():
        row = with_time(rows[index], column, arrays)
        if default is not None:
            row = with_speedup(row, column, default, arrays)
        if before is not None and column == default:
            change, interval = beside(column, before, arrays)
            row = replace(row, change=change, change_interval=interval)
        rows[index] = row
    return list(rows.values())


def _place(entrants: Sequence[Entrant], places: dict[int, int], name: str) -> int | None:
    """The column of a back end's plain version."""
    for index, column in places.items():
        if entrants[index].backend.name == name and not _is_chosen(entrants[index]):
            return column
    return None
