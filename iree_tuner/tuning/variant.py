"""A program under one choice of compiler flags: its workloads searched by gain, each with its verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from iree_tuner.compiler.worker import WorkerError
from iree_tuner.measure.statistics import LEAST_PAIRS
from iree_tuner.profiling.profile import Profile
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.tuning.baseline import Baseline, Task, measure_baselines
from iree_tuner.tuning.budget import LEAST_FINAL_S, Budget
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.finals import ANY, NEARLY, Final, FinalPlan, play_finals, why_not_elsewhere
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Observer
from iree_tuner.tuning.plan import TuningPlan
from iree_tuner.tuning.queue import NOT_TRIED, Competing, WorkloadQueue, WorkloadSearch
from iree_tuner.tuning.result import RunContext, WorkloadResult
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.self_test import self_test
from iree_tuner.tuning.timeline import SEARCH

LATE = "not judged: no time left for the final comparison"
LITTLE = "not judged: the program would gain less than 0.3 %"

_LEAST_SEARCH_S = 1.0
_PAIRS = 4 * LEAST_PAIRS  # runs: a candidate's and the default's, to choose it and to judge it


@dataclass(frozen=True)
class FlagVariant:
    """A choice of flags, and where the program is tuned under it.

    Attributes:
        lab: with the target of these flags.
        dispatches: of the program.
        tasks: what can be tuned.
        profile: where the time goes; None where it was not looked at.
        roofline: of the device, where it is known.
    """

    lab: Lab
    dispatches: Sequence[Dispatch]
    tasks: Sequence[Task]
    profile: Profile | None = None
    roofline: Roofline | None = None

    @property
    def weights_us(self) -> Mapping[str, float]:
        """The program's time for each workload, by its key, in microseconds per invocation."""
        if self.profile is None:
            return {}
        return {each.workload: each.time_us for each in self.profile.by_workload() if each.workload}


def tune_variant(
    variant: FlagVariant, findings: RunContext, plan: TuningPlan, budget: Budget, watch: Observer,
    *, versions: int, part: float = 1.0, competing: Competing = lambda _: (),
    extra_tasks: Sequence[tuple[Task, float]] = (), replaced: Collection[str] = (),
) -> list[WorkloadResult]:  # fmt: skip
    """Search, then finals; results by share, largest first.

    Args:
        variant: what is tuned.
        findings: where trials are kept, and the request to stop.
        plan: how to tune.
        budget: of the run.
        watch: gets the progress.
        versions: of the program that are compared in the end.
        part: of the search's time that is this variant's; others follow.
        competing, extra_tasks, replaced: what kernels do with workloads (`WorkloadQueue`).
    """
    timeline, lab = budget.timeline, variant.lab
    watch.working("measuring the baselines")
    if plan.options.self_test:
        baselines = measure_baselines(variant.tasks, lab, findings.stop)
        return [_tested(each, lab, plan) for each in baselines]
    with timeline.stage("baselines"):
        queue = WorkloadQueue(
            variant.tasks, variant.weights_us, lab, variant.roofline, findings, plan, watch, timeline,
            competing=competing, extra_tasks=extra_tasks, replaced=replaced,
        )  # fmt: skip
    engine = Engine(lab, findings.stop, plan.effort.batch)
    start = timeline.clock()

    def until() -> float:
        promising = queue.promising
        budget.measured.parts_bytes = sum(_bytes(each) for each in variant.tasks)
        budget.measured.parts_check_s = sum(_check_s(each, lab) for each in queue.workloads)
        checks_s = sum(_final_s(each, lab) for each in promising)
        whole = part * (budget.search_until(versions, max(1, len(promising)), checks_s, start) - start)
        return start + max(whole, _LEAST_SEARCH_S)

    with timeline.stage(SEARCH):
        lost = _search(engine, queue, until, findings, lambda: lab.tell(watch.noted))
    lab.tell(watch.noted)
    checks_s = sum(_final_s(each, lab) for each in queue.promising)
    after_s = (
        budget.end - until()
        if part < 1.0
        else budget.after_finals_s(versions, len(queue.promising), checks_s)
    )
    with timeline.stage("finals"):
        results = _finals(queue, engine, lab, findings, plan, budget, watch, after_s, lost)
    return sorted([*queue.results, *queue.left(), *results], key=lambda result: -result.share)


def _search(
    engine: Engine, queue: WorkloadQueue, until: Callable[[], float], findings: RunContext,
    tell: Callable[[], None],
) -> str:  # fmt: skip
    """Try candidates until a time of the clock; why it ended early, where a device is lost."""
    try:
        for search, _ in engine.run(queue, until):
            queue.add(search)
            tell()
    except KeyboardInterrupt:  # where no handler could be set, or from an observer
        findings.stop.request()
    except DeviceLostError as error:
        findings.stop.request()
        return str(error)
    return ""


def _finals(
    queue: WorkloadQueue, engine: Engine, lab: Lab, findings: RunContext, plan: TuningPlan, budget:
    Budget, watch: Observer, after_s: float, lost: str,
) -> list[WorkloadResult]:  # fmt: skip
    """Of the searches that promise most, as many as there is time for; then of others, if some is left."""
    waiting = sorted(queue.workloads, key=lambda each: (not each.corrects, -each.gained_us))
    if budget.limited:
        waiting = waiting[: len(queue.promising)]
    finals: dict[Search, Final] = {}
    while waiting and not lost:
        checks_s = [_final_s(each, lab) for each in waiting]
        fitting = budget.finals_that_fit(after_s, checks_s) if budget.limited else list(range(len(waiting)))
        if not fitting and finals:
            break
        chosen = [waiting[place] for place in fitting or (0,)]
        finals |= _played(chosen, lab, plan, budget, watch, after_s, bool(finals))
        waiting = [each for each in waiting if each not in chosen]
    results: list[WorkloadResult] = []
    for workload in sorted(queue.workloads, key=lambda each: -each.gained_us):
        first = workload.searches[0]
        if workload.configurations is not None and (final := finals.get(first)) and final.winner:
            everywhere = budget.final_plan(
                plan.effort, plan.effort.places(lab.target), 2, plan.options.in_model, after_s
            )
            finals[first] = _everywhere(workload, final, lab, everywhere)
        promised = workload in queue.promising
        tried = next((each for each in workload.searches if each.tried), first)  # kernels may do it alone
        note = note_of(workload, finals.get(tried), engine, lost, findings, promised=promised)
        results.append(workload.result(finals, note, lab))
        watch.finished(results[-1])
    return results


def _played(
    workloads: Sequence[WorkloadSearch], lab: Lab, plan: TuningPlan, budget: Budget, watch: Observer,
    after_s: float, late: bool,
) -> dict[Search, Final]:  # fmt: skip
    """Finals that share the time that is left; the first one is played in any case, unless it is `late`."""
    ranked = [_ranked(each) for each in workloads]  # the best of each first, whatever it is made by
    searches = [search for equals in zip_longest(*ranked) for search in equals if search is not None]
    left = len(searches)
    all_checks_s = sum(_check_s(each, lab) for each in workloads)

    def final_plan(search: Search, comparisons: int) -> FinalPlan:
        places = plan.effort.places(lab.target)
        checks_s = all_checks_s * min(1.0, comparisons / (2 * len(searches)))
        found = budget.final_plan(plan.effort, places, comparisons, plan.options.in_model, after_s + checks_s)
        if search.corrects:
            return replace(found, keep=1, least=ANY)
        if not search.kind.name:
            return found
        workload = next(each for each in workloads if search in each.searches)
        return replace(found, keep=1, least=NEARLY * min(1.0, workload.scale(search)))

    def done(_: Search, __: Final) -> None:
        nonlocal left
        left -= 1
        watch.working(f"final comparisons: {left} of {len(searches)} left")

    def fits(search: Search, waiting: int) -> bool:
        check_s = lab.measurer.check_s(search.kind.bench)
        sure = not late and search is searches[0]
        then_s = after_s + waiting * LEAST_FINAL_S
        return sure or not budget.limited or bool(budget.finals_that_fit(then_s, [check_s]))

    return play_finals(searches, lab, final_plan, done, fits)


def _ranked(workload: WorkloadSearch) -> list[Search]:
    """Its searches, the most promising first."""
    tried = [search for search in workload.searches if search.trials]
    return sorted(tried, key=lambda each: (not each.corrects, each.best.score if each.best else math.inf))


def _check_s(workload: WorkloadSearch, lab: Lab) -> float:
    """The expected time of checking the numbers of a workload's winners."""
    return sum(lab.measurer.check_s(search.kind.bench) for search in workload.searches if search.trials)


def _final_s(workload: WorkloadSearch, lab: Lab) -> float:
    """The time of its final above the least: the check, and the least pairs of slow dispatches."""
    pairs_s = sum(_PAIRS * search.kind.default_us * 1e-6 for search in workload.searches if search.trials)
    return _check_s(workload, lab) + max(0.0, pairs_s - LEAST_FINAL_S)


def note_of(
    workload: WorkloadSearch, final: Final | None, engine: Engine, lost: str, findings: RunContext,
    *, promised: bool,
) -> str:  # fmt: skip
    """The message about a workload in addition to its final: why it had none, for example."""
    if lost:
        return lost
    if not workload.tried:
        return "interrupted before it was tried" if findings.stop.requested else NOT_TRIED
    drift = engine.devices.note(workload.searches[0].kind.bench)
    if final is not None:
        return drift
    if workload.best_score < 1.0:
        return LATE if promised else LITTLE
    return f"no candidate beat the default{'; ' * bool(drift)}{drift}"


def _bytes(task: Task) -> float:
    """The bytes that its dispatches read and write in one invocation of the program."""
    return sum(each.calls.count * each.harness.buffer_bytes for each in task.dispatches if each.harness)


def _everywhere(workload: WorkloadSearch, final: Final, lab: Lab, plan: FinalPlan) -> Final:
    """A winner, unless it does not do for another dispatch with the workload."""
    assert final.winner is not None, "there is one"
    assert workload.configurations is not None, "it is one of these"
    configuration = workload.configurations.configuration(final.winner.assignment)
    try:
        why = why_not_elsewhere(workload.task, configuration, workload.configurations.bench, lab, plan)
    except WorkerError as error:
        why = f"a finalist failed: {error}"
    return replace(final, winner=None, note=why) if why else final


def _tested(baseline: Baseline, lab: Lab, plan: TuningPlan) -> WorkloadResult:
    if baseline.space is None:
        return WorkloadResult(baseline.task, baseline.share, note=baseline.note)
    return self_test(baseline, lab, plan.effort)
