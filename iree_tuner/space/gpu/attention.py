"""Supplements to the compiler's attention constraints, and to those built in `online_attention`.

Attention is two matrix multiplications: scores = query x key (QK), and result = scores x value (PV). Each has
a lowering config of its own inside `decomposition_config`; m_tile, n_tile and red_k2 tile both.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from iree_tuner.compiler.context import defining_op
from iree_tuner.compiler.unbound import derived_thread_config, flushed_denormals
from iree_tuner.space.constraints import integers, one_of_attribute
from iree_tuner.space.expressions import (
    Boolean,
    Integer,
    all_of,
    any_of,
    constant,
    if_else,
    lookup,
    product,
    require,
    total,
)
from iree_tuner.space.gpu.constraints_draft import Draft, Supplement, operand_tile
from iree_tuner.space.gpu.instructions import column_major, name_of, shape_of
from iree_tuner.space.gpu.options import DENORMALS, OPTION_SUPPLEMENTS, OPTIONS, require_thread_layout

QK, PV = "qk_attrs", "pv_attrs"
DECOMPOSITION = "decomposition_config"
PROMOTE_QK, PROMOTE_VALUE = "promote_qk", "promote_value"
_QK_CHOICES = ((), (1,), (0,), (0, 1))
_PV_CHOICES = ((), (1,))
LOWERING_CONFIG = "lowering_config"
_MMA = "mma_kind"
_OPERANDS = ("query", "key", "value")

_USUAL_TILES = (16, 32, 64, 128, 256)
"""Tiles that are offered although they do not divide a size."""
_SMALLEST_BOUND = 32
_MOST_ACCUMULATORS = 128
"""32-bit accumulators of one thread: half of its registers on RDNA and CUDA, a quarter on CDNA."""


def matmul_entries(draft: Draft, which: str) -> dict[str, ir.Attribute]:
    """A copy of the lowering config of one of the two matrix multiplications."""
    config = ir.DictAttr(ir.DictAttr(draft.entries[DECOMPOSITION])[which])
    found = iree_gpu.LoweringConfigAttr(config[LOWERING_CONFIG])
    return {named.name: named.attr for named in ir.DictAttr(found.attributes)}


def set_matmul_entries(draft: Draft, which: str, entries: dict[str, ir.Attribute]) -> None:
    """Replace some entries of one of the two lowering configs."""
    config = iree_gpu.LoweringConfigAttr.get(ir.DictAttr.get(matmul_entries(draft, which) | entries))
    both = {named.name: named.attr for named in ir.DictAttr(draft.entries[DECOMPOSITION])}
    both[which] = ir.DictAttr.get({LOWERING_CONFIG: config})
    draft.set_entries(**{DECOMPOSITION: ir.DictAttr.get(both)})


def instructions(draft: Draft, which: str) -> list[ir.Attribute]:
    """The matrix instructions that one of the two chooses from."""
    return list(iree_codegen.OneOfKnobAttr(matmul_entries(draft, which)[_MMA]).options)


def step_of(draft: Draft, which: str, place: int) -> Integer:
    """Rows (0), columns (1) or depth (2) of the chosen instruction."""
    knob = draft.value("qk_mma_idx" if which == QK else "pv_mma_idx")
    return lookup(knob, [shape_of(each)[place] for each in instructions(draft, which)])


def _loop(draft: Draft, role: str) -> int:
    return draft.workload.role(role)[-1]


def _open_subgroups(draft: Draft) -> None:
    draft.remove("sg_n_cnt == 1")
    draft.remove("sg_m_cnt * sg_n_cnt == 4")
    for name in ("sg_m_cnt", "sg_n_cnt"):
        count = draft.value(name)
        require(count.is_one_of((1, 2, 4, 8)), f"{name} ({{}}) must be 1, 2, 4 or 8", count)
    all_ = draft.value("sg_m_cnt") * draft.value("sg_n_cnt")
    require(all_ <= 8, "there must be at most 8 subgroups, not {}", all_)


def _unaligned(draft: Draft) -> list[tuple[str, str, str]]:
    """Role, tile and asserted parts of the schedules of the loop that no instruction divides.

    Not when there are two: the mask is then put into shared memory as `i1`, which is not lowered.
    """
    steps = [shape_of(each) for each in instructions(draft, PV)]
    masked = (
        ("m", "m_tile", 0, "qk_schedule.m pv_schedule.m"),
        ("k2", "red_k2", 2, "qk_schedule.n pv_schedule.k"),
    )
    sizes = draft.workload.loops
    found = [
        (role, name, parts)
        for role, name, place, parts in masked
        if all(sizes[_loop(draft, role)] % step[place] for step in steps)
    ]
    return found if len(found) == 1 else []


def _open_masking(draft: Draft) -> None:
    """Tiles of rows and keys may end in a masked remainder."""
    for role, name, parts in _unaligned(draft):
        loop = _loop(draft, role)
        size = draft.workload.loops[loop]
        draft.remove(f"dim_{loop} must be divisible by {name}")
        for part in parts.split():
            draft.remove(f"{part} must be divisible")
        tile = draft.value(name)
        usual = any_of([(constant(size) % tile).equals(0), tile.is_one_of(_USUAL_TILES)])
        require(usual, f"{name} ({{}}) must divide {size}, or be a usual tile", tile)
        most = max(2 * size - 1, _SMALLEST_BOUND)
        require(tile <= most, f"{name} ({{}}) must not be mostly outside of {size}", tile)


def _open_promotion(draft: Draft) -> None:
    for schedule in ("qk_schedule", "pv_schedule"):
        for operand in ("lhs", "rhs"):
            draft.remove(f"{schedule}.{operand} inner dim distributable")
    draft.declare(PROMOTE_QK, range(len(_QK_CHOICES)), "0 (none), 1 (key), 2 (query) or 3 (both)")
    draft.declare(PROMOTE_VALUE, (0, 1), "0 (read from global memory) or 1 (through shared memory)")
    tiles = attention_tiles(draft)
    for operand, promoted in enumerate(promoted_operands(draft)):
        shape = operand_tile(draft.workload, operand, tiles)
        # Operands that are not promoted have a layout of their own: a single element.
        asked = [if_else(promoted, size, 1) for size in shape]
        bits = draft.workload.types[operand].bits
        require_thread_layout(asked, draft.value("wg_size_x"), bits, f"the {_OPERANDS[operand]}")
    set_matmul_entries(draft, QK, _promotions(PROMOTE_QK, _QK_CHOICES))
    set_matmul_entries(draft, PV, _promotions(PROMOTE_VALUE, _PV_CHOICES))


def promoted_operands(draft: Draft) -> tuple[Boolean, Boolean, Boolean]:
    """Whether query, key and value go through shared memory."""
    both = draft.value(PROMOTE_QK)
    return both.is_one_of((2, 3)), both.is_one_of((1, 3)), draft.value(PROMOTE_VALUE).equals(1)


def _promotions(knob: str, choices: Sequence[Sequence[int]]) -> dict[str, ir.Attribute]:
    how = derived_thread_config()
    types = [ir.ArrayAttr.get([how] * len(choice)) for choice in choices]
    return {
        "promote_operands": one_of_attribute(knob, list(map(integers, choices))),
        "promotion_types": one_of_attribute(knob, types),
    }


def attention_tiles(draft: Draft) -> dict[int, Integer | int]:
    """The elements that a workgroup works on at a time, by loop."""
    k1 = _loop(draft, "k1")
    return {
        _loop(draft, "m"): draft.value("m_tile"),
        _loop(draft, "n"): draft.value("n_tile"),
        _loop(draft, "k2"): draft.value("red_k2"),
        k1: draft.workload.loops[k1],
    }


def _fill_score_tile(draft: Draft) -> None:
    tile, columns = draft.value("red_k2"), step_of(draft, QK, 1)
    whole = (tile % columns).equals(0)
    require(whole, "red_k2 ({}) must be divisible by the columns of QK's instruction ({})", tile, columns)


def _open_order(draft: Draft) -> None:
    orders: list[Integer] = []
    for which, name in ((QK, "qk_mma_idx"), (PV, "pv_mma_idx")):
        kinds = instructions(draft, which)
        _repeat_lookups(draft, name)
        draft.remove(f"{name} <= ")
        index = draft.value(name)
        require(index < 2 * len(kinds), f"{name} ({{}}) must be one of {2 * len(kinds)} instructions", index)
        orders.append(index // len(kinds))
        options = [*kinds, *map(column_major, kinds)]
        set_matmul_entries(draft, which, {_MMA: one_of_attribute(name, options)})
    require(orders[0].equals(orders[1]), "both instructions or none must be transposed")


def _repeat_lookups(draft: Draft, knob: str) -> None:
    """Transposed instructions follow the others, and have their shapes."""
    for view in draft.op.operation.regions[0].blocks[0].operations:
        if isinstance(view, iree_codegen.LookupOp) and view.operands[0] == draft.value(knob).value:
            values = list(ir.DenseI64ArrayAttr(view.operation.attributes["values"]))
            view.operation.attributes["keys"] = ir.DenseI64ArrayAttr.get(list(range(2 * len(values))))
            view.operation.attributes["values"] = ir.DenseI64ArrayAttr.get(values * 2)


def _limit_memory(draft: Draft) -> None:
    draft.remove("per-matmul shared memory must fit")
    types, tiles = draft.workload.types, attention_tiles(draft)
    parts: list[Integer | int] = []
    for operand, promoted in enumerate(promoted_operands(draft)):
        shape = operand_tile(draft.workload, operand, tiles)
        parts.append(if_else(promoted, product([*shape, types[operand].bytes]), 0))
    scores = product([draft.value("m_tile"), draft.value("red_k2"), types[2].bytes])
    stays = _scores_stay(draft)
    parts.append(if_else(stays, 0, scores) if stays is not None else 0)
    used, most = total(parts), draft.limits.shared_memory_bytes
    require(used <= most, f"{{}} bytes of shared memory are more than {most}", used)


def _scores_stay(draft: Draft) -> Boolean | None:
    """Whether QK leaves the scores where PV reads them, and not through shared memory; None for always.

    The compiler's own comparison of the instructions' layouts is taken from its op: it has one `smt.ite`, for
    the memory that is saved when either order matches.
    """
    body = draft.op.operation.regions[0].blocks[0]
    choices = [view.operation for view in body.operations if view.operation.name == "smt.ite"]
    saved = next((op for op in choices if _names_layouts(op)), None)
    if saved is None:
        return None
    either = saved.operands[0].owner
    assert isinstance(either, ir.Operation | ir.OpView), "layouts are compared by an op"
    as_left, as_right = (Boolean(value) for value in either.operands)
    transposed = ~(draft.value("qk_mma_idx") < len(instructions(draft, QK)) // 2)
    return any_of([all_of([transposed, as_right]), all_of([~transposed, as_left])])


def _names_layouts(choice: ir.Operation) -> bool:
    condition = defining_op(choice.operands[0], "smt.or")
    if condition is None or len(condition.operands) != 2:
        return False
    terms = [defining_op(value, "smt.and") for value in condition.operands]
    return all(each is not None and len(each.operands) == 6 for each in terms)


def _limit_registers(draft: Draft) -> None:
    rows = draft.value("m_tile") // draft.value("sg_m_cnt")
    columns = draft.value("n_tile") // draft.value("sg_n_cnt") + draft.value("red_k2")
    each = rows * columns // draft.limits.subgroup_size
    require(each <= _MOST_ACCUMULATORS, f"{{}} accumulators are more than {_MOST_ACCUMULATORS}", each)


ATTENTION_SUPPLEMENTS: tuple[Supplement, ...] = (
    Supplement(
        "subgroups",
        "the emitter pins four subgroups along m, as the tuner that it was ported from did; "
        "LLVMGPUConfigureTensorLayouts takes any basis",
        _open_subgroups,
    ),
    Supplement(
        "masking",
        "the emitter wants tiles that divide; VectorDistribute masks the rest (addGPUVectorizationPasses)",
        _open_masking,
        lambda draft: bool(_unaligned(draft)),
    ),
    Supplement(
        "promotion",
        "the emitter promotes every operand, and judges by a rule of its own which it can; GPUVectorAlloc "
        "refuses those for whose shape it derives no thread layout, and takes any that stay in global memory",
        _open_promotion,
    ),
    Supplement(
        "score tile",
        "the emitter lets red_k2 be smaller than the columns of QK's instruction, which cannot be lowered: "
        "'linalg.pack op tile size analysis did not determine a valid tile size'",
        _fill_score_tile,
    ),
    Supplement(
        "order",
        "the emitter leaves out transposed instructions, which the compiler's own configuration uses "
        "(setAttentionIntrinsicBasedVectorDistributionConfig, KernelConfig.cpp)",
        _open_order,
        lambda draft: not any(name_of(each).startswith("NV_") for each in instructions(draft, QK)),
    ),
    Supplement(
        "shared memory",
        "the emitter halves what PV takes when the scores stay in registers in either order; they are stored "
        "whole when they do not in the order that is chosen (GPUVectorAlloc)",
        _limit_memory,
    ),
    Supplement(
        "registers",
        "the emitter bounds each tile, not what a thread holds; LLVM takes minutes over spilled accumulators",
        _limit_registers,
    ),
    Supplement(
        "options",
        "the emitter sets no pipeline options, which VectorDistribute takes here too, and does not flush "
        "denormals, as setAttentionPipelineAttributes always does (KernelConfig.cpp)",
        lambda draft: draft.set_entries(**{OPTIONS: ir.DictAttr.get({}), DENORMALS: flushed_denormals()}),
    ),
    *(each for each in OPTION_SUPPLEMENTS if each.name in ("bank conflicts", "workgroup order", "waves")),
)
"""Prefetching is left out: its pass does not understand two allocations in one loop (KernelConfig.cpp)."""
