"""Summands of the scores of an attention (`scores`) that kernels by Triton compute."""

from __future__ import annotations

from iree_tuner.kernels.formula import CONSTANT, INPUT, FormulaTerm
from iree_tuner.kernels.kernel import Problem
from iree_tuner.kernels.nest import Access, Nest
from iree_tuner.kernels.triton_code import ELEMENTS
from iree_tuner.kernels.triton_tiles import arrays_of, unknown_value

MOST_ADDED = 4
"""The most arrays that are read for it."""

_HIDDEN = -1e38  # finite: a query that sees no key weighs all of them equally


def summand_of(read: Access, kind: str, sizes: tuple[int, ...]) -> Nest:
    """A bias as a summand, by its strides of these loops; or a mask, which hides keys where it is 0."""
    terms = [FormulaTerm(INPUT, kind, input=0)]
    if kind == "i1":
        terms += [FormulaTerm(CONSTANT, "f32", value=each) for each in (0.0, _HIDDEN)]
        terms.append(FormulaTerm("arith.select", "f32", (0, 1, 2)))
    return Nest(sizes, (read,), tuple(terms), (0,) * len(sizes))


def refused(problem: Problem) -> str:
    """Why what is added to scores cannot be computed; empty if it can, or if nothing is."""
    nest = problem.added
    if nest is None:
        return ""
    if unknown := unknown_value(nest):
        return f"it adds {unknown} to scores, which the kernel does not compute"
    kinds = [problem.inputs[each].element_type for each in arrays_of(nest)]
    if not {*kinds} <= {*ELEMENTS, "i1"}:
        return f"it adds {', '.join(kinds)} to scores"
    return "" if len(kinds) <= MOST_ADDED else f"it reads {len(kinds)} arrays for its scores"
