"""Supplements to the compiler's constraints on contractions, which all use matrix instructions."""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.compiler.unbound import direct_load, swizzled_direct_load
from iree_tuner.space.constraints import one_of_attribute
from iree_tuner.space.expressions import all_of, any_of, lookup, product, require
from iree_tuner.space.gpu.accumulator import (
    ACCUMULATOR_SUPPLEMENTS,
    REGISTER_SUPPLEMENTS,
    RESULT_TYPE_SUPPLEMENTS,
)
from iree_tuner.space.gpu.constraints_draft import Draft, Supplement
from iree_tuner.space.gpu.instructions import shape_of
from iree_tuner.space.gpu.options import CONFLICTS, OPTION_SUPPLEMENTS, PREFETCH, thread_layouts
from iree_tuner.space.gpu.padding import PADDED_SUM_SUPPLEMENTS, PADDING_SUPPLEMENTS

# Copies into shared memory that do not pass registers, where the target has them (gfx950).


_KNOB = "direct_loads"
_TYPES = ("f16", "bf16")
_SWIZZLING = ((16, 16, 32), (32, 32, 16))
"""Instructions of gfx950 for which the compiler knows a swizzle (getXorShuffleParamsForGfx950)."""


def _open(draft: Draft) -> None:
    workload = draft.workload
    k = workload.role("k")[-1]
    rows = [workload.maps[operand].loops[-1] == k for operand in (0, 1)]  # read along the reduction
    direct, swizzled = direct_load(), swizzled_direct_load()
    kinds = [[direct, direct]] + ([[swizzled if each else direct for each in rows]] if any(rows) else [])
    options = [ir.UnitAttr.get(), *map(ir.ArrayAttr.get, kinds)]
    described = ["0 (through registers)", "1 (directly)", "2 (directly, and swizzled)"][: len(options)]
    draft.declare(_KNOB, range(len(options)), f"{', '.join(described[:-1])} or {described[-1]}")
    draft.set_entries(**{"promotion_types": one_of_attribute(_KNOB, options)})
    chosen, stages, plain = draft.value(_KNOB), draft.value(PREFETCH), draft.value(CONFLICTS)
    m, n = workload.role("m")[-1], workload.role("n")[-1]
    *_, step = draft.mma_shape()
    swizzles = [int(shape_of(each) in _SWIZZLING) for each in draft.mma()]
    none = chosen.equals(0)
    require(any_of([none, plain.equals(1)]), f"{_KNOB} ({{}}) writes rows that are not padded", chosen)
    known = lookup(draft.value("mma_idx"), swizzles)
    require(
        any_of([chosen < 2, known.equals(1)]),
        "no swizzle is known for this instruction: direct_loads ({}) must be below 2",
        chosen,
    )
    depth = product([draft.value(f"red_{k}"), step])
    bits = workload.types[0].bits
    tiles = product([draft.value(f"wg_{m}"), depth]) + product([draft.value(f"wg_{n}"), depth])
    most = draft.limits.shared_memory_bytes * 8 // bits
    fits = [all_of([stages.equals(count), tiles * max(1, count) <= most]) for count in (0, 2, 3)]
    require(
        any_of([none, *fits]),
        f"each of {{}} stages has its own {{}} elements of the {most} that fit into shared memory",
        stages,
        tiles,
    )


def _applies(draft: Draft) -> bool:
    types = draft.workload.types[:2]
    return (
        draft.pipeline == "TileAndFuse"
        and draft.limits.codegen.direct_loads
        and all(each.name in _TYPES for each in types)
        and draft.has(PREFETCH)
        and draft.has(CONFLICTS)
    )


CONTRACTION_SUPPLEMENTS: tuple[Supplement, ...] = (
    *RESULT_TYPE_SUPPLEMENTS,
    *PADDING_SUPPLEMENTS,
    *PADDED_SUM_SUPPLEMENTS,
    *ACCUMULATOR_SUPPLEMENTS,
    *REGISTER_SUPPLEMENTS,
    thread_layouts("the left operand", "the right operand"),
    *OPTION_SUPPLEMENTS,
    Supplement(
        name="direct loads",
        reason="the emitter leaves out promotion_types, which the compiler itself sets for most products of "
        "f16 and bf16 on gfx950; a copy that no direct load fits passes registers (GPUConvertToCoalescedDMA)",
        applies=_applies,
        extend=_open,
    ),
)
