"""Blocks of eight more kinds that were drawn from the list in benchmarks/README.md, for GPUs.

They were written on 2026-11-30, after the kernels that they are measured with (commit 0aa81392).
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import HALF, Model, normal
from examples.models.weights import Weights

Inputs = tuple[NDArray[Any], ...]


def _block_weights(name: str, width: int) -> Weights:
    """Of a block whose queries, keys and values are one product."""
    w = Weights(name)
    w.norm("norm1", width)
    w.norm("norm2", width)
    w.linear("qkv", width, 3 * width)
    w.linear("mixed", width, width)
    w.linear("hidden", width, 4 * width)
    w.linear("out", 4 * width, width)
    return w


def convnext(name: str, of: str, *, images: int, size: int, channels: int) -> Model:
    """A depthwise 7x7 convolution, a layer norm and a feed-forward layer with scales of its channels."""

    def weights() -> Weights:
        w = Weights(name)
        w.conv("depthwise", 7, channels, channels, groups=channels, gain=1.0)
        w.norm("norm", channels)
        w.linear("hidden", channels, 4 * channels)
        w.linear("out", 4 * channels, channels)
        w.scale("layer", channels)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size, size, channels),)

    def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
        h = f.layer_norm(w, "norm", f.image_out(f.depthwise(w, "depthwise", f.image_in(image))))
        return (image + w["layer_scale"] * f.linear(w, "out", f.gelu(f.linear(w, "hidden", h))),)

    what = f"a block of {of}, {images} x {size}x{size}x{channels}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def placed(name: str, of: str, *, size: int, width: int, heads: int) -> Model:
    """Attention among all positions of an image, whose scores have a part for rows and one for columns.

    Both are products of the query with a table of how far a key's row or column is (Segment Anything).
    """
    each = width // heads

    def weights() -> Weights:
        w = _block_weights(name, width)
        w.table("rows", size * size, each)
        w.table("columns", size * size, each)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, size * size, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        parts = f.split(f.linear(w, "qkv", f.layer_norm(w, "norm1", x)), 3)
        q, k, v = (f.heads_in(part, heads) for part in parts)
        x = x + f.linear(w, "mixed", f.heads_out(f.placed_attention(w, q, k, v, size)))
        return (x + f.linear(w, "out", f.gelu(f.linear(w, "hidden", f.layer_norm(w, "norm2", x)))),)

    what = f"a block of {of}, {size}x{size} positions, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def mixer(name: str, of: str, *, images: int, patches: int, width: int, along: int) -> Model:
    """Dense layers along patches and along channels."""

    def weights() -> Weights:
        w = Weights(name)
        w.norm("norm1", width)
        w.linear("patches", patches, along)
        w.linear("patches_out", along, patches)
        w.norm("norm2", width)
        w.linear("channels", width, 4 * width)
        w.linear("channels_out", 4 * width, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, patches, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        turned = f.layer_norm(w, "norm1", x).mT
        x = x + f.linear(w, "patches_out", f.gelu(f.linear(w, "patches", turned))).mT
        h = f.gelu(f.linear(w, "channels", f.layer_norm(w, "norm2", x)))
        return (x + f.linear(w, "channels_out", h),)

    what = f"a block of {of}, {images} x {patches} patches, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def detector(name: str, of: str, *, images: int, queries: int, seen: int, width: int, heads: int) -> Model:
    """Queries attend to each other and to an image; both have places, and norms follow (DETR)."""

    def weights() -> Weights:
        w = Weights(name)
        w.table("queries", queries, width)
        w.table("places", seen, width)
        for layer in ("own", "cross"):
            for part in ("q", "k", "v", "mixed"):
                w.linear(f"{layer}_{part}", width, width)
            w.norm(f"{layer}_norm", width)
        w.linear("hidden", width, 8 * width)
        w.linear("out", 8 * width, width)
        w.norm("last_norm", width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return normal(rng, images, queries, width), normal(rng, images, seen, width)

    def forward(f: ModuleType, w: Any, x: Any, image: Any) -> tuple[Any, ...]:
        for layer in ("own", "cross"):
            asked = x + w["queries_table"]
            keys, values = (asked, x) if layer == "own" else (image + w["places_table"], image)
            q, k, v = (
                f.heads_in(f.linear(w, f"{layer}_{part}", given), heads)
                for part, given in (("q", asked), ("k", keys), ("v", values))
            )
            mixed = f.linear(w, f"{layer}_mixed", f.heads_out(f.attention(q, k, v)))
            x = f.layer_norm(w, f"{layer}_norm", x + mixed)
        fed = f.linear(w, "out", f.relu(f.linear(w, "hidden", x)))
        return (f.layer_norm(w, "last_norm", x + fed),)

    what = f"a block of {of}, {images} x {queries} queries, {seen} positions, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def gpt2_step(name: str, of: str, *, cached: int, width: int, heads: int) -> Model:
    """One token after so many, whose keys and values are inputs; its own are results."""
    each = width // heads

    def weights() -> Weights:
        w = _block_weights(name, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return normal(rng, 1, width), normal(rng, heads, cached, each), normal(rng, heads, cached, each)

    def forward(f: ModuleType, w: Any, x: Any, keys: Any, values: Any) -> tuple[Any, ...]:
        parts = f.split(f.linear(w, "qkv", f.layer_norm(w, "norm1", x)), 3)
        q, k, v = (f.heads_in(part, heads) for part in parts)
        mixed = f.step_attention(q, f.append(keys, k), f.append(values, v))
        x = x + f.linear(w, "mixed", f.heads_out(mixed))
        h = f.gelu_tanh(f.linear(w, "hidden", f.layer_norm(w, "norm2", x)))
        return x + f.linear(w, "out", h), k, v

    what = f"a decode step of a block of {of}, {cached} tokens cached, {HALF}"
    return Model(name, what, weights, inputs, forward, outputs=3, tolerance=1e-2)


def alibi(name: str, of: str, *, tokens: int, width: int, heads: int) -> Model:
    """Causal attention whose scores fall with the distance, for each head at its own rate (ALiBi)."""

    def weights() -> Weights:
        w = _block_weights(name, width)
        w.half()
        w.constant("slopes", (2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)).astype(np.float32))
        return w

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, tokens, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        parts = f.split(f.linear(w, "qkv", f.layer_norm(w, "norm1", x)), 3)
        q, k, v = (f.heads_in(part, heads) for part in parts)
        x = x + f.linear(w, "mixed", f.heads_out(f.alibi_attention(q, k, v, w["slopes"])))
        h = f.gelu_tanh(f.linear(w, "hidden", f.layer_norm(w, "norm2", x)))
        return (x + f.linear(w, "out", h),)

    what = f"a block of {of}, {tokens} tokens, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def upscaler(name: str, of: str, *, images: int, size: int, channels: int, blocks: int = 2) -> Model:
    """Residual blocks of two 3x3 convolutions, then an image of twice the size from channels (EDSR)."""

    def weights() -> Weights:
        w = Weights(name)
        for block in range(blocks):
            w.conv(f"first{block}", 3, channels, channels)
            w.conv(f"second{block}", 3, channels, channels, gain=1.0)
        w.conv("wider", 3, channels, 4 * channels, gain=1.0)
        w.conv("colors", 3, channels, 3, gain=1.0)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size, size, channels),)

    def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
        x = f.image_in(image)
        for block in range(blocks):
            x = x + f.conv(w, f"second{block}", f.relu(f.conv(w, f"first{block}", x)))
        return (f.image_out(f.conv(w, "colors", f.pixels(f.conv(w, "wider", x)))),)

    what = f"the end of {of}, {images} x {size}x{size}x{channels}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def latent(
    name: str, of: str, *, tokens: int, width: int, heads: int, plain: int, turned: int, kept: int,
    hidden: int,
) -> Model:  # fmt: skip
    """Keys and values of all heads from a latent row of a token, and one turned key for all heads (DeepSeek).

    A head has `plain` numbers without and `turned` with positions; values have `plain`. `kept` is the width
    of the latent row.
    """

    def weights() -> Weights:
        w = Weights(name)
        w.turns("rotary", 0, tokens, turned)
        for norm, wide in (("norm1", width), ("norm2", width), ("latent", kept)):
            w.scale(norm, wide)
        w.projection("q", width, heads * plain)
        w.projection("q_turned", width, heads * turned)
        w.projection("kv_down", width, kept)
        w.projection("k_turned", width, turned)
        w.projection("k", kept, heads * plain)
        w.projection("v", kept, heads * plain)
        w.projection("o", heads * plain, width)
        w.projection("gate", width, hidden)
        w.projection("up", width, hidden)
        w.projection("down", hidden, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, tokens, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        normed = f.rms_norm(w, "norm1", x)
        row = f.rms_norm(w, "latent", f.project(w, "kv_down", normed))
        q, q_turned, k, v = (
            f.heads_in(f.project(w, part, given), heads)
            for part, given in (("q", normed), ("q_turned", normed), ("k", row), ("v", row))
        )
        q_turned = f.rotary(w, "rotary", q_turned)
        k_turned = f.rotary(w, "rotary", f.heads_in(f.project(w, "k_turned", normed), 1))
        q = f.join_width(q, q_turned)
        k = f.join_width(k, f.for_all(k_turned, 0, heads))
        x = x + f.project(w, "o", f.heads_out(f.masked_causal(q, k, v)))
        normed = f.rms_norm(w, "norm2", x)
        gated = f.silu(f.project(w, "gate", normed)) * f.project(w, "up", normed)
        return (x + f.project(w, "down", gated),)

    what = f"a block of {of}, {tokens} tokens, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)
