"""One workload on its way from nothing tried to a verdict: its searches, and their finals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from iree_tuner.space.configuration import Assignment
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.baseline import Baseline
from iree_tuner.tuning.candidate import CandidateKind, Configurations, default_scale
from iree_tuner.tuning.conditions import entry_with_provenance
from iree_tuner.tuning.finals import Final
from iree_tuner.tuning.gain import Prospects
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.plan import TuningPlan
from iree_tuner.tuning.result import Competitor, RunContext, WorkloadResult
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.task import Task

_BUDGETED = 5
"""Times the effort's trials: where a budget ends the search, this only bounds it."""


_QUICK = 0.1


class WorkloadSearch:
    """A workload's searches: the compiler's configurations (`configure`), and others that are added.

    Args:
        task: the workload and its dispatches.
        share: part of the program's time.
        prospects: what more tries may be worth.
        slice_trials: candidates in a slice.
        findings: where trials are kept.
        plan: how to tune.

    Attributes:
        task: the workload and its dispatches.
        share: part of the program's time.
        weight_us: what the program spends on it with the default, in microseconds an invocation.
        searches: one for each kind of candidates, configurations first.
        configurations: these; None where the compiler's own cannot be changed.
    """

    def __init__(
        self, task: Task, share: float, prospects: Prospects, slice_trials: int, findings: RunContext,
        plan: TuningPlan,
    ) -> None:  # fmt: skip
        self.task = task
        self.share = share
        self.weight_us = prospects.weight_us
        self.searches: list[Search] = []
        self.configurations: Configurations | None = None
        self._prospects = prospects
        self._slice = slice_trials
        self._findings = findings
        self._plan = plan

    def configure(self, baseline: Baseline, lab: Lab) -> list[str]:
        """Let configurations compete; returns the faults of the specs' candidates to begin with."""
        plan, records = self._plan, self._findings.records
        starters = plan.starters.get(baseline.task.workload.key, ())
        self.configurations = Configurations(baseline, lab, plan.effort, records, starters)
        first = self.configurations.first(records)
        self.add(self.configurations, self._cap(len(first), has_starters=bool(starters)), first)
        return self.configurations.doubts()

    def add(self, kind: CandidateKind, cap: float, first: Sequence[Assignment] = ()) -> None:
        """Let candidates of another kind compete, so many at most."""
        records, plan = self._findings.records, self._plan
        ledger = records.ledger(kind.study, kind.reproduce)
        known = ledger.known_assignments if plan.before_s else []  # tried by a run that did not end
        if plan.options.candidates is not None:
            cap = min(cap, plan.options.candidates)
        strategy = kind.strategy(plan.options.strategy, plan.options.seed)
        prospects = replace(self._prospects, bests=[], seconds=0.0)
        self.searches.append(
            Search(
                kind, strategy, ledger, first=[*known, *first], prospects=prospects, cap=cap,
                slice_trials=self._slice,
            )
        )  # fmt: skip

    @property
    def best(self) -> Trial | None:
        """The best trial so far, relative to its default."""
        ran = [
            (self.scale(search) * search.best.score, search.best) for search in self.searches if search.best
        ]
        return min(ran, key=lambda each: each[0], default=(0.0, None))[1]

    @property
    def best_score(self) -> float:
        """Its time relative to the program's default, at most 1 where that may be used."""
        start = max((search.prospects.start for search in self.searches), default=1.0)
        ran = (self.scale(search) * search.best.score for search in self.searches if search.best is not None)
        return min([start, *ran])

    def scale(self, search: Search) -> float:
        """The time of what a search's candidates are compared with, relative to the program's default."""
        return default_scale(search.kind, self.task, self.weight_us)

    def earlier(self, search: Search) -> list[Search]:
        """Other searches that come first: after them, little may be left to gain.

        These are kernels before configurations, and searches each of whose candidates takes a small part of
        the time of one of this search.
        """
        last = search.kind is self.configurations
        return [
            each
            for each in self.searches
            if self._quicker(each, search)
            or (last and each is not search and not self._quicker(search, each))
        ]

    def _quicker(self, search: Search, other: Search) -> bool:
        return self.scale(search) < _QUICK * self.scale(other)

    def gain_us(self, search: Search) -> float:
        """Expected microseconds of an invocation that the next slice of a search saves."""
        scale = self.scale(search)
        return scale * search.prospects.gain_us(self.best_score / scale)

    @property
    def gained_us(self) -> float:
        """Microseconds of an invocation that the best would save."""
        return self.weight_us * (1.0 - self.best_score)

    @property
    def corrects(self) -> bool:
        """Whether the default is wrong, and a configuration is not."""
        return any(search.corrects for search in self.searches if search.kind is self.configurations)

    @property
    def tried(self) -> int:
        """Trials so far."""
        return sum(search.tried for search in self.searches)

    @property
    def open(self) -> bool:
        """Whether there is more to try."""
        return any(search.open for search in self.searches)

    def result(self, finals: Mapping[Search, Final], note: str, lab: Lab) -> WorkloadResult:
        """Its result, with finals or without."""
        searches, final = self.searches, Final(None, None)
        if self.configurations is not None:
            final = finals.get(searches[0], final)
        entries = [self._entry(each, lab) for each in final.named]
        won = entries[:1] if final.winner is not None else []
        own = [search for search in searches if search.kind is self.configurations]
        competitors = [
            Competitor(search.kind, tuple(search.trials), finals.get(search, Final(None, None)))
            for search in searches
            if search.kind is not self.configurations
        ]
        searched_s = sum(search.seconds for search in searches)
        return WorkloadResult(
            self.task, self.share, tuple(trial for search in own for trial in search.trials),
            sum(search.kind.size for search in own), final.comparison, won[0] if won else None,
            "; ".join(filter(None, (final.note, note))),
            searched_s + sum(finals[search].seconds for search in searches if search in finals),
            tuple(entries[len(won):]), self.weight_us, searched_s, min(search.began for search in searches),
            tuple(competitors), is_judged(searches, finals),
            bool(won) and self.corrects,
        )  # fmt: skip

    def _entry(self, winner: Final, lab: Lab) -> SpecEntry:
        assert winner.winner is not None
        assert winner.comparison is not None
        assert self.configurations is not None
        configuration = self.configurations.configuration(winner.winner.assignment)
        return entry_with_provenance(
            self.task, configuration, winner.comparison, lab.target, lab.measurer.facts
        )

    def _cap(self, suggested: int, *, has_starters: bool) -> int:
        """Trials at most. With a budget only the time counts: the queue knows what is not worth it."""
        effort = self._plan.effort
        if self._plan.options.budget_s is not None:
            return effort.trials_for(1.0) * _BUDGETED
        # Workloads that are too small to be searched may still take results from elsewhere.
        small = has_starters and self.share < effort.least_share
        return suggested if small else effort.trials_for(self.share)


def is_judged(searches: Sequence[Search], finals: Mapping[Search, Final]) -> bool:
    """Whether something had a final, or nothing needed one."""
    return any(each in finals for each in searches) or all(map(_without_hope, searches))


def _without_hope(search: Search) -> bool:
    """Whether candidates ran, and none was faster: finals would say nothing else."""
    ran = [trial for trial in search.trials if trial.outcome in ("ok", "too_slow")]
    slow = all(trial.outcome == "too_slow" or trial.score >= 1.0 for trial in ran)
    return bool(ran) and slow and not search.corrects
