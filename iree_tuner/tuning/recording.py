"""Samples of a program's search spaces, for the development of strategies (docs/search.md).

A seeded sample of each space is measured, without a search, and the best of it once more.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from iree_tuner.compiler.worker import WorkerError
from iree_tuner.device.device_facts import machine_of
from iree_tuner.errors import TunerError
from iree_tuner.measure.statistics import JudgePlan
from iree_tuner.program.source import Program
from iree_tuner.search.orders import FixedOrder
from iree_tuner.space.compilers_choice import Written, starting_point_of
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.recordings import Recording
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.baseline import Baseline, measure_baselines
from iree_tuner.tuning.candidate import CompileLimits, Configurations
from iree_tuner.tuning.engine import Engine, play
from iree_tuner.tuning.jobs import Build, Compare, Jobs, result, results
from iree_tuner.tuning.lab import Lab, lab_for
from iree_tuner.tuning.observer import Observer, Silent
from iree_tuner.tuning.options import RecordingOptions, effort_named
from iree_tuner.tuning.reading import read_tasks
from iree_tuner.tuning.records import Records, open_records
from iree_tuner.tuning.search import InTurns, Search
from iree_tuner.tuning.stop import StopRequest

_NEAR = 1.15  # times the best: what may be the best when it is timed again
_FEWEST, _MOST = 12, 32
_ROUNDS = 20


def _look_again(search: Search, lab: Lab) -> Jobs[dict[Assignment | None, float]]:
    """Times from a comparison in turns: the least of many noisy single times is too low by chance."""
    kind = search.kind
    chosen = _best(search.trials, kind.own_digest)
    submits = [
        partial(kind.submit, each.assignment, CompileLimits(), place=0, verify=True) for each in chosen
    ]
    built = yield from results([Build(submit, lab.builder.result) for submit in submits])
    ready = [(trial, each) for trial, each in zip(chosen, built, strict=True) if each.outcome == "ok"]
    default = kind.bench.default
    vmfbs = [each.vmfb for _, each in ready] or [default]
    turns = JudgePlan(_ROUNDS, fixed=True)
    compared = yield from result(Compare(kind.bench, [(default, vmfbs)], turns))
    default_us = compared[0].default_us
    times = {trial.digest: each.candidate_us for (trial, _), each in zip(ready, compared, strict=False)}
    times[kind.own_digest] = default_us
    again: dict[Assignment | None, float] = {None: default_us}
    for trial in search.trials:
        if trial.outcome == "ok" and trial.digest in times:
            again[trial.assignment] = times[trial.digest]
    return again


def _best(trials: Sequence[Trial], default_digest: str) -> list[Trial]:
    ran = sorted((trial for trial in trials if trial.outcome == "ok"), key=lambda trial: trial.score)
    distinct = {trial.digest: trial for trial in reversed(ran) if trial.digest != default_digest}
    ranked = sorted(distinct.values(), key=lambda trial: trial.score)
    if not ranked:
        return []
    near = sum(trial.score <= _NEAR * ranked[0].score for trial in ranked)
    return ranked[: max(_FEWEST, min(near, _MOST))]


_EFFORT = "default"


@dataclass(frozen=True)
class Recorded:
    """The recording of one workload. `recording` is None if nothing was measured. `note` says why."""

    name: str
    recording: Recording | None
    note: str = ""
    interrupted: bool = False


def record_program(
    program: Program, options: RecordingOptions, observer: Observer | None = None
) -> Generator[Recorded]:
    """Measure a sample of the search space of each workload. Yields one item per workload when it is done.

    Args:
        options: the device, the size of the sample, and the database.

    Raises:
        TunerError: the program cannot be compiled, or has no workload to record.
    """
    watch = observer or Silent()
    stop = StopRequest(watch.stopping)
    count, seed = options.count, options.seed
    started = {"record": count, "seed": seed, "device": options.devices[0], "chip": options.chip}
    with (
        lab_for(options, cold=not options.warm) as lab,
        open_records(options.db, program.name, started, stop=stop, fresh=options.fresh) as records,
    ):
        tasks = read_tasks(program, lab, watch)
        with stop:
            baselines = measure_baselines(tasks, lab, stop)
            if stop.requested and not baselines:
                raise KeyboardInterrupt  # there is nothing to keep
            for baseline in baselines:
                yield _record_one(baseline, count, seed, lab, records, watch)
                if stop.requested:
                    break
        if records.failure is not None:
            raise TunerError(records.rescue())


def _record_one(
    baseline: Baseline, count: int, seed: int, lab: Lab, records: Records, watch: Observer
) -> Recorded:
    """Measure members of a space, then the best and the default again, in turns. Raises DeviceLostError."""
    name, space, dispatch = baseline.task.workload.name, baseline.space, baseline.task.dispatches[0]
    if space is None:
        return Recorded(name, None, baseline.note)
    effort, stop = effort_named(_EFFORT), records.stop
    kind = Configurations(baseline, lab, effort, records)
    members = list(islice(space.shuffled(seed), count or None))
    search = Search(kind, FixedOrder(members), records)
    watch.started(baseline.task, baseline.share, len(members))
    for _, trial in Engine(lab, stop, effort.batch).run(InTurns([search])):
        watch.tried(baseline.task, [trial], search.best)
        lab.tell(watch.noted)
    trials = tuple(search.trials)
    again_us: dict[Assignment | None, float] = {}
    note = "interrupted" if stop.requested else ""
    try:
        if not note:
            again_us = play(lab, [_look_again(search, lab)])[0] or {}
    except WorkerError as error:
        note = f"the best candidates were not measured again: {error}"
    machine = machine_of(lab.measurer.facts, dispatch.limits)
    start = starting_point_of(space, Written.by_compiler(dispatch))
    recording = Recording(kind.study(), trials, again_us, machine, start)
    return Recorded(name, recording, note, stop.requested)
