"""Convolutions in NumPy: windows of the image as a strided view, and products of matrices by BLAS."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from iree_tuner.suite.primitives import FILTER_AXES, ConvLayer, ImageLayout, Layouts, Window

Values = npt.NDArray[Any]


def convolve(image: Values, filters: Values, window: Window, layouts: Layouts) -> Values:
    """A 2-D convolution of floats, laid out as its image."""
    seen = filters.transpose(FILTER_AXES[layouts[1]])
    if window.groups > 1 and seen.shape[:2] == (window.groups, 1):
        return _depthwise(image, seen, window, layouts[0])
    windows = _windows(image, (seen.shape[2], seen.shape[3]), window, layouts[0])
    batch, height, width, channels, *kernel = windows.shape
    groups = window.groups
    points, depth = height * width, channels // groups * kernel[0] * kernel[1]
    if layouts[0] == "nchw":
        # Filters by channels times channels by points: the result is in its layout.
        matrix = seen.reshape(groups, -1, depth)
        columns = windows.transpose(0, 3, 4, 5, 1, 2).reshape(batch, groups, depth, points)
        return np.matmul(matrix, columns).reshape(batch, -1, height, width)
    # The channel last, as in the image.
    matrix = seen.reshape(groups, -1, channels // groups, *kernel).transpose(0, 3, 4, 2, 1)
    matrix = matrix.reshape(groups, depth, -1)
    parts = windows.reshape(batch, height, width, groups, -1, *kernel)
    if groups == 1:
        rows = parts.transpose(0, 1, 2, 3, 5, 6, 4).reshape(batch * points, depth)
        return np.matmul(rows, matrix[0]).reshape(batch, height, width, -1)
    rows = parts.transpose(3, 0, 1, 2, 5, 6, 4).reshape(groups, batch * points, depth)
    sums = np.matmul(rows, matrix).transpose(1, 0, 2)
    return np.ascontiguousarray(sums).reshape(batch, height, width, -1)


def _windows(image: Values, kernel: tuple[int, int], window: Window, layout: ImageLayout) -> Values:
    """A view: batch x height x width x channels x kernel height x kernel width."""
    order = (0, 1, 2, 3) if layout == "nhwc" else (0, 2, 3, 1)
    batch, height, width, channels = (image.shape[axis] for axis in order)
    n, y, x, c = (image.strides[axis] for axis in order)
    (sy, sx), (dy, dx) = window.strides, window.dilations
    rows, columns = window.results((height, width), kernel)
    shape = (batch, rows, columns, channels, *kernel)
    return as_strided(image, shape, (n, y * sy, x * sx, c, y * dy, x * dx), writeable=False)


def _depthwise(image: Values, filters: Values, window: Window, layout: ImageLayout) -> Values:
    """A filter for each channel: a product with the whole image for each place of the filters."""
    spatial = (1, 2) if layout == "nhwc" else (2, 3)
    rows, columns = window.results([image.shape[axis] for axis in spatial], filters.shape[2:])
    total: Values | None = None
    for y, x in np.ndindex(*filters.shape[2:]):
        place = [slice(None)] * 4
        place[spatial[0]] = _span(y * window.dilations[0], rows, window.strides[0])
        place[spatial[1]] = _span(x * window.dilations[1], columns, window.strides[1])
        factor = filters[:, 0, y, x]
        part = image[tuple(place)] * (factor if layout == "nhwc" else factor[:, None, None])
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None, "filters have at least one place"
    return total


def _span(start: int, count: int, step: int) -> slice:
    return slice(start, start + (count - 1) * step + 1, step)


def convolve_layer(layer: ConvLayer, lhs: Values, rhs: Values) -> Values:
    """A convolution, or a gradient of one, as a product of matrices for each place in the filters."""
    around = [(0, 0), (0, 0), *((pad, pad) for pad in layer.padding)]
    if layer.direction == "forward":
        image, filters = np.pad(lhs, around), rhs
        total = np.zeros((len(lhs), len(rhs), *layer.results), lhs.dtype)
        for tap, seen in _taps(layer):
            part = _in_groups(image[seen], layer.groups)
            total += _joined(_of_tap(filters, tap, layer.groups) @ part, total.shape)
        return total
    if layer.direction == "data":
        gradient, filters = _in_groups(lhs, layer.groups), rhs
        sizes = (size + 2 * pad for size, pad in zip(layer.image, layer.padding, strict=True))
        total = np.zeros((len(lhs), filters.shape[1] * layer.groups, *sizes), lhs.dtype)
        for tap, seen in _taps(layer):
            part = _of_tap(filters, tap, layer.groups).swapaxes(1, 2) @ gradient
            total[seen] += _joined(part, total[seen].shape)
        spans = zip(layer.padding, layer.image, strict=True)
        return total[(slice(None), slice(None), *(slice(pad, pad + size) for pad, size in spans))]
    gradient, image = _in_groups(lhs, layer.groups), np.pad(rhs, around)
    count, channels = lhs.shape[1], rhs.shape[1] // layer.groups
    total = np.zeros((count, channels, *layer.kernel), lhs.dtype)
    for tap, seen in _taps(layer):
        part = gradient @ _in_groups(image[seen], layer.groups).swapaxes(1, 2)
        total[(slice(None), slice(None), *tap)] = part.reshape(count, channels)
    return total


def _taps(layer: ConvLayer) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each place in the filters, with the part of a padded image that it sees."""
    for tap in product(*map(range, layer.kernel)):
        spans = zip(tap, layer.dilations, layer.results, layer.strides, strict=True)
        seen = (_span(at * dilation, count, stride) for at, dilation, count, stride in spans)
        yield tap, (slice(None), slice(None), *seen)


def _of_tap(filters: Values, tap: tuple[int, ...], groups: int) -> Values:
    """Groups x filters of one x channels of one."""
    own = filters[(slice(None), slice(None), *tap)]
    return own.reshape(groups, -1, own.shape[1])


def _in_groups(values: Values, groups: int) -> Values:
    """Batch x channels x points as groups x channels of one x all points."""
    batch, channels = values.shape[:2]
    parts = values.reshape(batch, groups, channels // groups, prod(values.shape[2:]))
    return parts.transpose(1, 2, 0, 3).reshape(groups, channels // groups, -1)


def _joined(values: Values, shape: tuple[int, ...]) -> Values:
    """The inverse of `_in_groups`, in this shape."""
    groups, channels, _ = values.shape
    return values.reshape(groups, channels, shape[0], -1).transpose(2, 0, 1, 3).reshape(shape)
