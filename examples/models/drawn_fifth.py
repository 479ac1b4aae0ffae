"""Blocks of the next eight kinds that were drawn from the list in benchmarks/README.md, for GPUs.

They were written on 2026-11-30, after the kernels that they were first measured with (commit 491e4ce7).
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


def scaled_vision(name: str, of: str, *, images: int, tokens: int, width: int, heads: int) -> Model:
    """DINOv2's block: what attention and the feed-forward layer find is scaled before it is added."""

    def weights() -> Weights:
        w = Weights(name)
        for norm in ("norm1", "norm2"):
            w.norm(norm, width)
        w.linear("qkv", width, 3 * width)
        w.linear("mixed", width, width)
        w.scale("mixed_layer", width)
        w.linear("hidden", width, 4 * width)
        w.linear("out", 4 * width, width)
        w.scale("out_layer", width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, tokens, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        q, k, v = (
            f.heads_in(part, heads) for part in f.split(f.linear(w, "qkv", f.layer_norm(w, "norm1", x)), 3)
        )
        x = x + w["mixed_layer_scale"] * f.linear(w, "mixed", f.heads_out(f.attention(q, k, v)))
        h = f.gelu(f.linear(w, "hidden", f.layer_norm(w, "norm2", x)))
        return (x + w["out_layer_scale"] * f.linear(w, "out", h),)

    what = f"a block of {of}, {images} x {tokens} tokens, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def cut_and_joined(name: str, of: str, *, images: int, size: int, channels: int, count: int) -> Model:
    """YOLOv8's C2f: half of the channels goes through bottlenecks, and all that was on the way is joined."""
    half = channels // 2

    def weights() -> Weights:
        w = Weights(name)
        w.conv("first", 1, channels, channels)
        for index in range(count):
            w.conv(f"down{index}", 3, half, half)
            w.conv(f"up{index}", 3, half, half, gain=1.0)
        w.conv("last", 1, (2 + count) * half, channels)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size, size, channels),)

    def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
        kept, x = f.split_channels(f.silu(f.conv(w, "first", f.image_in(image))), 2)
        joined = f.join_channels(kept, x)
        for index in range(count):
            h = f.silu(f.conv(w, f"down{index}", x))
            x = x + f.silu(f.conv(w, f"up{index}", h))
            joined = f.join_channels(joined, x)
        return (f.image_out(f.silu(f.conv(w, "last", joined))),)

    what = f"a block of {of}, {images} x {size}x{size}x{channels}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def all_pairs(name: str, *, height: int, width: int, channels: int, levels: int) -> Model:
    """RAFT's correlations: products of all pixels of two images, and their means over more and more."""

    def weights() -> Weights:
        w = Weights(name)
        w.conv("features", 1, channels, channels, gain=1.0)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return tuple(normal(rng, 1, height, width, channels) for _ in range(2))

    def forward(f: ModuleType, w: Any, one: Any, other: Any) -> tuple[Any, ...]:
        one, other = (f.as_tokens(f.conv(w, "features", f.image_in(each))) for each in (one, other))
        found = [f.pairs(one, other, height)]
        for _ in range(levels - 1):
            found.append(f.half_means(found[-1]))
        return tuple(found)

    what = f"RAFT's correlations of {height}x{width} pixels, {levels} levels, {HALF}"
    return Model(name, what, weights, inputs, forward, outputs=levels, tolerance=1e-2)


def reflecting(name: str, *, images: int, size: int, channels: int) -> Model:
    """CycleGAN's block: convolutions of images that go on as in a mirror, with norms of each channel."""

    def weights() -> Weights:
        w = Weights(name)
        for layer in ("first", "second"):
            w.conv(layer, 3, channels, channels)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size, size, channels),)

    def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
        x = f.image_in(image)
        h = f.relu(f.instance_norm(f.conv(w, "first", f.reflected(x), inside=True)))
        return (f.image_out(x + f.instance_norm(f.conv(w, "second", f.reflected(h), inside=True))),)

    what = f"a block of CycleGAN, {images} x {size}x{size}x{channels}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=2e-2)


def shuffled(name: str, of: str, *, images: int, size: int, channels: int, units: int) -> Model:
    """ShuffleNetV2's units: half of the channels is computed, then both halves take turns."""
    half = channels // 2

    def weights() -> Weights:
        w = Weights(name)
        for unit in range(units):
            w.conv(f"first{unit}", 1, half, half)
            w.conv(f"depthwise{unit}", 3, half, half, groups=half, gain=1.0)
            w.conv(f"second{unit}", 1, half, half)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, images, size, size, channels),)

    def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
        x = f.image_in(image)
        for unit in range(units):
            kept, h = f.split_channels(x, 2)
            h = f.depthwise(w, f"depthwise{unit}", f.relu(f.conv(w, f"first{unit}", h)))
            h = f.relu(f.conv(w, f"second{unit}", h))
            x = f.in_turns(f.join_channels(kept, h))
        return (f.image_out(x),)

    what = f"{units} units of {of}, {images} x {size}x{size}x{channels}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def fourier(name: str, of: str, *, batch: int, tokens: int, width: int) -> Model:
    """FNet's block: instead of attention the real part of a Fourier transform, as products."""

    def weights() -> Weights:
        w = Weights(name)
        for norm in ("norm1", "norm2"):
            w.norm(norm, width)
        w.linear("hidden", width, 4 * width)
        w.linear("out", 4 * width, width)
        for along, size in (("tokens", tokens), ("width", width)):
            angles = 2 * np.pi * np.outer(np.arange(size), np.arange(size)) / size
            for part, values in (("cosines", np.cos(angles)), ("sines", np.sin(angles))):
                w.constant(f"{along}_{part}", (values * size**-0.5).astype(np.float32))
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return (normal(rng, batch, tokens, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        x = f.layer_norm(w, "norm1", x + f.real_transform(w, x))
        h = f.gelu(f.linear(w, "hidden", x))
        return (f.layer_norm(w, "norm2", x + f.linear(w, "out", h)),)

    what = f"a block of {of}, {batch} x {tokens} tokens, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2)


def radiance(name: str, *, rays: int, samples: int, width: int, layers: int) -> Model:
    """NeRF: waves of positions through layers, joined again half way; colors are weighed along each ray."""
    of_place, of_view = 3 + 6 * 10, 3 + 6 * 4

    def weights() -> Weights:
        w = Weights(name)
        sizes = [of_place, *[width] * layers]
        for index, (inputs, outputs) in enumerate(pairwise(sizes)):
            again = of_place if index == layers // 2 else 0
            w.linear(f"layer{index}", inputs + again, outputs, gain=2**0.5)
        w.linear("density", width, 1)
        w.linear("features", width, width)
        w.linear("view", width + of_view, width // 2, gain=2**0.5)
        w.linear("color", width // 2, 3)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        steps = np.full((rays, samples), 4.0 / samples, np.float32)
        return normal(rng, rays, samples, 3), normal(rng, rays, 3), steps

    def forward(f: ModuleType, w: Any, places: Any, views: Any, steps: Any) -> tuple[Any, ...]:
        given = f.frequencies(places, 10)
        h = given
        for index in range(layers):
            h = f.join_width(h, given) if index == layers // 2 else h
            h = f.relu(f.linear(w, f"layer{index}", h))
        density = f.relu(f.widened(f.linear(w, "density", h)))[..., 0]
        view = f.for_all(f.frequencies(views, 4)[:, None, :], 1, samples)
        h = f.relu(f.linear(w, "view", f.join_width(f.linear(w, "features", h), view)))
        return (f.along_rays(f.sigmoid(f.widened(f.linear(w, "color", h))), density * steps),)

    what = f"NeRF, {rays} rays of {samples} samples, {layers} layers of {width}, {HALF}"
    return Model(name, what, weights, inputs, forward, tolerance=2e-2)


def recurrent(name: str, *, sequences: int, width: int, layers: int) -> Model:
    """A step of a GRU for many sequences: each layer has a state of its own."""

    def weights() -> Weights:
        w = Weights(name)
        for index in range(layers):
            w.linear(f"given{index}", width, 3 * width)
            w.linear(f"state{index}", width, 3 * width)
        return w.half()

    def inputs(rng: np.random.Generator) -> Inputs:
        return tuple(normal(rng, sequences, width) for _ in range(1 + layers))

    def forward(f: ModuleType, w: Any, x: Any, *states: Any) -> tuple[Any, ...]:
        found = []
        for index, state in enumerate(states):
            x = f.gru(w, f"given{index}", f"state{index}", x, state)
            found.append(x)
        return tuple(found)

    what = f"a step of a GRU, {sequences} sequences, {layers} layers of {width}, {HALF}"
    return Model(name, what, weights, inputs, forward, outputs=layers, tolerance=1e-2)
