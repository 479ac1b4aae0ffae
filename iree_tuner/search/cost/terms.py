"""Terms of an estimate: what it consists of, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass

from iree_tuner.search.cost.access import Array


@dataclass(frozen=True)
class Term:
    """A part of an estimated time, for many assignments.

    Attributes:
        name: short, also the name of a feature.
        value: cycles, or a factor without unit.
        unit: `cycles` or `x`.
        why: what it follows from, with places for numbers of one assignment: `{tile_m:.0f} rows`.
    """

    name: str
    value: Array
    unit: str
    why: str


@dataclass(frozen=True)
class Estimate:
    """Features and terms of many assignments.

    Attributes:
        features: numbers by name, for models; none is infinite.
        terms: parts of the estimate, in the order in which they are shown.
        cycles: the estimate itself.
    """

    features: dict[str, Array]
    terms: tuple[Term, ...]
    cycles: Array
