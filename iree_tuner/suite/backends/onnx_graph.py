"""The primitives as nodes of an ONNX graph. Imported only where ONNX Runtime computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from iree_tuner.device.data import dtype_of
from iree_tuner.ops.element_type import ElementType
from iree_tuner.suite.operation import Binary, CannotError, ConvLayer, Operation, Reduction, Unary
from iree_tuner.suite.tensors import Array

onnx: Any = import_module("onnx")  # typed loosely: it need not be there where types are checked
helper: Any = onnx.helper

OPSET, IR_VERSION = 23, 11
"""The first with attention, and the version of the format that belongs to it."""

TYPES: dict[str, int] = {
    "f64": onnx.TensorProto.DOUBLE, "f32": onnx.TensorProto.FLOAT, "f16": onnx.TensorProto.FLOAT16,
    "bf16": onnx.TensorProto.BFLOAT16, "f8E4M3FN": onnx.TensorProto.FLOAT8E4M3FN,
    "f8E5M2": onnx.TensorProto.FLOAT8E5M2, "f8E4M3FNUZ": onnx.TensorProto.FLOAT8E4M3FNUZ,
    "f8E5M2FNUZ": onnx.TensorProto.FLOAT8E5M2FNUZ, "i64": onnx.TensorProto.INT64,
    "i32": onnx.TensorProto.INT32, "i16": onnx.TensorProto.INT16, "i8": onnx.TensorProto.INT8,
}  # fmt: skip

_UNARY: dict[Unary, tuple[str, Mapping[str, Any]]] = {
    "relu": ("Relu", {}), "gelu": ("Gelu", {}), "gelu_tanh": ("Gelu", {"approximate": "tanh"}),
    "sigmoid": ("Sigmoid", {}), "tanh": ("Tanh", {}), "exp": ("Exp", {}), "sqrt": ("Sqrt", {}),
    "abs": ("Abs", {}), "negate": ("Neg", {}),
}  # fmt: skip
_BINARY: dict[Binary, str] = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "maximum": "Max", "minimum": "Min",
}  # fmt: skip
_REDUCE: dict[Reduction, str] = {
    "sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin", "mean": "ReduceMean",
}  # fmt: skip


@dataclass(frozen=True)
class OnnxNode:
    """A value of the graph: its name, sizes and MLIR's name of its elements' type."""

    name: str
    shape: tuple[int, ...]
    element_type: str


def model_of(operation: Operation) -> bytes:
    """The operation as a model: its inputs are `0`, `1`, ..., its result is `result`. Raises CannotError."""
    ops = OnnxPrimitives()
    inputs = [
        OnnxNode(str(number), each.shape, each.element_type) for number, each in enumerate(operation.inputs)
    ]
    computed = operation.compute(ops, inputs)
    result = OnnxNode("result", computed.shape, computed.element_type)
    graph = helper.make_graph(
        [*ops.nodes, helper.make_node("Identity", [computed.name], [result.name])],
        operation.kind,
        [_described(each) for each in inputs],
        [_described(result)],
        ops.constants,
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString()
    return model


class OnnxPrimitives:
    """Adds nodes to a graph, as exporters write them; `Primitives[OnnxNode]`."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []  # in order
        self.constants: list[Any] = []  # tensors that the graph holds

    def cast(self, x: OnnxNode, element_type: str) -> OnnxNode:
        """Other elements; the same node where they are of this type."""
        if x.element_type == element_type:
            return x
        wanted = ElementType.named(element_type)
        if wanted.is_integer and not ElementType.named(x.element_type).is_integer:
            dtype = wanted.dtype
            assert dtype is not None, "it is one of `TYPES`"
            limits = np.iinfo(dtype.name)
            ends = [np.float64(limits.min), np.nextafter(np.float64(limits.max) + 1, 0.0)]
            wide = self._add("Round", [self.cast(x, "f64")], x.shape, "f64")
            x = self._add("Clip", [wide, *(self._held(np.asarray(end)) for end in ends)], wide.shape, "f64")
        more = {"saturate": 0} if wanted.is_small_float else {}
        return self._add("Cast", [x], x.shape, element_type, to=TYPES[element_type], **more)

    def transpose(self, x: OnnxNode, order: Sequence[int]) -> OnnxNode:
        """A node, which the runtime fuses with products."""
        shape = tuple(x.shape[axis] for axis in order)
        return self._add("Transpose", [x], shape, x.element_type, perm=list(order))

    def reshape(self, x: OnnxNode, shape: Sequence[int]) -> OnnxNode:
        """A node that copies nothing."""
        sizes = self._held(np.asarray(shape, np.int64))
        return self._add("Reshape", [x, sizes], tuple(shape), x.element_type)

    def matmul(self, a: OnnxNode, b: OnnxNode, element_type: str) -> OnnxNode:
        """`MatMul`, of i8 `MatMulInteger`; a wider result by wider factors."""
        shape = (*a.shape[:-1], b.shape[-1])
        if (a.element_type, b.element_type) == ("i8", "i8"):
            return self._add("MatMulInteger", [a, b], shape, "i32")
        wide = _wider(a.element_type, element_type)
        return self._add("MatMul", [self.cast(a, wide), self.cast(b, wide)], shape, wide)

    def layer(self, layer: ConvLayer, lhs: OnnxNode, rhs: OnnxNode, element_type: str) -> OnnxNode:
        """`Conv`; ONNX has no gradients of one."""
        if layer.direction != "forward":
            raise CannotError("ONNX has no gradients of convolutions")
        if lhs.element_type == "i8":
            raise CannotError("ONNX has no convolution of i8 whose image and filters are both signed")
        wide = _wider(lhs.element_type, element_type)
        shape = (lhs.shape[0], rhs.shape[0], *layer.results)
        facts = {"strides": layer.strides, "pads": (*layer.padding, *layer.padding),
                 "dilations": layer.dilations, "group": layer.groups}  # fmt: skip
        return self._add("Conv", [self.cast(lhs, wide), self.cast(rhs, wide)], shape, wide, **facts)

    def attention(
        self, q: OnnxNode, k: OnnxNode, v: OnnxNode, mask: OnnxNode | None, causal: bool, scale: float
    ) -> OnnxNode:
        """`Attention`; its own causal mask counts from the first key, so that other masks are given."""
        queries, keys = q.shape[2], k.shape[2]
        square = causal and queries == keys
        if causal and not square and queries > 1:
            dtype = dtype_of(q.element_type)
            unseen = np.where(np.tri(queries, keys, keys - queries, dtype=bool), 0.0, -np.inf)
            hidden = self._held(unseen.astype(dtype), q.element_type)
            mask = hidden if mask is None else self.binary("add", mask, hidden)
        shape = (*q.shape[:3], v.shape[3])
        operands = [q, k, v, *([] if mask is None else [mask])]
        return self._add("Attention", operands, shape, q.element_type, is_causal=int(square), scale=scale)

    def softmax(self, x: OnnxNode, axis: int) -> OnnxNode:
        return self._add("Softmax", [x], x.shape, x.element_type, axis=axis)

    def reduce(self, kind: Reduction, x: OnnxNode, axes: Sequence[int], element_type: str) -> OnnxNode:
        """Over axes; sums and means of elements that are converted before, if a wider type is asked for."""
        if kind in ("sum", "mean"):
            x = self.cast(x, _wider(x.element_type, element_type))
        gone = {axis % len(x.shape) for axis in axes}
        shape = tuple(size for axis, size in enumerate(x.shape) if axis not in gone)
        where = self._held(np.asarray(sorted(gone), np.int64))
        return self._add(_REDUCE[kind], [x, where], shape, x.element_type, keepdims=0)

    def unary(self, kind: Unary, x: OnnxNode) -> OnnxNode:
        """Element by element; a function that ONNX lacks is two nodes."""
        if kind == "rsqrt":
            return self._add("Reciprocal", [self.unary("sqrt", x)], x.shape, x.element_type)
        if kind == "silu":
            return self.binary("multiply", x, self.unary("sigmoid", x))
        name, facts = _UNARY[kind]
        return self._add(name, [x], x.shape, x.element_type, **facts)

    def binary(self, kind: Binary, a: OnnxNode, b: OnnxNode) -> OnnxNode:
        shape = np.broadcast_shapes(a.shape, b.shape)
        return self._add(_BINARY[kind], [a, b], shape, a.element_type)

    def _add(
        self,
        name: str,
        operands: Sequence[OnnxNode],
        shape: tuple[int, ...],
        element_type: str,
        **facts: object,
    ) -> OnnxNode:
        result = OnnxNode(f"{name}_{len(self.nodes)}", shape, element_type)
        self.nodes.append(helper.make_node(name, [each.name for each in operands], [result.name], **facts))
        return result

    def _held(self, values: Array, element_type: str = "") -> OnnxNode:
        kind = element_type or _ELEMENTS[values.dtype]
        name = f"constant_{len(self.constants)}"
        bits = np.ascontiguousarray(values).tobytes()
        self.constants.append(helper.make_tensor(name, TYPES[kind], values.shape, bits, raw=True))
        return OnnxNode(name, values.shape, kind)


_ELEMENTS = {dtype_of(name): name for name in TYPES}


def _wider(own: str, asked: str) -> str:
    return max(own, asked, key=lambda name: ElementType.named(name).bits)


def _described(node: OnnxNode) -> Any:  # noqa: ANN401
    return helper.make_tensor_value_info(node.name, TYPES[node.element_type], node.shape)
