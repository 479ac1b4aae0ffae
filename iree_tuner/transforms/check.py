"""Whether what a script makes of dispatches is right."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.measure.bench import Bench
from iree_tuner.measure.numerics import Agreement
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.transforms.build import build_here
from iree_tuner.transforms.script import Script
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.weigh import tolerance_of


def reduction_length_of(program: Program, lab: Lab) -> int:
    """How long a sum a result may pass through: errors add up from one dispatch to the next."""
    dispatches = extract(program, lab.target, lab.compilers).dispatches
    lengths = [each.workload.reduction_length for each in dispatches if each.workload is not None]
    return max(lengths, default=1) * max(1, len(lengths)) ** 2


def agree_alone(
    program: Program, script: Script, lowered: Sequence[str], lab: Lab
) -> list[tuple[str, Agreement]]:
    """Each dispatch that a script lowers, against the compiler's code and, where it is small, NumPy.

    Several inputs, several runs (`measure.check`); `Agreement.note` says where there was no reference.

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
        if dispatch.harness is None or dispatch.workload is None:
            found.append((dispatch.name, _unknown(dispatch.reason or "it cannot be run alone")))
            continue
        default = lab.builder.build(dispatch.harness, None)
        flags = lab.target.flags
        built = lab.compilers.call(build_here, dispatch.harness.module, flags, script.data)
        bad = next((each for each in (default, built) if each.outcome != "ok"), None)
        if bad is not None:
            found.append((dispatch.name, _unknown(f"alone, it ends in {bad.outcome}: {bad.message}")))
            continue
        tolerance = tolerance_of(dispatch.workload)
        bench = Bench(dispatch.harness, lab.measurer.device, default.vmfb, tolerance, lab.cold)
        lab.settle()
        found.append((dispatch.name, lab.measurer.agrees(built.vmfb, bench)))
    return found


def _unknown(message: str) -> Agreement:
    return Agreement(False, float("inf"), message)
