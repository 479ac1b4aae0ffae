"""Matrix instructions where the compiler emits no constraints: batched contractions, grouped convolutions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.compiler.unbound import derived_thread_config
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import (
    as_variant,
    build_constraints,
    computed,
    derived,
    divisors,
    integers,
    knob,
    knob_attribute,
    level,
    one_of_attribute,
    only_constraints,
    padded_to,
    powers,
    require_equal,
)
from iree_tuner.space.expressions import Integer, constant, if_else, lookup, product, require, total
from iree_tuner.space.gpu.constraints_draft import Draft, apply, choose_instruction, round_up
from iree_tuner.space.gpu.contraction import PADDED_SUMS, REGISTERS
from iree_tuner.space.gpu.convolution import PADDED_GROUPS
from iree_tuner.space.gpu.instructions import (
    Instruction,
    block_instructions,
    blocks_of,
    divides,
    fitting_instructions,
    needs_separate_accumulation,
    shape_of,
    sparse_instructions,
)
from iree_tuner.space.gpu.matrix_problem import (
    MatrixProblem,
    contraction_problem,
    direct_problem,
    fused_problem,
    igemm_problem,
    overpadded,
)
from iree_tuner.space.gpu.options import (
    COPY_BITS,
    OPTION_SUPPLEMENTS,
    OPTIONS,
    PREFETCH,
    pipeline_options,
    require_thread_layout,
)
from iree_tuner.targets import GpuLimits

# VectorDistribute with matrix instructions, built here: batched contractions, several products in one op.
#
# Names and limits are as in the compiler's own emitter (emitVectorDistributeConstraints in
# LLVMGPUConstraintGenerator.cpp). It knows batches here, but TileAndFuse's, which runs first, crashes on them
# (docs/upstream/emitter_batch_crash.md).


class MatrixLayouts:
    """Tiles of the innermost m, n and k loop, while the op is being built; other loops have the tile 1."""

    pipeline = iree_gpu.LoweringPipeline.VectorDistribute

    def __init__(self, problem: MatrixProblem, mmas: Sequence[Instruction], limits: GpuLimits) -> None:
        self.problem = problem
        self.mmas = mmas
        self.limits = limits
        self.tiles: dict[int, Integer] = {}

    def fill(self) -> Mapping[str, ir.Attribute]:
        """Declare knobs and asserts; returns the knobs dictionary."""
        _, *instruction = choose_instruction("mma_idx", list(map(shape_of, self.mmas)))
        pieces: list[Integer] = []
        counts: list[Integer] = []
        for what, loop, step in zip("mnk", self._loops(), instruction, strict=True):
            tile = self._declare_tile("red" if what == "k" else "wg", loop)
            share = step
            if what != "k":
                count = knob(
                    f"sg_{what}_cnt", powers(_MOST_SUBGROUPS), f"a power of two up to {_MOST_SUBGROUPS}"
                )
                counts.append(count)
                share = product([count, step])
            message = f"the subgroups' instructions along {what} ({{}}) must divide the tile ({{}})"
            require((tile % share).equals(0), message, share, tile)
            pieces.append(tile // share)
        unrolled = product([*pieces, 1 + len(self.problem.others)])
        message = f"{{}} instructions of a subgroup are unrolled in one step: at most {_MOST_INSTRUCTIONS}"
        require(unrolled <= _MOST_INSTRUCTIONS, message, unrolled)
        lanes = self.limits.subgroup_size
        most = min(_MOST_SUBGROUPS, self.limits.max_threads // lanes)
        values = [count * lanes for count in powers(most)]
        subgroups = product(counts)
        self.threads = knob("wg_size_x", values, f"{lanes} times a power of two, up to {most * lanes}")
        require_equal("wg_size_x", self.threads, subgroups * lanes, "the threads of all subgroups")
        _pin_stages()
        # All operands go through shared memory, where they must fit, and are read by all threads.
        problem, (left, right, _) = self.problem, self.problem.types
        operands = [("the left operand", problem.left, left)]
        operands += [("the right operand", loops, right) for loops in (problem.right, *problem.others)]
        sizes: list[Integer] = []
        for what, loops, kind in operands:
            shape = [self.tiles.get(loop, 1) for loop in loops]
            require_thread_layout(shape, self.threads, kind.bits, what)
            sizes.append(product([*shape, kind.bytes]))
        size = total(sizes)
        limit = self.limits.shared_memory_bytes
        require(size <= limit, f"the operands' tiles take {{}} bytes of shared memory, of {limit}", size)
        return self._knobs()

    def _loops(self) -> tuple[int, int, int]:
        return self.problem.m[-1], self.problem.n[-1], self.problem.k[-1]

    def _declare_tile(self, prefix: str, loop: int) -> Integer:
        size = self.problem.loops[loop]
        values = [value for value in divisors(size) if value <= _LARGEST_TILE]
        tile = knob(f"{prefix}_{loop}", values, f"a divisor of {size}, at most {_LARGEST_TILE}")
        self.tiles[loop] = tile
        return tile

    def _knobs(self) -> Mapping[str, ir.Attribute]:
        m, n, k = self._loops()
        problem, count = self.problem, len(self.problem.loops)
        ones: dict[int, int | str] = dict.fromkeys((*problem.batch, *problem.m, *problem.n), 1)
        steps: dict[int, int | str] = dict.fromkeys(problem.k, 1)
        operands = range(2 + len(problem.others))
        every: dict[int, int | str] = dict.fromkeys(range(count), 1)
        basis = level({**every, m: "sg_m_cnt", n: "sg_n_cnt"}, count)
        return {
            "workgroup": level({**ones, m: f"wg_{m}", n: f"wg_{n}"}, count),
            "reduction": level({**steps, k: f"red_{k}"}, count),
            "subgroup_basis": ir.ArrayAttr.get([basis, integers(list(every))]),
            "mma_kind": one_of_attribute("mma_idx", list(self.mmas)),
            "promote_operands": integers(list(operands)),
            "promotion_types": ir.ArrayAttr.get([derived_thread_config()] * len(operands)),
            "workgroup_size": integers(["wg_size_x", 1, 1]),
            "subgroup_size": integers([self.limits.subgroup_size])[0],
            OPTIONS: pipeline_options(knob_attribute(PREFETCH)),
        }


def _pin_stages(note: str = "") -> None:
    """Two are fetched ahead, unless `space.gpu.options` opens it, where it makes a difference."""
    stages = derived(PREFETCH)
    require(stages.equals(2), f"{PREFETCH} == 2{note}, but is {{}}", stages)


# TileAndFuse with matrix instructions, built here: batched contractions and grouped convolutions.
#
# The names of knobs and the shape of the knobs dictionary are as in the compiler's own emitter
# (LLVMGPUConstraintGenerator.cpp), which has no room for batch loops.


_LARGEST_TILE = 512
"""Rows, columns or depth of a workgroup's tile, as in the compiler's emitter (its 512 registers)."""

_MOST_SUBGROUPS = 16
_MOST_INSTRUCTIONS = 512
"""Of one subgroup in one step of the reduction loop, which is unrolled: 256 take 5 s (batch, sm_80)."""

_MOST_GATHERED = 64
_MOST_TOGETHER = 4


class MatrixTiles:
    """The tiles of a matrix multiplication for some instructions, while its constraints op is being built."""

    pipeline = iree_gpu.LoweringPipeline.TileAndFuse

    def __init__(self, problem: MatrixProblem, mmas: Sequence[Instruction], limits: GpuLimits) -> None:
        self.problem = problem
        self.mmas = mmas
        self.limits = limits
        self.padded = is_padded(problem, mmas)
        self.workgroup: dict[int, Integer] = {}
        self.subgroup: dict[int, Integer] = {}
        self._index, rows, columns, self._depth = choose_instruction("mma_idx", list(map(shape_of, mmas)))
        self._inner = {problem.m[-1]: rows, problem.n[-1]: columns}
        counts = [blocks_of(mma) for mma in mmas]
        self.blocks = counts if max(counts) > 1 else []
        """Of each instruction: elements of the batch that it computes at once; empty if all compute one."""
        self.together: Integer | None = None
        """Elements of the batch that a workgroup computes; None for one."""
        self._groups = constant(1)

    def fill(self) -> Mapping[str, ir.Attribute]:
        """Declare knobs and asserts; returns the knobs dictionary."""
        self._declare_tiles()
        self._declare_workgroup()
        if self.padded:  # the depth that the innermost reduction loop is padded to is a knob of its own
            computed("pad_k", self.depth, "the reduction's step")
        # Draft.igemm goes by the words in brackets: three stages of gathered patches crash the compiler.
        _pin_stages(" (use_igemm_convolution=true)" if self.problem.igemm else "")
        self._limit_memory()
        self._limit_unrolling()
        if self.problem.igemm:
            self._limit_gathering()
        return self._knobs()

    def _declare_tiles(self) -> None:
        """A workgroup tile for each m and n loop, in it a subgroup tile, and a step of the reduction."""
        for loop in (*self.problem.m, *self.problem.n):
            self._declare_loop(loop)
        self._declare_batch()
        for what, group in (("m", self.problem.m), ("n", self.problem.n)):
            extent = self._extent(group)
            message = f"the workgroup's tile along {what} ({{}}) must be at most {_LARGEST_TILE}"
            require(extent <= _LARGEST_TILE, message, extent)
        self._declare_reduction()

    def _declare_loop(self, loop: int) -> None:
        size = self.problem.loops[loop]
        step = self._inner.get(loop, constant(1))
        name = f"wg_{loop}"
        most = self._bound(loop)
        whole = round_up(size, shape_of(self.mmas[0])[0]) if loop in self._inner else size
        values = sorted(v for v in {*divisors(size), *powers(most), whole} if v <= min(most, _LARGEST_TILE))
        tile = knob(name, values, f"a divisor of {size}, or a power of two up to {most}")
        if not self.padded:
            require((constant(size) % tile).equals(0), f"{name} ({{}}) must divide {size}", tile)
        else:
            filled = padded_to(size, tile)
            limit = self._limit(loop, step)
            message = f"with {name} ({{}}), {size} would be padded to {{}}, further than the compiler would"
            require(filled <= limit, message, tile, filled)
        inner = knob(f"sg_{loop}", powers(16, threes=True), "a power of two, or three times one, up to 16")
        piece = product([inner, step])
        require(
            (tile % piece).equals(0), f"sg_{loop} instructions ({{}}) must divide {name} ({{}})", piece, tile
        )
        self.workgroup[loop] = tile
        self.subgroup[loop] = inner

    def _declare_batch(self) -> None:
        """The number of elements of the batch that a workgroup computes: the instruction's blocks, or few.

        Like the compiler's own choice, which takes up to four if the rows and the columns do not fill an
        instruction (deduceMMASchedule, GPUHeuristics.cpp).
        """
        problem = self.problem
        size = problem.loops[problem.batch[-1]] if problem.batch else 1
        rows, columns = (problem.loops[group[-1]] for group in (problem.m, problem.n))
        if self.blocks:
            counts = sorted({times * count for count in self.blocks for times in (1, 2)})
            what = f"a number of the instruction's blocks that divides {size}"
        elif all(rows < shape_of(mma)[0] and columns < shape_of(mma)[1] for mma in self.mmas):
            counts = powers(_MOST_TOGETHER)
            what = f"a power of two up to {_MOST_TOGETHER} that divides {size}"
        else:
            return
        values = [count for count in counts if size % count == 0]
        if len(values) < 2 and not self.blocks:
            return
        self.together = knob(f"wg_{problem.batch[-1]}", values, what)
        if self.blocks:
            blocks = lookup(self._index, self.blocks)
            self._groups = self.together // blocks
            message = f"wg_{problem.batch[-1]} ({{}}) must be a multiple of the instruction's {{}} blocks"
            require((self.together % blocks).equals(0), message, self.together, blocks)

    def _declare_reduction(self) -> None:
        loop = self.problem.k[-1]
        size = self.problem.loops[loop]
        depths = {shape_of(mma)[2] for mma in self.mmas}
        counts = {count for depth in depths for count in divisors(-(-size // depth))}
        most = _LARGEST_TILE // min(depths)
        values = sorted(count for count in counts if count <= most)
        self.steps = knob(f"red_{loop}", values, f"a divisor of the number of instructions along {size}")
        self.depth = product([self.steps, self._depth])
        aligned = padded_to(size, self._depth)
        message = f"the reduction's step ({{}}) must divide {{}}, which is {size} or what it is padded to"
        require((aligned % self.depth).equals(0), message, self.depth, aligned)
        message = f"the reduction's step ({{}}) must be at most {_LARGEST_TILE}"
        require(self.depth <= _LARGEST_TILE, message, self.depth)

    def _declare_workgroup(self) -> None:
        """The number of threads that the tiles need.

        The compiler takes any number: it deals out the subgroups' tiles in a loop if there are too few
        subgroups, and lets the rest idle if there are too many (GPUDistributeForall).
        """
        pieces = [
            tile // product([self.subgroup[loop], self._inner[loop]])
            if loop in self._inner
            else tile // self.subgroup[loop]
            for loop, tile in self.workgroup.items()
        ]
        subgroups = product([*pieces, self._groups])
        most = min(_MOST_SUBGROUPS, self.limits.max_threads // self.limits.subgroup_size)
        require(subgroups <= most, f"there must be at most {most} subgroups, not {{}}", subgroups)
        lanes = self.limits.subgroup_size
        threads = subgroups * lanes
        values = [count * lanes for count in range(1, most + 1)]
        self.threads = knob("wg_size_x", values, f"a multiple of {lanes} up to {most * lanes}")
        require_equal("wg_size_x", self.threads, threads, "the threads of all subgroups")

    def _limit_memory(self) -> None:
        """Both operands' tiles stand in shared memory."""
        left, right, _ = (kind.bytes for kind in self.problem.types)
        rows, columns = self._extent(self.problem.m), self._extent(self.problem.n)
        size = product([rows * left + columns * right, self.depth, self.together or 1])
        limit = self.limits.shared_memory_bytes
        require(size <= limit, f"the operands' tiles take {{}} bytes of shared memory, of {limit}", size)

    def _limit_unrolling(self) -> None:
        """A subgroup's instructions of one step are unrolled."""
        alone = constant(1) if self.blocks else self.together or constant(1)
        count = product([*self.subgroup.values(), self.steps, alone])
        message = f"{{}} instructions in one step are unrolled: at most {_MOST_INSTRUCTIONS}"
        require(count <= _MOST_INSTRUCTIONS, message, count)

    def _limit_gathering(self) -> None:
        """A thread's gathers from an image's patches are unrolled, and again for each image of a subgroup.

        Such code takes LLVM more than linear time: 2 s for 64 elements, 30 s for 150, minutes for 200
        (grouped 2x4x64x32x32x32x3x3 f16 on sm_80 and gfx942).
        """
        problem = self.problem
        images = product([self.subgroup[loop] for loop in problem.images])
        gathered = next((each for each in (problem.left, problem.right) if {*problem.pixels} <= {*each}), ())
        inner = next((loop for loop in gathered[-1:] if loop in problem.images), None)
        pixels = self._extent([loop for loop in problem.pixels if loop != inner])
        if inner is not None:  # images are the innermost dimension, and read in vectors
            width = COPY_BITS // problem.types[0].bits
            pixels = product([pixels, (self.workgroup[inner] + (width - 1)) // width])
        pieces = product([pixels, self.depth, images, self.together or 1])
        message = f"{{}} gathered pieces are unrolled: at most {_MOST_GATHERED} for each of {{}} threads"
        require(pieces <= self.threads * _MOST_GATHERED, message, pieces, self.threads)

    def _knobs(self) -> Mapping[str, ir.Attribute]:
        problem, count = self.problem, len(self.problem.loops)
        outer = problem.k[:-1]
        tiled = [*self.workgroup, *(problem.batch[-1:] if self.together is not None else ())]
        tiles = {**dict.fromkeys(problem.batch, 1), **{loop: f"wg_{loop}" for loop in tiled}}
        inner: dict[int, int | str] = dict.fromkeys(problem.batch[-1:] if self.blocks else (), 1)
        steps = {**dict.fromkeys(outer, 1), problem.k[-1]: f"red_{problem.k[-1]}"}
        found: dict[str, ir.Attribute] = {
            "workgroup": level(tiles, count),
            "reduction": level(steps, count),
            "subgroup": level({**inner, **{loop: f"sg_{loop}" for loop in self.subgroup}}, count),
            "mma_kind": one_of_attribute("mma_idx", list(self.mmas)),
            "promote_operands": integers([0, 1]),
            "workgroup_size": integers(["wg_size_x", 1, 1]),
            "subgroup_size": integers([self.limits.subgroup_size])[0],
            OPTIONS: pipeline_options(knob_attribute(PREFETCH), igemm=problem.igemm),
        }
        if self.padded:
            padding = {**tiles, **dict.fromkeys(outer, 1), problem.k[-1]: "pad_k"}
            found["padding"] = level(padding, count)
        if needs_separate_accumulation(self.mmas):
            found["convert_acc_gemm"] = ir.UnitAttr.get()
        return found

    def _extent(self, group: Sequence[int]) -> Integer:
        return product([self.workgroup[loop] for loop in group])

    def _bound(self, loop: int) -> int:
        """The largest size that a loop may be padded to by some instruction."""
        if not self.padded:
            return self.problem.loops[loop]
        steps = [shape_of(mma)[0 if loop == self.problem.m[-1] else 1] for mma in self.mmas]
        return max(
            overpadded(self.problem.loops[loop]),
            max(round_up(self.problem.loops[loop], step) for step in steps) if loop in self._inner else 0,
        )

    def _limit(self, loop: int, step: Integer) -> Integer:
        """The size that a loop may be padded to: what the compiler pads it to, or whole instructions."""
        size, usual = self.problem.loops[loop], overpadded(self.problem.loops[loop])
        aligned = padded_to(size, step)
        return if_else(aligned > usual, aligned, usual)


def is_padded(problem: MatrixProblem, mmas: Sequence[Instruction]) -> bool:
    """Whether the compiler pads operands for a problem of that size.

    It does where no instruction divides the innermost sizes, and to round up large sizes, unless the left
    operand is transposed (getMatmulOrIGEMMLoweringConfigAndWorkgroupSize in ConfigUtils.cpp).
    """
    if not any(divides(mma, problem.inner) for mma in mmas):
        return True
    sizes = [problem.loops[loop] for loop in (*problem.m, *problem.n)]
    return problem.left[-1] == problem.k[-1] and any(size != overpadded(size) for size in sizes)


def matrix_constraints(workload: Workload, limits: GpuLimits) -> list[ir.Module]:
    """TileAndFuse with matrix instructions, of a convolution both direct and through IGEMM.

    Empty if no instruction fits.
    """
    problems = (
        [contraction_problem(workload)]
        if is_contraction(workload)
        else [direct_problem(workload), igemm_problem(workload)]
    )
    found: list[ir.Module] = []
    for problem in problems:
        if problem is None:
            continue
        mmas = fitting_instructions(problem.types, problem.rows, problem.columns, limits)
        direct = is_convolution(workload) and not problem.igemm
        found += _blocks(problem, workload, limits)
        if not mmas or (direct and is_padded(problem, mmas)):
            continue
        found.append(_built(MatrixTiles, problem, mmas, workload, limits))
        # VectorDistribute wants one loop each of m, n and k, and nothing to pad.
        single = all(len(group) == 1 for group in (problem.m, problem.n, problem.k))
        if is_contraction(workload) and single and all(divides(mma, problem.inner) for mma in mmas):
            found.append(_built(MatrixLayouts, problem, mmas, workload, limits))
    return found


def _blocks(problem: MatrixProblem, workload: Workload, limits: GpuLimits) -> list[ir.Module]:
    """TileAndFuse of a convolution in groups with instructions that compute several groups at once.

    The compiler takes them for convolutions alone (getMmaScheduleFromProblemAndTarget, ConfigUtils.cpp).
    """
    if not problem.igemm or not problem.batch:
        return []
    mmas = block_instructions(problem.types, problem.loops[problem.batch[-1]], limits)
    if not mmas:
        return []
    return [as_variant(_built(MatrixTiles, problem, mmas, workload, limits), "blocks")]


def fused_constraints(workload: Workload, limits: GpuLimits) -> list[ir.Module]:
    """VectorDistribute for products of one operand with several in one op, such as q, k and v.

    Empty for any other op, and if no instruction divides the innermost loops.
    """
    problem = fused_problem(workload)
    if problem is None:
        return []
    fitting = fitting_instructions(problem.types, problem.rows, problem.columns, limits)
    mmas = [mma for mma in fitting if divides(mma, problem.inner)]
    if not mmas or needs_separate_accumulation(mmas):
        return []
    return [_built(MatrixLayouts, problem, mmas, workload, limits)]


def sparse_constraints(workload: Workload, limits: GpuLimits) -> list[ir.Module]:
    """TileAndFuse for few rows, with instructions for sparse operands; empty if none fits."""
    problem = contraction_problem(workload)
    if problem is None:
        return []
    depth = math.prod(problem.loops[loop] for loop in problem.k)
    mmas = sparse_instructions(problem.types, problem.rows, depth, limits)
    return [_built(MatrixTiles, problem, mmas, workload, limits)] if mmas else []


def overpadded_constraints(workload: Workload, limits: GpuLimits) -> list[ir.Module]:
    """TileAndFuse with padding if every instruction divides, and the compiler pads for better tiles.

    Empty if an instruction does not divide: the compiler's constraints are supplemented with padding then.
    """
    problem = contraction_problem(workload)
    if problem is None or problem.batch:
        return []
    mmas = fitting_instructions(problem.types, problem.rows, problem.columns, limits)
    aligned = all(divides(mma, problem.inner) for mma in mmas)
    if not mmas or not aligned or not is_padded(problem, mmas):
        return []
    return [_built(MatrixTiles, problem, mmas, workload, limits)]


def _built(
    kind: type[MatrixLayouts | MatrixTiles],
    problem: MatrixProblem,
    mmas: Sequence[Instruction],
    workload: Workload,
    limits: GpuLimits,
) -> ir.Module:
    """The constraints op with the pipeline's options, and a name for IGEMM's."""
    pipeline = iree_gpu.PipelineAttr.get(kind.pipeline)
    module = build_constraints(pipeline, lambda: kind(problem, mmas, limits).fill())
    if problem.igemm:
        as_variant(module, "igemm")
    apply(
        (PADDED_GROUPS, PADDED_SUMS, REGISTERS, *OPTION_SUPPLEMENTS),
        Draft(only_constraints(module), workload, limits),
    )
    return module
