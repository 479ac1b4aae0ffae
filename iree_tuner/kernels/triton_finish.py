"""The last step of an epilogue, which has no name (`finish`), in kernels by Triton."""

from __future__ import annotations

from typing import Any

from iree_tuner.kernels.formula import INPUT
from iree_tuner.kernels.kernel import COMPUTED, Problem
from iree_tuner.kernels.nest import SUMS, Nest
from iree_tuner.kernels.triton_tiles import arrays_of, function_of_places, unknown_value
from iree_tuner.ops.element_type import NARROW_FLOATS

_ROUNDS = "truncf"


def refused(problem: Problem) -> str:
    """Why the step cannot be computed; empty if it can, or if there is none."""
    nest = problem.finish
    if nest is None:
        return ""
    if unknown := unknown_value(nest):
        return f"its epilogue has {unknown}, which it does not compute"
    if problem.halves is not None:
        return "its halves are multiplied, and more follows"
    mixed = _ROUNDS in problem.epilogue and str(problem.workload.types[2]) not in NARROW_FLOATS
    return "its sums are rounded and widened" if mixed and _kind_of_sums(nest) not in NARROW_FLOATS else ""


def steps_of(problem: Problem) -> tuple[str, ...]:
    """The steps that have names. Instead of `truncf` it is the type that values are rounded to."""
    narrow = problem.result.element_type
    if problem.finish is not None:
        sums, own = str(problem.workload.types[2]), _kind_of_sums(problem.finish)
        narrow = own if own in NARROW_FLOATS else sums
    return tuple(narrow if each == _ROUNDS else each for each in problem.steps if each != COMPUTED)


def end_of_named(problem: Problem) -> int:
    """The number of inputs before those of the step, of which the last are the operands of named steps."""
    own = arrays_of(problem.finish)
    return own[0] if own else len(problem.inputs)


def reads_tiles(nest: Nest | None) -> bool:
    """Whether the step reads arrays by both rows and columns, more or less as the result is written."""
    return nest is not None and any(
        each.input != SUMS and sum(map(bool, each.strides)) > 1 for each in nest.accesses
    )


def function_of(nest: Nest | None, sides: tuple[int, int], full: tuple[bool, bool], arrays: int) -> Any:  # noqa: ANN401 - Triton has no types
    """The function in Triton for a tile, see `function_of_places`; None without a step.

    `sides` are the numbers of rows and columns, `arrays` is the number of those that the kernel is given.
    """
    return None if nest is None else function_of_places(nest, *sides, full, range(arrays))


def _kind_of_sums(nest: Nest) -> str:
    """The type of the value that the step begins with."""
    return next(
        each.element for each in nest.terms if each.op == INPUT and nest.accesses[each.input].input == SUMS
    )
