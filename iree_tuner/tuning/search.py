"""The state of one task's search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from iree_tuner.measure.bench import Bench
from iree_tuner.measure.trial import Trial
from iree_tuner.search.strategy import Strategy
from iree_tuner.space.configuration import Assignment, Configuration


@dataclass
class Search:
    """One workload on its way through a space.

    Attributes:
        workload: key of the workload.
        configure: what an assignment stands for.
        strategy: who proposes.
        bench: the dispatch, with the default's executable.
        default_digest: hash of the default's code.
        default_us: its time when it was weighed.
        crowding: how much longer the default compiled than on an idle machine.
        starters: tried before anything that the strategy asks for.
        trials: what became of the candidates so far, in the order in which they ended.
    """

    workload: str
    configure: Callable[[Assignment], Configuration]
    strategy: Strategy
    bench: Bench
    default_digest: str
    default_us: float
    crowding: float = 1.0
    starters: list[Assignment] = field(default_factory=list[Assignment])
    trials: list[Trial] = field(default_factory=list[Trial])
    best: Trial | None = None
    _asked: set[Assignment] = field(default_factory=set[Assignment])

    def ask(self, count: int) -> list[Assignment]:
        """Up to `count` assignments that were not asked for before; none when there are no more."""
        asked = list(self._fresh(self.starters[:count]))
        self.starters = self.starters[count:]
        while len(asked) < count:
            proposed = self.strategy.ask(count - len(asked))
            if not proposed:
                break
            asked += self._fresh(proposed)
        return asked

    def add(self, trial: Trial) -> None:
        """Keep a trial, and let the strategy know."""
        self.trials.append(trial)
        if trial.outcome == "ok" and (self.best is None or trial.score < self.best.score):
            self.best = trial
        self.strategy.tell([trial])

    def amend(self, trial: Trial, found: Trial) -> None:
        """Put what was found out later in the place of a trial."""
        self.trials[self.trials.index(trial)] = found
        ran = [each for each in self.trials if each.outcome == "ok"]
        self.best = min(ran, key=lambda each: each.score, default=None)

    def _fresh(self, proposed: list[Assignment]) -> Iterator[Assignment]:
        for assignment in proposed:
            if assignment not in self._asked:
                self._asked.add(assignment)
                yield assignment
