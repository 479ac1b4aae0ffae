"""Sizes and strides of contractions, for kernels that read arrays in place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from iree_tuner.kernels.problem import Problem
from iree_tuner.ops.contraction import ROLES, is_contraction

LEFT, RIGHT, RESULT, BIAS, ADDED = "LEFT", "RIGHT", "RESULT", "BIAS", "ADDED"

_COPIED_BYTES = 16  # strides of a tensor map are multiples of 16: CUDA driver API, cuTensorMapEncodeTiled


@dataclass(frozen=True)
class Matrices:
    """An array as matrices of equal size, the form that the copy engine takes.

    Attributes:
        count: number of matrices.
        rows, columns: sizes of a matrix; columns are contiguous in memory.
        distance, step: distances of matrices and of rows, in elements.
        turned: whether rows and columns are exchanged, against the roles that were asked for.
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

    Loops that follow each other in all arrays are joined. A role without loops gets one of size 1. Columns of
    the result (`n`) are contiguous in memory.

    Attributes:
        sizes: sizes of the loops by role.
        steps: by array (`LEFT`, `RIGHT`, `RESULT`, `BIAS`, and `ADDED` for other operands of the epilogue)
            and by role, the stride of each loop in elements; 0 if the array does not depend on the loop.
        exchanged: whether `LEFT`, with the rows, is the problem's second operand.
    """

    sizes: Mapping[str, tuple[int, ...]]
    steps: Mapping[str, Mapping[str, tuple[int, ...]]]
    exchanged: bool

    def size(self, role: str) -> int:
        """The product of the sizes of a role's loops."""
        return math.prod(self.sizes[role])

    @property
    def m(self) -> int:
        """The number of rows of the result."""
        return self.size("m")

    @property
    def n(self) -> int:
        """The number of columns of the result."""
        return self.size("n")

    @property
    def k(self) -> int:
        """The number of products in a sum."""
        return self.size("k")

    @property
    def batch(self) -> int:
        """The number of matrix products."""
        return self.size("batch")

    def matrices(self, array: str, roles: tuple[str, str], element_bytes: int) -> Matrices | None:
        """An array as matrices, by the roles of rows and columns; None if the copy engine cannot read it."""
        found = [self._joined(array, role) for role in ("batch", *roles)]
        if any(len(each) > 1 for each in found):
            return None
        (count, distance), *sides = (each[0] for each in found)
        (rows, step), (columns, inner) = sides
        turned = inner != 1 or columns == 1
        if turned:
            rows, step, columns, inner = columns, inner, rows, step
        if rows == 1:
            step = _COPIED_BYTES * columns  # not used, but must be legal
        if inner != 1 or columns == 1 or (step * element_bytes) % _COPIED_BYTES:
            return None
        if distance == 0:
            return Matrices(1, rows, columns, 0, step, turned)
        legal = (distance * element_bytes) % _COPIED_BYTES == 0
        return Matrices(count, rows, columns, distance, step, turned) if legal else None

    def _joined(self, array: str, role: str) -> list[tuple[int, int]]:
        """Sizes and strides of a role's loops; loops that follow each other in the array are joined."""
        found: list[tuple[int, int]] = []
        for size, step in zip(self.sizes[role], self.steps[array][role], strict=True):
            if found and found[-1][1] == step * size:
                found[-1] = (found[-1][0] * size, step)
            else:
                found.append((size, step))
        return found


def product_shape(problem: Problem) -> ProductShape | None:
    """The shape of a problem; None if it is no contraction, or an indexing map is no permutation."""
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
    """The stride of each loop in a dense array, in elements."""
    return {loop: math.prod(sizes[each] for each in loops[at + 1 :]) for at, loop in enumerate(loops)}


def _in_order(loops: Sequence[int], sizes: Sequence[int], steps: Mapping[int, int]) -> list[int]:
    return sorted((each for each in loops if sizes[each] > 1), key=lambda each: -steps[each])


def _groups(
    loops: Sequence[int], sizes: Sequence[int], arrays: Sequence[Mapping[int, int]]
) -> list[list[int]]:
    """Groups of loops that follow each other in every array; one empty group if there are no loops."""
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
        m, n, k: sizes of the multiplication.
        transposed: whether the second operand is stored as `n x k`.
    """

    m: int
    n: int
    k: int
    transposed: bool


def gemm_of(problem: Problem) -> Gemm | None:
    """The problem as a plain multiplication of dense matrices, `A B` or `A Bt`; None if it is none."""
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
