"""An MLP-Mixer with half the blocks of Mixer-S/16: dense layers along patches and along channels in turns."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import Model
from examples.models.weights import Weights

BLOCKS, PATCHES, PATCH, WIDTH = 4, 196, 768, 512
ALONG_PATCHES, ALONG_CHANNELS, CLASSES = 256, 2048, 1000


def weights() -> Weights:
    """The patches' layer, blocks, classifier."""
    w = Weights("mixer")
    w.linear("patch", PATCH, WIDTH)
    for block in range(BLOCKS):
        name = f"block{block}"
        w.norm(f"{name}_norm1", WIDTH)
        w.linear(f"{name}_patches", PATCHES, ALONG_PATCHES)
        w.linear(f"{name}_patches_out", ALONG_PATCHES, PATCHES)
        w.norm(f"{name}_norm2", WIDTH)
        w.linear(f"{name}_channels", WIDTH, ALONG_CHANNELS)
        w.linear(f"{name}_channels_out", ALONG_CHANNELS, WIDTH)
    w.norm("last", WIDTH)
    w.linear("classes", WIDTH, CLASSES)
    return w


def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
    """The patches of an image of 224x224, 16x16x3 numbers each."""
    return (rng.standard_normal((PATCHES, PATCH), np.float32),)


def forward(f: ModuleType, w: Any, patches: Any) -> tuple[Any, ...]:
    """Scores of the classes."""
    x = f.linear(w, "patch", patches)
    for block in range(BLOCKS):
        name = f"block{block}"
        y = f.layer_norm(w, f"{name}_norm1", x).T
        x = x + f.linear(w, f"{name}_patches_out", f.gelu(f.linear(w, f"{name}_patches", y))).T
        y = f.gelu(f.linear(w, f"{name}_channels", f.layer_norm(w, f"{name}_norm2", x)))
        x = x + f.linear(w, f"{name}_channels_out", y)
    return (f.linear(w, "classes", f.layer_norm(w, "last", x).mean(0)[None]),)


MODEL = Model("mixer", "half a Mixer-S/16, 196 patches", weights, inputs, forward)
