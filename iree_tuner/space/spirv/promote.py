"""Matmuls without matrix instructions, through shared memory: MatmulPromoteVectorize.

One level: the workgroup's tiles, and the reduction's. Threads divide the tile among them (`GPUTensorTile`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints, flag, knob, knob_attribute
from iree_tuner.space.expressions import Integer, all_of, any_of, if_else, product, require
from iree_tuner.space.spirv.attributes import OPTIONS, pipeline
from iree_tuner.space.spirv.tiling import SpirvTiling, power_divisors, thread_tiles
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


_COPY_BITS = 128
_MAX_STEPS = 64
_MAX_UNROLLED = 6144
"""Steps of a thread, times the copies of the loop that a pipeline makes: the compiler's largest choice."""
_NO_COPIES = ("bf16",)
"""Types whose copies fail: "failed to legalize operation 'vector.bitcast'"."""
_MAX_DEPTH = 3


def promote_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> ir.Module | None:
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

    return build_constraints(pipeline("MatmulPromoteVectorize", context), fill, context)


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
    tiling.declare_reduction(problem.k, power_divisors(loops[problem.k], _MAX_STEPS))
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
