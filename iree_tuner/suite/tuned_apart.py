"""A tuning run in a process of its own, in parallel to other devices': z3 takes one thread of a process."""

from __future__ import annotations

import multiprocessing as mp
import signal
from multiprocessing.connection import Connection
from pathlib import Path

from iree_tuner.errors import TunerError
from iree_tuner.program.source import Program
from iree_tuner.tune import tune_program
from iree_tuner.tuning.options import TuningOptions

_INTERRUPTED = "tuning was interrupted"


def tune_apart(program: Program, options: TuningOptions, path: Path) -> None:
    """Tune a program and write what was found, flags and spec, to a file.

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
    """The process. Sends what was wrong, in one line; nothing where it was well."""
    try:
        found = tune_program(program, options)
        if found.interrupted:
            told.send(_INTERRUPTED)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        found.save(path)
        told.send("")
    except (Exception, KeyboardInterrupt) as error:  # whatever it is, the run goes on without
        lines = str(error).splitlines() or [type(error).__name__]
        told.send(lines[0])
