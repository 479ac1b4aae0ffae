"""What of a result's computation decides how much results may differ."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tolerance:
    """The numbers that decide how much results may differ; see `device.numerics`.

    Attributes:
        accumulator_type: element type of sums.
        reduction_length: the number of values in one result.
        factor_type: type that factors of the last sum are rounded to, if the op computes them itself, like
            attention its probabilities; empty if all are given.
        factors: the number of them in one result.
        softmax: the factors are probabilities; among scores with outliers, only a few of them count.
    """

    accumulator_type: str = "f32"
    reduction_length: int = 1
    factor_type: str = ""
    factors: int = 1
    softmax: bool = False

    def on(self, kind: str) -> Tolerance:
        """The tolerance of results for values of a kind (`device.data.kind_of`)."""
        return replace(self, factors=1) if self.softmax and kind == "outliers" else self
