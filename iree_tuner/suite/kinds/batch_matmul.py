"""Products of many matrices, all of one size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from iree_tuner.suite.kinds.product import Product


@dataclass(frozen=True, kw_only=True)
class BatchMatmul(Product):
    """Products, `batch` of them; see `Product`. A bias is one vector for all, a residual has the batch."""

    kind: ClassVar[str] = "batch_matmul"

    batch: int = 8

    @property
    def _batch(self) -> tuple[int, ...]:
        return (self.batch,)
