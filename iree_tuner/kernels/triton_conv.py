"""2-D convolutions for NVIDIA GPUs, by Triton's ahead-of-time compiler, which needs no GPU."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from operator import mod
from typing import Any

from iree_tuner.kernels import triton_finish
from iree_tuner.kernels.kernel import LEAST_SCRATCH, Code, KernelError, Knobs, Problem
from iree_tuner.kernels.nest import Nest, common_parts
from iree_tuner.kernels.product_shape import OPERATIONS, WHOLE
from iree_tuner.kernels.shapes import ConvShape, conv_shape
from iree_tuner.kernels.triton_code import (
    NARROW,
    SHARED_BYTES,
    TritonKernel,
    made_code,
    unfit_arrays,
)
from iree_tuner.targets import Target

_MULTIPROCESSORS = 132  # of an H100 SXM and an H200
# Limits of a multiprocessor, compute capability 9.0: CUDA C++ Programming Guide, "Technical Specifications".
_SHARED, _REGISTERS, _THREADS = 228 * 1024, 65536, 2048
_RESERVED = 1024  # bytes of shared memory that the system takes for each workgroup
# Peak rates of a multiprocessor in a cycle: products of f16 (NVIDIA H100 Tensor Core GPU Architecture:
# 989 TFLOP/s at 1.83 GHz), lanes, and bytes from the second-level cache and from memory.
_PRODUCTS, _LANES, _CACHE_BYTES, _MEMORY_BYTES = 2048, 128, 64, 21
# Estimated cycles: latency of a load; start of a workgroup; making descriptors for the copy engine; overhead
# of a step of the sum; waiting for a cluster's others; storing and adding up one partial sum. The last two
# are from measurements of ResNet-50's convolutions on an H100.
_LATENCY, _START, _DESCRIPTORS, _STEP, _MEETING, _ADDING = 800, 1500, 2000, 60, 2000, 0.5
_SPLITS, _LEAST_STEPS = (2, 4, 8), 4  # clusters that every device allows; steps of a part
_SHAPES = 2  # box shapes that are tried for a tile
# Filters and pixels of tiles that are also tried with half as many filters more. Four warps do so in three
# matrix instructions of 64 filters by all pixels. Eight share out the last 64 filters by pixels, and so read
# more shared memory.
_MORE = 128, 128
_NEXT = 0.05
_MOST_IN_BOX = 256  # of each dimension: CUDA driver API, cuTensorMapEncodeTiled


@dataclass(frozen=True)
class ConvTiling:
    """A convolution with the tiles of a kernel's knobs.

    Knobs are `boxed` (1: the copy engine loads boxes of images, 0: pixels are gathered through pointers),
    `bn` filters, `bk` channels at a time, `warps` and `stages`. Boxed plans also have the box's `images`,
    `lines` and `pixels`, and `persistent`, and some have `more` filters: sizes in Triton are powers of two.
    Other plans have `bm` pixels and `flat` (1: channels and window positions are one loop), and some have
    `split`: workgroups that each sum a part of a tile.
    """

    shape: ConvShape
    knobs: Knobs

    @property
    def bm(self) -> int:
        knobs = self.knobs
        return knobs["images"] * knobs["lines"] * knobs["pixels"] if knobs["boxed"] else knobs["bm"]

    @property
    def across(self) -> int:
        return self.knobs["bn"] + self.knobs.get("more", 0)

    @property
    def tiles(self) -> int:
        shape, knobs, across = self.shape, self.knobs, -(-self.shape.filters // self.across)
        if knobs["boxed"]:
            box = (knobs["images"], knobs["lines"], knobs["pixels"])
            return across * _boxes(shape, box)
        return across * -(-shape.pixels // knobs["bm"])

    @property
    def workgroups(self) -> int:
        return min(self.tiles, _MULTIPROCESSORS) if self.knobs.get("persistent") else self.tiles * self.split

    @property
    def split(self) -> int:
        """The number of workgroups that compute a tile."""
        return self.knobs.get("split", 1)

    @property
    def partial_bytes(self) -> int:
        """Bytes of the partial sums of all workgroups; 0 without a split."""
        return self.workgroups * self.bm * self.knobs["bn"] * 4 if self.split > 1 else 0

    @property
    def steps(self) -> int:
        shape, bk = self.shape, self.knobs["bk"]
        if self.knobs.get("flat"):
            return -(-shape.places * shape.channels // bk)
        return shape.places * -(-shape.channels // bk)

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory for the operands."""
        return (self.bm + self.across) * self.knobs["bk"] * 2 * self.knobs["stages"]

    @property
    def cycles(self) -> float:
        """The predicted cycles of the multiprocessor with the most work."""
        shape, knobs, bm = self.shape, self.knobs, self.bm
        bn, bk, stages = self.across, knobs["bk"], knobs["stages"]
        most = -(-self.tiles * self.split * shape.groups // _MULTIPROCESSORS)
        resident = 1 if knobs.get("persistent") else min(self._resident, most)
        steps = -(-self.steps // self.split)
        # A group of warps reads both operands from shared memory, which limits narrow tiles.
        busy = bm * bn * bk / _PRODUCTS * max(1.0, 80 / bn)
        moved = (bm + bn) * bk * 2
        copied = moved / _CACHE_BYTES * max(1.0, _LATENCY * _CACHE_BYTES / (resident * (stages - 1) * moved))
        step = max(busy, copied) + _STEP + 0.5 * self._addressing
        start = _START + (_DESCRIPTORS if knobs["boxed"] else 0)
        start += _MEETING + _ADDING * bm * bn if self.split > 1 else 0
        written = bm * bn * 2 / _MEMORY_BYTES / self.split
        if knobs.get("persistent"):  # a tile's operands are loaded while the previous tile is written
            return start + most * (steps * step + written)
        return most * (steps * step + (start + written) / min(resident, 2))

    @property
    def _resident(self) -> int:
        """The number of workgroups that a multiprocessor runs at once."""
        threads = 32 * self.knobs["warps"]
        registers = min(255, self.bm * self.across // threads + 64)
        most = (
            _SHARED // (self.shared_bytes + _RESERVED), _REGISTERS // (threads * registers),
            _THREADS // threads,
        )  # fmt: skip
        return max(1, min(most))

    @property
    def _addressing(self) -> float:
        """Cycles for addresses and masks in a step of the sum; 0 for boxes, which the copy engine loads."""
        knobs = self.knobs
        if knobs["boxed"]:
            return 0.0
        wide = self.shape.channels_last and not knobs["flat"] and self.shape.channels % 8 == 0
        one = self.bm * knobs["bk"] / (8 if wide else 1)
        waiting = 1.0 if wide else 4.0  # asynchronous copies have at least four bytes
        return (one * 14 * waiting + knobs["bn"] * knobs["bk"] / 8 * 6) / _LANES


@cache
def plans(shape: ConvShape) -> tuple[ConvTiling, ...]:
    """The plans whose stages fit into shared memory, promising ones first.

    The estimate is too coarse for plans with the same tile. Each further plan of a tile gets a small penalty,
    so that other tiles come between.
    """
    found = [ConvTiling(shape, knobs) for knobs in (*_boxed(shape), *_gathered(shape))]
    whole: list[ConvTiling] = []
    for each in found:  # all stages are used, and there are two only if there are no more steps
        stages = each.knobs["stages"]
        pipelined = stages <= max(2, each.steps) and (stages > 2 or each.steps <= 2)
        whole += [each] if pipelined and each.shared_bytes <= SHARED_BYTES else []
    parts = (part for each in whole for part in _split(each))
    fits = sorted((*whole, *parts), key=lambda each: (each.cycles, -each.knobs["stages"]))
    times = Counter[tuple[int, ...]]()
    costs: list[float] = []
    for each in fits:
        tile = each.knobs["boxed"], each.knobs.get("persistent", 0), each.bm, each.across, each.split
        costs.append(each.cycles * (1 + _NEXT * times[tile]))
        times[tile] += 1
    return tuple(fits[at] for at in sorted(range(len(fits)), key=costs.__getitem__))


def _split(plan: ConvTiling) -> Iterator[ConvTiling]:
    """The plan with several workgroups for each tile, where there are few tiles and many steps.

    Boxed plans keep descriptors in the memory that partial sums need. They were not faster with splits.
    """
    if plan.knobs["boxed"] or plan.shape.groups > 1:
        return
    room = max(LEAST_SCRATCH, 16 * plan.shape.pixels * plan.shape.filters)  # within `scratch_room`
    for split in _SPLITS:
        one = ConvTiling(plan.shape, {**plan.knobs, "split": split})
        few = one.workgroups <= 2 * _MULTIPROCESSORS and plan.steps >= _LEAST_STEPS * split
        if few and one.partial_bytes <= room and min(plan.bm, plan.knobs["bn"]) >= split:
            yield one


def _boxed(shape: ConvShape) -> Iterator[Knobs]:
    """Plans for the copy engine. Arrays must be dense, aligned, with channels last; strides divide sizes."""
    c, f = shape.channels, shape.filters
    line, out_line = shape.in_w * c, shape.out_w * f
    dense = (
        shape.image == (shape.in_h * line, line, c, 1, 0)
        and shape.filter == (c * f, f, 1, 0)
        and shape.result == (shape.out_h * out_line, out_line, f, 1, 0)
    )
    divided = not any(map(mod, (shape.in_h, shape.in_w), shape.strides))
    if not dense or not divided or shape.groups > 1 or c % 32 or f % 8:
        return
    for bm, bk in product((64, 128, 256), (32, 64, 128)):
        if c % bk or bk == 32 < c:
            continue
        columns = _columns(shape, bm, (64, 128, 256))
        for box, (bn, warps, stages) in product(_layouts(shape, bm), columns):
            knobs = dict(zip(("images", "lines", "pixels"), box, strict=True))
            knobs |= {"boxed": 1, "bn": bn, "bk": bk, "warps": warps, "stages": stages}
            yield {**knobs, "persistent": 0}
            if ConvTiling(shape, {**knobs, "persistent": 1}).tiles > _MULTIPROCESSORS:
                yield {**knobs, "persistent": 1}
            if (bn, bm) == _MORE and bn < f:
                yield {**knobs, "more": bn // 2, "persistent": 0}


def _gathered(shape: ConvShape) -> Iterator[Knobs]:
    """Plans that gather pixels through pointers, for any layout."""
    for bm, bk in product((32, 64, 128, 256), (32, 64, 128)):
        if (bm > 32 and bm >= 2 * shape.pixels) or (bk > 64 and shape.channels % bk):
            continue
        for bn, warps, stages in _columns(shape, bm, (16, 32, 64, 128, 256)):
            knobs = {"boxed": 0, "bm": bm, "bn": bn, "bk": bk, "warps": warps, "stages": stages}
            if shape.channels >= 16 or shape.places == 1 or shape.spread != (1, 1):
                yield {**knobs, "flat": 0}
            if shape.spread == (1, 1) and (shape.channels < 32 or not shape.channels_last):
                yield {**knobs, "flat": 1}


def _columns(shape: ConvShape, bm: int, widths: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Filters of a tile, warps and stages for which a thread has a suitable number of sums."""
    for bn, warps, stages in product(widths, (4, 8), (2, 3, 4, 5, 6)):
        narrow = bn == widths[0] or bn < 2 * shape.filters
        sums = bm * bn / (warps * 32)
        if narrow and sums <= 128 and (sums >= 32 or warps == 4):
            yield bn, warps, stages


def _layouts(shape: ConvShape, bm: int) -> list[tuple[int, int, int]]:
    """Images, lines and pixels of boxes with `bm` pixels that cover the result with the least waste."""
    powers = [1 << each for each in range(bm.bit_length())]
    found = [
        (bm // (lines * pixels), lines, pixels)
        for lines, pixels in product(powers, powers)
        if lines * pixels <= bm and lines < 2 * shape.out_h and pixels < 2 * shape.out_w
    ]
    fits = [each for each in found if each[0] < 2 * shape.images and max(each) <= _MOST_IN_BOX]
    return sorted(fits, key=lambda each: (_boxes(shape, each), -each[2], -each[1]))[:_SHAPES]


def _boxes(shape: ConvShape, box: tuple[int, int, int]) -> int:
    sizes = (shape.images, shape.out_h, shape.out_w)
    return math.prod(-(-size // own) for size, own in zip(sizes, box, strict=True))


PARAMETERS: tuple[str, ...] = ("x", "w", "e0", "e1", "e2", "e3", "e4", "e5", "out", "partial")
_MOST_EXTRAS = len(PARAMETERS) - 4

_ELEMENTWISE = (
    "f16", "bf16", "relu", "relu_ordered", "at_most_6", "gelu", "gelu_tanh", "silu", "quick_gelu", "sigmoid",
)  # fmt: skip

Step = tuple[str, str]
"""An operation, and the index of its operand: `filter`, `image` or `pixel`; empty without an operand."""


class TritonConv(TritonKernel):
    """Computes an implicit product of pixels by filters, also with padding: f16 or bf16 with f32 sums."""

    name = "triton_conv"
    spreads = True
    finishes = True
    summary = "f16 and bf16 2-D convolutions, padded or not, with epilogues, for Hopper, by Triton"

    def refuses(self, problem: Problem) -> str:
        """Other ops, types and epilogues, and convolutions without channels to sum over."""
        shape = shape_for(problem)
        if shape is None or shape.depthwise:
            return (
                "it is not a convolution of rows or images with channels, whose filter can be read in place"
            )
        if why := refused(problem):
            return why
        return "" if plans(shape) else "no tile fits it"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        shape = shape_for(problem)
        return () if shape is None else tuple(plan.knobs for plan in plans(shape))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        shape = shape_for(problem)
        if shape is None or target.backend != self.backend or self.refuses(problem):
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        plan = ConvTiling(shape, knobs)
        from iree_tuner.kernels import triton_conv_source

        function = triton_conv_source.boxed if plan.knobs["boxed"] else triton_conv_source.gathered
        workgroups, constants = (plan.workgroups, plan.shape.groups, 1), constants_of(problem, plan)
        return made_code(problem, function, constants, knobs, PARAMETERS, workgroups, plan.partial_bytes)


def refused(problem: Problem) -> str:
    """Why no source computes a convolution: its types, its epilogue or its arrays; empty if one does."""
    image, weights, sums = map(str, problem.workload.types)
    if image != weights or image not in ("f16", "bf16") or sums not in ("f32", image):
        return f"its types are {', '.join((image, weights, sums))}, not f16 or bf16"
    if why := triton_finish.refused(problem):
        return why
    unknown = [step for step in triton_finish.steps_of(problem) if _step(problem, step) is None]
    if unknown:
        return f"its epilogue has {unknown[0]}, which it does not compute in this layout"
    if problem.finish is not None and finish_of(problem) is None:
        return "its epilogue is computed in another order of pixels and filters"
    if len(problem.inputs) - 2 > _MOST_EXTRAS:
        return f"its epilogue has more than {_MOST_EXTRAS} operands"
    return unfit_arrays(problem, NARROW)


def shape_for(problem: Problem) -> ConvShape | None:
    """The shape that the source computes: pixels are joined into one line if a window is one pixel.

    The result of a spread image is computed in phases, which are its groups: each has the pixels of one place
    between two of the image's, and the positions of the window that meet no zeros there.
    """
    shape = conv_shape(problem)
    images = not any(step.startswith("image_") for step in problem.epilogue)
    if shape is None or shape.spread == (1, 1):
        return None if shape is None else shape.joined(images=images)
    if shape.groups > 1 or not shape.strides == shape.dilations == (1, 1):
        return None
    (down, along), (image, line, pixel, filters, group) = shape.spread, shape.result
    return replace(
        shape, out_h=-(-shape.out_h // down), out_w=-(-shape.out_w // along), groups=down * along,
        window_h=-(-shape.window_h // down), window_w=-(-shape.window_w // along),
        result=(image, line * down, pixel * along, filters, group),
    )  # fmt: skip


def _step(problem: Problem, name: str) -> Step | None:
    """A step of the epilogue in the source's form; None if the source does not compute it."""
    if name in _ELEMENTWISE:
        return name, ""
    if name in WHOLE:
        return OPERATIONS[name], "pixel"
    workload, loops = problem.workload, problem.workload.maps[2].loops
    *along, operation = name.split("_")
    filters = (*workload.role("depth"), *workload.role("output_channel"))
    at = 1 if "channel" in along else len(loops) - len(filters)
    size = problem.result.shape[1 if "channel" in along else -1]  # groups and their filters may be joined
    if operation not in OPERATIONS or loops[at : at + len(filters)] != filters:
        return None
    if size != math.prod(workload.loops[each] for each in filters):
        return None
    if "image" not in along:
        return OPERATIONS[operation], "filter"
    return (OPERATIONS[operation], "image") if loops[:1] == workload.role("batch") else None


def finish_of(problem: Problem) -> Nest | None:
    """The step without a name, with loops of pixels, then of filters; None without one, or if it cannot be.

    Pixels are those of all images in the order of lines, and filters those of all groups.
    """
    workload, nest = problem.workload, problem.finish
    written, sizes = workload.maps[2].loops, workload.loops
    parts = None if nest is None else common_parts(nest.sizes, [sizes[each] for each in written])
    if nest is None or parts is None:
        return None
    roles = ("batch", "output_image", "depth", "output_channel")
    loops = [loop for role in roles for loop in workload.role(role)]
    return nest.in_parts([part for loop in loops for part in parts if written[part.of] == loop])


def finish_function(problem: Problem, full: tuple[bool, bool]) -> Any:  # noqa: ANN401 - Triton has no types
    """The same as a function in Triton. `full`: whether no pixels are past the end, and no filters."""
    shape = conv_shape(problem)
    assert shape is not None, "`refuses` has looked"
    sides = shape.pixels, shape.groups * shape.filters
    return triton_finish.function_of(finish_of(problem), sides, full, len(PARAMETERS) - 2)


def sizes_of(problem: Problem, shape: ConvShape) -> dict[str, object]:
    """The constants that do not depend on knobs: sizes of images and windows, and the epilogue."""
    steps = [each for each in (_step(problem, name) for name in triton_finish.steps_of(problem)) if each]
    extras = [number for number, (_, where) in enumerate(steps) if where]
    return {
        "N": shape.images, "H": shape.in_h, "W": shape.in_w, "OH": shape.out_h, "OW": shape.out_w,
        "F": shape.filters, "KH": shape.window_h, "KW": shape.window_w, "STRIDES": shape.strides,
        "DILATIONS": shape.dilations, "LOW": shape.low, "STEPS": tuple(name for name, _ in steps),
        "WHERE": tuple(where for _, where in steps),
        "EXTRA": tuple(2 + extras.index(each) if each in extras else -1 for each in range(len(steps))),
    }  # fmt: skip


def _phases(problem: Problem, shape: ConvShape) -> dict[str, object]:
    """The constants of phases (`shape_for`): sizes of the window and of the result that they are parts of."""
    whole = conv_shape(problem)
    assert whole is not None, "it has phases"
    apart = shape.spread != (1, 1)
    window, out = (
        ((whole.window_h, whole.window_w), (whole.out_h, whole.out_w)) if apart else ((0, 0), (0, 0))
    )
    return {"SPREAD": shape.spread if apart else None, "WINDOW": window, "WHOLE": out}


def constants_of(problem: Problem, plan: ConvTiling) -> dict[str, object]:
    """The compile-time constants of the source."""
    shape, knobs = plan.shape, plan.knobs
    found = {**sizes_of(problem, shape), "C": shape.channels, "BN": knobs["bn"], "BK": knobs["bk"]}
    whole = bool(knobs["boxed"]) or shape.pixels % plan.bm == 0  # pixels outside of a box are not computed
    found["FINISH"] = finish_function(problem, (whole, shape.filters % plan.across == 0))
    if knobs["boxed"]:
        own = {
            "TN": knobs["images"], "TH": knobs["lines"], "TW": knobs["pixels"],
            "WORKGROUPS": plan.workgroups, "FLATTEN": bool(knobs["persistent"]), "MORE": knobs.get("more", 0),
        }  # fmt: skip
    else:
        own = {
            "PADDED": shape.padded, "GROUPS": shape.groups, "X": shape.image, "Y": shape.filter,
            "Z": shape.result, "BM": plan.bm, "FLAT": bool(knobs["flat"]),
            "CHANNELS_LAST": shape.channels_last, "SPLIT": plan.split, **_phases(problem, shape),
        }  # fmt: skip
    return found | own
