"""A block of Llama in half precision: on a text's tokens, and a step of decoding with cached keys."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import HALF, Model, normal
from examples.models.weights import Weights


def _weights(name: str, width: int, heads: int, shared: int, hidden: int, first: int, tokens: int) -> Weights:
    """Attention and a gated feed-forward layer, without biases, in half precision."""
    each = width // heads
    w = Weights(name)
    w.scale("norm1", width)
    for part, outputs in (("q", width), ("k", shared * each), ("v", shared * each), ("o", width)):
        w.projection(part, width, outputs)
    w.turns("rotary", first, tokens, each)
    w.scale("norm2", width)
    w.projection("gate", width, hidden)
    w.projection("up", width, hidden)
    w.projection("down", hidden, width)
    return w.half()


def _parts(f: ModuleType, w: Any, x: Any, heads: int, shared: int) -> tuple[Any, Any, Any]:
    """Queries, keys and values of tokens."""
    normed = f.rms_norm(w, "norm1", x)
    q = f.rotary(w, "rotary", f.heads_in(f.project(w, "q", normed), heads))
    k = f.rotary(w, "rotary", f.heads_in(f.project(w, "k", normed), shared))
    return q, k, f.heads_in(f.project(w, "v", normed), shared)


def _rest(f: ModuleType, w: Any, x: Any, mixed: Any) -> Any:
    """What follows the attention."""
    x = x + f.project(w, "o", f.heads_out(mixed))
    normed = f.rms_norm(w, "norm2", x)
    gated = f.silu(f.project(w, "gate", normed)) * f.project(w, "up", normed)
    return x + f.project(w, "down", gated)


def block(name: str, of: str, *, tokens: int, width: int, heads: int, shared: int, hidden: int) -> Model:
    """A block on so many tokens; `shared` is the number of heads that keys and values have."""

    def weights() -> Weights:
        return _weights(name, width, heads, shared, hidden, 0, tokens)

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """The tokens' states."""
        return (normal(rng, tokens, width),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        """The tokens' states after the block."""
        q, k, v = _parts(f, w, x, heads, shared)
        return (_rest(f, w, x, f.causal_attention(q, k, v)),)

    return Model(name, f"a block of {of}, {tokens} tokens, {HALF}", weights, inputs, forward, tolerance=1e-2)


def step(name: str, of: str, *, cached: int, width: int, heads: int, shared: int, hidden: int) -> Model:
    """The same on one token after so many, whose keys and values are inputs; its own are results."""

    def weights() -> Weights:
        return _weights(name, width, heads, shared, hidden, cached, 1)

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """The token's state, and the keys and values of those before it."""
        each = width // heads
        return normal(rng, 1, width), normal(rng, shared, cached, each), normal(rng, shared, cached, each)

    def forward(f: ModuleType, w: Any, x: Any, keys: Any, values: Any) -> tuple[Any, ...]:
        """The token's state after the block, and the key and value to append to the cache."""
        q, k, v = _parts(f, w, x, heads, shared)
        mixed = f.step_attention(q, f.append(keys, k), f.append(values, v))
        return _rest(f, w, x, mixed), k, v

    summary = f"a decode step of a block of {of}, {cached} tokens cached, {HALF}"
    return Model(name, summary, weights, inputs, forward, outputs=3, tolerance=1e-2)
