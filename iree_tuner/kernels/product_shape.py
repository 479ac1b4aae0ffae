"""The loops of a product by their roles, and the strides of its arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from iree_tuner.kernels.kernel import Problem
from iree_tuner.kernels.nest import Nest, common_parts
from iree_tuner.ops.contraction import ROLES, is_contraction

LEFT, RIGHT, RESULT, EXTRA = "LEFT", "RIGHT", "RESULT", "EXTRA"

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
    the result (`n`) are contiguous in memory, unless the shape is `turned`.

    Attributes:
        sizes: sizes of the loops by role.
        steps: by array (`LEFT`, `RIGHT`, `RESULT`, and `EXTRA0` etc. for operands of the epilogue) and by
            role, the stride of each loop in elements; 0 if the array does not depend on the loop.
        sources: numbers of the problem's inputs that are `LEFT`, with the rows, and `RIGHT`; of a computed
            operand the first one.
        gated: whether the first loop of `n` is that of two halves, which the result does not have.
        computed: by operand that is not an array, its computation: loops of `batch`, then of `m` or `n`, then
            of `k`. Its steps mean nothing.
        bytes: of an element of an operand that tensor cores read; 4 if one of them is f32.
        finishes: the step `Problem.finish` with loops of `batch`, `m` and `n`, and with those of `batch`, `n`
            and `m`; empty without it.
    """

    sizes: Mapping[str, tuple[int, ...]]
    steps: Mapping[str, Mapping[str, tuple[int, ...]]]
    sources: tuple[int, int]
    gated: bool = False
    computed: Mapping[str, Nest] = field(default_factory=dict[str, Nest])
    bytes: int = 2
    finishes: tuple[Nest, ...] = ()

    @property
    def exchanged(self) -> bool:
        """Whether the rows are those of the problem's second operand."""
        return self.sources[0] > self.sources[1]

    @property
    def written(self) -> ProductShape:
        """The shape with the columns of the result."""
        if not self.gated:
            return self
        sizes = {**self.sizes, "n": self.sizes["n"][1:]}
        steps = {array: {**own, "n": own["n"][1:]} for array, own in self.steps.items()}
        return replace(self, sizes=sizes, steps=steps, gated=False)

    @property
    def turned(self) -> ProductShape:
        """The shape of the same product with rows and columns exchanged."""
        computed = dict(zip((LEFT, RIGHT), map(self.computed.get, (RIGHT, LEFT)), strict=True))
        arrays = {**self.steps, LEFT: self.steps[RIGHT], RIGHT: self.steps[LEFT]}
        return replace(
            self, sizes={**self.sizes, "m": self.sizes["n"], "n": self.sizes["m"]},
            steps={name: {**own, "m": own["n"], "n": own["m"]} for name, own in arrays.items()},
            sources=(self.sources[1], self.sources[0]),
            computed={array: nest for array, nest in computed.items() if nest is not None},
            finishes=self.finishes[::-1],
        )  # fmt: skip

    def size(self, role: str) -> int:
        return math.prod(self.sizes[role])

    @property
    def m(self) -> int:
        return self.size("m")

    @property
    def n(self) -> int:
        return self.size("n")

    @property
    def k(self) -> int:
        return self.size("k")

    @property
    def batch(self) -> int:
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
    permutes = all(each.is_permutation for each in workload.maps)
    if not is_contraction(workload) or workload.dynamic or not permutes:
        return None
    sizes, half = [*workload.loops], problem.halves
    left, right, result = (strides_of(each.loops, sizes) for each in workload.maps)
    loops = {role: workload.role(role) for role in ROLES}
    order = workload.maps[2].loops
    last = next((each for each in reversed(order) if sizes[each] > 1), None)
    exchanged = last in loops["m"]
    if half is not None:
        if exchanged:
            return None
        if sizes[half] > 2:  # its outer part gets a number of its own
            sizes[half] //= 2
            right |= {len(sizes): right[half] * sizes[half]}
            half = len(sizes)
            sizes.append(2)
        order = tuple(each for each in order if each != half)
        result = strides_of(order, sizes)
    nests = [*(problem.operands or (None, None))]
    sources = 0, 1 if (first := nests[0]) is None else len({each.input for each in first.accesses})
    if exchanged:
        left, right = right, left
        loops |= {"m": loops["n"], "n": loops["m"]}
        sources, nests = (sources[1], sources[0]), nests[::-1]
    if problem.groups:  # of rows: the number of a group gets a loop of its own
        (count, *others), row = {each.count for each in problem.groups}, order[0]
        if exchanged or others or problem.seen or len(order) != 2:
            return None
        sizes[row] //= count
        for steps in (left, result):
            steps[len(sizes)] = steps[row] * sizes[row]
        order = (len(sizes), *order)
        loops |= {"m": order[:2]}
        sizes.append(count)
    seen = problem.seen or tuple((each,) for each in order)
    arrays = {LEFT: left, RIGHT: right, RESULT: result, **_extras(problem, seen, sizes, half)}
    nest_of = {array: nest for array, nest in zip((LEFT, RIGHT), nests, strict=True) if nest is not None}
    own: dict[str, list[int]] = {}
    for role in ROLES:
        steps = (right if LEFT in nest_of else left) if role == "k" else result
        long = [each for each in loops[role] if sizes[each] > 1 and each != half]
        own[role] = sorted(long, key=steps.__getitem__, reverse=True)
    own["n"] = [*([] if half is None else [half]), *own["n"]]
    computed, finishes = _computed(nest_of, arrays, sizes, own), _finishes(problem.finish, seen, sizes, own)
    if computed is None or finishes is None:
        return None
    placed = [steps for array, steps in arrays.items() if array not in computed]
    groups = {role: runs_of(own[role], sizes, placed) for role in ROLES}
    sized = {role: tuple(math.prod(sizes[each] for each in own) for own in groups[role]) for role in ROLES}
    inner = {role: [each[-1] if each else -1 for each in groups[role]] for role in ROLES}
    steps_of = {
        array: {role: tuple(steps.get(each, 0) for each in inner[role]) for role in ROLES}
        for array, steps in arrays.items()
    }
    wide = "f32" in operand_types(problem)
    return ProductShape(sized, steps_of, sources, half is not None, computed, 4 if wide else 2, finishes)


def operand_types(problem: Problem) -> tuple[str, str]:
    """The element types of a product's operands, also of those that are computed."""
    nests = problem.operands or (None, None)
    left, right = (
        nest.terms[-1].element if nest else str(kind)
        for kind, nest in zip(problem.workload.types[:2], nests, strict=True)
    )
    return left, right


def _computed(
    nest_of: Mapping[str, Nest], arrays: Mapping[str, Mapping[int, int]], sizes: Sequence[int],
    own: Mapping[str, Sequence[int]],
) -> dict[str, Nest] | None:  # fmt: skip
    """Computations of operands with loops in the product's order; None if they do not fit.

    `arrays` has the strides of the product's loops, and `own` the loops of each role.
    """
    found: dict[str, Nest] = {}
    for array, nest in nest_of.items():
        steps, order = arrays[array], [*own["batch"], *own["m" if array == LEFT else "n"], *own["k"]]
        dense = sorted((each for each in steps if sizes[each] > 1), key=steps.__getitem__, reverse=True)
        parts = common_parts(nest.sizes, [sizes[each] for each in dense])
        if parts is None or not {*dense} <= {*order}:
            return None
        found[array] = nest.in_parts([part for loop in order for part in parts if dense[part.of] == loop])
    return found


def _finishes(
    nest: Nest | None, seen: Sequence[Sequence[int]], sizes: Sequence[int],
    own: Mapping[str, Sequence[int]],
) -> tuple[Nest, ...] | None:  # fmt: skip
    """The step with loops by rows and by columns first; empty without one, None if it does not fit.

    `seen` are the product's loops as the step's loops go through them, and `own` those of each role.
    """
    if nest is None:
        return ()
    along = [loop for dimension in seen for loop in dimension]
    parts = common_parts(nest.sizes, [sizes[each] for each in along])
    if parts is None:
        return None

    def ordered(*roles: str) -> Nest:
        loops = [loop for role in roles for loop in own[role]]
        return nest.in_parts([part for loop in loops for part in parts if along[part.of] == loop])

    return ordered("batch", "m", "n"), ordered("batch", "n", "m")


OPERATIONS = {
    "bias": "add", "gain": "multiply", "minus": "subtract", "residual": "add", "factor": "multiply",
}  # fmt: skip
"""By the last word of a step's name, what is done with its operand."""
WHOLE = ("residual", "factor")
"""Steps whose operands have the sizes of the result."""


def operation_of(step: str) -> str:
    """What a step of an epilogue does with its operand; empty for a step without one."""
    return OPERATIONS.get(step.rpartition("_")[2], "")


def _extras(
    problem: Problem, seen: Sequence[Sequence[int]], sizes: Sequence[int], half: int | None
) -> dict[str, dict[int, int]]:
    """The strides of the epilogue's operands, in order. `seen` are the loops of each dimension before it."""
    found: list[dict[int, int]] = []
    groups = iter(problem.groups)
    for step in filter(operation_of, problem.epilogue):
        along = [*seen] if step in WHOLE else [*(seen[:1] if step.startswith("image_") else ()), seen[-1]]
        steps = strides_of([each for own in along for each in own], sizes)
        if step.startswith("group_"):
            steps |= {seen[0][0]: next(groups).step}
        if half is not None and step not in WHOLE:
            steps |= {half: math.prod(sizes[each] for each in steps)}
        found.append(steps)
    return {f"{EXTRA}{number}": steps for number, steps in enumerate(found)}


def strides_of(loops: Sequence[int], sizes: Sequence[int]) -> dict[int, int]:
    """The stride of each loop in a dense array, in elements."""
    return {loop: math.prod(sizes[each] for each in loops[at + 1 :]) for at, loop in enumerate(loops)}


def runs_of(
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
    """A problem as one matrix multiplication: `m x k` by `k x n`, stored as `n x k` if `transposed`."""

    m: int
    n: int
    k: int
    transposed: bool


def gemm_of(problem: Problem) -> Gemm | None:
    """The problem as a plain multiplication of dense matrices, `A B` or `A Bt`; None if it is none."""
    shape = product_shape(problem)
    if shape is None or shape.exchanged or shape.batch > 1 or shape.computed:
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
