"""Contests: a kernel's variants on one problem alone, against the compiler's code, default and tuned."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from iree_tuner.device.bench import Bench
from iree_tuner.kernels.kernel import Code, Kernel, Knobs
from iree_tuner.kernels.moves import with_packed
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.variants import KernelVariants, prepare
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.judging import JudgePlan
from iree_tuner.measure.statistics import Comparison
from iree_tuner.space.configuration import Configuration
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.finals import Final, FinalPlan, play_finals
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.search import OneSearch, Search
from iree_tuner.tuning.stop import StopRequest

_FINALISTS = 3
ROUNDS = 64  # the most interleaved pairs of a comparison
_FINALS_PART = 0.3  # of a contest's time
_JUDGED_S = 120.0  # the most time of a final comparison

_NONE: Mapping[str, Configuration] = {}

Watch = Callable[[str], None]
"""A function that gets messages of progress, one line each."""


@dataclass(frozen=True)
class Best:
    """The fastest correct variant, by its trial, with its code."""

    trial: Trial
    code: Code

    @property
    def knobs(self) -> Knobs:
        return dict(self.trial.assignment)

    @property
    def score(self) -> float:
        return self.trial.score


@dataclass(frozen=True)
class Contest:
    """The results of a kernel on a problem alone.

    Attributes:
        default_us: time of the compiler's default, in microseconds.
        trials: all trials of variants.
        best: the winner of the finals; None if no variant is correct.
        over_default: the best variant compared with the compiler's default.
        tuned: a tuned configuration compared with the compiler's default, if there is one.
        over_tuned: the best variant compared with the tuned configuration.
        bench: where all were compared; None if there was no contest.
        configured: the tuned configuration, built for the bench; or empty.
        note: why there was no contest, or that the default's results differ from the CPU's.
    """

    site: Site
    kernel: str
    default_us: float = math.inf
    trials: tuple[Trial, ...] = ()
    best: Best | None = None
    over_default: Comparison | None = None
    tuned: Comparison | None = None
    over_tuned: Comparison | None = None
    bench: Bench | None = None
    configured: bytes = b""
    note: str = ""

    @property
    def wins(self) -> bool:
        against = self.over_tuned or self.over_default
        return self.best is not None and against is not None and against.verdict == "win"

    @property
    def speedup(self) -> float:
        """The speedup over the compiler's best code; 0 if no variant is correct."""
        against = self.over_tuned or self.over_default
        return against.speedup if against is not None else 0.0


def hold_contest(
    site: Site, kernel: Kernel, lab: Lab, *, tuned: Mapping[str, Configuration] = _NONE, most: int = 64,
    rounds: int = ROUNDS, seconds: float = math.inf, watch: Watch = lambda _: None,
    records: Records | None = None,
) -> Contest:  # fmt: skip
    """Try a kernel's variants on a problem, check their numbers, and compare the best on fresh samples.

    Variants that the records know are not tried again. The best variants are built again and compared.

    Args:
        site: the problem; its case must compile to one dispatch.
        kernel: does not refuse the problem.
        lab: where variants are built and timed.
        tuned: configurations to compare with too, by the workload's key.
        most: the most variants; 0 for all.
        rounds: the most interleaved pairs of a comparison.
        seconds: for the whole contest. The last part is kept for the finals, which are cut short if needed.
        watch: called with messages of progress.
        records: keeps the trials; no variant begins after a stop is requested there.

    Raises:
        DeviceLostError: the device does not run the default any more.
        WorkerError: a finalist failed in the comparison with the tuned configuration.
    """
    start = time.monotonic()
    records = records or Records(None, StopRequest())
    contest = Contest(site, kernel.name)
    (prepared,) = prepare([site], lab)
    if isinstance(prepared, str):
        return replace(contest, note=prepared)
    kind = KernelVariants(kernel, prepared, lab, records)
    contest = replace(contest, bench=kind.bench, default_us=kind.default_us)
    search = Search(kind, kind.strategy("", 0), records, cap=most or math.inf)
    until = start + (1.0 - _FINALS_PART) * seconds
    for _ in Engine(lab, records.stop, 2 * lab.jobs).run(OneSearch(search), lambda: until):
        most_tried = min(kind.size, search.cap)
        watch(f"{kernel.name} on {site.problem.name}: {search.tried} of {most_tried} variants")
    if not search.trials:
        return replace(contest, note="no time to try a variant")
    watch("finals")

    def plan(_: Search, left: int) -> FinalPlan:
        left_s = max(0.0, start + seconds - time.monotonic()) / left
        return FinalPlan(_FINALISTS, 1, rounds, min(_JUDGED_S, left_s), least=0.0)

    final = play_finals([search], lab, plan)[search]
    contest = replace(contest, trials=tuple(search.trials))
    if final.winner is None or final.built is None or not isinstance(final.built.code, Code):
        return replace(contest, note="no variant computes correct results")
    best = Best(final.winner, with_packed(kernel, site.problem, lab.target, final.built.code))
    contest = replace(contest, best=best, over_default=final.comparison, note=final.note)
    return _beside_tuned(contest, final, tuned.get(kind.workload), kind, lab, plan(search, 2))


def _beside_tuned(
    contest: Contest, final: Final, tuned: Configuration | None, kind: KernelVariants, lab: Lab,
    plan: FinalPlan,
) -> Contest:  # fmt: skip
    if tuned is None:
        return contest
    configured = lab.builder.build(kind.bench.harness, tuned)
    if configured.outcome != "ok":
        note = f"the tuned configuration fails ({configured.outcome}): {configured.message}"
        return replace(contest, note=note)
    assert isinstance(final.built, Built)
    judging = JudgePlan(plan.rounds, seconds=plan.seconds)
    (over_default,) = lab.measurer.compare([(kind.bench.default, [configured.vmfb])], kind.bench, judging)
    (over_tuned,) = lab.measurer.compare([(configured.vmfb, [final.built.vmfb])], kind.bench, judging)
    return replace(contest, tuned=over_default, over_tuned=over_tuned, configured=configured.vmfb)
