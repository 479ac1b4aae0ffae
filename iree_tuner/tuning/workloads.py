"""The workloads of a program under one choice of flags: searched by gain, each with its verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import zip_longest

from iree_tuner.compiler.worker import WorkerError
from iree_tuner.measure.statistics import LEAST_PAIRS, JudgePlan
from iree_tuner.spec.entry import Provenance, SpecEntry
from iree_tuner.tuning.baseline import Baseline, Task, measure_baselines
from iree_tuner.tuning.budget import LEAST_FINAL_S
from iree_tuner.tuning.candidate import setting_on
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.engine import Engine, play
from iree_tuner.tuning.finals import (
    ANY,
    NEARLY,
    Final,
    FinalPlan,
    build_placed,
    play_finals,
    why_not_elsewhere,
)
from iree_tuner.tuning.jobs import Compare, Jobs, result
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import Effort
from iree_tuner.tuning.queue import INTERRUPTED, NOT_TRIED, Queue, Queued
from iree_tuner.tuning.reading import ReadProgram
from iree_tuner.tuning.result import Competitor, WorkloadResult
from iree_tuner.tuning.run import Run
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.timeline import SEARCH

LATE = "not judged: no time left for the final comparison"
LITTLE = "not judged: the program would gain less than 0.3 %"

_LEAST_SEARCH_S = 1.0
_UNTRIED_PART = 0.5  # of the time that is left: a short budget is for the search too
_BETTER = 0.99  # the score of what is worth another final
_PAIRS = 4 * LEAST_PAIRS  # runs: a candidate's and the default's, to choose it and to judge it


def tune_workloads(run: Run, read: ReadProgram, *, versions: int, part: float = 1.0) -> list[WorkloadResult]:
    """Search, then finals; results by share, largest first.

    Args:
        run: the run.
        read: the program under the flags to search.
        versions: of the program that are compared at the end.
        part: of the search's time for this choice of flags.
    """
    budget, timeline, lab = run.budget, run.timeline, read.lab
    run.watch.working("measuring the baselines")
    if run.options.self_test:
        baselines = measure_baselines(read.tasks, lab, run.stop)
        tested = play(lab, [self_test(each, lab, run.effort) for each in baselines])
        return [each for each in tested if each is not None]
    with timeline.stage("baselines"):
        queue = Queue(run, read)
    engine = Engine(lab, run.stop, run.effort.batch)
    start = timeline.clock()

    def until() -> float:
        promising = queue.promising
        budget.measured.parts_bytes = sum(_bytes(each) for each in read.tasks)
        budget.measured.parts_check_s = sum(_check_s(each, lab) for each in queue.workloads)
        checks_s = sum(_final_s(each, lab) for each in promising)
        whole = part * (budget.search_until(versions, len(promising), checks_s, start) - start)
        tried = not budget.limited or any(each.tried for each in queue.workloads)
        return start + max(whole, _LEAST_SEARCH_S if tried else _UNTRIED_PART * (budget.end - start))

    with timeline.stage(SEARCH):
        lost = _search(queue, engine, until)
    lab.tell(run.watch.noted)
    checks_s = sum(_final_s(each, lab) for each in queue.promising)
    after_s = (
        budget.end - until()
        if part < 1.0
        else budget.after_finals_s(versions, len(queue.promising), checks_s)
    )
    played, begun = _Finals(), timeline.clock()
    with timeline.stage("final comparison"):
        lost = played.play(queue, after_s, lost)
    # Finals are predicted, and may take less: the search goes on, and what it finds has finals once more.
    again = budget.search_again_until(versions, timeline.clock() - begun) if part == 1.0 and not lost else 0.0
    if again > timeline.clock():
        with timeline.stage(SEARCH):
            lost = _search(queue, engine, lambda: again)
        with timeline.stage("final comparison"):
            lost = played.play(queue, after_s, lost)
    results = _results(queue, engine, after_s, lost, played.finals)
    return sorted([*queue.results, *queue.left(), *results], key=lambda result: -result.share)


def self_test(baseline: Baseline, lab: Lab, effort: Effort) -> Jobs[WorkloadResult]:
    """Compare copies of the baseline with the baseline, as if they were finalists.

    Any verdict but a tie means that the machine is too noisy.
    """
    if baseline.space is None:
        return WorkloadResult(baseline.task, baseline.share, note=baseline.note)
    bench, plan = baseline.bench, JudgePlan(effort.rounds)
    places = yield from build_placed(bench.harness, [], lab, effort.places(lab.target))
    copies = [(default, [default] * effort.finalists) for default, _ in places]
    compared = yield from result(Compare(bench, copies, plan))
    best = max(compared, key=lambda comparison: comparison.speedup)
    if best.verdict == "win":
        single = [(default, [default]) for default, _ in places]
        (best,) = yield from result(Compare(bench, single, plan))
    note = "the baseline compared with itself"
    if best.verdict != "tie":
        note = "the baseline differs from itself: measurements are too noisy; close other programs and repeat"
    return WorkloadResult(baseline.task, baseline.share, comparison=best, note=note, judged=True, itself=True)


def _search(queue: Queue, engine: Engine, until: Callable[[], float]) -> str:
    """Search until a time of the clock. Returns an error if a device is lost."""
    try:
        for search, _ in engine.run(queue, until):
            queue.add(search)
            queue.lab.tell(queue.run.watch.noted)
    except KeyboardInterrupt:  # where no handler could be set, or from an observer
        queue.run.stop.request()
    except DeviceLostError as error:
        queue.run.stop.request()
        return str(error)
    return ""


@dataclass
class _Finals:
    """The finals so far, and for each search that had time for one the best score it had then."""

    finals: dict[Search, Final] = field(default_factory=dict["Search", "Final"])
    scores: dict[Search, float] = field(default_factory=dict["Search", float])

    def play(self, queue: Queue, after_s: float, lost: str) -> str:
        """Finals of the most promising searches for which time is left, then of others.

        A search has another final if it has since found a better candidate. Returns an error if a device is
        lost, or the one before.
        """
        run, lab, budget = queue.run, queue.lab, queue.run.budget
        waiting = sorted(queue.workloads, key=lambda each: (not each.corrects, -each.gained_us))
        if budget.limited:
            waiting = waiting[: len(queue.promising)]
        waiting = [each for each in waiting if any(map(self._has_news, each.searches))]
        while waiting and not lost:
            checks_s = [_final_s(each, lab) for each in waiting]
            every = list(range(len(waiting)))
            fitting = budget.finals_that_fit(after_s, checks_s) if budget.limited else every
            if not fitting and self.finals:
                break
            chosen = [waiting[place] for place in fitting or (0,)]
            try:
                self.finals |= _played(run, lab, chosen, after_s, late=bool(self.finals))
            except DeviceLostError as error:
                lost = str(error)
            self.scores |= {search: _score(search) for each in chosen for search in each.searches}
            waiting = [each for each in waiting if each not in chosen]
        return lost

    def _has_news(self, search: Search) -> bool:
        return search not in self.scores or _score(search) < _BETTER * self.scores[search]


def _score(search: Search) -> float:
    return math.inf if search.best is None else search.best.score


def _results(
    queue: Queue, engine: Engine, after_s: float, lost: str, finals: dict[Search, Final]
) -> list[WorkloadResult]:
    """The result of each workload that was searched, largest gains first."""
    run, lab, budget = queue.run, queue.lab, queue.run.budget
    results: list[WorkloadResult] = []
    for workload in sorted(queue.workloads, key=lambda each: -each.gained_us):
        first = workload.searches[0]
        if workload.configurations is not None and (final := finals.get(first)) and final.winner:
            places = run.effort.places(lab.target)
            everywhere = budget.final_plan(run.effort, places, 2, run.options.in_model, after_s)
            finals[first] = _everywhere(workload, final, lab, everywhere)
        promised = workload in queue.promising
        tried = next((each for each in workload.searches if each.tried), first)  # kernels may do it alone
        note = note_of(workload, finals.get(tried), engine, lost, run.stop, promised=promised)
        if note == NOT_TRIED and (noun := queue.replaced_by(workload.task)):
            note = f"replaced by a {noun}"
        results.append(_result(workload, finals, note, lab))
        run.watch.finished(results[-1])
    return results


def _played(
    run: Run, lab: Lab, workloads: Sequence[Queued], after_s: float, *, late: bool
) -> dict[Search, Final]:
    """Finals that share the remaining time; the first one is played in any case, unless it is `late`."""
    ranked = [_ranked(each) for each in workloads]  # the best of each first, whatever it is made by
    searches = [search for equals in zip_longest(*ranked) for search in equals if search is not None]
    budget, effort, left = run.budget, run.effort, len(searches)
    all_checks_s = sum(_check_s(each, lab) for each in workloads)

    def final_plan(search: Search, comparisons: int) -> FinalPlan:
        checks_s = all_checks_s * min(1.0, comparisons / (2 * len(searches)))
        places, keep = effort.places(lab.target), run.options.in_model
        found = budget.final_plan(effort, places, comparisons, keep, after_s + checks_s)
        if search.corrects:
            return replace(found, keep=1, least=ANY)
        if not search.kind.name:
            return found
        workload = next(each for each in workloads if search in each.searches)
        return replace(found, keep=1, least=NEARLY * min(1.0, workload.scale(search)))

    def done(_: Search, __: Final) -> None:
        nonlocal left
        left -= 1
        run.watch.working(f"final comparisons: {left} of {len(searches)} left")

    def fits(search: Search, waiting: int) -> bool:
        check_s = lab.measurer.check_s(search.kind.bench)
        sure = not late and search is searches[0]
        then_s = after_s + waiting * LEAST_FINAL_S
        return sure or not budget.limited or bool(budget.finals_that_fit(then_s, [check_s]))

    return play_finals(searches, lab, final_plan, done, fits)


def _ranked(workload: Queued) -> list[Search]:
    tried = [search for search in workload.searches if search.trials]
    return sorted(tried, key=lambda each: (not each.corrects, each.best.score if each.best else math.inf))


def _check_s(workload: Queued, lab: Lab) -> float:
    """The expected time to check the results of a workload's winners."""
    return sum(lab.measurer.check_s(search.kind.bench) for search in workload.searches if search.trials)


def _final_s(workload: Queued, lab: Lab) -> float:
    """The time of its final above the least: the check, and the least pairs of slow dispatches."""
    pairs_s = sum(_PAIRS * search.kind.default_us * 1e-6 for search in workload.searches if search.trials)
    return _check_s(workload, lab) + max(0.0, pairs_s - LEAST_FINAL_S)


def note_of(
    workload: Queued, final: Final | None, engine: Engine, lost: str, stop: StopRequest,
    *, promised: bool,
) -> str:  # fmt: skip
    """The message about a workload in addition to its final: why it had none, for example."""
    if lost:
        return lost
    if not workload.tried:
        return INTERRUPTED if stop.requested else NOT_TRIED
    drift = engine.devices.note(workload.searches[0].kind.bench)
    if final is not None:
        return drift
    if workload.best_score < 1.0:
        return LATE if promised else LITTLE
    return f"no candidate beat the default{'; ' * bool(drift)}{drift}"


def _bytes(task: Task) -> float:
    return sum(each.calls.count * each.harness.buffer_bytes for each in task.dispatches if each.harness)


def _everywhere(workload: Queued, final: Final, lab: Lab, plan: FinalPlan) -> Final:
    """The final, without its winner if that is not good for another dispatch with the workload."""
    assert final.winner is not None, "there is one"
    assert workload.configurations is not None, "it is one of these"
    configuration = workload.configurations.space.configuration(final.winner.assignment)
    try:
        elsewhere = why_not_elsewhere(workload.task, configuration, workload.configurations.bench, lab, plan)
        (why,) = play(lab, [elsewhere])
    except WorkerError as error:
        why = f"a finalist failed: {error}"
    return replace(final, winner=None, note=why) if why else final


def _result(queued: Queued, finals: Mapping[Search, Final], note: str, lab: Lab) -> WorkloadResult:
    searches, configurations, final = queued.searches, queued.configurations, Final(None, None)
    if configurations is not None:
        final = finals.get(searches[0], final)
    entries = [_entry(queued, each, lab) for each in final.named]
    won = entries[:1] if final.winner is not None else []
    own = [search for search in searches if search.kind is configurations]
    competitors = [
        Competitor(search.kind, tuple(search.trials), finals.get(search, Final(None, None)))
        for search in searches
        if search.kind is not configurations
    ]
    searched_s = sum(search.seconds for search in searches)
    return WorkloadResult(
        queued.task, queued.share, tuple(trial for search in own for trial in search.trials),
        sum(search.kind.size for search in own), final.comparison, won[0] if won else None,
        "; ".join(filter(None, (final.note, note))),
        searched_s + sum(finals[search].seconds for search in searches if search in finals),
        tuple(entries[len(won):]), queued.weight_us, searched_s, min(search.began for search in searches),
        tuple(competitors), is_judged(searches, finals), bool(won) and queued.corrects,
    )  # fmt: skip


def _entry(queued: Queued, winner: Final, lab: Lab) -> SpecEntry:
    assert winner.winner is not None
    assert winner.comparison is not None
    assert queued.configurations is not None
    setting, comparison = setting_on(lab.target, lab.measurer.facts), winner.comparison
    measured = Provenance(
        speedup=comparison.speedup, interval=comparison.interval, default_us=comparison.default_us,
        tuned_us=comparison.candidate_us, samples=comparison.pairs, device=lab.target.device or "",
        chip=f"{setting.processor}, {setting.cores} cores", compiler=setting.compiler,
        date=datetime.now(UTC).date().isoformat(), dispatch=queued.task.dispatches[0].name,
    )  # fmt: skip
    configuration = queued.configurations.space.configuration(winner.winner.assignment)
    return SpecEntry(queued.task.workload, configuration, measured)


def is_judged(searches: Sequence[Search], finals: Mapping[Search, Final]) -> bool:
    """Whether something had a final, or nothing needed one."""
    return any(each in finals for each in searches) or all(map(_without_hope, searches))


def _without_hope(search: Search) -> bool:
    """Whether candidates ran, and none was faster: finals would not change that."""
    ran = [trial for trial in search.trials if trial.outcome in ("ok", "too_slow")]
    slow = all(trial.outcome == "too_slow" or trial.score >= 1.0 for trial in ran)
    return bool(ran) and slow and not search.corrects
