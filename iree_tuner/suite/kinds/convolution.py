"""2-D convolutions: with strides, dilations and groups, up to depthwise ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from iree.compiler import ir

from iree_tuner.compiler.linalg import access, collapse, expand, generic, multiply_add, named
from iree_tuner.errors import UsageError
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.suite import epilogue as epilogues
from iree_tuner.suite.epilogue import Epilogue
from iree_tuner.suite.operation import (
    ConvLayer,
    Operation,
    Primitives,
    T,
    TensorType,
    Value,
    check_choice,
    check_sizes,
    reordered,
)
from iree_tuner.suite.tensors import (
    FLOATS,
    check_type,
    filled,
    in_name,
    result_of,
    shape_of,
    sums_of,
    widest,
)

_LAYOUTS: Mapping[str, tuple[str, str]] = {
    "nhwc": ("nhwc", "hwcf"), "nhwc_fhwc": ("nhwc", "fhwc"), "nchw": ("nchw", "fchw"),
}  # fmt: skip
_PLAIN = {"hwcf": "conv_2d_nhwc_hwcf", "fhwc": "conv_2d_nhwc_fhwc", "fchw": "conv_2d_nchw_fchw"}
_GROUPED = {"fhwc": "conv_2d_nhwgc_gfhwc", "fchw": "conv_2d_ngchw_gfchw"}


@dataclass(frozen=True, kw_only=True)
class ConvolutionOp(Operation):
    """A 2-D convolution; sums are held in f32, of i8 in i32."""

    kind: ClassVar[str] = "convolution"

    # n, h, w, c: images, and their height, width and channels, with padding
    n: int = 1
    h: int = 58
    w: int = 58
    c: int = 64
    # f, kh, kw: filters, and their height and width
    f: int = 64
    kh: int = 3
    kw: int = 3
    # sh, sw, dh, dw: strides and dilations, of height and width
    sh: int = 1
    sw: int = 1
    dh: int = 1
    dw: int = 1
    groups: int = 1  # of channels, each with f / groups filters; c for a depthwise convolution
    # of the images, `nhwc` or `nchw`, the result as they; filters are `hwcf` or `fchw`. `nhwc_fhwc` is nhwc
    # with filters that begin with f
    layout: str = "nhwc"
    # image, filters, out: element types; sums are converted to `out` at the end
    image: str = "f32"
    filters: str = "f32"
    out: str = "f32"
    # what is done with the sums, as `bias+relu`: bias (f of them), residual (as the result), relu, gelu,
    # gelu_tanh, silu; bias and residual are inputs of type `out`. Empty for nothing
    epilogue: str = ""

    @classmethod
    def of_type(cls, element_type: str) -> dict[str, Value]:
        """Images, filters and result of one type; of i8 the result is i32, of types of 8 bits f32."""
        return {"image": element_type, "filters": element_type, "out": result_of(element_type)}

    @property
    def name(self) -> str:
        """As `convolution_1x58x58x64_64x3x3_nhwc_f32_f32_f32`, with unusual fields: `_g32_bias`."""
        sizes = f"{self.n}x{self.h}x{self.w}x{self.c}_{self.f}x{self.kh}x{self.kw}"
        types = "_".join(map(in_name, (self.image, self.filters, self.out)))
        strides = f"_s{self.sh}x{self.sw}" if (self.sh, self.sw) != (1, 1) else ""
        dilations = f"_d{self.dh}x{self.dw}" if (self.dh, self.dw) != (1, 1) else ""
        groups = f"_g{self.groups}" if self.groups > 1 else ""
        more = f"{strides}{dilations}{groups}{epilogues.in_name(self.epilogue)}"
        return f"{self.kind}_{sizes}_{self.layout}_{types}{more}"

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        images, filters = self._layouts
        sizes = {"n": self.n, "h": self.h, "w": self.w, "c": self.c}
        own = {"f": self.f, "h": self.kh, "w": self.kw, "c": self.c // self.groups}
        return (
            TensorType(tuple(sizes[each] for each in images), self.image),
            TensorType(tuple(own[each] for each in filters), self.filters),
            *self._epilogue.inputs,
        )

    @property
    def result(self) -> TensorType:
        """Laid out as the images."""
        height, width = self._layer.results
        sizes = {"n": self.n, "h": height, "w": width, "c": self.f}
        return TensorType(tuple(sizes[each] for each in self._layouts[0]), self.out)

    @property
    def flops(self) -> float:
        """Two for each element of the result and each element that enters it, and the epilogue's."""
        return 2.0 * self._window_size * prod(self.result.shape) + self._epilogue.flops

    @property
    def compute_type(self) -> str:
        return widest(self.image, self.filters)

    @property
    def tolerance(self) -> Tolerance:
        """The tolerance of a sum over window and channels, and of the steps after it."""
        return self._epilogue.tolerance(self._sums, self._window_size)

    def check(self) -> None:
        check_sizes(self, "n", "h", "w", "c", "f", "kh", "kw", "sh", "sw", "dh", "dw", "groups")
        check_type("image", self.image, (*FLOATS, "i8"))
        check_type("filters", self.filters, (*FLOATS, "i8"))
        check_type("out", self.out, (*FLOATS, "i32") if self._sums == "i32" else FLOATS)
        check_choice(self, "layout", _LAYOUTS)
        for name, channels in (("c", self.c), ("f", self.f)):
            if channels % self.groups:
                raise UsageError(f"groups: {name} ({channels}) is not a multiple of {self.groups}")
        if min(self.result.shape) < 1:
            raise UsageError(
                f"the window of {self.kh}x{self.kw} is larger than the image of {self.h}x{self.w}"
            )
        self._epilogue.check()

    def build(self, inputs: Sequence[ir.Value]) -> ir.Value:
        """A convolution of linalg's, or a generic op where it has none; the epilogue behind it."""
        image, filters, *extras = inputs
        if self.groups == 1:
            sums = self._named(_PLAIN[self._layouts[1]], image, filters, self.result.shape)
        elif self.groups == self.c and (
            self.layout == "nhwc" or (self.layout == "nchw" and self.f == self.c)
        ):
            sums = self._depthwise(image, filters)
        else:
            sums = self._in_groups(image, filters)
        return self._epilogue.build(sums, extras)

    def compute(self, ops: Primitives[T], inputs: Sequence[T]) -> T:
        image, filters, *extras = inputs
        if self.image != self.filters:
            image, filters = ops.cast(image, self._sums), ops.cast(filters, self._sums)
        asked = self._epilogue.asked(self._sums)
        images, layout = self._layouts
        image, filters = reordered(ops, image, images, "nchw"), reordered(ops, filters, layout, "fchw")
        sums = reordered(ops, ops.layer(self._layer, image, filters, asked), "nchw", images)
        return self._epilogue.compute(ops, sums, self._sums, extras)

    @property
    def _layouts(self) -> tuple[str, str]:
        """Of images and filters."""
        return _LAYOUTS[self.layout]

    @property
    def _layer(self) -> ConvLayer:
        return ConvLayer(
            "forward", (self.h, self.w), (self.kh, self.kw), (self.sh, self.sw), (0, 0), (self.dh, self.dw),
            self.groups,
        )  # fmt: skip

    @property
    def _sums(self) -> str:
        return sums_of(self.image, self.filters)

    @property
    def _window_size(self) -> int:
        return self.kh * self.kw * self.c // self.groups

    @property
    def _epilogue(self) -> Epilogue:
        steps = epilogues.steps_of(self.epilogue)
        return Epilogue(steps, self.result, self._layouts[0].index("c"))

    def _named(self, name: str, image: ir.Value, filters: ir.Value, shape: Sequence[int]) -> ir.Value:
        out = filled(shape, self._sums)
        make = named(name)
        return make(image, filters, outs=[out], strides=[self.sh, self.sw], dilations=[self.dh, self.dw])

    def _depthwise(self, image: ir.Value, filters: ir.Value) -> ir.Value:
        """By an op without channels in a group; with a dimension for several filters of a channel."""
        shape, times = self.result.shape, self.f // self.c
        if self.layout == "nchw":
            without = collapse(filters, (2, 1, 1))
            return self._named("depthwise_conv_2d_nchw_chw", image, without, shape)
        without = collapse(filters, (1, 1, 2))
        if times == 1:
            return self._named("depthwise_conv_2d_nhwc_hwc", image, without, shape)
        without = expand(without, [(self.kh,), (self.kw,), (self.c, times)])
        sums = self._named("depthwise_conv_2d_nhwc_hwcm", image, without, (*shape[:-1], self.c, times))
        return collapse(sums, (1, 1, 1, 2))

    def _in_groups(self, image: ir.Value, filters: ir.Value) -> ir.Value:
        """With a dimension of groups before the channels of images, and before the filters of filters."""
        images, layout = self._layouts
        image = expand(image, self._split(image, images, "c"))
        filters = expand(filters, self._split(filters, layout, "f"))
        shape = [
            size for each, size in zip(images, self.result.shape, strict=True)
            for size in ((self.groups, size // self.groups) if each == "c" else (size,))
        ]  # fmt: skip
        if layout in _GROUPED:
            sums = self._named(_GROUPED[layout], image, filters, shape)
        else:
            sums = self._generic(image, filters, shape)
        return collapse(sums, [2 if each == "c" else 1 for each in images])

    def _split(self, value: ir.Value, layout: str, dimension: str) -> list[tuple[int, ...]]:
        sizes = zip(layout, shape_of(value), strict=True)
        return [(self.groups, size // self.groups) if each == dimension else (size,) for each, size in sizes]

    def _generic(self, image: ir.Value, filters: ir.Value, shape: Sequence[int]) -> ir.Value:
        """Of images nhwgc and filters hwcgf, for which linalg has no op."""
        n, oh, ow, g, f, kh, kw, c = (ir.AffineExpr.get_dim(each) for each in range(8))
        rows, columns = oh * self.sh + kh * self.dh, ow * self.sw + kw * self.dw
        maps = [
            ir.AffineMap.get(8, 0, [n, rows, columns, g, c]),
            ir.AffineMap.get(8, 0, [kh, kw, c, g, f]),
            access(8, range(5)),
        ]
        return generic([image, filters], filled(shape, self._sums), maps, multiply_add)
