"""Jobs: what a step of a run asks the engine for. Steps are generators.

A generator yields jobs, is sent their results in the same order, and returns its own result. The error of a
job (a comparison in which an executable fails, for example) is raised where the job was asked for. The engine
(`tuning.engine`) runs many generators at once, and it alone decides when and where a job runs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from iree_tuner.device.numerics import Agreement
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.measurer import AnyBench
from iree_tuner.measure.statistics import Comparison, JudgePlan
from iree_tuner.measure.timing import Timed
from iree_tuner.store.trial import Trial

if TYPE_CHECKING:
    from iree_tuner.tuning.search import Search

T = TypeVar("T")

Placed = Sequence[tuple[bytes, Sequence[bytes]]]
"""For each place of the code, the default and the candidates built there."""


class Job(Generic[T]):
    """Something to compile or to measure; T is its result."""


@dataclass(frozen=True)
class Build(Job[T]):
    """Compile something in a worker."""

    begin: Callable[[], Future[T]]
    end: Callable[[Future[T]], T]  # the result of a call that has ended
    # the driver's time limit in seconds, asked for when it begins, for an executable that is loaded ahead of
    # its measurement where drivers compile; None for one that is not
    load_s: Callable[[], float] | None = None


@dataclass(frozen=True)
class Timing:
    """The time of an executable next to the default's on the same device."""

    timed: Timed
    baseline_us: float  # the default's time; 0 if it did not run
    device: str  # where; empty for what was not timed itself

    def of(self, trial: Trial) -> Trial:
        """The trial of that executable."""
        timed = self.timed
        return replace(
            trial, outcome=timed.outcome, samples_us=timed.samples_us, baseline_us=self.baseline_us,
            message=timed.message, measure_s=timed.seconds, device=self.device, worst=timed.worst,
            readings=timed.readings,
        )  # fmt: skip


@dataclass(frozen=True)
class Time(Job[Timing]):
    """Time an executable on any device, after that device's default.

    Equal code of a search is timed once. An executable that is much slower than the best one is given up.
    """

    bench: AnyBench
    built: Built
    search: Search | None = None


@dataclass(frozen=True)
class TimeDefault(Job[Timing]):
    """Time a bench's default on the judging device. `checked` as in `Measurer.time_default`."""

    bench: AnyBench
    checked: bool = True


@dataclass(frozen=True)
class Compare(Job[list[Comparison]]):
    """Compare candidates with the default in turns, on the judging device. Raises WorkerError."""

    bench: AnyBench
    placed: Placed
    plan: JudgePlan


@dataclass(frozen=True)
class Agree(Job[Agreement]):
    """Compare an executable's results with the default's on several inputs, on the judging device."""

    bench: AnyBench
    vmfb: bytes


Jobs = Generator[Sequence[Job[Any]], Any, T]
"""A step that asks for jobs and returns a T. If it is closed before its end, it may return what it has."""


def results(jobs: Sequence[Job[T]]) -> Jobs[list[T]]:
    """Ask for several jobs, which run in any order."""
    return list((yield jobs)) if jobs else []


def result(job: Job[T]) -> Jobs[T]:
    """Ask for one job."""
    (found,) = yield (job,)
    return found


def turn() -> Jobs[None]:
    """Wait for the judging device: until it yields again, a generator may also measure there itself."""
    yield ()
