"""`iree-tuner bench`: measure a program."""

from __future__ import annotations

import statistics
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.inputs import INPUTS, InputFlags, ProgramName, opened
from iree_tuner.cli.output import OUTPUT, AsJson, answers_to, people, print_json
from iree_tuner.errors import UsageError
from iree_tuner.measure.program import time_program
from iree_tuner.program.phases import compile_program
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import DeviceOptions

BATCH_S = 0.05

_OPTIONS = DeviceOptions()


def bench(
    program: ProgramName,
    /,
    *,
    options: DeviceOptions = _OPTIONS,
    inputs: InputFlags = INPUTS,
    as_json: Annotated[AsJson, Parameter(group=OUTPUT)] = False,
) -> int:
    """Measure a program's run time.

    Example: `iree-tuner bench programs/matmuls/matmul.mlir`
    """
    source, (target, others) = inputs.sized(opened(program)), options.targets
    if others:
        raise UsageError("bench takes one device")
    request = inputs.request(source, options.flags)
    with Lab(target, options.jobs) as lab, people.status("compiling"):
        lab.start()
        vmfb = compile_program(source, target, lab.compilers).data
        lab.settle()
        samples = time_program(vmfb, lab.measurer.device, lab.measurer.workers, request, batch_s=BATCH_S)
    median, least, most = statistics.median(samples), min(samples), max(samples)
    if as_json:
        print_json({"version": "default", "median_us": median, "least_us": least, "most_us": most,
                    "samples": len(samples)})  # fmt: skip
    spread = f"{least:.1f} to {most:.1f}, {len(samples)} samples"
    line = f"default: {median:.1f} us per invocation (median; {spread})"
    answers_to(as_json=as_json).print(line)
    return 0
