"""Random weights of a model, the same at every call, by name: drawn when they are needed, from a fixed seed.

Names end in what they are: `_kernel`, `_bias`, `_scale`, `_table` or `_turns`; of integers `_bytes` or
`_pairs`, with `_scales`. Kernels are stored as JAX has
them (inputs before outputs, filters as height, width, inputs, outputs); other libraries turn them around.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Weight:
    """An array that is not drawn yet: a language model's take minutes, its program needs only their sizes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    values: Callable[[], Array]

    def draw(self) -> Array:
        """The array."""
        return np.asarray(self.values()).astype(self.dtype, copy=False)


class Weights(dict[str, Weight]):
    """A model's weights layer by layer; each is drawn from the model's name and its own, in any order."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self._model = model

    def linear(self, name: str, inputs: int, outputs: int, gain: float = 1.0) -> None:
        """A dense layer: what comes out has about `gain` times the spread of what goes in."""
        self._normal(f"{name}_kernel", (inputs, outputs), gain * inputs**-0.5)
        self._normal(f"{name}_bias", (outputs,), 0.02)

    def projection(self, name: str, inputs: int, outputs: int) -> None:
        """A dense layer without bias."""
        self._normal(f"{name}_kernel", (inputs, outputs), inputs**-0.5)

    def scale(self, name: str, channels: int) -> None:
        """Of a normalization without shift."""
        self._normal(f"{name}_scale", (channels,), 0.1, mean=1.0)

    def turns(self, name: str, first: int, count: int, width: int) -> None:
        """Cosines and sines of rotary embeddings, at positions from a first one; these are not random."""
        half = width // 2
        speeds = 500000.0 ** (-np.arange(half) / half)
        angles = np.arange(first, first + count)[:, None] * speeds
        self.constant(f"{name}_turns", np.stack([np.cos(angles), np.sin(angles)]).astype(np.float32))

    def constant(self, name: str, value: Array) -> None:
        """One that is not random."""
        self[name] = Weight(value.shape, value.dtype, lambda: value)

    def half(self) -> Weights:
        """The same in half precision, but for cosines and sines."""
        return self.of_type(np.float16)

    def of_type(self, dtype: DTypeLike) -> Weights:
        """The same of another type, but for cosines and sines."""
        for name, weight in self.items():
            if not name.endswith("_turns") and weight.dtype.kind == "f":
                self[name] = replace(weight, dtype=np.dtype(dtype))
        return self

    def draw(self) -> dict[str, Array]:
        """All arrays, drawn on all cores."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(self, pool.map(Weight.draw, self.values()), strict=True))

    def conv(
        self, name: str, size: int, inputs: int, outputs: int, *, groups: int = 1, gain: float = 2.0**0.5
    ) -> None:
        """A convolution with square filters; the usual `gain` makes up for a ReLU before it."""
        length = size * size * inputs // groups
        self._normal(f"{name}_kernel", (size, size, inputs // groups, outputs), gain * length**-0.5)
        self._normal(f"{name}_bias", (outputs,), 0.02)

    def unconv(self, name: str, inputs: int, outputs: int) -> None:
        """A transposed convolution to twice the size, whose windows do not overlap."""
        self._normal(f"{name}_enlarging", (2, 2, inputs, outputs), inputs**-0.5)
        self._normal(f"{name}_bias", (outputs,), 0.02)

    def experts(self, name: str, count: int, inputs: int, outputs: int) -> None:
        """A dense layer of each expert, without bias."""
        self._normal(f"{name}_experts", (count, inputs, outputs), inputs**-0.5)

    def conv_time(self, name: str, size: int, inputs: int, outputs: int) -> None:
        """A convolution over rows."""
        self._normal(f"{name}_kernel", (size, inputs, outputs), (size * inputs) ** -0.5)
        self._normal(f"{name}_bias", (outputs,), 0.02)

    def conv_rows(self, name: str, size: int, channels: int) -> None:
        """A depthwise convolution over rows."""
        self._normal(f"{name}_kernel", (size, 1, channels), size**-0.5)
        self._normal(f"{name}_bias", (channels,), 0.02)

    def norm(self, name: str, channels: int) -> None:
        """Scale and shift of a normalization."""
        self._normal(f"{name}_scale", (channels,), 0.1, mean=1.0)
        self._normal(f"{name}_bias", (channels,), 0.1)

    def table(self, name: str, rows: int, width: int) -> None:
        """Embeddings."""
        self._normal(f"{name}_table", (rows, width), 1.0)

    def _rng(self, name: str) -> np.random.Generator:
        return np.random.default_rng([zlib.crc32(self._model.encode()), zlib.crc32(name.encode())])

    def _normal(self, name: str, shape: tuple[int, ...], spread: float, mean: float = 0.0) -> None:
        def values() -> Array:
            return self._rng(name).standard_normal(shape, np.float32) * np.float32(spread) + np.float32(mean)

        self[name] = Weight(shape, np.dtype(np.float32), values)


GROUP = 128
"""The inputs that share a scale, of weights of 4 bits."""


class FewBits(Weights):
    """Weights whose projections are integers of 8 bits with a scale for each output, or of 4 bits.

    Two of 4 bits are in a byte, for inputs that follow each other, the first one in its lower half. They are
    0 to 15, of which 8 is subtracted, with a scale for each output and group of inputs.
    """

    def __init__(self, model: str, bits: int) -> None:
        super().__init__(model)
        self._bits = bits

    def projection(self, name: str, inputs: int, outputs: int) -> None:
        halves = 8 // self._bits
        shape, groups = (inputs // halves, outputs), (inputs // GROUP,) if halves > 1 else ()
        spread = 2**self._bits / 12**0.5  # of integers that are drawn uniformly

        def values() -> Array:
            return self._rng(name).integers(0, 256, shape, np.uint8).view(np.int8)

        self[f"{name}_{'pairs' if halves > 1 else 'bytes'}"] = Weight(shape, np.dtype(np.int8), values)
        scale = inputs**-0.5 / spread
        self._normal(f"{name}_scales", (*groups, outputs), 0.1 * scale, mean=scale)
