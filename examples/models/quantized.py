"""A model as onnxruntime's own tools quantize it, and what its ONNX file then has."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from examples.models.in_torch import names, write_onnx
from examples.models.model import Model

_CALIBRATIONS = 8
_SHIFT = 128  # from bytes without a sign to those with one


@cache
def quantized_onnx(model: Model) -> bytes:
    """The model, with the ranges of its activations taken from random inputs.

    Weights have a sign and a scale for each output channel, activations have no sign: what onnxruntime
    advises for processors that have VNNI.
    """
    logging.getLogger().setLevel(logging.ERROR)  # what it advises in general
    with tempfile.TemporaryDirectory() as folder:
        exported, prepared, done = (
            Path(folder) / f"{name}.onnx" for name in ("exported", "prepared", "done")
        )
        write_onnx(model, exported)
        quant_pre_process(exported, prepared)
        quantize_static(
            prepared, done, _Inputs(model), quant_format=QuantFormat.QDQ, per_channel=True,
            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
        )  # fmt: skip
        return done.read_bytes()


class _Inputs(CalibrationDataReader):
    """Some of the model's inputs, drawn at random."""

    def __init__(self, model: Model) -> None:
        self._values: Iterator[dict[str, NDArray[Any]]] = (
            dict(zip(names(model)[0], model.inputs(np.random.default_rng(seed)), strict=True))
            for seed in range(_CALIBRATIONS)
        )

    def get_next(self) -> dict[str, NDArray[Any]] | None:
        """The next ones."""
        return next(self._values, None)


@dataclass(frozen=True)
class Levels:
    """What an 8-bit activation stands for: `scale * (level - zero)`; levels have a sign."""

    scale: float
    zero: int


@dataclass(frozen=True)
class Node:
    """A quantized op.

    Attributes:
        name: of a layer, in the model.
        inputs: levels of its activations.
        output: levels of its result.
    """

    name: str
    inputs: tuple[Levels, ...]
    output: Levels


class QuantizedGraph:
    """A quantized network's ONNX file.

    Attributes:
        image: levels of its input.
        layers: convolutions and dense layers, in order.
        additions: in order.
        mean: the only one.
    """

    def __init__(self, data: bytes) -> None:
        graph = onnx.load_from_string(data).graph
        self._values = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        self._makers = {name: node for node in graph.node for name in node.output}
        self._quantized = {node.input[0]: node for node in graph.node if node.op_type == "QuantizeLinear"}
        first = next(node for node in graph.node if node.op_type == "QuantizeLinear")
        self.image = self._levels(first)
        self.layers = [self._node(each) for each in graph.node if each.op_type in ("Conv", "Gemm")]
        self.additions = [self._node(each) for each in graph.node if each.op_type == "Add"]
        (self.mean,) = (self._node(each) for each in graph.node if each.op_type == "ReduceMean")

    def kernel(self, layer: Node) -> NDArray[np.int8]:
        """Of a layer, in JAX's order: inputs before outputs, filters first; a depthwise one has no inputs."""
        value = self._values[f"{layer.name}_kernel_quantized"]
        if value.ndim == 4:
            value = value.transpose(2, 3, 1, 0)
            return np.ascontiguousarray(value[:, :, 0] if value.shape[2] == 1 else value)
        return np.ascontiguousarray(value.T)

    def scales(self, layer: Node) -> NDArray[np.float32]:
        """Of a layer's output channels."""
        return self._values[f"{layer.name}_kernel_scale"]

    def bias(self, layer: Node) -> NDArray[np.int32]:
        """Of a layer, to be added to its sums."""
        return self._values[f"{layer.name}_bias_quantized"]

    def _node(self, node: Any) -> Node:
        makers = [self._makers[each] for each in node.input if each in self._makers]
        activations = [each for each in makers if each.input[0] not in self._values]
        kernel = node.input[1].removesuffix("_kernel_DequantizeLinear_Output")
        return Node(
            kernel, tuple(map(self._levels, activations)), self._levels(self._quantized[node.output[0]])
        )

    def _levels(self, node: Any) -> Levels:
        """Of a node that quantizes or the reverse."""
        scale, zero = (self._values[each] for each in node.input[1:3])
        return Levels(float(scale), int(zero) - _SHIFT)
