"""Matmuls: through shared memory without matrix instructions, or on these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints, flag, integers, knob, knob_attribute, powers
from iree_tuner.space.expressions import Boolean, Integer, all_of, any_of, constant, if_else, product, require
from iree_tuner.space.spirv.attributes import OPTIONS, SUBGROUP_SIZE, TILE_SIZES, WORKGROUP_SIZE, pipeline
from iree_tuner.space.spirv.tiling import SpirvTiling, power_divisors, thread_tiles, writes_in_order
from iree_tuner.targets import GpuLimits

# A contraction as the matmul pipelines see it: one loop each for m, n and k, and at most one batch.


@dataclass(frozen=True)
class SpirvMatmul:
    """Loop numbers and element sizes of a (batch) matmul; `k` is the last loop, `batch` may be empty."""

    workload: Workload
    batch: tuple[int, ...]
    m: int
    n: int
    k: int

    @property
    def input_bits(self) -> int:
        return self.workload.types[0].bits

    @property
    def output_bits(self) -> int:
        return self.workload.types[-1].bits

    @property
    def sizes(self) -> tuple[int, int, int]:
        loops = self.workload.loops
        return loops[self.m], loops[self.n], loops[self.k]

    def operand(self, index: int) -> tuple[int, int]:
        """The last two loops of an operand, as it lies in memory."""
        rows, columns = self.workload.maps[index].loops[-2:]
        return rows, columns

    def operand_bytes(self, tiles: Mapping[int, Integer]) -> tuple[Integer, Integer]:
        """Shared memory of each operand's tile.

        Rows are padded only where the target's memory is enough for that (GPUReduceBankConflicts.cpp,
        Codegen/Common/GPU), so that padding is no limit.
        """
        loops = [self.operand(operand) for operand in (0, 1)]
        left, right = (product([tiles[row], tiles[column], self.input_bits // 8]) for row, column in loops)
        return left, right


def problem_of(workload: Workload) -> SpirvMatmul | None:
    """A matmul that the pipelines take, or None.

    `isMatmulOrBatchMatmul` (Codegen/Utils/LinalgOpInfo.cpp) and `getMatmulBMNKIndex` (KernelConfig.cpp): two
    or three parallel loops, m and n longer than 1, and the types of `setMatmulOpConfig`, 8, 16 or 32 bits.
    """
    batch, *roles = (workload.role(name) for name in ("batch", "m", "n", "k"))
    if not is_contraction(workload) or len(batch) > 1 or any(len(role) != 1 for role in roles):
        return None
    m, n, k = (role[0] for role in roles)
    found = SpirvMatmul(workload, batch, m, n, k)
    if min(found.sizes) < 2 or k != len(workload.loops) - 1 or workload.types[0] != workload.types[1]:
        return None
    if not all(each.is_permutation for each in workload.maps):
        return None
    widths = (found.input_bits, found.output_bits)
    return found if all(bits in (8, 16, 32) for bits in widths) else None


# Without matrix instructions, through shared memory: MatmulPromoteVectorize.
#
# One level: the workgroup's tiles, and the reduction's. Threads divide the tile among them (`GPUTensorTile`).


_COPY_BITS = 128
_LONGEST_STEP = 64
_MAX_UNROLLED = 6144
"""Steps of a thread, times the copies of the loop that a pipeline makes: the compiler's largest choice."""
_NO_COPIES = ("bf16",)
"""Types whose copies fail: "failed to legalize operation 'vector.bitcast'"."""
_MAX_DEPTH = 3


def promote_constraints(workload: Workload, limits: GpuLimits) -> ir.Module | None:
    """The constraints op; None for ops other than matmuls, and for operands that cannot be copied."""
    problem = problem_of(workload)
    if problem is None or workload.types[0].name in _NO_COPIES:
        return None
    # `contractOpFilter` (GPUTensorAlloc.cpp, Codegen/Common/GPU) copies only rows of whole vectors. Operands
    # that are not copied are tiled for threads all the same, and do not need this pipeline.
    columns = [workload.loops[problem.operand(operand)[1]] for operand in range(3)]
    if any(size % _vector(problem, operand) for operand, size in enumerate(columns)):
        return None

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = SpirvTiling(workload, limits, single=problem.batch)
        _declare_tiles(tiling, problem)
        tiling.limit_threads()
        depth, buffers = _declare_pipelining(tiling, problem)
        tiling.limit_unrolling(_MAX_UNROLLED, depth + 1)
        # GPUCheckResourceUsage refuses more shared memory than the target has.
        limit = limits.shared_memory_bytes
        left, right = problem.operand_bytes({**tiling.workgroup, **tiling.reduction})
        used = (left + right) * buffers
        require(used <= limit, f"{{}} bytes of shared memory must be at most {limit}", used)
        tiling.declare_subgroup_size()
        tiling.declare_swap()
        level = [*tiling.workgroup_level(), f"reduction_{problem.k}"]
        options = {name: knob_attribute(name) for name in ("pipeline_depth", "store_stage")}
        return tiling.knobs([level], {OPTIONS: ir.DictAttr.get(options)})

    return build_constraints(pipeline("MatmulPromoteVectorize"), fill)


def _vector(problem: SpirvMatmul, operand: int) -> int:
    return _COPY_BITS // (problem.output_bits if operand == 2 else problem.input_bits)


def _declare_tiles(tiling: SpirvTiling, problem: SpirvMatmul) -> None:
    """Tiles divide the loops, as Verifiers.cpp requires of named ops; these are generic by then."""
    loops = problem.workload.loops
    for loop in tiling.tiled:
        size = loops[loop]
        counts = power_divisors(size, tiling.most_threads(loop))
        elements = thread_tiles(size) if loop == problem.m else power_divisors(size, 16)
        tiling.declare_tile(loop, elements, counts, implied=True)
    tiling.declare_reduction(problem.k, power_divisors(loops[problem.k], _LONGEST_STEP))
    tiles = {**tiling.workgroup, **tiling.reduction}
    for operand in range(3):
        columns, vector = problem.operand(operand)[1], _vector(problem, operand)
        message = f"a row of {{}} must be made of vectors of {vector}, or it is not copied to shared memory"
        require((tiles[columns] % vector).equals(0), message, tiles[columns])
        if operand < 2 and columns != problem.k and problem.input_bits == 8:
            # "'vector.bitcast' op source/result bitwidth of the minor N-D vectors must be equal"
            message = (
                f"a thread's {{}} elements along loop {columns} must not be 8: 64 bits of 8-bit elements"
            )
            require(~tiling.thread[columns].equals(8), message, tiling.thread[columns])
    # GPUTensorTile skips a loop with one thread along it, and gives the next loop the threads along x.
    threads_x, threads_y = tiling.threads["x"], tiling.threads["y"]
    message = "threads_x ({}) must be more than 1 where threads_y ({}) is"
    require(any_of([threads_y.equals(1), threads_x > 1]), message, threads_x, threads_y)


def _declare_pipelining(tiling: SpirvTiling, problem: SpirvMatmul) -> tuple[Integer, Integer]:
    """`pipeline_depth`, and how many buffers it makes with `store_stage` (Passes.cpp).

    Without a loop of steps there is nothing to overlap; the compiler then takes depth 1 and stage 1, as here.
    A depth of 0 is taken for 1.
    """
    depth = knob("pipeline_depth", range(1, _MAX_DEPTH + 1), f"1 to {_MAX_DEPTH}")
    stage = flag("store_stage")
    step, size = tiling.reduction[problem.k], problem.sizes[2]
    message = "with {} steps at once there is no loop of more steps than pipeline_depth ({})"
    alone = all_of([depth.equals(1), stage.equals(1)])
    require(any_of([alone, depth * step < size]), message, step, depth)
    return depth, if_else(stage.equals(0), depth + 1, depth)


# On matrix instructions: CooperativeMatrixVectorize.
#
# Levels: the workgroup's tile, a subgroup's tile within it, the reduction, and the instruction's shape.
# Workgroups of more than one subgroup copy their operands to shared memory (`SPIRVTileAndPromote`), and may
# do so some steps ahead.


Shape = tuple[int, int, int]

_MAX_TILES = 16  # instructions along one loop of a subgroup's tile
_MAX_SUBGROUPS = 8  # along one loop of a workgroup's tile
_MAX_STEPS = 8  # instructions along the reduction before the next copy
_MAX_THREAD_ELEMENTS = 256
_NO_MATRIX_TYPES = ("bf16",)


def cooperative_constraints(workload: Workload, limits: GpuLimits) -> ir.Module | None:
    """The constraints op, or None if no instruction fits the workload.

    The result must lie in memory in the order of the loops: the op that writes its initial value is cut for
    subgroups by the same tiles in the order of its own (`tileToSubgroup`), without a barrier after it.
    """
    problem = problem_of(workload) if writes_in_order(workload) else None
    shapes = instruction_shapes(problem, limits) if problem else ()
    if problem is None or not shapes:
        return None
    return build_constraints(pipeline("CooperativeMatrixVectorize"), _Filler(problem, limits, shapes).fill)


def instruction_shapes(problem: SpirvMatmul, limits: GpuLimits) -> tuple[Shape, ...]:
    """Shapes of the target's instructions that take the problem's types and divide its sizes, ascending.

    Two kinds are left out although the target lists them. SPIR-V's cooperative matrices have no bf16 here
    ("must be memref of 8-bit ... or 16-bit float", gpu.subgroup_mma_load_matrix). If operands are widened,
    the widening is cut to the result's shape (`getCooperativeOpVectorShape`), so that an instruction that is
    not cubic leaves nothing to match ("no GPU subgroup mma compute ops generated").
    """
    found: set[Shape] = set()
    lhs, rhs, *_, result = problem.workload.types
    for name in limits.mma:
        intrinsic = getattr(iree_gpu.MMAIntrinsic, name)
        instruction = iree_gpu.MMAAttr(iree_gpu.MMAAttr.get(intrinsic))
        m, n, k = instruction.mnk_shape
        types = tuple(map(ElementType.of, instruction.abc_element_types))
        divides = all(size % step == 0 for size, step in zip(problem.sizes, (m, n, k), strict=True))
        cubic = m == n == k or lhs == result
        if types == (lhs, rhs, result) and lhs.name not in _NO_MATRIX_TYPES and divides and cubic:
            found.add((m, n, k))
    return tuple(sorted(found))


@dataclass(frozen=True)
class _Filler:
    _problem: SpirvMatmul
    _limits: GpuLimits
    _shapes: tuple[Shape, ...]

    def fill(self) -> Mapping[str, ir.Attribute]:
        problem = self._problem
        native, entries = zip(*(self._native(axis) for axis in range(3)), strict=True)
        loops = (problem.m, problem.n, problem.k)
        subgroups: list[Integer] = []
        subgroup: list[Integer] = []
        workgroup: list[Integer] = []
        for axis, loop in enumerate((problem.m, problem.n)):
            mine = self._tile(axis, loop, native[axis])
            for found, each in zip((subgroup, workgroup, subgroups), mine, strict=True):
                found.append(each)
        step = self._reduction(native[2])
        threads = self._threads(subgroups, subgroup)
        depth = self._pipelining(threads, step)
        self._limit_memory(workgroup, step, threads, depth)
        levels = [
            self._level({problem.m: f"workgroup_{problem.m}", problem.n: f"workgroup_{problem.n}"}),
            self._level({problem.m: f"subgroup_{problem.m}", problem.n: f"subgroup_{problem.n}"}),
            [0] * problem.k + [f"reduction_{problem.k}"],
            self._level(dict(zip(loops, entries, strict=True)), whole=True),
        ]
        options = {name: knob_attribute(name) for name in ("pipeline_depth", "store_stage")}
        return {
            TILE_SIZES: ir.ArrayAttr.get([integers(level) for level in levels]),
            WORKGROUP_SIZE: integers(["threads_x", "threads_y", 1]),
            # setCooperativeMatrixConfig asks for the preferred size: RDNA prefers subgroups of 32 here.
            SUBGROUP_SIZE: integers([self._limits.subgroup_size])[0],
            OPTIONS: ir.DictAttr.get(options),
        }

    def _native(self, axis: int) -> tuple[Integer, int | str]:
        """The instruction's size along m, n or k, a knob if instructions differ; and the level's entry."""
        sizes = sorted({shape[axis] for shape in self._shapes})
        if len(sizes) == 1:
            return constant(sizes[0]), sizes[0]
        name, why = f"native_{'mnk'[axis]}", "the target has no other instructions for these types"
        return knob(name, sizes, f"one of {sizes}: {why}"), name

    def _tile(self, axis: int, loop: int, native: Integer) -> tuple[Integer, Integer, Integer]:
        """Tiles of a subgroup and a workgroup along m or n, and the number of subgroups."""
        size = self._problem.workload.loops[loop]
        least = min(shape[axis] for shape in self._shapes)
        most = max(shape[axis] for shape in self._shapes) * _MAX_TILES
        # verifySPIRVCooperativeMatrixVectorizePassPipeline (Verifiers.cpp), which looks at named ops only.
        tiles = [tile for tile in powers(most, least) if size % tile == 0]
        subgroup = knob(f"subgroup_{loop}", tiles, f"a power of two that divides {size}")
        message = f"subgroup_{loop} ({{}}) must be made of instructions of {{}}"
        require((subgroup % native).equals(0), message, subgroup, native)
        wide = [tile for tile in powers(most * _MAX_SUBGROUPS, least) if size % tile == 0]
        workgroup = knob(f"workgroup_{loop}", wide, f"a power of two that divides {size}")
        count = workgroup // subgroup
        message = f"workgroup_{loop} ({{}}) must be one to {_MAX_SUBGROUPS} tiles of a subgroup ({{}})"
        whole = all_of([(workgroup % subgroup).equals(0), count <= _MAX_SUBGROUPS])
        require(whole, message, workgroup, subgroup)
        return subgroup, workgroup, count

    def _reduction(self, native: Integer) -> Integer:
        size = self._problem.sizes[2]
        least = min(shape[2] for shape in self._shapes)
        most = max(shape[2] for shape in self._shapes) * _MAX_STEPS
        name = f"reduction_{self._problem.k}"
        tiles = [tile for tile in powers(most, least) if size % tile == 0]
        step = knob(name, tiles, f"a power of two that divides {size}")
        require(
            (step % native).equals(0), f"{name} ({{}}) must be made of instructions of {{}}", step, native
        )
        return step

    def _threads(self, subgroups: list[Integer], subgroup: list[Integer]) -> Integer:
        """Subgroups along n are along x, those along m along y, as the verifier has it."""
        lanes, limits = self._limits.subgroup_size, self._limits
        along_x = knob(
            "threads_x", [lanes * count for count in powers(_MAX_SUBGROUPS)], f"subgroups of {lanes} threads"
        )
        along_y = knob("threads_y", powers(_MAX_SUBGROUPS), "a power of two")
        message = "threads_x ({}) must be a subgroup for each of {} tiles along n"
        require(along_x.equals(subgroups[1] * lanes), message, along_x, subgroups[1])
        message = "threads_y ({}) must be the number of tiles along m, {}"
        require(along_y.equals(subgroups[0]), message, along_y, subgroups[0])
        total = along_x * along_y
        require(
            total <= limits.max_threads,
            f"a workgroup of {{}} threads must have at most {limits.max_threads}",
            total,
        )
        held = product(subgroup) // lanes
        message = (
            f"a thread holds {{}} results, which must be at most {_MAX_THREAD_ELEMENTS}: they are registers"
        )
        require(held <= _MAX_THREAD_ELEMENTS, message, held)
        return total

    def _pipelining(self, threads: Integer, step: Integer) -> Integer:
        """`pipeline_depth`: by how many steps copies run ahead; `store_stage`: where they are stored.

        Without a loop of steps, or without shared memory (one subgroup), both change nothing; without depth,
        the stage changes nothing.
        """
        depth = knob("pipeline_depth", range(_MAX_DEPTH + 1), f"0 (off) to {_MAX_DEPTH}")
        stage = knob("store_stage", (0, 1), "0 (with the loads) or 1 (after the computation)")
        size = self._problem.sizes[2]
        copies: Boolean = threads > self._limits.subgroup_size
        message = "pipeline_depth ({}) must be 0, or copies run ahead in a loop of more steps than that"
        require(any_of([depth.equals(0), all_of([copies, depth * step < size])]), message, depth)
        message = "store_stage ({}) must be 0 without a pipeline"
        require(any_of([stage.equals(0), depth > 0]), message, stage)
        return depth

    def _limit_memory(
        self, workgroup: list[Integer], step: Integer, threads: Integer, depth: Integer
    ) -> None:
        """GPUMultiBuffering keeps depth + 1 copies of both tiles; GPUCheckResourceUsage refuses too much."""
        problem, limit = self._problem, self._limits.shared_memory_bytes
        tiles = {problem.m: workgroup[0], problem.n: workgroup[1], problem.k: step}
        left, right = problem.operand_bytes(tiles)
        used = if_else(threads > self._limits.subgroup_size, (left + right) * (depth + 1), 0)
        require(used <= limit, f"{{}} bytes of shared memory must be at most {limit}", used)

    def _level(self, entries: Mapping[int, int | str], *, whole: bool = False) -> list[int | str]:
        """A level with a batch tile of 1."""
        count = len(self._problem.workload.loops) - (0 if whole else 1)
        return [1 if loop in self._problem.batch else entries.get(loop, 0) for loop in range(count)]
