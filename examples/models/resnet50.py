"""ResNet-50 on images, its batch norms folded into the convolutions before them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import HALF, Model, normal
from examples.models.weights import Weights

SIZE, CLASSES = 224, 1000
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
"""Blocks of each stage, and the channels of their middle convolutions; four times as many come out."""


def blocks() -> list[tuple[str, int, int, int]]:
    """Name, channels in, channels in the middle, and stride of each block."""
    found, channels = [], 64
    for stage, (count, middle) in enumerate(STAGES):
        for block in range(count):
            found.append((f"stage{stage}_{block}", channels, middle, 2 if stage and not block else 1))
            channels = 4 * middle
    return found


def resnet50(name: str, batch: int, *, size: int = SIZE, half: bool = False) -> Model:
    """On so many images; in half precision, with sums in f32, or in f32."""

    def weights() -> Weights:
        """Convolutions and the classifier; the last of a block is small, so that sums do not grow."""
        w = Weights("resnet50")
        w.conv("stem", 7, 3, 64)
        for block, channels, middle, stride in blocks():
            w.conv(f"{block}_a", 1, channels, middle)
            w.conv(f"{block}_b", 3, middle, middle)
            w.conv(f"{block}_c", 1, middle, 4 * middle, gain=0.5)
            if channels != 4 * middle or stride != 1:
                w.conv(f"{block}_project", 1, channels, 4 * middle, gain=1.0)
        w.linear("classes", 4 * STAGES[-1][1], CLASSES)
        return w.half() if half else w

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """Images."""
        shape = (batch, size, size, 3)
        return (normal(rng, *shape) if half else rng.standard_normal(shape, np.float32),)

    summary = f"ResNet-50, {size}x{size}"
    if half:
        return Model(name, f"{summary}, {batch} images, {HALF}", weights, inputs, forward, tolerance=1e-2)
    return Model(name, summary, weights, inputs, forward)


def forward(f: ModuleType, w: Any, image: Any) -> tuple[Any, ...]:
    """Scores of the classes."""
    x = f.max_pool(f.relu(f.conv(w, "stem", f.image_in(image), stride=2)))
    for name, _, _, stride in blocks():
        h = f.relu(f.conv(w, f"{name}_a", x))
        h = f.relu(f.conv(w, f"{name}_b", h, stride=stride))
        h = f.conv(w, f"{name}_c", h)
        if f"{name}_project_kernel" in w:
            x = f.conv(w, f"{name}_project", x, stride=stride)
        x = f.relu(x + h)
    return (f.linear(w, "classes", f.mean_pool(x)),)


MODEL = resnet50("resnet50", 1)
