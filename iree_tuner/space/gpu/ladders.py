"""Sizes to try for tiles on GPUs."""

from __future__ import annotations


def divisors(size: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    return tuple(value for value in range(1, size + 1) if size % value == 0)


def powers(most: int, *, threes: bool = False) -> tuple[int, ...]:
    """Powers of two up to a size, ascending; with three times each of them, if asked for."""
    found = {1 << i for i in range(most.bit_length())}
    if threes:
        found |= {3 * value for value in found}
    return tuple(sorted(value for value in found if value <= most))


def round_up(size: int, step: int) -> int:
    """The next multiple of a step."""
    return -(-size // step) * step


def next_power(size: int) -> int:
    """The smallest power of two that is not less than a size."""
    return 1 << (size - 1).bit_length()
