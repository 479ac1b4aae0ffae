"""The spaces of the families that ship, by target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from iree.compiler import ir

from iree_tuner.errors import TunerError
from iree_tuner.ops.attention import is_attention
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload
from iree_tuner.space.build import undivided
from iree_tuner.space.constraints import VARIANT, as_variant, only_constraints
from iree_tuner.space.gpu.attention import ATTENTION_SUPPLEMENTS, fits_matrix_instructions
from iree_tuner.space.gpu.attention import attention_constraints as gpu_attention
from iree_tuner.space.gpu.constraints_draft import Draft, Supplement, apply
from iree_tuner.space.gpu.contraction import CONTRACTION_SUPPLEMENTS, PAD_K, fitting
from iree_tuner.space.gpu.convolution import CONVOLUTION_SUPPLEMENTS
from iree_tuner.space.gpu.matrix import (
    fused_constraints,
    matrix_constraints,
    overpadded_constraints,
    sparse_constraints,
)
from iree_tuner.space.gpu.matrix_problem import igemm_problem
from iree_tuner.space.gpu.scaled import scaled_constraints
from iree_tuner.space.gpu.simt import simt_constraints
from iree_tuner.space.llvm_cpu.root_ops import (
    attention_constraints,
    contraction_constraints,
    convolution_constraints,
    generic_constraints,
)
from iree_tuner.space.providers import SpaceProvider, SpaceRequest
from iree_tuner.space.spirv.matmul import cooperative_constraints, promote_constraints
from iree_tuner.space.spirv.tiling import (
    Unrolled,
    distribute_constraints,
    reduce_constraints,
    vectorize_constraints,
)
from iree_tuner.targets import CpuLimits, GpuLimits

_DEPTH = 16  # of CUDA's instructions

CpuBuilder = Callable[[Workload, CpuLimits], ir.Module]
GpuBuilder = Callable[[Workload, GpuLimits], list[ir.Module]]
SpirvBuilder = Callable[[Workload, GpuLimits], ir.Module | None]


class ByTarget(SpaceProvider):
    """The spaces of a family, from builders for CPUs, for CUDA and ROCm (`gpu`), and for Vulkan (`spirv`).

    `gpu` are tried in turn where the compiler emits no constraints, and the first that has a space is used;
    `supplements` are applied in order to those that it emits; `added` are further spaces, by the names of
    their variants. `spirv`: one for each pipeline, best first.
    """

    cpu: CpuBuilder
    gpu: tuple[GpuBuilder, ...] = ()
    supplements: tuple[Supplement, ...] = ()
    added: Mapping[str, GpuBuilder] = MappingProxyType({})
    spirv: tuple[SpirvBuilder, ...] = ()

    def constraints(self, request: SpaceRequest) -> Sequence[ir.Module]:
        workload, limits = request.workload, request.limits
        if isinstance(limits, CpuLimits):
            return [type(self).cpu(workload, limits)]
        sized = undivided(workload)
        if limits.codegen.spirv:
            found = (build(sized, limits) for build in self.spirv)
            return [module for module in found if module is not None]
        # The compiler's constraints on a dynamic op are about values that are computed outside of them.
        emitted = () if workload.dynamic else request.emitted
        modules = self._emitted(sized, limits, emitted, request.supplements) or self._built(sized, limits)
        if request.supplements and emitted:
            for variant, build in self.added.items():
                modules += [as_variant(module, variant) for module in build(sized, limits)]
        if request.supplements and _reads_on(modules, sized, limits):
            modules += [as_variant(module, "simt") for module in simt_constraints(sized, limits)[:1]]
        return modules

    def _emitted(
        self, workload: Workload, limits: GpuLimits, emitted: Sequence[bytes], supplemented: bool
    ) -> list[ir.Module]:
        """The compiler's own constraints that are of use; what it counts wrongly is built here instead."""
        # IR as text: bytecode of another process
        modules = [ir.Module.parse(source) for source in emitted]
        drafts = [(module, Draft(only_constraints(module), workload, limits)) for module in modules]
        gathered: list[ir.Module] = []
        if supplemented:
            fitting_ones = [each for each in drafts if _has_instruction(each[1])]
            drafts = [each for each in fitting_ones if _counts_gathered_loops(each[1])]
            if len(drafts) < len(fitting_ones):
                own = matrix_constraints(workload, limits)
                gathered = [each for each in own if VARIANT in only_constraints(each).operation.attributes]
        for module, draft in drafts:
            if draft.igemm:
                as_variant(module, "igemm")
            if supplemented:
                apply(self.supplements, draft)
                module.operation.verify()
        return [*(module for module, _ in drafts), *gathered]

    def _built(self, workload: Workload, limits: GpuLimits) -> list[ir.Module]:
        for build in self.gpu:
            if build is simt_constraints and any(kind.is_small_float for kind in workload.types):
                # "F8E5M2 and F8E4M3FN types are not supported on gfx942", and on CUDA an untranslated cast.
                types, target = ", ".join(map(str, workload.types)), limits.title
                raise TunerError(f"no instruction of {target} takes {types}, and nothing converts them")
            if modules := build(workload, limits):
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


def _counts_gathered_loops(draft: Draft) -> bool:
    """Whether constraints of a gathered convolution have the loops that gathering leaves.

    The emitter makes one loop of all reductions. Gathering does so only where filters have them in the order
    of the image (getIGEMMGenericConvDetails), as in few gradients: what is set for one loop too few compiles
    for minutes, or not at all (docs/upstream/igemm_reduction_loops.md).
    """
    gathers = is_convolution(draft.workload) and draft.igemm
    problem = igemm_problem(draft.workload) if gathers else None
    return problem is None or len(ir.ArrayAttr(draft.entries["reduction"])) == len(problem.loops)


def _has_instruction(draft: Draft) -> bool:
    """Whether an op with matrix instructions has one that fits; if not, the op has no member."""
    if is_attention(draft.workload):
        return fits_matrix_instructions(draft.workload, draft.limits)
    return not draft.has("mma_idx") or bool(fitting(draft))


def gpu_generic(workload: Workload, limits: GpuLimits) -> list[ir.Module]:
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
    fused = fused_constraints(workload, limits)
    return [*fused, *simt_constraints(workload, limits, shared=not product)]


def _is_product(workload: Workload) -> bool:
    """Whether values are read for several results each, and summed."""
    open_loops = {each.loop for each in workload.dynamic}
    many = [size > 1 or loop in open_loops for loop, size in enumerate(workload.loops)]
    wide, reduced = ({loop for loop in each if many[loop]} for each in (workload.parallel, workload.reduced))
    inputs = [set(each.loops) for each in workload.maps[:-1]]
    factors = [loops for loops in inputs if loops & reduced]
    return len(factors) >= 2 and not any(wide <= loops for loops in factors)


_PRODUCTS: tuple[GpuBuilder, ...] = (matrix_constraints, simt_constraints)


class AttentionSpaces(ByTarget):
    """Attention has no SPIR-V space: in 3.13 no pipeline lowers it, the compiler's own choice included.

    BaseDistribute makes buffers of its tensors, which the op does not take; the others leave it as it is (no
    pass decomposes it).
    """

    cpu = attention_constraints
    gpu = (gpu_attention,)
    supplements = ATTENTION_SUPPLEMENTS


class ContractionSpaces(ByTarget):
    """Products with matrix instructions, or by threads alone."""

    cpu = contraction_constraints
    gpu = _PRODUCTS
    supplements = CONTRACTION_SUPPLEMENTS
    added = MappingProxyType({"sparse": sparse_constraints, "padded": overpadded_constraints})
    spirv = (
        cooperative_constraints,
        promote_constraints,
        reduce_constraints,
        partial(vectorize_constraints, unrolled=Unrolled(2048, 64, "batch")),
        distribute_constraints,
    )

    def emitter_crash(self, workload: Workload) -> str:
        """The emitter of release 3.13 reads values that do not exist.

        It expects a subgroup tile of every loop that has a workgroup tile, and batch loops have none. It
        reads the innermost m and n loop without checking that they exist (emitTileAndFuseConstraints,
        LLVMGPUConstraintGenerator.cpp; docs/upstream/emitter_batch_crash.md).
        """
        if workload.role("batch"):
            return "the compiler's emitter crashes on batched contractions"
        if workload.role("m") and workload.role("n"):
            return ""
        return "the compiler's emitter crashes on contractions without rows or columns"


class ConvolutionSpaces(ByTarget):
    """Directly, or gathered into a product."""

    cpu = convolution_constraints
    gpu = _PRODUCTS
    supplements = CONVOLUTION_SUPPLEMENTS
    spirv = (partial(vectorize_constraints, unrolled=Unrolled(1024)), distribute_constraints)

    def emitter_crash(self, workload: Workload) -> str:
        """As for batched contractions: groups are batches of the resulting product."""
        return "the compiler's emitter crashes on grouped convolutions" if workload.role("depth") else ""


class GenericSpaces(ByTarget):
    """Reductions, elementwise ops and other generic ops."""

    cpu = generic_constraints
    gpu = (gpu_generic,)
    spirv = (reduce_constraints, vectorize_constraints, distribute_constraints)


class ScaledContractionSpaces(ByTarget):
    """Products of blocks with scales of their own."""

    cpu = generic_constraints
    gpu = (scaled_constraints,)
