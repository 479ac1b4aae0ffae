"""One workload on its way from nothing tried to a verdict: its searches, and their finals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from iree_tuner.measure.trial import Trial
from iree_tuner.space.configuration import Assignment
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.tuning.baseline import Baseline
from iree_tuner.tuning.candidate import CandidateKind, Configurations
from iree_tuner.tuning.conditions import entry_with_provenance
from iree_tuner.tuning.finals import Final
from iree_tuner.tuning.gain import Prospects
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import TuningOptions
from iree_tuner.tuning.result import Findings, WorkloadResult
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.task import Task

_BUDGETED = 5
"""Times the effort's trials: where a budget ends the search, this only bounds it."""


class WorkloadSearch:
    """A workload's searches: the compiler's configurations, and others that are added.

    Args:
        baseline: the task with its default; it has a space.
        prospects: what more tries of configurations may be worth.
        slice_trials: candidates in a slice.
        findings: where trials are kept.
        lab: where candidates are compiled and measured.
        options: how to tune.

    Attributes:
        task: the workload and its dispatches.
        share: part of the program's time.
        weight_us: what the program spends on it with the default, in microseconds an invocation.
        searches: one for each kind of candidates, configurations first.
    """

    def __init__(
        self, baseline: Baseline, prospects: Prospects, slice_trials: int, findings: Findings, lab: Lab,
        options: TuningOptions,
    ) -> None:  # fmt: skip
        self.task: Task = baseline.task
        self.share = baseline.share
        self.weight_us = prospects.weight_us
        self.searches: list[Search] = []
        self._prospects = prospects
        self._slice = slice_trials
        self._findings = findings
        self._lab = lab
        self._options = options
        starters = options.starters.get(baseline.task.workload.key, ())
        self.configurations = Configurations(baseline, lab, options.effort, findings.records, starters)
        first = self.configurations.first(findings.records)
        self.add(self.configurations, self._cap(len(first), has_starters=bool(starters)), first)

    def add(self, kind: CandidateKind, cap: int, first: Sequence[Assignment] = ()) -> None:
        """Let candidates of another kind compete."""
        records, options = self._findings.records, self._options
        ledger = records.ledger(kind.study, kind.reproduce)
        known = ledger.known_assignments if options.before_s else []  # tried by a run that did not end
        if options.candidates is not None:
            cap = min(cap, options.candidates)
        self.searches.append(
            Search(
                kind,
                kind.strategy(options.strategy, options.seed),
                ledger,
                first=[*known, *first],
                prospects=replace(self._prospects, bests=[], seconds=0.0),
                cap=cap,
                slice_trials=self._slice,
            )
        )

    @property
    def best(self) -> Trial | None:
        """The best trial so far, relative to its default."""
        ran = [search.best for search in self.searches if search.best is not None]
        return min(ran, key=lambda trial: trial.score, default=None)

    @property
    def best_score(self) -> float:
        """Its time relative to the default's, at most 1: the default is always there."""
        return min(1.0, self.best.score) if self.best is not None else 1.0

    @property
    def gained_us(self) -> float:
        """Microseconds of an invocation that the best would save."""
        return self.weight_us * (1.0 - self.best_score)

    @property
    def tried(self) -> int:
        """Trials so far."""
        return sum(search.tried for search in self.searches)

    @property
    def open(self) -> bool:
        """Whether there is more to try."""
        return any(search.open for search in self.searches)

    def result(self, final: Final | None, note: str) -> WorkloadResult:
        """What came of it, with finals or without."""
        final = final or Final(None, None)
        entries = [self._entry(each) for each in final.winners if each.winner is not None]
        searches = self.searches
        return WorkloadResult(
            self.task, self.share, tuple(trial for search in searches for trial in search.trials),
            sum(search.kind.size for search in searches), final.comparison, entries[0] if entries else None,
            "; ".join(filter(None, (final.note, note))), sum(search.seconds for search in searches) +
            final.seconds, tuple(entries[1:]), self.weight_us, sum(search.seconds for search in searches),
            min(search.began for search in searches),
        )  # fmt: skip

    def _entry(self, winner: Final) -> SpecEntry:
        assert winner.winner is not None
        assert winner.comparison is not None
        configuration = self.configurations.configuration(winner.winner.assignment)
        return entry_with_provenance(self.task, configuration, winner.comparison, self._lab.target)

    def _cap(self, suggested: int, *, has_starters: bool) -> int:
        """Trials at most. With a budget only the time counts: the queue knows what is not worth it."""
        effort = self._options.effort
        if self._options.budget_s is not None:
            return effort.trials_for(1.0) * _BUDGETED
        if self.share >= effort.least_share:
            return effort.trials_for(self.share)
        # What is too small to be searched may still take what was found elsewhere.
        return suggested if has_starters else 0
