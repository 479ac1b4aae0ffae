"""One device's part of a run: it compiles an operation, measures it, and goes on with the next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Protocol, Self

from iree_tuner.errors import TunerError
from iree_tuner.program.source import Program
from iree_tuner.suite.backends.backend import Backend
from iree_tuner.suite.backends.iree import (
    BEFORE,
    DEFAULT,
    TUNED,
    Build,
    Iree,
    NamedConfigurations,
    compile_version,
)
from iree_tuner.suite.exact import References
from iree_tuner.suite.lane import Lane
from iree_tuner.suite.plan import Entrant, Item, SuitePlan
from iree_tuner.suite.programs import has_programs, load_programs
from iree_tuner.suite.results import PROGRAMS, SPECS, Row
from iree_tuner.suite.site import Device, DeviceAddress, Hosts
from iree_tuner.suite.suite_file import is_found
from iree_tuner.suite.tuned import SOLVER, tuned_version
from iree_tuner.targets import Target
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.jobs import Jobs


class Watch(Protocol):
    """The observer of a run's progress. Called from several threads, one at a time."""

    def planned(self, operations: int) -> None:
        """This many operations are to be measured, without the known ones."""
        ...

    def working(self, device: str, what: str) -> None:
        """A device begins something that takes a while."""
        ...

    def noted(self, message: str) -> None:
        """A remark."""
        ...

    def measured(self, row: Row) -> None:
        """A row was written."""
        ...

    def done(self, operation: str) -> None:
        """All rows of an operation are there."""
        ...

    def stopping(self) -> None:
        """A signal asks the run to end. Called within its handler: only writes a line."""
        ...


_MOST_LOST = 3
"""Times that the worker of a device may be lost during one operation."""

Known = Collection[tuple[str, str, str]]
"""Operation, back end and configuration of existing rows."""


class DeviceRun:
    """The work of one device.

    Args:
        plan: of the run.
        device: of the work.
        every: all devices of the run.
        site: where they are.
        scratch: folder for inputs.
        watch: gets the progress.
        why_lost: says why a device does not answer.
    """

    def __init__(
        self, plan: SuitePlan, device: Device, every: Sequence[Device], site: Hosts, scratch: Path,
        watch: Watch, why_lost: Callable[[DeviceAddress], str],
    ) -> None:  # fmt: skip
        self._plan = plan
        self._device = device
        self._first = every[0].roofline
        self._site = site
        self._watch = watch
        self._why_lost = why_lost
        cold, places = plan.conditions.copies_bytes > 0, [each.place for each in every]
        self._lab = site.lab(device.target, device.place, places, plan.jobs, cold=cold)
        self._references = References(plan.reference) if plan.verify else None
        self._lane = Lane(
            device, lambda: site.process(device.place), plan.conditions, self._references, scratch,
            plan.launches,
        )  # fmt: skip
        self._programs = plan.folder / PROGRAMS

    def measure(self, item: Item, known: Known) -> Iterator[Row]:
        """Yield the rows of one operation, without known ones.

        Raises:
            DeviceLostError: the device does not answer any more; the rows until then are right.
        """
        if self.is_known(item, known):
            return
        name = str(self._device.place)
        self._watch.working(name, f"compiling {item.operation.name}")
        try:
            program = item.program()
        except TunerError as error:
            operation, device = item.operation, self._device
            yield Row(operation.name, operation.kind, operation.arguments, DEFAULT, "default", name,
                      device.name, "failed", message=str(error))  # fmt: skip
            return
        plain = self._plain(item, program)
        if any(not _is_known(item, each, known) for each in plain if each.backend.name != BEFORE):
            self._watch.working(name, f"measuring {item.operation.name}")
            yield from self._measured(item, plain, known)
        for entrants in self._chosen(item, program, plain, known):
            self._watch.working(name, f"measuring {item.operation.name}: {entrants[-1].configuration}")
            yield from self._measured(item, entrants, known)

    def is_known(self, item: Item, known: Known) -> bool:
        """Whether nothing is left to do; never of configurations, which are not listed yet."""
        wanted = [(DEFAULT, "default"), *((each.name, "") for each in self._plan.backends)]
        if self._plan.tuning is not None:
            wanted.append((TUNED, "spec"))
        return self._plan.choice is None and all((item.operation.name, *each) in known for each in wanted)

    def close(self) -> None:
        """End all processes."""
        self._lane.close()
        self._lab.close()
        if self._references is not None:
            self._references.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _measured(self, item: Item, entrants: Sequence[Entrant], known: Known) -> Iterator[Row]:
        for _ in range(_MOST_LOST):
            rows = self._lane.measure(item.operation, entrants)
            if any(row.state in ("failed", "lost") for row in rows):
                reason = self._why_lost(self._device.place)
                if reason:
                    raise DeviceLostError(reason)
            if all(row.state != "lost" for row in rows):
                break
            self._watch.noted(f"{self._device.place}: its worker was lost, and has come back")
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
        if self._plan.tuning is not None:
            kept = self._plan.folder / SPECS / f"{item.operation.name}.mlir"
            self._watch.working(str(self._device.place), f"tuning {item.operation.name}")
            try:
                tuned = tuned_version(
                    program, self._lab, self._plan.tuning, kept, self._plan.chip,
                    device=self._device.place.option, scheduler=self._site.scheduler,
                )  # fmt: skip
            except TunerError as error:
                entrants.append(Entrant(Iree(TUNED), "spec", ("failed", f"not tuned: {error}")))
            else:
                versions.append((Iree(TUNED), "spec", tuned.version))
                note = tuned.note
        for each in self._compiled(item, program, versions):
            entrants.append(replace(each, note=note if each.backend.name == TUNED else ""))
        entrants.sort(key=lambda each: each.backend.name != DEFAULT)
        if self._plan.against is not None:
            old = self._plan.against / PROGRAMS
            if has_programs(old, f"{item.operation.name}.{DEFAULT}"):
                entrants.append(_saved(old, f"{item.operation.name}.{DEFAULT}"))
        entrants += [self._library(item, each) for each in self._plan.backends]
        return [each for each in entrants if self._wanted(item, each)]

    def _library(self, item: Item, backend: Backend) -> Entrant:
        if missing := self._device.libraries[backend.name].missing:
            return Entrant(backend, problem=("missing", missing))
        refused = backend.refuses(item.operation, self._device.place.uri)
        return Entrant(backend, problem=("cannot", refused) if refused else None)

    def _chosen(
        self, item: Item, program: Program, plain: Sequence[Entrant], known: Known
    ) -> Iterator[Sequence[Entrant]]:
        """The default with a configuration each, compiled some at a time."""
        choice = self._plan.choice
        if choice is None:
            return
        default = next(
            (each for each in plain if each.backend.name == DEFAULT and each.problem is None), None
        )
        try:
            with SOLVER:
                found = NamedConfigurations(program, self._lab)
        except TunerError as error:
            self._watch.noted(f"{item.operation.name}: no configurations: {error}")
            return
        versions = (
            each
            for each in found.chosen(choice)
            if (item.operation.name, DEFAULT, each.name) not in known
            and is_found(self._plan.patterns, f"{item.operation.name}_{each.name}")
        )
        while chunk := self._some(versions):
            wanted = [(Iree(DEFAULT), version.name, version) for version in chunk]
            for entrant in self._compiled(item, program, wanted):
                yield [entrant] if default is None else [default, entrant]

    def _some(self, versions: Iterator[Build]) -> list[Build]:
        with SOLVER:
            return list(islice(versions, self._lab.jobs))

    def _compiled(
        self, item: Item, program: Program, versions: Sequence[tuple[Iree, str, Build]]
    ) -> list[Entrant]:
        """Versions of an operation, each with its back end and configuration, compiled at the same time."""
        found = play(self._lab, [self._compile(item, program, *each) for each in versions])
        return [each for each in found if each is not None]

    def _compile(
        self, item: Item, program: Program, backend: Iree, configuration: str, version: Build
    ) -> Jobs[Entrant]:
        stem, timing = f"{item.operation.name}.{version.name}", self._plan.conditions.timing
        try:
            programs = yield from compile_version(
                program, version, self._lab, self._programs, stem, with_parts=timing == "device"
            )
        except TunerError as error:
            return Entrant(backend, configuration, ("failed", f"compilation failed: {error}"))
        return Entrant(replace(backend, programs=programs), configuration)

    def _wanted(self, item: Item, entrant: Entrant) -> bool:
        if entrant.backend.name in (DEFAULT, BEFORE) and self._plan.choice is not None:
            return True  # configurations are compared with it
        name = "_".join(filter(None, (item.operation.name, entrant.configuration)))
        return is_found(self._plan.patterns, name)

    def _normalised(self, row: Row) -> Row:
        """With the time on the run's first device, at the same share of its roofline."""
        own = self._device.roofline
        if row.time_us is None or own is None or self._first is None:
            return row
        work = row.flops, row.bytes, row.compute_type
        here, there = own.attainable_us(*work), self._first.attainable_us(*work)
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


def _saved(folder: Path, stem: str) -> Entrant:
    """An earlier run's code."""
    try:
        return Entrant(Iree(BEFORE, load_programs(folder, stem)))
    except TunerError as error:
        return Entrant(Iree(BEFORE), problem=("failed", str(error)))


def _is_known(item: Item, entrant: Entrant, known: Known) -> bool:
    return (item.operation.name, entrant.backend.name, entrant.configuration) in known
