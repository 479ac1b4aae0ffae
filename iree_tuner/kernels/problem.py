"""Problems, which describe the computation of a kernel as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from iree_tuner.errors import TunerError
from iree_tuner.kernels.integers import Integers
from iree_tuner.kernels.nest import Nest
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
        inputs: the operands of the root op, and then the operands of the epilogue.
        result: the array that is written.
        epilogue: steps on each sum, in order. `bias` adds the next input along the last dimension,
            `channel_bias` along the second one (channels of images with channels first). `image_bias` and
            `image_channel_bias` also have the first dimension, the images. Names with `gain` or `minus`
            instead of `bias` multiply or subtract. `residual` adds the next input, `factor` multiplies by
            it. Steps without inputs are `scale`, `relu`, `relu_ordered` (turns NaN into 0), `at_most_6`,
            `gelu`, `gelu_tanh`, `silu` and `truncf`. The last step may be `moved`: operands and result have
            other orders of dimensions in memory than the root op and the steps see. The workload has the
            orders in memory.
        scale: the factor of an attention's scores, or of the step `scale`.
        after: how many keys after its own position a query of an attention sees; None if it sees all keys.
        seen: with `moved`, the workload's loops for each dimension of the array that the other steps see.
        padding: the number of zeros before and after the first input in each dimension, if the kernel has to
            pad that input itself; otherwise empty. Kernels that cannot pad refuse such problems.
        fused: for a chain of ops (`chains`), the text of a program that computes it by one op; otherwise
            empty.
        nest: for a large sum, elementwise op or chain (`split_sums`, `chains`), its loops;
            otherwise None.
        integers: for sums of integers, how operands are read and which formula follows; `epilogue` is then
            empty.
        constants: numbers of the inputs that are constants of the program. A kernel may get these packed.
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
    constants: tuple[int, ...] = ()
    nest: Nest | None = None

    @property
    def name(self) -> str:
        """A short, readable name like `matmul_512x768x1024_f16_f16_f32_relu`. Names are not unique."""
        causal = () if self.after is None else ("causal",)
        padded = ("padded",) if self.padding else ()
        follows = self.integers is not None and self.integers.formula
        then = ("to", self.result.element_type) if follows else ()
        return "_".join((self.workload.name, *causal, *padded, *self.epilogue, *then))


LEAST_SCRATCH = 1 << 20
"""Bytes of scratch memory that each problem has at least."""


def scratch_room(problem: Problem) -> int:
    """Bytes of scratch memory for a problem, equal for all candidates.

    The memory of four f32 results, at least `LEAST_SCRATCH`. More would disturb the rotation of data through
    caches. Kernels for integers pack an operand, which takes up to twice its memory with its padding.
    """
    operands = problem.inputs[:2] if problem.integers is not None else ()
    packed = (2 * math.prod(each.shape) for each in operands)
    return max(LEAST_SCRATCH, 16 * math.prod(problem.result.shape), *packed)


@dataclass(frozen=True)
class Conv:
    """A convolution of images with channels last by a filter with output channels last.

    Attributes:
        batch, out_h, out_w, filters: the result's sizes.
        window_h, window_w, channels: the filter's other sizes.
        strides, dilations: along rows and along columns.
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
        return (self.out_h - 1) * self.strides[0] + (self.window_h - 1) * self.dilations[0] + 1

    @property
    def in_w(self) -> int:
        return (self.out_w - 1) * self.strides[1] + (self.window_w - 1) * self.dilations[1] + 1


def loops_of_conv(
    problem: Problem, **roles: int
) -> tuple[list[tuple[int, ...]], tuple[int, ...], tuple[int, ...]] | None:
    """Loops of a static 2-D convolution by role, its strides and dilations; None for other problems.

    `roles` are the numbers of loops of all of its roles.
    """
    workload = problem.workload
    if not is_convolution(workload) or len(workload.loops) != sum(roles.values()) or workload.dynamic:
        return None
    found = [workload.role(each) for each in roles]
    strides, dilations = workload.parameter("strides"), workload.parameter("dilations")
    fits = [*map(len, found)] == [*roles.values()] and len(strides) == len(dilations) == 2
    return (found, tuple(strides), tuple(dilations)) if fits else None


def conv_of(problem: Problem) -> Conv | None:
    """The problem as a 2-D convolution of `nhwc` by `hwcf`; None if it is another problem."""
    found = loops_of_conv(problem, batch=1, output_channel=1, input_channel=1, output_image=2, filter=2)
    if found is None:
        return None
    ((n,), (f,), (c,), (y, x), (ky, kx)), strides, dilations = found
    read, *others = (each.dimensions for each in problem.workload.maps)
    if others != [(ky, kx, c, f), (n, y, x, f)] or (read[0], read[-1]) != (n, c):
        return None
    sizes = problem.workload.loops
    return Conv(
        sizes[n], sizes[y], sizes[x], sizes[f], sizes[ky], sizes[kx], sizes[c],
        (strides[0], strides[1]), (dilations[0], dilations[1]),
    )  # fmt: skip
