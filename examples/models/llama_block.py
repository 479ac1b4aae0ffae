"""A block of Llama-3-8B in half precision: 32 heads over 8 of keys, width 4096, on 512 tokens."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import Model
from examples.models.weights import Weights


def block(name: str, summary: str, tokens: int, width: int, heads: int, shared: int, hidden: int) -> Model:
    """A block of these sizes; `shared` is the number of heads that keys and values have."""
    each = width // heads

    def weights() -> Weights:
        """Attention and a gated feed-forward layer, without biases, in half precision."""
        w = Weights(name)
        w.scale("norm1", width)
        for part, outputs in (("q", width), ("k", shared * each), ("v", shared * each), ("o", width)):
            w.projection(part, width, outputs)
        w.scale("norm2", width)
        w.projection("gate", width, hidden)
        w.projection("up", width, hidden)
        w.projection("down", hidden, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """The tokens' states."""
        return (rng.standard_normal((tokens, width), np.float32).astype(np.float16),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        """The tokens' states after the block."""
        normal = f.rms_norm(w, "norm1", x)
        q = f.rotary(f.heads_in(f.project(w, "q", normal), heads))
        k = f.rotary(f.heads_in(f.project(w, "k", normal), shared))
        v = f.heads_in(f.project(w, "v", normal), shared)
        x = x + f.project(w, "o", f.heads_out(f.causal_attention(q, k, v)))
        normal = f.rms_norm(w, "norm2", x)
        gated = f.silu(f.project(w, "gate", normal)) * f.project(w, "up", normal)
        return (x + f.project(w, "down", gated),)

    return Model(name, summary, weights, inputs, forward, tolerance=1e-2)


MODEL = block("llama_block", "a block of Llama-3-8B, 512 tokens, f16", 512, 4096, 32, 8, 14336)
