"""A device's limits: arithmetic by element type, and bytes by the memory that they lie in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec

from iree_tuner.ops.element_type import ElementType

_LETTERS = {"float": "f", "integer": "i"}
_REFERENCE_BITS = 32

Speed = Annotated[float, msgspec.Meta(gt=0)]
"""Something a second."""


@dataclass(frozen=True)
class MemoryLevel:
    """A level of memory.

    Attributes:
        bytes_per_s: how fast all units together read from it; None where that bounds nothing.
        capacity_bytes: what fits in it; None for the memory behind all caches.
    """

    bytes_per_s: Speed | None
    capacity_bytes: Annotated[int, msgspec.Meta(gt=0)] | None = None


@dataclass(frozen=True)
class Roofline:
    """The bounds of one device.

    Attributes:
        name: the device as it names itself.
        flops_per_s: by the type of the multiplied elements; `f32` stands for missing types.
        levels: nearest first; the last one holds everything.
        how: how the numbers were obtained: a source, or what was measured.
        conditions: what they were measured under, as names and values.
    """

    name: str
    flops_per_s: tuple[tuple[str, Speed], ...]
    levels: tuple[MemoryLevel, ...]
    how: str = ""
    conditions: tuple[tuple[str, str], ...] = ()

    def peak(self, element_type: str) -> float | None:
        """Operations a second on elements of a type; None where nothing is known of it.

        A type that is not listed has the number of its kind and width. If there is none, it has the number of
        `f32`, times the elements that an f32 has room for: no known unit does more.
        """
        known = dict(self.flops_per_s)
        if element_type in known:
            return known[element_type]
        kind = ElementType.named(element_type)
        if kind.kind not in _LETTERS:
            return None
        bits, same = kind.bits, known.get(f"{_LETTERS[kind.kind]}{kind.bits}")
        base = known.get("f32")
        return same if same is not None or base is None else base * _REFERENCE_BITS / bits

    def bytes_per_s(self, footprint_bytes: float) -> float | None:
        """How fast so much data is read; None where that bounds nothing."""
        for level in self.levels:
            if level.capacity_bytes is None or footprint_bytes <= level.capacity_bytes:
                return level.bytes_per_s
        return self.levels[-1].bytes_per_s if self.levels else None

    def attainable_us(self, flops: float, bytes_: float, element_type: str) -> float:
        """The least microseconds for so much work; 0 where nothing is known of it.

        Data that fits in a cache is assumed to be there: a dispatch often reads data that the one before has
        written.
        """
        peak, speed = self.peak(element_type), self.bytes_per_s(bytes_)
        compute_s = flops / peak if peak else 0.0
        memory_s = bytes_ / speed if speed else 0.0
        return max(compute_s, memory_s) * 1e6


def to_json(roofline: Roofline) -> dict[str, object]:
    """As JSON-ready data."""
    return {
        "name": roofline.name,
        "flops_per_s": dict(roofline.flops_per_s),
        "levels": [
            {"bytes_per_s": each.bytes_per_s, "capacity_bytes": each.capacity_bytes}
            for each in roofline.levels
        ],
        "how": roofline.how,
        "conditions": dict(roofline.conditions),
    }


def from_json(data: Mapping[str, object]) -> Roofline:
    """The inverse of `to_json`. Raises TypeError or ValueError for other data."""
    return msgspec.convert({**data, **pairs(data, "flops_per_s", "conditions")}, Roofline)


def pairs(data: Mapping[str, object], *names: str) -> dict[str, object]:
    """Objects of JSON as pairs of names and values."""
    return {name: list(msgspec.convert(data.get(name, {}), dict[str, object]).items()) for name in names}
