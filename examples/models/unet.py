"""A small U-Net as of a diffusion model: latents of 64x64x4 and a time; attention at 32x32 and 16x16."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import Model
from examples.models.sdxl import residual_weights
from examples.models.weights import Weights

SIZE, LATENT, HEADS = 64, 4, 4
CHANNELS = (64, 128, 256)
"""Of each level; each has half the height and width of the one before."""
ATTENDED = (1, 2)
TIMES = 4 * CHANNELS[0]


def attention_weights(w: Weights, name: str, channels: int) -> None:
    """A norm, queries with keys and values, and what comes out."""
    w.norm(f"{name}_norm", channels)
    w.linear(f"{name}_qkv", channels, 3 * channels)
    w.linear(f"{name}_out", channels, channels)


def weights() -> Weights:
    """Time, the way down, the middle, the way up."""
    w = Weights("unet")
    w.linear("time1", CHANNELS[0], TIMES)
    w.linear("time2", TIMES, TIMES)
    w.conv("stem", 3, LATENT, CHANNELS[0], gain=1.0)
    before = CHANNELS[0]
    for level, channels in enumerate(CHANNELS):
        residual_weights(w, f"down{level}_", before, channels, TIMES)
        if level in ATTENDED:
            attention_weights(w, f"down{level}_attention", channels)
        if level + 1 < len(CHANNELS):
            w.conv(f"down{level}_halve", 3, channels, channels, gain=1.0)
        before = channels
    residual_weights(w, "middle1_", before, before, TIMES)
    attention_weights(w, "middle_attention", before)
    residual_weights(w, "middle2_", before, before, TIMES)
    for level, channels in reversed(list(enumerate(CHANNELS))):
        residual_weights(w, f"up{level}_", before + channels, channels, TIMES)
        if level in ATTENDED:
            attention_weights(w, f"up{level}_attention", channels)
        if level:
            w.conv(f"up{level}_enlarged", 3, channels, channels, gain=1.0)
        before = channels
    w.norm("last_norm", before)
    w.conv("last", 3, before, LATENT, gain=1.0)
    return w


def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
    """Latents, and the time."""
    return rng.standard_normal((1, SIZE, SIZE, LATENT), np.float32), np.array([421.0], np.float32)


def residual(f: ModuleType, w: Any, name: str, x: Any, time: Any) -> Any:
    """Two convolutions beside the way through."""
    h = f.conv(w, f"{name}_conv1", f.silu(f.group_norm(w, f"{name}_norm1", x)))
    h = h + f.per_channel(f.linear(w, f"{name}_time", time))
    h = f.conv(w, f"{name}_conv2", f.silu(f.group_norm(w, f"{name}_norm2", h)))
    return h + (f.conv(w, f"{name}_project", x) if f"{name}_project_kernel" in w else x)


def attend(f: ModuleType, w: Any, name: str, x: Any) -> Any:
    """Every position over every other."""
    h = f.to_positions(f.group_norm(w, f"{name}_norm", x))
    q, k, v = (f.heads_in(part, HEADS) for part in f.split(f.linear(w, f"{name}_qkv", h), 3))
    mixed = f.linear(w, f"{name}_out", f.heads_out(f.attention(q, k, v)))
    return x + f.to_image(mixed, x)


def forward(f: ModuleType, w: Any, latents: Any, time: Any) -> tuple[Any, ...]:
    """The noise in the latents."""
    t = f.linear(w, "time2", f.silu(f.linear(w, "time1", f.waves(time, CHANNELS[0]))))
    t = f.silu(t)
    x = f.conv(w, "stem", f.image_in(latents))
    skipped = []
    for level in range(len(CHANNELS)):
        x = residual(f, w, f"down{level}", x, t)
        if level in ATTENDED:
            x = attend(f, w, f"down{level}_attention", x)
        skipped.append(x)
        if level + 1 < len(CHANNELS):
            x = f.conv(w, f"down{level}_halve", x, stride=2)
    x = residual(f, w, "middle1", x, t)
    x = residual(f, w, "middle2", attend(f, w, "middle_attention", x), t)
    for level in reversed(range(len(CHANNELS))):
        x = residual(f, w, f"up{level}", f.join_channels(x, skipped.pop()), t)
        if level in ATTENDED:
            x = attend(f, w, f"up{level}_attention", x)
        if level:
            x = f.conv(w, f"up{level}_enlarged", f.enlarge(x))
    x = f.conv(w, "last", f.silu(f.group_norm(w, "last_norm", x)))
    return (f.image_out(x),)


MODEL = Model("unet", "U-Net with attention, 64x64 latents", weights, inputs, forward)
