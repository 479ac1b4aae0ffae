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
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Companion, Workload
from iree_tuner.space.constraints import (
    build_constraints,
    flag,
    integers,
    knob,
    knob_attribute,
    next_power,
    powers,
)
from iree_tuner.space.expressions import Boolean, Integer, all_of, any_of, product, require
from iree_tuner.space.spirv.attributes import (
    COMPANIONS,
    INTERCHANGE,
    SUBGROUP_SIZE,
    TILE_SIZES,
    WORKGROUP_SIZE,
    interchange,
    pipeline,
)
from iree_tuner.targets import GpuLimits

# Tile sizes to try, and what types and maps say about them.


_NARROW_POWER = 32


def power_divisors(size: int, largest: int) -> list[int]:
    """Powers of two that divide a size."""
    return [power for power in powers(min(size, largest)) if size % power == 0]


def thread_tiles(size: int) -> list[int]:
    """Tiles of a thread along a loop that is not its vectors': any small divisor, and larger powers of two.

    `tileMatmulMToWorkgroupY` in KernelConfig.cpp tries all sizes from 8 down.
    """
    return sorted({step for step in range(1, 9) if size % step == 0} | set(power_divisors(size, 16)))


def writes_in_order(workload: Workload) -> bool:
    """Whether the result's dimensions are the parallel loops in their order."""
    return workload.maps[-1].dimensions == workload.parallel


AXES = "xyz"
MAX_THREAD_ELEMENTS = 128
"""Results of one thread. Each is a register (of 255 on NVIDIA, 256 on AMD); the compiler ends at 64."""


class SpirvTiling:
    """The tiles of a root op, while its constraints op is being built.

    `single` are loops whose tiles are all 1: the batches of a contraction.
    """

    def __init__(self, workload: Workload, limits: GpuLimits, single: Collection[int] = ()) -> None:
        self.workload = workload
        self.limits = limits
        self.single = single
        long = [loop for loop in workload.parallel if workload.loops[loop] > 1 or loop in single]
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
        return AXES[len(self.distributed) - 1 - self.distributed.index(loop)]

    def most_threads(self, loop: int) -> int:
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

        It divides the loop's size, or is at most `largest` if that is given. A pipeline that has no level for
        threads divides the tile itself: the thread's tile is `implied`, and not a knob.
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
        """The number of steps of a reduction that are taken at once."""
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
        """The subgroup size that the driver is asked for, if it has a choice; 0 leaves it to the driver."""
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
        threads = [f"threads_{axis}" if axis in self.threads else 1 for axis in AXES]
        return {
            TILE_SIZES: ir.ArrayAttr.get([integers(level) for level in levels]),
            WORKGROUP_SIZE: integers(threads),
            **self._entries,
            **(others or {}),
        }

    def _parallel(self) -> range:
        return range(max(self.workload.parallel) + 1)

    def _entry(self, loop: int, level: str, otherwise: int) -> int | str:
        if loop in self.thread:
            return f"{level}_{loop}"
        return 1 if loop in self.single and loop in self.distributed else otherwise


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


# Loops over elements, with any sizes and maps: BaseDistribute, which takes what nothing else takes.
#
# Levels: the workgroup's tiles and a thread's. A third would cut reductions into nested loops of the same
# elements.


def distribute_constraints(workload: Workload, limits: GpuLimits) -> ir.Module | None:
    """The constraints op; None without a parallel loop, for elements of less than a byte, and for a race.

    Tiles need not divide the loops: each thread leaves out elements beyond their end.
    """
    if any(0 < kind.bits < 8 for kind in workload.types) or not in_step(workload):
        return None

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = SpirvTiling(workload, limits)
        for loop in tiling.tiled:
            size = workload.loops[loop]
            largest = next_power(size)
            if loop == tiling.tiled[0]:  # a subgroup with idle threads is the least that runs
                largest = max(largest, limits.subgroup_size)
            counts = powers(min(largest, tiling.most_threads(loop)))
            tiling.declare_tile(loop, powers(min(4, largest)), counts, largest)
        tiling.limit_threads()
        tiling.declare_subgroup_size()
        tiling.declare_swap()
        return tiling.knobs([tiling.workgroup_level(), tiling.thread_level()])

    if not SpirvTiling(workload, limits).tiled:
        return None
    return build_constraints(pipeline("BaseDistribute"), fill)


def in_step(workload: Workload) -> bool:
    """Whether each thread computes what it needs of the ops around the root op.

    `SPIRVTileAndDistribute` cuts every op of the dispatch alone, each by the same tiles in the order of its
    own loops, and puts no barrier between them. So the root's results must lie in memory in the order of its
    loops (the op that writes their initial values follows memory), and other ops must have the same outer
    loops. Otherwise results are wrong: a depthwise convolution of NCHW images is such a case.
    """
    parallel = workload.parallel
    order = tuple(range(len(parallel)))
    if workload.reduced and (parallel != order or not writes_in_order(workload)):
        return False
    return all(companion.shared[: len(parallel)] == parallel == order for companion in workload.companions)


# Tiles in registers, with vector loads: BaseVectorize.
#
# Levels: the workgroup's tiles, a thread's, and the reduction's. (The fourth that the compiler writes for
# named convolutions cuts the window. They are generic ops when they get here, and it changes nothing.)


_SHORT_VECTORS = ("bf16",)
"""Types with vectors of up to four: more fail with "failed to legalize operation 'vector.bitcast'"."""


@dataclass(frozen=True)
class Unrolled:
    """The most code for one thread: iterations, and steps of each reduction loop, at once.

    `single` is the role whose loop a workgroup has one iteration of, if it is one loop.
    """

    iterations: int = 256
    steps: int = 16
    single: str = ""


_USUAL = Unrolled()


def vectorize_constraints(
    workload: Workload, limits: GpuLimits, unrolled: Unrolled = _USUAL
) -> ir.Module | None:
    """The constraints op; None for ops that do not vectorize."""
    if not _vectorizable(workload):
        return None

    def fill() -> Mapping[str, ir.Attribute]:
        single = workload.role(unrolled.single)
        tiling = SpirvTiling(workload, limits, single=[loop for loop in single if len(single) == 1])
        for loop in tiling.tiled:
            _declare_tile(tiling, loop)
        for loop in workload.reduced:
            tiling.declare_reduction(loop, _reduction(workload, loop, unrolled.steps))
        tiling.limit_threads()
        tiling.limit_unrolling(unrolled.iterations)
        tiling.declare_subgroup_size()
        tiling.declare_swap()
        levels = [tiling.workgroup_level(), tiling.thread_level()]
        if any(tiling.reduction_level()):
            levels.append(tiling.reduction_level())
        return tiling.knobs(levels)

    return build_constraints(pipeline("BaseVectorize"), fill)


def _vectorizable(workload: Workload) -> bool:
    """`setDefaultOpConfig` in KernelConfig.cpp; sizes must divide, so that no loop has a remainder.

    Tensors of up to 32 bits (64-bit integers are emulated one by one, `SPIRVEmulateI64`). Ops that are
    matched by structure must have maps that only permute, and must not use the loops' positions. A
    convolution's maps add two loops; it is vectorized along the others.
    """
    kinds = all(8 <= kind.bits <= 32 for kind in workload.types)
    if workload.dag:
        dag = facts_of(workload.dag)
        kinds = (
            kinds
            and not dag.on_buffers
            and not dag.uses_indices
            and all(each.is_permutation for each in workload.maps)
        )
    return kinds and any(workload.loops[loop] > 1 for loop in workload.parallel)


def _declare_tile(tiling: SpirvTiling, loop: int) -> None:
    """The innermost tile is a row of vectors: a power of two, of one vector where nothing is reused."""
    size = tiling.workload.loops[loop]
    counts = power_divisors(size, tiling.most_threads(loop))  # and other divisors if there are few powers
    if counts[-1] < _NARROW_POWER:
        more = [count for count in range(3, min(size, 64) + 1) if size % count == 0]
        counts = sorted({*counts, *more})
    innermost = loop == tiling.tiled[0]
    if tiling.workload.dag:
        # A wider vector is left as it is where results are reduced, and then cannot become SPIR-V.
        elements = power_divisors(size, 4)
    else:
        most = 4 if _has_short_vectors(tiling.workload) else 16
        elements = power_divisors(size, most) if innermost else thread_tiles(size)
    tiling.declare_tile(loop, elements, counts)


def _reduction(workload: Workload, loop: int, most: int) -> list[int]:
    """Steps at once. A filter's loop is taken in single steps or whole; the rest in powers of two.

    A short loop may be whole as well. The compiler would take 4, or the smallest prime factor below 50
    (`getReductionTilingFactor`, Codegen/Utils/Utils.cpp).
    """
    size = workload.loops[loop]
    if loop in workload.role("filter"):
        return sorted({1, size}) if size <= 5 else [1]
    if _has_short_vectors(workload):
        return power_divisors(size, 4)
    factor = next((step for step in (4, *range(2, 50)) if size % step == 0), 1)
    return sorted({*power_divisors(size, most), factor, *([size] if size <= 8 else [])})


def _has_short_vectors(workload: Workload) -> bool:
    return any(kind.name in _SHORT_VECTORS for kind in workload.types)


# A workgroup for each result, its subgroups reducing together: SubgroupReduce.
#
# Levels: workgroup tiles, all 1, and the elements that a workgroup takes at once: one vector a thread.


VECTOR_BITS = 128


def reduce_constraints(workload: Workload, limits: GpuLimits) -> ir.Module | None:
    """The constraints op; None for ops that `setReductionConfig` (KernelConfig.cpp) refuses as well."""
    if not limits.codegen.shuffles or not _reducible(workload):
        return None
    lanes = limits.subgroup_size
    groups = [
        group
        for group in powers(min(limits.max_threads, limits.max_workgroup_sizes[0], lanes * lanes), lanes)
        if workload.reduction_length % group == 0
        and all(_distributable(each, workload, group) for each in workload.companions)
    ]
    if not groups:
        return None

    def fill() -> Mapping[str, ir.Attribute]:
        threads = knob("threads_x", groups, f"whole subgroups of {lanes} that divide the reduction evenly")
        largest = groups[-1] * VECTOR_BITS // workload.types[-1].bits
        tiles = {
            loop: knob(
                f"reduction_{loop}",
                power_divisors(workload.loops[loop], largest),
                "a power of two that divides",
            )
            for loop in workload.reduced
        }
        taken = product(list(tiles.values()))
        vectors = powers(VECTOR_BITS // workload.types[-1].bits)
        # A longer vector is not cut: "failed to legalize operation 'arith.constant'".
        message = f"{{}} elements at once must be 1 to {vectors[-1]} for each of {{}} threads"
        require(any_of([taken.equals(threads * each) for each in vectors]), message, taken, threads)
        long = [loop for loop in workload.parallel if workload.loops[loop] > 1]
        outer = [1] * (max(long) + 1) if long else []
        inner = [f"reduction_{loop}" if loop in tiles else 0 for loop in range(len(workload.loops))]
        levels = ir.ArrayAttr.get([integers(outer), integers(inner)])
        found: dict[str, ir.Attribute] = {TILE_SIZES: levels, WORKGROUP_SIZE: integers(["threads_x", 1, 1])}
        if workload.companions:
            # setReductionConfig gives every op of the dispatch the same levels: the pipeline expects it.
            found[COMPANIONS] = ir.DictAttr.get({each.label: levels for each in workload.companions})
        return found

    return build_constraints(pipeline("SubgroupReduce"), fill)


def _reducible(workload: Workload) -> bool:
    """Reductions innermost, maps that only permute, elements of 8, 16 or 32 bits; no matmul."""
    reduced = workload.reduced
    if not reduced or reduced != tuple(range(reduced[0], len(workload.loops))):
        return False
    if is_contraction(workload) and all(math.prod(workload.sizes(role)) > 1 for role in ("m", "n")):
        return False
    if facts_of(workload.dag).on_buffers:
        return False
    plain = all(each.is_permutation for each in workload.maps)
    return plain and all(kind.bits in (8, 16, 32) for kind in workload.types)


def _distributable(companion: Companion, workload: Workload, group: int) -> bool:
    """`isConsumerCompatible`, KernelConfig.cpp: loops except the root's parallel ones fill the threads."""
    left = group
    for size, shared in zip(companion.loops, companion.shared, strict=True):
        if shared is not None and workload.iterators[shared] == "parallel":
            continue
        if size % left == 0:
            return True
        if left % size:
            return False
        left //= size
    return left in (1, group)
