"""Images and channels that no tile divides: IGEMM pads them, before it gathers patches or after it."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.ops.initial import ACCUMULATES
from iree_tuner.space.constraints import integers
from iree_tuner.space.expressions import Integer, any_of, constant, require
from iree_tuner.space.gpu.convolution_loops import (
    Roles,
    batch_inside,
    channels_inside,
    channels_outside,
    fuses_reductions,
    overpadded,
    pads,
    roles_of,
)
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.ladders import next_power, powers
from iree_tuner.space.gpu.padding import PADDING, PADDING_CONV
from iree_tuner.space.gpu.supplement import Supplement

PAD_DEPTH = "pad_k"
PAD_CHANNELS = "pad_c"
_DEPTHS = (16, 32, 64, 128, 256, 512)
"""Reduction tiles that are offered although they do not divide."""


def _pad(draft: Draft) -> None:
    roles = roles_of(draft)
    shape = draft.mma_shape()
    _free_tiles(draft, roles, shape)
    depth = _free_depth(draft, roles, shape[2])
    parallel = [f"wg_{loop}" for loop in roles.parallel]
    draft.set_entries(**{PADDING: integers([*parallel, PAD_DEPTH])})
    _pad_before(draft, roles, depth)


def _free_tiles(draft: Draft, roles: Roles, shape: Sequence[Integer]) -> None:
    """Workgroup tiles divide the size as instructions fill it up or as the compiler pads it, or are usual.

    The compiler makes tiles of numbers of subgroups, and pads a loop of 3 for two of them.
    """
    steps = {roles.rows[-1]: shape[0], roles.columns[-1]: shape[1]}
    for loop in roles.parallel:
        size = draft.workload.loops[loop]
        draft.remove(f"dim_{loop} must be divisible by wg_{loop}")
        draft.remove(f"wg_{loop} <= ")
        tile = draft.value(f"wg_{loop}")
        with draft.extending():
            wide = constant(overpadded(size))
            fits = [(wide % tile).equals(0), tile.is_one_of(powers(next_power(size)))]
            if loop in steps:
                filled = _filled(size, steps[loop])
                fits.append((filled % tile).equals(0))
            message = f"wg_{loop} ({{}}) must divide {size}, padded, or be a power of two up to it, padded"
            require(any_of(fits), message, tile)


def _free_depth(draft: Draft, roles: Roles, step: Integer) -> Integer:
    for start in ("aligned inner k dim", f"red_{roles.depth_loop} * mma_k <= aligned"):
        draft.remove(start)
    padded = draft.declare_derived(PAD_DEPTH)
    with draft.extending():
        filled = _filled(roles.depth, step)
        tile = draft.value(f"red_{roles.depth_loop}") * step
        require(padded.equals(tile), f"{PAD_DEPTH} ({{}}) must be the reduction tile ({{}})", padded, tile)
        usual = tile.is_one_of(_DEPTHS) & (tile < filled * 2)
        message = f"the reduction tile ({{}}) must divide {roles.depth} or be a power of two"
        require(any_of([(filled % tile).equals(0), usual]), message, tile)
    return padded


def _pad_before(draft: Draft, roles: Roles, depth: Integer) -> None:
    """Pad the image before patches are gathered (GPUPadConvs), as the compiler does.

    All of it with channels inside; the batch alone where that is inside.

    Not where the result is read first: nothing compiles then (docs/upstream/padded_conv_adds.md).
    """
    if draft.workload.parameter(ACCUMULATES):
        return
    if channels_inside(draft.workload):
        _pad_pixels(draft, roles, depth)
    elif batch_inside(draft.workload):
        inner = draft.workload.role("batch")[-1]
        sizes = [f"wg_{loop}" if loop == inner else 0 for loop in range(len(draft.workload.loops))]
        draft.set_entries(**{PADDING_CONV: integers(sizes)})


def _pad_pixels(draft: Draft, roles: Roles, depth: Integer) -> None:
    """Pad what is tiled of the image and the filters, and the channels to the reduction tile or not at all.

    Where channels grow by it, results on CUDA are no numbers (docs/upstream/cuda_padded_channels.md).
    """
    workload = draft.workload
    channels = draft.declare_derived(PAD_CHANNELS)
    size = workload.loops[roles.depth_loop]
    with draft.extending():
        choice = any_of([channels.equals(0), channels.equals(depth)])
        require(choice, f"{PAD_CHANNELS} ({{}}) must be 0 or the reduction tile ({{}})", channels, depth)
        if not draft.limits.codegen.pads_reductions:
            same = any_of([channels.equals(0), (constant(size) % depth).equals(0)])
            message = f"{PAD_CHANNELS} ({{}}) must divide {size}: with more channels, results are no numbers"
            require(same, message, channels)
    sizes: list[int | str] = []
    for loop in range(len(workload.loops)):
        tile = f"wg_{loop}" if draft.has(f"wg_{loop}") else int(loop in workload.role("depth"))
        sizes.append(PAD_CHANNELS if loop == roles.depth_loop else tile)
    draft.set_entries(**{PADDING_CONV: integers(sizes)})


def _pads_groups(draft: Draft) -> bool:
    """Whether the compiler pads the images of a convolution in groups before it gathers their patches."""
    workload = draft.workload
    if not (fuses_reductions(draft) and PADDING in draft.entries and workload.role("depth")):
        return False
    return not (channels_inside(workload) and channels_outside(workload))


def _divide(draft: Draft) -> None:
    roles = roles_of(draft)
    shape = draft.mma_shape()
    for loop in roles.parallel:
        size, tile = draft.workload.loops[loop], draft.value(f"wg_{loop}")
        with draft.extending():
            require((constant(size) % tile).equals(0), f"wg_{loop} ({{}}) must divide {size}", tile)
    with draft.extending():
        depth = draft.value(f"red_{roles.depth_loop}") * shape[2]
        whole = (constant(roles.depth) % depth).equals(0)
        require(whole, f"the reduction tile ({{}}) must divide {roles.depth}", depth)


def _filled(size: int, step: Integer) -> Integer:
    return (step + (size - 1)) // step * step


PADDING_SUPPLEMENTS = (
    Supplement(
        name="padding",
        reason="the emitter lets tiles reach over the edge without the padding that makes them whole: "
        "'tensor.expand_shape op expected dimension'; the compiler's own choice sets the entries padding "
        "(for GPUPadOperands) and padding_conv (getPaddingConvSizes, ConfigUtils.cpp)",
        releases=("3.13",),
        applies=lambda draft: fuses_reductions(draft) and pads(draft),
        extend=_pad,
    ),
    Supplement(
        name="whole tiles",
        reason="the emitter lets tiles reach over the edge also where the compiler configures no padding: "
        "'tensor.expand_shape op expected dimension'",
        releases=("3.13",),
        applies=lambda draft: draft.igemm and not (fuses_reductions(draft) and pads(draft)),
        extend=_divide,
    ),
)

GROUPED_SUPPLEMENTS = (
    Supplement(
        name="padding of groups",
        reason="the compiler itself sets padding_conv for groups as for other convolutions with channels or "
        "batch inside (getPaddingConvSizes, ConfigUtils.cpp); the emitter crashes on groups",
        releases=("3.13",),
        applies=_pads_groups,
        extend=lambda draft: _pad_before(draft, roles_of(draft), draft.value(PAD_DEPTH)),
    ),
)
