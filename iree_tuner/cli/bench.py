"""`iree-tuner bench`: measure a program."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.inputs import INPUTS, CompiledName, InputFlags
from iree_tuner.cli.output import OUTPUT, AsJson, answers_to, people, print_json
from iree_tuner.cli.tuned import AS_IT_IS, TunedFlags
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.errors import UsageError
from iree_tuner.measure.program import compare_programs, time_program
from iree_tuner.measure.statistics import MEDIANS, comparison_facts, speedup_of
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import MEASURING, DeviceOptions, at_least
from iree_tuner.tuning.versions import depth_of, widened_of

BATCH_S = 0.05
_SECONDS = 120.0

_OPTIONS = DeviceOptions()


def bench(
    program: CompiledName,
    /,
    *,
    tuned: TunedFlags = AS_IT_IS,
    options: DeviceOptions = _OPTIONS,
    inputs: InputFlags = INPUTS,
    rounds: Annotated[int, Parameter(group=MEASURING)] = 64,
    as_json: Annotated[AsJson, Parameter(group=OUTPUT)] = False,
) -> int:
    """Measure a program's run time.

    With a spec, check its results, and compare it with the default in turns. Exit status 1 if the program
    with the spec fails or has other results.

    Example: `iree-tuner bench model.mlir --spec model.spec.mlir`

    Parameters
    ----------
    rounds
        Maximum number of interleaved sample pairs with a spec.
    """
    at_least(1, rounds=rounds)
    target, others = options.targets
    if others:
        raise UsageError("bench takes one device")
    source, request = inputs.read(program, options.flags, tuned=tuned.given)
    with Lab(target, options.jobs) as lab, people.status("compiling"):
        lab.start()
        if isinstance(source, bytes):
            vmfb, version = source, "module"
        else:
            vmfb, version = compile_program(source, target, lab.compilers).data, "default"
            if tuned.given:
                with tuned.applied(source, target) as changed:
                    other = compile_program(*changed, lab.compilers).data
                return _compared(source, (vmfb, other), lab, request, rounds, as_json)
        lab.settle()
        samples = time_program(vmfb, lab.measurer.device, lab.measurer.workers, request, batch_s=BATCH_S)
    median, least, most = statistics.median(samples), min(samples), max(samples)
    if as_json:
        print_json({"version": version, "median_us": median, "least_us": least, "most_us": most,
                    "samples": len(samples)})  # fmt: skip
    spread = f"{least:.1f} to {most:.1f}, {len(samples)} samples"
    line = f"{version}: {median:.1f} us per invocation (median; {spread})"
    answers_to(as_json=as_json).print(line)
    return 0


def _compared(
    source: Program, built: tuple[bytes, bytes], lab: Lab, request: ProgramRun, rounds: int, as_json: bool
) -> int:
    """Compare a program with its default, and print the verdict."""
    depth = depth_of(source, lab)
    lab.settle()
    (found,) = compare_programs(
        [built], lab.measurer.device, lab.measurer.workers, rounds, depth, request,
        batch_s=BATCH_S, seconds=_SECONDS, widened=partial(widened_of, source, lab),
    )  # fmt: skip
    comparison, note = found.comparison, found.error or found.agreement.note
    if as_json:
        print_json({"version": "tuned", "note": note, **comparison_facts(comparison)})
    console = answers_to(as_json=as_json)
    if comparison is None:
        console.print(f"tuned: {found.error}")
        return 1
    console.print(f"default: {comparison.default_us:.1f} us per invocation")
    console.print(f"tuned: {comparison.candidate_us:.1f} us, {speedup_of(comparison)}, {comparison.verdict}")
    if comparison.medians_disagree:
        console.print(MEDIANS)
    if note:
        console.print(note)
    return 0
