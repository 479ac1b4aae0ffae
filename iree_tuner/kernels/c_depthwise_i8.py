"""Depthwise convolutions of 8-bit integers with channels last, in C."""

from __future__ import annotations

from iree_tuner.device.device_facts import usable_cores
from iree_tuner.kernels.c_code import EXACT, CKernel, compiled, formula_of, refused_integers, widths
from iree_tuner.kernels.c_depthwise import depthwise_of, tiles_of
from iree_tuner.kernels.integers import Integers
from iree_tuner.kernels.kernel import Code, Knobs, Launch, Problem
from iree_tuner.targets import Target

_SOURCE, _ENTRY = "depthwise_i8.c", "iree_tuner_depthwise_i8"
_PIXELS, _VECTORS, _PARTS = (7, 8, 4, 14, 2, 1), (4, 2, 1, 3), (1, 2, 3, 4, 6, 8, 16)
_MOST_COLUMNS = 32  # of the image, in an unrolled loop
_COLUMN_CYCLES, _DOT_CYCLES, _TILE_CYCLES, _WORKGROUP_CYCLES = 3.5, 0.6, 6.0, 3000.0


class CDepthwiseI8(CKernel):
    """Keeps the sums of a tile of pixels and channels in registers, over all positions of the window."""

    name = "c_depthwise_i8"
    summary = "i8 depthwise 2-D convolutions (nhwc) in C, VNNI, padding, requantization"

    def refuses(self, problem: Problem) -> str:
        if depthwise_of(problem) is None:
            return "it is not a depthwise convolution of nhwc by hwc"
        if why := refused_integers(problem):
            return why
        assert problem.integers is not None
        return "" if problem.integers.signed[1] else "its filter is unsigned"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        shape = self.known(depthwise_of(problem), problem)
        threads, reach = usable_cores(), (shape.window[1] - 1) * shape.dilations[1] + 1

        def fits(pixels: int) -> bool:
            columns = (pixels - 1) * shape.strides[1] + reach
            return pixels == 1 or (pixels <= shape.out_w and columns <= _MOST_COLUMNS)

        found = tiles_of(shape, [each for each in _PIXELS if fits(each)], _VECTORS, _PARTS)
        return tuple(sorted(found, key=lambda each: _cycles(problem, each, threads)))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        shape = self.known(depthwise_of(problem), problem)
        lines, integers = shape.batch * shape.out_h, problem.integers or Integers((True, True))
        _, high, across, channels = problem.inputs[0].shape
        padding = integers.padding
        macros: dict[str, int | str] = {
            **{name.upper(): value for name, value in knobs.items()},
            "LINES": lines, "WIDTH": shape.out_w, "LINES_OF_IMAGE": shape.out_h, "CHANNELS": channels,
            "IMAGE": high * across * channels, "IMAGE_LINE": across * channels,
            "HIGH": high, "ACROSS": across, "WINDOW_H": shape.window[0], "WINDOW_W": shape.window[1],
            "STRIDE_H": shape.strides[0], "STRIDE_W": shape.strides[1],
            "DILATION_H": shape.dilations[0], "DILATION_W": shape.dilations[1],
            "SIGNED": int(integers.signed[0]), "PADDED": int(integers.padded),
            "ABOVE": padding.above, "BEFORE": padding.left, "AROUND": padding.value,
            **formula_of(problem),
        }  # fmt: skip
        launch = Launch((-(-lines // knobs["part"]), 1, 1))
        return compiled(_SOURCE, _ENTRY, macros, target, launch, knobs, EXACT)


def _cycles(problem: Problem, knobs: Knobs, threads: int) -> float:
    shape = depthwise_of(problem)
    assert shape is not None
    pixels, lanes, integers = knobs["pixels"], knobs["lanes"], problem.integers
    groups, after = -(-shape.window[0] // 4), 3 + 0.6 * len(integers.formula if integers else ())
    vectors = -(-shape.channels // lanes)
    line = 0.0
    for long, count in ((pixels, shape.out_w // pixels), (rest := shape.out_w % pixels, int(rest > 0))):
        columns = (long - 1) * shape.strides[1] + (shape.window[1] - 1) * shape.dilations[1] + 1
        sums = groups * (columns * _COLUMN_CYCLES + long * shape.window[1] * _DOT_CYCLES)
        line += count * vectors * (sums + long * after + _TILE_CYCLES)
    passes = -(-vectors // knobs["vectors"])  # over the lines of an image
    workgroups = -(-shape.batch * shape.out_h // knobs["part"])
    slower = 1.0 if lanes == widths()[0] else 1.5
    return (-(-workgroups // threads) + 0.04) * (
        knobs["part"] * (line + 20 * passes) * slower + _WORKGROUP_CYCLES
    )
