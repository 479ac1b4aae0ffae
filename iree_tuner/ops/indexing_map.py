"""Indexing maps: which loops walk which dimensions of an operand, read once from IR or from storage.

The stored form is MLIR's own, `(d0, d1, d2) -> (d0 * 2 + d2, d1)`: workloads have it in databases, recordings
and keys. It is read and written here alone, by MLIR's parser, to which the bindings of release 3.13 give no
other way than through an attribute (docs/upstream/bindings.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from iree.compiler import ir

from iree_tuner.compiler.context import stored_context

Terms = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class MapResult:
    """One result of a map, a place along a dimension; `written` as MLIR does, `d0 * 2 + d3`.

    `terms` are the loops with their factors, 1 for a loop that is divided. `loop` is None if the place is
    computed.
    """

    written: str
    terms: Terms
    loop: int | None = None


@dataclass(frozen=True)
class IndexingMap:
    """How the loops (`rank` many) of an op index an operand, with a result for each dimension."""

    rank: int
    results: tuple[MapResult, ...]

    @staticmethod
    def of(found: ir.AffineMap) -> IndexingMap:
        loops = [each.position if isinstance(each, ir.AffineDimExpr) else None for each in found.results]
        pairs = zip(found.results, loops, strict=True)
        return IndexingMap(
            found.n_dims, tuple(MapResult(str(each), _terms(each), loop) for each, loop in pairs)
        )

    @staticmethod
    @cache
    def parse(text: str) -> IndexingMap:
        """The stored form, with or without `affine_map<>`. Raises ValueError for anything else."""
        try:
            return IndexingMap.of(_parsed(text, stored_context()))
        except ir.MLIRError:
            raise ValueError(f"`{text}` is not an indexing map") from None

    @staticmethod
    def through(rank: int, loops: Sequence[int]) -> IndexingMap:
        """The map whose dimensions are walked by these loops."""
        return IndexingMap(rank, tuple(MapResult(f"d{loop}", ((loop, 1),), loop) for loop in loops))

    @cached_property
    def dimensions(self) -> tuple[int | None, ...]:
        """For each dimension, the loop that walks it; None if the place is computed."""
        return tuple(each.loop for each in self.results)

    @property
    def loops(self) -> tuple[int, ...]:
        """The loops in the order of the dimensions that they are in, outermost first."""
        return tuple(loop for each in self.results for loop, _ in each.terms)

    @property
    def is_permutation(self) -> bool:
        """Whether it only picks loops, each at most once: `(d0, d1, d2) -> (d2, d0)`."""
        return None not in self.dimensions and len(set(self.dimensions)) == len(self.dimensions)

    def dimension_of(self, loop: int) -> int | None:
        """The dimension that a loop walks, if any."""
        return self.dimensions.index(loop) if loop in self.dimensions else None

    def exchanged(self) -> IndexingMap:
        """With the first two results exchanged."""
        return replace(self, results=(*self.results[1::-1], *self.results[2:]))

    def to_ir(self) -> ir.AffineMap:
        return _parsed(str(self), ir.Context.current)

    def __str__(self) -> str:
        loops = ", ".join(f"d{loop}" for loop in range(self.rank))
        # IR as text: the stored form of maps is written and read here alone
        return f"({loops}) -> ({', '.join(each.written for each in self.results)})"


# IR as text: the stored form of maps is written and read here alone
def _parsed(text: str, context: ir.Context) -> ir.AffineMap:
    named = text if text.startswith("affine_map<") else f"affine_map<{text}>"
    return ir.AffineMapAttr(ir.Attribute.parse(named, context)).value


def _terms(found: ir.AffineExpr) -> Terms:
    """Loops and their factors; of a division or a remainder, the loops of the dividend."""
    if isinstance(found, ir.AffineDimExpr):
        return ((found.position, 1),)
    if not isinstance(found, ir.AffineBinaryExpr):
        return ()
    left = _terms(found.lhs)
    if isinstance(found, ir.AffineAddExpr):
        return left + _terms(found.rhs)
    if isinstance(found, ir.AffineMulExpr) and isinstance(found.rhs, ir.AffineConstantExpr):
        return tuple((loop, factor * found.rhs.value) for loop, factor in left)
    return tuple((loop, 1) for loop, _ in left)
