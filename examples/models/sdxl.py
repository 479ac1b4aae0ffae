"""Blocks as in Stable Diffusion XL's U-Net, in half precision: a transformer's, and a residual one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import HALF, Model, normal
from examples.models.weights import Weights


def transformer(
    name: str, of: str, *, tokens: int, width: int, heads: int, texts: int = 77, text_width: int = 2048,
    batch: int = 2,
) -> Model:  # fmt: skip
    """Attention of positions to each other and to a text, and a gated feed-forward layer (GEGLU)."""
    hidden = 4 * width

    def weights() -> Weights:
        w = Weights(name)
        for layer, source in (("own", width), ("cross", text_width)):
            w.norm(f"{layer}_norm", width)
            w.projection(f"{layer}_q", width, width)
            w.projection(f"{layer}_k", source, width)
            w.projection(f"{layer}_v", source, width)
            w.linear(f"{layer}_out", width, width)
        w.norm("fed_norm", width)
        w.linear("hidden", width, 2 * hidden)
        w.linear("fed_out", hidden, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """The states of positions and of the text's tokens."""
        return normal(rng, batch, tokens, width), normal(rng, batch, texts, text_width)

    def attend(f: ModuleType, w: Any, layer: str, x: Any, source: Any) -> Any:
        """Attention of positions to a source."""
        given = (("q", x), ("k", source), ("v", source))
        q, k, v = (f.heads_in(f.project(w, f"{layer}_{part}", each), heads) for part, each in given)
        return f.linear(w, f"{layer}_out", f.heads_out(f.attention(q, k, v)))

    def forward(f: ModuleType, w: Any, x: Any, text: Any) -> tuple[Any, ...]:
        """The positions' states after the block."""
        normed = f.layer_norm(w, "own_norm", x)
        x = x + attend(f, w, "own", normed, normed)
        x = x + attend(f, w, "cross", f.layer_norm(w, "cross_norm", x), text)
        value, gate = f.split(f.linear(w, "hidden", f.layer_norm(w, "fed_norm", x)), 2)
        return (x + f.linear(w, "fed_out", value * f.gelu(gate)),)

    summary = f"a transformer block of {of}, {batch} x {tokens} positions, {HALF}"
    return Model(name, summary, weights, inputs, forward, tolerance=1e-2)


def residual(
    name: str, of: str, *, size: int, channels: int, time_width: int = 1280, groups: int = 32, batch: int = 2
) -> Model:
    """Two 3x3 convolutions of square images, each after group norm and silu, and the time's row between."""

    def weights() -> Weights:
        w = Weights(name)
        w.norm("norm1", channels)
        w.conv("conv1", 3, channels, channels)
        w.linear("time", time_width, channels)
        w.norm("norm2", channels)
        w.conv("conv2", 3, channels, channels)
        return w.half()

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """Images, and the time's embedding."""
        return normal(rng, batch, size, size, channels), normal(rng, batch, time_width)

    def forward(f: ModuleType, w: Any, image: Any, time: Any) -> tuple[Any, ...]:
        """The images after the block."""
        x = f.image_in(image)
        h = f.conv(w, "conv1", f.silu(f.group_norm(w, "norm1", x, groups)))
        h = h + f.per_channel(f.linear(w, "time", f.silu(time)))
        h = f.conv(w, "conv2", f.silu(f.group_norm(w, "norm2", h, groups)))
        return (f.image_out(x + h),)

    summary = f"a residual block of {of}, {batch} x {size}x{size}x{channels}, {HALF}"
    return Model(name, summary, weights, inputs, forward, tolerance=1e-2)
