"""Blocks of eight further kinds that were drawn from the list in benchmarks/README.md, for GPUs.

They were written on 2026-11-30, after the kernels that they are measured with (commit d502c9c4).
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import HALF, Model, normal
from examples.models.weights import Weights

Inputs = tuple[NDArray[Any], ...]


def joint(name: str, of: str, *, images: int, patches: int, words: int, width: int, heads: int) -> Model:
    """Patches and words have weights of their own and attend to each other; a row of an image modulates both.

    Queries and keys have norms (Stable Diffusion 3).
    """
    each = width // heads
    streams = ("image", "text")

    def weights() -> Weights:
        w = Weights(name)
        for stream in streams:
            w.linear(f"{stream}_modulation", width, 6 * width)
            w.linear(f"{stream}_qkv", width, 3 * width)
            w.scale(f"{stream}_q_norm", each)
            w.scale(f"{stream}_k_norm", each)
            w.linear(f"{stream}_mixed", width, width)
            w.linear(f"{stream}_hidden", width, 4 * width)
            w.linear(f"{stream}_out", 4 * width, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        tokens = (normal(rng, images, count, width) for count in (patches, words))
        return (*tokens, normal(rng, images, width))

    def forward(f: ModuleType, w: Any, image: Any, text: Any, row: Any) -> tuple[Any, ...]:
        states, parts, asked = {"image": image, "text": text}, {}, {}
        for s in streams:
            parts[s] = f.split(f.linear(w, f"{s}_modulation", f.silu(row))[:, None, :], 6)
            normed = f.plain_norm(states[s]) * (1 + parts[s][1]) + parts[s][0]
            q, k, v = (f.heads_in(part, heads) for part in f.split(f.linear(w, f"{s}_qkv", normed), 3))
            asked[s] = f.rms_norm(w, f"{s}_q_norm", q), f.rms_norm(w, f"{s}_k_norm", k), v
        joined = (f.follow(*pair) for pair in zip(asked["text"], asked["image"], strict=True))
        mixed = f.heads_out(f.attention(*joined))
        found = {"text": mixed[:, :words], "image": mixed[:, words:]}
        for s in streams:
            x = states[s] + parts[s][2] * f.linear(w, f"{s}_mixed", found[s])
            normed = f.plain_norm(x) * (1 + parts[s][4]) + parts[s][3]
            h = f.gelu_tanh(f.linear(w, f"{s}_hidden", normed))
            states[s] = x + parts[s][5] * f.linear(w, f"{s}_out", h)
        return states["image"], states["text"]

    what = f"a block of {of}, {images} x {patches} patches and {words} words, {HALF}"
    return Model(name, what, weights, inputs, forward, outputs=2, tolerance=1e-2)


def experts(
    name: str, of: str, *, tokens: int, width: int, heads: int, shared: int, hidden: int, count: int
) -> Model:
    """A language model's block whose feed-forward layer is two of several experts, weighed by a gate.

    Every expert computes every token, and weights are zero for all but two: with tens of tokens each expert
    has some. The name decides the weights: with those of `experts_block`, no token's second and third expert
    are nearer than 0.008 spreads of the gate, so that rounding does not choose another one.
    """

    def weights() -> Weights:
        w = Weights(name)
        w.turns("rotary", 0, tokens, width // heads)
        for norm in ("norm1", "norm2"):
            w.scale(norm, width)
        for part, of_them in (("q", heads), ("k", shared), ("v", shared)):
            w.projection(part, width, of_them * width // heads)
        w.projection("o", width, width)
        w.projection("router", width, count)
        w.experts("gate", count, width, hidden)
        w.experts("up", count, width, hidden)
        w.experts("down", count, hidden, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, tokens, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        normed = f.rms_norm(w, "norm1", x)
        q, k, v = (
            f.heads_in(f.project(w, part, normed), of_them)
            for part, of_them in (("q", heads), ("k", shared), ("v", shared))
        )
        q, k = f.rotary(w, "rotary", q), f.rotary(w, "rotary", k)
        x = x + f.project(w, "o", f.heads_out(f.masked_causal(q, k, v)))
        normed = f.rms_norm(w, "norm2", x)
        chosen = f.two_highest(f.project(w, "router", normed))
        gated = f.silu(f.by_experts(w, "gate", normed)) * f.by_experts(w, "up", normed)
        return (x + f.weighed(f.by_experts(w, "down", gated), chosen),)

    what = f"a block of {of}, {tokens} tokens, two of {count} experts, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=2e-2)


def speech_step(
    name: str, of: str, *, beams: int, capacity: int, heard: int, width: int, heads: int
) -> Model:
    """A token of each beam at one position: its own cache, then an encoding of all beams (Whisper)."""
    each = width // heads

    def weights() -> Weights:
        w = Weights(name)
        for norm in ("own_norm", "cross_norm", "fed_norm"):
            w.norm(norm, width)
        for part in ("own_q", "own_v", "own_mixed", "cross_q", "cross_mixed"):
            w.linear(part, width, width)
        w.projection("own_k", width, width)
        w.linear("hidden", width, 4 * width)
        w.linear("out", 4 * width, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        cache, encoding = (beams, heads, capacity, each), (heads, heard, each)
        caches = (normal(rng, *cache) for _ in range(2))
        encoded = (normal(rng, *encoding) for _ in range(2))
        return normal(rng, beams, width), np.array(capacity - 1, np.int32), *encoded, *caches

    def forward(
        f: ModuleType, w: Any, x: Any, position: Any, heard_k: Any, heard_v: Any, keys: Any, values: Any
    ) -> tuple[Any, ...]:
        normed = f.layer_norm(w, "own_norm", x)
        q = f.linear(w, "own_q", normed).reshape(beams, heads, 1, each)
        k = f.project(w, "own_k", normed).reshape(beams, heads, 1, each)
        v = f.linear(w, "own_v", normed).reshape(beams, heads, 1, each)
        keys, values = f.write_each(keys, k, position), f.write_each(values, v, position)
        mixed = f.up_to(q, keys, values, position).reshape(beams, width)
        x = x + f.linear(w, "own_mixed", mixed)
        q = f.linear(w, "cross_q", f.layer_norm(w, "cross_norm", x)).reshape(beams, heads, each)
        mixed = f.attention(f.turn(q, 1, 0, 2), heard_k, heard_v)
        x = x + f.linear(w, "cross_mixed", f.turn(mixed, 1, 0, 2).reshape(beams, width))
        h = f.gelu(f.linear(w, "hidden", f.layer_norm(w, "fed_norm", x)))
        return x + f.linear(w, "out", h), keys, values

    what = f"a step of a block of {of}, {beams} beams, {capacity} positions, {heard} heard, {HALF}"
    return Model(name, what, weights, inputs, forward, outputs=3, tolerance=1e-2)


def segmenter(name: str, of: str, *, images: int, size: int, channels: int) -> Model:
    """The outer level of a U-Net for images: down to half the size and up again, beside what was there."""

    def weights() -> Weights:
        w = Weights(name)
        w.conv("first", 3, channels, channels)
        w.conv("second", 3, channels, channels)
        w.conv("lower", 3, channels, 2 * channels)
        w.conv("lowest", 3, 2 * channels, 2 * channels)
        w.unconv("up", 2 * channels, channels)
        w.conv("joined", 3, 2 * channels, channels)
        w.conv("last", 3, channels, channels)
        w.conv("classes", 1, channels, 2, gain=1.0)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size, size, channels),)

    def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
        def twice(first: str, second: str, x: Any) -> Any:
            return f.relu(f.conv(w, second, f.relu(f.conv(w, first, x))))

        kept = twice("first", "second", f.image_in(image))
        up = f.unconv(w, "up", twice("lower", "lowest", f.half_pool(kept)))
        return (f.image_out(f.conv(w, "classes", twice("joined", "last", f.join_channels(kept, up)))),)

    what = f"a level of {of}, {images} x {size}x{size}x{channels}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def state_space(
    name: str, of: str, *, batch: int, tokens: int, width: int, heads: int, each: int, states: int, chunk: int
) -> Model:
    """Mamba-2's block: states that decay, computed in chunks as products, and from chunk to chunk."""
    inner = heads * each
    mixed = inner + 2 * states

    def weights() -> Weights:
        w = Weights(name)
        w.scale("norm", width)
        w.projection("gate", width, inner)
        w.projection("mixed", width, mixed)
        w.projection("steps", width, heads)
        w.conv_rows("time", 4, mixed)
        w.scale("last_norm", inner)
        w.projection("out", inner, width)
        w.half()
        w.constant("steps_bias", np.linspace(-4.0, -1.0, heads, dtype=np.float32))
        w.constant("decay", np.linspace(1.0, 16.0, heads, dtype=np.float32))
        w.constant("kept", np.ones(heads, np.float32))
        return w

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, batch, tokens, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        normed = f.rms_norm(w, "norm", x)
        h = f.silu(f.conv_before(w, "time", f.project(w, "mixed", normed)))
        steps = f.softplus(f.widened(f.project(w, "steps", normed)) + w["steps_bias"])
        values = h[..., :inner].reshape(batch, tokens, heads, each)
        written, read = h[..., inner : inner + states], h[..., inner + states :]
        y = f.states_in_chunks(values, steps, -w["decay"], written, read, chunk)
        y = (y + f.widened(values) * w["kept"][:, None]).reshape(batch, tokens, inner)
        gated = f.as_type(y, x) * f.silu(f.project(w, "gate", normed))
        return (x + f.project(w, "out", f.rms_norm(w, "last_norm", gated)),)

    what = f"a block of {of}, {batch} x {tokens} tokens in chunks of {chunk}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=2e-2)


def depth_head(name: str, of: str, *, images: int, size: int, channels: int) -> Model:
    """Features of two sizes are refined, added, enlarged and mixed (Depth Anything, DPT)."""

    def weights() -> Weights:
        w = Weights(name)
        for unit in ("beside", "after"):
            w.conv(f"{unit}1", 3, channels, channels)
            w.conv(f"{unit}2", 3, channels, channels, gain=1.0)
        w.conv("mixed", 1, channels, channels, gain=1.0)
        w.conv("narrow", 3, channels, channels // 2)
        w.conv("depth", 3, channels // 2, 32)
        w.conv("last", 1, 32, 1, gain=1.0)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return tuple(normal(rng, images, size, size, channels) for _ in range(2))

    def forward(f: ModuleType, w: Any, deep: Any, beside: Any) -> tuple[Any, ...]:
        def unit(which: str, x: Any) -> Any:
            return x + f.conv(w, f"{which}2", f.relu(f.conv(w, f"{which}1", f.relu(x))))

        x = unit("after", f.image_in(deep) + unit("beside", f.image_in(beside)))
        x = f.conv(w, "mixed", f.smooth(x, 2))
        x = f.smooth(f.conv(w, "narrow", x), 2)
        x = f.relu(f.conv(w, "last", f.relu(f.conv(w, "depth", x))))
        return (f.image_out(x),)

    what = f"the end of {of}'s head, {images} x {size}x{size}x{channels}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def windows(name: str, of: str, *, images: int, size: int, width: int, each: int, window: int) -> Model:
    """Attention within windows of an image, then along grids as sparse as a window is large (MaxViT)."""
    heads, across = width // each, size // window

    def weights() -> Weights:
        w = Weights(name)
        for layer in ("window", "grid"):
            w.norm(f"{layer}_norm1", width)
            w.linear(f"{layer}_qkv", width, 3 * width)
            w.table(f"{layer}_bias", heads * window * window, window * window)
            w.linear(f"{layer}_mixed", width, width)
            w.norm(f"{layer}_norm2", width)
            w.linear(f"{layer}_hidden", width, 4 * width)
            w.linear(f"{layer}_out", 4 * width, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size, size, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        for layer in ("window", "grid"):
            inside = layer == "window"
            apart = (across, window) if inside else (window, across)
            order = (0, 1, 3, 2, 4, 5) if inside else (0, 2, 4, 1, 3, 5)
            back = (0, 1, 3, 2, 4, 5) if inside else (0, 3, 1, 4, 2, 5)
            parts = f.turn(x.reshape(images, *apart, *apart, width), *order)
            tokens = parts.reshape(images * across * across, window * window, width)
            normed = f.layer_norm(w, f"{layer}_norm1", tokens)
            q, k, v = (f.heads_in(part, heads) for part in f.split(f.linear(w, f"{layer}_qkv", normed), 3))
            bias = w[f"{layer}_bias_table"].reshape(heads, window * window, window * window)
            mixed = f.heads_out(f.biased_attention(q, k, v, bias))
            tokens = tokens + f.linear(w, f"{layer}_mixed", mixed)
            h = f.gelu(f.linear(w, f"{layer}_hidden", f.layer_norm(w, f"{layer}_norm2", tokens)))
            tokens = tokens + f.linear(w, f"{layer}_out", h)
            x = f.turn(tokens.reshape(parts.shape), *back).reshape(images, size, size, width)
        return (x,)

    what = f"a block of {of}, {images} x {size}x{size}x{width}, windows of {window}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def adapted(
    name: str, of: str, *, tokens: int, width: int, heads: int, shared: int, hidden: int, rank: int
) -> Model:
    """A language model's block, each of whose products has a sum of low rank beside it (LoRA)."""
    each = width // heads
    sizes = {
        "q": (width, width), "k": (width, shared * each), "v": (width, shared * each), "o": (width, width),
        "gate": (width, hidden), "up": (width, hidden), "down": (hidden, width),
    }  # fmt: skip

    def weights() -> Weights:
        w = Weights(name)
        w.turns("rotary", 0, tokens, each)
        for norm in ("norm1", "norm2"):
            w.scale(norm, width)
        for part, (inputs, outputs) in sizes.items():
            w.projection(part, inputs, outputs)
            w.projection(f"{part}_down", inputs, rank)
            w.projection(f"{part}_up", rank, outputs)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, tokens, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        def project(part: str, given: Any) -> Any:
            beside = f.project(w, f"{part}_up", f.project(w, f"{part}_down", given))
            return f.project(w, part, given) + beside * 0.5

        normed = f.rms_norm(w, "norm1", x)
        q, k, v = (
            f.heads_in(project(part, normed), count)
            for part, count in (("q", heads), ("k", shared), ("v", shared))
        )
        q, k = f.rotary(w, "rotary", q), f.rotary(w, "rotary", k)
        x = x + project("o", f.heads_out(f.masked_causal(q, k, v)))
        normed = f.rms_norm(w, "norm2", x)
        return (x + project("down", f.silu(project("gate", normed)) * project("up", normed)),)

    what = f"a block of {of}, {tokens} tokens, adapters of rank {rank}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)
