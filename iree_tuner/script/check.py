"""Whether the code that a script makes of dispatches is right."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.device.bench import Bench
from iree_tuner.device.conditioning import Depth
from iree_tuner.device.numerics import Agreement
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.script.build import build_here
from iree_tuner.script.script import Script
from iree_tuner.tuning.baseline import tolerance_of
from iree_tuner.tuning.lab import Lab


def depth_of(program: Program, lab: Lab) -> Depth:
    """Where errors of a program's results come from."""
    dispatches = extract(program, lab.target, lab.compilers).dispatches
    lengths = [each.workload.reduction_length for each in dispatches if each.workload is not None]
    return Depth(max(lengths, default=1), max(1, len(dispatches)))


def agree_alone(
    program: Program, script: Script, lowered: Sequence[str], lab: Lab
) -> list[tuple[str, Agreement]]:
    """Each dispatch that a script lowers, against the compiler's code and, where it is small, NumPy.

    Several inputs, several runs (`check.check`); `Agreement.note` says where there was no reference.

    Args:
        program: what is compiled.
        script: it lowers something of it.
        lowered: which functions, as `compile_with_script` found.
        lab: where it is built and run.
    """
    found: list[tuple[str, Agreement]] = []
    for dispatch in extract(program, lab.target, lab.compilers).dispatches:
        if dispatch.name not in lowered:
            continue
        bench = bench_of(dispatch, lab)
        if isinstance(bench, str):
            found.append((dispatch.name, _unknown(f"alone: {bench}")))
            continue
        built = lab.compilers.call(build_here, bench.harness.module, lab.target.flags, script.data)
        if built.outcome != "ok":
            found.append((dispatch.name, _unknown(f"alone, it fails ({built.outcome}): {built.message}")))
            continue
        lab.settle()
        found.append((dispatch.name, lab.measurer.agrees(built.vmfb, bench)))
    return found


def bench_of(dispatch: Dispatch, lab: Lab) -> Bench | str:
    """A dispatch with the compiler's own code, to compare others with; or why it cannot be run alone."""
    if dispatch.harness is None or dispatch.workload is None:
        return dispatch.reason or "its sizes are known at run time only"
    default = lab.builder.build(dispatch.harness, None)
    if default.outcome != "ok":
        return f"the compiler's default fails ({default.outcome}): {default.message}"
    tolerance = tolerance_of(dispatch.workload)
    return Bench(dispatch.harness, lab.measurer.device, default.vmfb, tolerance, lab.cold)


def _unknown(message: str) -> Agreement:
    return Agreement(False, float("inf"), message)
