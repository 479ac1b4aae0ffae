"""MobileNet-V2 of 8-bit integers: `mobilenet_v2` as onnxruntime quantizes it, with the same numbers in JAX.

Weights have a sign and a scale for each output channel, activations a scale and a zero point each. In the
ONNX file activations have no sign; here they have one, so that JAX can multiply them by weights: all are 128
less, and so are their zero points.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from examples.models import mobilenet_v2
from examples.models.mobilenet_v2 import blocks
from examples.models.model import Model
from examples.models.weights import Weights

POOLED = 7 * 7
LEAST = -128
"""What is 0 of an activation that is never negative: after a ReLU6."""


def onnx() -> bytes:
    """The network for onnxruntime."""
    from examples.models.quantized import quantized_onnx

    return quantized_onnx(mobilenet_v2.MODEL)


def weights() -> Weights:
    """What the ONNX file has, as factors and offsets of sums: of a layer one for each output channel."""
    from examples.models.quantized import QuantizedGraph

    graph, w = QuantizedGraph(onnx()), Weights("mobilenet_v2_int8")
    _line(w, "image", 1 / graph.image.scale, graph.image.zero)
    for layer in graph.layers:
        kernel = graph.kernel(layer)
        sums = kernel.astype(np.int64).reshape(-1, kernel.shape[-1]).sum(axis=0)
        (before,), after = layer.inputs, layer.output
        factors = before.scale * graph.scales(layer) / after.scale
        w.constant(f"{layer.name}_kernel", kernel)
        _line(w, layer.name, factors, (graph.bias(layer) - before.zero * sums) * factors + after.zero)
    residual = [name for name, channels, _, out, stride in blocks() if channels == out and stride == 1]
    for name, add in zip(residual, graph.additions, strict=True):
        (one, other), after = add.inputs, add.output
        w.constant(f"{name}_kept_scale", np.asarray(one.scale / after.scale, np.float32))
        zeros = one.zero * one.scale + other.zero * other.scale
        _line(w, f"{name}_sum", other.scale / after.scale, after.zero - zeros / after.scale)
    (before,), after = graph.mean.inputs, graph.mean.output
    _line(
        w,
        "mean",
        before.scale / (POOLED * after.scale),
        after.zero - before.zero * before.scale / after.scale,
    )
    scores = graph.layers[-1].output
    _line(w, "scores", scores.scale, -scores.zero * scores.scale)
    return w


def _line(w: Weights, name: str, scale: Any, bias: Any) -> None:
    """A factor and an offset."""
    w.constant(f"{name}_scale", np.asarray(scale, np.float32))
    w.constant(f"{name}_bias", np.asarray(bias, np.float32))


def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
    """Scores of the classes."""
    x = f.int8(f.scaled(w, "image", f.pad(image, 0.0)))
    x = f.conv_int8(w, "stem", x, stride=2)
    for name, channels, middle, out, stride in blocks():
        h = x if middle == channels else f.conv_int8(w, f"{name}_widen", x)
        h = f.depthwise_int8(w, f"{name}_depthwise", h, stride=stride, around=LEAST)
        h = f.conv_int8(w, f"{name}_narrow", h)
        x = f.add_int8(w, name, x, h) if channels == out and stride == 1 else h
    x = f.conv_int8(w, "last", x)
    x = f.linear_int8(w, "classes", f.mean_pool_int8(w, "mean", x))
    return (f.scaled(w, "scores", x),)


MODEL = Model(
    "mobilenet_v2_int8", "MobileNet-V2 of 8-bit integers, 224x224", weights, mobilenet_v2.inputs, forward,
    tolerance=0.05, onnx=onnx,
)  # fmt: skip
