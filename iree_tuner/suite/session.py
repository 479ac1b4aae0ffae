"""A whole run: operations spread over devices, rows written as they come.

The limits of a device are measured first by the run's own back ends: large products of each type, and a
stream. The best of all back ends counts.
"""

from __future__ import annotations

import secrets
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import ParamSpec

from iree_tuner.compiler.versions import check_release, installed, other_release
from iree_tuner.errors import TunerError
from iree_tuner.files import read_json
from iree_tuner.profiling.roofline import MemoryLevel, Roofline, from_json, to_json
from iree_tuner.profiling.run import Tools, roofline_for
from iree_tuner.suite.backends.iree import DEFAULT
from iree_tuner.suite.device_run import DeviceRun, Watch, row_of
from iree_tuner.suite.kinds.elementwise import Elementwise
from iree_tuner.suite.kinds.product import Matmul
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.plan import Item, SuitePlan
from iree_tuner.suite.results import Results, ResultsFolder, Row, RunFacts, read_results
from iree_tuner.suite.site import Device, DeviceAddress, Hosts
from iree_tuner.targets import Target, on_host
from iree_tuner.targets.find import with_user_flags
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.stop import StopRequest

P = ParamSpec("P")

_WAIT_S = 0.5
_PROBE_ROUNDS = 8
_AGAIN = ("missing", "lost")
"""States of rows that are measured again when a run goes on."""


def run_suite(plan: SuitePlan, watch: Watch, *, site: Hosts | None = None) -> Results:
    """Do what is planned, or what is left of it; Ctrl-C ends it after the current operation.

    Args:
        plan: of the run.
        watch: gets the progress; from several threads, one at a time.
        site: where the devices are; this machine by default, a cluster with `site_at(client)`.

    Raises:
        TunerError: no device answers, the folder has another run's results, or it cannot be written.
        UsageError: an unknown device.
    """
    if plan.tuning is not None or plan.choice is not None or not other_release():
        check_release()  # specs are of one release of the compiler
    return _Session(plan, watch, site or Hosts()).run()


class _Session:
    """The state that threads share, one for each device."""

    def __init__(self, plan: SuitePlan, watch: Watch, site: Hosts) -> None:
        self._plan = plan
        self._site = site
        self._watch = _OneAtATime(watch)
        self._folder = ResultsFolder(plan.folder)
        self._lock = threading.Condition()
        self._busy = 0  # operations that devices have taken
        self._hosts: dict[str, threading.Lock] = {}  # devices that compute on a host's cores take turns
        self._stop = StopRequest(watch.stopping)
        self._error: Exception | None = None
        self._left = deque(plan.items)
        self._rows: set[tuple[str, str, str]] = set()

    def run(self) -> Results:
        plan = self._plan
        targets = {
            place: with_user_flags(self._site.target(place, plan.chip), plan.flags)
            for place in self._site.places(plan.devices)
        }
        self._rows = self._known()
        devices = self._devices(targets)
        facts = self._facts(devices)
        self._folder.begin(facts)
        self._watch.planned(len(plan.items))
        with self._stop, tempfile.TemporaryDirectory(prefix="iree_tuner_") as scratch:
            threads = [
                threading.Thread(target=self._serve, args=(each, devices, Path(scratch)), daemon=True)
                for each in devices
            ]
            for each in threads:
                each.start()
            for each in threads:
                while each.is_alive():
                    each.join(0.2)  # a join without a limit would not hear Ctrl-C
        if self._error is not None:
            raise self._error
        if not self._stop.requested:
            self._tell_lost(devices)
        return read_results(plan.folder)

    def _known(self) -> set[tuple[str, str, str]]:
        """Existing rows of the folder. Raises TunerError where they are of other conditions."""
        try:
            there = read_results(self._plan.folder)
        except TunerError:
            return set()
        if self._plan.fresh:
            self._folder.clear()
            return set()
        ours = self._plan.conditions, installed()["iree-base-compiler"] or ""
        if (there.facts.conditions, there.facts.compiler) != ours:
            raise TunerError(
                "the folder has results of other conditions or of another compiler",
                location=str(self._plan.folder), hint="choose another folder with -o, or pass --fresh",
            )  # fmt: skip
        done = (each for each in there.rows if each.state not in _AGAIN)
        return {(each.operation, each.backend, each.configuration) for each in done}

    def _devices(self, targets: dict[DeviceAddress, Target]) -> list[Device]:
        """Devices that answer, with their rooflines. Raises TunerError where none does."""
        found: list[Device] = []
        reasons: list[str] = []
        given = _given_rooflines(self._plan.rooflines)
        for place, target in targets.items():
            self._watch.working(str(place), "opening the device")
            if reason := self._site.why_lost(place):
                reasons.append(f"{place}: {reason}")
                self._watch.noted(f"{place} skipped, as it does not respond: {reason}")
                continue
            device = self._site.device(place, target, self._plan.backends)
            roofline = given.get(str(place)) or given.get(place.uri) or self._roofline(device)
            found.append(replace(device, roofline=roofline))
        if not found:
            raise TunerError(f"no device responds: {'; '.join(reasons)}")
        return found

    def _roofline(self, device: Device) -> Roofline | None:
        self._watch.working(str(device.place), "measuring the roofline")
        with self._site.lab(device.target, device.place, [device.place], 1, cold=True) as lab:
            tools = Tools(lab.compilers, lab.builder, lab.measurer, lab.cold)
            roofline, problem = roofline_for(device.target, tools, self._plan.cache)
        if self._plan.probe:
            return self._probed(replace(device, roofline=roofline))
        if problem:
            self._watch.noted(f"{device.place}: no roofline: {problem}")
        return roofline

    def _probed(self, device: Device) -> Roofline:
        """By the back ends of this run, under its conditions but without a background load and streams."""
        with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
            plain = replace(self._plan.conditions, background_load_s=0.0, streams=1, rounds=_PROBE_ROUNDS)
            plan = replace(
                self._plan, folder=Path(folder), conditions=plain, tuning=None, choice=None, patterns=(),
                verify=False, against=None, launches=1,
            )  # fmt: skip
            kinds = [each.operation.compute_type for each in self._plan.items]
            with closing(DeviceRun(plan, device, [device], self._site, Path(folder), self._watch)) as running:
                return measured_roofline(device, kinds, lambda item: running.measure(item, ()))

    def _facts(self, devices: Sequence[Device]) -> RunFacts:
        plan = self._plan
        versions = {
            name: library.version
            for device in reversed(devices)
            for name, library in device.libraries.items()
            if library.version
        }
        against = read_results(plan.against).facts.id if plan.against is not None else ""
        return RunFacts(
            id=time.strftime("%Y%m%dT%H%M%S-") + secrets.token_hex(3), name=plan.name, commit=plan.commit,
            compiler=installed()["iree-base-compiler"] or "", versions=versions,
            devices={str(each.place): each.name for each in devices},
            rooflines={
                str(each.place): to_json(each.roofline) for each in devices if each.roofline is not None
            },
            conditions=plan.conditions, against=against, started=time.time(),
        )  # fmt: skip

    def _serve(self, device: Device, every: Sequence[Device], scratch: Path) -> None:
        own = scratch / secrets.token_hex(6)
        own.mkdir()
        try:
            with closing(DeviceRun(self._plan, device, every, self._site, own, self._watch)) as running:
                while self._go_on(running, device):
                    pass
        except Exception as error:  # reported by the thread that waits
            self._error = self._error or error
            self._stop.request()

    def _go_on(self, running: DeviceRun, device: Device) -> bool:
        """Measure the next operation; whether there may be another one for this device."""
        item = self._next()
        if item is None:
            return False
        lost = False
        try:
            with self._alone(device.place):
                for row in running.measure(item, self._rows):
                    self._add(row)
            self._watch.done(item.operation.name)
        except DeviceLostError as error:
            lost = True
            self._watch.noted(f"{device.place} no longer responds: {error}")
        finally:
            with self._lock:
                self._busy -= 1
                if lost:
                    self._left.appendleft(item)
                self._lock.notify_all()
        return not lost

    def _alone(self, place: DeviceAddress) -> AbstractContextManager[object]:
        """A device that computes on the cores of its host excludes others there."""
        if not on_host(place.uri):
            return nullcontext()
        with self._lock:
            return self._hosts.setdefault(place.worker, threading.Lock())

    def _next(self) -> Item | None:
        """An operation; None at the end.

        Waits for busy devices: the operation of a lost device comes back.
        """
        with self._lock:
            while self._busy and not self._left and not self._stop.requested:
                self._lock.wait(_WAIT_S)
            if self._stop.requested or not self._left:
                return None
            self._busy += 1
            return self._left.popleft()

    def _add(self, row: Row) -> None:
        with self._lock:
            self._folder.add(row)
            self._rows.add((row.operation, row.backend, row.configuration))
        self._watch.measured(row)

    def _tell_lost(self, devices: Sequence[Device]) -> None:
        """Add rows for operations that no device is left for."""
        for each in self._left:
            why = "no device responds any more"
            row = row_of(each.operation, devices[-1], DEFAULT, "default", "lost", why)
            self._add(replace(row, at=time.time()))


class _OneAtATime:
    """A watch that is called by one thread at a time."""

    def __init__(self, watch: Watch) -> None:
        lock = threading.Lock()

        def locked(function: Callable[P, None]) -> Callable[P, None]:
            def call(*args: P.args, **kwargs: P.kwargs) -> None:
                with lock:
                    function(*args, **kwargs)

            return call

        self.planned = locked(watch.planned)
        self.working = locked(watch.working)
        self.noted = locked(watch.noted)
        self.measured = locked(watch.measured)
        self.done = locked(watch.done)
        self.stopping = watch.stopping  # within a handler, which may interrupt the thread with the lock


def _given_rooflines(path: Path | None) -> dict[str, Roofline]:
    """Rooflines by device URI, as `run.json` has them. Raises TunerError for another file."""
    if path is None:
        return {}
    try:
        data = read_json(path)
        return {uri: from_json(each) for uri, each in data.get("rooflines", data).items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"not a file of rooflines by device, as in run.json: {error}"
        raise TunerError(reason, location=str(path)) from None


_HOST_SIDE, _GPU_SIDE = 1024, 4096
_HOST_ROWS, _GPU_ROWS = 2048, 16384
_COLUMNS = 4096
_LEAST = "f32"

Measure = Callable[[Item], Iterable[Row]]


def probes(compute_types: Iterable[str], *, on_host: bool) -> list[Operation]:
    """A product of each type and a sum of two long vectors: large enough for the device, or for the host."""
    side, rows = (_HOST_SIDE, _HOST_ROWS) if on_host else (_GPU_SIDE, _GPU_ROWS)
    products = [
        Matmul(m=side, n=side, k=side, layout="tn", **Matmul.of_type(kind))  # pyright: ignore[reportArgumentType]
        for kind in dict.fromkeys([_LEAST, *compute_types])
    ]
    return [*products, Elementwise(chain="add", rows=rows, columns=_COLUMNS)]


def measured_roofline(device: Device, compute_types: Iterable[str], measure: Measure) -> Roofline:
    """The best that was measured of each probe.

    Args:
        device: its known roofline has its caches, and the types that no back end computes.
        compute_types: of the operations of a run.
        measure: rows of an operation, of all back ends.
    """
    known, host = device.roofline, on_host(device.place.uri)
    rows = [row for each in probes(compute_types, on_host=host) for row in measure(Item(each))]
    ran = [row for row in rows if row.time_us]
    peaks = dict(known.flops_per_s) if known and host else {}
    for row in ran:
        if row.kind == Matmul.kind and row.gflops:
            peaks[row.compute_type] = max(peaks.get(row.compute_type, 0.0), row.gflops * 1e9)
    stream = max(
        (row.gbytes * 1e9 for row in ran if row.kind == Elementwise.kind and row.gbytes), default=None
    )
    levels = _levels(device, known, stream)
    best = sorted({row.backend for row in ran})
    how = f"measured with matrix products and a memory stream, the best of {', '.join(best)}"
    today = datetime.now(UTC).date().isoformat()
    return Roofline(device.name, tuple(sorted(peaks.items())), levels, how, conditions=(("date", today),))


def _levels(device: Device, known: Roofline | None, stream: float | None) -> tuple[MemoryLevel, ...]:
    """The known caches, and the measured memory."""
    near = known.levels[:-1] if known else (MemoryLevel(None, device.last_level_bytes),)
    if stream is None:
        return (*near, known.levels[-1]) if known else near
    return (*near, MemoryLevel(stream))
