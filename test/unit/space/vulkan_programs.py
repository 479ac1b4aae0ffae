"""Small programs for Vulkan, what they compute in numpy, and a target that Mesa's llvmpipe can run.

Their functions run in workers, so that a driver cannot end the tests' process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.data import dtype_of, fill, span, values_in, written
from iree_tuner.device.memory import LoadedDispatch, read_back
from iree_tuner.device.numerics import Agreement, compare
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.bindings import Harness
from iree_tuner.targets import Target, parse_target
from iree_tuner.targets.runtime import RUNTIME_ERRORS

DEVICE = "vulkan"
Array = npt.NDArray[np.generic]
Reference = Callable[..., Array]


@dataclass(frozen=True)
class Program:
    """A function of tensors: `ops` compute `%r` from `%a`, `%b` and an accumulator `%init` of zeros."""

    inputs: tuple[str, ...]
    result: str
    ops: str
    reference: Reference

    @property
    def text(self) -> str:
        """The program as MLIR."""
        arguments = ", ".join(f"%{name}: {kind}" for name, kind in zip("abc", self.inputs, strict=False))
        element = self.result.rpartition("x")[2].rstrip(">")
        return f"""
func.func @main({arguments}) -> {self.result} {{
  %zero = arith.constant {"0" if element.startswith("i") else "0.0"} : {element}
  %empty = tensor.empty() : {self.result}
  %init = linalg.fill ins(%zero : {element}) outs(%empty : {self.result}) -> {self.result}
  {self.ops}
  return %r : {self.result}
}}
"""


def _binary(
    op: str, inputs: tuple[str, str], result: str, reference: Reference, attributes: str = ""
) -> Program:
    ops = f"%r = {op} {attributes} ins(%a, %b : {inputs[0]}, {inputs[1]}) outs(%init : {result}) -> {result}"
    return Program(inputs, result, ops, reference)


def matmul(m: int, n: int, k: int, kind: str, result: str, batch: int = 0) -> Program:
    """A plain or a batched one."""
    around = f"{batch}x" if batch else ""
    inputs = (f"tensor<{around}{m}x{k}x{kind}>", f"tensor<{around}{k}x{n}x{kind}>")
    name = "linalg.batch_matmul" if batch else "linalg.matmul"
    return _binary(name, inputs, f"tensor<{around}{m}x{n}x{result}>", np.matmul)


def _windows(image: Array, axes: Sequence[int], size: int = 3) -> Array:
    return np.lib.stride_tricks.sliding_window_view(image, (size,) * len(axes), axis=tuple(axes))


_PLAIN = "{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}"

TRANSPOSE = Program(
    ("tensor<24x64xf32>",),
    "tensor<64x24xf32>",
    "%r = linalg.transpose ins(%a : tensor<24x64xf32>) outs(%empty : tensor<64x24xf32>) permutation = [1, 0]",
    lambda a: a.T,
)

SUM = Program(
    ("tensor<20x256xf32>",),
    "tensor<20xf32>",
    """%r = linalg.reduce { arith.addf } ins(%a : tensor<20x256xf32>) outs(%init : tensor<20xf32>)
      dimensions = [1]""",
    lambda a: a.sum(1),
)

SOFTMAX = Program(
    ("tensor<16x64xf32>",),
    "tensor<16x64xf32>",
    """%r = linalg.softmax dimension(1) ins(%a : tensor<16x64xf32>) outs(%empty : tensor<16x64xf32>)
      -> tensor<16x64xf32>""",
    lambda a: np.exp(a) / np.exp(a).sum(1, keepdims=True),
)

ADD = Program(
    ("tensor<1100xf32>",) * 2,
    "tensor<1100xf32>",
    """%r = linalg.map { arith.addf } ins(%a, %b : tensor<1100xf32>, tensor<1100xf32>)
      outs(%empty : tensor<1100xf32>)""",
    np.add,
)

PROGRAMS: dict[str, Program] = {
    "matmul_f32": matmul(16, 24, 16, "f32", "f32"),
    "matmul_f16": matmul(8, 32, 16, "f16", "f32"),
    "matmul_i8": matmul(16, 16, 16, "i8", "i32"),
    "matmul_odd": matmul(10, 21, 15, "f32", "f32"),
    "batch_matmul": matmul(8, 16, 8, "f32", "f32", batch=3),
    "matvec": _binary(
        "linalg.matvec", ("tensor<40x128xf32>", "tensor<128xf32>"), "tensor<40xf32>", np.matmul
    ),
    "conv_nhwc": _binary(
        "linalg.conv_2d_nhwc_hwcf",
        ("tensor<2x6x6x4xf32>", "tensor<3x3x4x8xf32>"),
        "tensor<2x4x4x8xf32>",
        lambda a, b: np.einsum("nhwcyx,yxcf->nhwf", _windows(a, (1, 2)), b),
        _PLAIN,
    ),
    "conv_nchw": _binary(
        "linalg.conv_2d_nchw_fchw",
        ("tensor<1x4x6x6xf32>", "tensor<8x4x3x3xf32>"),
        "tensor<1x8x4x4xf32>",
        lambda a, b: np.einsum("nchwyx,fcyx->nfhw", _windows(a, (2, 3)), b),
        _PLAIN,
    ),
    "conv_depthwise": _binary(
        "linalg.depthwise_conv_2d_nchw_chw",
        ("tensor<2x8x6x6xf32>", "tensor<8x3x3xf32>"),
        "tensor<2x8x4x4xf32>",
        lambda a, b: np.einsum("nchwyx,cyx->nchw", _windows(a, (2, 3)), b),
        _PLAIN,
    ),
    "conv_grouped": _binary(
        "linalg.conv_2d_ngchw_gfchw",
        ("tensor<1x2x4x6x6xf32>", "tensor<2x8x4x3x3xf32>"),
        "tensor<1x2x8x4x4xf32>",
        lambda a, b: np.einsum("ngchwyx,gfcyx->ngfhw", _windows(a, (3, 4)), b),
        _PLAIN,
    ),
    "transpose": TRANSPOSE,
    "sum": SUM,
    "softmax": SOFTMAX,
    "add": ADD,
}


def llvmpipe() -> Target:
    """`vulkan:ampere` without matrix instructions, as llvmpipe is."""
    text = (Path(__file__).parent / "llvmpipe.mlir").read_text()
    return replace(parse_target("vulkan:ampere"), chip="llvmpipe", flags=(), device_targets=text)


def device_name() -> str:
    """The first Vulkan device; raises RuntimeError or ValueError where there is none."""
    rt.get_device(DEVICE)
    return str(rt.get_driver(DEVICE).query_available_devices()[0]["name"])


def read_here() -> tuple[Array, Array, str]:
    """Values, what `read_back` finds of them on the device, and what the runtime's own way says."""
    device, values = rt.get_device(DEVICE), np.arange(1000, dtype=np.float32)
    there = device.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL, allowed_usage=rt.BufferUsage.DEFAULT, device=device,
        buffer=values,
    )  # fmt: skip
    view = rt.HalBufferView(there, [1000], rt.HalElementType.FLOAT_32)
    try:
        rt.DeviceArray(device, view).to_host()
    except RUNTIME_ERRORS as error:
        return values, read_back(device, view), str(error)
    return values, read_back(device, view), ""


def check_here(vmfb: bytes, harness: Harness, program: str, types: tuple[str, ...], length: int) -> Agreement:
    """Run an executable once on random numbers of both signs, and compare with numpy."""
    loaded = LoadedDispatch(vmfb, harness, DEVICE)
    loaded.fill(1)
    given = _inputs(harness, fill(harness.bindings, harness.buffer_bytes, 1))
    loaded.run(1)
    ((binding, tensor, _),) = written(harness.bindings)
    got = values_in(loaded.read(), binding, tensor)
    known = PROGRAMS[program]
    wide = np.int64 if tensor.element_type.startswith("i") else np.float64
    # The dispatch's tensors may have lost dimensions of size 1, or have been flattened.
    whole = [
        array.astype(wide).reshape(_shape(kind)) for array, kind in zip(given, known.inputs, strict=True)
    ]
    expected = np.asarray(known.reference(*whole)).reshape(got.shape)
    return compare(got, expected, tensor.element_type, Tolerance(types[-1], length))


def _inputs(harness: Harness, buffer: npt.NDArray[np.uint8]) -> list[Array]:
    found: list[Array] = []
    for binding in harness.bindings:
        for tensor in binding.tensors:
            if tensor.access == "read":
                start, size = span(binding, tensor)
                found.append(buffer[start : start + size].view(dtype_of(tensor.element_type)))
    return found


def _shape(kind: str) -> tuple[int, ...]:
    return tuple(int(size) for size in kind.partition("<")[2].split("x")[:-1])
