"""A contraction as the matmul pipelines see it: one loop each for m, n and k, and at most one batch."""

from __future__ import annotations

from dataclasses import dataclass

from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.workload import Workload


@dataclass(frozen=True)
class Problem:
    """Loop numbers and element sizes of a (batch) matmul.

    Attributes:
        batch: the batch loop, if there is one.
        m, n, k: the other loops; k is the last.
        input_bits: of an element of the operands.
        output_bits: of an element of the result.
    """

    workload: Workload
    batch: tuple[int, ...]
    m: int
    n: int
    k: int

    @property
    def input_bits(self) -> int:
        """Bits of an element of the operands, which have one type."""
        return self.workload.types[0].bits

    @property
    def output_bits(self) -> int:
        """Bits of an element of the result."""
        return self.workload.types[-1].bits

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Sizes of m, n and k."""
        loops = self.workload.loops
        return loops[self.m], loops[self.n], loops[self.k]

    def operand(self, index: int) -> tuple[int, int]:
        """The last two loops of an operand, as it lies in memory."""
        rows, columns = self.workload.maps[index].loops[-2:]
        return rows, columns


def problem_of(workload: Workload) -> Problem | None:
    """A matmul that the pipelines take, or None.

    `isMatmulOrBatchMatmul` (Codegen/Utils/LinalgOpInfo.cpp) and `getMatmulBMNKIndex` (KernelConfig.cpp): two
    or three parallel loops, m and n longer than 1, and the types of `setMatmulOpConfig`, 8, 16 or 32 bits.
    """
    batch, *roles = (workload.role(name) for name in ("batch", "m", "n", "k"))
    if not is_contraction(workload) or len(batch) > 1 or any(len(role) != 1 for role in roles):
        return None
    m, n, k = (role[0] for role in roles)
    found = Problem(workload, batch, m, n, k)
    if min(found.sizes) < 2 or k != len(workload.loops) - 1 or workload.types[0] != workload.types[1]:
        return None
    if not all(each.is_permutation for each in workload.maps):
        return None
    widths = (found.input_bits, found.output_bits)
    return found if all(bits in (8, 16, 32) for bits in widths) else None
