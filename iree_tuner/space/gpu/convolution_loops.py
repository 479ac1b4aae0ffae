"""Convolutions as matrix multiplications: which loops are rows, columns and depth of an instruction."""

from __future__ import annotations

import math
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.instructions import shape_of


@dataclass(frozen=True)
class Roles:
    """The roles of a convolution's loops for the matrix instructions that compute it.

    Attributes:
        rows: loops whose product is m; the last one is cut into instructions.
        columns: loops whose product is n; the last one likewise.
        depth_loop: the loop that the knob of the reduction tile is named for.
        depth: how many values of k there are to cut into instructions.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth_loop: int
    depth: int

    @property
    def parallel(self) -> tuple[int, ...]:
        """The loops that have workgroup tiles, ascending."""
        return tuple(sorted(self.rows + self.columns))


def roles_of(draft: Draft) -> Roles:
    """Pixels are the rows and output channels the columns, except for IGEMM with the channels outside.

    There the filter becomes the left operand (getExpandedIGEMMGenericConvDetails, LinalgExt/Utils/Utils.cpp).
    """
    workload = draft.workload
    pixels = tuple(sorted(workload.role("batch") + workload.role("output_image")))
    channels = workload.role("output_channel")
    channel = workload.role("input_channel")[-1]
    if not draft.igemm:
        return Roles(pixels, channels, channel, workload.loops[channel])
    depth = workload.reduction_length if fuses_reductions(draft) else workload.loops[channel]
    if channels_outside(workload):
        return Roles(channels, pixels, channel, depth)
    return Roles(pixels, channels, channel, depth)


def channels_outside(workload: Workload) -> bool:
    """Whether the output has its channels before the image: NCHW."""
    order = workload.maps[-1].loops
    return order.index(workload.role("output_channel")[-1]) < order.index(workload.role("output_image")[0])


def channels_inside(workload: Workload) -> bool:
    """Whether the channels are the innermost dimension of the image that is read: NHWC."""
    return workload.maps[0].loops[-1] == workload.role("input_channel")[-1]


def batch_inside(workload: Workload) -> bool:
    """Whether images of the batch are the innermost dimension of the input: CHWN."""
    return workload.maps[0].loops[-1] in workload.role("batch")[-1:]


def fuses_reductions(draft: Draft) -> bool:
    """Whether IGEMM makes one loop of the filter's loops and the input channels."""
    parallel = sum(kind == "parallel" for kind in draft.workload.iterators)
    return draft.igemm and len(ir.ArrayAttr(draft.entries["reduction"])) == parallel + 1


def overpadded(size: int) -> int:
    """How far the compiler pads a size for better tiles (getMatmulOrIGEMMLoweringConfigAndWorkgroupSize)."""
    step = 128 if size > 128 else 32 if size > 32 else 1
    return math.ceil(size / step) * step


def pads(draft: Draft) -> bool:
    """Whether the compiler itself configures padding: where it would pad for better tiles, or must."""
    workload, roles = draft.workload, roles_of(draft)
    sizes = [workload.loops[loop] for loop in roles.parallel]
    if any(overpadded(size) != size for size in sizes):
        return True
    inner = (workload.loops[roles.rows[-1]], workload.loops[roles.columns[-1]], roles.depth)
    return not any(
        all(size % step == 0 for size, step in zip(inner, shape_of(mma), strict=True)) for mma in draft.mma()
    )
