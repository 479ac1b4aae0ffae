"""Blocks of eight more kinds that were drawn from the list in benchmarks/README.md, for GPUs.

They were written on 2026-11-30, after the kernels that they were first measured with (commit 3e08bd94).
"""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import HALF, Model, normal
from examples.models.weights import Weights

Inputs = tuple[NDArray[Any], ...]


def points(name: str, *, batch: int, count: int, classes: int) -> Model:
    """PointNet for parts: layers for each point, the highest of all points, and layers on both."""
    deep, wide = (3, 64, 64, 128, 1024), (1088, 512, 256, 128)

    def weights() -> Weights:
        w = Weights(name)
        for index, (inputs, outputs) in enumerate(pairwise(deep)):
            w.linear(f"deep{index}", inputs, outputs, gain=2**0.5)
        for index, (inputs, outputs) in enumerate(pairwise(wide)):
            w.linear(f"wide{index}", inputs, outputs, gain=2**0.5)
        w.linear("classes", wide[-1], classes)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, batch, count, 3),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        found = []
        for index in range(len(deep) - 1):
            x = f.relu(f.linear(w, f"deep{index}", x))
            found.append(x)
        whole = f.for_all(f.highest(found[-1], 1)[:, None, :], 1, count)
        h = f.join_width(found[1], whole)
        for index in range(len(wide) - 1):
            h = f.relu(f.linear(w, f"wide{index}", h))
        return (f.linear(w, "classes", h),)

    what = f"PointNet for parts of objects, {batch} x {count} points, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def pairs(name: str, *, rows: int, width: int, heads: int) -> Model:
    """Of AlphaFold 2's pairs: a product along triangles, attention biased by pairs, a transition."""

    def weights() -> Weights:
        w = Weights(name)
        for norm in ("product_norm", "found_norm", "attention_norm", "transition_norm"):
            w.norm(norm, width)
        for part in ("left", "left_gate", "right", "right_gate", "gate", "found", "mixed_gate", "mixed"):
            w.linear(part, width, width)
        for part in ("q", "k", "v"):
            w.projection(part, width, width)
        w.projection("bias", width, heads)
        w.linear("hidden", width, 4 * width)
        w.linear("out", 4 * width, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, rows, rows, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        normed = f.layer_norm(w, "product_norm", x)
        left, right = (
            f.sigmoid(f.linear(w, f"{side}_gate", normed)) * f.linear(w, side, normed)
            for side in ("left", "right")
        )
        found = f.linear(w, "found", f.layer_norm(w, "found_norm", f.triangles(left, right)))
        x = x + f.sigmoid(f.linear(w, "gate", normed)) * found

        normed = f.layer_norm(w, "attention_norm", x)
        q, k, v = (f.heads_in(f.project(w, part, normed), heads) for part in ("q", "k", "v"))
        bias = f.turn(f.project(w, "bias", normed), 2, 0, 1)
        mixed = f.heads_out(f.biased_attention(q, k, v, bias))
        x = x + f.linear(w, "mixed", f.sigmoid(f.linear(w, "mixed_gate", normed)) * mixed)

        h = f.relu(f.linear(w, "hidden", f.layer_norm(w, "transition_norm", x)))
        return (x + f.linear(w, "out", h),)

    what = f"half a block of AlphaFold 2's pairs, {rows} x {rows} x {width}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def retention(name: str, of: str, *, tokens: int, width: int, heads: int, chunk: int) -> Model:
    """RetNet's block: keys decay with distance, by products within chunks and from chunk to chunk."""
    keys, values = width // heads, 2 * width // heads

    def weights() -> Weights:
        w = Weights(name)
        w.turns("rotary", 0, tokens, keys)
        for norm in ("norm1", "norm2"):
            w.scale(norm, width)
        for part, outputs in (("q", width), ("k", width), ("v", 2 * width), ("gate", 2 * width)):
            w.projection(part, width, outputs)
        w.projection("mixed", 2 * width, width)
        w.projection("hidden", width, 2 * width)
        w.projection("out", 2 * width, width)
        w.half()
        decay = np.log(1 - 2.0 ** -np.linspace(5, 12, heads))[:, None, None]
        row, chunks = np.arange(chunk), np.arange(tokens // chunk)
        behind = row[:, None] - row[None, :]
        before = chunks[:, None] - chunks[None, :] - 1
        w.constant("within", np.where(behind >= 0, np.exp(decay * behind), 0).astype(np.float32))
        w.constant("left", np.exp(decay * (chunk - 1 - row)[:, None]).astype(np.float32))
        w.constant("since", np.exp(decay * (row + 1)[:, None]).astype(np.float32))
        w.constant("across", np.where(before >= 0, np.exp(decay * chunk * before), 0).astype(np.float16))
        return w

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, tokens, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        normed = f.rms_norm(w, "norm1", x)
        q, k, v = (f.heads_in(f.project(w, part, normed), heads) for part in ("q", "k", "v"))
        q, k = f.rotary(w, "rotary", q), f.rotary(w, "rotary", k) * keys**-0.5
        mixed = f.heads_out(f.plain_norm(f.retained(w, q, k, v, chunk)))
        x = x + f.project(w, "mixed", f.silu(f.project(w, "gate", normed)) * mixed)
        h = f.gelu(f.project(w, "hidden", f.rms_norm(w, "norm2", x)))
        return (x + f.project(w, "out", h),)

    what = f"a block of {of}, {tokens} tokens in chunks of {chunk}, values of {values}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=2e-2)


def pooled(name: str, of: str, *, images: int, size: int, width: int, heads: int, stride: int) -> Model:
    """MViTv2's block: keys and values are pooled by a convolution of each head, queries are not.

    Scores have parts for rows and for columns; queries are added to what attention finds.
    """
    each, fewer = width // heads, size // stride

    def weights() -> Weights:
        w = Weights(name)
        w.norm("norm1", width)
        w.linear("qkv", width, 3 * width)
        for part in ("q", "k", "v"):
            w.conv(f"{part}_pool", 3, each, each, groups=each, gain=1.0)
            w.norm(f"{part}_norm", each)
        for part in ("rows", "columns"):
            w.table(part, size * fewer, each)
        w.linear("mixed", width, width)
        w.norm("norm2", width)
        w.linear("hidden", width, 4 * width)
        w.linear("out", 4 * width, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size * size, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        parts = f.split(f.linear(w, "qkv", f.layer_norm(w, "norm1", x)), 3)
        found = {}
        for part, given in zip("qkv", parts, strict=True):
            image = f.as_image(f.heads_in(given, heads).reshape(images * heads, size * size, each), size)
            less = f.as_tokens(f.depthwise(w, f"{part}_pool", image, stride=1 if part == "q" else stride))
            found[part] = f.layer_norm(w, f"{part}_norm", less.reshape(images, heads, -1, each))
        q, k, v = (found[part] for part in "qkv")
        mixed = f.heads_out(q + f.fewer_attention(w, q, k, v, size, fewer))
        x = x + f.linear(w, "mixed", mixed)
        h = f.gelu(f.linear(w, "hidden", f.layer_norm(w, "norm2", x)))
        return (x + f.linear(w, "out", h),)

    what = f"a block of {of}, {images} x {size}x{size}x{width}, keys of every {stride}th, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def linear_vision(name: str, of: str, *, images: int, size: int, width: int, each: int) -> Model:
    """EfficientViT's block: linear attention with ReLU at two scales, then an inverted bottleneck."""
    heads = width // each

    def weights() -> Weights:
        w = Weights(name)
        w.conv("qkv", 1, width, 3 * width, gain=1.0)
        w.conv("scale", 5, 3 * width, 3 * width, groups=3 * width, gain=1.0)
        w.conv("scale_mixed", 1, 3 * width, 3 * width, groups=3 * heads, gain=1.0)
        w.conv("mixed", 1, 2 * width, width, gain=1.0)
        w.conv("expand", 1, width, 4 * width)
        w.conv("depthwise", 3, 4 * width, 4 * width, groups=4 * width)
        w.conv("project", 1, 4 * width, width, gain=1.0)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size, size, width),)

    def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
        x = f.image_in(image)
        qkv = f.conv(w, "qkv", x)
        scaled = f.conv(w, "scale_mixed", f.depthwise(w, "scale", qkv), groups=3 * heads)
        tokens = f.as_tokens(f.join_channels(qkv, scaled))
        q, k, v = f.split(f.heads_in(tokens, 2 * heads), 3)
        mixed = f.as_image(f.heads_out(f.relu_attention(q, k, v)), size)
        x = x + f.conv(w, "mixed", mixed)
        h = f.hard_swish(f.depthwise(w, "depthwise", f.hard_swish(f.conv(w, "expand", x))))
        return (f.image_out(x + f.conv(w, "project", h)),)

    what = f"a block of {of}, {images} x {size}x{size}x{width}, heads of {each}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=2e-2)


def dense(name: str, of: str, *, images: int, size: int, channels: int, growth: int, layers: int) -> Model:
    """Each layer reads what all before it wrote, normed; then half the channels at half the size."""

    def weights() -> Weights:
        w = Weights(name)
        for index in range(layers):
            w.norm(f"norm{index}", channels + index * growth)
            w.conv(f"narrow{index}", 1, channels + index * growth, 4 * growth)
            w.conv(f"conv{index}", 3, 4 * growth, growth)
        last = channels + layers * growth
        w.norm("norm", last)
        w.conv("half", 1, last, last // 2)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size, size, channels),)

    def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
        x = f.image_in(image)
        for index in range(layers):
            h = f.relu(f.conv(w, f"narrow{index}", f.relu(f.by_channel(w, f"norm{index}", x))))
            x = f.join_channels(x, f.conv(w, f"conv{index}", h))
        h = f.conv(w, "half", f.relu(f.by_channel(w, "norm", x)))
        return (f.image_out(f.half_mean(h)),)

    what = f"a block of {of}, {images} x {size}x{size}x{channels}, {layers} layers, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def styled(name: str, *, images: int, size: int, channels: int, outputs: int, styles: int) -> Model:
    """StyleGAN2's block: twice the size, convolutions whose channels a style weighs, and a picture of it."""

    def weights() -> Weights:
        w = Weights(name)
        for layer, inputs, out in (("first", channels, outputs), ("second", outputs, outputs)):
            w.linear(f"{layer}_style", styles, inputs, gain=0.3)
            w.conv(layer, 3, inputs, out)
            w.norm(f"{layer}_noise", out)
        w.linear("picture_style", styles, outputs, gain=0.3)
        w.conv("picture", 1, outputs, 3, gain=1.0)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        twice = 2 * size
        return (
            normal(rng, images, size, size, channels),
            normal(rng, images, size, size, 3),
            normal(rng, images, styles),
            normal(rng, images, twice, twice, 1),
        )

    def forward(f: ModuleType, w: Any, image: Any, before: Any, style: Any, noise: Any) -> tuple[Any, ...]:
        x, noise = f.smooth(f.image_in(image), 2), f.image_in(noise)
        for layer in ("first", "second"):
            by = 1 + f.linear(w, f"{layer}_style", style)
            h = f.conv(w, layer, x * f.per_channel(by), bias=False) * f.per_channel(
                f.demodulation(w, layer, by)
            )
            x = f.leaky_relu(h + f.by_channel(w, f"{layer}_noise", noise))
        by = 1 + f.linear(w, "picture_style", style)
        picture = f.conv(w, "picture", x * f.per_channel(by), bias=False)
        return f.image_out(x), f.image_out(picture + f.smooth(f.image_in(before), 2))

    what = f"a block of StyleGAN2, {images} x {size}x{size}x{channels} to twice the size, {HALF}"
    return Model(name, what, weights, inputs, forward, outputs=2, tolerance=1e-2)


def late(name: str, *, documents: int, words: int, asked: int, width: int, each: int) -> Model:
    """ColBERT: every word of a query finds its nearest in each document, of as many as the document has."""

    def weights() -> Weights:
        w = Weights(name)
        w.projection("narrow", width, each)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        lengths = rng.integers(words // 4, words + 1, documents, np.int32)
        return normal(rng, asked, width), normal(rng, documents, words, width), lengths

    def forward(f: ModuleType, w: Any, query: Any, given: Any, lengths: Any) -> tuple[Any, ...]:
        query, found = (f.unit_rows(f.project(w, "narrow", each)) for each in (query, given))
        return (f.nearest(query, found, lengths),)

    what = f"ColBERT's scores of {documents} documents of {words} words for {asked} words, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)
