"""One device's part of a run: it compiles an operation, measures it, and goes on with the next.

The processes of its back ends are kept from one operation to the next. A failure is a row, and the other
operations go on. A back end that dies is started anew for the next operation. Of a device that is lost, other
devices measure the remaining work, or it is reported as lost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
import numpy.typing as npt

from iree_tuner.errors import TunerError
from iree_tuner.measure.sampling import turns
from iree_tuner.measure.statistics import CONFIDENCE_Z, LEAST_PAIRS, Floats, compare_rows
from iree_tuner.program.source import Program
from iree_tuner.suite.backends.backend import BackendError, Conditions, Contender, Job
from iree_tuner.suite.backends.iree import (
    BEFORE,
    DEFAULT,
    TUNED,
    Build,
    Iree,
    compile_version,
    configurations,
)
from iree_tuner.suite.changes import ALIKE, WORTH, verdict_of
from iree_tuner.suite.exact import Reference, References
from iree_tuner.suite.host import BackendHost
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.plan import SOLVER, Item, SuitePlan, tuned_version
from iree_tuner.suite.programs import load_programs
from iree_tuner.suite.results import PROGRAMS, SPECS, Row, State
from iree_tuner.suite.site import Device, Hosts
from iree_tuner.suite.suite_file import is_found
from iree_tuner.suite.tensors import write_inputs
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.jobs import Jobs

# Back ends take turns, so that all of them meet the same machine.


Sample = Callable[[float], float]
"""Takes a pause in seconds, and returns the microseconds of one call. Raises BackendError where it failed."""


@dataclass(frozen=True)
class Rounds:
    """Samples that were taken in turns."""

    samples_us: npt.NDArray[np.float64]  # rounds by sources; NaN from the round in which a source failed
    failures: Mapping[int, BackendError]  # the failed ones, by their place


def take_rounds(
    sources: Sequence[Sample], conditions: Conditions, clock: Callable[[], float] = time.monotonic
) -> Rounds:
    """Rounds of one sample of each source, in an order that changes from round to round.

    One that fails drops out, and the others go on. At least one round; another one begins only if the longest
    so far would end in time.

    Args:
        sources: each with its operation loaded.
        conditions: rounds, their time limit, and the pause before each sample.
        clock: the time, in seconds.
    """
    rows: list[list[float]] = []
    failures: dict[int, BackendError] = {}
    left = list(range(len(sources)))
    begin = clock()
    longest = 0.0
    while left and len(rows) < max(1, conditions.rounds):
        start = clock()
        if rows and start - begin + longest > conditions.seconds:
            break
        row = [math.nan] * len(sources)
        for place in [left[turn] for turn in turns(len(left), len(rows))]:
            try:
                row[place] = sources[place](conditions.pause_s)
            except BackendError as error:
                failures[place] = error
        left = [place for place in left if place not in failures]
        longest = max(longest, clock() - start)
        rows.append(row)
    return Rounds(np.array(rows, np.float64).reshape(len(rows), len(sources)), failures)


# Rounds of samples as numbers of rows: medians, intervals, speedups.


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


def beside(column: int, other: int, launches: Sequence[Floats]) -> tuple[float, tuple[float, float] | None]:
    """Speedup of one column over another; without an interval for too few rounds."""
    (found,) = compare_rows([rows[:, [other, column]] for rows in launches])
    return found.speedup, None if sum(map(len, launches)) < LEAST_PAIRS else found.interval


def judged(rows: Sequence[Row], launches: Sequence[Mapping[int, Floats]]) -> list[Row]:
    """Rows with times, of their samples in each launch; and with speedups over the default."""
    ok = [index for index, row in enumerate(rows) if row.state == "ok"]
    if not ok or not launches:
        return list(rows)
    arrays = [np.stack([launch[index] for index in ok], axis=1) for launch in launches]
    plain = {rows[index].backend: column for column, index in enumerate(ok) if _is_plain(rows[index])}
    default, before = plain.get(DEFAULT), plain.get(BEFORE)
    found = list(rows)
    for column, index in enumerate(ok):
        row = with_time(rows[index], column, arrays)
        if default is not None:
            speedup, interval = beside(column, default, arrays)
            row = replace(row, speedup=speedup, speedup_interval=interval)
        if before is not None and column == default:
            change, interval = beside(column, before, arrays)
            row = replace(row, change=change, change_interval=interval)
        found[index] = row
    return found


def _is_decided(rows: Sequence[Row]) -> bool:
    """Whether no change since an earlier run is ambiguous."""
    intervals = [row.change_interval for row in rows if row.change_interval is not None]
    return all(verdict_of(each, WORTH, ALIKE) != "AMBIGUOUS" for each in intervals)


def _is_plain(row: Row) -> bool:
    return row.configuration in ("", "default")


# How many copies of its inputs an operation rotates through.


_MOST = 4096
"""More are not worth their cost: each is memory of its own, at least a page."""


def copies_for(operation: Operation, conditions: Conditions) -> int:
    """The number of copies that have `copies_bytes` together, from 1 to 4096."""
    each = sum(tensor.bytes for tensor in operation.inputs)
    if not conditions.copies_bytes or not each:
        return 1
    return max(1, min(_MOST, int(-(-conditions.copies_bytes // each))))


class Watch(Protocol):
    """The observer of a run's progress. Called from several threads."""

    def planned(self, operations: int) -> None:
        """This many operations are to be measured, without the known ones."""

    def working(self, device: str, what: str) -> None:
        """A device begins something that takes a while."""

    def noted(self, message: str) -> None:
        """A remark."""

    def measured(self, row: Row) -> None:
        """A row was written. Called by one thread at a time."""

    def done(self, operation: str) -> None:
        """All rows of an operation are there."""

    def stopping(self) -> None:
        """A signal asks the run to end. Called within its handler: only writes a line."""


_MOST_TIMES = 4
"""Factor of the given launches, where changes stay ambiguous."""
_MOST_LOST = 3
"""Times that the worker of a device may be lost during one operation."""

Known = Collection[tuple[str, str, str]]
"""Operation, back end and configuration of existing rows."""


@dataclass(frozen=True)
class Entrant:
    """A contender that computes an operation, and the known part of its row."""

    backend: Contender
    row: Row


def row_of(
    operation: Operation, device: Device, backend: str, configuration: str, state: State = "ok",
    message: str = "",
) -> Row:  # fmt: skip
    """An operation's row on a device, without times."""
    return Row(
        operation.name, operation.kind, operation.arguments, backend, configuration, str(device.place),
        device.name, state, message=message, flops=operation.flops, bytes=operation.bytes,
        compute_type=operation.compute_type,
    )  # fmt: skip


@dataclass
class DeviceRun:
    """The work of one device."""

    plan: SuitePlan
    device: Device
    every: Sequence[Device]  # all devices of the run
    site: Hosts  # where they are
    watch: Watch  # gets the progress

    def __post_init__(self) -> None:
        plan, device, site = self.plan, self.device, self.site
        cold, places = plan.conditions.copies_bytes > 0, [each.place for each in self.every]
        self._lab = site.lab(device.target, device.place, places, plan.jobs, cold=cold)
        self._references = References(plan.reference) if plan.verify else None
        self._hosts: dict[str, BackendHost] = {}
        self._scratch = TemporaryDirectory(prefix="iree_tuner_")  # for inputs

    def measure(self, item: Item, known: Known) -> Iterator[Row]:
        """Yield the rows of one operation, without known ones.

        Raises DeviceLostError if the device does not answer any more; the rows until then are right.
        """
        wanted = [(DEFAULT, "default"), *((each.name, "") for each in self.plan.backends)]
        if self.plan.tuning is not None:
            wanted.append((TUNED, "spec"))
        if self.plan.choice is None and all((item.operation.name, *each) in known for each in wanted):
            return
        self._tell(f"compiling {item.operation.name}")
        try:
            program = item.program()
        except TunerError as error:
            yield row_of(item.operation, self.device, DEFAULT, "default", "failed", str(error))
            return
        plain = self._plain(item, program)
        if any(each.row.key[:3] not in known for each in plain if each.backend.name != BEFORE):
            self._tell(f"measuring {item.operation.name}")
            yield from self._measured(item, plain, known)
        for entrants in self._chosen(item, program, plain, known):
            self._tell(f"measuring {item.operation.name}: {entrants[-1].row.configuration}")
            yield from self._measured(item, entrants, known)

    def close(self) -> None:
        for each in self._hosts.values():
            each.close()
        self._lab.close()
        self._scratch.cleanup()
        if self._references is not None:
            self._references.close()

    def _tell(self, doing: str) -> None:
        self.watch.working(str(self.device.place), doing)

    def _measured(self, item: Item, entrants: Sequence[Entrant], known: Known) -> list[Row]:
        """The rows of entrants that are not known, without an earlier run's code, which is compared with."""
        for _ in range(_MOST_LOST):
            rows = self._rows(item.operation, entrants)
            if any(row.state in ("failed", "lost") for row in rows):
                reason = self.site.why_lost(self.device.place)
                if reason:
                    raise DeviceLostError(reason)
            if all(row.state != "lost" for row in rows):
                return [row for row in rows if row.key[:3] not in known]
            self.watch.noted(f"{self.device.place}: its worker was lost, and has come back")
        raise DeviceLostError(f"its worker was lost {_MOST_LOST} times")

    def _rows(self, operation: Operation, entrants: Sequence[Entrant]) -> list[Row]:
        """Raises TunerError if the inputs cannot be written."""
        scratch, conditions = Path(self._scratch.name), self.plan.conditions
        inputs = write_inputs(operation, scratch)
        job = Job(operation, inputs, self.device.place.uri, conditions, copies_for(operation, conditions))
        expected = Reference()
        if self._references is not None:
            expected = self._references.expected(operation, inputs, scratch)
        rows = [each.row for each in entrants]
        launches: list[dict[int, Floats]] = []
        try:
            for count in range(1, _MOST_TIMES * self.plan.launches + 1):
                taken = self._launch(job, entrants, rows, expected)
                launches += [taken] if taken else []
                found = judged(rows, launches)
                if count >= self.plan.launches and _is_decided(found):
                    break
        finally:
            for path in inputs:
                Path(path).unlink(missing_ok=True)
        return [self._finished(row) for row in judged(rows, launches) if row.backend != BEFORE]

    def _launch(
        self, job: Job, entrants: Sequence[Entrant], rows: list[Row], expected: Reference
    ) -> dict[int, Floats]:
        """Load all that did not fail before, and take rounds; the samples of those that did not fail."""
        sources: dict[int, Sample] = {}
        for index, each in enumerate(entrants):
            if rows[index].state == "ok":
                # All configurations share a slot of the process, as they come one after the other.
                slot = f"{each.backend.name}{'' if _is_plain(each.row) else ', chosen'}"
                host = self._host(each.backend.name)
                rows[index] = _load(host, slot, each.backend, job, rows[index], expected)
                if rows[index].state == "ok":
                    sources[index] = partial(host.sample, slot=slot)
        taken = take_rounds(list(sources.values()), self.plan.conditions)
        columns = dict(zip(sources, taken.samples_us.T, strict=True))
        for place, index in enumerate(sources):
            if (error := taken.failures.get(place)) is not None:
                rows[index] = replace(rows[index], state=error.state, message=error.message)
                del columns[index]
        return columns

    def _host(self, backend: str) -> BackendHost:
        """The process of a back end; one for all of IREE's versions, as times differ between processes."""
        key = DEFAULT if backend in (TUNED, BEFORE) else backend
        if key not in self._hosts:
            self._hosts[key] = BackendHost(lambda: self.site.process(self.device.place))
        return self._hosts[key]

    def _finished(self, row: Row) -> Row:
        """With its share of the roofline, and the time on the run's first device at the same share."""
        own, first = self.device.roofline, self.every[0].roofline
        work = row.flops, row.bytes, row.compute_type
        least_us = own.attainable_us(*work) if own is not None else 0.0
        if row.time_us and least_us:
            there_us = first.attainable_us(*work) if first is not None else 0.0
            normalized_us = row.time_us * there_us / least_us or None
            row = replace(row, roofline_share=least_us / row.time_us, normalized_us=normalized_us)
        return replace(row, at=time.time())

    def _entrant(
        self, item: Item, backend: Contender, configuration: str = "", state: State = "ok", message: str = ""
    ) -> Entrant:
        row = row_of(item.operation, self.device, backend.name, configuration, state, message)
        return Entrant(backend, row)

    def _plain(self, item: Item, program: Program) -> list[Entrant]:
        """IREE by default, tuned, as an earlier run compiled it, and the other libraries."""
        builds, entrants = [(self._entrant(item, Iree(DEFAULT), "default"), Build(DEFAULT))], list[Entrant]()
        if self.plan.tuning is not None:
            kept = self.plan.folder / SPECS / f"{item.operation.name}.mlir"
            self._tell(f"tuning {item.operation.name}")
            try:
                tuned = tuned_version(
                    program, self._lab, self.plan.tuning, kept, self.plan.chip,
                    device=self.device.place.option, scheduler=self.site.scheduler,
                )  # fmt: skip
            except TunerError as error:
                entrants.append(self._entrant(item, Iree(TUNED), "spec", "failed", f"not tuned: {error}"))
            else:
                builds.append((self._entrant(item, Iree(TUNED), "spec", message=tuned.note), tuned))
        entrants = [*self._compiled(item, program, builds), *entrants]
        if self.plan.against is not None:
            with suppress(TunerError):  # it has not this operation
                old = load_programs(self.plan.against / PROGRAMS, f"{item.operation.name}.{DEFAULT}")
                entrants.append(self._entrant(item, Iree(BEFORE, old)))
        for backend in self.plan.backends:
            missing = self.device.libraries[backend.name].missing
            refused = missing or backend.refuses(item.operation, self.device.place.uri)
            state = "missing" if missing else "skipped" if refused else "ok"
            entrants.append(self._entrant(item, backend, state=state, message=refused))
        # Configurations are compared with IREE's default.
        needed = (DEFAULT, BEFORE) if self.plan.choice is not None else ()
        return [
            each for each in entrants
            if each.backend.name in needed or is_found(self.plan.patterns, each.row.dispatch)
        ]  # fmt: skip

    def _chosen(
        self, item: Item, program: Program, plain: Sequence[Entrant], known: Known
    ) -> Iterator[Sequence[Entrant]]:
        """The default with a configuration each, compiled some at a time."""
        choice = self.plan.choice
        if choice is None:
            return
        default = [each for each in plain if each.backend.name == DEFAULT and each.row.state == "ok"]
        try:
            with SOLVER:
                found = configurations(program, self._lab, choice)
        except TunerError as error:
            self.watch.noted(f"{item.operation.name}: no configurations: {error}")
            return
        every = ((self._entrant(item, Iree(DEFAULT), each.name), each) for each in found)
        builds = (
            (entrant, build)
            for entrant, build in every
            if entrant.row.key[:3] not in known and is_found(self.plan.patterns, entrant.row.dispatch)
        )
        while True:
            with SOLVER:
                some = list(islice(builds, self._lab.jobs))
            if not some:
                return
            for entrant in self._compiled(item, program, some):
                yield [*default, entrant]

    def _compiled(
        self, item: Item, program: Program, builds: Sequence[tuple[Entrant, Build]]
    ) -> list[Entrant]:
        """Entrants with the code of their builds, compiled at the same time."""
        found = play(self._lab, [self._compile(item, program, *each) for each in builds])
        return [each for each in found if each is not None]

    def _compile(self, item: Item, program: Program, entrant: Entrant, build: Build) -> Jobs[Entrant]:
        folder, stem = self.plan.folder / PROGRAMS, f"{item.operation.name}.{build.name}"
        in_parts = self.plan.conditions.timing == "device"
        try:
            programs = yield from compile_version(
                program, build, self._lab, folder, stem, with_parts=in_parts
            )
        except TunerError as error:
            message = f"compilation failed: {error}"
            return replace(entrant, row=replace(entrant.row, state="failed", message=message))
        return replace(entrant, backend=Iree(entrant.backend.name, programs))


def _load(host: BackendHost, slot: str, backend: Contender, job: Job, row: Row, expected: Reference) -> Row:
    try:
        loaded = host.load(backend, job, expected.result, expected.magnitudes, slot)
    except BackendError as error:
        return replace(row, state=error.state, message=error.message)
    told = "; ".join(filter(None, (row.message, expected.problem, loaded.note)))
    row = replace(row, message="; ".join(dict.fromkeys(told.split("; "))), reference=expected.library)
    agreement = loaded.agreement
    if agreement is None:
        return row
    if agreement.ok:
        return replace(row, worst_error=agreement.worst, verification="SUCCESS")
    return replace(row, worst_error=agreement.worst, verification="FAILED", state="failed",
                   message=f"wrong results: {agreement.message}")  # fmt: skip
