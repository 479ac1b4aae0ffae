"""A search: candidates of one kind for one workload, their results, and the expected gain of more.

The expected gain of more tries is share times headroom times chance, per second. This is after the task
scheduler of MetaSchedule's ancestor (L. Zheng et al., *Ansor*, OSDI 2020, section 6.2), which mixes the gain
of the last tries with the largest possible gain of the next. Here the best is bounded by the device's
roofline where it is known, and hope halves with every slice of tries that finds nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from iree_tuner.measure.candidate import GIVEN_UP
from iree_tuner.measure.statistics import Comparison
from iree_tuner.search.strategy import Strategy
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.candidate import CandidateKind
from iree_tuner.tuning.records import Records

_FINE = ("ok", "too_slow")

LEAST_FLOOR = 0.2
"""Where the roofline says nothing, or more: the compiler's choice is rarely five times too slow."""

_LEAST_HEADROOM = 0.1
"""Of the best time: the expected gain where no floor is known. Kernels on GPUs are often
more than five times as fast as the compiler's choice, and their variants differ."""

_MOST_FLOOR = 0.9
"""Where the roofline leaves nothing to gain: it was measured too, and a little hope costs little."""

_HOPE = 0.5
"""Part of the headroom that the first slice may gain; every two slices, fruitless ones more, it falls so."""

_UNMENDED = 8.0
"""Instead of a score, where the default is wrong and nothing right is known yet."""

_CATCHING_UP = 4
"""The chance to pass another search's best falls with this power of its lead."""

_WINDOW = 2
"""Slices that speak for the next."""

_OBSERVED = 0.5
"""Weight of the past gain against the possible gain."""


@dataclass
class ExpectedGain:
    """The state of a search, and its expected gain."""

    weight_us: float  # the workload's time per invocation with the default
    floor: float = LEAST_FLOOR  # the least score (time relative to the default's) that can be hoped for
    # the best score after each slice of tries, at most `start`
    bests: list[float] = field(default_factory=list[float])
    seconds: float = 0.0  # spent on the slices
    start: float = 1.0  # the score without any of them: of the default, if that may be used

    @property
    def best(self) -> float:
        return self.bests[-1] if self.bests else self.start

    def mend(self) -> None:
        """The default turned out to be wrong: correct candidates are used even if they are slower."""
        self.bests, self.start = [], _UNMENDED

    def add(self, score: float, seconds: float) -> None:
        """A slice has ended with this best score."""
        self.bests.append(min(self.best, score))
        self.seconds += seconds

    @property
    def fruitless(self) -> int:
        """Slices since the last that found something better."""
        scores = [self.start, *self.bests]
        return next(
            (back for back in range(len(self.bests)) if scores[-1 - back] < scores[-2 - back]),
            len(self.bests),
        )

    def next_gain(self, elsewhere: float = math.inf) -> float:
        """Expected fall of the workload's best score in the next slice; another search has one already."""
        best = min(self.best, elsewhere)
        floor = self.floor
        if floor <= LEAST_FLOOR and self.best <= elsewhere:
            floor = min(floor, (1.0 - _LEAST_HEADROOM) * best)
        hope = max(0.0, best - floor) * _HOPE ** (1 + len(self.bests) / 2 + self.fruitless / 2)
        window = min(_WINDOW, len(self.bests))
        if window == 0:
            return hope
        if elsewhere < self.best:
            return hope * (elsewhere / self.best) ** _CATCHING_UP
        before = self.bests[-1 - window] if len(self.bests) > window else self.start
        return _OBSERVED * (before - self.best) / window * _HOPE + (1.0 - _OBSERVED) * hope

    def gain_us(self, elsewhere: float = math.inf) -> float:
        """Expected microseconds of an invocation that the next slice saves."""
        return self.weight_us * self.next_gain(elsewhere)

    def slice_s(self, unknown_s: float) -> float:
        """The time of a slice; `unknown_s` before the first."""
        return self.seconds / len(self.bests) if self.bests else unknown_s


def floor_score(default_us: float, attainable_us: float) -> float:
    """The least score that can be hoped for, from the roofline's time of one call (0 where unknown)."""
    if default_us <= 0.0:
        return 1.0
    return min(_MOST_FLOOR, max(LEAST_FLOOR, attainable_us / default_us))


class Search:
    """Asks a strategy for candidates, and reports the results to it.

    Args:
        kind: of the candidates.
        strategy: proposes candidates.
        records: have earlier trials of its study, and store new ones.
        first: tried before the strategy's candidates.
        again: whether all earlier trials come before these.
        prospects: of further trials.
        cap: maximum number of candidates.
        slice_trials: number of trials after which `prospects` gets their results.
    """

    def __init__(
        self, kind: CandidateKind, strategy: Strategy, records: Records, *,
        first: Sequence[Assignment] = (), again: bool = False, prospects: ExpectedGain | None = None,
        cap: float = math.inf, slice_trials: int = 16,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.strategy = strategy
        self.prospects = prospects or ExpectedGain(kind.default_us)
        if kind.wrong:
            self.prospects.mend()
        self.cap = cap
        self.trials: list[Trial] = []  # in the order in which they ended
        self.best: Trial | None = None  # of these; if the default is wrong, of the correct ones
        self.corrects = False  # whether some of these are right where the default is wrong
        self.begun = self.tried = 0  # candidates that were asked for, and those that have ended
        self.began = time.time()  # older trials are from earlier runs
        # of workers and devices for the trials, as if each had the machine to itself
        self.seconds = 0.0
        self._records = records
        self._key, self._study, self._known = records.study(kind.study)
        self._first = [*(self.known_assignments if again else ()), *first]
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
        """The best's score, or the default's; infinite if the default is wrong, or of another kind."""
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
        """Its earlier result; None for a trial that was given up sooner than it would be now."""
        known = self._known.get(assignment)
        if known is None or known.outcome != "compile_timeout":
            return known
        return known if known.compile_s >= min(self.kind.limits.compile_s, patience_s) else None

    @property
    def known_assignments(self) -> list[Assignment]:
        """All with an earlier result, in the order in which they ended."""
        return sorted(self._known, key=lambda assignment: self._known[assignment].at)

    def record(self, trial: Trial) -> Trial:
        """Store a trial that has ended; a failure gets its reproducer."""
        if trial.outcome not in _FINE and not trial.message.startswith(GIVEN_UP):
            trial = replace(trial, reproducer=self.kind.reproduce(trial))
        records, study = self._records, self._study
        if self._key is not None and not records.write(lambda store: store.add(study, records.run, [trial])):
            records.unsaved.append((self._key, trial))
        return trial

    def judged(self, assignment: Assignment | None, comparison: Comparison) -> None:
        """Store a verdict."""
        records, study = self._records, self._study
        records.write(lambda store: store.add_verdict(study, records.run, assignment, comparison))

    def add(self, trial: Trial, seconds: float = 0.0) -> None:
        """Keep a trial, which took `seconds` of the machine's time, and report it to the strategy."""
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
        """Candidates that were asked for are not tried."""
        self.begun -= count

    def amend(self, trial: Trial, found: Trial) -> Trial:
        """Replace a trial by a later finding, and store that."""
        found = self.record(found)
        self.trials[self.trials.index(trial)] = found
        self.corrects = any(each.corrects for each in self.trials)
        ran = [each for each in self.trials if self._counts(each)]
        self.best = min(ran, key=lambda each: each.score, default=None)
        return found

    def _counts(self, trial: Trial) -> bool:
        return trial.corrects if self.corrects or self.kind.wrong else trial.outcome == "ok"

    def _fresh(self, proposed: Sequence[Assignment]) -> list[Assignment]:
        new = [each for each in dict.fromkeys(proposed) if each not in self._asked]
        self._asked.update(new)
        return new


class SearchSource(Protocol):
    """The source of candidates: a queue of searches."""

    def ask(self, count: int) -> Sequence[tuple[Search, Assignment]]:
        """Up to `count` candidates. An empty list means the end if none is running."""
        ...


@dataclass(frozen=True)
class InTurns:
    """Searches of which the one with the fewest candidates so far goes on."""

    searches: Sequence[Search]

    def ask(self, count: int) -> Sequence[tuple[Search, Assignment]]:
        """The next ones of one search."""
        while left := [each for each in self.searches if each.open]:
            search = min(left, key=lambda each: each.begun)
            if asked := search.ask(count):
                return [(search, each) for each in asked]
        return []
