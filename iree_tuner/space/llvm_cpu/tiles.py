"""Asserts that every llvm-cpu space shares: tile domains, and the compiler's limit on vectors."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.ops.element_type import ElementType
from iree_tuner.space.constraints import knob
from iree_tuner.space.expressions import Integer, product, require
from iree_tuner.space.llvm_cpu.ladders import ladder
from iree_tuner.targets import CpuLimits

_STEPS = (
    "a divisor of {size}, a power of two or three times one, at most {size}",
    "a divisor of {size} or a power of two, at most {size}",
    "{size} or a smaller power of two",
    "{size} or a smaller power of four",
    "{size} or a smaller power of sixteen",
)


def tile(name: str, size: int, coarseness: int = 0) -> Integer:
    """A knob for the tile of a loop of that size."""
    return knob(name, ladder(size, coarseness), _STEPS[coarseness].format(size=size))


def require_small_vector(
    factors: Sequence[Integer | int], kind: ElementType, what: str, limits: CpuLimits
) -> None:
    """A vector of that many elements passes LLVMCPUVerifyVectorSizeLegality."""
    size = product([*factors, kind.bytes])
    message = f"{what}: {{}} bytes must stay below {limits.max_stack_bytes} (large vector check)"
    require(size < limits.max_stack_bytes, message, size)
