"""Knobs of a root op that is tiled for distribution, then for vectors: shared by the families."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import flag, integers, knob_attribute
from iree_tuner.space.expressions import Boolean, Integer, any_of, constant, require
from iree_tuner.space.llvm_cpu.attributes import LOWERING_CONFIG, OPTIONS
from iree_tuner.space.llvm_cpu.tiles import require_small_vector, tile
from iree_tuner.targets import CpuLimits

PEELING = "enable_loop_peeling"


class Tiling:
    """The tiles of a root op, while its constraints op is being built.

    A loop of size 1 has the tile 1 and no knob. The distribution tile of a reduction loop is 0: the
    compiler distributes parallel loops only.
    """

    def __init__(self, workload: Workload, limits: CpuLimits) -> None:
        self.workload = workload
        self.limits = limits
        self.distribution: dict[int, Integer | int] = {}
        self.vector: dict[int, Integer | int] = {}
        self._options: dict[str, ir.Attribute] = {}
        self._names: dict[tuple[str, int], str] = {}

    def declare_tiles(self) -> None:
        """A vector tile for each loop and a distribution tile for each parallel one, the first within the second."""
        for loop, size in enumerate(self.workload.loops):
            if size > 1:
                self.vector[loop] = self._tile("vector", loop)
            else:
                self.vector[loop] = 1
        for loop, size in enumerate(self.workload.loops):
            if self.workload.iterators[loop] != "parallel":
                continue
            vector = self.vector[loop]
            if not isinstance(vector, Integer):
                self.distribution[loop] = 1
                continue
            outer = self._tile("distribution", loop)
            self.distribution[loop] = outer
            # A larger vector tile is cut to the distribution tile: the same code under another name.
            message = f"vector_{loop} ({{}}) must not exceed distribution_{loop} ({{}})"
            require(vector <= outer, message, vector, outer)

    def limit_contract(self) -> None:
        """The large vector check looks at a contraction's whole iteration space, in the accumulator's type."""
        tiles = list(self.vector.values())
        require_small_vector(tiles, self.workload.types[-1], "the vector contraction", self.limits)

    def declare_peeling(self) -> None:
        """`enable_loop_peeling`, which splits off what is left over when tiles do not divide."""
        peeling = flag(PEELING)
        self._options[PEELING] = knob_attribute(PEELING)
        # Where every tile divides what is around it, peeled code is byte for byte the same.
        uneven: list[Boolean] = []
        for loop, vector in self.vector.items():
            around: Integer | int = self.distribution.get(loop, self.workload.loops[loop])
            if isinstance(vector, Integer):
                uneven.append(~(_integer(around) % vector).equals(0))
            if isinstance(around, Integer):
                uneven.append(~(constant(self.workload.loops[loop]) % around).equals(0))
        require(any_of([peeling.equals(0), *uneven]), "there is nothing to peel: every tile divides")

    def knobs(self) -> Mapping[str, ir.Attribute]:
        """The knobs dictionary."""
        count = len(self.workload.loops)
        parallel = [loop for loop in range(count) if loop in self.distribution]
        reduction = [loop for loop in range(count) if loop not in self.distribution]
        levels = {
            "distribution": self._level("distribution", parallel),
            "vector_common_parallel": self._level("vector", parallel),
            "vector_reduction": self._level("vector", reduction),
        }
        found: dict[str, ir.Attribute] = {LOWERING_CONFIG: ir.DictAttr.get(levels)}
        if self._options:
            found[OPTIONS] = ir.DictAttr.get(self._options)
        return found

    def _tile(self, level: str, loop: int) -> Integer:
        name = f"{level}_{loop}"
        self._names[level, loop] = name
        return tile(name, self.workload.loops[loop])

    def _level(self, level: str, loops: list[int]) -> ir.ArrayAttr:
        count = len(self.workload.loops)
        return integers([self._names.get((level, i), 1) if i in loops else 0 for i in range(count)])


def _integer(value: Integer | int) -> Integer:
    return constant(value) if isinstance(value, int) else value
