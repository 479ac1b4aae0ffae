"""A workgroup for each result, its subgroups reducing together: SubgroupReduce.

Levels: workgroup tiles, all 1, and the elements that a workgroup takes at once: one vector a thread.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Companion, Workload
from iree_tuner.space.constraints import build_constraints, integers, knob, powers
from iree_tuner.space.expressions import any_of, product, require
from iree_tuner.space.spirv.attributes import COMPANIONS, TILE_SIZES, WORKGROUP_SIZE, pipeline
from iree_tuner.space.spirv.tiling import power_divisors
from iree_tuner.targets import GpuLimits

VECTOR_BITS = 128


def reduce_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> ir.Module | None:
    """The constraints op; None for ops that `setReductionConfig` (KernelConfig.cpp) refuses as well."""
    if not limits.codegen.shuffles or not _reducible(workload):
        return None
    lanes = limits.subgroup_size
    groups = [
        group
        for group in powers(min(limits.max_threads, limits.max_workgroup_sizes[0], lanes * lanes), lanes)
        if workload.reduction_length % group == 0
        and all(_distributable(each, workload, group) for each in workload.companions)
    ]
    if not groups:
        return None

    def fill() -> Mapping[str, ir.Attribute]:
        threads = knob("threads_x", groups, f"whole subgroups of {lanes} that divide the reduction evenly")
        largest = groups[-1] * VECTOR_BITS // workload.types[-1].bits
        tiles = {
            loop: knob(
                f"reduction_{loop}",
                power_divisors(workload.loops[loop], largest),
                "a power of two that divides",
            )
            for loop in workload.reduced
        }
        taken = product(list(tiles.values()))
        vectors = powers(VECTOR_BITS // workload.types[-1].bits)
        # A longer vector is not cut: "failed to legalize operation 'arith.constant'".
        message = f"{{}} elements at once must be 1 to {vectors[-1]} for each of {{}} threads"
        require(any_of([taken.equals(threads * each) for each in vectors]), message, taken, threads)
        long = [loop for loop in workload.parallel if workload.loops[loop] > 1]
        outer = [1] * (max(long) + 1) if long else []
        inner = [f"reduction_{loop}" if loop in tiles else 0 for loop in range(len(workload.loops))]
        levels = ir.ArrayAttr.get([integers(outer), integers(inner)])
        found: dict[str, ir.Attribute] = {TILE_SIZES: levels, WORKGROUP_SIZE: integers(["threads_x", 1, 1])}
        if workload.companions:
            # setReductionConfig gives every op of the dispatch the same levels: the pipeline expects it.
            found[COMPANIONS] = ir.DictAttr.get({each.label: levels for each in workload.companions})
        return found

    return build_constraints(pipeline("SubgroupReduce", context), fill, context)


def _reducible(workload: Workload) -> bool:
    """Reductions innermost, maps that only permute, elements of 8, 16 or 32 bits; no matmul."""
    reduced = workload.reduced
    if not reduced or reduced != tuple(range(reduced[0], len(workload.loops))):
        return False
    if is_contraction(workload) and all(math.prod(workload.sizes(role)) > 1 for role in ("m", "n")):
        return False
    if facts_of(workload.dag).on_buffers:
        return False
    plain = all(each.is_permutation for each in workload.maps)
    return plain and all(kind.bits in (8, 16, 32) for kind in workload.types)


def _distributable(companion: Companion, workload: Workload, group: int) -> bool:
    """`isConsumerCompatible`, KernelConfig.cpp: loops except the root's parallel ones fill the threads."""
    left = group
    for size, shared in zip(companion.loops, companion.shared, strict=True):
        if shared is not None and workload.iterators[shared] == "parallel":
            continue
        if size % left == 0:
            return True
        if left % size:
            return False
        left //= size
    return left in (1, group)
