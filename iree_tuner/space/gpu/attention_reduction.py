"""Attention without matrix instructions: keys are spread over lanes and subgroups, and reduced.

The compiler's choice for few rows, for types without an instruction, and for sizes that fit none
(setAttentionReductionConfig, LLVMGPU/KernelConfig.cpp). Its fixed seeds are knobs here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from iree_tuner.compiler.unbound import flushed_denormals
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints, integers, knob
from iree_tuner.space.expressions import Integer, any_of, constant, product, require
from iree_tuner.space.gpu.attention import DECOMPOSITION, LOWERING_CONFIG, PV, QK
from iree_tuner.space.gpu.options import DENORMALS, OPTIONS
from iree_tuner.targets import GpuLimits

_ROWS = (1, 2, 4, 8)
_KEYS = (1, 2, 4)
_VALUE_VECTORS = (1, 2, 4)
_SUBGROUPS = (1, 2, 4, 8, 16)
_VECTOR_BITS = 128
_MOST_PRODUCTS = 160
"""Multiplications that a thread does in one step, unrolled: LLVM takes minutes over many more."""


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
        self._vectors: dict[str, Integer] = {}

    def fill(self) -> Mapping[str, ir.Attribute]:
        """Declare knobs and asserts; returns the knobs dictionary."""
        lanes = _powers(self._limits.subgroup_size)
        names = ("k1_threads", "k2_threads", "n_threads")
        over_k1, over_k2, over_n = (knob(name, lanes, "a power of two within a subgroup") for name in names)
        for what, threads in (("QK", over_k1), ("PV", over_n)):
            used, most = over_k2 * threads, self._limits.subgroup_size
            require(
                used <= most, f"{what} spreads over {{}} threads, more than the {most} of a subgroup", used
            )
        subgroups = knob("sg_k2_cnt", _SUBGROUPS, "1, 2, 4, 8 or 16 subgroups")
        key_elements = self._spread("key_vector", 1, "k1", over_k1)
        self._spread("value_vector", 2, "n", over_n)
        value_elements = self._tile_values(over_n)
        keys = self._tile_keys(over_k2 * subgroups)
        products = product([self._tile_rows(), keys, key_elements + value_elements])
        require(
            products <= _MOST_PRODUCTS, f"{{}} products in one step are more than {_MOST_PRODUCTS}", products
        )
        threads = subgroups * self._limits.subgroup_size
        require(threads <= self._limits.max_threads, "{} threads are too many", threads)
        size = Integer(iree_codegen.KnobOp("wg_size_x").result)
        require(size.equals(threads), "wg_size_x ({}) must be all subgroups' threads ({})", size, threads)
        return self._knobs()

    def _spread(self, name: str, operand: int, role: str, threads: Integer) -> Integer:
        """Declare what a thread reads at once along a loop; returns what it has of the loop in all."""
        size = self._workload.loops[self._workload.role(role)[-1]]
        most = max(1, _VECTOR_BITS // self._workload.types[operand].bits)
        vector = knob(name, _powers(most), f"a power of two up to {most}")
        self._vectors[role] = vector
        pieces = (vector + (size - 1)) // vector
        fits = (pieces % threads).equals(0)
        require(fits, f"{role}: {{}} vectors must be divisible by the {{}} threads", pieces, threads)
        return pieces // threads * vector

    def _tile_values(self, threads: Integer) -> Integer:
        """Declare n_tile, a few vectors for each thread; returns what a thread has of it."""
        size = self._workload.loops[self._workload.role("n")[-1]]
        tile, step = Integer(iree_codegen.KnobOp("n_tile").result), threads * self._vectors["n"]
        some = any_of([tile.equals(step * count) for count in _VALUE_VECTORS])
        require(some, "n_tile ({}) must be 1, 2 or 4 times {}", tile, step)
        require(tile <= max(size, 2 * _VECTOR_BITS), f"n_tile ({{}}) must not exceed {size}", tile)
        return tile // threads

    def _tile_keys(self, spread: Integer) -> Integer:
        """Declare red_k2, a few keys for each thread; returns how many."""
        size = self._workload.loops[self._workload.role("k2")[-1]]
        tile = Integer(iree_codegen.KnobOp("red_k2").result)
        some = any_of([tile.equals(spread * count) for count in _KEYS])
        require(some, "red_k2 ({}) must be 1, 2 or 4 times {}", tile, spread)
        # GPUApplyPaddingLevel: "Padding OnlineAttention without existing mask is not yet supported"; with
        # many subgroups the compiler does not come back within a minute then.
        require((constant(size) % tile).equals(0), f"{size} keys must be divisible by red_k2 ({{}})", tile)
        return tile // spread

    def _tile_rows(self) -> Integer:
        """Declare m_tile, where there are rows; a decoding step may have none."""
        role = self._workload.role("m")
        if not role:
            return constant(1)
        size = self._workload.loops[role[-1]]
        return knob(
            "m_tile", [rows for rows in _ROWS if size % rows == 0], f"1, 2, 4 or 8, and divide {size}"
        )

    def _knobs(self) -> Mapping[str, ir.Attribute]:
        workload = self._workload
        workgroup: list[int | str] = [0] * len(workload.loops)
        reduction = list(workgroup)
        for role in ("batch", "m", "n"):
            for loop in workload.role(role):
                workgroup[loop] = 1
        for role, name in (("m", "m_tile"), ("n", "n_tile")):
            for loop in workload.role(role)[-1:]:
                workgroup[loop] = name
        for loop in workload.role("k2"):
            reduction[loop] = 1
        reduction[workload.role("k2")[-1]] = "red_k2"
        configs: dict[str, ir.Attribute] = {
            QK: self._matmul("k1", "n", {"k2": "k2_threads", "k1": "k1_threads"}, "key_vector"),
            PV: self._matmul("n", "k1", {"k2": "k2_threads", "n": "n_threads"}, "value_vector"),
        }
        return {
            "workgroup": integers(workgroup),
            "partial_reduction": integers(reduction),
            DECOMPOSITION: ir.DictAttr.get(configs),
            DENORMALS: flushed_denormals(),
            OPTIONS: ir.DictAttr.get({}),
            "workgroup_size": integers(["wg_size_x", 1, 1]),
            "subgroup_size": integers([self._limits.subgroup_size])[0],
        }

    def _matmul(self, inner: str, absent: str, lanes: Mapping[str, str], vector: str) -> ir.DictAttr:
        """One multiplication's config: which threads have which loops; it has none of the role `absent`."""
        workload = self._workload
        kept = [loop for loop in range(len(workload.loops)) if loop not in workload.role(absent)]
        thread: list[int | str] = [0] * len(workload.loops)
        thread[workload.role(inner)[-1]] = vector
        entries = {
            "lane_basis": self._basis(("k2", inner, absent, "batch", "m"), lanes, kept),
            "subgroup_basis": self._basis(("k2", "n", "k1", "m", "batch"), {"k2": "sg_k2_cnt"}, kept),
            "thread": integers([thread[loop] for loop in kept]),
        }
        config = iree_gpu.LoweringConfigAttr.get(ir.DictAttr.get(entries))
        return ir.DictAttr.get({LOWERING_CONFIG: config})

    def _basis(self, roles: Sequence[str], counts: Mapping[str, str], kept: Sequence[int]) -> ir.Attribute:
        """Counts, slowest first, and each loop's place among them; roles come fastest first."""
        order = [loop for role in roles for loop in reversed(self._workload.role(role))]
        order.reverse()
        innermost = {self._workload.role(role)[-1]: name for role, name in counts.items()}
        listed: list[int | str] = [innermost.get(loop, 1) for loop in order]
        return ir.ArrayAttr.get([integers(listed), integers([order.index(loop) for loop in kept])])


def _powers(most: int) -> list[int]:
    """1, 2, 4, ... up to `most`."""
    return [1 << i for i in range(most.bit_length())]
