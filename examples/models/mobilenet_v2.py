"""MobileNet-V2 on one image of 224x224, its batch norms folded into the convolutions before them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import Model
from examples.models.weights import Weights

SIZE, FIRST, LAST, CLASSES = 224, 32, 1280, 1000
STAGES = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""Of each stage: how much a block widens, channels, blocks, and the first one's stride."""


def blocks() -> list[tuple[str, int, int, int, int]]:
    """Name, channels in, in the middle and out, and stride of each block."""
    found, channels = [], FIRST
    for stage, (widening, out, count, stride) in enumerate(STAGES):
        for block in range(count):
            name = f"stage{stage}_{block}"
            found.append((name, channels, widening * channels, out, 1 if block else stride))
            channels = out
    return found


def weights() -> Weights:
    """Convolutions and the classifier."""
    w = Weights("mobilenet_v2")
    w.conv("stem", 3, 3, FIRST)
    for name, channels, middle, out, _ in blocks():
        if middle != channels:
            w.conv(f"{name}_widen", 1, channels, middle, gain=1.0)
        w.conv(f"{name}_depthwise", 3, middle, middle, groups=middle)
        w.conv(f"{name}_narrow", 1, middle, out)
    w.conv("last", 1, STAGES[-1][1], LAST)
    w.linear("classes", LAST, CLASSES)
    return w


def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
    """An image."""
    return (rng.standard_normal((1, SIZE, SIZE, 3), np.float32),)


def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
    """Scores of the classes."""
    x = f.relu6(f.conv(w, "stem", f.image_in(image), stride=2))
    for name, channels, middle, out, stride in blocks():
        h = x if middle == channels else f.relu6(f.conv(w, f"{name}_widen", x))
        h = f.relu6(f.conv(w, f"{name}_depthwise", h, stride=stride, groups=middle))
        h = f.conv(w, f"{name}_narrow", h)
        x = x + h if channels == out and stride == 1 else h
    x = f.relu6(f.conv(w, "last", x))
    return (f.linear(w, "classes", f.mean_pool(x)),)


MODEL = Model("mobilenet_v2", "MobileNet-V2, 224x224", weights, inputs, forward)
