"""Convolutions with zeros around images and with epilogues: as programs, and in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from kernels.epilogues import gelu

BODIES = {
    "bias": "arith.addf {x}, {extra}", "gain": "arith.mulf {x}, {extra}", "minus": "arith.subf {x}, {extra}",
    "residual": "arith.addf {extra}, {x}", "relu": "arith.maximumf {x}, %zero_{t}",
    "truncf": "arith.truncf {x}",
}  # fmt: skip


@dataclass(frozen=True)
class Conv:
    """A convolution.

    Attributes:
        images, high, wide, channels, filters: sizes, channels and filters of one group.
        window: lines and columns of the filter.
        stride, dilation: of lines and columns.
        low, more: zeros before and after lines and columns.
        first: whether images have channels first.
        groups: how many groups there are; with more than one the layouts are those of JAX.
        element, sums: types.
        steps: of the epilogue; each but `residual`, `relu` and `truncf` with what it is along.
    """

    images: int = 2
    high: int = 7
    wide: int = 9
    channels: int = 32
    filters: int = 24
    window: tuple[int, int] = (3, 3)
    stride: int = 1
    dilation: int = 1
    low: tuple[int, int] = (0, 0)
    more: tuple[int, int] = (0, 0)
    first: bool = False
    groups: int = 1
    element: str = "f16"
    sums: str = "f32"
    steps: tuple[str, ...] = ("truncf",)

    @property
    def out(self) -> tuple[int, int]:
        """Lines and pixels of the result."""
        found = [
            (size + low + more - (window - 1) * self.dilation - 1) // self.stride + 1
            for size, low, more, window in zip(
                (self.high, self.wide), self.low, self.more, self.window, strict=True
            )
        ]
        return found[0], found[1]

    def image(self, high: int, wide: int, channels: int) -> tuple[int, ...]:
        """Sizes of images."""
        if self.first:
            return (self.images, channels, high, wide)
        group = (self.groups,) if self.groups > 1 else ()
        return (self.images, high, wide, *group, channels)

    @property
    def padded(self) -> tuple[int, ...]:
        """Sizes of the images with zeros."""
        high, wide = (a + b + c for a, b, c in zip((self.high, self.wide), self.low, self.more, strict=True))
        return self.image(high, wide, self.channels)

    @property
    def filter(self) -> tuple[int, ...]:
        """Sizes of the filter."""
        if self.first:
            return (self.filters, self.channels, *self.window)
        group = (self.groups,) if self.groups > 1 else ()
        return (*self.window, self.channels, *group, self.filters)

    @property
    def result(self) -> tuple[int, ...]:
        """Sizes of the result."""
        return self.image(*self.out, self.filters)

    def extra(self, step: str) -> tuple[int, ...] | None:
        """Sizes of a step's operand."""
        if step == "residual":
            return self.result
        loops = _loops(self, step)
        return None if loops is None else tuple(self.result[loop] for loop in loops)


def _loops(conv: Conv, step: str) -> tuple[int, ...] | None:
    """The dimensions of the result that a step's operand has."""
    *along, what = step.split("_")
    if what not in ("bias", "gain", "minus"):
        return None
    last = 1 if "channel" in along else len(conv.result) - 1
    return (0, last) if "image" in along else (last,)


def program(conv: Conv) -> str:
    """A function of images, filter and the steps' operands."""
    i, p, f = (
        _type(each, conv.element)
        for each in (conv.image(conv.high, conv.wide, conv.channels), conv.padded, conv.filter)
    )
    sums = _type(conv.result, conv.sums)
    text, kind = "", conv.sums
    inputs, value = [f"%a: {i}", f"%b: {f}"], "%r"
    for number, step in enumerate(conv.steps):
        after = conv.element if step == "truncf" else kind
        old, new = _type(conv.result, kind), _type(conv.result, after)
        shape, extra, argument = conv.extra(step), "", ""
        maps = ["#id"]
        if shape is not None:
            loops = range(len(conv.result)) if step == "residual" else _loops(conv, step)
            maps.append(_map(len(conv.result), loops))
            inputs.append(f"%extra{number}: {_type(shape, kind)}")
            extra, argument = f", %extra{number}", f", %e: {kind}"
        ins = ", ".join([old, *([_type(shape, kind)] if shape is not None else [])])
        body = BODIES[step.rpartition("_")[2]].format(x="%x", extra="%e", t=kind)
        of = f"{kind} to {after}" if step == "truncf" else kind
        text += f"""
      %empty{number} = tensor.empty() : {new}
      %r{number} = linalg.generic {{indexing_maps = [{", ".join([*maps, "#id"])}],
          iterator_types = [{", ".join(['"parallel"'] * len(conv.result))}]}}
          ins({value}{extra} : {ins}) outs(%empty{number} : {new}) {{
        ^bb0(%x: {kind}{argument}, %o: {after}):
          %y = {body} : {of}
          linalg.yield %y : {after}
      }} -> {new}"""
        value, kind = f"%r{number}", after
    last = _type(conv.result, kind)
    return f"""
    #id = {_map(len(conv.result), range(len(conv.result)))}
    func.func @main({", ".join(inputs)}) -> {last} {{
      %zero_f32 = arith.constant 0.0 : f32
      %zero_f16 = arith.constant 0.0 : f16
      %zero_bf16 = arith.constant 0.0 : bf16
      {_pad(conv, i, p)}
      %empty = tensor.empty() : {sums}
      %init = linalg.fill ins(%zero_{conv.sums} : {conv.sums}) outs(%empty : {sums}) -> {sums}
      {_op(conv, p, f, sums)}{text}
      return {value} : {last}
    }}"""


def _type(shape: Sequence[int], element: str) -> str:
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


def _map(rank: int, loops: Sequence[int]) -> str:
    return f"affine_map<({_names(range(rank))}) -> ({_names(loops)})>"


def _names(loops: Sequence[int]) -> str:
    return ", ".join(f"d{each}" for each in loops)


def _pad(conv: Conv, image: str, padded: str) -> str:
    if image == padded:
        return ""
    at = 2 if conv.first else 1
    low, high = ([0] * len(conv.padded) for _ in range(2))
    low[at : at + 2], high[at : at + 2] = conv.low, conv.more
    indices = ", ".join(f"%i{each}: index" for each in range(len(low)))
    return f"""%padded = tensor.pad %a low{low} high{high} {{
      ^bb0({indices}):
        tensor.yield %zero_{conv.element} : {conv.element}
      }} : {image} to {padded}"""


def _op(conv: Conv, image: str, filter_: str, sums: str) -> str:
    source = "%padded" if any((*conv.low, *conv.more)) else "%a"
    operands = f"ins({source}, %b : {image}, {filter_}) outs(%init : {sums})"
    if conv.groups == 1:
        name = "nchw_fchw" if conv.first else "nhwc_hwcf"
        sizes = {"strides": conv.stride, "dilations": conv.dilation}
        how = ", ".join(f"{each} = dense<{size}> : tensor<2xi64>" for each, size in sizes.items())
        return f"%r = linalg.conv_2d_{name} {{{how}}} {operands} -> {sums}"
    y, x = (f"{o} * {conv.stride} + {k} * {conv.dilation}" for o, k in (("y", "u"), ("x", "v")))
    maps = (f"n, {y}, {x}, g, c", "u, v, c, g, f", "n, y, x, g, f")
    maps_ = ", ".join(f"affine_map<(n, y, x, g, f, u, v, c) -> ({each})>" for each in maps)
    kinds = ", ".join(['"parallel"'] * 5 + ['"reduction"'] * 3)
    return f"""%r = linalg.generic {{indexing_maps = [{maps_}], iterator_types = [{kinds}]}} {operands} {{
      ^bb0(%p: {conv.element}, %q: {conv.element}, %o: {conv.sums}):
        %p1 = arith.extf %p : {conv.element} to {conv.sums}
        %q1 = arith.extf %q : {conv.element} to {conv.sums}
        %m = arith.mulf %p1, %q1 : {conv.sums}
        %s = arith.addf %o, %m : {conv.sums}
        linalg.yield %s : {conv.sums}
      }} -> {sums}"""


_FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu_ordered": lambda x: np.maximum(x, 0),
    "at_most_6": lambda x: np.minimum(x, 6),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": gelu,
}


def expected(conv: Conv, images: np.ndarray, filter_: np.ndarray, extras: Sequence[np.ndarray]) -> np.ndarray:
    """The result in double precision; a truncation is none there."""
    x, w = images.astype(float), filter_.astype(float)
    if conv.first:
        x, w = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
    if conv.groups == 1:
        x, w = x[:, :, :, None], w[:, :, :, None]
    x = np.pad(x, [(0, 0), *zip(conv.low, conv.more, strict=True), (0, 0), (0, 0)])
    high, wide = conv.out
    sums = np.zeros((conv.images, high, wide, conv.groups, conv.filters))
    for u in range(conv.window[0]):
        for v in range(conv.window[1]):
            down, along = u * conv.dilation, v * conv.dilation
            part = x[:, down:, along:][:, :: conv.stride, :: conv.stride][:, :high, :wide]
            sums += np.einsum("nyxgc,cgf->nyxgf", part, w[u, v])
    if conv.groups == 1:
        sums = sums[:, :, :, 0]
    if conv.first:
        sums = sums.transpose(0, 3, 1, 2)
    given = iter(extras)
    for step in conv.steps:
        if step in _FUNCTIONS:
            sums = _FUNCTIONS[step](sums)
        elif step != "truncf":
            extra, loops = next(given).astype(float), _loops(conv, step)
            if loops is not None:
                extra = extra.reshape([size if at in loops else 1 for at, size in enumerate(conv.result)])
            what = step.rpartition("_")[2]
            sums = (
                sums * extra
                if what in ("gain", "factor")
                else sums - extra
                if what == "minus"
                else sums + extra
            )
    return sums
