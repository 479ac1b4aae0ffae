"""What a tuning run found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from iree_tuner.execute.statistics import Comparison, Verdict
from iree_tuner.execute.trial import Trial
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.tuning.candidate import CandidateKind
from iree_tuner.tuning.finals import Final
from iree_tuner.tuning.ledger import Records
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.task import Task

NOT_JUDGED: Literal["not judged"] = "not judged"
"""In the place of a verdict, where nothing was compared."""


@dataclass(frozen=True)
class Competitor:
    """Candidates that the compiler did not make, and what became of them.

    Attributes:
        kind: what they are.
        trials: all that were tried.
        final: their finals.
    """

    kind: CandidateKind
    trials: tuple[Trial, ...]
    final: Final


@dataclass(frozen=True)
class WorkloadResult:
    """One workload's outcome.

    Attributes:
        task: the workload and its dispatches.
        share: its part of the time of all tasks, by the default's times, from 0 to 1.
        trials: every candidate that was tried.
        space_count: members of its search space; 0 when there was no search.
        comparison: the last, paired comparison of the best candidate with the default.
        entry: the spec entry, for a win only.
        note: why there was no search, or what spoke against a candidate.
        seconds: time spent.
        others: further entries to try in the program, where they were asked for: what won, too, first.
        weight_us: what the program spends on the workload with the default, in microseconds an invocation.
        searched_s: time of that in which candidates were tried, without the finals.
        began: when it began, in seconds since 1970; older trials are of earlier runs.
        competitors: what else competed for the workload, such as kernels.
        judged: whether anything was compared with the default; without that there is no verdict.
        corrects: the entry is right where the compiler's own choice is wrong, whatever its time.
    """

    task: Task
    share: float
    trials: tuple[Trial, ...] = ()
    space_count: int = 0
    comparison: Comparison | None = None
    entry: SpecEntry | None = None
    note: str = ""
    seconds: float = 0.0
    others: tuple[SpecEntry, ...] = ()
    weight_us: float = 0.0
    searched_s: float = 0.0
    began: float = 0.0
    competitors: tuple[Competitor, ...] = ()
    judged: bool = False
    corrects: bool = False

    @property
    def all_trials(self) -> tuple[Trial, ...]:
        """Of all kinds of candidates."""
        return (*self.trials, *(trial for each in self.competitors for trial in each.trials))

    @property
    def saved_us(self) -> float:
        """Microseconds of an invocation that the entry is to save; 0 without one."""
        if self.entry is None or self.comparison is None:
            return 0.0
        return self.weight_us * (1.0 - 1.0 / self.comparison.speedup)

    @property
    def verdict(self) -> Verdict | Literal["not judged", "mended"]:
        """`win` or `tie`, as a candidate that loses is not used; `not judged` where nothing was compared.

        `mended` where it is used because the compiler's own choice is wrong.
        """
        if not self.judged:
            return NOT_JUDGED
        if self.corrects and self.comparison is not None and self.comparison.verdict != "win":
            return "mended"
        return "win" if self.entry is not None else "tie"

    @property
    def outcomes(self) -> dict[str, int]:
        """How many trials ended in each way."""
        counts: dict[str, int] = {}
        for trial in self.trials:
            counts[trial.outcome] = counts.get(trial.outcome, 0) + 1
        return counts


@dataclass(frozen=True)
class RunContext:
    """Where what is found is kept, and who may ask to stop."""

    stop: StopRequest
    records: Records


def entries_of(results: Sequence[WorkloadResult]) -> list[SpecEntry]:
    """Entries of the winners: dynamic ones last, which may match static sizes; largest share first."""
    found = sorted(results, key=lambda result: (bool(result.task.workload.dynamic), -result.share))
    return [result.entry for result in found if result.entry is not None]
