"""The common tiling of the SPIR-V pipelines: loops are tiled for workgroups, and these tiles for threads.

A workgroup's tile is the tile of all its threads together: along each loop that is distributed to threads,
the tile of one thread times the number of threads. Up to three loops are: the innermost parallel ones that
are longer than 1 (`getPartitionableLoops(kNumMaxParallelDims)`,
Codegen/Interfaces/PartitionableLoopsInterface.cpp), the last of them along x. Loops around these are cut into
workgroup tiles of 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import flag, integers, knob, knob_attribute
from iree_tuner.space.expressions import Boolean, Integer, all_of, any_of, product, require
from iree_tuner.space.spirv.attributes import (
    INTERCHANGE,
    SUBGROUP_SIZE,
    TILE_SIZES,
    WORKGROUP_SIZE,
    interchange,
)
from iree_tuner.targets import GpuLimits

AXES = "xyz"
MAX_THREAD_ELEMENTS = 128
"""Results of one thread. Each is a register (of 255 on NVIDIA, 256 on AMD); the compiler ends at 64."""


class Tiling:
    """The tiles of a root op, while its constraints op is being built.

    Args:
        workload: the root op.
        limits: what the target can hold.
        single: loops whose tiles are all 1: the batches of a contraction.
    """

    def __init__(self, workload: Workload, limits: GpuLimits, single: Collection[int] = ()) -> None:
        self.workload = workload
        self.limits = limits
        self.single = single
        long = [
            loop
            for loop, (size, kind) in enumerate(zip(workload.loops, workload.iterators, strict=True))
            if kind == "parallel" and (size > 1 or loop in single)
        ]
        self.distributed = tuple(long[-len(AXES) :])
        self.around = tuple(long[: -len(AXES)])
        self.workgroup: dict[int, Integer] = {}
        self.thread: dict[int, Integer] = {}
        self.threads: dict[str, Integer] = {}
        self.reduction: dict[int, Integer] = {}
        self._entries: dict[str, ir.Attribute] = {}

    @property
    def tiled(self) -> tuple[int, ...]:
        """Distributed loops that have knobs, innermost first."""
        return tuple(loop for loop in reversed(self.distributed) if loop not in self.single)

    def axis(self, loop: int) -> str:
        """Along which threads a loop is distributed."""
        return AXES[len(self.distributed) - 1 - self.distributed.index(loop)]

    def most_threads(self, loop: int) -> int:
        """The limit along the loop's axis."""
        return min(self.limits.max_workgroup_sizes[AXES.index(self.axis(loop))], self.limits.max_threads)

    def declare_tile(
        self,
        loop: int,
        elements: Sequence[int],
        counts: Sequence[int],
        largest: int | None = None,
        *,
        implied: bool = False,
    ) -> None:
        """A workgroup tile: one of `elements` of a thread times one of `counts` of threads.

        It divides the loop's size, or is at most `largest` where that is given. A pipeline that has no level
        for threads divides the tile itself: the thread's tile is `implied`, and no knob.
        """
        size, axis = self.workload.loops[loop], self.axis(loop)
        counts = [count for count in counts if count <= self.most_threads(loop)]
        tiles = sorted({each * count for each in elements for count in counts})
        legal = [tile for tile in tiles if (tile <= largest if largest else size % tile == 0)]
        what = f"at most {largest}" if largest else f"a divisor of {size}"
        workgroup = knob(f"workgroup_{loop}", legal, f"{what}, made of thread tiles")
        threads = knob(f"threads_{axis}", counts, f"one of {_listed(counts)}")
        if implied:
            thread = workgroup // threads
            message = (
                f"workgroup_{loop} ({{}}) must give each of threads_{axis} ({{}}) one of {_listed(elements)}"
            )
            whole = [(workgroup % threads).equals(0), thread.is_one_of(elements)]
            require(all_of(whole), message, workgroup, threads)
        else:
            thread = knob(f"thread_{loop}", elements, f"one of {_listed(elements)}")
            message = f"workgroup_{loop} ({{}}) must be thread_{loop} ({{}}) times threads_{axis} ({{}})"
            require(workgroup.equals(thread * threads), message, workgroup, thread, threads)
        self.workgroup[loop], self.threads[axis], self.thread[loop] = workgroup, threads, thread

    def declare_reduction(self, loop: int, sizes: Sequence[int]) -> None:
        """How many steps of a reduction are taken at once."""
        self.reduction[loop] = knob(f"reduction_{loop}", sizes, f"one of {_listed(sizes)}")

    def limit_threads(self) -> None:
        """No more threads than the target has, and enough to be worth a workgroup.

        The compiler's smallest workgroups are a quarter of a subgroup.
        """
        total = product(list(self.threads.values()))
        most = self.limits.max_threads
        require(total <= most, f"a workgroup of {{}} threads must have at most {most}", total)
        work = math.prod(self.workload.loops[loop] for loop in self.tiled)
        least = min(self.limits.subgroup_size // 4, work)
        require(total >= least, f"a workgroup of {{}} threads must have {least} or more", total)

    def limit_unrolling(self, steps: int, copies: Integer | int = 1) -> None:
        """A thread's tile is unrolled to vectors of up to four elements, and stays in registers."""
        elements = product(list(self.thread.values()))
        message = f"the {{}} results of a thread must be at most {MAX_THREAD_ELEMENTS}: they are registers"
        require(elements <= MAX_THREAD_ELEMENTS, message, elements)
        work = product([*self.thread.values(), *self.reduction.values(), copies])
        message = f"the {{}} steps that a thread has unrolled must be at most {steps}: they compile for long"
        require(work <= steps, message, work)

    def declare_subgroup_size(self) -> None:
        """The subgroup size that the driver is asked for, where there is a choice; 0 leaves it alone."""
        sizes = self.limits.subgroup_sizes
        if len(sizes) < 2:
            return
        size = knob(SUBGROUP_SIZE, (0, *sizes), f"0 (any) or one of {_listed(sizes)}")
        total = product(list(self.threads.values()))
        whole = [all_of([size.equals(each), (total % each).equals(0)]) for each in sizes]
        message = "a workgroup of {} threads must be made of whole subgroups of {}"
        require(any_of([size.equals(0), *whole]), message, total, size)
        self._entries[SUBGROUP_SIZE] = knob_attribute(SUBGROUP_SIZE)

    def declare_swap(self) -> None:
        """Whether workgroups are numbered along the second innermost loop first.

        `interchange` of the workgroup level: another order of the grid, the same work. It takes two loops
        that are cut; a tile of the whole loop is no loop (TileDispatchUsingForall.cpp, Codegen/Common).
        """
        if len(self.tiled) < 2:
            return
        swap = flag("swap_workgroups")
        second, first = self.tiled[:2]
        cut: list[Boolean] = [self.workgroup[loop] < self.workload.loops[loop] for loop in (first, second)]
        message = "workgroups of a loop that is not cut cannot be swapped"
        require(any_of([swap.equals(0), all_of(cut)]), message)
        self._entries[INTERCHANGE] = interchange(first, second, knob_attribute("swap_workgroups"))

    def workgroup_level(self) -> list[int | str]:
        """Workgroup tiles up to the last parallel loop."""
        return [self._entry(loop, "workgroup", 1 if loop in self.around else 0) for loop in self._parallel()]

    def thread_level(self) -> list[int | str]:
        """Thread tiles up to the last parallel loop; loops around the distributed ones have none."""
        return [self._entry(loop, "thread", 0) for loop in self._parallel()]

    def reduction_level(self) -> list[int | str]:
        """Tiles of reduction loops, and of parallel loops of size 1, which have no others."""
        return [
            f"reduction_{loop}"
            if loop in self.reduction
            else int(loop not in self.distributed and loop not in self.around)
            for loop in range(len(self.workload.loops))
        ]

    def knobs(
        self, levels: Sequence[Sequence[int | str]], others: Mapping[str, ir.Attribute] | None = None
    ) -> dict[str, ir.Attribute]:
        """The knobs dictionary."""
        threads = [f"threads_{axis}" if axis in self.threads else 1 for axis in AXES]
        return {
            TILE_SIZES: ir.ArrayAttr.get([integers(level) for level in levels]),
            WORKGROUP_SIZE: integers(threads),
            **self._entries,
            **(others or {}),
        }

    def _parallel(self) -> range:
        return range(max(loop for loop, kind in enumerate(self.workload.iterators) if kind == "parallel") + 1)

    def _entry(self, loop: int, level: str, otherwise: int) -> int | str:
        if loop in self.thread:
            return f"{level}_{loop}"
        return 1 if loop in self.single and loop in self.distributed else otherwise


def tile_bytes(rows: Integer | int, columns: Integer | int, bits: int) -> Integer:
    """Shared memory of a tile.

    Rows are padded only where the target's memory is enough for that (GPUReduceBankConflicts.cpp,
    Codegen/Common/GPU), so that padding is no limit.
    """
    return product([rows, columns, bits // 8])


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))
