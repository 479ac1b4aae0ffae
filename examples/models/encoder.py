"""A transformer encoder like half of BERT-base: 6 blocks of width 768 on 128 tokens, and a classifier."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import Model
from examples.models.weights import Weights

BLOCKS, WIDTH, HEADS, HIDDEN = 6, 768, 12, 3072
TOKENS, VOCABULARY, CLASSES = 128, 8192, 16


def weights() -> Weights:
    """Embeddings, blocks, classifier."""
    w = Weights("encoder")
    w.table("token", VOCABULARY, WIDTH)
    w.table("position", TOKENS, WIDTH)
    w.norm("embedded", WIDTH)
    for block in range(BLOCKS):
        name = f"block{block}"
        w.linear(f"{name}_qkv", WIDTH, 3 * WIDTH)
        w.linear(f"{name}_mixed", WIDTH, WIDTH)
        w.norm(f"{name}_norm1", WIDTH)
        w.linear(f"{name}_hidden", WIDTH, HIDDEN)
        w.linear(f"{name}_out", HIDDEN, WIDTH)
        w.norm(f"{name}_norm2", WIDTH)
    w.linear("classes", WIDTH, CLASSES)
    return w


def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
    """Token ids."""
    return (rng.integers(0, VOCABULARY, TOKENS, dtype=np.int32),)


def forward(f: ModuleType, w: Any, ids: Any) -> tuple[Any, ...]:
    """Scores of the classes from the first token, and every token's state."""
    x = f.layer_norm(w, "embedded", f.embed(w, "token", ids) + w["position_table"])
    for block in range(BLOCKS):
        name = f"block{block}"
        q, k, v = (f.heads_in(part, HEADS) for part in f.split(f.linear(w, f"{name}_qkv", x), 3))
        mixed = f.heads_out(f.attention(q, k, v))
        x = f.layer_norm(w, f"{name}_norm1", x + f.linear(w, f"{name}_mixed", mixed))
        hidden = f.gelu(f.linear(w, f"{name}_hidden", x))
        x = f.layer_norm(w, f"{name}_norm2", x + f.linear(w, f"{name}_out", hidden))
    return f.linear(w, "classes", x[:1]), x


MODEL = Model(
    "encoder", "transformer encoder, 6 blocks of 768, 128 tokens", weights, inputs, forward, outputs=2
)
