"""Encoders of the usual kind, in half precision: BERT, Vision Transformer, Whisper's encoder."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import HALF, Model, normal
from examples.models.weights import Weights


def encoder(
    name: str, of: str, *, tokens: int, width: int, heads: int, batch: int = 1, blocks: int = 1,
    norm_first: bool = True, key_bias: bool = True,
) -> Model:  # fmt: skip
    """So many blocks on embedded tokens, whose hidden layers are four times as wide.

    Args:
        name: of the model and its files.
        of: what it is, in the summary.
        tokens, width, heads, batch, blocks: sizes.
        norm_first: whether norms are before the layers, or after the additions, as BERT has them.
        key_bias: whether keys have a bias, which Whisper's do not.
    """

    def weights() -> Weights:
        w = Weights(name)
        for block in range(blocks):
            for part in ("q", "k", "v", "mixed"):
                add = w.projection if part == "k" and not key_bias else w.linear
                add(f"block{block}_{part}", width, width)
            w.norm(f"block{block}_norm1", width)
            w.norm(f"block{block}_norm2", width)
            w.linear(f"block{block}_hidden", width, 4 * width)
            w.linear(f"block{block}_out", 4 * width, width)
        return w.half()

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """The tokens' states."""
        return (normal(rng, batch, tokens, width),)

    def mixed(f: ModuleType, w: Any, block: str, x: Any) -> Any:
        """Attention of tokens to tokens."""
        key = f.linear if key_bias else f.project
        layers = ((f.linear, "q"), (key, "k"), (f.linear, "v"))
        q, k, v = (f.heads_in(layer(w, f"{block}_{part}", x), heads) for layer, part in layers)
        return f.linear(w, f"{block}_mixed", f.heads_out(f.attention(q, k, v)))

    def fed(f: ModuleType, w: Any, block: str, x: Any) -> Any:
        """The feed-forward layer."""
        return f.linear(w, f"{block}_out", f.gelu(f.linear(w, f"{block}_hidden", x)))

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        """The tokens' states after all blocks."""
        for number in range(blocks):
            block = f"block{number}"
            for norm, layer in (("norm1", mixed), ("norm2", fed)):
                if norm_first:
                    x = x + layer(f, w, block, f.layer_norm(w, f"{block}_{norm}", x))
                else:
                    x = f.layer_norm(w, f"{block}_{norm}", x + layer(f, w, block, x))
        return (x,)

    summary = f"{of}, {batch} x {tokens} tokens, {HALF}"
    return Model(name, summary, weights, inputs, forward, tolerance=1e-2)
