"""Contractions, convolutions and generic ops without matrix instructions, on CUDA and ROCm."""

from __future__ import annotations

import math
from collections.abc import Mapping

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.workload import Companion, Workload
from iree_tuner.space.constraints import (
    COMPANIONS,
    build_constraints,
    derived,
    divisors,
    flag,
    integers,
    knob,
    level,
    next_power,
    one_of_attribute,
    powers,
    require_equal,
)
from iree_tuner.space.expressions import Integer, constant, product, require
from iree_tuner.space.gpu.options import OPTIONS, pipeline_options
from iree_tuner.targets import GpuLimits

# TileAndFuse without matrix instructions, built here: each thread computes a tile of the result itself.
#
# The compiler's own choices come from setContractConfig (LLVMGPU/KernelConfig.cpp) for matrix
# multiplications, and from setTileAndFuseLoweringConfig (ConfigUtils.cpp) for everything else.


_INNER = 2
"""The number of innermost parallel loops that are tiled freely; those around them have small tiles."""

_WIDEST_TILE = 512
_WIDEST_BY_ROWS = 128
_WIDEST_OUTER_TILE = 8
_WIDEST_THREAD = (16, 32)
"""Of one thread along the inner loops, outermost first: the innermost is read in vectors."""

_LONGEST_STEP = 64
_MOST_OF_A_THREAD = 256
"""Of one thread: more do not fit in its registers."""

_MOST_UNROLLED = 1024
"""Multiplications of one thread in one step: they are unrolled, and 3072 took 20 s (grouped, sm_80)."""


class SimtTiles:
    """The tiles of a root op that threads compute by themselves, while its constraints op is being built."""

    def __init__(self, workload: Workload, limits: GpuLimits) -> None:
        self.workload = workload
        self.limits = limits
        self.parallel, self.reduced = workload.parallel, workload.reduced
        self.by_rows = is_by_rows(workload, limits)
        """Whether threads are counted by rows and columns, as setContractConfig does."""
        self.workgroup: dict[int, Integer] = {}
        self.thread: dict[int, Integer] = {}
        self.step: dict[int, Integer] = {}
        self._shares = is_promotable(workload)
        # The compiler crashes where it copies complex numbers to shared memory (sm_80, gfx942, gfx1201).
        self._promotes = self._shares and all(kind.kind != "complex" for kind in workload.types)

    def fill(self) -> Mapping[str, ir.Attribute]:
        """Declare knobs and asserts; returns the knobs dictionary."""
        self._declare_tiles()
        self._declare_workgroup()
        self._declare_promotion()
        self._limit_unrolling()
        return self._knobs()

    def _declare_tiles(self) -> None:
        """Tiles of workgroups and threads for parallel loops, and a step for each loop that is reduced."""
        wide = [loop for loop in self.parallel if self.workload.loops[loop] > 1]
        inner = wide[-_INNER:]
        for loop in wide:
            size = self.workload.loops[loop]
            if loop in inner:
                # A tile may be wider than its loop: threads beyond it help with copies (setContractConfig).
                most = min(_WIDEST_TILE, max(next_power(size), _WIDEST_BY_ROWS if self.by_rows else 1))
                values = sorted({*powers(most), *(value for value in divisors(size) if value <= most)})
                tile = knob(f"wg_{loop}", values, f"a divisor of {size} or a power of two, at most {most}")
                widest = min(_WIDEST_THREAD[inner.index(loop) - len(inner)], most)
                mine = knob(f"th_{loop}", powers(widest), f"a power of two up to {widest}")
                require((tile % mine).equals(0), f"th_{loop} ({{}}) must divide wg_{loop} ({{}})", mine, tile)
                self.workgroup[loop], self.thread[loop] = tile, mine
            else:
                most = min(_WIDEST_OUTER_TILE, next_power(size))
                self.workgroup[loop] = knob(f"wg_{loop}", powers(most), f"a power of two up to {most}")
        for loop in self.reduced:
            size = self.workload.loops[loop]
            steps = [value for value in divisors(size) if value <= _LONGEST_STEP]
            if size > 1:
                self.step[loop] = knob(f"red_{loop}", steps, f"a divisor of {size}, at most {_LONGEST_STEP}")

    def _declare_workgroup(self) -> None:
        """One thread for each thread's tile, in whole subgroups.

        The compiler takes any number: too few threads go over the tiles in a loop, too many idle
        (GPUDistributeForall).
        """
        lanes = self.limits.subgroup_size
        counts = {
            loop: tile // self.thread[loop] if loop in self.thread else tile
            for loop, tile in self.workgroup.items()
        }
        threads = product(list(counts.values()))
        most = self.limits.max_threads
        require(threads <= most, f"there must be at most {most} threads, not {{}}", threads)
        require((threads % lanes).equals(0), f"{{}} threads must be a multiple of {lanes}", threads)
        if self.by_rows:
            *outer, columns = self.parallel
            rows = product([counts[loop] for loop in outer if loop in counts])
            self._declare_size("wg_size_x", rows, "the threads along rows")
            self._declare_size("wg_size_y", counts.get(columns, constant(1)), "the threads along columns")
        else:
            self._declare_size("wg_size_x", threads, "the number of threads")

    def _declare_size(self, name: str, count: Integer, what: str) -> None:
        """A knob that is a count of threads: a product of quotients of the tiles."""
        size = derived(name)
        most = self.limits.max_threads
        require((size >= 1) & (size <= most), f"{name} ({{}}) must be between 1 and {most}", size)
        require_equal(name, size, count, what)

    def _limit_unrolling(self) -> None:
        """A thread's work in one step is unrolled, and its results stay in registers."""
        results = product(list(self.thread.values()))
        message = f"a thread must have at most {_MOST_OF_A_THREAD} results, not {{}}"
        require(results <= _MOST_OF_A_THREAD, message, results)
        work = product([results, *self.step.values()])
        message = f"{{}} multiplications of a thread are unrolled: at most {_MOST_UNROLLED}"
        require(work <= _MOST_UNROLLED, message, work)
        for companion in self.workload.companions:
            # Fused into the thread's tile, its reduction is no loop: 8 results of rows of 512 took 60 s.
            kinds = zip(companion.loops, companion.iterators, strict=True)
            length = math.prod(size for size, kind in kinds if kind == "reduction")
            if length > 1:
                own = results * length
                message = f"{companion.label} is unrolled to {{}} steps of a thread: at most {_MOST_UNROLLED}"
                require(own <= _MOST_UNROLLED, message, own)

    def _declare_promotion(self) -> None:
        """Whether both operands are copied to shared memory first, and their rows padded there."""
        if not self._promotes:
            return
        promote = flag("promote")
        padded = flag("pad_rows")
        require(
            (promote.equals(1)) | (padded.equals(0)), "without promotion there are no rows to pad (pad_rows)"
        )
        size = product([self._bytes(0) + self._bytes(1), promote])
        limit = self.limits.shared_memory_bytes
        require(size <= limit, f"the operands' tiles take {{}} bytes of shared memory, of {limit}", size)

    def _bytes(self, operand: int) -> Integer:
        """Of an operand's tile in shared memory, its rows padded by 64 bits (GPUReduceBankConflicts)."""
        *rows, last = self.workload.maps[operand].loops
        width = self.workload.types[operand].bytes
        row = self._tile(last) * width + 8
        return product([row, *(self._tile(loop) for loop in rows)])

    def _tile(self, loop: int) -> Integer:
        return self.workgroup.get(loop) or self.step.get(loop) or constant(1)

    def _knobs(self) -> Mapping[str, ir.Attribute]:
        whole, count = int(self.by_rows), len(self.workload.loops)
        workgroup = {**dict.fromkeys(self.parallel, 1), **dict.fromkeys(self.reduced, whole)}
        thread: dict[int, int | str] = dict.fromkeys(self.parallel, 1)
        steps: dict[int, int | str] = dict.fromkeys(self.reduced, 1)
        size = ["wg_size_x", "wg_size_y", 1] if self.by_rows else ["wg_size_x", 1, 1]
        found: dict[str, ir.Attribute] = {
            "workgroup": level({**workgroup, **{loop: f"wg_{loop}" for loop in self.workgroup}}, count),
            "thread": level({**thread, **{loop: f"th_{loop}" for loop in self.thread}}, count),
            "workgroup_size": integers(size),
            "subgroup_size": integers([self.limits.subgroup_size])[0],
        }
        if self.reduced:
            found["reduction"] = level({**steps, **{loop: f"red_{loop}" for loop in self.step}}, count)
        if not self._promotes:
            return {**found, OPTIONS: pipeline_options(integers([0])[0], ir.BoolAttr.get(self._shares))}
        # A unit attribute stands for leaving the entry out.
        found["promote_operands"] = one_of_attribute("promote", [ir.UnitAttr.get(), integers([0, 1])])
        kept = [ir.BoolAttr.get(True), ir.BoolAttr.get(False)]
        return {**found, OPTIONS: pipeline_options(integers([0])[0], one_of_attribute("pad_rows", kept))}


def is_promotable(workload: Workload) -> bool:
    """Whether operands are read more than once: a matrix multiplication with several rows and columns.

    The compiler's isNonMatvecContraction (ConfigUtils.cpp).
    """
    if not is_contraction(workload):
        return False
    return all(math.prod(workload.sizes(role)) > 1 for role in ("m", "n"))


def is_by_rows(workload: Workload, limits: GpuLimits) -> bool:
    """Whether the compiler's choice comes from setContractConfig, which counts threads by rows and columns.

    It leaves multiplications with one or a few rows or columns to reductions.
    """
    if not is_promotable(workload):
        return False
    rows, columns = (math.prod(workload.sizes(role)) for role in ("m", "n"))
    plain = not workload.role("batch") and all(len(workload.role(role)) == 1 for role in ("m", "n", "k"))
    return not (plain and min(rows, columns) <= 4 and max(rows, columns) > limits.subgroup_size)


# VectorDistribute for reductions that subgroups share: of contractions with one or few rows or columns,
# and of generic ops such as a softmax or a norm.
#
# The compiler chooses it for them (setReductionConfig, ReductionConfigUtils.cpp). The lanes of all subgroups
# of a workgroup are spread along the innermost reduction loop, and each lane reads a vector at a time.
# Partial results are combined with shuffles and, across subgroups, through shared memory. Other ops of the
# dispatch that walk the same loop are spread in the same way, step by step where they do not reduce it.


_MOST_RESULTS = 64
"""Of one workgroup: each is reduced by all of its threads, in unrolled code."""

_MOST_ROWS = 8
"""Of one workgroup, of a softmax or a norm: registers hold them."""

_MOST_SUBGROUPS = 16


def shared_loop(workload: Workload, limits: GpuLimits) -> int | None:
    """The loop whose reduction subgroups can share, as the compiler would have them do; None without one."""
    sizes, dynamic = workload.loops, {each.loop for each in workload.dynamic}
    reduced = [loop for loop in workload.reduced if sizes[loop] > 1 or loop in dynamic]
    if is_contraction(workload):
        reduced = [] if is_by_rows(workload, limits) else list(workload.role("k"))
    elif len(reduced) != 1:
        return None
    lanes = limits.subgroup_size
    return next((loop for loop in reduced[-1:] if loop in dynamic or not sizes[loop] % lanes), None)


class SharedReduction:
    """Reductions along the loop `inner` that a workgroup's threads share, while the op is being built."""

    def __init__(self, workload: Workload, limits: GpuLimits, inner: int) -> None:
        self.workload = workload
        self.limits = limits
        self.inner = inner
        self.workgroup: dict[int, Integer] = {}

    def fill(self) -> Mapping[str, ir.Attribute]:
        """Declare knobs and asserts; returns the knobs dictionary."""
        most = _MOST_RESULTS if is_contraction(self.workload) else _MOST_ROWS
        parallel = self.workload.parallel
        # A workgroup may take more than one of these loops: of a generic op of the innermost, for its rows.
        for loop in parallel if is_contraction(self.workload) else parallel[-1:]:
            size = self.workload.loops[loop]
            values = [value for value in divisors(size) if value in powers(most)]
            if len(values) > 1:
                self.workgroup[loop] = knob(f"wg_{loop}", values, f"a power of two that divides {size}")
        results = product(list(self.workgroup.values()) or [constant(1)])
        require(results <= most, f"a workgroup must have at most {most} results, not {{}}", results)
        size, lanes = self.workload.loops[self.inner], self.limits.subgroup_size
        # Elements that a lane reads at once at most: of a generic op the narrowest type decides.
        kinds = [kind.bits for kind in self.workload.types]
        bits = max(kinds[:2]) if is_contraction(self.workload) else min(kinds)
        widest = max(1, self.limits.max_load_bits // bits)
        vector = knob(
            "th_k", powers(widest), f"a power of two up to {widest} ({self.limits.max_load_bits} bits)"
        )
        static = self.workload.dynamic_loop(self.inner) is None
        most = self.limits.max_threads // lanes
        most = min(_MOST_SUBGROUPS, most) if static else most
        counts, what = powers(most), "a power of two"
        if static and not is_contraction(self.workload):  # the compiler takes any number that divides
            counts = tuple(sorted({*counts, *(each for each in divisors(size // lanes) if each <= most)}))
            what = f"a power of two or a divisor of {size // lanes},"
        subgroups = knob("subgroups", counts, f"{what} up to {most}")
        threads = knob("wg_size_x", [count * lanes for count in counts], "a number of whole subgroups")
        require_equal("wg_size_x", threads, subgroups * lanes, "the threads of all subgroups")
        steps = sorted({lanes * each * vectors for each in counts for vectors in powers(widest)})
        step = knob(f"red_{self.inner}", steps, f"{lanes} times {what}")
        require_equal(f"red_{self.inner}", step, threads * vector, "one vector for each thread")
        if static:  # else the rest is masked
            require((constant(size) % step).equals(0), f"red_{self.inner} ({{}}) must divide {size}", step)
        return self._knobs()

    def _knobs(self) -> Mapping[str, ir.Attribute]:
        workload, count = self.workload, len(self.workload.loops)
        workgroup = {loop: f"wg_{loop}" if loop in self.workgroup else 1 for loop in workload.parallel}
        ones: dict[int, int | str] = dict.fromkeys(workload.reduced, 1)
        found: dict[str, ir.Attribute] = {
            "workgroup": level(workgroup, count),
            "partial_reduction": level({**ones, self.inner: f"red_{self.inner}"}, count),
            **self._spread(self.inner, ones, count),
            "workgroup_size": integers(["wg_size_x", 1, 1]),
            "subgroup_size": integers([self.limits.subgroup_size])[0],
            OPTIONS: pipeline_options(integers([0])[0]),
        }
        others = {each.label: self._beside(each) for each in self.workload.companions}
        spread = {label: entries for label, entries in others.items() if entries is not None}
        return found | ({COMPANIONS: ir.DictAttr.get(spread)} if spread else {})

    def _beside(self, companion: Companion) -> ir.Attribute | None:
        """The attributes of another op of the dispatch; None if it does not walk the loop."""
        if self.inner not in companion.shared:
            return None
        loop, count = companion.shared.index(self.inner), len(companion.loops)
        step = "partial_reduction" if companion.iterators[loop] == "reduction" else "serial"
        entries = {step: level({loop: f"red_{self.inner}"}, count), **self._spread(loop, {}, count)}
        return ir.DictAttr.get(entries)

    def _spread(self, loop: int, ones: Mapping[int, int | str], count: int) -> dict[str, ir.Attribute]:
        """The lanes of all subgroups spread along one of `count` loops."""
        all_ones: dict[int, int | str] = dict.fromkeys(range(count), 1)
        return {
            "thread": level({**ones, loop: "th_k"}, count),
            "lane_basis": _basis({**all_ones, loop: self.limits.subgroup_size}, count),
            "subgroup_basis": _basis({**all_ones, loop: "subgroups"}, count),
        }


def _basis(counts: Mapping[int, int | str], count: int) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([level(counts, count), integers(list(range(count)))])


def simt_constraints(workload: Workload, limits: GpuLimits, *, shared: bool = True) -> list[ir.Module]:
    """TileAndFuse with a tile of the result for each thread, and VectorDistribute for shared reductions.

    Empty for a result of one element. `shared` says whether reductions may be shared.
    """
    if not any(workload.loops[loop] > 1 for loop in workload.parallel):
        return []
    tile_and_fuse, distribute = (
        iree_gpu.PipelineAttr.get(each)
        for each in (iree_gpu.LoweringPipeline.TileAndFuse, iree_gpu.LoweringPipeline.VectorDistribute)
    )
    found = [build_constraints(tile_and_fuse, SimtTiles(workload, limits).fill)]
    inner = shared_loop(workload, limits) if shared else None
    if inner is not None:
        found.append(build_constraints(distribute, SharedReduction(workload, limits, inner).fill))
    return found
