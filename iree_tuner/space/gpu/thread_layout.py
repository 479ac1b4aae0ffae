"""The layouts that the compiler can spread over threads, for a read that is promoted to shared memory.

In VectorDistribute, an operand that goes through shared memory is read by all threads of the workgroup,
in a layout that is derived from its shape alone. Shapes that it cannot derive one for end the
compilation with "failed to derive layout for promoted read-like op". Sources:
materializeSharedMemoryPromotions in Common/GPU/GPUVectorAlloc.cpp, getVectorTileSizesFromLoopRanges in
Dialect/GPU/IR/DerivedConfigUtils.cpp, getDerivedThreadLayout in Common/GPU/GPUNestedLayoutUtils.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.space.expressions import (
    Boolean,
    Integer,
    all_of,
    any_of,
    constant,
    if_else,
    product,
    require,
)

COPY_BITS = 128
"""The bits that one thread reads at a time (kPreferredCopyNumBits)."""


def require_thread_layout(shape: Sequence[Integer | int], threads: Integer, bits: int, what: str) -> None:
    """The read of a tile of that shape (outermost first), of elements of so many bits, has a thread layout.

    Call with an insertion point in the op's body.
    """
    ranges = [_integer(size) for size in shape]
    elements = _element_tiles(ranges, threads, max(1, COPY_BITS // bits))
    fits: list[Boolean] = []
    left = threads
    for size, element in reversed(list(zip(ranges, elements, strict=True))):
        fits.append((size % element).equals(0))
        pieces = size // element
        fits.append(any_of([(left % pieces).equals(0), (pieces % left).equals(0)]))
        left = left // minimum(left, pieces)
    message = (
        f"{what}: no thread layout can be derived for a tile whose innermost size is {{}} with {{}} threads"
    )
    require(all_of(fits), message, ranges[-1], threads)


def minimum(first: Integer, second: Integer | int) -> Integer:
    """The smaller one."""
    return if_else(first <= second, first, second)


def _element_tiles(ranges: list[Integer], threads: Integer, vector: int) -> list[Integer]:
    """The elements that one thread reads at once along each dimension (getVectorTileSizesFromLoopRanges)."""
    trips = product(list(ranges))
    inner = ranges[-1]
    spread = (trips % threads).equals(0)
    most = if_else(spread, minimum(trips // threads, vector), constant(vector))
    regular = any_of([(inner % most).equals(0), (most % inner).equals(0)])
    smaller = minimum(inner, most)
    # Without remainder in trips, an irregular innermost size is read element by element.
    tiles = [if_else(any_of([~spread, regular]), smaller, 1)]
    collapsing = all_of([spread, regular, inner < most])
    left = most // smaller
    for size in reversed(ranges[:-1]):
        collapsing = all_of([collapsing, (left % size).equals(0)])
        tile = if_else(collapsing, size, 1)
        tiles.append(tile)
        left = left // tile
    return list(reversed(tiles))


def _integer(value: Integer | int) -> Integer:
    return constant(value) if isinstance(value, int) else value
