"""A ConvNeXt with the blocks of ConvNeXt-T halved: 7x7 depthwise convolutions, layer norms, dense layers."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import Model
from examples.models.weights import Weights

SIZE, CLASSES = 192, 1000
STAGES = ((96, 2), (192, 2), (384, 4), (768, 2))
"""Channels and blocks. Before each stage the image is halved, before the first one twice."""


def weights() -> Weights:
    """Stem, stages, classifier."""
    w = Weights("convnext")
    channels = STAGES[0][0]
    w.conv("stem", 3, 3, channels, gain=1.0)
    for stage, (out, blocks) in enumerate(STAGES):
        w.conv(f"stage{stage}_halved", 3, channels, out, gain=1.0)
        w.norm(f"stage{stage}_norm", out)
        channels = out
        for block in range(blocks):
            name = f"stage{stage}_{block}"
            w.conv(f"{name}_depthwise", 7, channels, channels, groups=channels, gain=1.0)
            w.norm(f"{name}_norm", channels)
            w.linear(f"{name}_hidden", channels, 4 * channels)
            w.linear(f"{name}_out", 4 * channels, channels)
    w.norm("last", channels)
    w.linear("classes", channels, CLASSES)
    return w


def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
    """An image."""
    return (rng.standard_normal((1, SIZE, SIZE, 3), np.float32),)


def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
    """Scores of the classes."""
    x = f.conv(w, "stem", f.image_in(image), stride=2)
    for stage, (channels, blocks) in enumerate(STAGES):
        x = f.conv(w, f"stage{stage}_halved", x, stride=2)
        x = f.image_in(f.layer_norm(w, f"stage{stage}_norm", f.image_out(x)))
        for block in range(blocks):
            name = f"stage{stage}_{block}"
            h = f.image_out(f.conv(w, f"{name}_depthwise", x, groups=channels))
            h = f.gelu(f.linear(w, f"{name}_hidden", f.layer_norm(w, f"{name}_norm", h)))
            x = x + f.image_in(f.linear(w, f"{name}_out", h))
    return (f.linear(w, "classes", f.layer_norm(w, "last", f.mean_pool(x))),)


MODEL = Model("convnext", "half a ConvNeXt-T, 192x192", weights, inputs, forward)
