"""Group norms as JAX exports them, the problems in them, and what they compute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from kernels.after_abi import found_by

from iree_tuner.kernels.kernel import Problem
from iree_tuner.kernels.normalizing import find_normalizing
from iree_tuner.kernels.split_sums import find_sums

EPSILON = 1e-5


@dataclass(frozen=True)
class Norm:
    """A group norm: sizes, whether channels are the first dimension of an image, type, and what follows."""

    images: int
    high: int
    wide: int
    groups: int
    each: int
    first: bool = False
    element: str = "f16"
    then: str = "silu"

    @property
    def channels(self) -> int:
        return self.groups * self.each

    @property
    def shape(self) -> tuple[int, ...]:
        n, h, w, c = self.images, self.high, self.wide, self.channels
        return (n, c, h, w) if self.first else (n, h, w, c)

    @property
    def grouped(self) -> tuple[int, ...]:
        n, h, w, g, c = self.images, self.high, self.wide, self.groups, self.each
        return (n, g, c, h, w) if self.first else (n, h, w, g, c)

    @property
    def summed(self) -> tuple[int, ...]:
        return (2, 3, 4) if self.first else (1, 2, 4)

    @property
    def group(self) -> int:
        """The dimension of groups."""
        return 1 if self.first else 3


def program(norm: Norm) -> str:
    """The sums are f32, whatever the type of the image is."""
    e, (x, g) = norm.element, ("x".join(map(str, each)) for each in (norm.shape, norm.grouped))
    few, c, at = f"{norm.images}x{norm.groups}", norm.channels, norm.group
    channel = norm.group if norm.first else 3
    over = list(norm.summed)
    count = float(norm.high * norm.wide * norm.each)
    then = {
        "none": "",
        "silu": f"""
  %minus = stablehlo.negate %narrow : tensor<{x}x{e}>
  %power = stablehlo.exponential %minus : tensor<{x}x{e}>
  %one = stablehlo.constant dense<1.0> : tensor<{x}x{e}>
  %more = stablehlo.add %one, %power : tensor<{x}x{e}>
  %part = stablehlo.divide %one, %more : tensor<{x}x{e}>
  %end = stablehlo.multiply %narrow, %part : tensor<{x}x{e}>""",
        "relu": f"""
  %nothing = stablehlo.constant dense<0.0> : tensor<{x}x{e}>
  %end = stablehlo.maximum %narrow, %nothing : tensor<{x}x{e}>""",
    }[norm.then]  # fmt: skip
    end = "%end" if then else "%narrow"
    return f"""
func.func @main(%x: tensor<{x}x{e}>, %scale: tensor<{c}x{e}>, %bias: tensor<{c}x{e}>) -> tensor<{x}x{e}> {{
  %wide = stablehlo.convert %x : (tensor<{x}x{e}>) -> tensor<{x}xf32>
  %groups = stablehlo.reshape %wide : (tensor<{x}xf32>) -> tensor<{g}xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%groups init: %zero) applies stablehlo.add across dimensions = {over}
    : (tensor<{g}xf32>, tensor<f32>) -> tensor<{few}xf32>
  %count = stablehlo.constant dense<{count}> : tensor<{few}xf32>
  %mean = stablehlo.divide %sum, %count : tensor<{few}xf32>
  %means = stablehlo.broadcast_in_dim %mean, dims = [0, {at}] : (tensor<{few}xf32>) -> tensor<{g}xf32>
  %distances = stablehlo.subtract %groups, %means : tensor<{g}xf32>
  %squares = stablehlo.multiply %distances, %distances : tensor<{g}xf32>
  %squared = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = {over}
    : (tensor<{g}xf32>, tensor<f32>) -> tensor<{few}xf32>
  %variance = stablehlo.divide %squared, %count : tensor<{few}xf32>
  %epsilon = stablehlo.constant dense<1.0e-5> : tensor<{few}xf32>
  %sure = stablehlo.add %variance, %epsilon : tensor<{few}xf32>
  %root = stablehlo.rsqrt %sure : tensor<{few}xf32>
  %roots = stablehlo.broadcast_in_dim %root, dims = [0, {at}] : (tensor<{few}xf32>) -> tensor<{g}xf32>
  %normal = stablehlo.multiply %distances, %roots : tensor<{g}xf32>
  %image = stablehlo.reshape %normal : (tensor<{g}xf32>) -> tensor<{x}xf32>
  %wider = stablehlo.convert %scale : (tensor<{c}x{e}>) -> tensor<{c}xf32>
  %scales = stablehlo.broadcast_in_dim %wider, dims = [{channel}] : (tensor<{c}xf32>) -> tensor<{x}xf32>
  %scaled = stablehlo.multiply %image, %scales : tensor<{x}xf32>
  %wide_bias = stablehlo.convert %bias : (tensor<{c}x{e}>) -> tensor<{c}xf32>
  %biases = stablehlo.broadcast_in_dim %wide_bias, dims = [{channel}] : (tensor<{c}xf32>) -> tensor<{x}xf32>
  %whole = stablehlo.add %scaled, %biases : tensor<{x}xf32>
  %narrow = stablehlo.convert %whole : (tensor<{x}xf32>) -> tensor<{x}x{e}>{then}
  return {end} : tensor<{x}x{e}>
}}"""


def problems(norm: Norm) -> tuple[list[Problem], list[Problem]]:
    """The sums of a norm without what follows them, of squares first, and the ops that normalise."""
    text = program(norm)
    sums, rest = found_by(find_sums, text), found_by(find_normalizing, text)
    return [each.problem for each in sums if not each.problem.nest.after], [each.problem for each in rest]


def statistics(norm: Norm, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum and the sum of squared distances from the mean, of each group of each image."""
    groups = x.astype(float).reshape(norm.grouped)
    mean = groups.mean(norm.summed, keepdims=True)
    return groups.sum(norm.summed), ((groups - mean) ** 2).sum(norm.summed)


def expected(norm: Norm, x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The result of a norm, in f64."""
    groups = x.astype(float).reshape(norm.grouped)
    mean, variance = (f(groups, norm.summed, keepdims=True) for f in (np.mean, np.var))
    image = ((groups - mean) / np.sqrt(variance + EPSILON)).reshape(norm.shape)
    along = (-1, 1, 1) if norm.first else (-1,)
    image = image * scale.astype(float).reshape(along) + bias.astype(float).reshape(along)
    return {
        "none": image,
        "silu": image / (1 + np.exp(-image)),
        "relu": np.maximum(image, 0),
    }[norm.then]
