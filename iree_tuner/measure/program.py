"""Whole programs: run their functions, time them, and compare several compilations of one program."""

from __future__ import annotations

import hashlib
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeVar

import numpy as np

from iree_tuner.compiler.worker import Calls, SentPath, WorkerError, WrittenPath
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import TunerError
from iree_tuner.measure.program_worker import (
    CALL_S,
    Failed,
    Ran,
    Table,
    default_here,
    forget_here,
    load_here,
    marked,
    rounds_here,
    same_here,
    save_here,
)
from iree_tuner.measure.statistics import Comparison, JudgePlan, compare_rows, judge, over_cases
from iree_tuner.measure.timing import leave_here
from iree_tuner.targets import on_host
from iree_tuner.targets.kind import RuntimeFlags
from iree_tuner.targets.runtime import OUT_OF_MEMORY

T = TypeVar("T")

_AS_GIVEN = ProgramRun()
_SHALLOW = ErrorDepth()
_TOGETHER = 6  # compilations that take turns with the default: all of them are loaded at once
_WORTH_SCREENING = 32  # rounds of a comparison
_TIMEOUT_S = 600.0  # of the default
_LEAST_S = 60.0  # of another: to load, and to run a few times
_PATIENCE = 20.0  # times what the default takes
_ROUNDS_ALONE = 8
SCREENED, _HOPELESS = 5, 1.5
"""Rounds after which versions are out that always took longer than this factor times the default."""
_FEW = 2  # versions: fewer are not screened


@dataclass(frozen=True)
class ProgramComparison:
    """The comparison of a compilation of a program with the default one."""

    function: str  # the entry functions that were run
    # times of one invocation, of the program and its default; None if there is an error
    comparison: Comparison | None
    agreement: Agreement  # whether the results are the same, within the types' tolerance
    # why it was not timed: it does not load or run, killed its process, or has wrong results; or empty
    error: str = ""
    # seconds to load it and compare its results, at each place of the code, without work that is done once
    # for all versions
    check_s: float = 0.0
    # whether memory for results and temporary values was given to it once (`program.provided_memory`), and
    # not allocated in each call; calls are then in flight
    memory_provided: bool = False
    same_code: bool = False  # whether it was compiled to the same bytes as the default
    # with the compilation that the others are also compared with (`compare_programs`), in the same rounds
    over_rival: Comparison | None = None
    # if the program was run with several sizes, the name and comparison of each
    by_case: tuple[tuple[str, ProgramComparison], ...] = ()

    @property
    def called(self) -> str:
        """The entry functions, and how they are called."""
        return f"{self.function}, calls in flight" if self.memory_provided else self.function

    @property
    def wins_somewhere(self) -> bool:
        """Whether it is measurably faster, for at least one of several sizes."""
        every = [each.comparison for _, each in self.by_case] or [self.comparison]
        return any(each is not None and each.verdict == "win" for each in every)

    @property
    def ok(self) -> bool:
        return not self.error


def compared_on(cases: Sequence[tuple[str, ProgramComparison]]) -> ProgramComparison:
    """The comparison of a version for several sizes; the worst case counts."""
    (_, first), *others = cases
    if not others:
        return first
    seconds = sum(each.check_s for _, each in cases)
    for name, each in cases:
        if each.error:
            error = f"--dim {name}: {each.error}"
            return replace(each, comparison=None, error=error, check_s=seconds, by_case=tuple(cases))
    worst = max((each.agreement for _, each in cases), key=lambda each: each.worst)
    notes = dict.fromkeys(each.agreement.note for _, each in cases if each.agreement.note)
    found = [each.comparison for _, each in cases if each.comparison is not None]
    over = [each.over_rival for _, each in cases if each.over_rival is not None]
    return replace(
        first,
        comparison=over_cases(found) if len(found) == len(cases) else None,
        over_rival=over_cases(over) if len(over) == len(cases) else None,
        agreement=replace(worst, note="; ".join(notes)),
        check_s=seconds,
        by_case=tuple(cases),
    )


class _FailedError(Exception):
    """One of the programs that take turns failed; `index` is its number among them."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index
        self.message = message


class ProgramBench:
    """Calls of the measuring worker about programs, which are kept as files while it is entered.

    For the arguments, see `compare_programs`.
    """

    def __init__(
        self, device: str, workers: Calls, run: ProgramRun, batch_s: float,
        for_host: Callable[[], bytes] | None = None, runtimes: Sequence[RuntimeFlags] = (),
        widened: Callable[[], bytes] | None = None,
    ) -> None:  # fmt: skip
        self._files = tempfile.TemporaryDirectory(prefix="iree_tuner_")
        self._folder = Path(self._files.name)
        self._marker = self._folder / "running"
        self._table = Table((), device, run, WrittenPath(self._marker), batch_s)
        self._workers = workers
        self._limit_s = _TIMEOUT_S
        self._for_host = for_host
        self._host_path = ""
        self._widened = widened
        self._runtimes = runtimes
        self._runtime_of: dict[str, RuntimeFlags] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(RuntimeError):  # closed meanwhile
            self._workers.submit(forget_here)
        self._files.cleanup()

    def write(self, vmfbs: Sequence[bytes]) -> list[str]:
        """A file for each program, as each is loaded. Raises TunerError if there is no room."""
        paths: list[str] = []
        for number, vmfb in enumerate(vmfbs):
            content = self._folder / hashlib.sha256(vmfb).hexdigest()
            path = content.with_suffix(f".{number}.vmfb")
            try:
                if not content.exists():
                    content.write_bytes(vmfb)
                if not path.exists():
                    path.hardlink_to(content)
            except OSError as error:
                raise TunerError(f"cannot write: {error.strerror}", location=str(path)) from None
            paths.append(SentPath(path))
            self._runtime_of[paths[-1]] = self._runtimes[number] if self._runtimes else ()
        return paths

    def check_default(self, paths: Sequence[str], depth: ErrorDepth | None = None) -> str:
        """Run defaults, from which time limits of others follow; the names of the last one's functions.

        With a depth, also computes how much other versions' results may differ.
        """
        if depth is not None:
            self._write_widened()
        name, start = "", time.monotonic()
        for path in paths:
            self._workers.call(load_here, self._of([path]), 0, timeout_s=_TIMEOUT_S)
            name = self._made(self._workers.call(default_here, self._of([path]), depth, timeout_s=_TIMEOUT_S))
        elapsed_s = (time.monotonic() - start) / len(paths)
        self._limit_s = min(_TIMEOUT_S, max(_LEAST_S, _PATIENCE * elapsed_s))
        return name

    def _write_widened(self) -> None:
        if self._widened is not None:
            made, self._widened = self._widened(), None
            self._table = replace(self._table, widened=self.write([made])[0] if made else "")

    def save(self, path: str, folder: Path) -> Ran:
        """Write a program's results. Raises TunerError if it does not run."""
        table = self._of([path])
        return self._made(self._workers.call(save_here, table, 0, str(folder), timeout_s=_TIMEOUT_S))

    def checked(
        self, paths: Sequence[Sequence[str]], number: int, blank: ProgramComparison, depth: ErrorDepth
    ) -> ProgramComparison:
        """Check a compilation before it is timed: `blank` with its agreement over all places, or an error.

        All are compared with the default at the first place; those at other places, which have the same code,
        only for the first inputs.
        """
        self._write_widened()
        worst, took_s = blank.agreement, 0.0
        for place, here in enumerate(paths):
            table, start = self._of([paths[0][0], here[number]]), time.monotonic()
            found = self._agree(table, depth, brief=place > 0)
            took_s += (time.monotonic() - start) / len(paths)
            blank = replace(blank, check_s=took_s)
            if isinstance(found, Failed):
                self._replace_worker()
                unknown = Agreement(False, math.inf, found.message)
                return replace(blank, agreement=unknown, error=found.message)
            if not found.ok or found.loose:
                found = self._by_the_host(found, table, depth, brief=place > 0)
            if not found.ok:
                error = self._table.run.blamed(f"wrong results: {found.message}")
                return replace(blank, agreement=found, error=error)
            worst = max(found, worst, key=lambda each: each.worst)
        return replace(blank, agreement=worst)

    def _by_the_host(self, found: Agreement, table: Table, depth: ErrorDepth, *, brief: bool) -> Agreement:
        """The processor's verdict on results that differ; `found`, if there is none in time."""
        if self._for_host is not None:
            made, self._for_host = self._for_host(), None
            self._host_path = self.write([made])[0] if made else ""
        if not self._host_path:
            return found
        decided = self._agree(replace(table, for_host=self._host_path), depth, brief=brief)
        if isinstance(decided, Agreement):
            return decided
        self._host_path = ""  # it is not asked again
        return found

    def _agree(self, table: Table, depth: ErrorDepth, *, brief: bool) -> Agreement | Failed:
        """Retried if the default dies: earlier programs in its process may have harmed it."""
        for is_last in (False, True):
            try:
                limit_s = self._limit_s
                failed = self._workers.call(load_here, table, 1, timeout_s=limit_s)
                return failed or self._workers.call(
                    same_here, table, 1, depth, brief=brief, timeout_s=limit_s
                )
            except WorkerError as error:
                if marked(self._marker) != 0:
                    return Failed(1, str(error))
                if is_last:
                    raise
        raise AssertionError("one of two attempts returns or raises")

    def screen(self, paths: Sequence[str], group: Sequence[int], found: dict[int, ProgramComparison]) -> None:
        """A few rounds: a version that is far slower in each of them loses, and takes no more turns."""
        alive = [index for index in group if found[index].ok]
        if len(alive) < _FEW:
            return
        turns = [paths[0], *(paths[index + 1] for index in alive)]
        try:
            one = self.rounds(turns, 1, 0)
            if max(one[0][1:]) <= _HOPELESS * one[0][0]:
                return
            rows = np.asarray([*one, *self.rounds(turns, SCREENED - 1, 1)])
        except (_FailedError, WorkerError):
            return  # the comparison finds the failing version
        for comparison, index, times in zip(compare_rows([rows]), alive, rows.T[1:], strict=True):
            if times.min() > _HOPELESS * rows[:, 0].max():
                found[index] = replace(found[index], comparison=replace(comparison, verdict="lose"))

    def compare(
        self, paths: Sequence[Sequence[str]], group: Sequence[int], found: dict[int, ProgramComparison],
        plan: JudgePlan, rival: int | None = None,
    ) -> None:  # fmt: skip
        """Time the correct remaining versions of a group; repeated without one that fails."""
        known = {index for index in group if found[index].comparison is not None}
        if rival in known and (own := found[rival].comparison) and own.verdict != "lose":
            known.remove(rival)  # it takes turns with each group
        group = [index for index in group if index not in known]
        while alive := [index for index in group if found[index].ok]:
            turns = [[here[0], *(here[index + 1] for index in alive)] for here in paths]
            taken = [0] * len(turns)

            def take(
                more: int, turns: list[list[str]] = turns, taken: list[int] = taken
            ) -> list[list[list[float]]]:
                rows = [self.rounds(here, more, start) for here, start in zip(turns, taken, strict=True)]
                taken[:] = [start + more for start in taken]
                return rows

            try:
                place = alive.index(rival) if rival in alive else None
                comparisons = judge(take, len(alive), plan, rival=place)
            except _FailedError as error:
                if OUT_OF_MEMORY in error.message and len(alive) > 1:
                    self._one_by_one(paths, alive, found, plan)
                    return
                failed = alive[error.index - 1]
                found[failed] = replace(found[failed], error=error.message)
                continue
            except WorkerError as error:  # while the default ran: another version harmed it
                if len(alive) > 1:
                    self._one_by_one(paths, alive, found, plan)
                    return
                self.rounds([paths[0][0]], _ROUNDS_ALONE, 0)  # raises if none did
                message = f"the default fails after it: {error}"
                found[alive[0]] = replace(found[alive[0]], error=message)
                return
            over = comparisons[len(alive) :] or [None] * len(alive)
            for index, comparison, own in zip(alive, comparisons, over, strict=False):
                over_rival = own if index != rival else None
                found[index] = replace(found[index], comparison=comparison, over_rival=over_rival)
            return

    def _one_by_one(
        self, paths: Sequence[Sequence[str]], group: Sequence[int], found: dict[int, ProgramComparison],
        plan: JudgePlan,
    ) -> None:  # fmt: skip
        """Versions that harm each other, or do not fit in memory together."""
        for index in group:
            self.compare(paths, [index], found, replace(plan, seconds=plan.seconds / len(group)))

    def rounds(self, paths: Sequence[str], rounds: int, start: int) -> list[list[float]]:
        """Rounds of one sample of each program. Raises _FailedError if one fails that is not the default."""
        rows: list[list[float]] = []
        while len(rows) < rounds:
            try:
                found = self._workers.call(
                    rounds_here, self._of(paths), rounds - len(rows), start + len(rows),
                    timeout_s=CALL_S + len(paths) * self._limit_s,
                )  # fmt: skip
            except WorkerError as error:
                running = marked(self._marker)
                if running == 0:
                    raise
                raise _FailedError(running, str(error)) from None
            rows += self._made(found)
        return rows

    def _made(self, found: T | Failed) -> T:
        """A result of the worker. Raises TunerError if the first program failed, _FailedError for another."""
        if not isinstance(found, Failed):
            return found
        self._replace_worker()
        raise TunerError(found.message) if found.index == 0 else _FailedError(found.index, found.message)

    def _of(self, paths: Sequence[str]) -> Table:
        runtimes = tuple(self._runtime_of[path] for path in paths)
        return replace(self._table, paths=tuple(paths), runtimes=runtimes)

    def _replace_worker(self) -> None:
        """End the worker after an error on a GPU: nothing runs in its process any more."""
        if not on_host(self._table.device):
            self._workers.end(self._workers.submit(leave_here, timeout_s=_TIMEOUT_S))


def compare_programs(
    placed: Sequence[Sequence[bytes]], device: str, workers: Calls, rounds: int, depth: ErrorDepth,
    run: ProgramRun = _AS_GIVEN, *, batch_s: float = 0.05, seconds: float = 120.0,
    for_host: Callable[[], bytes] | None = None, runtimes: Sequence[RuntimeFlags] = (),
    widened: Callable[[], bytes] | None = None, rival: int | None = None,
) -> list[ProgramComparison]:  # fmt: skip
    """Interleave compilations of a program with its default, in the measuring worker, on the same inputs.

    A time is of one invocation: each of the chosen functions once. A failure is reported for its program, and
    does not disturb the others. Several take turns with one default; more than a few are split.

    Args:
        placed: for each place of the code, the program as the compiler makes it, and each other compilation.
        device: device URI.
        workers: the measuring worker.
        rounds: pairs of batches at most for each compilation, over all places; 0 only checks results.
        depth: where errors of its results come from.
        run: functions, inputs and parameters.
        batch_s: least length of a sample, in seconds.
        seconds: time limit for all programs together.
        for_host: makes the same program for this machine's processor, or empty bytes; called once, if results
            differ on another device: results that match the processor's are right.
        runtimes: the runtime's flags for the default and for each other; its own defaults without.
        widened: makes the same program with f32 for f16 and bf16 (`program.widened`), or empty bytes; called
            once. Its distance from the default is what correct versions may differ by.
        rival: the index among the others of one that takes turns with all of them, which are also compared
            with it (`ProgramComparison.over_rival`), unless it is far slower than the default.

    Returns:
        One for each other compilation, in their order.

    Raises:
        TunerError: the default cannot be run as asked: no function whose inputs can be made, files that do
            not fit, or it fails.
        WorkerError: the default died or did not come back.
    """
    with ProgramBench(device, workers, run, batch_s, for_host, runtimes, widened) as bench:
        paths = [bench.write(vmfbs) for vmfbs in placed]
        function = bench.check_default(paths[0][:1], depth)
        blank = ProgramComparison(function, None, Agreement(True, 0.0))
        found = dict.fromkeys(range(len(placed[0]) - 1), blank)
        for group in _groups(len(found), rival):
            for index in group:
                if found[index] is blank:
                    found[index] = bench.checked(paths, index + 1, blank, depth)
            if rounds >= _WORTH_SCREENING:
                bench.screen(paths[0], group, found)
            if rounds:
                bench.compare(paths, group, found, JudgePlan(rounds, seconds=seconds), rival)
        return [found[index] for index in sorted(found)]


def _groups(count: int, rival: int | None) -> list[list[int]]:
    """The indices of compilations that take turns together; the rival is in each group."""
    always = [] if rival is None else [rival]
    others = [index for index in range(count) if index != rival]
    size = _TOGETHER - len(always)
    return [[*others[first : first + size], *always] for first in range(0, max(len(others), 1), size)]


def run_program(
    vmfb: bytes, folder: Path, device: str, workers: Calls, run: ProgramRun = _AS_GIVEN,
    *, default: bytes = b"", depth: ErrorDepth = _SHALLOW, widened: Callable[[], bytes] | None = None,
) -> Ran:  # fmt: skip
    """Run a program, keep its results in a folder, and compare them with another compilation's.

    Results are written to `folder` as `result_N.npy`. `default` is the program as the compiler makes it;
    empty for no comparison. For the other arguments, see `compare_programs`.

    Raises:
        TunerError: one of them does not run; or the results cannot be written.
        WorkerError: one of them died or did not come back.
    """
    with ProgramBench(device, workers, run, 0.0, widened=widened if default else None) as bench:
        paths = bench.write([vmfb, default] if default else [vmfb])
        function = bench.check_default(paths)
        ran = bench.save(paths[0], folder)
        if not default:
            return ran
        blank = ProgramComparison(function, None, Agreement(True, 0.0))
        return replace(ran, agreement=bench.checked([paths[::-1]], 1, blank, depth).agreement)


def time_program(
    vmfb: bytes, device: str, workers: Calls, run: ProgramRun = _AS_GIVEN, rounds: int = 16,
    batch_s: float = 0.05,
) -> tuple[float, ...]:  # fmt: skip
    """Microseconds of one invocation of a compiled program, for `rounds` batches of `batch_s` seconds or
    more.

    Raises:
        TunerError: the program cannot be run as asked, or fails.
        WorkerError: it died or did not come back.
    """
    with ProgramBench(device, workers, run, batch_s) as bench:
        bench.check_default(paths := bench.write([vmfb]))
        return tuple(sample for (sample,) in bench.rounds(paths, rounds, 0))
