"""What a model is: sizes and weights, inputs, and its structure over a library of layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.weights import Weights

SEED = 2026
HALF = "f16 with f32 sums"
"""Types of the models for GPUs: weights and activations, and what products and norms are summed up in."""


@dataclass(frozen=True)
class Model:
    """One model, for every framework.

    Attributes:
        name: of the files, too.
        summary: what it is, in a few words.
        weights: draws its weights.
        inputs: draws its inputs from a generator.
        forward: `(layers, weights, *inputs) -> outputs`, where `layers` is the module `layers_torch` or
            `layers_jax`; outputs are a tuple.
        outputs: how many.
        tolerance: how much outputs of two frameworks may differ, as a part of the largest output.
        donated: inputs whose memory the last results are written to, in this order.
        onnx: makes its ONNX file, where PyTorch does not have the model and cannot export it.
    """

    name: str
    summary: str
    weights: Callable[[], Weights]
    inputs: Callable[[np.random.Generator], tuple[NDArray[Any], ...]]
    forward: Callable[..., tuple[Any, ...]]
    outputs: int = 1
    tolerance: float = 1e-4
    donated: tuple[int, ...] = ()
    onnx: Callable[[], bytes] | None = None

    def example(self) -> tuple[NDArray[Any], ...]:
        """The inputs that every framework is checked and timed with."""
        return self.inputs(np.random.default_rng(SEED))


def normal(rng: np.random.Generator, *shape: int) -> NDArray[np.float16]:
    """Inputs in half precision."""
    return rng.standard_normal(shape, np.float32).astype(np.float16)
