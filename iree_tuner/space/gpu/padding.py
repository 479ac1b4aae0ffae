"""Sizes that no tile divides: TileAndFuse pads operands up to the sizes in the configuration."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import divides_or_covers, integers, padded_to, require_equal
from iree_tuner.space.expressions import all_of, any_of, product, require
from iree_tuner.space.gpu.accumulator import adds_in_place
from iree_tuner.space.gpu.constraints_draft import MMA_KIND, Draft, Supplement
from iree_tuner.space.gpu.instructions import divides, shape_of
from iree_tuner.space.gpu.matrix_problem import batch_inside, igemm_problem, roles_of

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


PADDED_SUM_SUPPLEMENTS = (
    Supplement(
        name="padded sums in place",
        reason="one 16x16 instruction for each subgroup, an initial value that is read, and a last tile that "
        "is padded: "
        "'linalg.fill' op write affecting operations on shared resources are restricted "
        "(docs/upstream/padded_sum_in_place.md)",
        applies=lambda draft: PADDING in draft.entries and adds_in_place(draft),
        extend=_fill_two,
    ),
)

PADDING_SUPPLEMENTS = (
    Supplement(
        name="padding",
        reason="without the padding entry, tiles that do not divide end in 'op was not bufferized': "
        "only GPUPadOperands makes a partial tile whole",
        applies=lambda draft: draft.pipeline == "TileAndFuse" and is_unaligned(draft),
        extend=_pad,
    ),
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
