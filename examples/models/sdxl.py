"""Stable Diffusion XL's U-Net in half precision: a transformer's block, a residual one, and the whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
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
        residual_weights(w, "", channels, channels, time_width)
        return w.half()

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """Images, and the time's embedding."""
        return normal(rng, batch, size, size, channels), normal(rng, batch, time_width)

    def forward(f: ModuleType, w: Any, image: Any, time: Any) -> tuple[Any, ...]:
        """The images after the block."""
        return (f.image_out(residual_block(f, w, "", f.image_in(image), time, groups)),)

    summary = f"a residual block of {of}, {batch} x {size}x{size}x{channels}, {HALF}"
    return Model(name, summary, weights, inputs, forward, tolerance=1e-2)


@dataclass(frozen=True)
class Unet:
    """The whole U-Net: the noise in latents, given the time, a text and a label.

    Attributes:
        size, latent: height, width and channels of the latents.
        channels: of each level, which has half the size of the one before.
        depths: blocks of each transformer of a level, one after each residual block.
        texts, text_width: tokens of the text, and their width.
        label_width: of the pooled text and the image's sizes, as one row.
        head: width of an attention head.
        batch, groups: of images, and of norms over channels.
    """

    size: int = 128
    latent: int = 4
    channels: tuple[int, ...] = (320, 640, 1280)
    depths: tuple[int, ...] = (0, 2, 10)
    texts: int = 77
    text_width: int = 2048
    label_width: int = 2816
    head: int = 64
    batch: int = 2
    groups: int = 32

    def model(self, name: str) -> Model:
        """The model, with the name of its files."""
        what = f"{self.batch} x {self.size}x{self.size}x{self.latent} latents"
        weights = partial(self._weights, name)
        return Model(
            name, f"SDXL's U-Net whole, {what}, {HALF}", weights, self._inputs, self._forward, tolerance=3e-2
        )

    @property
    def _last(self) -> int:
        return len(self.channels) - 1

    @property
    def _up(self) -> list[tuple[int, int, int]]:
        """Level, number and channels from the way down of each residual block on the way up."""
        ways = [self.channels[0], *(each for level in self.channels for each in (level,) * 3)][:-1]
        return [(level, number, ways.pop()) for level in range(self._last, -1, -1) for number in range(3)]

    def _weights(self, name: str) -> Weights:
        w, width = Weights(name), 4 * self.channels[0]
        for what, inputs in (("time", self.channels[0]), ("label", self.label_width)):
            w.linear(f"{what}1", inputs, width)
            w.linear(f"{what}2", width, width)
        w.conv("stem", 3, self.latent, self.channels[0], gain=1.0)
        before = self.channels[0]
        for level, each in enumerate(self.channels):
            for number in range(2):
                self._stage_weights(w, f"down{level}_{number}", level, before)
                before = each
            if level < self._last:
                w.conv(f"down{level}_halve", 3, each, each, gain=1.0)
        self._stage_weights(w, "middle0", self._last, before)
        residual_weights(w, "middle1_", before, before, width)
        for level, number, skipped in self._up:
            self._stage_weights(w, f"up{level}_{number}", level, before + skipped)
            before = self.channels[level]
            if number == 2 and level:
                w.conv(f"up{level}_enlarged", 3, before, before, gain=1.0)
        w.norm("last_norm", before)
        w.conv("last", 3, before, self.latent, gain=1.0)
        return w.half()

    def _stage_weights(self, w: Weights, part: str, level: int, inputs: int) -> None:
        residual_weights(w, f"{part}_", inputs, self.channels[level], 4 * self.channels[0])
        if self.depths[level]:
            _text_weights(w, f"{part}_text_", self.channels[level], self.text_width, self.depths[level])

    def _inputs(self, rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """Latents, the time of each, the text's tokens, and the label."""
        times = np.full((self.batch,), 421.0, np.float32)
        return (
            normal(rng, self.batch, self.size, self.size, self.latent), times,
            normal(rng, self.batch, self.texts, self.text_width), normal(rng, self.batch, self.label_width),
        )  # fmt: skip

    def _forward(
        self, f: ModuleType, w: Any, latents: Any, times: Any, text: Any, label: Any
    ) -> tuple[Any, ...]:
        """The noise in the latents."""
        waves = f.as_type(f.waves(times, self.channels[0]), text)
        time, given = (
            f.linear(w, f"{what}2", f.silu(f.linear(w, f"{what}1", x)))
            for what, x in (("time", waves), ("label", label))
        )
        row = time + given
        x = f.conv(w, "stem", f.image_in(latents))
        skipped = [x]
        for level in range(len(self.channels)):
            for number in range(2):
                x = self._stage(f, w, f"down{level}_{number}", level, x, row, text)
                skipped.append(x)
            if level < self._last:
                x = f.conv(w, f"down{level}_halve", x, stride=2)
                skipped.append(x)
        x = self._stage(f, w, "middle0", self._last, x, row, text)
        x = residual_block(f, w, "middle1_", x, row, self.groups)
        for level, number, _ in self._up:
            joined = f.join_channels(x, skipped.pop())
            x = self._stage(f, w, f"up{level}_{number}", level, joined, row, text)
            if number == 2 and level:
                x = f.conv(w, f"up{level}_enlarged", f.enlarge(x))
        x = f.conv(w, "last", f.silu(f.group_norm(w, "last_norm", x, self.groups)))
        return (f.image_out(x),)

    def _stage(self, f: ModuleType, w: Any, part: str, level: int, x: Any, row: Any, text: Any) -> Any:
        """An image after a residual block and the level's transformer."""
        x = residual_block(f, w, f"{part}_", x, row, self.groups)
        heads = self.channels[level] // self.head
        return _texted(f, w, f"{part}_text_", x, text, heads, self.depths[level], self.groups)


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


def residual_weights(w: Weights, part: str, inputs: int, outputs: int, time_width: int = 0) -> None:
    """Two convolutions with norms, the time's row if it has a width, a projection where channels change."""
    w.norm(f"{part}norm1", inputs)
    w.conv(f"{part}conv1", 3, inputs, outputs)
    if time_width:
        w.linear(f"{part}time", time_width, outputs)
    w.norm(f"{part}norm2", outputs)
    w.conv(f"{part}conv2", 3, outputs, outputs)
    if inputs != outputs:
        w.conv(f"{part}project", 1, inputs, outputs, gain=1.0)


def residual_block(f: ModuleType, w: Any, part: str, x: Any, time: Any | None, groups: int) -> Any:
    """Two convolutions beside the way through, and the time's row between, if there is one."""
    h = f.conv(w, f"{part}conv1", f.silu(f.group_norm(w, f"{part}norm1", x, groups)))
    if time is not None:
        h = h + f.per_channel(f.linear(w, f"{part}time", f.silu(time)))
    h = f.conv(w, f"{part}conv2", f.silu(f.group_norm(w, f"{part}norm2", h, groups)))
    return (f.conv(w, f"{part}project", x) if f"{part}project_kernel" in w else x) + h
