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
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue

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

_Ended = tuple[DeviceRun, Item, Exception | None]
"""A device's part of a run that has measured an operation, and what ended it."""

_WAIT_S = 0.2  # waiting without a limit would not hear Ctrl-C
_PROBE_ROUNDS = 8
_AGAIN = ("missing", "lost")
"""States of rows that are measured again when a run goes on."""


def run_suite(plan: SuitePlan, watch: Watch, *, site: Hosts | None = None) -> Results:
    """Do what is planned, or what is left of it; Ctrl-C ends it after the current operation.

    Args:
        plan: of the run.
        watch: gets the progress, from several threads.
        site: where the devices are; this machine by default, a cluster with `site_at(client)`.

    Raises:
        TunerError: no device answers, the folder has another run's results, or it cannot be written.
        UsageError: an unknown device.
    """
    if plan.tuning is not None or plan.choice is not None or not other_release():
        check_release()  # specs are of one release of the compiler
    return _Session(plan, watch, site or Hosts()).run()


class _Session:
    """Each free device gets the next operation, in a thread of its own, until none is left, or no device."""

    def __init__(self, plan: SuitePlan, watch: Watch, site: Hosts) -> None:
        self._plan = plan
        self._site = site
        self._watch = watch
        self._folder = ResultsFolder(plan.folder)
        self._lock = threading.Lock()
        self._hosts: dict[str, threading.Lock] = {}  # devices that compute on a host's cores take turns
        self._stop = StopRequest(watch.stopping)
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
        with self._stop:
            self._measure(devices)
        for each in () if self._stop.requested else self._left:  # no device is left for them
            why = "no device responds any more"
            row = row_of(each.operation, devices[-1], DEFAULT, "default", "lost", why)
            self._add(replace(row, at=time.time()))
        return read_results(plan.folder)

    def _measure(self, devices: Sequence[Device]) -> None:
        """The operation of a lost device is left for others. Raises what went wrong with another one."""
        ended = SimpleQueue[_Ended]()
        failure: Exception | None = None
        with ExitStack() as stack:
            free = [stack.enter_context(self._run_on(each, devices, self._plan)) for each in devices]
            busy = 0
            while busy or (free and self._left and not self._stop.requested):
                while free and self._left and not self._stop.requested:
                    taken = free.pop(0), self._left.popleft(), ended
                    threading.Thread(target=self._serve, args=taken, daemon=True).start()
                    busy += 1
                try:
                    running, item, error = ended.get(timeout=_WAIT_S)
                except Empty:
                    continue
                busy -= 1
                if error is None:
                    self._watch.done(item.operation.name)
                    free.append(running)
                elif isinstance(error, DeviceLostError):
                    self._watch.noted(f"{running.device.place} no longer responds: {error}")
                    self._left.appendleft(item)
                else:
                    failure = failure or error
                    self._stop.request()
        if failure is not None:
            raise failure

    def _run_on(self, device: Device, every: Sequence[Device], plan: SuitePlan) -> closing[DeviceRun]:
        return closing(DeviceRun(plan, device, every, self._site, self._watch))

    def _serve(self, running: DeviceRun, item: Item, ended: SimpleQueue[_Ended]) -> None:
        error: Exception | None = None
        try:
            with self._alone(running.device.place):
                for row in running.measure(item, self._rows):
                    self._add(row)
        except Exception as caught:  # for the thread that waits
            error = caught
        ended.put((running, item, error))

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
        return {each.key[:3] for each in there.rows if each.state not in _AGAIN}

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
        plain = replace(self._plan.conditions, background_load_s=0.0, streams=1, rounds=_PROBE_ROUNDS)
        kinds = [each.operation.compute_type for each in self._plan.items]
        with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
            plan = replace(
                self._plan, folder=Path(folder), conditions=plain, tuning=None, choice=None, patterns=(),
                verify=False, against=None, launches=1,
            )  # fmt: skip
            with self._run_on(device, [device], plan) as running:
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

    def _alone(self, place: DeviceAddress) -> AbstractContextManager[object]:
        """A device that computes on the cores of its host excludes others there."""
        if not on_host(place.uri):
            return nullcontext()
        with self._lock:
            return self._hosts.setdefault(place.worker, threading.Lock())

    def _add(self, row: Row) -> None:
        with self._lock:
            self._folder.add(row)
            self._rows.add(row.key[:3])
            self._watch.measured(row)


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
    near = known.levels[:-1] if known else (MemoryLevel(None, device.last_level_bytes),)
    far = (MemoryLevel(stream),) if stream is not None else known.levels[-1:] if known else ()
    best = sorted({row.backend for row in ran})
    how = f"measured with matrix products and a memory stream, the best of {', '.join(best)}"
    today = (("date", datetime.now(UTC).date().isoformat()),)
    return Roofline(device.name, tuple(sorted(peaks.items())), (*near, *far), how, today)
