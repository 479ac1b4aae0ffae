"""Tile sizes that are tried, and the asserts that every llvm-cpu space shares."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.space.constraints import knob
from iree_tuner.space.expressions import Integer, product, require
from iree_tuner.targets import CpuLimits

_BYTES = {"f64": 8, "i64": 8, "index": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2}
_LADDER = "a divisor of {size}, a power of two or three times one, at most {size}"


def ladder(size: int) -> tuple[int, ...]:
    """Sizes to try for a loop: its divisors, and 2^i and 3*2^i up to it.

    The compiler takes any size. This finite set has no remainder loops at one end, and steps of a
    factor of 1.33 or 1.5 at the other, so that no size is far from one that is tried.
    """
    found = {tile for tile in range(1, size + 1) if size % tile == 0}
    for base in (1, 3):
        while base <= size:
            found.add(base)
            base *= 2
    return tuple(sorted(found))


def tile(name: str, size: int, smallest: int = 1) -> Integer:
    """A knob for the tile of a loop of that size."""
    values = [value for value in ladder(size) if value >= min(smallest, size)]
    return knob(name, values, _LADDER.format(size=size))


def element_bytes(kind: str) -> int:
    """Bytes of an element; types narrower than a byte, and those not known here, count as one."""
    return _BYTES.get(kind, 1)


def require_small_vector(
    factors: Sequence[Integer | int], kind: str, what: str, limits: CpuLimits
) -> None:
    """A vector of that many elements passes LLVMCPUVerifyVectorSizeLegality."""
    size = product([*factors, element_bytes(kind)])
    message = f"{what}: {{}} bytes must stay below {limits.max_stack_bytes} (large vector check)"
    require(size < limits.max_stack_bytes, message, size)
