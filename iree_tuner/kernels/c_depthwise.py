"""f32 depthwise convolutions with channels last, in C with vector types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from iree_tuner.device.device_facts import usable_cores
from iree_tuner.kernels.c_code import CKernel, c_type, compiled, refused, steps_of, widths
from iree_tuner.kernels.c_plan import window_offsets
from iree_tuner.kernels.kernel import Code, Knobs, Launch, Problem, loops_of_conv
from iree_tuner.targets import Target

_SOURCE, _ENTRY = "depthwise_f32.c", "iree_tuner_depthwise_f32"
_PIXELS, _VECTORS = (4, 8, 2, 6, 3, 12, 1), (1, 2, 4, 3, 6, 8)
_REGISTERS = {16: 28, 8: 13, 4: 28}  # for sums, by the number of f32 in a vector
_PARTS = (1, 2, 4, 8, 16, 32)
_FMA_CYCLES, _TILE_CYCLES, _WORKGROUP_CYCLES = 4.0, 10.0, 2000.0


@dataclass(frozen=True)
class Depthwise:
    """A depthwise convolution of `nhwc` by `hwc`.

    Attributes:
        batch, out_h, out_w, channels: the result's sizes.
        image, line, pixel: distances in the input, in elements, for the result's next image, line and pixel.
        offsets: of the window's positions from its first one, in elements.
        window, strides, dilations: along lines and along pixels.
    """

    batch: int
    out_h: int
    out_w: int
    channels: int
    image: int
    line: int
    pixel: int
    offsets: tuple[int, ...]
    window: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]


class CDepthwise(CKernel):
    """Keeps the sums of a tile of pixels and channels in registers, over all positions of the window."""

    name = "c_depthwise_f32"
    summary = "depthwise 2-D convolutions (nhwc) of f32, f16 and bf16 in C, padding, f32 sums, epilogues"

    def refuses(self, problem: Problem) -> str:
        if depthwise_of(problem) is None:
            return "it is not a depthwise convolution of nhwc by hwc"
        if "channel_bias" in problem.epilogue:
            return "its bias is not along its channels"
        if any(any(each) for each in (problem.padding[:1] + problem.padding[3:])):
            return "its padding is not only around the pixels of an image"
        return refused(problem)

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        shape = self.known(depthwise_of(problem), problem)
        threads = usable_cores()
        found = [
            each
            for each in tiles_of(shape, _PIXELS, _VECTORS, _PARTS)
            if (each["pixels"] + 1) * each["vectors"] <= _REGISTERS[each["lanes"]]
            and each["pixels"] <= shape.out_w
        ]
        return tuple(sorted(found, key=lambda each: _cycles(shape, each, threads)))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        shape = self.known(depthwise_of(problem), problem)
        lines = shape.batch * shape.out_h
        macros: dict[str, int | str] = {
            **{name.upper(): value for name, value in knobs.items()},
            "LINES": lines, "WIDTH": shape.out_w, "LINES_OF_IMAGE": shape.out_h, "IMAGE": shape.image,
            "LINE": shape.line, "PIXEL": shape.pixel, "CHANNELS": shape.channels,
            "PLACES": len(shape.offsets), "PLACE_OFFSETS": ",".join(map(str, shape.offsets)),
            "PADDED": int(bool(problem.padding)), **steps_of(problem),
            "LEFT": c_type(problem.inputs[0].element_type), "RIGHT": c_type(problem.inputs[1].element_type),
        }  # fmt: skip
        if problem.padding:
            _, (above, _), (before, _), _ = problem.padding
            _, high, across, _ = problem.inputs[0].shape
            macros |= {
                "HIGH": high, "ACROSS": across, "ABOVE": above, "BEFORE": before,
                "WINDOW_W": shape.window[1], "STRIDE_H": shape.strides[0], "STRIDE_W": shape.strides[1],
                "DILATION_H": shape.dilations[0], "DILATION_W": shape.dilations[1],
            }  # fmt: skip
        launch = Launch((-(-lines // knobs["part"]), 1, 1))
        return compiled(_SOURCE, _ENTRY, macros, target, launch, knobs)


def tiles_of(
    shape: Depthwise, pixels: Sequence[int], vectors: Sequence[int], parts: Sequence[int]
) -> Iterator[Knobs]:
    """All choices of these for each width of vectors that are not larger than the result."""
    lines = shape.batch * shape.out_h
    for lanes in widths():
        for each, wide, count in product(pixels, vectors, parts):
            if wide <= -(-shape.channels // lanes) and count <= lines:
                yield {"pixels": each, "vectors": wide, "lanes": lanes, "part": -(-lines // count)}


def depthwise_of(problem: Problem) -> Depthwise | None:
    """The problem as a depthwise convolution of `nhwc` by `hwc`; None if it is another problem."""
    found = loops_of_conv(problem, batch=1, output_image=2, depth=1, filter=2)
    if found is None:
        return None
    ((n,), (y, x), (c,), (ky, kx)), strides, dilations = found
    read, *others = (each.dimensions for each in problem.workload.maps)
    if others != [(ky, kx, c), (n, y, x, c)] or (read[0], read[-1]) != (n, c):
        return None
    sizes = problem.workload.loops
    _, height, width, channels = problem.inputs[0].shape  # an image may be larger than the part that is read
    line = width * channels
    offsets = window_offsets((sizes[ky], sizes[kx]), (dilations[0] * line, dilations[1] * channels))
    steps = height * line, strides[0] * line, strides[1] * channels
    return Depthwise(
        sizes[n], sizes[y], sizes[x], channels, *steps, offsets, (sizes[ky], sizes[kx]),
        (strides[0], strides[1]), (dilations[0], dilations[1]),
    )  # fmt: skip


def _cycles(shape: Depthwise, knobs: Knobs, threads: int) -> float:
    pixels, vectors, lanes = knobs["pixels"], knobs["vectors"], knobs["lanes"]
    whole, rest = divmod(-(-shape.channels // lanes), vectors)
    tiles = [(vectors, whole), *([(rest, 1)] if rest else [])]
    full, left = divmod(shape.out_w, pixels)
    rows = [(pixels, full), *([(left, 1)] if left else [])]
    line = sum(
        many * count * (len(shape.offsets) * max(0.6 * wide * long, _FMA_CYCLES) + _TILE_CYCLES)
        for wide, many in tiles
        for long, count in rows
    )
    workgroups = -(-shape.batch * shape.out_h // knobs["part"])
    slower = 1.0 if lanes == widths()[0] else 1.3
    return -(-workgroups // threads) * (knobs["part"] * line * slower + _WORKGROUP_CYCLES)
