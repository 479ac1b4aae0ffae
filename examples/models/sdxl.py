"""Stable Diffusion XL's U-Net in half precision: a transformer's block, a residual one, and the whole."""

from __future__ import annotations

from collections.abc import Sequence
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

    def weights() -> Weights:
        w = Weights(name)
        _block_weights(w, "", width, text_width)
        return w.half()

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """The states of positions and of the text's tokens."""
        return normal(rng, batch, tokens, width), normal(rng, batch, texts, text_width)

    def forward(f: ModuleType, w: Any, x: Any, text: Any) -> tuple[Any, ...]:
        """The positions' states after the block."""
        return (_block(f, w, "", x, text, heads),)

    summary = f"a transformer block of {of}, {batch} x {tokens} positions, {HALF}"
    return Model(name, summary, weights, inputs, forward, tolerance=1e-2)


def residual(
    name: str, of: str, *, size: int, channels: int, time_width: int = 1280, groups: int = 32, batch: int = 2
) -> Model:
    """Two 3x3 convolutions of square images, each after group norm and silu, and the time's row between."""

    def weights() -> Weights:
        w = Weights(name)
        _residual_weights(w, "", channels, channels, time_width)
        return w.half()

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """Images, and the time's embedding."""
        return normal(rng, batch, size, size, channels), normal(rng, batch, time_width)

    def forward(f: ModuleType, w: Any, image: Any, time: Any) -> tuple[Any, ...]:
        """The images after the block."""
        return (f.image_out(_residual(f, w, "", f.image_in(image), time, groups)),)

    summary = f"a residual block of {of}, {batch} x {size}x{size}x{channels}, {HALF}"
    return Model(name, summary, weights, inputs, forward, tolerance=1e-2)


def unet(
    name: str, *, size: int = 128, latent: int = 4, channels: Sequence[int] = (320, 640, 1280),
    depths: Sequence[int] = (0, 2, 10), texts: int = 77, text_width: int = 2048, label_width: int = 2816,
    head: int = 64, batch: int = 2, groups: int = 32,
) -> Model:  # fmt: skip
    """The whole U-Net: the noise in latents, given the time, a text and a label.

    Args:
        name: of the model and its files.
        size, latent: height, width and channels of the latents.
        channels: of each level, which has half the size of the one before.
        depths: blocks of each transformer of a level, one after each residual block.
        texts, text_width: tokens of the text, and their width.
        label_width: of the pooled text and the image's sizes, as one row.
        head: width of an attention head.
        batch, groups: of images, and of norms over channels.
    """
    time_width, last = 4 * channels[0], len(channels) - 1
    # what each residual block on the way up takes from the way down, the last one first
    ways = [channels[0], *(each for level in channels for each in (level, level, level))][:-1]
    up = [
        (level, number, ways[-1 - 3 * (last - level) - number])
        for level in range(last, -1, -1)
        for number in range(3)
    ]

    def weights() -> Weights:
        w = Weights(name)
        for what, inputs in (("time", channels[0]), ("label", label_width)):
            w.linear(f"{what}1", inputs, time_width)
            w.linear(f"{what}2", time_width, time_width)
        w.conv("stem", 3, latent, channels[0], gain=1.0)
        before = channels[0]

        def stage(part: str, level: int, inputs: int) -> None:
            _residual_weights(w, f"{part}_", inputs, channels[level], time_width)
            if depths[level]:
                _text_weights(w, f"{part}_text_", channels[level], text_width, depths[level])

        for level, each in enumerate(channels):
            for number in range(2):
                stage(f"down{level}_{number}", level, before)
                before = each
            if level < last:
                w.conv(f"down{level}_halve", 3, each, each, gain=1.0)
        stage("middle0", last, before)
        _residual_weights(w, "middle1_", before, before, time_width)
        for level, number, skipped in up:
            stage(f"up{level}_{number}", level, before + skipped)
            before = channels[level]
            if number == 2 and level:
                w.conv(f"up{level}_enlarged", 3, before, before, gain=1.0)
        w.norm("last_norm", before)
        w.conv("last", 3, before, latent, gain=1.0)
        return w.half()

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """Latents, the time of each, the text's tokens, and the label."""
        times = np.full((batch,), 421.0, np.float32)
        return (
            normal(rng, batch, size, size, latent), times, normal(rng, batch, texts, text_width),
            normal(rng, batch, label_width),
        )  # fmt: skip

    def forward(f: ModuleType, w: Any, latents: Any, times: Any, text: Any, label: Any) -> tuple[Any, ...]:
        """The noise in the latents."""
        waves = f.as_type(f.waves(times, channels[0]), text)
        time, given = (
            f.linear(w, f"{what}2", f.silu(f.linear(w, f"{what}1", x)))
            for what, x in (("time", waves), ("label", label))
        )
        row = time + given

        def stage(part: str, level: int, x: Any) -> Any:
            x = _residual(f, w, f"{part}_", x, row, groups)
            heads = channels[level] // head
            return _texted(f, w, f"{part}_text_", x, text, heads, depths[level], groups)

        x = f.conv(w, "stem", f.image_in(latents))
        skipped = [x]
        for level in range(len(channels)):
            for number in range(2):
                x = stage(f"down{level}_{number}", level, x)
                skipped.append(x)
            if level < last:
                x = f.conv(w, f"down{level}_halve", x, stride=2)
                skipped.append(x)
        x = _residual(f, w, "middle1_", stage("middle0", last, x), row, groups)
        for level, number, _ in up:
            x = stage(f"up{level}_{number}", level, f.join_channels(x, skipped.pop()))
            if number == 2 and level:
                x = f.conv(w, f"up{level}_enlarged", f.enlarge(x))
        x = f.conv(w, "last", f.silu(f.group_norm(w, "last_norm", x, groups)))
        return (f.image_out(x),)

    summary = f"SDXL's U-Net whole, {batch} x {size}x{size}x{latent} latents, {HALF}"
    return Model(name, summary, weights, inputs, forward, tolerance=3e-2)


def _block_weights(w: Weights, block: str, width: int, text_width: int) -> None:
    for layer, source in ((f"{block}own", width), (f"{block}cross", text_width)):
        w.norm(f"{layer}_norm", width)
        w.projection(f"{layer}_q", width, width)
        w.projection(f"{layer}_k", source, width)
        w.projection(f"{layer}_v", source, width)
        w.linear(f"{layer}_out", width, width)
    w.norm(f"{block}fed_norm", width)
    w.linear(f"{block}hidden", width, 8 * width)
    w.linear(f"{block}fed_out", 4 * width, width)


def _block(f: ModuleType, w: Any, block: str, x: Any, text: Any, heads: int) -> Any:
    """A transformer's block on positions."""
    normed = f.layer_norm(w, f"{block}own_norm", x)
    x = x + _attended(f, w, f"{block}own", normed, normed, heads)
    x = x + _attended(f, w, f"{block}cross", f.layer_norm(w, f"{block}cross_norm", x), text, heads)
    value, gate = f.split(f.linear(w, f"{block}hidden", f.layer_norm(w, f"{block}fed_norm", x)), 2)
    return x + f.linear(w, f"{block}fed_out", value * f.gelu(gate))


def _attended(f: ModuleType, w: Any, layer: str, x: Any, source: Any, heads: int) -> Any:
    """Attention of positions to a source."""
    given = (("q", x), ("k", source), ("v", source))
    q, k, v = (f.heads_in(f.project(w, f"{layer}_{part}", each), heads) for part, each in given)
    return f.linear(w, f"{layer}_out", f.heads_out(f.attention(q, k, v)))


def _text_weights(w: Weights, part: str, width: int, text_width: int, depth: int) -> None:
    w.norm(f"{part}norm", width)
    w.linear(f"{part}in", width, width)
    for block in range(depth):
        _block_weights(w, f"{part}{block}_", width, text_width)
    w.linear(f"{part}out", width, width)


def _texted(f: ModuleType, w: Any, part: str, x: Any, text: Any, heads: int, depth: int, groups: int) -> Any:
    """An image after a transformer of so many blocks on its positions."""
    if not depth:
        return x
    h = f.linear(w, f"{part}in", f.to_positions(f.group_norm(w, f"{part}norm", x, groups)))
    for block in range(depth):
        h = _block(f, w, f"{part}{block}_", h, text, heads)
    return x + f.to_image(f.linear(w, f"{part}out", h), x)


def _residual_weights(w: Weights, part: str, inputs: int, outputs: int, time_width: int) -> None:
    w.norm(f"{part}norm1", inputs)
    w.conv(f"{part}conv1", 3, inputs, outputs)
    w.linear(f"{part}time", time_width, outputs)
    w.norm(f"{part}norm2", outputs)
    w.conv(f"{part}conv2", 3, outputs, outputs)
    if inputs != outputs:
        w.conv(f"{part}project", 1, inputs, outputs, gain=1.0)


def _residual(f: ModuleType, w: Any, part: str, x: Any, time: Any, groups: int) -> Any:
    """Two convolutions beside the way through, and the time's row between."""
    h = f.conv(w, f"{part}conv1", f.silu(f.group_norm(w, f"{part}norm1", x, groups)))
    h = h + f.per_channel(f.linear(w, f"{part}time", f.silu(time)))
    h = f.conv(w, f"{part}conv2", f.silu(f.group_norm(w, f"{part}norm2", h, groups)))
    return (f.conv(w, f"{part}project", x) if f"{part}project_kernel" in w else x) + h
