"""Attention without matrix instructions: keys are spread over lanes and subgroups, and reduced.

The compiler's choice for few rows, for types without an instruction, and for sizes that fit none
(setAttentionReductionConfig, LLVMGPU/KernelConfig.cpp). What it fixes by seeds are knobs here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints, integers, knob
from iree_tuner.space.expressions import Boolean, Integer, any_of, constant, product, require
from iree_tuner.space.gpu.attention import DECOMPOSITION, LOWERING_CONFIG, PV, QK
from iree_tuner.space.gpu.operands import bits_of
from iree_tuner.space.gpu.options import DENORMALS
from iree_tuner.targets import GpuLimits

_ROWS = (1, 2, 4, 8)
_SUBGROUPS = (1, 2, 4, 8, 16)
_KEYS = (1, 2, 4)
_VALUE_VECTORS = (1, 2, 4, 8)
_MOST_ELEMENTS = 256
"""What a thread may hold of a tile, in elements: more is spilled, and takes LLVM minutes."""


def reduction_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> ir.Module:
    """The constraints op."""
    with context:
        pipeline = iree_gpu.PipelineAttr.get(iree_gpu.LoweringPipeline.VectorDistribute)
        return build_constraints(pipeline, _Reduction(workload, limits).fill, context)


class _Reduction:
    """Reductions over keys while their constraints op is built."""

    def __init__(self, workload: Workload, limits: GpuLimits) -> None:
        self._workload = workload
        self._limits = limits
        self._rank = len(workload.loops)

    def fill(self) -> Mapping[str, ir.Attribute]:
        """Declare knobs and asserts; returns the knobs dictionary."""
        lanes = _powers(self._limits.subgroup_size)
        over_k1 = knob("k1_threads", lanes, "a power of two up to the subgroup's size")
        over_k2 = knob("k2_threads", lanes, "a power of two up to the subgroup's size")
        over_n = knob("n_threads", lanes, "a power of two up to the subgroup's size")
        subgroups = knob("sg_k2_cnt", _SUBGROUPS, "1, 2, 4, 8 or 16 subgroups")
        for name, threads in (("QK", over_k1), ("PV", over_n)):
            used = over_k2 * threads
            most = self._limits.subgroup_size
            require(used <= most, f"{name} spreads over {{}} threads, more than a subgroup of {most}", used)
        self._spread_depth("k1", over_k1, 1)
        self._tile_values(over_n)
        self._tile_keys(over_k2, subgroups)
        threads = subgroups * self._limits.subgroup_size
        require(threads <= self._limits.max_threads, "{} threads are too many", threads)
        size = Integer(iree_codegen.KnobOp("wg_size_x").result)
        require(size.equals(threads), "wg_size_x ({}) must be all subgroups' threads ({})", size, threads)
        return self._knobs()
