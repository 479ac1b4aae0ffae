"""Blocks of the eight kinds that were drawn from the list in benchmarks/README.md, for GPUs.

They were written on 2026-11-30, after the kernels that they are measured with (commit 88148da8). Gemma's
block, which is like two of them, is none of the eight.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from examples.models.model import HALF, Model, normal
from examples.models.weights import Weights

Inputs = tuple[NDArray[Any], ...]


def gated_decoder(
    name: str, of: str, *, tokens: int, width: int, heads: int, shared: int, each: int, hidden: int,
    window: int | None = None, norms: bool = False, cap: float | None = None,
) -> Model:  # fmt: skip
    """A language model's block; `each` is the width of a head, `shared` the number of heads of keys.

    Mistral has a window of keys, Qwen3 norms of queries and keys. With `cap` it is Gemma's, in bf16: scores
    have a soft cap, layers another norm after them, and a GELU gates.
    """
    dtype = np.float16 if cap is None else ml_dtypes.bfloat16

    def weights() -> Weights:
        w = Weights(name)
        w.turns("rotary", 0, tokens, each)
        for part in ("q", "k") if norms else ():
            w.scale(f"{part}_norm", each)
        for norm in ("norm1", "norm2") if cap is None else ("norm1", "after1", "norm2", "after2"):
            w.scale(norm, width)
        for part, count in (("q", heads), ("k", shared), ("v", shared)):
            w.projection(part, width, count * each)
        w.projection("o", heads * each, width)
        w.projection("gate", width, hidden)
        w.projection("up", width, hidden)
        w.projection("down", hidden, width)
        return w.of_type(dtype)

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, tokens, width).astype(dtype),)

    def after(f: ModuleType, w: Any, number: int, layer: Any) -> Any:
        return layer if cap is None else f.rms_norm(w, f"after{number}", layer)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        normed = f.rms_norm(w, "norm1", x)
        q, k, v = (
            f.heads_in(f.project(w, part, normed), count)
            for part, count in (("q", heads), ("k", shared), ("v", shared))
        )
        if norms:
            q, k = f.rms_norm(w, "q_norm", q), f.rms_norm(w, "k_norm", k)
        q, k = f.rotary(w, "rotary", q), f.rotary(w, "rotary", k)
        mixed = f.masked_causal(q, k, v, window) if cap is None else f.causal_attention(q, k, v, cap)
        x = x + after(f, w, 1, f.project(w, "o", f.heads_out(mixed)))
        normed = f.rms_norm(w, "norm2", x)
        gate = (f.silu if cap is None else f.gelu_tanh)(f.project(w, "gate", normed))
        return (x + after(f, w, 2, f.project(w, "down", gate * f.project(w, "up", normed))),)

    what = f"a block of {of}, {tokens} tokens, {HALF if cap is None else 'bf16 with f32 sums'}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2 if cap is None else 5e-2)


def clip(name: str, of: str, *, batch: int, tokens: int, width: int, heads: int) -> Model:
    """A block of a text encoder: causal attention, and a GELU that is a sigmoid."""

    def weights() -> Weights:
        w = Weights(name)
        w.norm("norm1", width)
        w.norm("norm2", width)
        for part in ("q", "k", "v", "mixed"):
            w.linear(part, width, width)
        w.linear("hidden", width, 4 * width)
        w.linear("out", 4 * width, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, batch, tokens, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        normed = f.layer_norm(w, "norm1", x)
        q, k, v = (f.heads_in(f.linear(w, part, normed), heads) for part in ("q", "k", "v"))
        x = x + f.linear(w, "mixed", f.heads_out(f.masked_causal(q, k, v)))
        h = f.linear(w, "hidden", f.layer_norm(w, "norm2", x))
        return (x + f.linear(w, "out", h * f.sigmoid(1.702 * h)),)

    what = f"a block of {of}, {batch} x {tokens} tokens, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def perceiver(name: str, *, latents: int, width: int, inputs_count: int, depth: int, heads: int) -> Model:
    """Latents attend to many inputs, then to each other."""

    def weights() -> Weights:
        w = Weights(name)
        w.norm("input_norm", depth)
        for layer, source in (("cross", depth), ("own", width)):
            w.norm(f"{layer}_norm", width)
            w.linear(f"{layer}_q", width, width)
            w.linear(f"{layer}_k", source, width)
            w.linear(f"{layer}_v", source, width)
            w.linear(f"{layer}_mixed", width, width)
            w.norm(f"{layer}_fed_norm", width)
            w.linear(f"{layer}_hidden", width, width)
            w.linear(f"{layer}_out", width, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return normal(rng, latents, width), normal(rng, inputs_count, depth)

    def forward(f: ModuleType, w: Any, x: Any, given: Any) -> tuple[Any, ...]:
        given = f.layer_norm(w, "input_norm", given)
        for layer in ("cross", "own"):
            normed = f.layer_norm(w, f"{layer}_norm", x)
            source = given if layer == "cross" else normed
            q = f.heads_in(f.linear(w, f"{layer}_q", normed), heads)
            k, v = (f.heads_in(f.linear(w, f"{layer}_{part}", source), heads) for part in ("k", "v"))
            x = x + f.linear(w, f"{layer}_mixed", f.heads_out(f.attention(q, k, v)))
            h = f.gelu(f.linear(w, f"{layer}_hidden", f.layer_norm(w, f"{layer}_fed_norm", x)))
            x = x + f.linear(w, f"{layer}_out", h)
        return (x,)

    what = f"Perceiver, {latents} latents, {inputs_count} inputs, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def bottleneck(
    name: str, of: str, *, images: int, size: int, channels: int, width: int, groups: int
) -> Model:
    """ResNeXt's block: a grouped 3x3 convolution between two products, with the norms folded."""

    def weights() -> Weights:
        w = Weights(name)
        w.conv("narrow", 1, channels, width)
        w.conv("grouped", 3, width, width, groups=groups)
        w.conv("wide", 1, width, channels, gain=1.0)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size, size, channels),)

    def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
        x = f.image_in(image)
        h = f.relu(f.conv(w, "narrow", x))
        h = f.relu(f.conv(w, "grouped", h, groups=groups))
        return (f.image_out(f.relu(x + f.conv(w, "wide", h))),)

    what = f"a block of {of}, {images} x {size}x{size}x{channels}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def inverted(name: str, of: str, *, images: int, size: int, channels: int, wider: int, filters: int) -> Model:
    """EfficientNet's block: depthwise in between, channels scaled by their means (squeeze and excitation)."""
    squeezed = channels // 4

    def weights() -> Weights:
        w = Weights(name)
        w.conv("expand", 1, channels, wider)
        w.conv("depthwise", filters, wider, wider, groups=wider)
        w.linear("squeeze", wider, squeezed)
        w.linear("excite", squeezed, wider)
        w.conv("project", 1, wider, channels, gain=1.0)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size, size, channels),)

    def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
        x = f.image_in(image)
        h = f.silu(f.depthwise(w, "depthwise", f.silu(f.conv(w, "expand", x))))
        scale = f.sigmoid(f.linear(w, "excite", f.silu(f.linear(w, "squeeze", f.mean_pool(h)))))
        return (f.image_out(x + f.conv(w, "project", h * f.per_channel(scale))),)

    what = f"a block of {of}, {images} x {size}x{size}x{channels}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=2e-2)


def vocoder(name: str, *, batch: int, rows: int, channels: int, filters: int = 7) -> Model:
    """HiFi-GAN's residual block: pairs of convolutions over time, the first of each dilated by 1, 3, 5."""

    def weights() -> Weights:
        w = Weights(name)
        for dilation in (1, 3, 5):
            w.conv_time(f"dilated{dilation}", filters, channels, channels)
            w.conv_time(f"plain{dilation}", filters, channels, channels)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, batch, rows, channels),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        for dilation in (1, 3, 5):
            h = f.conv_time(w, f"dilated{dilation}", f.leaky_relu(x), dilation=dilation)
            x = x + f.conv_time(w, f"plain{dilation}", f.leaky_relu(h))
        return (x,)

    what = f"a residual block of HiFi-GAN, {batch} x {rows}x{channels}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def segformer(name: str, of: str, *, batch: int, size: int, width: int, heads: int, ratio: int) -> Model:
    """Attention of positions to fewer ones, and a feed-forward layer with a depthwise convolution."""

    def weights() -> Weights:
        w = Weights(name)
        for norm in ("norm1", "norm2", "fewer_norm"):
            w.norm(norm, width)
        w.conv("fewer", ratio, width, width, gain=1.0)
        for part in ("q", "k", "v", "mixed"):
            w.linear(part, width, width)
        w.linear("hidden", width, 4 * width)
        w.conv("depthwise", 3, 4 * width, 4 * width, groups=4 * width)
        w.linear("out", 4 * width, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, batch, size * size, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        normed = f.layer_norm(w, "norm1", x)
        fewer = f.layer_norm(w, "fewer_norm", f.as_tokens(f.patches(w, "fewer", f.as_image(normed, size))))
        q = f.heads_in(f.linear(w, "q", normed), heads)
        k, v = (f.heads_in(f.linear(w, part, fewer), heads) for part in ("k", "v"))
        x = x + f.linear(w, "mixed", f.heads_out(f.attention(q, k, v)))
        h = f.as_image(f.linear(w, "hidden", f.layer_norm(w, "norm2", x)), size)
        return (x + f.linear(w, "out", f.gelu(f.as_tokens(f.depthwise(w, "depthwise", h)))),)

    what = f"a block of {of}, {batch} x {size}x{size}x{width}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=2e-2)
