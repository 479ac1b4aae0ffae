"""Contractions and convolutions as batched products of rows by columns, which the C kernels compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from iree_tuner.kernels.problem import Problem, conv_of, loops_of_conv
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.workload import Workload


@dataclass(frozen=True)
class Windows:
    """A right operand whose columns are pixels of an image with channels first.

    Attributes:
        width: pixels of a line of the result.
        line, pixel: distances in the image, in elements, for the result's next line and pixel.
        channel: distance of channels, in elements.
        offsets: of a window's positions from its first one, in elements.
    """

    width: int
    line: int
    pixel: int
    channel: int
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class Shape:
    """A product whose left rows may be windows of pixels with channels last.

    Attributes:
        lines, width: lines of all images together, and pixels of a line; each pixel is a row. A matrix is
            one line.
        lines_of_image: lines of one image.
        image, line, pixel: distances in the left operand, in elements, for the next image, line and pixel.
        columns: columns of the result.
        channels: depth at one position of the window.
        offsets: of the window's positions from its first one, in elements.
        right_row, right_column: distances of rows and of columns in the right operand, in elements.
        result_row: distance of rows in the result, in elements.
        batch: number of products, and the distances of products in both operands and the result, in elements.
        swapped: whether the left operand is the problem's second one.
        windows: how columns are read if the right operand is an image; otherwise None.
    """

    lines: int
    width: int
    lines_of_image: int
    image: int
    line: int
    pixel: int
    columns: int
    channels: int
    offsets: tuple[int, ...]
    right_row: int
    right_column: int
    result_row: int
    batch: tuple[int, int, int, int] = (1, 0, 0, 0)
    swapped: bool = False
    windows: Windows | None = field(default=None)

    @property
    def rows(self) -> int:
        return self.lines * self.width

    @property
    def depth(self) -> int:
        """The number of products in a sum."""
        return self.channels * len(self.offsets)


def shape_of(problem: Problem) -> Shape | None:
    """The problem as a product of rows by columns; None if it is none."""
    workload = problem.workload
    if workload.dynamic:
        return None
    if is_contraction(workload):
        return _contraction(workload, (0, 1)) or _contraction(workload, (1, 0))
    return _channels_last(problem) or _channels_first(problem)


@dataclass(frozen=True)
class _Loop:
    """Loops of one role, joined: the size, and the strides in both operands and the result, in elements."""

    size: int
    steps: tuple[int, ...]


def right_matrix(problem: Problem, shape: Shape) -> tuple[int, tuple[int, int], int] | None:
    """The right operand's number, its matrix sizes, and the dimension of columns; None if it is no matrix."""
    number = int(not shape.swapped)
    whole = math.prod(problem.inputs[number].shape) == shape.depth * shape.columns
    if shape.windows is not None or shape.batch[0] > 1 or not whole:
        return None
    if (shape.right_row, shape.right_column) == (shape.columns, 1):
        return number, (shape.depth, shape.columns), 1
    if (shape.right_row, shape.right_column) == (1, shape.depth):
        return number, (shape.columns, shape.depth), 0
    return None


def _contraction(workload: Workload, order: tuple[int, int]) -> Shape | None:
    """The shape with operands in this order: the first one has the rows, the second one the columns."""
    places = [list(one.dimensions) for one in workload.maps]
    if any(each is None for one in places for each in one):
        return None
    left, right, result = (places[each] for each in (*order, 2))
    steps = [_steps(place, workload.loops) for place in (left, right, result)]
    used = [tuple(each in place for place in (left, right, result)) for each in range(len(workload.loops))]
    found: list[_Loop] = []
    for role in ((True, True, True), (True, False, True), (False, True, True), (True, True, False)):
        own = [each for each, size in enumerate(workload.loops) if size > 1 and used[each] == role]
        loop = _joined(own, workload.loops, steps)
        if loop is None:
            return None
        found.append(loop)
    covered = math.prod(each.size for each in found) == math.prod(workload.loops)
    batch, m, n, k = found
    if not covered or (k.size > 1 and k.steps[0] != 1) or (n.size > 1 and n.steps[2] != 1):
        return None
    row, column = k.steps[1] if k.size > 1 else n.size, n.steps[1] if n.size > 1 else k.size
    if 1 not in (row, column):
        return None
    if n.size == 1 and m.size > 1:
        return None  # in the other order, these rows are columns
    return Shape(
        1, m.size, 1, 0, 0, m.steps[0] if m.size > 1 else k.size, n.size, k.size, (0,), row, column,
        m.steps[2] if m.size > 1 else n.size,
        (batch.size, batch.steps[0], batch.steps[1], batch.steps[2]), order == (1, 0),
    )  # fmt: skip


def _steps(place: Sequence[int | None], sizes: Sequence[int]) -> dict[int, int]:
    """The stride of each loop in a dense array, in elements."""
    found: dict[int, int] = {}
    step = 1
    for each in reversed(place):
        if each is not None:
            found[each] = step
            step *= sizes[each]
    return found


def _joined(own: list[int], sizes: Sequence[int], steps: Sequence[dict[int, int]]) -> _Loop | None:
    """Join loops that follow each other in every array; None if they do not."""
    if not own:
        return _Loop(1, (0,) * len(steps))
    first = next(each for each in steps if own[0] in each)
    own = sorted(own, key=lambda each: -first[each])
    for one, other in pairwise(own):
        if any(one in each and each[one] != each[other] * sizes[other] for each in steps):
            return None
    return _Loop(math.prod(sizes[each] for each in own), tuple(each.get(own[-1], 0) for each in steps))


def _channels_last(problem: Problem) -> Shape | None:
    conv = conv_of(problem)
    if conv is None:
        return None
    _, height, width, channels = problem.inputs[0].shape  # an image may be larger than the part that is read
    line = width * channels
    offsets = _offsets(
        (conv.window_h, conv.window_w), (conv.dilations[0] * line, conv.dilations[1] * channels)
    )
    last = (conv.filters, channels, offsets, conv.filters, 1, conv.filters)
    if len(offsets) == 1 and conv.strides == (1, 1) and (height, width) == (conv.out_h, conv.out_w):
        return Shape(1, conv.batch * height * width, 1, 0, 0, channels, *last)
    return Shape(
        conv.batch * conv.out_h, conv.out_w, conv.out_h, height * line, conv.strides[0] * line,
        conv.strides[1] * channels, *last,
    )  # fmt: skip


def _offsets(window: tuple[int, int], steps: tuple[int, int]) -> tuple[int, ...]:
    return tuple(y * steps[0] + x * steps[1] for y in range(window[0]) for x in range(window[1]))


def _channels_first(problem: Problem) -> Shape | None:
    """A convolution of `nchw` by `fchw`: the rows are filters, and the columns are pixels."""
    found = loops_of_conv(problem, batch=1, output_channel=1, input_channel=1, output_image=2, filter=2)
    if found is None:
        return None
    ((n,), (f,), (c,), (y, x), (ky, kx)), strides, dilations = found
    read, *others = (each.dimensions for each in problem.workload.maps)
    if others != [(f, c, ky, kx), (n, f, y, x)] or read[:2] != (n, c):
        return None
    sizes = problem.workload.loops
    _, channels, height, width = problem.inputs[0].shape
    offsets = _offsets((sizes[ky], sizes[kx]), (dilations[0] * width, dilations[1]))
    depth, pixels = channels * len(offsets), sizes[y] * sizes[x]
    plain = len(offsets) == 1 and strides == (1, 1) and (height, width) == (sizes[y], sizes[x])
    windows = Windows(sizes[x], strides[0] * width, strides[1], height * width, offsets)
    return Shape(
        1, sizes[f], 1, 0, 0, depth, pixels, depth, (0,), height * width, 1, pixels,
        (sizes[n], 0, channels * height * width, sizes[f] * pixels), swapped=True,
        windows=None if plain else windows,
    )  # fmt: skip
