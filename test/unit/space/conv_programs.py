"""Convolutions as programs."""

from __future__ import annotations

from dataclasses import dataclass

_OPS = {
    "nhwc_fhwc": ("conv_2d_nhwc_fhwc", "nhwc", "fyxc", "nhwf"),
    "nhwc_hwcf": ("conv_2d_nhwc_hwcf", "nhwc", "yxcf", "nhwf"),
    "nchw_fchw": ("conv_2d_nchw_fchw", "nchw", "fcyx", "nfhw"),
}
"""For each layout: the op, and the dimensions of image, filter and result."""


@dataclass(frozen=True)
class Conv:
    """A convolution of square images with square filters; `size` is the result's.

    `accumulate`: the initial value is an argument instead of zeros.
    """

    layout: str = "nhwc_fhwc"
    batch: int = 2
    size: tuple[int, int] = (32, 32)
    channels: int = 128
    filters: int = 256
    window: int = 3
    stride: int = 1
    dilation: int = 1
    types: tuple[str, str] = ("f16", "f32")
    accumulate: bool = False

    @property
    def text(self) -> str:
        """The program as MLIR."""
        op, image, filter_, result = _OPS[self.layout]
        element, sum_ = self.types
        reach = (self.window - 1) * self.dilation + 1
        height, width = ((each - 1) * self.stride + reach for each in self.size)
        common = {"n": self.batch, "c": self.channels, "f": self.filters, "y": self.window, "x": self.window}
        i = _tensor(image, common | {"h": height, "w": width}, element)
        f = _tensor(filter_, common, element)
        r = _tensor(result, common | {"h": self.size[0], "w": self.size[1]}, sum_)
        zero = "0" if sum_.startswith("i") else "0.0"
        start = "" if self.accumulate else _FILL.format(zero=zero, sum_=sum_, r=r)
        argument = f", %init: {r}" if self.accumulate else ""
        pair = "tensor<2xi64>"
        window = f"strides = dense<{self.stride}> : {pair}, dilations = dense<{self.dilation}> : {pair}"
        return (
            f"func.func @main(%a: {i}, %b: {f}{argument}) -> {r} {{\n{start}"
            f"  %r = linalg.{op} {{{window}}} ins(%a, %b : {i}, {f}) outs(%init : {r}) -> {r}\n"
            f"  return %r : {r}\n}}\n"
        )


_FILL = """  %zero = arith.constant {zero} : {sum_}
  %empty = tensor.empty() : {r}
  %init = linalg.fill ins(%zero : {sum_}) outs(%empty : {r}) -> {r}
"""


def _tensor(order: str, sizes: dict[str, int], element: str) -> str:
    return f"tensor<{'x'.join(str(sizes[each]) for each in order)}x{element}>"
