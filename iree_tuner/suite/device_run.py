"""One device's part of a run: it compiles an operation, measures it, and goes on with the next.

The processes of its back ends (`Lane`) are kept from one operation to the next. A failure is a row, and the
other operations go on. A back end that dies is started anew for the next operation; a device that is lost
ends the lane. Other devices measure its remaining work, or it is reported as lost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from iree_tuner.compiler.worker import Calls
from iree_tuner.errors import TunerError
from iree_tuner.measure.sampling import turns
from iree_tuner.measure.statistics import CONFIDENCE_Z, LEAST_PAIRS, Floats, compare_rows
from iree_tuner.program.source import Program
from iree_tuner.suite.backends.backend import Backend, BackendError, Conditions, Job
from iree_tuner.suite.backends.iree import (
    BEFORE,
    DEFAULT,
    TUNED,
    Build,
    Iree,
    NamedConfigurations,
    compile_version,
)
from iree_tuner.suite.changes import ALIKE, WORTH, verdict_of
from iree_tuner.suite.exact import Reference, References
from iree_tuner.suite.host import BackendHost
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.plan import SOLVER, Entrant, Item, SuitePlan, tuned_version
from iree_tuner.suite.programs import has_programs, load_programs
from iree_tuner.suite.results import PROGRAMS, SPECS, Row
from iree_tuner.suite.site import Device, DeviceAddress, Hosts
from iree_tuner.suite.suite_file import is_found
from iree_tuner.suite.tensors import write_inputs
from iree_tuner.targets import Target
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.jobs import Jobs

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


@dataclass
class Lane:
    """Measures operations on one device."""

    device: Device
    process: Callable[[], Calls]  # starts a process for a back end at the device's host
    conditions: Conditions  # of all samples
    references: References | None  # give the right results; None to verify nothing
    scratch: Path  # folder for inputs
    # how often everything is loaded anew for one operation; up to four times that where changes since an
    # earlier run are ambiguous
    launches: int = 1
    hosts: dict[str, BackendHost] = field(default_factory=dict[str, BackendHost], init=False)

    def measure(self, operation: Operation, entrants: Sequence[Entrant]) -> list[Row]:
        """Rows of all entrants in their order, without an earlier run's code, which is only compared with.

        Raises TunerError if the inputs cannot be written.
        """
        inputs, copies = write_inputs(operation, self.scratch), copies_for(operation, self.conditions)
        job = Job(operation, inputs, self.device.place.uri, self.conditions, copies)
        expected = Reference()
        if self.references is not None:
            expected = self.references.expected(operation, job.inputs, self.scratch)
        rows = {index: self._row(operation, each, expected.problem) for index, each in enumerate(entrants)}
        launches: list[tuple[list[int], Floats]] = []
        try:
            for count in range(1, _MOST_TIMES * self.launches + 1):
                taken = self._launch(job, entrants, rows, expected)
                if taken is not None:
                    launches.append(taken)
                if count >= self.launches and _is_decided(_judged(entrants, dict(rows), launches)):
                    break
        finally:
            for path in job.inputs:
                Path(path).unlink(missing_ok=True)
        found = _judged(entrants, rows, launches)
        pairs = zip(entrants, found, strict=True)
        return [self._finished(row) for each, row in pairs if each.backend.name != BEFORE]

    def close(self) -> None:
        for host in self.hosts.values():
            host.close()
        self.hosts.clear()

    def _launch(
        self, job: Job, entrants: Sequence[Entrant], rows: dict[int, Row], expected: Reference
    ) -> tuple[list[int], Floats] | None:
        """Load all that did not fail before, and take rounds; those that did not fail, and their samples."""
        seats: dict[int, _Seat] = {}
        for index, each in enumerate(entrants):
            if rows[index].state == "ok":
                # All configurations share a slot of the process, as they come one after the other.
                slot = f"{each.backend.name}{', chosen' if _is_chosen(each) else ''}"
                seat = _Seat(self._host(each), slot)
                rows[index] = _load(seat, each, job, rows[index], expected)
                if rows[index].state == "ok":
                    seats[index] = seat
        if not seats:
            return None
        order = list(seats)
        taken = take_rounds(list(seats.values()), self.conditions)
        for place, error in taken.failures.items():
            index = order[place]
            rows[index] = replace(rows[index], state=error.state, message=error.message)
        stayed = [index for place, index in enumerate(order) if place not in taken.failures]
        return stayed, taken.samples_us[:, [order.index(index) for index in stayed]]

    def _host(self, entrant: Entrant) -> BackendHost:
        """The process of a back end; one for all of IREE's versions, as times differ between processes."""
        key = DEFAULT if entrant.backend.name in (TUNED, BEFORE) else entrant.backend.name
        if key not in self.hosts:
            self.hosts[key] = BackendHost(self.process)
        return self.hosts[key]

    def _row(self, operation: Operation, entrant: Entrant, problem: str) -> Row:
        row = Row(
            operation.name, operation.kind, operation.arguments, entrant.backend.name, entrant.configuration,
            str(self.device.place), self.device.name, flops=operation.flops, bytes=operation.bytes,
            compute_type=operation.compute_type, message=entrant.note,
            reference=self.references.who(operation) if self.references else "",
        )  # fmt: skip
        if problem:
            row = replace(row, message="; ".join(filter(None, (row.message, problem))), reference="")
        if entrant.problem is not None:
            state, message = entrant.problem
            return replace(row, state=state, message=message, reference="")
        return row

    def _finished(self, row: Row) -> Row:
        share, roofline = None, self.device.roofline
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


class Watch(Protocol):
    """The observer of a run's progress. Called from several threads, one at a time."""

    def planned(self, operations: int) -> None:
        """This many operations are to be measured, without the known ones."""

    def working(self, device: str, what: str) -> None:
        """A device begins something that takes a while."""

    def noted(self, message: str) -> None:
        """A remark."""

    def measured(self, row: Row) -> None:
        """A row was written."""

    def done(self, operation: str) -> None:
        """All rows of an operation are there."""

    def stopping(self) -> None:
        """A signal asks the run to end. Called within its handler: only writes a line."""


_MOST_LOST = 3
"""Times that the worker of a device may be lost during one operation."""

Known = Collection[tuple[str, str, str]]
"""Operation, back end and configuration of existing rows."""


@dataclass
class DeviceRun:
    """The work of one device."""

    plan: SuitePlan
    device: Device
    every: Sequence[Device]  # all devices of the run
    site: Hosts  # where they are
    scratch: Path  # folder for inputs
    watch: Watch  # gets the progress
    why_lost: Callable[[DeviceAddress], str]  # says why a device does not answer

    def __post_init__(self) -> None:
        plan, device, site = self.plan, self.device, self.site
        cold, places = plan.conditions.copies_bytes > 0, [each.place for each in self.every]
        self._lab = site.lab(device.target, device.place, places, plan.jobs, cold=cold)
        self._references = References(plan.reference) if plan.verify else None
        self._lane = Lane(
            device, lambda: site.process(device.place), plan.conditions, self._references, self.scratch,
            plan.launches,
        )  # fmt: skip

    def measure(self, item: Item, known: Known) -> Iterator[Row]:
        """Yield the rows of one operation, without known ones.

        Raises DeviceLostError if the device does not answer any more; the rows until then are right.
        """
        if self.is_known(item, known):
            return
        name = str(self.device.place)
        self.watch.working(name, f"compiling {item.operation.name}")
        try:
            program = item.program()
        except TunerError as error:
            operation, device = item.operation, self.device
            yield Row(operation.name, operation.kind, operation.arguments, DEFAULT, "default", name,
                      device.name, "failed", message=str(error))  # fmt: skip
            return
        plain = self._plain(item, program)
        if any(not _is_known(item, each, known) for each in plain if each.backend.name != BEFORE):
            self.watch.working(name, f"measuring {item.operation.name}")
            yield from self._measured(item, plain, known)
        for entrants in self._chosen(item, program, plain, known):
            self.watch.working(name, f"measuring {item.operation.name}: {entrants[-1].configuration}")
            yield from self._measured(item, entrants, known)

    def is_known(self, item: Item, known: Known) -> bool:
        """Whether nothing is left to do; never of configurations, which are not listed yet."""
        wanted = [(DEFAULT, "default"), *((each.name, "") for each in self.plan.backends)]
        if self.plan.tuning is not None:
            wanted.append((TUNED, "spec"))
        return self.plan.choice is None and all((item.operation.name, *each) in known for each in wanted)

    def close(self) -> None:
        self._lane.close()
        self._lab.close()
        if self._references is not None:
            self._references.close()

    def _measured(self, item: Item, entrants: Sequence[Entrant], known: Known) -> Iterator[Row]:
        for _ in range(_MOST_LOST):
            rows = self._lane.measure(item.operation, entrants)
            if any(row.state in ("failed", "lost") for row in rows):
                reason = self.why_lost(self.device.place)
                if reason:
                    raise DeviceLostError(reason)
            if all(row.state != "lost" for row in rows):
                break
            self.watch.noted(f"{self.device.place}: its worker was lost, and has come back")
        else:
            raise DeviceLostError(f"its worker was lost {_MOST_LOST} times")
        own = {
            (each.backend.name, each.configuration) for each in entrants if not _is_known(item, each, known)
        }
        for row in rows:
            if (row.backend, row.configuration) in own:
                yield self._normalised(row)

    def _plain(self, item: Item, program: Program) -> list[Entrant]:
        versions = [(Iree(DEFAULT), "default", Build(DEFAULT))]
        note = ""
        entrants: list[Entrant] = []
        if self.plan.tuning is not None:
            kept = self.plan.folder / SPECS / f"{item.operation.name}.mlir"
            self.watch.working(str(self.device.place), f"tuning {item.operation.name}")
            try:
                tuned = tuned_version(
                    program, self._lab, self.plan.tuning, kept, self.plan.chip,
                    device=self.device.place.option, scheduler=self.site.scheduler,
                )  # fmt: skip
            except TunerError as error:
                entrants.append(Entrant(Iree(TUNED), "spec", ("failed", f"not tuned: {error}")))
            else:
                versions.append((Iree(TUNED), "spec", tuned.version))
                note = tuned.note
        for each in self._compiled(item, program, versions):
            entrants.append(replace(each, note=note if each.backend.name == TUNED else ""))
        entrants.sort(key=lambda each: each.backend.name != DEFAULT)
        if self.plan.against is not None:
            old, stem = self.plan.against / PROGRAMS, f"{item.operation.name}.{DEFAULT}"
            try:
                entrants += (
                    [Entrant(Iree(BEFORE, load_programs(old, stem)))] if has_programs(old, stem) else []
                )
            except TunerError as error:
                entrants.append(Entrant(Iree(BEFORE), problem=("failed", str(error))))
        for backend in self.plan.backends:
            missing = self.device.libraries[backend.name].missing
            refused = missing or backend.refuses(item.operation, self.device.place.uri)
            problem = ("missing" if missing else "skipped", refused) if refused else None
            entrants.append(Entrant(backend, problem=problem))
        return [each for each in entrants if self._wanted(item, each)]

    def _chosen(
        self, item: Item, program: Program, plain: Sequence[Entrant], known: Known
    ) -> Iterator[Sequence[Entrant]]:
        """The default with a configuration each, compiled some at a time."""
        choice = self.plan.choice
        if choice is None:
            return
        default = next(
            (each for each in plain if each.backend.name == DEFAULT and each.problem is None), None
        )
        try:
            with SOLVER:
                found = NamedConfigurations(program, self._lab)
        except TunerError as error:
            self.watch.noted(f"{item.operation.name}: no configurations: {error}")
            return
        versions = (
            each
            for each in found.chosen(choice)
            if (item.operation.name, DEFAULT, each.name) not in known
            and is_found(self.plan.patterns, f"{item.operation.name}_{each.name}")
        )
        while chunk := _some(versions, self._lab.jobs):
            wanted = [(Iree(DEFAULT), version.name, version) for version in chunk]
            for entrant in self._compiled(item, program, wanted):
                yield [entrant] if default is None else [default, entrant]

    def _compiled(
        self, item: Item, program: Program, versions: Sequence[tuple[Iree, str, Build]]
    ) -> list[Entrant]:
        """Versions of an operation, each with its back end and configuration, compiled at the same time."""
        found = play(self._lab, [self._compile(item, program, *each) for each in versions])
        return [each for each in found if each is not None]

    def _compile(
        self, item: Item, program: Program, backend: Iree, configuration: str, version: Build
    ) -> Jobs[Entrant]:
        stem, timing = f"{item.operation.name}.{version.name}", self.plan.conditions.timing
        try:
            programs = yield from compile_version(
                program, version, self._lab, self.plan.folder / PROGRAMS, stem, with_parts=timing == "device"
            )
        except TunerError as error:
            return Entrant(backend, configuration, ("failed", f"compilation failed: {error}"))
        return Entrant(replace(backend, programs=programs), configuration)

    def _wanted(self, item: Item, entrant: Entrant) -> bool:
        if entrant.backend.name in (DEFAULT, BEFORE) and self.plan.choice is not None:
            return True  # configurations are compared with it
        name = "_".join(filter(None, (item.operation.name, entrant.configuration)))
        return is_found(self.plan.patterns, name)

    def _normalised(self, row: Row) -> Row:
        """With the time on the run's first device, at the same share of its roofline."""
        own = self.device.roofline
        if row.time_us is None or own is None or self.every[0].roofline is None:
            return row
        work = row.flops, row.bytes, row.compute_type
        here, there = own.attainable_us(*work), self.every[0].roofline.attainable_us(*work)
        return replace(row, normalized_us=row.time_us * there / here) if here and there else row


def device_at(
    place: DeviceAddress,
    target: Target,
    site: Hosts,
    backends: Sequence[Backend],
    why_lost: Callable[[DeviceAddress], str],
) -> Device:
    """A device that answers. Raises DeviceLostError for one that does not."""
    reason = why_lost(place)
    if reason:
        raise DeviceLostError(reason)
    facts = site.facts(place)
    libraries = {each.name: site.library(place, each) for each in backends}
    return Device(place, target, facts.name, facts.last_level_bytes, libraries)


def _some(versions: Iterator[Build], count: int) -> list[Build]:
    with SOLVER:
        return list(islice(versions, count))


def _is_known(item: Item, entrant: Entrant, known: Known) -> bool:
    return (item.operation.name, entrant.backend.name, entrant.configuration) in known
