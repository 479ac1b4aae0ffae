"""Element types, read once from IR or from a stored name.

Names are MLIR's, as workloads, bindings and recordings hold them. This file does not load the compiler:
libraries with an LLVM of their own use the same types, in processes without it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from iree.compiler import ir

Kind = Literal["float", "integer", "index", "complex", "other"]

# IR as text: names of element types are read here alone
_NAME = re.compile(
    r"(?P<float>bf|tf|f)(?P<bits>\d+)(E\d+M\d+\w*)?|[su]?i(?P<width>\d+)|complex<(?P<part>.+)>"
)
_WIDTHS = {"index": 64, "tf32": 19}
"""Of names that do not say it: an index is stored as 64 bits, and `tf32` has as many as the format needs."""

_DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
    "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2",
    "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E8M0FNU": "float8_e8m0fnu",
    "index": "int64", "complex<f32>": "complex64", "complex<f64>": "complex128",
}  # fmt: skip
_INTEGERS = (8, 16, 32, 64)
"""Bits of NumPy's integers. Other integers are stored as the next wider one, but i2 and i4 share bytes."""


NARROW_FLOATS = ("f16", "bf16")
"""Float types that are f32 in a widened program (`program.widened`)."""


@dataclass(frozen=True)
class ElementType:
    """The type of a tensor's elements, or of a scalar; `name` is MLIR's, and `bits` is 0 if unknown."""

    name: str
    kind: Kind
    bits: int

    @staticmethod
    @cache
    def named(name: str) -> ElementType:
        """The type of that name; of the kind `other` if the name is not known here."""
        found = _NAME.fullmatch(name)
        if name == "index" or found is None:
            return ElementType(name, "index" if name == "index" else "other", _WIDTHS.get(name, 0))
        if found["part"]:
            return ElementType(name, "complex", 2 * ElementType.named(found["part"]).bits)
        bits = _WIDTHS.get(name, int(found["bits"] or found["width"]))
        return ElementType(name, "float" if found["float"] else "integer", bits)

    @staticmethod
    def of(kind: ir.Type) -> ElementType:
        """The element type of a shaped type; of any other type, the type itself."""
        from iree.compiler import ir

        return ElementType.named(str(kind.element_type if isinstance(kind, ir.ShapedType) else kind))

    @property
    def bytes(self) -> int:
        """Whole bytes of an element; at least one."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        """Whether it is one of MLIR's float types."""
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer; `index` does not count."""
        return self.kind == "integer"

    @property
    def is_small_float(self) -> bool:
        """Whether it is a float of a byte or less, which few devices compute with."""
        return self.is_float and self.bits <= 8

    @property
    def per_byte(self) -> int:
        """The number of elements that share a byte in memory; 1 for all types of a byte and more."""
        return 8 // self.bits if self.is_integer and self.bits in (2, 4) else 1

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value of an integer type; signless types are read as signed."""
        if self.name.startswith("u") or self.bits == 1:
            return 0, (1 << self.bits) - 1
        return -(1 << self.bits - 1), (1 << self.bits - 1) - 1

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        """NumPy's type, one value an element; None if values of the type cannot be made or compared here."""
        import numpy as np

        name = _DTYPES.get(self.name)
        if self.is_integer:
            name = next((f"int{bits}" for bits in _INTEGERS if bits >= self.bits), None)
            name = f"u{name}" if name and self.name.startswith("u") else name
        if name is None:
            return None
        if not hasattr(np, name):
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, name))
        return np.dtype(name)

    def to_ir(self) -> ir.Type:
        from iree.compiler import ir

        # IR as text: each float type has a class of its own
        return ir.Type.parse(self.name)

    def __str__(self) -> str:
        return self.name
