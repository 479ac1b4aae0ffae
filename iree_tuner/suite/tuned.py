"""Where tuned code comes from: a spec, the database of earlier runs, or a tuning run for each operation.

z3 has one context for all threads of a process, and may be in one of them only.
"""

from __future__ import annotations

import multiprocessing as mp
import signal
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.errors import TunerError
from iree_tuner.program.source import Program
from iree_tuner.spec.entry import SpecEntry, read_flags
from iree_tuner.spec.grammar import pairs
from iree_tuner.spec.io import load_spec
from iree_tuner.store import Store
from iree_tuner.store.queries import summaries
from iree_tuner.suite.backends.iree import TUNED, Build, spec_of
from iree_tuner.tune import tune_program
from iree_tuner.tuning.baseline import measure_baselines
from iree_tuner.tuning.candidate import setting_on
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.options import EffortName, TuningOptions
from iree_tuner.tuning.reading import read_tasks
from iree_tuner.tuning.stop import StopRequest

SOLVER = threading.Lock()
"""Held by the caller that builds or searches spaces: a run has a thread for each device."""


# A tuning run in a process of its own, in parallel to other devices': z3 takes one thread of a process.


def tune_apart(program: Program, options: TuningOptions, path: Path) -> None:
    """Tune a program in a process of its own and write flags and spec to a file.

    Raises:
        TunerError: it cannot be tuned, was interrupted, or its process died.
    """
    context = mp.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_tune, args=(there, program, options, path))
    process.start()
    there.close()
    try:
        problem = here.recv()
    except EOFError:
        process.join()
        code = process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"status {code}"
        problem = f"the tuning run's process ended with {how}"
    finally:
        process.join()
        here.close()
    if problem:
        raise TunerError(problem, location=program.name)


def _tune(told: Connection, program: Program, options: TuningOptions, path: Path) -> None:
    """The process. Sends one line about a failure, or an empty one."""
    try:
        found = tune_program(program, options)
        if found.interrupted:
            told.send("tuning was interrupted")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        found.save(path)
        told.send("")
    except (Exception, KeyboardInterrupt) as error:  # the run continues without it
        lines = str(error).splitlines() or [type(error).__name__]
        told.send(lines[0])


NOTHING_BETTER = "tuning found nothing better than the default"


@dataclass(frozen=True)
class Tuning:
    """How operations are tuned; the first that is given counts."""

    spec: Path | None = None  # one for all operations
    # each operation is tuned anew: as `tune_module` takes it; what was found is kept
    effort: EffortName | None = None
    budget_s: float | None = None  # of such a run
    db: Path | None = None  # where its trials go; without an effort, what earlier runs proved there is used


@dataclass(frozen=True)
class TunedBuild:
    """A tuned version, with a remark."""

    version: Build
    note: str = ""


def tuned_version(
    program: Program, lab: Lab, tuning: Tuning, kept: Path, chip: str, *, device: str, scheduler: str | None,
) -> TunedBuild:  # fmt: skip
    """An operation's tuned version.

    Args:
        program: the operation's.
        lab: where; nothing else uses its device until this returns.
        tuning: where from.
        kept: file in which the operation's own spec is kept, .mlir.
        chip, device, scheduler: as `tune_module` takes them.

    Raises:
        TunerError: the spec cannot be read, the database has nothing of the operation, or it cannot be tuned.
    """
    if tuning.spec is not None:
        return _of_spec(tuning.spec, lab)
    if tuning.effort is None and tuning.db is not None:
        with SOLVER:
            return _from_store(program, lab, tuning.db)
    if not kept.is_file():
        options = TuningOptions(
            device=device, scheduler=scheduler, chip=chip, jobs=None if scheduler else lab.jobs,
            effort=tuning.effort or "quick", budget_s=tuning.budget_s, db=tuning.db,
            profile=False, compiler_flags=lab.target.user_flags,
        )  # fmt: skip
        tune_apart(program, options, kept)
    return _of_spec(kept, lab)


def _of_spec(path: Path, lab: Lab) -> TunedBuild:
    module = load_spec(path, new_context())
    flags = tuple(each for each in read_flags(module) if each not in lab.target.flags)
    note = "" if flags or pairs(module) else NOTHING_BETTER
    return TunedBuild(Build(TUNED, flags, to_bytecode(module)), note)


def _from_store(program: Program, lab: Lab, db: Path) -> TunedBuild:
    """Configurations of the operation's dispatches that won a comparison in the same setting."""
    tasks = read_tasks(program, lab, Silent())
    with Store.open(db, readonly=True) as store:
        known = summaries(store)
    setting = setting_on(lab.target, lab.measurer.facts, cold=lab.cold)
    won = {
        (each.key.workload, each.key.space_label): each.verdict.assignment
        for each in reversed(known)
        if each.key.setting == setting and each.verdict and each.verdict.comparison.verdict == "win"
        and each.verdict.assignment is not None
    }  # fmt: skip
    entries: list[SpecEntry] = []
    for each in measure_baselines(tasks, lab, StopRequest()):
        if each.space is not None and (proved := won.get((each.task.workload, each.space.label))) is not None:
            entries.append(SpecEntry(each.task.workload, each.space.configuration(proved)))
    if not entries:
        raise TunerError(
            "the database has no win for the operation on this target", location=str(db),
            hint="--tune quick tunes each operation first",
        )  # fmt: skip
    return TunedBuild(Build(TUNED, spec=spec_of(entries, lab)))
