"""The spaces of the families that ship, by target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.space.build import undivided
from iree_tuner.space.gpu.attention import ATTENTION_SUPPLEMENTS
from iree_tuner.space.gpu.constraints_draft import Supplement
from iree_tuner.space.gpu.contraction import CONTRACTION_SUPPLEMENTS
from iree_tuner.space.gpu.convolution import CONVOLUTION_SUPPLEMENTS
from iree_tuner.space.gpu.matrix import matrix_constraints, overpadded_constraints, sparse_constraints
from iree_tuner.space.gpu.online_attention import attention_constraints as gpu_attention
from iree_tuner.space.gpu.scaled import scaled_constraints
from iree_tuner.space.gpu.simt import simt_constraints
from iree_tuner.space.gpu.spaces import Builder as GpuBuilder
from iree_tuner.space.gpu.spaces import generic_constraints as gpu_generic
from iree_tuner.space.gpu.spaces import gpu_constraints
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

CpuBuilder = Callable[[Workload, CpuLimits, ir.Context], ir.Module]
SpirvBuilder = Callable[[Workload, GpuLimits, ir.Context], ir.Module | None]

_PRODUCTS: tuple[GpuBuilder, ...] = (matrix_constraints, simt_constraints)


class ByTarget(SpaceProvider):
    """The spaces of a family, from builders for CPUs, for CUDA and ROCm (`gpu`), and for Vulkan (`spirv`).

    `gpu` are tried in turn where the compiler emits no constraints; `supplements` are applied in order to
    those that it emits; `added` are further spaces, by the names of their variants. `spirv`: one for each
    pipeline, best first.
    """

    cpu: CpuBuilder
    gpu: tuple[GpuBuilder, ...] = ()
    supplements: tuple[Supplement, ...] = ()
    added: Mapping[str, GpuBuilder] = MappingProxyType({})
    spirv: tuple[SpirvBuilder, ...] = ()

    def constraints(self, request: SpaceRequest) -> Sequence[ir.Module]:
        workload, limits, context = request.workload, request.limits, request.context
        if isinstance(limits, CpuLimits):
            return [type(self).cpu(workload, limits, context)]
        if limits.codegen.spirv:
            found = (build(undivided(workload), limits, context) for build in self.spirv)
            return [module for module in found if module is not None]
        # The compiler's constraints on a dynamic op are about values that are computed outside of them.
        emitted = () if workload.dynamic else request.emitted
        own = replace(request, workload=undivided(workload), emitted=emitted)
        return gpu_constraints(own, limits, self.gpu, self.supplements, self.added)


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
