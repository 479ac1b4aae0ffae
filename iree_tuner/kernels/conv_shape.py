"""Sizes and strides of 2-D convolutions in any layout, for kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from iree_tuner.kernels.problem import Problem
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.indexing_map import IndexingMap

_Moves = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class ConvShape:
    """A convolution of images by filters, in groups.

    Attributes:
        images, out_h, out_w: number of images, and sizes of the result.
        filters, channels, groups: filters and channels of a group, and the number of groups.
        in_h, in_w: sizes of an image without the zeros around it.
        window_h, window_w: sizes of the window.
        strides, dilations: along lines and along pixels.
        low: lines and pixels of zeros before an image.
        padded: whether windows reach outside of the image.
        image: strides of image, line, pixel, channel and group in the input, in elements.
        filter: strides of window position, channel, filter and group in the filter, in elements.
        result: strides of image, line, pixel, filter and group in the result, in elements.
    """

    images: int
    out_h: int
    out_w: int
    filters: int
    channels: int
    groups: int
    in_h: int
    in_w: int
    window_h: int
    window_w: int
    strides: tuple[int, int]
    dilations: tuple[int, int]
    low: tuple[int, int]
    padded: bool
    image: _Moves
    filter: tuple[int, int, int, int]
    result: _Moves

    @property
    def pixels(self) -> int:
        """The number of pixels of the result."""
        return self.images * self.out_h * self.out_w

    @property
    def places(self) -> int:
        """The number of positions of the window."""
        return self.window_h * self.window_w

    @property
    def channels_last(self) -> bool:
        """Whether the channels of a pixel are contiguous."""
        return self.image[3] == 1

    def joined(self, *, images: bool) -> ConvShape:
        """The shape with lines joined, on request also images, if the convolution is a matrix product.

        Convolutions with larger windows, strides or padding stay as they are.
        """
        plain = self.places == 1 and self.strides == (1, 1) and not self.padded
        if not plain or (self.in_h, self.in_w) != (self.out_h, self.out_w):
            return self
        size, count = self.out_h * self.out_w, 1
        if images and all(each[0] == size * each[2] for each in (self.image, self.result)):
            size, count = size * self.images, self.images
        return replace(
            self, images=self.images // count, out_h=1, out_w=size, in_h=1, in_w=size,
            image=_one_line(self.image, size, count), result=_one_line(self.result, size, count),
        )  # fmt: skip


def _one_line(moves: _Moves, size: int, images: int) -> _Moves:
    """The strides of images whose pixels are one line of `size`; `images` above 1 are joined too."""
    image, _, pixel, channel, group = moves
    line = size * pixel
    return line if images > 1 else image, line, pixel, channel, group


def conv_shape(problem: Problem) -> ConvShape | None:
    """The problem as a 2-D convolution; None if it is none, or has no channels to sum over."""
    workload = problem.workload
    if not is_convolution(workload) or workload.dynamic:
        return None
    names = ("batch", "output_image", "output_channel", "filter", "input_channel", "depth")
    roles = [workload.role(each) for each in names]
    if [*map(len, roles[:-1])] != [1, 2, 1, 2, 1] or len(roles[-1]) > 1:
        return None
    (n,), (y, x), (f,), (ky, kx), (c,), depth = roles
    group = depth[0] if depth else -1
    shapes = [each.shape for each in (*problem.inputs[:2], problem.result)]
    image, filter_, result = (_moves(*each) for each in zip(workload.maps, shapes, strict=True))
    lines, columns = (_dimension(workload.maps[0], {out, at}) for out, at in ((y, ky), (x, kx)))
    padding = problem.padding or ((0, 0),) * len(shapes[0])
    zeros = [at for at, each in enumerate(padding) if any(each)]
    if lines is None or columns is None or not {*zeros} <= {lines, columns}:
        return None
    sizes = workload.loops
    if filter_.get(ky, 0) != filter_.get(kx, 0) * sizes[kx]:
        return None
    strides, dilations = workload.parameter("strides"), workload.parameter("dilations")
    row, pixel = (math.prod(shapes[0][at + 1 :]) for at in (lines, columns))
    return ConvShape(
        sizes[n], sizes[y], sizes[x], sizes[f], sizes[c], sizes[group] if depth else 1, shapes[0][lines],
        shapes[0][columns], sizes[ky], sizes[kx], (strides[0], strides[1]), (dilations[0], dilations[1]),
        (padding[lines][0], padding[columns][0]), bool(zeros),
        (image.get(n, 0), row, pixel, image.get(c, 0), image.get(group, 0)),
        (filter_.get(kx, 0), filter_.get(c, 0), filter_.get(f, 0), filter_.get(group, 0)),
        (result.get(n, 0), result.get(y, 0), result.get(x, 0), result.get(f, 0), result.get(group, 0)),
    )  # fmt: skip


def _moves(map_: IndexingMap, shape: Sequence[int]) -> dict[int, int]:
    """The stride of each loop in a dense array, in elements."""
    found: dict[int, int] = {}
    for at, index in enumerate(map_.results):
        for loop, factor in index.terms:
            found[loop] = found.get(loop, 0) + factor * math.prod(shape[at + 1 :])
    return found


def _dimension(map_: IndexingMap, loops: Set[int]) -> int | None:
    """The dimension that exactly these loops index together; None if there is none."""
    found = (at for at, index in enumerate(map_.results) if {loop for loop, _ in index.terms} == loops)
    return next(found, None)
