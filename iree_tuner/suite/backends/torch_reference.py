"""Right results by PyTorch, where NumPy would take long. Imported only where it computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree_tuner.suite.backends.backend import Array
from iree_tuner.suite.backends.torch_primitives import Tensor, TorchPrimitives, torch
from iree_tuner.suite.backends.torch_running import array_of, tensor_of
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.primitives import ConvLayer, Layouts, Reduction, Window

_LONG_FLOPS = 4e10
_FLOATS = ("f", "b")  # how names of floating types begin


def torch_reference(operation: Operation, inputs: Sequence[Array]) -> Array:
    """The result of an operation in double precision; for the largest ones on a processor in single.

    Integers are exact: products of i8 and their sums are numbers of either type.
    """
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda" if on_gpu else "cpu")
    integers = operation.result.element_type[0] not in _FLOATS
    wide = torch.float64 if on_gpu or integers or operation.flops < _LONG_FLOPS else torch.float32
    torch.backends.cudnn.allow_tf32 = False
    kinds = [each.element_type for each in operation.inputs]
    tensors = [tensor_of(array, kind).to(device).to(wide) for array, kind in zip(inputs, kinds, strict=True)]
    with torch.inference_mode():
        found = operation.compute(_Wide(wide), tensors)
    kind = operation.result.element_type if integers else {torch.float64: "f64"}.get(wide, "f32")
    return array_of(found.contiguous(), kind)


class _Wide(TorchPrimitives):
    """Primitives that leave floating numbers as precise as they are."""

    def __init__(self, wide: Any) -> None:  # noqa: ANN401
        super().__init__()
        self._wide = wide

    def cast(self, x: Tensor, element_type: str) -> Tensor:
        return x if element_type[0] in _FLOATS else super().cast(x, element_type)

    def matmul(self, a: Tensor, b: Tensor, element_type: str) -> Tensor:
        del element_type
        return torch.matmul(a, b)

    def convolution(
        self, image: Tensor, filters: Tensor, window: Window, layouts: Layouts, element_type: str
    ) -> Tensor:
        del element_type
        return super().convolution(image, filters, window, layouts, "f64")

    def layer(self, layer: ConvLayer, lhs: Tensor, rhs: Tensor, element_type: str) -> Tensor:
        del element_type
        return super().layer(layer, lhs, rhs, "f64")

    def reduce(self, kind: Reduction, x: Tensor, axes: Sequence[int], element_type: str) -> Tensor:
        del element_type
        return super().reduce(kind, x, axes, "f64" if self._wide == torch.float64 else "f32")
