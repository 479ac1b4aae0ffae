"""Knobs of a root op that is tiled for distribution, then for vectors: shared by the families."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, takewhile

from iree.compiler import ir

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.workload import Companion, Workload
from iree_tuner.space.constraints import (
    COMPANIONS,
    divisors,
    flag,
    integers,
    knob,
    knob_attribute,
    next_power,
)
from iree_tuner.space.expressions import Boolean, Integer, all_of, any_of, constant, product, require
from iree_tuner.space.llvm_cpu.attributes import LOWERING_CONFIG, OPTIONS
from iree_tuner.targets import CpuLimits

PEELING = "enable_loop_peeling"

_CACHE_COARSENESS = 3  # powers of four


class Tiling:
    """The tiles of a root op, by loop, while its constraints op is being built.

    A loop of size 1 has the tile 1 and no knob. The distribution tile of a reduction loop is 0: the compiler
    distributes parallel loops only. DoubleTilingExpert looks at cache tiles (`cached`); in
    ConvTileAndDecomposeExpert and LinalgExtTileAndVectorize they change nothing.

    The tiles of a dynamic loop do not depend on the size that stands for it, except for the largest: they are
    the tiles of the next power of two. Whether they divide is not known.
    """

    def __init__(self, workload: Workload, limits: CpuLimits, *, cached: bool = False) -> None:
        workload = _rounded_up(workload)
        self.workload = workload
        self.limits = limits
        self.widest = max(workload.types, key=lambda kind: kind.bytes)
        self.distribution: dict[int, Integer | int] = {}
        self.cache: dict[int, Integer] = {}
        self.vector: dict[int, Integer | int] = {}
        elements = limits.max_stack_bytes // self.widest.bytes
        own = [
            companion.loops[i] for companion in workload.companions for i in _own_loops(companion, workload)
        ]
        self._coarseness = coarseness_for(workload, elements, own, cached=cached)
        self._cached = cached
        self._options: dict[str, ir.Attribute] = {}
        self._companions: dict[str, ir.Attribute] = {}

    def declare_tiles(self) -> None:
        """A vector tile for each loop, and around it a distribution tile for each parallel loop."""
        for loop, size in enumerate(self.workload.loops):
            self.vector[loop] = self._tile("vector", loop) if size > 1 else 1
        for loop, iterator in enumerate(self.workload.iterators):
            vector = self.vector[loop]
            if iterator != "parallel":
                continue
            if isinstance(vector, int):
                self.distribution[loop] = 1
                continue
            outer = self._tile("distribution", loop)
            self.distribution[loop] = outer
            # A larger vector tile is cut to the distribution tile: the same code under another name.
            message = f"vector_{loop} ({{}}) must not exceed distribution_{loop} ({{}})"
            require(vector <= outer, message, vector, outer)
        if self._cached:
            self._declare_cache()

    def _declare_cache(self) -> None:
        """Tiles between distribution and vectors, for at most one loop; 0 is none.

        A cache tile as large as the tile around it, or as the vector tile, changes nothing.
        """
        for loop, size in enumerate(self.workload.loops):
            vector = self.vector[loop]
            sizes = [step for step in ladder(size, _CACHE_COARSENESS) if 1 < step < size]
            if isinstance(vector, int) or not sizes:
                continue
            name = f"cache_{loop}"
            cache = knob(name, (0, *sizes), f"0 (none) or a power of four below {size}")
            self.cache[loop] = cache
            around = self.distribution.get(loop, constant(size))
            fits = [cache > vector, (cache % vector).equals(0), cache < around]
            message = (
                f"{name} ({{}}) must be 0, or a multiple of vector_{loop} ({{}}) below what is around it"
            )
            require(any_of([cache.equals(0), all_of(fits)]), message, cache, vector)
            if self.workload.iterators[loop] == "reduction":
                # The loop over cache tiles stands around those over vector tiles. The fill of the result
                # is then fused only into the distribution tile, and becomes one vector.
                limit = self.limits.large_vector_bytes
                filled = product([*self.distribution.values(), self.workload.types[-1].bytes])
                what = f"with {name}, the initial value of {{}} bytes"
                message = f"{what} must stay below {limit} (large vector check)"
                require(any_of([cache.equals(0), filled < limit]), message, filled)
        # Two at once have not been seen to gain more than one, and would make spaces several times larger.
        for first, second in itertools.combinations(self.cache, 2):
            none = [self.cache[first].equals(0), self.cache[second].equals(0)]
            require(any_of(none), f"cache_{first} and cache_{second} must not both be set")

    def limit_contract(self) -> None:
        """The large vector check counts a contraction's whole iteration space, in the accumulator's type."""
        tiles = list(self.vector.values())
        require_small_vector(tiles, self.workload.types[-1], "the vector contraction", self.limits)

    def limit_vector(self) -> None:
        """Operands are broadcast to the whole iteration space, each in its own type."""
        require_small_vector(list(self.vector.values()), self.widest, "the widest vector", self.limits)

    def declare_peeling(self) -> None:
        """`enable_loop_peeling`, which splits off the rest when tiles do not divide."""
        # Where every tile divides the one around it, peeled code is byte for byte the same.
        uneven: list[Boolean] = []
        for loop, vector in self.vector.items():
            size = constant(self.workload.loops[loop])
            around = self.distribution.get(loop, size)
            if isinstance(vector, Integer) and isinstance(around, Integer):
                uneven.append(~(around % vector).equals(0))
                uneven.append(~(size % around).equals(0))
                if loop in self.cache:
                    cache = self.cache[loop]
                    uneven.append(all_of([cache > 0, ~(around % cache).equals(0)]))
        if uneven:
            peeling = flag(PEELING)
            self._options[PEELING] = knob_attribute(PEELING)
            if not self.workload.dynamic:  # else there may be
                require(any_of([peeling.equals(0), *uneven]), "there is nothing to peel: every tile divides")

    def declare_companion(self, companion: Companion, produces: bool) -> None:
        """Tiles of another op of the dispatch, as the compiler's MultiLoweringConfigGenerator splits them.

        Loops shared with a parallel loop of the root take its tile; a reduction loop has a tile of its
        own; a parallel loop that is not the root's, or reduced there, is tiled last (`inner`). A producer's
        loop that the root reduces is tiled along with the root's reduction as well.
        """
        count = len(companion.loops)
        levels: dict[str, list[int | str]] = {
            level: [0] * count
            for level in ("vector_common_parallel", "vector_reduction", "vector_inner_parallel")
        }
        own: list[Integer | int] = []
        for loop, (iterator, shared) in enumerate(zip(companion.iterators, companion.shared, strict=True)):
            if shared is not None and loop not in _own_loops(companion, self.workload):
                levels["vector_common_parallel"][loop] = self._name("vector", shared)
                own.append(self.vector[shared])
                continue
            if shared is not None and produces and iterator == "parallel":
                levels["vector_reduction"][loop] = self._name("vector", shared)
            level = "vector_reduction" if iterator == "reduction" else "vector_inner_parallel"
            if companion.loops[loop] == 1:
                levels[level][loop] = 1
                continue
            name = f"{companion.label}_{loop}"
            levels[level][loop] = name
            own.append(tile_knob(name, companion.loops[loop], self._coarseness))
        require_small_vector(own or [1], self.widest, f"the vectors of {companion.label}", self.limits)
        self._companions[companion.label] = ir.DictAttr.get(
            {level: integers(sizes) for level, sizes in levels.items()}
        )

    def knobs(self) -> Mapping[str, ir.Attribute]:
        count = len(self.workload.loops)
        parallel = [loop for loop in range(count) if loop in self.distribution]
        reduction = [loop for loop in range(count) if loop not in self.distribution]
        levels: dict[str, ir.Attribute] = {
            "distribution": self._level("distribution", parallel),
            "vector_common_parallel": self._level("vector", parallel),
            "vector_reduction": self._level("vector", reduction),
        }
        if self.cache:
            levels["cache_parallel"] = self._level("cache", parallel, without=0)
            levels["cache_reduction"] = self._level("cache", reduction, without=0)
        found: dict[str, ir.Attribute] = {LOWERING_CONFIG: ir.DictAttr.get(levels)}
        for key, entries in ((OPTIONS, self._options), (COMPANIONS, self._companions)):
            if entries:
                found[key] = ir.DictAttr.get(entries)
        return found

    def _tile(self, level: str, loop: int) -> Integer:
        return tile_knob(f"{level}_{loop}", self.workload.loops[loop], self._coarseness)

    def _name(self, level: str, loop: int, without: int = 1) -> int | str:
        """The knob of a loop's tile; `without` for a loop that has none."""
        tiles = {"distribution": self.distribution, "cache": self.cache, "vector": self.vector}[level]
        return f"{level}_{loop}" if isinstance(tiles.get(loop), Integer) else without

    def _level(self, level: str, loops: Sequence[int], without: int = 1) -> ir.ArrayAttr:
        count = len(self.workload.loops)
        return integers([self._name(level, loop, without) if loop in loops else 0 for loop in range(count)])


def _rounded_up(workload: Workload) -> Workload:
    loops = list(workload.loops)
    for each in workload.dynamic:
        loops[each.loop] = next_power(loops[each.loop])
    return replace(workload, loops=tuple(loops)).with_companions_sized()


def _own_loops(companion: Companion, workload: Workload) -> list[int]:
    """Loops that take no tile from the root op: reductions, and loops that are not parallel in the root."""
    return [
        loop
        for loop, (iterator, shared) in enumerate(zip(companion.iterators, companion.shared, strict=True))
        if iterator == "reduction" or shared is None or workload.iterators[shared] == "reduction"
    ]


# Tile sizes of llvm-cpu's spaces, how fine their steps may be, and the compiler's limit on vectors.


MEMBERS_WANTED = 5_000_000
"""Ladders are made coarser until tiles alone give no more members than this."""

COARSEST = 4

CACHE_WAYS = 5
"""By about how much a third tiling level multiplies a space: one loop may have it, in steps of four."""


def ladder(size: int, coarseness: int = 0) -> tuple[int, ...]:
    """Sizes to try for a loop, ascending, from 1 to all of it.

    The compiler takes any size; a finite set must be chosen. The finest has the loop's divisors (no
    remainders), powers of two (registers, cache lines), and three times those (no size is far from one
    that is tried). Loop nests with many loops leave out, in this order: the latter, divisors that are no
    powers of two, and odd powers of two (or, last, all but powers of sixteen).
    """
    base = {0: 2, 1: 2, 2: 2, 3: 4, 4: 16}[coarseness]
    found = {1, size}
    if coarseness <= 1:
        found.update(divisors(size))
    for first in (1, 3) if coarseness == 0 else (1,):
        found.update(takewhile(lambda tile: tile <= size, (first * base**power for power in count())))
    return tuple(sorted(found))


def coarseness_for(
    workload: Workload, element_limit: int, own_loops: Sequence[int] = (), *, cached: bool = False
) -> int:
    """The finest ladders that keep a tiling of the workload enumerable.

    A vector tile has fewer than `element_limit` elements; `own_loops` are sizes of companions' loops that
    have tiles of their own; `cached`: there are cache tiles between distribution and vector tiles.
    """
    ways = CACHE_WAYS if cached else 1
    for coarseness in range(COARSEST):
        companions = math.prod(len(ladder(size, coarseness)) for size in own_loops)
        if _count(workload, element_limit, coarseness) * companions * ways <= MEMBERS_WANTED:
            return coarseness
    return COARSEST


def _count(workload: Workload, element_limit: int, coarseness: int) -> int:
    """Members with a vector tile below the limit, and a distribution tile no smaller on parallel loops."""
    ways: Counter[int] = Counter({1: 1})
    for size, iterator in zip(workload.loops, workload.iterators, strict=True):
        tiles = ladder(size, coarseness)
        longer: Counter[int] = Counter()
        for elements, number in ways.items():
            for position, tile in enumerate(tiles):
                if elements * tile < element_limit:
                    around = len(tiles) - position if iterator == "parallel" else 1
                    longer[elements * tile] += number * around
        ways = longer
    return sum(ways.values())


_STEPS = (
    "a divisor of {size}, a power of two or three times one, at most {size}",
    "a divisor of {size} or a power of two, at most {size}",
    "{size} or a smaller power of two",
    "{size} or a smaller power of four",
    "{size} or a smaller power of sixteen",
)


def tile_knob(name: str, size: int, coarseness: int = 0) -> Integer:
    """A knob for the tile of a loop of that size."""
    return knob(name, ladder(size, coarseness), _STEPS[coarseness].format(size=size))


def require_small_vector(
    factors: Sequence[Integer | int], kind: ElementType, what: str, limits: CpuLimits
) -> None:
    """A vector of that many elements passes LLVMCPUVerifyVectorSizeLegality."""
    size = product([*factors, kind.bytes])
    message = f"{what}: {{}} bytes must stay below {limits.large_vector_bytes} (large vector check)"
    require(size < limits.large_vector_bytes, message, size)
