"""Search: rounds of candidates, compiled together, then measured one after another."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from iree_tuner.build.candidate import Built
from iree_tuner.measure.trial import Trial
from iree_tuner.program.dispatch import Harness
from iree_tuner.search.strategy import Strategy
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.space import Space
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.stop import StopRequest

_REJECT_AT = 3.0  # times the best so far


@dataclass
class Search:
    """The state of one task's search.

    `starters` are tried before anything that the strategy asks for. `executables` holds the code of what ran,
    by its digest.
    """

    space: Space
    strategy: Strategy
    harness: Harness
    default: Built
    best_us: float
    starters: list[Assignment] = field(default_factory=list[Assignment])
    trials: list[Trial] = field(default_factory=list[Trial])
    executables: dict[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def best(self) -> Trial | None:
        """The fastest candidate relative to the default of its round."""
        ran = [trial for trial in self.trials if trial.outcome == "ok"]
        return min(ran, key=lambda trial: trial.score, default=None)


def search_rounds(
    search: Search, lab: Lab, *, trials: int, batch: int, deadline: float, stop: StopRequest
) -> Iterator[list[Trial]]:
    """Ask, compile, measure, tell, until enough was tried, the space is exhausted, or time is up.

    A request to stop ends the round, too: what was measured of it counts.
    """
    while len(search.trials) < trials and time.monotonic() < deadline and not stop.requested:
        count = min(batch, trials - len(search.trials))
        asked, search.starters = search.starters[:count], search.starters[count:]
        known = {trial.assignment for trial in search.trials} | set(asked)
        proposed = search.strategy.ask(count - len(asked))
        asked += [assignment for assignment in proposed if assignment not in known]
        if not asked:
            return
        tried = _round(search, lab, asked, stop)
        search.trials.extend(tried)
        search.strategy.tell(tried)
        yield tried


def _round(search: Search, lab: Lab, asked: Sequence[Assignment], stop: StopRequest) -> list[Trial]:
    configurations = [search.space.configuration(assignment) for assignment in asked]
    # Everything is compiled before anything is timed: they would disturb each other.
    builds = lab.builder.build_all(search.harness, configurations)
    built = list(itertools.takewhile(lambda _: not stop.requested, builds))
    baseline = lab.measurer.time(search.default.vmfb, search.harness)
    baseline_us = min(baseline.samples_us, default=search.best_us)
    tried: list[Trial] = []
    for assignment, made in zip(asked, built, strict=False):  # fewer are built when it is to stop
        if stop.requested:
            break
        trial = Trial(
            search.space.workload.key,
            assignment,
            made.outcome,
            (),
            baseline_us,
            made.message,
            "",
            made.seconds,
        )
        tried.append(_measured(trial, made, search, lab, [*search.trials, *tried]))
    return tried


def _measured(trial: Trial, made: Built, search: Search, lab: Lab, earlier: Sequence[Trial]) -> Trial:
    if made.outcome != "ok":
        return trial
    trial = replace(trial, digest=made.digest)
    if made.digest == search.default.digest:
        return replace(trial, samples_us=(trial.baseline_us,), message="the same code as the default")
    twin = next((other for other in earlier if other.digest == made.digest), None)
    if twin is not None:
        return replace(
            twin, assignment=trial.assignment, compile_s=trial.compile_s, message="the same code as another"
        )
    timed = lab.measurer.time(made.vmfb, search.harness, _REJECT_AT * search.best_us)
    trial = replace(trial, outcome=timed.outcome, samples_us=timed.samples_us, message=timed.message)
    if trial.outcome == "ok" and trial.time_us is not None:
        search.best_us = min(search.best_us, trial.time_us)
        search.executables[made.digest] = made.vmfb
    return trial
