"""Blocks of further kinds of models, for GPUs: diffusion transformers, speech, image decoders."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import HALF, Model, normal
from examples.models.sdxl import residual_block, residual_weights
from examples.models.weights import Weights


def dit(name: str, of: str, *, tokens: int, width: int, heads: int, batch: int) -> Model:
    """Attention and a feed-forward layer, whose norms and results a row of each image modulates (adaLN)."""

    def weights() -> Weights:
        w = Weights(name)
        w.linear("modulation", width, 6 * width)
        w.linear("qkv", width, 3 * width)
        w.linear("mixed", width, width)
        w.linear("hidden", width, 4 * width)
        w.linear("out", 4 * width, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """The tokens' states, and the row of each image."""
        return normal(rng, batch, tokens, width), normal(rng, batch, width)

    def forward(f: ModuleType, w: Any, x: Any, row: Any) -> tuple[Any, ...]:
        """The tokens' states after the block."""
        parts = f.split(f.linear(w, "modulation", f.silu(row))[:, None, :], 6)
        normed = f.plain_norm(x) * (1 + parts[1]) + parts[0]
        q, k, v = (f.heads_in(each, heads) for each in f.split(f.linear(w, "qkv", normed), 3))
        x = x + parts[2] * f.linear(w, "mixed", f.heads_out(f.attention(q, k, v)))
        normed = f.plain_norm(x) * (1 + parts[4]) + parts[3]
        return (x + parts[5] * f.linear(w, "out", f.gelu_tanh(f.linear(w, "hidden", normed))),)

    return Model(name, f"{of}, {batch} x {tokens} tokens, {HALF}", weights, inputs, forward, tolerance=1e-2)


def conformer(name: str, of: str, *, tokens: int, width: int, heads: int, filters: int, batch: int) -> Model:
    """Two halves of a feed-forward layer around attention with biases and a convolution over time."""

    def weights() -> Weights:
        w = Weights(name)
        for half in ("first", "second"):
            w.norm(f"{half}_norm", width)
            w.linear(f"{half}_hidden", width, 4 * width)
            w.linear(f"{half}_out", 4 * width, width)
        w.norm("own_norm", width)
        for part in ("q", "k", "v", "mixed"):
            w.linear(part, width, width)
        w.norm("conv_norm", width)
        w.linear("gated", width, 2 * width)
        w.conv_rows("time", filters, width)
        w.norm("time_norm", width)
        w.linear("pointwise", width, width)
        w.norm("last_norm", width)
        return w.half()

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """The frames' states, and what is added to the scores of each head."""
        return normal(rng, batch, tokens, width), normal(rng, heads, tokens, tokens)

    def fed(f: ModuleType, w: Any, half: str, x: Any) -> Any:
        hidden = f.silu(f.linear(w, f"{half}_hidden", f.layer_norm(w, f"{half}_norm", x)))
        return x + 0.5 * f.linear(w, f"{half}_out", hidden)

    def forward(f: ModuleType, w: Any, x: Any, bias: Any) -> tuple[Any, ...]:
        """The frames' states after the block."""
        x = fed(f, w, "first", x)
        normed = f.layer_norm(w, "own_norm", x)
        q, k, v = (f.heads_in(f.linear(w, part, normed), heads) for part in ("q", "k", "v"))
        x = x + f.linear(w, "mixed", f.heads_out(f.biased_attention(q, k, v, bias)))
        value, gate = f.split(f.linear(w, "gated", f.layer_norm(w, "conv_norm", x)), 2)
        h = f.conv_rows(w, "time", value * f.sigmoid(gate))
        h = f.silu(h * w["time_norm_scale"] + w["time_norm_bias"])  # a batch norm, folded
        x = x + f.linear(w, "pointwise", h)
        return (f.layer_norm(w, "last_norm", fed(f, w, "second", x)),)

    return Model(name, f"{of}, {batch} x {tokens} frames, {HALF}", weights, inputs, forward, tolerance=1e-2)


def image_decoder(name: str, of: str, *, size: int, channels: int, outputs: int, groups: int = 32) -> Model:
    """A residual block, an image of twice the size by nearest pixels, a convolution, one more block."""

    def weights() -> Weights:
        w = Weights(name)
        residual_weights(w, "first_", channels, channels)
        w.conv("enlarged", 3, channels, channels, gain=1.0)
        residual_weights(w, "second_", channels, outputs)
        return w.half()

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """An image."""
        return (normal(rng, 1, size, size, channels),)

    def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
        """The image of twice the size."""
        x = residual_block(f, w, "first_", f.image_in(image), None, groups)
        x = f.conv(w, "enlarged", f.enlarge(x))
        return (f.image_out(residual_block(f, w, "second_", x, None, groups)),)

    what = f"{of}, {size}x{size}x{channels}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)
