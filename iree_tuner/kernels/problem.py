"""Problems: what a kernel has to compute, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from iree_tuner.errors import TunerError
from iree_tuner.kernels.integers import Integers
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.workload import Workload


class KernelError(TunerError):
    """A kernel's code cannot be made or used."""


@dataclass(frozen=True)
class Array:
    """A dense row-major array."""

    shape: tuple[int, ...]
    element_type: str

    def __str__(self) -> str:
        return "x".join((*map(str, self.shape), self.element_type))


@dataclass(frozen=True)
class Problem:
    """A root op that starts from zeros, and the elementwise ops on its result that belong to it.

    Attributes:
        workload: the root op.
        inputs: its operands, and then those of the epilogue.
        result: what comes out.
        epilogue: what is done with each sum, in order: `bias` (the next input is added along the last
            dimension), `channel_bias` (the next input is added along the second one: the channels of an
            image that has them first), `image_bias` and `image_channel_bias` (also along the first one, the
            images), the same with `gain` (it is multiplied) or `minus` (it is subtracted) in the place of
            `bias`, `residual` (the next input is added), `factor` (it is multiplied by the next input),
            `scale`, `relu`, `relu_ordered` (which makes 0 of a NaN), `at_most_6`, `gelu`, `gelu_tanh`,
            `silu`, `truncf`. The last one may be `moved`: operands are read, and the result is written, in
            other orders than the steps and the program's root op see them; the workload has them.
        scale: what the scores of an attention are multiplied by, or a sum by the step `scale`.
        after: how many keys after its own place a query of an attention sees; None where it sees all.
        seen: with `moved`, the workload's loops for each dimension of the array that the other steps see.
        padding: how many zeros belong before and after the first input in each of its dimensions, where that
            is an image without the zeros that the root op reads around it; empty where it is read as it is. A
            kernel that does not put them there refuses such a problem.
        fused: of a chain of ops (`chains`), a program that computes it by one op; text. Otherwise empty.
        integers: of sums of integers, how operands are read and what follows; then `epilogue` is empty.
    """

    workload: Workload
    inputs: tuple[Array, ...]
    result: Array
    epilogue: tuple[str, ...] = ()
    scale: float = 1.0
    after: int | None = None
    seen: tuple[tuple[int, ...], ...] = ()
    padding: tuple[tuple[int, int], ...] = ()
    fused: bytes = b""
    integers: Integers | None = None

    @property
    def name(self) -> str:
        """Readable and short, like `matmul_512x768x1024_f16_f16_f32_relu`; not unique."""
        causal = () if self.after is None else ("causal",)
        padded = ("padded",) if self.padding else ()
        follows = self.integers is not None and self.integers.formula
        then = ("to", self.result.element_type) if follows else ()
        return "_".join((self.workload.name, *causal, *padded, *self.epilogue, *then))


def scratch_room(problem: Problem) -> int:
    """Bytes of scratch memory that there is for a problem, the same for all that is compared.

    As much as four results of f32 take: copies of the data are to rotate through caches, and not this.
    """
    return max(1 << 20, 16 * math.prod(problem.result.shape))


@dataclass(frozen=True)
class Conv:
    """A convolution of images with channels last by a filter with output channels last.

    Attributes:
        batch, out_h, out_w, filters: the result's sizes.
        window_h, window_w, channels: the filter's.
        strides, dilations: of rows and columns.
    """

    batch: int
    out_h: int
    out_w: int
    filters: int
    window_h: int
    window_w: int
    channels: int
    strides: tuple[int, int]
    dilations: tuple[int, int]

    @property
    def in_h(self) -> int:
        """Rows of an image that are read."""
        return (self.out_h - 1) * self.strides[0] + (self.window_h - 1) * self.dilations[0] + 1

    @property
    def in_w(self) -> int:
        """Columns of an image that are read."""
        return (self.out_w - 1) * self.strides[1] + (self.window_w - 1) * self.dilations[1] + 1


def conv_of(problem: Problem) -> Conv | None:
    """The problem as a 2-D convolution of `nhwc` by `hwcf`; None where it is none."""
    workload = problem.workload
    if not is_convolution(workload) or len(workload.loops) != 7 or workload.dynamic:
        return None
    one = {role: workload.role(role) for role in ("batch", "output_channel", "input_channel")}
    image, window = workload.role("output_image"), workload.role("filter")
    if [*map(len, one.values()), len(image), len(window)] != [1, 1, 1, 2, 2]:
        return None
    (n,), (f,), (c,) = one["batch"], one["output_channel"], one["input_channel"]
    (y, x), (ky, kx) = image, window
    read, *others = (each.dimensions for each in workload.maps)
    if others != [(ky, kx, c, f), (n, y, x, f)] or (read[0], read[-1]) != (n, c):
        return None
    strides, dilations = workload.parameter("strides"), workload.parameter("dilations")
    if len(strides) != 2 or len(dilations) != 2:
        return None
    sizes = workload.loops
    return Conv(
        sizes[n], sizes[y], sizes[x], sizes[f], sizes[ky], sizes[kx], sizes[c],
        (strides[0], strides[1]), (dilations[0], dilations[1]),
    )  # fmt: skip
