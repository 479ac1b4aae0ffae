"""Sizes that no tile divides: TileAndFuse pads operands up to the sizes in the configuration."""

from __future__ import annotations

from iree_tuner.ops.convolution import is_convolution
from iree_tuner.space.constraints import integers
from iree_tuner.space.expressions import all_of, any_of, constant, product, require
from iree_tuner.space.gpu.accumulator import adds_in_place
from iree_tuner.space.gpu.convolution_loops import roles_of
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.instructions import shape_of
from iree_tuner.space.gpu.supplement import Supplement

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
    return any(size % step for mma in draft.mma() for size, step in zip(sizes, shape_of(mma), strict=True))


def _pad(draft: Draft) -> None:
    workload = draft.workload
    m, n, k = (workload.role(role)[-1] for role in ("m", "n", "k"))
    shape = draft.mma_shape()
    for loop, step in ((m, shape[0]), (n, shape[1])):
        tile = draft.value(f"wg_{loop}")
        draft.replace(f"dim_{loop} must be divisible by wg_{loop}")
        with draft.extending():
            aligned = (step + (workload.loops[loop] - 1)) // step * step
            usual = any_of([(aligned % tile).equals(0), tile.is_one_of(_TILES)])
            require(usual, f"wg_{loop} ({{}}) must divide the padded size, or be a usual tile", tile)
    draft.replace("aligned inner k dim")
    derived = draft.declare_derived(PAD_K)
    with draft.extending():
        depth = product([draft.value(f"red_{k}"), shape[2]])
        require(
            derived.equals(depth),
            f"{PAD_K} ({{}}) must be red_{k} times the instruction's depth ({{}})",
            derived,
            depth,
        )
        aligned = (shape[2] + (workload.loops[k] - 1)) // shape[2] * shape[2]
        usual = any_of([(aligned % depth).equals(0), depth.is_one_of(_TILES)])
        require(usual, "the reduction tile ({}) must divide the padded size, or be a usual tile", depth)
    outer = [loop for loop in workload.role("k") if loop != k]
    padding: list[int | str] = [1 if loop in outer else f"wg_{loop}" for loop in range(len(workload.loops))]
    padding[k] = PAD_K
    draft.set_entries(**{PADDING: integers(padding)})


def _fill_two(draft: Draft) -> None:
    """More than the smallest instruction for each subgroup, unless tiles divide or cover the result."""
    rows, columns, _ = draft.mma_shape()
    sizes = draft.workload.loops
    tiles = {loop: draft.value(f"wg_{loop}") for loop in range(len(sizes)) if draft.has(f"wg_{loop}")}
    with draft.extending():
        results = product([*(draft.value(f"sg_{loop}") for loop in _inner(draft)), rows, columns])
        whole = [
            (constant(sizes[loop]) % tile).equals(0) | (tile >= sizes[loop]) for loop, tile in tiles.items()
        ]
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
        releases=("3.13",),
        applies=lambda draft: PADDING in draft.entries and adds_in_place(draft),
        extend=_fill_two,
    ),
)

PADDING_SUPPLEMENTS = (
    Supplement(
        name="padding",
        reason="without the padding entry, tiles that do not divide end in 'op was not bufferized': "
        "only GPUPadOperands makes a partial tile whole",
        releases=("3.13",),
        applies=lambda draft: draft.pipeline == "TileAndFuse" and is_unaligned(draft),
        extend=_pad,
    ),
)
