"""Convolutions of neural networks and their gradients: 1 to 3 dimensions, padding, groups, any layout."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import ClassVar, cast, get_args

from iree.compiler import ir

from iree_tuner.compiler.linalg import collapse, expand, generic, multiply_add
from iree_tuner.errors import UsageError
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.suite.epilogue import Epilogue
from iree_tuner.suite.operation import (
    ConvLayer,
    Direction,
    Operation,
    Primitives,
    T,
    TensorType,
    check_choice,
    check_sizes,
    reordered,
)
from iree_tuner.suite.tensors import (
    WIDE,
    check_type,
    cut,
    filled,
    flipped,
    padded,
    shape_of,
    spread,
    sums_of,
)

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
_SIZES = re.compile(r"(0|[1-9]\d*)(x(0|[1-9]\d*)){0,2}")
_ROLES = {"forward": ("in", "fil", "out"), "data": ("out", "fil", "in"), "weights": ("out", "in", "fil")}
_Place = Sequence[tuple[str, int]]
"""A dimension of an operand: the loops that walk it, each with its step."""


@dataclass(frozen=True, kw_only=True)
class ConvolutionLayer(Operation):
    """A convolution of a network's layer, or one of its gradients; sums are held in f32."""

    kind: ClassVar[str] = "convolution_layer"

    # `forward`; `data`, the gradient of the images from the result's gradient and the filters; `weights`, the
    # gradient of the filters from the result's gradient and the images
    direction: str = "forward"
    # n, c, k: images, their channels, and filters
    n: int = 1
    c: int = 64
    k: int = 64
    # image, kernel: sizes of images and filters, `58x58`: as many dimensions as both have
    image: str = "56x56"
    kernel: str = "3x3"
    # strides, padding, dilations: of each dimension; padding is zeros on both sides
    strides: str = "1x1"
    padding: str = "1x1"
    dilations: str = "1x1"
    groups: int = 1  # of channels, each with k / groups filters of its own
    # in_layout, fil_layout, out_layout: of images, filters and results, as `NHWC`, with letters of existing
    # dimensions only; of filters N is k and C the channels of a group
    in_layout: str = "NHWC"
    fil_layout: str = "NHWC"
    out_layout: str = "NHWC"
    element_type: str = "f32"  # of all tensors
    bias: bool = False  # whether k numbers are added to the result; forward only

    @property
    def name(self) -> str:
        """As `convolution_layer_data_1x64x56x56_64x3x3_nhwc_f16_p1x1_g4`."""
        layouts = list(dict.fromkeys((self.in_layout, self.fil_layout, self.out_layout)))
        told = layouts if len(layouts) == 1 else [self.in_layout, self.fil_layout, self.out_layout]
        ones, zeros = ("x".join(each * len(self._layer.image)) for each in "10")
        parts = [
            f"{self.kind}_{self.direction}_{self.n}x{self.c}x{self.image}_{self.k}x{self.kernel}",
            *map(str.lower, told),
            self.element_type,
            *([f"s{self.strides}"] if self.strides != ones else []),
            *([f"p{self.padding}"] if self.padding != zeros else []),
            *([f"d{self.dilations}"] if self.dilations != ones else []),
            *([f"g{self.groups}"] if self.groups > 1 else []),
            *(["bias"] if self.bias else []),
        ]
        return "_".join(parts)

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        """Two of images, filters and the result's gradient, by the direction; and the bias."""
        left, right, _ = self._roles
        return (self._tensor(left), self._tensor(right), *self._epilogue.inputs)

    @property
    def result(self) -> TensorType:
        """The third of them."""
        return self._tensor(self._roles[2])

    @property
    def flops(self) -> float:
        """Two for each element of the convolution's result and each one that enters it; so of gradients."""
        return 2.0 * prod(self._tensor("out").shape) * self._window_size + self._epilogue.flops

    @property
    def tolerance(self) -> Tolerance:
        """That of a sum over window and channels, over window and filters, or over images and results."""
        lengths = {
            "forward": self._window_size,
            "data": prod(self._layer.kernel) * self.k // self.groups,
            "weights": self.n * prod(self._layer.results),
        }
        return self._epilogue.tolerance(sums_of(self.element_type), lengths[self.direction])

    def check(self) -> None:
        check_sizes(self, "n", "c", "k", "groups")
        check_type("element_type", self.element_type, WIDE)
        check_choice(self, "direction", get_args(Direction))
        names = ("image", "kernel", "strides", "padding", "dilations")
        texts = {name: str(self.arguments[name]) for name in names}
        for name, text in texts.items():
            if not _SIZES.fullmatch(text):
                raise UsageError(f"{name}: '{text}' must be 1 to 3 sizes, such as 3x3")
            if name != "padding" and min(_sizes(text)) < 1:
                raise UsageError(f"{name}: {text} has a size below 1")
        if len({len(_sizes(text)) for text in texts.values()}) > 1:
            told = ", ".join(f"{name} {text}" for name, text in texts.items())
            raise UsageError(f"the numbers of dimensions differ: {told}")
        for name, layout in self._layouts.items():
            if sorted(layout) != sorted(f"NC{self._spatial}"):
                raise UsageError(f"{name}_layout: '{layout}' is not a permutation of NC{self._spatial}")
        for name, channels in (("c", self.c), ("k", self.k)):
            if channels % self.groups:
                raise UsageError(f"groups: {name} ({channels}) is not a multiple of {self.groups}")
        if min(self._layer.results) < 1:
            raise UsageError(f"the kernel of {self.kernel} is larger than the padded image of {self.image}")
        if self.bias and self.direction != "forward":
            raise UsageError("bias: gradients have no bias")
        if self.direction == "data" and any(first > last for first, last, _ in self._seen):
            raise UsageError(f"padding: with {self.padding}, no result depends on the image")

    def build(self, inputs: Sequence[ir.Value]) -> ir.Value:
        """One generic op with the maps of a convolution, of padded, spread and flipped operands."""
        lhs, rhs, *extras = inputs
        if self.direction == "data":
            return self._epilogue.build(self._data(lhs, rhs), extras)
        image, other, role = (lhs, rhs, "fil") if self.direction == "forward" else (rhs, lhs, "out")
        around, result = self._in_layout("in", self._layer.padding), self._roles[2]
        steps = enumerate(zip(self._layer.strides, self._layer.dilations, strict=True))
        windows = [((f"o{i}", stride), (f"r{i}", dilation)) for i, (stride, dilation) in steps]
        places = {"in": self._places("in", windows), role: self._places(role), result: self._places(result)}
        return self._epilogue.build(self._contraction(padded(image, around, around), other, places), extras)

    def compute(self, ops: Primitives[T], inputs: Sequence[T]) -> T:
        """The same by a library, which sees batch, channels and dimensions in this order."""
        left, right, result = (self._layouts[role] for role in self._roles)
        usual = f"NC{self._spatial}"
        lhs, rhs = reordered(ops, inputs[0], left, usual), reordered(ops, inputs[1], right, usual)
        sums = ops.layer(self._layer, lhs, rhs, self._epilogue.asked(sums_of(self.element_type)))
        sums = reordered(ops, sums, usual, result)
        return self._epilogue.compute(ops, sums, sums_of(self.element_type), inputs[2:])

    @property
    def _layer(self) -> ConvLayer:
        return ConvLayer(
            cast("Direction", self.direction), _sizes(self.image), _sizes(self.kernel), _sizes(self.strides),
            _sizes(self.padding), _sizes(self.dilations), self.groups,
        )  # fmt: skip

    @property
    def _roles(self) -> tuple[str, str, str]:
        """Of the operands and the result."""
        return _ROLES[self.direction]

    @property
    def _layouts(self) -> Mapping[str, str]:
        return {"in": self.in_layout, "fil": self.fil_layout, "out": self.out_layout}

    @property
    def _spatial(self) -> str:
        return SPATIAL[len(_sizes(self.image))]

    @property
    def _window_size(self) -> int:
        return prod(self._layer.kernel) * self.c // self.groups

    @property
    def _epilogue(self) -> Epilogue:
        return Epilogue(("bias",) if self.bias else (), self.result, self._layouts[self._roles[2]].index("C"))

    def _tensor(self, role: str) -> TensorType:
        layer = self._layer
        spatial = {"in": layer.image, "fil": layer.kernel, "out": layer.results}[role]
        channels = {"in": (self.n, self.c), "fil": (self.k, self.c // self.groups), "out": (self.n, self.k)}
        sizes = dict(zip(f"NC{self._spatial}", (*channels[role], *spatial), strict=True))
        return TensorType(tuple(sizes[each] for each in self._layouts[role]), self.element_type)

    def _in_layout(self, role: str, spatial: Sequence[int], other: int = 0) -> list[int]:
        """Numbers of the spatial dimensions in a tensor's order, and another one for batch and channels."""
        numbers = dict(zip(self._spatial, spatial, strict=True))
        return [numbers.get(each, other) for each in self._layouts[role]]

    @property
    def _seen(self) -> list[tuple[int, int, int]]:
        """The first and the last result that touch the image, and the place of the first, by dimension.

        Results are spread, a stride apart, in the input of a convolution with the flipped filters.
        """
        found: list[tuple[int, int, int]] = []
        layer = self._layer
        facts = (layer.image, layer.kernel, layer.strides, layer.padding, layer.dilations, layer.results)
        for size, taps, stride, pad, dilation, results in zip(*facts, strict=True):
            reach = dilation * (taps - 1)
            offset = reach - pad
            first = max(0, ceil(-offset / stride))
            last = min(results - 1, (size + reach - 1 - offset) // stride)
            found.append((first, last, offset + first * stride))
        return found

    def _data(self, gradient: ir.Value, filters: ir.Value) -> ir.Value:
        layer = self._layer
        whole = shape_of(gradient)
        kept = self._in_layout("out", [last - first + 1 for first, last, _ in self._seen])
        gradient = cut(
            gradient,
            self._in_layout("out", [first for first, _, _ in self._seen]),
            [size or all_ for size, all_ in zip(kept, whole, strict=True)],
        )
        reaches = zip(layer.image, layer.dilations, layer.kernel, strict=True)
        lengths = self._in_layout("out", [size + dilation * (taps - 1) for size, dilation, taps in reaches])
        gradient = spread(
            gradient,
            [length or size for length, size in zip(lengths, whole, strict=True)],
            self._in_layout("out", [offset for _, _, offset in self._seen]),
            self._in_layout("out", layer.strides, other=1),
        )
        filters = flipped(filters, [at for at, each in enumerate(self.fil_layout) if each in self._spatial])
        windows = [((f"i{i}", 1), (f"r{i}", dilation)) for i, dilation in enumerate(layer.dilations)]
        places = {"out": self._places("out", windows), "fil": self._places("fil"), "in": self._places("in")}
        return self._contraction(gradient, filters, places)

    def _places(self, role: str, windows: Sequence[_Place] | None = None) -> list[_Place]:
        """The loops of a tensor's dimensions; a dimension that is split into groups is two."""
        letter = {"in": "i", "fil": "r", "out": "o"}[role]
        batch, channels = {"in": "nc", "fil": "kc", "out": "nk"}[role]
        spatial = windows or [((f"{letter}{i}", 1),) for i in range(len(self._spatial))]
        known: dict[str, _Place] = dict(zip(self._spatial, spatial, strict=True))
        known |= {"N": ((batch, 1),), "C": ((channels, 1),)}
        return [
            place
            for each in self._layouts[role]
            for place in ([(("g", 1),), known[each]] if self._is_split(role, each) else [known[each]])
        ]

    def _is_split(self, role: str, letter: str) -> bool:
        return self.groups > 1 and letter == ("N" if role == "fil" else "C")

    def _in_groups(self, value: ir.Value, role: str) -> ir.Value:
        sizes = zip(self._layouts[role], shape_of(value), strict=True)
        groups = self.groups
        return expand(
            value,
            [(groups, size // groups) if self._is_split(role, each) else (size,) for each, size in sizes],
        )

    def _contraction(self, lhs: ir.Value, rhs: ir.Value, places: Mapping[str, Sequence[_Place]]) -> ir.Value:
        """Sums of products; the loops are the result's, followed by the others as `rhs` has them.

        `lhs` and `rhs` have the layouts of their roles; `places` are theirs and the result's, by role.
        """
        *_, result = places
        kept = [loop for place in places[result] for loop, _ in place]
        others = [loop for place in list(places.values())[1] for loop, _ in place]
        loops = [*kept, *(loop for loop in others if loop not in kept)]
        maps = [_access(loops, each) for each in places.values()]
        out = filled(self._tensor(result).shape, sums_of(self.element_type))
        values = [self._in_groups(value, role) for value, role in zip((lhs, rhs, out), places, strict=True)]
        sums = generic(values[:2], values[2], maps, multiply_add)
        return collapse(sums, [2 if self._is_split(result, each) else 1 for each in self._layouts[result]])


def _access(loops: Sequence[str], places: Sequence[_Place]) -> ir.AffineMap:
    number = {loop: ir.AffineExpr.get_dim(i) for i, loop in enumerate(loops)}
    results = list[ir.AffineExpr]()
    for place in places:
        first, *more = [number[loop] * step if step > 1 else number[loop] for loop, step in place]
        results.append(first + more[0] if more else first)
    return ir.AffineMap.get(len(loops), 0, results)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("x")))
