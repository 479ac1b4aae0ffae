"""Whole programs: run their functions, time them, and compare several compilations of one program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.compiler.worker import Calls
from iree_tuner.device.conditioning import Depth
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.measure.judging import JudgePlan
from iree_tuner.measure.program_bench import ProgramComparison, program_bench
from iree_tuner.measure.program_worker import Output
from iree_tuner.targets.kind import RuntimeFlags

_TOGETHER = 6  # compilations that take turns with the default: all of them are loaded at once
_WORTH_SCREENING = 32  # rounds of a comparison

_AS_GIVEN = ProgramRun()
_SHALLOW = Depth()


def compare_programs(
    placed: Sequence[Sequence[bytes]], device: str, workers: Calls, rounds: int, depth: Depth,
    run: ProgramRun = _AS_GIVEN, *, batch_s: float = 0.05, seconds: float = 120.0,
    for_host: Callable[[], bytes] | None = None, runtimes: Sequence[RuntimeFlags] = (),
    widened: Callable[[], bytes] | None = None,
) -> list[ProgramComparison]:  # fmt: skip
    """Interleave compilations of a program with its default, in the measuring worker, on the same inputs.

    A time is of one invocation: each of the chosen functions once. A failure is reported for its program, and
    does not disturb the others. Several take turns with one default; more than a few are split.

    Args:
        placed: for each place of the code, the program as the compiler makes it, and each other compilation.
        device: device URI.
        workers: the measuring worker.
        rounds: pairs of batches at most for each compilation, over all places.
        depth: where errors of its results come from.
        run: which functions, on which inputs, with which parameters.
        batch_s: least length of a sample, in seconds.
        seconds: time that the programs may take together.
        for_host: makes the same program for this machine's processor, or empty bytes; asked once, if results
            differ on another device: results that match the processor's are right.
        runtimes: the runtime's flags for the default and for each other; its own defaults without.
        widened: makes the same program with f32 for f16 and bf16 (`program.widened`), or empty bytes; asked
            once. How far the default is from it says how far right versions may be from the default.

    Returns:
        One for each other compilation, in their order.

    Raises:
        TunerError: the default cannot be run as asked: no function whose inputs can be made, files that do
            not fit, or it fails.
        WorkerError: the default died or did not come back.
    """
    with program_bench(device, workers, run, batch_s, for_host, runtimes, widened) as bench:
        paths = [bench.write(vmfbs) for vmfbs in placed]
        function = bench.check_default(paths[0][:1], depth)
        blank = ProgramComparison(function, None, Agreement(True, 0.0))
        found = dict.fromkeys(range(len(placed[0]) - 1), blank)
        for first in range(0, len(found), _TOGETHER):
            group = [index for index in found if first <= index < first + _TOGETHER]
            for index in group:
                found[index] = bench.checked(paths, index + 1, found[index], depth)
            if rounds >= _WORTH_SCREENING:
                bench.screen(paths[0], group, found)
            bench.compare(paths, group, found, JudgePlan(rounds, seconds=seconds))
        return [found[index] for index in sorted(found)]


@dataclass(frozen=True)
class Ran:
    """A program that ran.

    Attributes:
        function: the entry functions, in order.
        outputs: their results, in files.
        agreement: with another compilation of it; None where there was none to compare with.
        checks: for each of the program's own checks, its function and why it fails; empty where it passes.
        overwrites: that invocations change constants of the program; empty where they do not.
    """

    function: str
    outputs: tuple[Output, ...]
    agreement: Agreement | None
    checks: tuple[str, ...] = ()
    overwrites: str = ""


def run_program(
    vmfb: bytes, folder: Path, device: str, workers: Calls, run: ProgramRun = _AS_GIVEN,
    *, default: bytes = b"", depth: Depth = _SHALLOW, widened: Callable[[], bytes] | None = None,
) -> Ran:  # fmt: skip
    """Run a program, keep its results in a folder, and compare them with another compilation's.

    Args:
        vmfb: the program.
        folder: where results are written, `result_N.npy`.
        device: device URI.
        workers: the measuring worker.
        run: which functions, on which inputs, with which parameters.
        default: the program as the compiler makes it; empty for no comparison.
        depth: where errors of its results come from.
        widened: see `compare_programs`.

    Raises:
        TunerError: it, or the other one, does not run; or the results cannot be written.
        WorkerError: it died or did not come back.
    """
    with program_bench(device, workers, run, 0.0, widened=widened if default else None) as bench:
        paths = bench.write([vmfb, default] if default else [vmfb])
        function = bench.check_default(paths)
        saved = bench.save(paths[0], folder)
        agreement = None
        if default:
            blank = ProgramComparison(function, None, Agreement(True, 0.0))
            agreement = bench.checked([paths[::-1]], 1, blank, depth).agreement
        return Ran(function, saved.outputs, agreement, saved.checks, saved.overwrites)


def time_program(
    vmfb: bytes, device: str, workers: Calls, run: ProgramRun = _AS_GIVEN, rounds: int = 16,
    batch_s: float = 0.05,
) -> tuple[float, ...]:  # fmt: skip
    """Microseconds of one invocation of a program, one value a batch.

    Args:
        vmfb: the program, compiled.
        device: device URI.
        workers: the measuring worker.
        run: which functions, each once an invocation, on which inputs, with which parameters.
        rounds: how many batches.
        batch_s: least length of a batch, in seconds.

    Raises:
        TunerError: the program cannot be run as asked, or fails.
        WorkerError: it died or did not come back.
    """
    with program_bench(device, workers, run, batch_s) as bench:
        bench.check_default(paths := bench.write([vmfb]))
        return tuple(sample for (sample,) in bench.rounds(paths, rounds, 0))
