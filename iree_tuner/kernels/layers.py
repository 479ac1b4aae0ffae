"""Compare a program with and without kernels layer by layer, to find where results begin to differ.

The result of each layer that a kernel computes becomes an additional result of the program. The program is
compiled with and without kernels, and both versions run on the same inputs. A layer's difference comes from
its own sums and from all layers before it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from iree.compiler import ir
from iree.compiler.dialects import util

from iree_tuner.compiler.worker import session_for
from iree_tuner.device.numerics import Agreement, compare
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.errors import TunerError
from iree_tuner.kernels.kernel import Problem
from iree_tuner.kernels.site import find_results
from iree_tuner.kernels.source import Chosen
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.program.harness import run_passes
from iree_tuner.program.phases import select_target
from iree_tuner.program.source import Program
from iree_tuner.spec.external import SPEC_FLAG, count_calls
from iree_tuner.targets import Target, with_flags
from iree_tuner.tuning.lab import Lab

Array = npt.NDArray[Any]

_OWN = -1  # a result of the program itself


@dataclass(frozen=True)
class LayerError:
    """The difference of a layer's result with kernels from the result without.

    Attributes:
        name: name of the problem; `result 0` for the program's own results.
        before: number of layers before it, whose differences it may contain.
        largest: the largest difference.
        relative: the largest difference divided by the largest value.
        worst: the largest difference as a multiple of the tolerance for the sums of this layer and of the
            layers before it. Up to 1, another order of summation explains it.
        message: place and values of the difference; empty if all values are within the tolerance.
        overflown: the share of values that are infinite or NaN without kernels.
    """

    name: str
    before: int
    largest: float
    relative: float
    worst: float
    message: str = ""
    overflown: float = 0.0

    @property
    def explained(self) -> bool:
        return self.worst <= 1.0


@dataclass(frozen=True)
class Exposed:
    """A compiled program with more results.

    Attributes:
        outputs: for each result the number of its case, or -1 for the program's own results.
        calls: number of dispatches that run kernels.
    """

    vmfb: bytes
    outputs: tuple[int, ...]
    calls: int


def compare_layers(
    program: Program, chosen: Chosen, executable_target: str, lab: Lab, run: ProgramRun
) -> list[LayerError]:
    """Compare the results of all layers that kernels compute, and of the program, with and without kernels.

    `executable_target` is the one of kernels (`find.Places.target`). Raises TunerError if the program does
    not compile or run.
    """
    cases = tuple(site.case for site, _ in chosen)
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as name:
        folder = Path(name)
        save_kernel_spec(chosen, executable_target, lab.context, folder / "kernels.mlir")
        flagged = with_flags(lab.target, (f"{SPEC_FLAG}={folder / 'kernels.mlir'}",))
        found: list[Exposed] = []
        paths: list[str] = []
        for number, target in enumerate((lab.target, flagged)):
            found.append(lab.compilers.call(expose_here, program.data, program.name, target, cases))
            paths.append(str(folder / f"{number}.vmfb"))
            Path(paths[-1]).write_bytes(found[-1].vmfb)
        outputs = found[-1].outputs
        wanted = sum(number != _OWN for number in outputs)
        if (calls := found[-1].calls) < wanted:
            message = f"with more results, the program calls kernels {calls} times, not {wanted} times"
            raise TunerError(message, location=program.name)
        problems = [site.problem for site, _ in chosen]
        measurer = lab.measurer
        return measurer.workers.call(
            compare_here, paths, measurer.device, run, outputs, problems, timeout_s=600.0
        )


def expose_here(data: bytes, name: str, target: Target, cases: Sequence[bytes]) -> Exposed:
    """Compile a program whose functions also return the results of some sites. Runs in workers."""
    session = session_for(target.flags)
    with session.context, ir.Location.unknown():
        module = session.parse(data, name)
        select_target(module, target)
        session.run(module, stop="input")
        run_passes(module, session, "builtin.module(cse)")  # as one phase later, where sites are found
        results = find_results(module, cases)
        outputs: list[int] = []
        for function in ir.get_ops_of_type(module, util.FuncOp):
            if "sym_visibility" not in function.operation.attributes or _is_public(function.operation):
                outputs += _return_more(function.operation, results)
        session.run(module, start="input", stop="flow")
        calls = count_calls(module)
        return Exposed(session.to_vmfb(module, start="flow"), tuple(outputs), calls)


def _is_public(function: ir.Operation) -> bool:
    return ir.StringAttr(function.attributes["sym_visibility"]).value == "public"


def _return_more(function: ir.Operation, results: Sequence[tuple[int, ir.Operation]]) -> list[int]:
    block = function.regions[0].blocks[0]
    last = block.operations[len(block.operations) - 1].operation
    mine = [(number, op) for number, op in results if op.parent == function]
    values = [*last.operands, *(op.result for _, op in mine)]
    own = len(last.operands)
    with ir.InsertionPoint(last):
        util.ReturnOp(values)
    last.erase()
    inputs = [each.type for each in block.arguments]
    kind = ir.FunctionType.get(inputs, [each.type for each in values])
    function.attributes["function_type"] = ir.TypeAttr.get(kind)
    return [_OWN] * own + [number for number, _ in mine]


def compare_here(
    paths: Sequence[str], device: str, run: ProgramRun, outputs: Sequence[int], problems: Sequence[Problem]
) -> list[LayerError]:
    """Run both programs on inputs of each kind, and compare all results, layers first.

    Runs in a measuring worker.
    """
    without, with_ = (LoadedProgram(path, device, run).results() for path in paths)
    if len(without[0]) != len(outputs) or len(with_[0]) != len(outputs):
        raise TunerError("comparing layers needs all functions: do not pass a function name")
    length = max(problem.workload.reduction_length for problem in problems)
    layers: list[LayerError] = []
    every = list(zip(outputs, zip(*without, strict=True), zip(*with_, strict=True), strict=True))
    for number, expected, got in sorted(every, key=lambda each: each[0] == _OWN):
        before = len(layers)
        blank = LayerError(
            f"result {sum(each.name.startswith('result') for each in layers)}", before, 0.0, 0.0, 0.0
        )
        accumulator, reach = "f32", length * max(1, before) ** 2
        element = _element(expected[0])
        if number != _OWN:
            problem = problems[number]
            blank = replace(blank, name=problem.name)
            element, accumulator = problem.result.element_type, str(problem.workload.types[-1])
            reach = max(reach, problem.workload.reduction_length)
        seen = [
            _differ(ours, theirs, blank, compare(ours, theirs, element, accumulator, reach))
            for ours, theirs in zip(got, expected, strict=True)
        ]
        layers.append(max(seen, key=lambda each: (each.worst, each.relative)))
    return layers


def _differ(got: Array, expected: Array, blank: LayerError, found: Agreement) -> LayerError:
    """The difference of two results. Values that overflow in both do not count."""
    ours, theirs = got.astype(np.float64), expected.astype(np.float64)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(ours - theirs))
    largest = float(np.max(np.nan_to_num(apart, nan=np.inf, posinf=np.inf), initial=0.0))
    top = float(np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0.0))
    overflown = theirs.size - int(np.isfinite(theirs).sum())
    return replace(
        blank, largest=largest, relative=largest / top if top else 0.0, worst=found.worst,
        message="" if found.ok else found.message, overflown=overflown / max(1, theirs.size),
    )  # fmt: skip


def _element(array: Array) -> str:
    letters = {"float32": "f32", "float16": "f16", "float64": "f64", "bfloat16": "bf16"}
    return letters.get(str(array.dtype), f"i{array.dtype.itemsize * 8}")
