"""Sizes that no tile divides: TileAndFuse pads operands as far as the configuration says."""

from __future__ import annotations

from iree_tuner.space.constraints import integers
from iree_tuner.space.expressions import any_of, product, require
from iree_tuner.space.gpu.draft import Draft, shape_of
from iree_tuner.space.gpu.supplement import Supplement

PADDING = "padding"
PAD_K = "pad_k"
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
