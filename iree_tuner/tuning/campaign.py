"""One workload's way: a search that goes on slice by slice, then the finals."""

from __future__ import annotations

import math
import time

from iree_tuner.space.joint import JointSpace
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.tuning.conditions import entry_with_provenance, setting_on
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.effort import Effort
from iree_tuner.tuning.engine import Engine, Limits
from iree_tuner.tuning.failures import Reproducing
from iree_tuner.tuning.finals import Final, play_finals
from iree_tuner.tuning.gain import Prospects
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Observer
from iree_tuner.tuning.options import TuningOptions
from iree_tuner.tuning.prepare import best_of_relatives, prepare_search, study_key
from iree_tuner.tuning.result import Findings, WorkloadResult
from iree_tuner.tuning.weigh import Weighed

NOT_TRIED = "not tried: others promised more for the time"

_BUDGETED = 5
"""Times the effort's trials: where a budget ends the search, this only bounds it."""


class Campaign:
    """A workload on its way from nothing tried to a verdict.

    Args:
        weighed: the task, with its default.
        space: what can be tried.
        prospects: what more tries may be worth.
        findings: where trials are kept, and who may ask to stop.
        lab: where candidates are compiled and measured.
        options: how to tune.

    Attributes:
        weighed: the task, with its default.
        prospects: what more tries may be worth.
        cap: trials at most.
    """

    def __init__(
        self, weighed: Weighed, space: JointSpace, prospects: Prospects, findings: Findings, lab: Lab,
        options: TuningOptions,
    ) -> None:  # fmt: skip
        self.weighed = weighed
        self.prospects = prospects
        self._space = space
        self._lab = lab
        self._findings = findings
        workload, records, effort = weighed.task.workload, findings.records, options.effort
        key = study_key(weighed, space, setting_on(lab.target, cold=lab.cold))
        starters = options.starters.get(workload.key, ())
        self._search = prepare_search(
            weighed, space, options.strategy, options.seed, starters, best_of_relatives(records, key)
        )
        reproducing = Reproducing(
            records.failures, workload.name, weighed.bench.harness, lab.target, space.configuration
        )
        self._ledger = records.ledger(lambda: key, reproducing)
        if options.before_s:  # what the run before has tried needs no strategy to be asked for again
            self._search.starters = [*self._ledger.known_assignments, *self._search.starters]
        limits = Limits(
            0,
            effort.batch,
            math.inf,
            effort.compile_limit_s(weighed.default.idle_s, waited_for=lab.alternate),
            effort.most_ops(weighed.default.ops),
        )
        self._engine = Engine(self._search, lab, limits, findings.stop, self._ledger)
        self.cap = _cap(weighed.share, len(self._search.starters), bool(starters), options)
        if options.candidates is not None:
            self.cap = min(self.cap, options.candidates)
        self._lost = ""
        self._began = time.time()
        self._seconds = self._searched_s = 0.0

    @property
    def tried(self) -> int:
        """Trials so far."""
        return len(self._search.trials)

    @property
    def open(self) -> bool:
        """Whether there is more to try."""
        return not (self._engine.exhausted or self._lost) and self.tried < self.cap

    def advance(self, trials: int, deadline: float, watch: Observer) -> None:
        """Try so many more. A device that is lost ends this search, and asks the run to stop."""
        start, before = time.monotonic(), self.tried
        self._engine.extend(min(trials, self.cap - before), deadline)
        try:
            for trial in self._engine.run():
                watch.tried(self.weighed.task, [trial], self._search.best)
        except KeyboardInterrupt:  # where no handler could be set, or from an observer
            self._findings.stop.request()
        except DeviceLostError as error:
            self._findings.stop.request()
            self._lost = str(error)
        elapsed = time.monotonic() - start
        self._seconds += elapsed
        self._searched_s += elapsed
        best = self._search.best
        self.prospects.add(best.score if best else 1.0, elapsed)

    def settle(self) -> None:
        """Stop compiling: something is to be timed in earnest."""
        self._engine.settle()

    def conclude(self, effort: Effort, seconds: float, keep: int) -> WorkloadResult:
        """Finals, each of whose comparisons may take so long; `keep` winners are named, the best first."""
        start = time.monotonic()
        weighed, search = self.weighed, self._search
        if not search.trials:
            return self.unjudged(self._lost or NOT_TRIED)
        final = Final(None, None)
        if not self._lost:
            final = play_finals(weighed.task, search, self._lab, effort, self._ledger, seconds, keep)
        entries = [self._entry(each) for each in final.winners]
        self._seconds += time.monotonic() - start
        return WorkloadResult(
            weighed.task, weighed.share, tuple(search.trials), self._space.count(), final.comparison,
            entries[0] if entries else None,
            "; ".join(filter(None, (self._lost, final.note, self._engine.note))), self._seconds,
            tuple(entries[1:]), self.prospects.weight_us, self._searched_s, self._began,
        )  # fmt: skip

    def unjudged(self, note: str) -> WorkloadResult:
        """The result without finals."""
        return WorkloadResult(
            self.weighed.task, self.weighed.share, tuple(self._search.trials), self._space.count(), note=note,
            seconds=self._seconds, weight_us=self.prospects.weight_us, searched_s=self._searched_s,
            began=self._began,
        )  # fmt: skip

    def _entry(self, winner: Final) -> SpecEntry:
        assert winner.winner is not None
        assert winner.comparison is not None
        configuration = self._space.configuration(winner.winner.assignment)
        return entry_with_provenance(self.weighed.task, configuration, winner.comparison, self._lab.target)


def _cap(share: float, suggested: int, has_starters: bool, options: TuningOptions) -> int:
    """Trials at most. With a budget only the time counts: the scheduler knows what is not worth it."""
    effort = options.effort
    if options.budget_s is not None:
        return effort.trials_for(1.0) * _BUDGETED
    if share >= effort.least_share:
        return effort.trials_for(share)
    # What is too small to be searched may still take what was found elsewhere.
    return suggested if has_starters else 0
