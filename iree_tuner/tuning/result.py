"""The results of a tuning run, by workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from iree_tuner.measure.statistics import Comparison, Verdict
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.candidate import CandidateKind
from iree_tuner.tuning.finals import Final

NOT_JUDGED: Literal["not judged"] = "not judged"
"""The value that replaces a verdict if nothing was compared."""


@dataclass(frozen=True)
class Competitor:
    """Candidates other than compiler configurations, such as kernels, and their results."""

    kind: CandidateKind
    trials: tuple[Trial, ...]
    final: Final  # the result of their final comparison


@dataclass(frozen=True)
class WorkloadResult:
    """One workload's outcome."""

    task: Task
    share: float  # part of the program's time by default, or of the workloads' sum if that is more
    trials: tuple[Trial, ...] = ()
    space_count: int = 0  # the number of legal configurations. 0 without a search
    comparison: Comparison | None = None  # paired, of the best candidate with the default
    entry: SpecEntry | None = None  # the spec entry, for a win only
    note: str = ""  # why there was no search, or why a candidate was rejected
    seconds: float = 0.0  # the time spent on the workload
    others: tuple[SpecEntry, ...] = ()  # further entries to try in the program (`in_model`), winners first
    weight_us: float = 0.0  # the time of the workload in one invocation with the default, in microseconds
    searched_s: float = 0.0  # the duration of the search without the final comparison
    began: float = 0.0  # the start of the search, in seconds since 1970. Older trials are from earlier runs
    competitors: tuple[Competitor, ...] = ()  # other candidates for the workload, such as kernels
    # whether candidates were compared with the default, if only one by one in the search. A verdict also
    # needs `comparison`
    judged: bool = False
    corrects: bool = False  # whether the entry computes correct results where the compiler's default does not
    replaced_by: str = ""  # noun of the source whose changes replace its dispatches in the result
    itself: bool = False  # whether the default was compared with itself

    @property
    def skipped(self) -> bool:
        """Whether nothing was tried. A problem of several dispatches is not skipped: these may be."""
        return bool(self.task.dispatches) and not (self.all_trials or self.comparison)

    @property
    def all_trials(self) -> tuple[Trial, ...]:
        """The trials of all kinds of candidates."""
        return (*self.trials, *(trial for each in self.competitors for trial in each.trials))

    @property
    def saved_us(self) -> float:
        """The time per invocation that the entry should save, in microseconds. 0 without an entry."""
        if self.entry is None or self.comparison is None:
            return 0.0
        return self.weight_us * (1.0 - 1.0 / self.comparison.speedup)

    @property
    def verdict(self) -> Verdict | Literal["not judged", "mended"]:
        """`win` or `tie`, because a losing candidate is not used. `not judged` without a final comparison.

        Of a self-test, the verdict about equal code: any but a tie is noise.

        `mended` if the entry is used because the compiler's default computes wrong results.
        """
        if not self.judged or self.comparison is None:
            return NOT_JUDGED
        if self.corrects and self.comparison.verdict != "win":
            return "mended"
        return "win" if self.entry is not None else self.comparison.verdict if self.itself else "tie"

    @property
    def outcomes(self) -> dict[str, int]:
        """The number of trials by outcome."""
        return dict(Counter(trial.outcome for trial in self.trials))


def entries_of(results: Sequence[WorkloadResult]) -> list[SpecEntry]:
    """Entries of the winners: dynamic ones last, which may match static sizes; largest share first."""
    found = sorted(results, key=lambda result: (bool(result.task.workload.dynamic), -result.share))
    return [result.entry for result in found if result.entry is not None]
