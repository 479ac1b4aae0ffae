"""Record a space: measure a seeded sample of it, without a search, and look again at the best."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from iree_tuner.compiler.worker import WorkerError
from iree_tuner.search.orders import FixedOrder
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.baseline import Baseline
from iree_tuner.tuning.candidate import CompileLimits, Configurations
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Ledger
from iree_tuner.tuning.observer import Observer
from iree_tuner.tuning.search import OneSearch, Search
from iree_tuner.tuning.stop import StopRequest

_NEAR = 1.15  # times the best: what may be the best when it is timed again
_FEWEST, _MOST = 12, 32
_ROUNDS = 20


@dataclass(frozen=True)
class SampledSpace:
    """The measurements of a space.

    Attributes:
        trials: what became of each member of the sample, in the order in which they ended.
        again_us: for the default (None) and the best, the median of the samples of a second look, in turns.
        note: why there was no second look.
    """

    trials: tuple[Trial, ...]
    again_us: dict[Assignment | None, float] = field(default_factory=dict[Assignment | None, float])
    note: str = ""


def sample_space(
    baseline: Baseline, kind: Configurations, members: Sequence[Assignment], lab: Lab, batch: int,
    stop: StopRequest, ledger: Ledger, watch: Observer,
) -> SampledSpace:  # fmt: skip
    """Measure members of a space, then the best ones and the default again, in turns.

    Raises:
        DeviceLostError: the device does not run the default any more.
    """
    search = Search(kind, FixedOrder(members), ledger)
    watch.started(baseline.task, baseline.share, len(members))
    for _, trial in Engine(lab, stop, batch).run(OneSearch(search)):
        watch.tried(baseline.task, [trial], search.best)
        lab.tell(watch.noted)
    trials = tuple(search.trials)
    if stop.requested:
        return SampledSpace(trials, note="interrupted")
    try:
        return SampledSpace(trials, _look_again(search, lab))
    except WorkerError as error:
        return SampledSpace(trials, note=f"the best candidates were not measured again: {error}")


def _look_again(search: Search, lab: Lab) -> dict[Assignment | None, float]:
    """The least of many noisy times is too low by chance; candidates that take turns meet the same noise."""
    kind = search.kind
    chosen = _best(search.trials, kind.own_digest)
    futures = [kind.submit(trial.assignment, CompileLimits(), place=0, verify=True) for trial in chosen]
    built = [lab.builder.result(future) for future in futures]
    ready = [(trial, each) for trial, each in zip(chosen, built, strict=True) if each.outcome == "ok"]
    vmfbs = [kind.bench.default, *(each.vmfb for _, each in ready)]
    rows = lab.measurer.rounds(vmfbs, kind.bench, _ROUNDS)
    medians = [statistics.median(column) for column in zip(*rows, strict=True)]
    by_digest = {kind.own_digest: medians[0]}
    by_digest |= {trial.digest: time_us for (trial, _), time_us in zip(ready, medians[1:], strict=True)}
    again: dict[Assignment | None, float] = {None: medians[0]}
    for trial in search.trials:
        if trial.outcome == "ok" and trial.digest in by_digest:
            again[trial.assignment] = by_digest[trial.digest]
    return again


def _best(trials: Sequence[Trial], default_digest: str) -> list[Trial]:
    """One trial for each of the fastest executables."""
    ran = sorted((trial for trial in trials if trial.outcome == "ok"), key=lambda trial: trial.score)
    distinct = {trial.digest: trial for trial in reversed(ran) if trial.digest != default_digest}
    ranked = sorted(distinct.values(), key=lambda trial: trial.score)
    if not ranked:
        return []
    near = sum(trial.score <= _NEAR * ranked[0].score for trial in ranked)
    return ranked[: max(_FEWEST, min(near, _MOST))]
