"""One product of two matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from iree_tuner.suite.kinds.product import Product


@dataclass(frozen=True, kw_only=True)
class Matmul(Product):
    """One product; see `Product`."""

    kind: ClassVar[str] = "matmul"
