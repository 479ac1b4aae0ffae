"""Depthwise convolutions for NVIDIA GPUs, by Triton's ahead-of-time compiler, which needs no GPU."""

from __future__ import annotations

import math
from itertools import product

from iree_tuner.kernels.kernel import Code, KernelError, Knobs, Problem
from iree_tuner.kernels.shapes import ConvShape, conv_shape
from iree_tuner.kernels.triton_code import TritonKernel, made_code
from iree_tuner.kernels.triton_conv import PARAMETERS, finish_function, refused, sizes_of
from iree_tuner.targets import Target

_MULTIPROCESSORS, _RESIDENT = 132, 1024  # of an H200; threads that are needed to hide latencies, by estimate
_WIDTH, _LINE = 8, 64  # 16-bit values that a thread loads at once, and that fill a line of a cache
_SUMS = (8, 16, 32, 64)  # of a thread
_MOST_AT_ONCE, _AT_ONCE = 7, 4  # positions of a window's line; and where no number divides them
_MOST_IN_Y = 65_535


class TritonDepthwise(TritonKernel):
    """Keeps the sums of a tile of pixels and channels in registers, over all positions of the window."""

    name = "triton_depthwise"
    finishes = True
    summary = "f16 and bf16 depthwise convolutions, padded or not, with epilogues, for Hopper, by Triton"

    def refuses(self, problem: Problem) -> str:
        """Other ops, types and epilogues."""
        shape = conv_shape(problem)
        if shape is None or not shape.depthwise:
            return "it is not a depthwise convolution of rows or images"
        if shape.image[4] != 1 or shape.result[4] != 1:
            return "its channels are not last"
        return refused(problem)

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        shape = conv_shape(problem)
        if shape is None:
            return ()
        found: list[Knobs] = []
        for bn, sums, warps in product((16, 32, 64, 128, 256), _SUMS, (1, 2, 4, 8)):
            bm = sums * warps * 32 // bn
            fits = bm >= 1 and bm < 2 * shape.pixels and (bn == 16 or bn < 2 * shape.groups)
            if fits and -(-shape.groups // bn) <= _MOST_IN_Y:
                found.append({"bm": bm, "bn": bn, "warps": warps, "stages": 1})
        return tuple(sorted(found, key=lambda each: _misfit(shape, each)))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        shape = conv_shape(problem)
        if shape is None or target.backend != self.backend or self.refuses(problem):
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        from iree_tuner.kernels import triton_conv_source

        workgroups = -(-shape.pixels // knobs["bm"]), -(-shape.groups // knobs["bn"]), 1
        constants = constants_of(problem, shape, knobs)
        return made_code(problem, triton_conv_source.depthwise, constants, knobs, PARAMETERS, workgroups, 0)


def constants_of(problem: Problem, shape: ConvShape, knobs: Knobs) -> dict[str, object]:
    """The compile-time constants of the source."""
    at_once = max(each for each in range(1, _MOST_AT_ONCE + 1) if shape.window_w % each == 0)
    at_once = at_once if at_once > 1 or shape.window_w == 1 else _AT_ONCE
    full = shape.pixels % knobs["bm"] == 0, shape.groups % knobs["bn"] == 0
    return sizes_of(problem, shape) | {
        "PADDED": shape.padded, "GROUPS": shape.groups, "X": shape.image, "Y": shape.filter,
        "Z": shape.result, "BM": knobs["bm"], "BN": knobs["bn"], "AT_ONCE": at_once,
        "FINISH": finish_function(problem, full),
    }  # fmt: skip


def _misfit(shape: ConvShape, knobs: Knobs) -> tuple[float, ...]:
    """A sort key, small for promising variants: wide loads, full tiles and waves, and few pixels read twice.

    Workgroups of one warp were the fastest on an H200, with tiles of 8 pixels by 64 and by 128 channels.
    """
    threads = 32 * knobs["warps"]
    sums = knobs["bm"] * knobs["bn"] / threads
    tiles = -(-shape.pixels // knobs["bm"]) * -(-shape.groups // knobs["bn"])
    waste = tiles * knobs["bm"] * knobs["bn"] / (shape.pixels * shape.groups)
    at_once = max(1, _RESIDENT // threads) * _MULTIPROCESSORS
    waves = -(-tiles // at_once) * at_once / tiles
    narrow = max(1.0, _WIDTH / sums) * max(1.0, math.sqrt(_LINE / knobs["bn"]))
    again = 1 + shape.window_w / knobs["bm"] / 8  # pixels around the tile are read again
    together = 1 + knobs["warps"] / 16
    return waste * narrow * again * together * math.sqrt(waves), abs(sums - 16)
