"""Tune a program: the package's main function, and its arguments."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.device.program_request import request, sized_as_given
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.program.dynamic import Dim, given_sizes, sized_cases
from iree_tuner.program.source import Program, ProgramSource, load_program
from iree_tuner.report.progress import watching
from iree_tuner.result import TuningResult
from iree_tuner.tuning.earlier import EarlierResult
from iree_tuner.tuning.flags import sources_of
from iree_tuner.tuning.lab import lab_for
from iree_tuner.tuning.loop import TuningLoop
from iree_tuner.tuning.observer import Observer, Silent
from iree_tuner.tuning.options import TuningOptions, keywords
from iree_tuner.tuning.records import open_records
from iree_tuner.tuning.source import CandidateSource
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.timeline import Timeline


@dataclass(frozen=True, kw_only=True)
class TuningArguments(TuningOptions):
    """Keyword arguments of `tune_module`.

    Attributes
    ----------
    dim
        Sizes of dynamic dimensions: 128 for all, {"batch": 4, "1.0": (64, 128)} by name. With
        several sizes, the first is tuned for, and the result must not be slower on any of them.
    run
        Entry functions, inputs and parameters (`device.program_request.request`). Default: generate them.
    sources
        Other sources of candidates, such as external kernels (`tuning.source.usual_sources`). Default: only
        flags, as `try_flags` says.
    observer
        Receives progress (see `Observer`).
    progress
        Show progress, as the command does. Ctrl-C keeps the results so far.
    client
        A client of dask.distributed whose workers compile and measure (docs/cluster.md).
    """

    dim: Dim = None
    run: ProgramRun | None = None
    sources: Sequence[CandidateSource] = ()
    observer: Observer | None = None
    progress: bool = False
    client: object | None = None


@keywords(TuningArguments)
def tune_module(module: ProgramSource, arguments: TuningArguments) -> TuningResult:
    """Search for faster compiler flags and configurations of a program, and return them with a tuning spec.

    `program` is an `ir.Module`, MLIR text or bytecode, or a path. Final comparisons run on the first device.

    Raises TunerError for a problem with the program or the database, UsageError for wrong arguments.
    """
    program, run = sized_cases(load_program(module), given_sizes(arguments.dim)), arguments.run
    if run is not None and arguments.dim is not None:
        run = request(program, run.functions, run.inputs, run.parameters)
    with watching(arguments.observer, shown=arguments.progress) as watch:
        return tune_program(
            program, arguments, run=run, sources=arguments.sources, observer=watch, client=arguments.client
        )


def tune_program(
    program: Program, options: TuningOptions,
    *, run: ProgramRun | None = None, sources: Sequence[CandidateSource] = (),
    observer: Observer | None = None, client: object | None = None, earlier: EarlierResult | None = None,
) -> TuningResult:  # fmt: skip
    """Tune a loaded program (see `tune_module`). The result is an earlier one, unless a new one beats it."""
    timeline, watch = Timeline(), observer or Silent()
    program, cases = sized_as_given(program, run or request(program, flags=options.flags))
    stop = StopRequest(watch.stopping)
    with (
        lab_for(options, cold=not options.warm, restriction=options.restriction, client=client) as lab,
        open_records(options.db, program.name, options.recorded, stop=stop, fresh=options.fresh) as records,
        tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder,
    ):
        every = sources_of(options, sources)
        parts = lab, records, watch, timeline, every, Path(folder), earlier
        return TuningLoop(program, cases, options, *parts).tune()
