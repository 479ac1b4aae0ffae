"""Attention through matrix instructions where the compiler emits no constraints for it.

Its emitter takes instructions with as many rows as columns, which NVIDIA's have not, and ops with one loop a
role. The names of knobs and the messages that supplements look for are the emitter's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.compiler.unbound import derived_thread_config, flushed_denormals
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import (
    build_constraints,
    computed,
    derived,
    integers,
    knob,
    knob_attribute,
    level,
    one_of_attribute,
    only_constraints,
    powers,
)
from iree_tuner.space.expressions import Integer, any_of, constant, product, require
from iree_tuner.space.gpu.attention import ATTENTION_SUPPLEMENTS, DECOMPOSITION, LOWERING_CONFIG, PV, QK
from iree_tuner.space.gpu.constraints_draft import Draft, apply, choose_instruction
from iree_tuner.space.gpu.instructions import fitting_instructions
from iree_tuner.space.gpu.options import DENORMALS, OPTIONS
from iree_tuner.targets import GpuLimits

# Attention without matrix instructions: keys are spread over lanes and subgroups, and reduced.
#
# The compiler's choice for few rows, for types without an instruction, and for sizes that fit none
# (setAttentionReductionConfig, LLVMGPU/KernelConfig.cpp). Its fixed seeds are knobs here.


_ROWS = (1, 2, 4, 8)
_KEYS = (1, 2, 4)
_VALUE_VECTORS = (1, 2, 4)
_SUBGROUPS = (1, 2, 4, 8, 16)
_VECTOR_BITS = 128
_MOST_PRODUCTS = 160
"""Multiplications that a thread does in one step, unrolled: LLVM takes minutes over many more."""


class _Reduction:
    """Reductions over keys, while their constraints op is being built."""

    def __init__(self, workload: Workload, limits: GpuLimits) -> None:
        self._workload = workload
        self._limits = limits
        self._vectors: dict[str, Integer] = {}

    def fill(self) -> Mapping[str, ir.Attribute]:
        """Declare knobs and asserts; returns the knobs dictionary."""
        lanes = powers(self._limits.subgroup_size)
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
        # n_tile: a few vectors for each thread.
        size = self._workload.loops[self._workload.role("n")[-1]]
        tile, step = derived("n_tile"), over_n * self._vectors["n"]
        some = any_of([tile.equals(step * count) for count in _VALUE_VECTORS])
        require(some, "n_tile ({}) must be 1, 2 or 4 times {}", tile, step)
        require(tile <= max(size, 2 * _VECTOR_BITS), f"n_tile ({{}}) must not exceed {size}", tile)
        value_elements = tile // over_n
        # red_k2: a few keys for each thread.
        size, spread = self._workload.loops[self._workload.role("k2")[-1]], over_k2 * subgroups
        tile = derived("red_k2")
        some = any_of([tile.equals(spread * count) for count in _KEYS])
        require(some, "red_k2 ({}) must be 1, 2 or 4 times {}", tile, spread)
        # GPUApplyPaddingLevel: "Padding OnlineAttention without existing mask is not yet supported"; with
        # many subgroups the compiler does not come back within a minute then.
        require((constant(size) % tile).equals(0), f"{size} keys must be divisible by red_k2 ({{}})", tile)
        keys = tile // spread
        # m_tile, if there are rows; a decoding step may have none.
        if role := self._workload.role("m"):
            size = self._workload.loops[role[-1]]
            fitting = [count for count in _ROWS if size % count == 0]
            rows = knob("m_tile", fitting, f"1, 2, 4 or 8, and divide {size}")
        else:
            rows = constant(1)
        products = product([rows, keys, key_elements + value_elements])
        require(
            products <= _MOST_PRODUCTS, f"{{}} products in one step are more than {_MOST_PRODUCTS}", products
        )
        threads = subgroups * self._limits.subgroup_size
        require(threads <= self._limits.max_threads, "{} threads are too many", threads)
        computed("wg_size_x", threads, "all subgroups' threads")
        return self._knobs()

    def _spread(self, name: str, operand: int, role: str, threads: Integer) -> Integer:
        """Declare the elements of a loop that a thread reads at once; returns its elements of the loop."""
        size = self._workload.loops[self._workload.role(role)[-1]]
        most = max(1, _VECTOR_BITS // self._workload.types[operand].bits)
        vector = knob(name, powers(most), f"a power of two up to {most}")
        self._vectors[role] = vector
        pieces = (vector + (size - 1)) // vector
        fits = (pieces % threads).equals(0)
        require(fits, f"{role}: {{}} vectors must be divisible by the {{}} threads", pieces, threads)
        return pieces // threads * vector

    def _knobs(self) -> Mapping[str, ir.Attribute]:
        workload = self._workload
        count, keys = len(workload.loops), workload.role("k2")
        workgroup: dict[int, int | str] = dict.fromkeys(workload.role("batch", "m", "n"), 1)
        for role in ("m", "n"):
            workgroup |= dict.fromkeys(workload.role(role)[-1:], f"{role}_tile")
        configs: dict[str, ir.Attribute] = {
            QK: self._matmul("k1", "n", {"k2": "k2_threads", "k1": "k1_threads"}, "key_vector"),
            PV: self._matmul("n", "k1", {"k2": "k2_threads", "n": "n_threads"}, "value_vector"),
        }
        return {
            "workgroup": level(workgroup, count),
            "partial_reduction": level({**dict.fromkeys(keys, 1), keys[-1]: "red_k2"}, count),
            DECOMPOSITION: ir.DictAttr.get(configs),
            DENORMALS: flushed_denormals(),
            OPTIONS: ir.DictAttr.get({}),
            "workgroup_size": integers(["wg_size_x", 1, 1]),
            "subgroup_size": integers([self._limits.subgroup_size])[0],
        }

    def _matmul(self, inner: str, absent: str, lanes: Mapping[str, str], vector: str) -> ir.DictAttr:
        """One multiplication's config, with each thread's loops; it has no loops of the role `absent`."""
        workload = self._workload
        kept = [loop for loop in range(len(workload.loops)) if loop not in workload.role(absent)]
        own = workload.role(inner)[-1]
        entries = {
            "lane_basis": self._basis(("k2", inner, absent, "batch", "m"), lanes, kept),
            "subgroup_basis": self._basis(("k2", "n", "k1", "m", "batch"), {"k2": "sg_k2_cnt"}, kept),
            "thread": integers([vector if loop == own else 0 for loop in kept]),
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


_LARGEST_TILE = 512
_SUMS = ElementType.named("f32")
_SKINNY = 4
"""With no more rows than this there is nothing for a matrix instruction (kVerySkinnyDimThreshold)."""


def attention_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[ir.Module]:
    """One op: with matrix instructions if they fit, else for reductions over keys."""
    with context:
        problem = _problem(workload, limits)
        pipeline = iree_gpu.PipelineAttr.get(iree_gpu.LoweringPipeline.VectorDistribute)
        module = build_constraints(pipeline, (problem or _Reduction(workload, limits)).fill, context)
        if problem is None:
            return [module]
        with ir.Location.unknown():
            apply(ATTENTION_SUPPLEMENTS, Draft(only_constraints(module), workload, limits))
        module.operation.verify()
        return [module]


def fits_matrix_instructions(workload: Workload, limits: GpuLimits) -> bool:
    """Whether an instruction divides the loops that are never masked. Without, the emitter's op is empty."""
    return _problem(workload, limits) is not None


def _problem(workload: Workload, limits: GpuLimits) -> _Matrices | None:
    """The products and their instructions; None if none fit."""
    query, key, value = workload.types[:3]
    rows = math.prod(workload.sizes("m"))
    if not workload.role("m") or not workload.role("n") or rows <= _SKINNY:
        return None
    scores = fitting_instructions((query, key, _SUMS), rows, math.prod(workload.sizes("k2")), limits)
    result = fitting_instructions((value, value, _SUMS), rows, math.prod(workload.sizes("n")), limits)
    depth = workload.loops[workload.role("k1")[-1]]
    width, keys = (workload.loops[workload.role(role)[-1]] for role in ("n", "k2"))
    scores = [mma for mma in scores if depth % mma.mnk_shape[2] == 0]
    result = [mma for mma in result if width % mma.mnk_shape[1] == 0]
    # One of the two may be masked, not both (attention._open_masking).
    if all(rows % mma.mnk_shape[0] for mma in result) and all(keys % mma.mnk_shape[2] for mma in result):
        return None
    shapes = {mma.mnk_shape[:2] for mma in scores} & {mma.mnk_shape[:2] for mma in result}
    scores = [mma for mma in scores if mma.mnk_shape[:2] in shapes]
    result = [mma for mma in result if mma.mnk_shape[:2] in shapes]
    return _Matrices(workload, limits, {QK: scores, PV: result}) if shapes else None


@dataclass(frozen=True)
class _Matrices:
    """The two matrix multiplications, while their constraints op is being built."""

    _workload: Workload
    _limits: GpuLimits
    _kinds: Mapping[str, Sequence[iree_gpu.MMAAttr]]

    def fill(self) -> Mapping[str, ir.Attribute]:
        """Declare knobs and asserts; returns the knobs dictionary."""
        m, n, k2 = (self._workload.role(role)[-1] for role in ("m", "n", "k2"))
        qk, pv = (
            choose_instruction(f"{name}_mma_idx", [mma.mnk_shape for mma in self._kinds[which]])[1:]
            for name, which in (("qk", QK), ("pv", PV))
        )
        require(qk[0].equals(pv[0]), "both instructions must have as many rows ({} and {})", qk[0], pv[0])
        require(qk[1].equals(pv[1]), "both instructions must have as many columns ({} and {})", qk[1], pv[1])
        sg_m, sg_n = derived("sg_m_cnt"), derived("sg_n_cnt")
        self._tile("m_tile", m, sg_m * pv[0])
        self._tile("n_tile", n, sg_n * pv[1])
        self._tile("red_k2", k2, pv[2])
        size = knob("sg_size", (self._limits.subgroup_size,), "the target's subgroup size")
        threads = sg_m * sg_n * size
        require(threads <= self._limits.max_threads, "{} threads are too many", threads)
        computed("wg_size_x", threads, "all subgroups' threads")
        return self._knobs(m, n, k2)

    def _tile(self, name: str, loop: int, step: Integer) -> None:
        tile, size = derived(name), self._workload.loops[loop]
        require(step <= tile, f"{name} ({{}}) must be at least {{}}", tile, step)
        require(tile <= _LARGEST_TILE, f"{name} ({{}}) must be at most {_LARGEST_TILE}", tile)
        require((tile % step).equals(0), f"{name} ({{}}) must be divisible by {{}}", tile, step)
        divides = (constant(size) % tile).equals(0)
        require(divides, f"dim_{loop} must be divisible by {name} ({{}})", tile)

    def _knobs(self, m: int, n: int, k2: int) -> Mapping[str, ir.Attribute]:
        count, ones = len(self._workload.loops), dict.fromkeys(self._workload.role("batch", "m", "n"), 1)
        how = derived_thread_config()
        configs: dict[str, ir.Attribute] = {
            QK: self._matmul(QK, "qk_mma_idx", "n"),
            PV: self._matmul(PV, "pv_mma_idx", "k1"),
        }
        return {
            "workgroup": level({**ones, m: "m_tile", n: "n_tile"}, count),
            "reduction": level({**dict.fromkeys(self._workload.role("k2"), 1), k2: "red_k2"}, count),
            "promote_operands": integers([0, 1, 2]),
            "promotion_types": ir.ArrayAttr.get([how] * 3),
            DECOMPOSITION: ir.DictAttr.get(configs),
            "workgroup_size": integers(["wg_size_x", 1, 1]),
            "subgroup_size": knob_attribute("sg_size"),
        }

    def _matmul(self, which: str, index: str, absent: str) -> ir.DictAttr:
        """One multiplication's config; it has no loops of the role `absent`."""
        workload = self._workload
        m, n = (workload.role(role)[-1] for role in ("m", "n"))
        counts = [{m: "sg_m_cnt", n: "sg_n_cnt"}.get(loop, 1) for loop in range(len(workload.loops))]
        order = [loop for loop in range(len(workload.loops)) if loop not in workload.role(absent)]
        entries = {
            "mma_kind": one_of_attribute(index, self._kinds[which]),
            "subgroup_basis": ir.ArrayAttr.get([integers(counts), integers(order)]),
        }
        config = iree_gpu.LoweringConfigAttr.get(ir.DictAttr.get(entries))
        return ir.DictAttr.get({LOWERING_CONFIG: config})
