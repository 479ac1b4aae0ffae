"""The plan of a run of the suite.

Tuned code comes from a spec, from the database of earlier runs, or from a tuning run for each operation. z3
has one context for all threads of a process, and may be in one of them only.
"""

from __future__ import annotations

import multiprocessing as mp
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.errors import TunerError
from iree_tuner.program.source import Program, load_program
from iree_tuner.spec.entry import SpecEntry, read_flags
from iree_tuner.spec.grammar import pairs
from iree_tuner.spec.io import load_spec
from iree_tuner.store import Store
from iree_tuner.store.queries import summaries
from iree_tuner.suite.backends.backend import Backend, Conditions
from iree_tuner.suite.backends.iree import TUNED, Build, Wanted, spec_of
from iree_tuner.suite.driver_commands import SUFFIX, is_command, operations_of
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.programs import module_of, operations_in
from iree_tuner.suite.suite_file import DEFAULT_F8, Patterns, load_suite
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

    Raises TunerError if it cannot be tuned, was interrupted, or its process died.
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


@dataclass(frozen=True)
class Tuning:
    """How operations are tuned; the first that is given counts."""

    spec: Path | None = None  # one for all operations
    # each operation is tuned anew: as `tune_module` takes it; what was found is kept
    effort: EffortName | None = None
    budget_s: float | None = None  # of such a run
    db: Path | None = None  # where its trials go; without an effort, what earlier runs proved there is used


def tuned_version(
    program: Program, lab: Lab, tuning: Tuning, kept: Path, chip: str, *, device: str, scheduler: str | None,
) -> Build:  # fmt: skip
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


def _of_spec(path: Path, lab: Lab) -> Build:
    module = load_spec(path, new_context())
    flags = tuple(each for each in read_flags(module) if each not in lab.target.flags)
    note = "" if flags or pairs(module) else "tuning found nothing better than the default"
    return Build(TUNED, flags, to_bytecode(module), note=note)


def _from_store(program: Program, lab: Lab, db: Path) -> Build:
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
    return Build(TUNED, spec=spec_of(entries, lab))


# The items of a run of the suite: operations with their programs.


@dataclass(frozen=True)
class Item:
    """An operation and its program."""

    operation: Operation  # what is computed; the reference computes it, too
    # the program in a generated folder, maybe edited; None for the operation's own IR
    source: Path | None = None

    def program(self) -> Program:
        """The program that is compiled. Raises TunerError for a file that cannot be read."""
        if self.source is not None:
            return load_program(self.source)
        with new_context():
            return Program(f"{self.operation.name}.mlir", to_bytecode(module_of(self.operation)))


def items_from(sources: Sequence[str], f8: str = DEFAULT_F8) -> list[Item]:
    """The operations of generated folders, suites, suite files and commands; each once.

    Args:
        sources: folders, names of suites, .toml files, commands of another project's driver, or .txt files of
            these.
        f8: the type that `f8` stands for.

    Raises:
        TunerError: one of them does not exist, or has a mistake.
    """
    found: dict[str, Item] = {}
    for source in sources:
        if source.endswith(SUFFIX) or is_command(source):
            items = [Item(operation) for operation in operations_of(source)]
        elif Path(source).is_dir():
            items = [Item(operation, path) for operation, path in operations_in(Path(source))]
        else:
            items = [Item(operation) for operation in load_suite(source, f8).operations]
        for each in items:
            found.setdefault(each.operation.name, each)
    return list(found.values())


@dataclass(frozen=True)
class SuitePlan:
    """A run."""

    name: str
    items: Sequence[Item]
    devices: tuple[str, ...]  # URIs; operations are spread over them
    folder: Path  # of the results
    conditions: Conditions  # of the samples; `timing` and `threads` default to each device's own
    chip: str = "host"  # what is compiled for, see `targets.target_for_device`
    flags: tuple[str, ...] = ()  # of the compiler, a user's own
    backends: Sequence[Backend] = ()  # compared with IREE's default
    tuning: Tuning | None = None  # where tuned code comes from; None for none
    choice: Wanted | None = None  # configurations that are tried one by one; None for none
    patterns: Patterns = ()  # of the dispatches (`row.Row.dispatch`) that take part; none for all
    verify: bool = True  # compare results with a reference
    reference: str | None = None  # `numpy` or `torch`; None chooses
    against: Path | None = None  # folder of an earlier run, whose code takes turns with this one's
    launches: int = 1  # how often all is loaded anew for an operation
    # file with rooflines by device URI; None: from data sheets, measured for processors
    rooflines: Path | None = None
    probe: bool = False  # measure rooflines with the run's own back ends
    commit: str = ""  # of the code under test
    fresh: bool = False  # measure again what the folder has
    jobs: int | None = None
    cache: Path | None = None  # file that keeps rooflines of processors
