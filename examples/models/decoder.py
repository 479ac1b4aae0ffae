"""One step of a decoder: one new token after 511, 6 blocks of width 768, a vocabulary of 16384."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import Model
from examples.models.weights import Weights

BLOCKS, WIDTH, HEADS, HIDDEN = 6, 768, 12, 3072
CACHED, VOCABULARY = 511, 16384


def weights() -> Weights:
    """Embeddings, blocks, the head over the vocabulary."""
    w = Weights("decoder")
    w.table("token", VOCABULARY, WIDTH)
    w.table("position", CACHED + 1, WIDTH)
    for block in range(BLOCKS):
        name = f"block{block}"
        w.norm(f"{name}_norm1", WIDTH)
        w.linear(f"{name}_qkv", WIDTH, 3 * WIDTH)
        w.linear(f"{name}_mixed", WIDTH, WIDTH)
        w.norm(f"{name}_norm2", WIDTH)
        w.linear(f"{name}_hidden", WIDTH, HIDDEN)
        w.linear(f"{name}_out", HIDDEN, WIDTH)
    w.norm("last", WIDTH)
    w.linear("logits", WIDTH, VOCABULARY)
    return w


def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
    """The token's id, and the keys and values of those before it."""
    shape = (BLOCKS, HEADS, CACHED, WIDTH // HEADS)
    token = rng.integers(0, VOCABULARY, 1, dtype=np.int32)
    return token, rng.standard_normal(shape, np.float32), rng.standard_normal(shape, np.float32)


def forward(f: ModuleType, w: Any, token: Any, keys: Any, values: Any) -> tuple[Any, ...]:
    """Scores of the next token, and the keys and values to append to the cache."""
    x = f.embed(w, "token", token) + w["position_table"][CACHED:]
    new_keys, new_values = [], []
    for block in range(BLOCKS):
        name = f"block{block}"
        qkv = f.linear(w, f"{name}_qkv", f.layer_norm(w, f"{name}_norm1", x))
        q, k, v = (f.heads_in(part, HEADS) for part in f.split(qkv, 3))
        new_keys.append(k)
        new_values.append(v)
        mixed = f.attention(q, f.append(keys[block], k), f.append(values[block], v))
        x = x + f.linear(w, f"{name}_mixed", f.heads_out(mixed))
        hidden = f.gelu(f.linear(w, f"{name}_hidden", f.layer_norm(w, f"{name}_norm2", x)))
        x = x + f.linear(w, f"{name}_out", hidden)
    logits = f.linear(w, "logits", f.layer_norm(w, "last", x))
    return logits, f.stack(new_keys), f.stack(new_values)


MODEL = Model(
    "decoder", "decoder step, 6 blocks of 768, 511 positions cached", weights, inputs, forward, outputs=3
)
