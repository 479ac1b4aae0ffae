"""The measuring worker's functions for whole programs. Every function here runs in it.

Programs are passed as paths: they hold weights, and are asked for many times.
"""

from __future__ import annotations

import math
import os
import time
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from iree_tuner.compiler.worker import memory_of_machine
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.program_loaded import SEEDS, KnownResults, LoadedProgram, forget_inputs
from iree_tuner.device.program_run import ArchiveMember, ProgramRun
from iree_tuner.device.sensors import sensors_for
from iree_tuner.device.slack import ErrorDepth, Results, Spreads, agreement_of, arbitrated
from iree_tuner.errors import TunerError
from iree_tuner.measure.sampling import interleave
from iree_tuner.measure.timing import let_go
from iree_tuner.targets import DEFAULT_DEVICE
from iree_tuner.targets.kind import RuntimeFlags
from iree_tuner.targets.runtime import OUT_OF_MEMORY, RUNTIME_ERRORS, first_line

_KEPT = 16
_MOST_KNOWN = 1 << 28  # bytes
_SHOWN = 8  # values of a result

CALL_S = 60.0
"""`rounds_here` returns then with the rounds that it has."""

_loaded: OrderedDict[tuple[str, str, ProgramRun], LoadedProgram] = OrderedDict()
_known: OrderedDict[Hashable, KnownResults] = OrderedDict()


@dataclass(frozen=True)
class Failed:
    """A program that does not load or run: its index in the request, and one line."""

    index: int
    message: str


@dataclass(frozen=True)
class Table:
    """Programs that take turns."""

    paths: tuple[str, ...]  # their VM modules, the default's first
    device: str  # device URI
    run: ProgramRun  # how each is run
    marker: str  # a file with the number of the running program, for when this process dies
    batch_s: float = 0.05  # least length of a sample, in seconds
    # the same program for this machine's processor, which decides if results differ; or empty
    for_host: str = ""
    widened: str = ""  # the same program with f32 for narrow floats (`program.widened`); or empty
    # for each path, flags of the runtime that its device is opened with
    runtimes: tuple[RuntimeFlags, ...] = ()


def load_here(table: Table, index: int) -> Failed | None:
    """Load a program, the default first. Raises TunerError if the default cannot be run as asked."""
    if index == 0:
        let_go()
    with _ProgramMarker(table.marker) as mark:
        mark(index)
        try:
            _program(table, index)
        except (*RUNTIME_ERRORS, TunerError) as error:
            if index == 0:
                raise
            return Failed(index, first_line(error))
    return None


def default_here(table: Table, depth: ErrorDepth | None = None) -> str | Failed:
    """Run the default; returns the names of its functions. With a depth, also computes the results' spreads.

    Raises TunerError if it cannot be run as asked.
    """
    with _ProgramMarker(table.marker) as mark:
        mark(0)
        program = _program(table, 0)
        try:
            program.results()
            if depth is not None:
                _spreads(table, program, depth)
        except RUNTIME_ERRORS as error:
            return Failed(0, f"the program does not run: {first_line(error)}")
        return program.name


@dataclass(frozen=True)
class Output:
    """A result of a program."""

    path: str  # of the .npy file
    shape: tuple[int, ...]  # of the tensor
    element_type: str  # as NumPy names it
    least: float  # `least`, `greatest`, `mean`: of its values; NaN if there are none
    greatest: float
    mean: float
    first: tuple[float, ...]  # the first values, in row-major order


@dataclass(frozen=True)
class Ran:
    """A program that ran."""

    function: str  # the entry functions, in order
    outputs: tuple[Output, ...]  # their results, in files
    # for each of the program's own checks, its function and why it fails; empty if it passes
    checks: tuple[str, ...] = ()
    overwrites: str = ""  # that invocations change constants of the program; or empty
    agreement: Agreement | None = None  # with another compilation of it, or None


def save_here(table: Table, index: int, folder: str) -> Ran | Failed:
    """Write a program's results for the first inputs into a folder."""
    with _ProgramMarker(table.marker) as mark:
        mark(index)
        try:
            program = _program(table, index)
            results = program.results()[0]
        except (*RUNTIME_ERRORS, TunerError) as error:
            return Failed(index, first_line(error))
    outputs = [_save(value, Path(folder) / f"result_{number}.npy") for number, value in enumerate(results)]
    return Ran(program.name, tuple(outputs), program.known.checks, program.known.overwrites)


def _save(value: np.ndarray, path: Path) -> Output:
    try:
        np.save(path, value)
    except OSError as error:
        raise TunerError(f"cannot write: {error.strerror}", location=str(path)) from None
    wide = value.astype(np.float64, copy=False) if value.dtype.kind != "c" else np.abs(value)
    nan = float("nan")
    least, greatest, mean = (wide.min(), wide.max(), wide.mean()) if wide.size else (nan, nan, nan)
    first = tuple(float(each) for each in wide.reshape(-1)[:_SHOWN])
    return Output(str(path), value.shape, value.dtype.name, float(least), float(greatest), float(mean), first)


def same_here(table: Table, index: int, depth: ErrorDepth, *, brief: bool = False) -> Agreement | Failed:
    """Whether a program's results agree with the default's or, where those are wrong, with the processor's.

    With `brief`, only for the first inputs: for code that was compared before, at another address.
    """
    with _ProgramMarker(table.marker) as mark:
        mark(0)
        default, spreads = _default(table, depth)
        mark(index)
        try:
            other = _program(table, index)
            got = [other.results_of(SEEDS[0])] if brief else other.results()
        except (*RUNTIME_ERRORS, TunerError) as error:
            return Failed(index, first_line(error))
        assert default.results is not None, "it ran"
        expected, spreads = default.results[: len(got)], spreads[: len(got)]
        found = agreement_of(got, expected, spreads)
        if other.known.unwritten and not default.unwritten:
            return Agreement(False, math.inf, other.known.unwritten)
        if (failing := _failing(other.known)) and not _failing(default):
            return Agreement(False, math.inf, failing)
        if table.for_host and not table.run.unclear and (not found.ok or found.loose):
            found = _arbitrated(table, found, got, default, spreads, depth)
        if default.unwritten:
            found = replace(found, note=table.run.blamed(f"by default, {default.unwritten}"))
        for message in filter(None, (_failing(default), default.overwrites)):
            found = replace(found, note="; ".join(filter(None, (f"by default, {message}", found.note))))
        if found.ok and other.known is not default:
            other.known.results = None  # they may be large
        return found


def _default(table: Table, depth: ErrorDepth) -> tuple[KnownResults, Spreads]:
    """The default's results and their spreads; it is loaded and run if they are not known."""
    path, runtime = table.paths[0], table.runtimes[0] if table.runtimes else ()
    known = _known_of(path, table.device, table.run, runtime)
    if known.results is None or depth not in known.spreads:
        program = _program(table, 0)
        program.results()
        known = program.known
        return known, _spreads(table, program, depth)
    return known, known.spreads[depth]


def _failing(known: KnownResults) -> str:
    """The first of a program's own checks that fails; empty if none does."""
    return next((f"a check of the program fails in {why}" for why in known.checks if why), "")


def _arbitrated(
    table: Table, found: Agreement, got: Results, default: KnownResults, spreads: Spreads, depth: ErrorDepth
) -> Agreement:
    own = replace(depth, moves=())
    exact: dict[int, Sequence[np.ndarray]] = dict(zip(SEEDS, default.exact, strict=False))
    try:
        processor = _load(table.for_host, DEFAULT_DEVICE, table)
        expected = (default.results or [])[: len(got)]
        return arbitrated(
            found, got, expected, spreads,
            lambda seed: processor.result_and_spreads(seed, own, exact.get(seed)),
        )  # fmt: skip
    except (*RUNTIME_ERRORS, TunerError):
        return found


def _spreads(table: Table, default: LoadedProgram, depth: ErrorDepth) -> Spreads:
    """How much correct versions may differ from the default's results: by the widened program, if it runs."""
    if depth in default.known.spreads or not table.widened:
        return default.spreads(depth)
    try:
        widened = LoadedProgram(table.widened, table.device, table.run, like=default)
        return default.spreads(depth, widened)
    except (*RUNTIME_ERRORS, TunerError, MemoryError):
        return default.spreads(depth)


def rounds_here(table: Table, rounds: int, start: int) -> list[list[float]] | Failed:
    """Rounds of one sample of each program, in microseconds; at least one, fewer than asked for if they are
    long.

    `start` is the number of rounds before.
    """
    with _ProgramMarker(table.marker) as mark:
        sources: list[_Invocations] = []
        current = 0
        try:
            for current in range(len(table.paths)):
                mark(current)
                sources.append(_Invocations(_program(table, current), table.batch_s, mark, current))
            sensors = sensors_for(table.device)
            sensors.start()
            rows: list[list[float]] = []
            end = time.monotonic() + CALL_S
            while len(rows) < rounds and (not rows or time.monotonic() < end):
                rows += interleave(sources, sensors, 1, start=start + len(rows))
            return rows
        except (*RUNTIME_ERRORS, TunerError) as error:
            return Failed(mark.last, first_line(error))


def forget_here() -> None:
    """Free programs, which have weights, and inputs on devices. Parameters stay for the next comparison."""
    _loaded.clear()
    forget_inputs()


class _ProgramMarker:
    """Writes the number of the running program to a file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.last = 0

    def __enter__(self) -> _ProgramMarker:
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def __call__(self, index: int) -> None:
        self.last = index
        os.pwrite(self._file, index.to_bytes(4, "little"), 0)


def marked(path: Path) -> int:
    """The number of the program that ran last."""
    return int.from_bytes(path.read_bytes()[:4], "little") if path.exists() else 0


class _Invocations:
    """Samples of the time of whole invocations, as the program's user sees it.

    The host waits for each of them or, if their memory is given, for the last one of a sample only: how long
    a GPU takes then varies by less than how soon the host wakes up.
    """

    def __init__(self, program: LoadedProgram, batch_s: float, mark: _ProgramMarker, index: int) -> None:
        program.settle()
        self._program = program
        self._count = program.count_for(batch_s)
        self._mark = mark
        self._index = index

    def batch(self) -> float:
        self._mark(self._index)
        return self._program.batch(self._count, in_flight=self._program.in_turn) / self._count * 1e6


def _program(table: Table, index: int) -> LoadedProgram:
    """A loaded program. A few are kept, more if they are small, and the ones that take turns if they fit."""
    return _load(table.paths[index], table.device, table, table.runtimes[index] if table.runtimes else ())


def _load(path: str, device: str, table: Table, runtime: RuntimeFlags = ()) -> LoadedProgram:
    key = (path, device, table.run)
    if key in _loaded:
        _loaded.move_to_end(key)
        return _loaded[key]
    turns = {(path, table.device, table.run) for path in table.paths}
    parameters = sum(_bytes(path) for _, path in table.run.parameters)
    room = memory_of_machine() // 4 - _bytes(path) - parameters  # which all of them share
    for other in list(_loaded):
        held = sum(_bytes(each) for each, *_ in _loaded)
        if len(_loaded) < _KEPT and held <= room:
            break
        if other not in turns:
            del _loaded[other]
    known = _known_of(path, device, table.run, runtime)
    try:
        _loaded[key] = LoadedProgram(*key, known=known, runtime=runtime)
    except RUNTIME_ERRORS as error:
        if not _loaded or OUT_OF_MEMORY not in str(error):
            raise
        for other in [each for each in _loaded if each not in turns] or list(_loaded):
            del _loaded[other]
        _loaded[key] = LoadedProgram(*key, known=known, runtime=runtime)
    return _loaded[key]


def _known_of(path: str, device: str, run: ProgramRun, runtime: RuntimeFlags) -> KnownResults:
    """The facts about a program, by its contents: comparisons reuse names for different programs."""
    inputs = [each.path if isinstance(each, ArchiveMember) else each for each in run.inputs]
    files = [Path(each) for each in (*inputs, *(path for _, path in run.parameters)) if isinstance(each, str)]
    changed = tuple(each.stat().st_mtime_ns for each in files if each.exists())
    key = (Path(path).name.partition(".")[0], device, run, changed, runtime)
    found = _known.setdefault(key, KnownResults())
    _known.move_to_end(key)
    while len(_known) > 1 and (
        len(_known) > _KEPT or sum(each.bytes for each in _known.values()) > _MOST_KNOWN
    ):
        _known.popitem(last=False)
    return found


def _bytes(path: str) -> int:
    return Path(path).stat().st_size
