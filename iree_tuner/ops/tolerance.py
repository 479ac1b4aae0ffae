"""How much results may differ, by how they are computed."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tolerance:
    """The numbers that decide how much results may differ; see `device.numerics`."""

    accumulator_type: str = "f32"  # element type of sums
    reduction_length: int = 1  # the number of values in one result
    # type that factors of the last sum are rounded to, if the op computes them itself, like attention its
    # probabilities; empty if all are given
    factor_type: str = ""
    factors: int = 1  # the number of them in one result
    # the factors are probabilities; among scores with outliers, only a few of them count
    softmax: bool = False

    def on(self, kind: str) -> Tolerance:
        """The tolerance of results for values of a kind (`device.data.kind_of`)."""
        return replace(self, factors=1) if self.softmax and kind == "outliers" else self
