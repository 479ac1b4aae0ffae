"""The spaces of a workload on CUDA and ROCm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from iree.compiler import ir

from iree_tuner.errors import TunerError
from iree_tuner.ops.attention import is_attention
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import VARIANT, as_variant, only_constraints
from iree_tuner.space.gpu.accumulator import fitting
from iree_tuner.space.gpu.constraints_draft import Draft, Supplement, apply
from iree_tuner.space.gpu.matrix import fused_constraints, matrix_constraints
from iree_tuner.space.gpu.matrix_problem import igemm_problem
from iree_tuner.space.gpu.online_attention import fits_matrix_instructions
from iree_tuner.space.gpu.padding import PAD_K
from iree_tuner.space.gpu.simt import simt_constraints
from iree_tuner.space.providers import SpaceRequest
from iree_tuner.targets import GpuLimits

_DEPTH = 16  # of CUDA's instructions

Builder = Callable[[Workload, GpuLimits, ir.Context], list[ir.Module]]


def gpu_constraints(
    request: SpaceRequest, limits: GpuLimits, builders: Sequence[Builder], supplements: Sequence[Supplement],
    added: Mapping[str, Builder],
) -> list[ir.Module]:  # fmt: skip
    """Modules with one constraints op each: those that the compiler emitted, or ops built here.

    Without the compiler's, `builders` are tried in turn, and the first that has a space is used. `added` are
    further spaces, by the names of their variants. `limits` are the request's.
    """
    workload, context = request.workload, request.context
    found = _matrix_or_threads(request, limits, builders, supplements)
    if request.supplements and request.emitted:
        for variant, build in added.items():
            found += [as_variant(module, variant) for module in build(workload, limits, context)]
    if request.supplements and _reads_on(found, workload, limits):
        found += [as_variant(module, "simt") for module in simt_constraints(workload, limits, context)[:1]]
    return found


def _matrix_or_threads(
    request: SpaceRequest, limits: GpuLimits, builders: Sequence[Builder], supplements: Sequence[Supplement]
) -> list[ir.Module]:
    workload, context = request.workload, request.context
    with context, ir.Location.unknown(context):
        # IR as text: bytecode of another process
        modules = [ir.Module.parse(source) for source in request.emitted]
        gathered: list[ir.Module] = []
        if request.supplements:
            modules = [module for module in modules if _has_instruction(module, workload, limits)]
            right = [module for module in modules if _counts_gathered_loops(module, workload, limits)]
            if len(right) < len(modules):
                own = matrix_constraints(workload, limits, context)
                gathered = [each for each in own if VARIANT in only_constraints(each).operation.attributes]
            modules = right
        for module in modules:
            draft = Draft(only_constraints(module), workload, limits)
            if draft.igemm:
                as_variant(module, "igemm")
            if request.supplements:
                apply(tuple(supplements), draft)
                module.operation.verify()
        if modules or gathered:
            return [*modules, *gathered]
        for build in builders:
            if build is simt_constraints and any(kind.is_small_float for kind in workload.types):
                # "F8E5M2 and F8E4M3FN types are not supported on gfx942", and on CUDA an untranslated cast.
                types, target = ", ".join(map(str, workload.types)), limits.title
                raise TunerError(f"no instruction of {target} takes {types}, and nothing converts them")
            modules = build(workload, limits, context)
            if modules:
                return modules
        return []


def _reads_on(modules: Sequence[ir.Module], workload: Workload, limits: GpuLimits) -> bool:
    """Whether no member may be right: on CUDA, sums that no instruction divides read beyond an operand.

    Code without matrix instructions does not (docs/upstream/cuda_padded_reduction_reads_on.md).
    """
    if limits.codegen.pads_reductions or not is_contraction(workload):
        return False
    padded = any(Draft(only_constraints(module), workload, limits).has(PAD_K) for module in modules)
    return padded and workload.loops[workload.role("k")[-1]] % _DEPTH != 0


def _counts_gathered_loops(module: ir.Module, workload: Workload, limits: GpuLimits) -> bool:
    """Whether constraints of a gathered convolution have the loops that gathering leaves.

    The emitter makes one loop of all reductions. Gathering does so only where filters have them in the order
    of the image (getIGEMMGenericConvDetails), as in few gradients: what is set for one loop too few compiles
    for minutes, or not at all (docs/upstream/igemm_reduction_loops.md).
    """
    if not is_convolution(workload):
        return True
    draft = Draft(only_constraints(module), workload, limits)
    problem = igemm_problem(workload) if draft.igemm else None
    return problem is None or len(ir.ArrayAttr(draft.entries["reduction"])) == len(problem.loops)


def _has_instruction(module: ir.Module, workload: Workload, limits: GpuLimits) -> bool:
    """Whether an op with matrix instructions has one that fits; if not, the op has no member."""
    if is_attention(workload):
        return fits_matrix_instructions(workload, limits)
    draft = Draft(only_constraints(module), workload, limits)
    return not draft.has("mma_idx") or bool(fitting(draft))


def generic_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[ir.Module]:
    """TileAndFuse, each thread with results of its own, and VectorDistribute for shared reductions.

    Of elementwise ops and transposes, softmaxes and norms, and products that no family recognises, such as a
    convolution of size 1 with a stride. The compiler shares each sum of such a product among the lanes of a
    subgroup, which is slow if there are many, and in 3.13 wrong on CUDA
    (docs/upstream/cuda_strided_reduction.md): these are not shared here.

    Empty for floats of a byte or less, for products together with other reductions, and for copies between
    buffers, which these pipelines do not tile.
    """
    if facts_of(workload.dag).on_buffers:
        return []
    product = _is_product(workload)
    beside = [companion for companion in workload.companions if "fill" not in companion.op]
    if product and any("reduction" in companion.iterators for companion in beside):
        return []
    if any(kind.is_small_float for kind in workload.types):
        return []
    fused = fused_constraints(workload, limits, context)
    return [*fused, *simt_constraints(workload, limits, context, shared=not product)]


def _is_product(workload: Workload) -> bool:
    """Whether values are read for several results each, and summed."""
    open_loops = {each.loop for each in workload.dynamic}
    many = [size > 1 or loop in open_loops for loop, size in enumerate(workload.loops)]
    wide, reduced = ({loop for loop in each if many[loop]} for each in (workload.parallel, workload.reduced))
    inputs = [set(each.loops) for each in workload.maps[:-1]]
    factors = [loops for loops in inputs if loops & reduced]
    return len(factors) >= 2 and not any(wide <= loops for loops in factors)
