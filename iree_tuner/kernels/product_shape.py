"""Contractions as sizes and steps: what kernels that read arrays in place have to know."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from iree_tuner.kernels.problem import Problem
from iree_tuner.ops.contraction import ROLES, is_contraction

LEFT, RIGHT, RESULT, BIAS, ADDED = "LEFT", "RIGHT", "RESULT", "BIAS", "ADDED"

_COPIED_BYTES = 16  # strides of a tensor map are multiples of it: CUDA driver API, cuTensorMapEncodeTiled


@dataclass(frozen=True)
class Matrices:
    """An array as equal matrices, as the copy engine takes it.

    Attributes:
        count: how many.
        rows, columns: their sizes; columns are next to each other in memory.
        distance, step: elements from one matrix and from one row to the next.
        turned: whether rows are loops of the depth, or of the columns of the result.
    """

    count: int
    rows: int
    columns: int
    distance: int
    step: int
    turned: bool


@dataclass(frozen=True)
class ProductShape:
    """Loops of a contraction by their roles, `batch`, `m`, `n` and `k`, outermost first.

    Loops that follow each other in all arrays are one. A role without loops has one of size 1. Columns of the
    result (`n`) are what is next to each other in memory.

    Attributes:
        sizes: by role.
        steps: by array (`LEFT`, `RIGHT`, `RESULT`, `BIAS`, and `ADDED` for the epilogue's others) and role,
            elements from one to the next of each loop; 0 where the array is the same for all of these.
        exchanged: whether `LEFT`, with the rows, is the problem's second operand.
    """

    sizes: Mapping[str, tuple[int, ...]]
    steps: Mapping[str, Mapping[str, tuple[int, ...]]]
    exchanged: bool

    def size(self, role: str) -> int:
        """Of all loops of a role together."""
        return math.prod(self.sizes[role])

    @property
    def m(self) -> int:
        """Rows of the result."""
        return self.size("m")

    @property
    def n(self) -> int:
        """Columns of the result."""
        return self.size("n")

    @property
    def k(self) -> int:
        """Products of a sum."""
        return self.size("k")

    @property
    def batch(self) -> int:
        """How many products of matrices."""
        return self.size("batch")

    def matrices(self, array: str, roles: tuple[str, str], element_bytes: int) -> Matrices | None:
        """An array as matrices, by the roles of its rows and columns; None where the copy engine cannot."""
        found = [self._joined(array, role) for role in ("batch", *roles)]
        if any(len(each) > 1 for each in found):
            return None
        (count, distance), *sides = (each[0] for each in found)
        (rows, step), (columns, inner) = sides
        turned = inner != 1 or columns == 1
        if turned:
            rows, step, columns, inner = columns, inner, rows, step
        if rows == 1:
            step = _COPIED_BYTES * columns  # is not used, and must be legal
        if inner != 1 or columns == 1 or (step * element_bytes) % _COPIED_BYTES:
            return None
        if distance == 0:
            return Matrices(1, rows, columns, 0, step, turned)
        legal = (distance * element_bytes) % _COPIED_BYTES == 0
        return Matrices(count, rows, columns, distance, step, turned) if legal else None

    def _joined(self, array: str, role: str) -> list[tuple[int, int]]:
        """Sizes and steps of a role's loops; those that follow each other in one array are one."""
        found: list[tuple[int, int]] = []
        for size, step in zip(self.sizes[role], self.steps[array][role], strict=True):
            if found and found[-1][1] == step * size:
                found[-1] = (found[-1][0] * size, step)
            else:
                found.append((size, step))
        return found


def product_shape(problem: Problem) -> ProductShape | None:
    """The problem as such; None where it is no contraction, or indexes an operand in another way."""
    workload = problem.workload
    if not is_contraction(workload) or workload.dynamic:
        return None
    if not all(each.is_permutation for each in workload.maps):
        return None
    sizes = workload.loops
    left, right, result = (_steps(each.loops, sizes) for each in workload.maps)
    loops = {role: workload.role(role) for role in ROLES}
    order = workload.maps[2].loops
    last = next((each for each in reversed(order) if sizes[each] > 1), None)
    exchanged = last in loops["m"]
    if exchanged:
        left, right = right, left
        loops |= {"m": loops["n"], "n": loops["m"]}
    seen = problem.seen or tuple((each,) for each in order)
    along = {"bias": seen[-1:], "image_bias": (seen[:1] + seen[-1:])}
    kind = next((each for each in along if each in problem.epilogue), "")
    bias = _steps([each for own in along.get(kind, ()) for each in own], sizes)
    same = not problem.seen or not {"residual", "factor"} & set(problem.epilogue)
    added = result if same else _steps([each for own in seen for each in own], sizes)
    arrays = {LEFT: left, RIGHT: right, RESULT: result, BIAS: bias, ADDED: added}
    own = {role: _in_order(loops[role], sizes, left if role == "k" else result) for role in ROLES}
    groups = {role: _groups(own[role], sizes, list(arrays.values())) for role in ROLES}
    return ProductShape(
        {role: tuple(math.prod(sizes[each] for each in group) for group in groups[role]) for role in ROLES},
        {
            name: {
                role: tuple(steps.get(group[-1], 0) if group else 0 for group in groups[role])
                for role in ROLES
            }
            for name, steps in arrays.items()
        },
        exchanged,
    )


def _steps(loops: Sequence[int], sizes: Sequence[int]) -> dict[int, int]:
    """Elements from one to the next of each loop in a dense array."""
    return {loop: math.prod(sizes[each] for each in loops[at + 1 :]) for at, loop in enumerate(loops)}


def _in_order(loops: Sequence[int], sizes: Sequence[int], steps: Mapping[int, int]) -> list[int]:
    return sorted((each for each in loops if sizes[each] > 1), key=lambda each: -steps[each])


def _groups(
    loops: Sequence[int], sizes: Sequence[int], arrays: Sequence[Mapping[int, int]]
) -> list[list[int]]:
    """Loops that follow each other in every array together; one group without any where there are none."""
    found = [[each] for each in loops[:1]]
    for one, other in pairwise(loops):
        if all(steps.get(one, 0) == steps.get(other, 0) * sizes[other] for steps in arrays):
            found[-1].append(other)
        else:
            found.append([other])
    return found or [[]]


@dataclass(frozen=True)
class Gemm:
    """A problem as one matrix multiplication: `m x k` by `k x n`.

    Attributes:
        m, n, k: its sizes.
        transposed: whether the second operand is kept as `n x k`.
    """

    m: int
    n: int
    k: int
    transposed: bool


def gemm_of(problem: Problem) -> Gemm | None:
    """The problem as a plain multiplication of dense matrices, `A B` or `A Bt`; None where it is none."""
    shape = product_shape(problem)
    if shape is None or shape.exchanged or shape.batch > 1:
        return None
    if any(len(each) > 1 for each in shape.sizes.values()):
        return None

    def dense(array: str, row: str, column: str) -> bool:
        steps = shape.steps[array][row][0], shape.steps[array][column][0]
        wanted = (shape.size(column), 1)
        sizes = (shape.size(row), shape.size(column))
        return all(size == 1 or step == want for size, step, want in zip(sizes, steps, wanted, strict=True))

    plain = dense(RIGHT, "k", "n")
    if not dense(LEFT, "m", "k") or not dense(RESULT, "m", "n") or not (plain or dense(RIGHT, "n", "k")):
        return None
    return Gemm(shape.m, shape.n, shape.k, transposed=not plain)
