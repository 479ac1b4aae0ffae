"""Attention through matrix instructions, or by reductions over keys, and what its constraints lack.

Attention is two matrix multiplications: scores = query x key (QK), and result = scores x value (PV). Each has
a lowering config of its own inside `decomposition_config`; m_tile, n_tile and red_k2 tile both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from iree_tuner.compiler.context import defining_op
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
from iree_tuner.space.gpu.constraints_draft import Draft, Supplement, apply, choose_instruction, operand_tile
from iree_tuner.space.gpu.instructions import column_major, fitting_instructions, name_of, shape_of
from iree_tuner.space.gpu.options import DENORMALS, OPTION_SUPPLEMENTS, OPTIONS, require_thread_layout
from iree_tuner.targets import GpuLimits

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
    both = {named.name: named.attr for named in ir.DictAttr(draft.entries[DECOMPOSITION])}
    both[which] = _matmul_config(matmul_entries(draft, which) | entries)
    draft.set_entries(**{DECOMPOSITION: ir.DictAttr.get(both)})


def _matmul_config(entries: Mapping[str, ir.Attribute]) -> ir.DictAttr:
    config = iree_gpu.LoweringConfigAttr.get(ir.DictAttr.get(dict(entries)))
    return ir.DictAttr.get({LOWERING_CONFIG: config})


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
        return _matmul_config(entries)

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


def attention_constraints(workload: Workload, limits: GpuLimits) -> list[ir.Module]:
    """One op, where the compiler emits none: with matrix instructions if they fit, else reductions over keys.

    Its emitter takes instructions with as many rows as columns, which NVIDIA's have not, and ops with one
    loop a role. The names of knobs and the messages that supplements look for are the emitter's.
    """
    problem = _problem(workload, limits)
    pipeline = iree_gpu.PipelineAttr.get(iree_gpu.LoweringPipeline.VectorDistribute)
    module = build_constraints(pipeline, (problem or _Reduction(workload, limits)).fill)
    if problem is not None:
        apply(ATTENTION_SUPPLEMENTS, Draft(only_constraints(module), workload, limits))
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
    # One of the two may be masked, not both (_open_masking).
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
        return _matmul_config(entries)
