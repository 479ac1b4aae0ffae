"""Large sums, ops that normalise by them, and large chains, for NVIDIA GPUs, by Triton's compiler."""

from __future__ import annotations

import hashlib
import linecache
from dataclasses import replace
from typing import Any

from iree_tuner.kernels.kernel import Code, Knobs
from iree_tuner.kernels.nest import Nest, NestTiles, tiles_of
from iree_tuner.kernels.nest_source import NAME, source_of, unknown_term
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.kernels.triton_code import ELEMENTS, TritonKernel, code_of, compiled, unfit_arrays
from iree_tuner.targets import Target

_SUMS: Knobs = {"warps": 8, "stages": 1}
_ELEMENTS: Knobs = {"warps": 4, "stages": 1}


class TritonNorms(TritonKernel):
    """Reads along the memory, whatever the loops are. Sums are f32, and added up in two launches."""

    name = "triton_norms"
    summary = "sums of many values, ops that normalise groups by them, slices and joins, by Triton"

    def refuses(self, problem: Problem) -> str:
        nest = problem.nest
        if nest is None:
            return "it is no sum of many values, no op that normalises by one and no large chain"
        if unknown := unknown_term(nest):
            return f"it has {unknown}, which the kernel does not compute"
        if any(nest.summed) and {nest.terms[-1].element, problem.result.element_type} != {"f32"}:
            return f"its sums are {problem.result.element_type}, not f32"
        return unfit_arrays(problem)

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        """One variant: the problem is not timed alone."""
        del target
        return (_SUMS if problem.nest is not None and any(problem.nest.summed) else _ELEMENTS,)

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        if problem.nest is None or self.refuses(problem) or target.backend != self.backend:
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        function, tiles = function_of(problem.nest, len(problem.inputs))
        inputs = {f"x{number}": ELEMENTS[each.element_type] for number, each in enumerate(problem.inputs)}
        made = compiled(function, {**inputs, "out": ELEMENTS[problem.result.element_type]}, {}, knobs)
        bindings = range(len(inputs) + 1)
        code = code_of(made, bindings, len(bindings), (tiles.workgroups, 1, 1), knobs)
        return replace(code, parts=tiles.parts if tiles.sums else 0)


def function_of(nest: Nest, inputs: int) -> tuple[Any, NestTiles]:
    """The function in Triton that computes a nest with this number of inputs, and its tiles."""
    merged = nest.merged()
    tiles = tiles_of(merged)
    text = source_of(merged, tiles, inputs)
    # Triton reads the function's source by its file's name, as the interpreter of Python has it.
    file = f"<{NAME} {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), space)
    return space[NAME], tiles
