"""Matrix instructions where the compiler emits no constraints: batched contractions, grouped convolutions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.gpu.convolution_padding import GROUPED_SUPPLEMENTS
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.instructions import (
    Instruction,
    block_instructions,
    fitting_instructions,
    needs_separate_accumulation,
    sparse_instructions,
)
from iree_tuner.space.gpu.matrix_layouts import MatrixLayouts
from iree_tuner.space.gpu.matrix_problem import (
    MatrixProblem,
    contraction_problem,
    direct_problem,
    fused_problem,
    igemm_problem,
)
from iree_tuner.space.gpu.matrix_tiles import MatrixTiles, is_padded
from iree_tuner.space.gpu.options import OPTION_SUPPLEMENTS
from iree_tuner.space.gpu.padding import PADDED_SUM_SUPPLEMENTS
from iree_tuner.space.gpu.registers import REGISTER_SUPPLEMENTS
from iree_tuner.space.gpu.supplement import apply
from iree_tuner.space.space import VARIANT
from iree_tuner.targets import GpuLimits


def matrix_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[ir.Module]:
    """TileAndFuse with matrix instructions, of a convolution both direct and through IGEMM.

    Empty where no instruction fits.
    """
    problems = (
        [contraction_problem(workload)]
        if is_contraction(workload)
        else [direct_problem(workload), igemm_problem(workload)]
    )
    found: list[ir.Module] = []
    with context, ir.Location.unknown(context):
        for problem in problems:
            if problem is None:
                continue
            mmas = fitting_instructions(problem.types, problem.rows, problem.columns, limits)
            direct = is_convolution(workload) and not problem.igemm
            found += _blocks(problem, workload, limits, context)
            if not mmas or (direct and is_padded(problem, mmas)):
                continue
            found.append(_finished(_tile_and_fuse(problem, mmas, limits, context), problem, workload, limits))
            if is_contraction(workload) and _is_plain(problem, mmas):
                found.append(
                    _finished(_distributed(problem, mmas, limits, context), problem, workload, limits)
                )
    return found


def _blocks(
    problem: MatrixProblem, workload: Workload, limits: GpuLimits, context: ir.Context
) -> list[ir.Module]:
    """TileAndFuse of a convolution in groups with instructions that compute several groups at once.

    The compiler takes them for convolutions alone (getMmaScheduleFromProblemAndTarget, ConfigUtils.cpp).
    """
    if not problem.igemm or not problem.batch:
        return []
    mmas = block_instructions(problem.types, problem.loops[problem.batch[-1]], limits)
    if not mmas:
        return []
    module = _finished(_tile_and_fuse(problem, mmas, limits, context), problem, workload, limits)
    (op,) = ir.get_ops_of_type(module, iree_codegen.ConstraintsOp)
    op.operation.attributes[VARIANT] = ir.StringAttr.get("blocks")
    return [module]


def fused_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[ir.Module]:
    """VectorDistribute for products of one operand with several in one op, such as q, k and v.

    Empty for any other op, and where no instruction divides the innermost loops.
    """
    problem = fused_problem(workload)
    if problem is None:
        return []
    sizes = [problem.loops[group[-1]] for group in (problem.m, problem.n, problem.k)]
    with context, ir.Location.unknown(context):
        mmas = [
            mma for mma in fitting_instructions(problem.types, problem.rows, problem.columns, limits)
            if all(size % step == 0 for size, step in zip(sizes, mma.mnk_shape, strict=True))
        ]  # fmt: skip
        if not mmas or needs_separate_accumulation(mmas):
            return []
        return [_finished(_distributed(problem, mmas, limits, context), problem, workload, limits)]


def sparse_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[ir.Module]:
    """TileAndFuse for few rows, with instructions for sparse operands; empty where none fits."""
    problem = contraction_problem(workload)
    if problem is None:
        return []
    depth = math.prod(problem.loops[loop] for loop in problem.k)
    with context, ir.Location.unknown(context):
        mmas = sparse_instructions(problem.types, problem.rows, depth, limits)
        if not mmas:
            return []
        module = _tile_and_fuse(problem, mmas, limits, context)
        return [_finished(module, problem, workload, limits)]


def overpadded_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[ir.Module]:
    """TileAndFuse with padding where every instruction divides, and the compiler pads for better tiles.

    Empty where an instruction does not divide: the compiler's constraints are supplemented with padding then.
    """
    problem = contraction_problem(workload)
    if problem is None or problem.batch:
        return []
    sizes = [problem.loops[group[-1]] for group in (problem.m, problem.n, problem.k)]
    with context, ir.Location.unknown(context):
        mmas = fitting_instructions(problem.types, problem.rows, problem.columns, limits)
        unaligned = any(size % step for mma in mmas for size, step in zip(sizes, mma.mnk_shape, strict=True))
        if not mmas or unaligned or not is_padded(problem, mmas):
            return []
        return [_finished(_tile_and_fuse(problem, mmas, limits, context), problem, workload, limits)]


def _finished(module: ir.Module, problem: MatrixProblem, workload: Workload, limits: GpuLimits) -> ir.Module:
    """With a name, where there are two spaces, and the pipeline's options."""
    (op,) = ir.get_ops_of_type(module, iree_codegen.ConstraintsOp)
    if problem.igemm:
        op.operation.attributes[VARIANT] = ir.StringAttr.get("igemm")
    apply(
        (*GROUPED_SUPPLEMENTS, *PADDED_SUM_SUPPLEMENTS, *REGISTER_SUPPLEMENTS, *OPTION_SUPPLEMENTS),
        Draft(op, workload, limits),
    )
    return module


def _distributed(
    problem: MatrixProblem, mmas: Sequence[iree_gpu.MMAAttr], limits: GpuLimits, context: ir.Context
) -> ir.Module:
    def fill() -> Mapping[str, ir.Attribute]:
        layouts = MatrixLayouts(problem, mmas, limits)
        layouts.declare()
        return layouts.knobs()

    pipeline = iree_gpu.PipelineAttr.get(iree_gpu.LoweringPipeline.VectorDistribute)
    return build_constraints(pipeline, fill, context)


def _is_plain(problem: MatrixProblem, mmas: Sequence[iree_gpu.MMAAttr]) -> bool:
    """Whether there is one loop each of m, n and k, and nothing to pad, as VectorDistribute wants it."""
    sizes = [problem.loops[group[-1]] for group in (problem.m, problem.n, problem.k)]
    single = all(len(group) == 1 for group in (problem.m, problem.n, problem.k))
    return single and all(
        size % step == 0 for mma in mmas for size, step in zip(sizes, mma.mnk_shape, strict=True)
    )


def _tile_and_fuse(
    problem: MatrixProblem, mmas: Sequence[Instruction], limits: GpuLimits, context: ir.Context
) -> ir.Module:
    def fill() -> Mapping[str, ir.Attribute]:
        tiles = MatrixTiles(problem, mmas, limits)
        tiles.declare_tiles()
        tiles.declare_workgroup()
        tiles.declare_padding()
        tiles.declare_options()
        tiles.limit_memory()
        tiles.limit_unrolling()
        if problem.igemm:
            tiles.limit_gathering()
        return tiles.knobs()

    pipeline = iree_gpu.PipelineAttr.get(iree_gpu.LoweringPipeline.TileAndFuse)
    return build_constraints(pipeline, fill, context)
