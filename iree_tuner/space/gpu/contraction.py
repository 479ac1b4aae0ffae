"""Supplements to the compiler's constraints on contractions, which all use matrix instructions.

Some of them are for convolutions as well: accumulators, registers, the result's type, padding.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.compiler.unbound import direct_load, swizzled_direct_load
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.structure import ACCUMULATES
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import (
    divides_or_covers,
    integers,
    one_of_attribute,
    padded_to,
    require_equal,
)
from iree_tuner.space.expressions import all_of, any_of, lookup, product, require, total
from iree_tuner.space.gpu.constraints_draft import MMA_KIND, Draft, Supplement
from iree_tuner.space.gpu.instructions import divides, needs_separate_accumulation, shape_of
from iree_tuner.space.gpu.matrix_problem import batch_inside, fused_problem, igemm_problem, roles_of
from iree_tuner.space.gpu.options import CONFLICTS, OPTION_SUPPLEMENTS, PREFETCH, thread_layouts


def adds_in_place(draft: Draft) -> bool:
    """Whether instructions add to values that are read, which TileAndFuse stages in shared memory."""
    adds = bool(draft.workload.parameter(ACCUMULATES))
    return adds and draft.pipeline == "TileAndFuse" and not needs_separate_accumulation(draft.mma())


def limit_shared_memory(
    draft: Draft, row_loops: Sequence[int], column_loops: Sequence[int], depth_loop: int, what: str
) -> None:
    """Both operands and the result are in shared memory at once; the sum is exactly the compiler's number."""
    limit = draft.limits.shared_memory_bytes
    left, right, result = (kind.bytes for kind in draft.workload.types)
    *_, depth = draft.mma_shape()
    rows, columns = (
        product([draft.value(f"wg_{loop}") for loop in loops]) for loops in (row_loops, column_loops)
    )
    k = product([draft.value(f"red_{depth_loop}"), depth])
    sizes = [product([rows, k, left]), product([columns, k, right]), product([rows, columns, result])]
    used = total(sizes)
    message = f"the operands and the {what} take {{}} of {limit} bytes of shared memory"
    require(used <= limit, message, used)


ADDED_AFTERWARDS = Supplement(
    name="accumulator added afterwards",
    reason="mma.sync has no layout for an accumulator in shared memory: the compiler's own choice always "
    "sets convert_acc_gemm (appendConvertAccGemm in ConfigUtils.cpp), which the emitter leaves out",
    applies=lambda draft: draft.pipeline == "TileAndFuse" and needs_separate_accumulation(draft.mma()),
    extend=lambda draft: draft.set_entries(convert_acc_gemm=ir.UnitAttr.get()),
)

_REGISTER_BITS = 32


def _limit_accumulators(draft: Draft) -> None:
    """Every loop with a workgroup tile is one of the result's."""
    limit = draft.limits.codegen.accumulators
    names = [f"wg_{loop}" for loop in range(len(draft.workload.loops))]
    bits = max(_REGISTER_BITS, draft.workload.types[-1].bits)
    fused = fused_problem(draft.workload)
    products = 1 + len(fused.others) if fused is not None else 1
    tiles = [draft.value(name) for name in names if draft.has(name)]
    results = product([*tiles, bits // _REGISTER_BITS, products])
    taken = results // draft.value("wg_size_x")
    require(taken <= limit, f"the accumulators take {{}} of {limit} registers of a thread", taken)


REGISTERS = Supplement(
    name="registers",
    reason="accumulators are unrolled into registers; where they do not fit, all is spilled, and the "
    "backend takes up to a minute (512x128 on 128 threads, sm_80: 30 s)",
    applies=lambda draft: draft.has("wg_size_x"),
    extend=_limit_accumulators,
)


def fitting(draft: Draft) -> list[int]:
    """Indices of the space's instructions that accumulate in the type of the op's result."""
    wanted = draft.workload.types[-1]
    return [place for place, mma in enumerate(draft.mma()) if _accumulator(mma) == wanted]


def _accumulator(mma: ir.Attribute) -> ElementType:
    assert isinstance(mma, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr)
    return ElementType.of(mma.abc_element_types[2])


def _limit(draft: Draft) -> None:
    chosen, allowed = draft.value("mma_idx"), fitting(draft)
    message = f"instruction {{}} must accumulate in {draft.workload.types[-1]}, the type of the result"
    require(chosen.is_one_of(allowed or [-1]), message, chosen)


RESULT_TYPE = Supplement(
    name="result type",
    reason="the emitter takes instructions that accumulate in a wider type, and nothing converts "
    "the result: 'failed to distribute', or 'write affecting operations on shared resources' "
    "(docs/upstream/narrow_result.md)",
    applies=lambda draft: draft.has("mma_idx") and len(fitting(draft)) < len(draft.mma()),
    extend=_limit,
)


PADDING = "padding"
PADDING_CONV = "padding_conv"
PAD_K = "pad_k"
_ONE_INSTRUCTION = 16 * 16
_TILES = (8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Tiles that are offered although they do not divide: powers of two and three times those."""


def is_unaligned(draft: Draft) -> bool:
    """Whether some instruction of the space does not divide the innermost m, n or k."""
    workload = draft.workload
    sizes = [workload.loops[workload.role(role)[-1]] for role in ("m", "n", "k")]
    return not all(divides(mma, sizes) for mma in draft.mma())


def _pad(draft: Draft) -> None:
    workload = draft.workload
    m, n, k = (workload.role(role)[-1] for role in ("m", "n", "k"))
    shape = draft.mma_shape()
    for loop, step in ((m, shape[0]), (n, shape[1])):
        tile = draft.value(f"wg_{loop}")
        draft.replace(f"dim_{loop} must be divisible by wg_{loop}")
        usual = any_of([(padded_to(workload.loops[loop], step) % tile).equals(0), tile.is_one_of(_TILES)])
        require(usual, f"wg_{loop} ({{}}) must divide the padded size, or be a usual tile", tile)
    draft.replace("aligned inner k dim")
    derived = draft.declare_derived(PAD_K)
    depth = product([draft.value(f"red_{k}"), shape[2]])
    require_equal(PAD_K, derived, depth, f"red_{k} times the instruction's depth")
    usual = any_of([(padded_to(workload.loops[k], shape[2]) % depth).equals(0), depth.is_one_of(_TILES)])
    require(usual, "the reduction tile ({}) must divide the padded size, or be a usual tile", depth)
    outer = [loop for loop in workload.role("k") if loop != k]
    padding: list[int | str] = [1 if loop in outer else f"wg_{loop}" for loop in range(len(workload.loops))]
    padding[k] = PAD_K
    draft.set_entries(**{PADDING: integers(padding)})


def _fill_two(draft: Draft) -> None:
    """A subgroup needs more than the smallest instruction, unless tiles divide or cover the result."""
    rows, columns, _ = draft.mma_shape()
    sizes = draft.workload.loops
    tiles = {loop: draft.value(f"wg_{loop}") for loop in range(len(sizes)) if draft.has(f"wg_{loop}")}
    results = product([*(draft.value(f"sg_{loop}") for loop in _inner(draft)), rows, columns])
    whole = [divides_or_covers(tile, sizes[loop]) for loop, tile in tiles.items()]
    message = f"{{}} padded sums of a subgroup begin in memory: more than {_ONE_INSTRUCTION} are needed"
    require(any_of([results > _ONE_INSTRUCTION, all_of(whole)]), message, results)


def _inner(draft: Draft) -> tuple[int, int]:
    """The loops that are cut into rows and columns of instructions."""
    workload = draft.workload
    if is_convolution(workload):
        roles = roles_of(draft)
        return roles.rows[-1], roles.columns[-1]
    return workload.role("m")[-1], workload.role("n")[-1]


PADDED_SUMS = Supplement(
    name="padded sums in place",
    reason="one 16x16 instruction for each subgroup, an initial value that is read, and a last tile that "
    "is padded: "
    "'linalg.fill' op write affecting operations on shared resources are restricted "
    "(docs/upstream/padded_sum_in_place.md)",
    applies=lambda draft: PADDING in draft.entries and adds_in_place(draft),
    extend=_fill_two,
)

# Padding that changes nothing: to tiles that divide what they tile.
#
# A configuration gives the same code with it and without (test/unit/space/test_gpu_direct_loads.py
# compares executables), and the compiler's own choice has it or not, by rules of its own.


Entries = dict[str, ir.Attribute]


def drop_idle_padding(workload: Workload, template: Entries, actual: Entries) -> None:
    """Remove padding that changes nothing from a template (with knobs) or a choice, if the other has none."""
    if "workgroup" not in actual:
        return
    if PADDING_CONV not in actual:
        if PADDING_CONV in template and _keeps_images(workload, actual):
            template.pop(PADDING_CONV)
    elif PADDING_CONV not in template:
        steps = zip(workload.loops, _numbers(actual[PADDING_CONV]), strict=True)
        if all(size % step == 0 for size, step in steps if step):
            actual.pop(PADDING_CONV)
    if (PADDING in template) == (PADDING in actual):
        return
    tiles = _tiles(actual)
    if PADDING in actual and _numbers(actual[PADDING]) != tiles:
        return
    problem = igemm_problem(workload) if is_convolution(workload) else None
    for sizes in (workload.loops, problem.loops if problem else ()):
        if len(sizes) == len(tiles) and all(
            tile and size % tile == 0 for size, tile in zip(sizes, tiles, strict=True)
        ):
            template.pop(PADDING, None)
            actual.pop(PADDING, None)


def _keeps_images(workload: Workload, actual: Entries) -> bool:
    """Whether the batch, the only loop padded before patches are gathered, is a multiple of its tile."""
    if not is_convolution(workload) or not batch_inside(workload):
        return False
    inner = workload.role("batch")[-1]
    tile = _numbers(actual["workgroup"])[inner]
    return tile > 0 and workload.loops[inner] % tile == 0


def _tiles(actual: Entries) -> list[int]:
    """The part of each loop that a workgroup has at a time, in elements."""
    tiles = _numbers(actual["workgroup"])
    steps = _numbers(actual["reduction"]) if "reduction" in actual else []
    inner = max((place for place, step in enumerate(steps) if step), default=-1)
    for place, step in enumerate(steps):
        if step:
            depth = shape_of(actual[MMA_KIND])[2] if place == inner and MMA_KIND in actual else 1
            tiles[place] = step * depth
    return tiles


def _numbers(attribute: ir.Attribute) -> list[int]:
    items: Sequence[ir.Attribute] = list(ir.ArrayAttr(attribute))
    return [ir.IntegerAttr(each).value for each in items]


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
    RESULT_TYPE,
    Supplement(
        name="padding",
        reason="without the padding entry, tiles that do not divide end in 'op was not bufferized': "
        "only GPUPadOperands makes a partial tile whole",
        applies=lambda draft: draft.pipeline == "TileAndFuse" and is_unaligned(draft),
        extend=_pad,
    ),
    PADDED_SUMS,
    Supplement(
        name="accumulator in shared memory",
        reason="the emitter counts two operands; GPUPromoteMatmulOperands stages the initial value as well, "
        "and code generation ends in 'exceeded the limit'",
        applies=adds_in_place,
        extend=lambda draft: limit_shared_memory(
            draft,
            draft.workload.role("m"),
            draft.workload.role("n"),
            draft.workload.role("k")[-1],
            "accumulator",
        ),
    ),
    ADDED_AFTERWARDS,
    REGISTERS,
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
