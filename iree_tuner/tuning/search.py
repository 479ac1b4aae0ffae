"""A search: candidates of one kind for one workload, what became of them, and what more of them may bring."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from iree_tuner.search.strategy import Strategy
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.candidate import CandidateKind
from iree_tuner.tuning.gain import Prospects
from iree_tuner.tuning.ledger import Ledger


class Search:
    """Asks a strategy for candidates, and tells it what became of them.

    Args:
        kind: what can be tried.
        strategy: proposes candidates.
        ledger: knows earlier trials, and keeps new ones.
        first: tried before anything that the strategy asks for.
        prospects: what more tries may be worth.
        cap: candidates at most.
        slice_trials: how many are tried before `prospects` gets their results.

    Attributes:
        trials: what became of the candidates so far, in the order in which they ended.
        best: of these; if the default is wrong, of the correct ones.
        corrects: whether some of these are right where the default is wrong.
        begun: candidates that were asked for.
        tried: of these, how many have ended.
        began: when the search did, in seconds since 1970; older trials are of earlier runs.
        seconds: of workers and devices that the trials took, as if each had the machine to itself.
    """

    def __init__(
        self, kind: CandidateKind, strategy: Strategy, ledger: Ledger, *, first: Sequence[Assignment] = (),
        prospects: Prospects | None = None, cap: float = math.inf, slice_trials: int = 16,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.strategy = strategy
        self.ledger = ledger
        self.prospects = prospects or Prospects(kind.default_us)
        if kind.wrong:
            self.prospects.mend()
        self.cap = cap
        self.trials: list[Trial] = []
        self.best: Trial | None = None
        self.corrects = False
        self.begun = self.tried = 0
        self.began = time.time()
        self.seconds = 0.0
        self._first = list(first)
        self._asked: set[Assignment] = set()
        self._exhausted = False
        self._slice = slice_trials
        self._slice_ended, self._slice_s = 0, 0.0

    @property
    def open(self) -> bool:
        """Whether there is more to ask for."""
        return not self._exhausted and self.begun < self.cap

    @property
    def pending(self) -> int:
        """Candidates on their way."""
        return self.begun - self.tried

    @property
    def to_beat(self) -> float:
        """The best's score, or the default's; infinite where none may do: it is wrong, or of another kind."""
        if self.best is None:
            return math.inf if self.kind.name or self.kind.wrong else 1.0
        return self.best.score if self.best.corrects else min(1.0, self.best.score)

    def ask(self, count: int) -> list[Assignment]:
        """Up to `count` assignments that were not asked for before; none when there are no more."""
        count = int(min(count, self.cap - self.begun))
        asked = self._fresh(self._first[:count])
        self._first = self._first[count:]
        while len(asked) < count:
            proposed = self.strategy.ask(count - len(asked))
            if not proposed:
                self._exhausted = True
                break
            asked += self._fresh(proposed)
        self.begun += len(asked)
        return asked

    def known(self, assignment: Assignment, patience_s: float) -> Trial | None:
        """Its earlier result; None for trials that were given up sooner than they would be now."""
        known = self.ledger.known(assignment)
        if known is None or known.outcome != "compile_timeout":
            return known
        return known if known.compile_s >= min(self.kind.limits.compile_s, patience_s) else None

    def add(self, trial: Trial, seconds: float = 0.0) -> None:
        """Keep a trial, which took so much of the machine's time, and let the strategy know."""
        self.trials.append(trial)
        self.tried += 1
        self.seconds += seconds
        if trial.corrects and not self.corrects:
            self.best, self.corrects = None, True
            if not self.kind.wrong:
                self.prospects.mend()
        if self._counts(trial) and (self.best is None or trial.score < self.best.score):
            self.best = trial
        told = trial
        if trial.outcome == "ok" and not self._counts(trial):
            told = replace(trial, outcome="wrong_result", samples_us=())  # as wrong as the default
        self.strategy.tell([told])
        self._slice_ended, self._slice_s = self._slice_ended + 1, self._slice_s + seconds
        if self._slice_ended >= self._slice or not self.pending:
            self.prospects.add(self.best.score if self.best else self.prospects.start, self._slice_s)
            self._slice_ended, self._slice_s = 0, 0.0

    def drop(self, count: int = 1) -> None:
        """So many candidates that were asked for are not tried any more."""
        self.begun -= count

    def amend(self, trial: Trial, found: Trial) -> None:
        """Replace a trial by a later finding."""
        self.trials[self.trials.index(trial)] = found
        self.corrects = any(each.corrects for each in self.trials)
        ran = [each for each in self.trials if self._counts(each)]
        self.best = min(ran, key=lambda each: each.score, default=None)

    def _counts(self, trial: Trial) -> bool:
        return trial.corrects if self.corrects or self.kind.wrong else trial.outcome == "ok"

    def _fresh(self, proposed: Sequence[Assignment]) -> list[Assignment]:
        new = [each for each in dict.fromkeys(proposed) if each not in self._asked]
        self._asked.update(new)
        return new


class SearchSource(Protocol):
    """The source of candidates: a queue of searches."""

    def ask(self, count: int) -> Sequence[tuple[Search, Assignment]]:
        """Up to `count` candidates; none where there are none now, which is the end if none is under way."""
        ...


@dataclass(frozen=True)
class OneSearch:
    """The source of a run that has a single search."""

    search: Search

    def ask(self, count: int) -> Sequence[tuple[Search, Assignment]]:
        """The search's next ones."""
        return [(self.search, each) for each in self.search.ask(count)]
