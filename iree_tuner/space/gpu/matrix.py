"""Matrix instructions where the compiler emits no constraints: batched contractions, grouped convolutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.instructions import fitting_instructions
from iree_tuner.space.gpu.matrix_problem import MatrixProblem, contraction_problem, igemm_problem
from iree_tuner.space.gpu.matrix_tiles import MatrixTiles
from iree_tuner.space.gpu.options import OPTION_SUPPLEMENTS
from iree_tuner.space.gpu.supplement import apply
from iree_tuner.space.space import VARIANT
from iree_tuner.targets import GpuLimits


def matrix_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[ir.Module]:
    """TileAndFuse with matrix instructions; empty where no instruction fits.

    A convolution is offered through IGEMM only: direct grouped ones crash the compiler
    (docs/upstream/grouped_direct_conv_crash.md).
    """
    problem = contraction_problem(workload) if workload.family == "contraction" else igemm_problem(workload)
    if problem is None:
        return []
    with context, ir.Location.unknown(context):
        mmas = fitting_instructions(problem.types, problem.rows, problem.columns, limits)
        if not mmas:
            return []
        module = _tile_and_fuse(problem, mmas, limits, context)
        (op,) = ir.get_ops_of_type(module, iree_codegen.ConstraintsOp)
        if problem.igemm:
            op.operation.attributes[VARIANT] = ir.StringAttr.get("igemm")
        apply(OPTION_SUPPLEMENTS, Draft(op, workload, limits))
        return [module]


def _tile_and_fuse(
    problem: MatrixProblem, mmas: Sequence[iree_gpu.MMAAttr], limits: GpuLimits, context: ir.Context
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
