"""Measure samples of a program's search spaces, for the development of strategies (docs/search.md)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import islice

from iree_tuner.device.machine import machine_of
from iree_tuner.errors import TunerError
from iree_tuner.program.source import Program
from iree_tuner.space.starting_point import starting_point_of
from iree_tuner.store.recordings import Recording
from iree_tuner.tuning.baseline import Baseline, measure_baselines
from iree_tuner.tuning.candidate import Configurations
from iree_tuner.tuning.effort import effort_named
from iree_tuner.tuning.lab import Lab, lab_for
from iree_tuner.tuning.ledger import Records, open_records
from iree_tuner.tuning.observer import Observer, Silent
from iree_tuner.tuning.options import RecordingOptions
from iree_tuner.tuning.reading import read_tasks
from iree_tuner.tuning.recording import sample_space
from iree_tuner.tuning.stop import StopRequest

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
        program: the program.
        options: the device, the size of the sample, and the database.
        observer: receives progress.

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
    name, space, dispatch = baseline.task.workload.name, baseline.space, baseline.task.dispatches[0]
    if space is None:
        return Recorded(name, None, baseline.note)
    effort = effort_named(_EFFORT)
    kind = Configurations(baseline, lab, effort, records)
    members = list(islice(space.shuffled(seed), count or None))
    ledger = records.ledger(kind.study, kind.reproduce)
    found = sample_space(baseline, kind, members, lab, effort.batch, records.stop, ledger, watch)
    machine = machine_of(lab.measurer.facts, dispatch.limits)
    start = starting_point_of(space, dispatch.default, dispatch.pipeline, dispatch.decomposition)
    recording = Recording(kind.study(), found.trials, found.again_us, machine, start)
    return Recorded(name, recording, found.note, records.stop.requested)
