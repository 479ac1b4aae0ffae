"""Llama, whole or a block: on a text's tokens, and steps of decoding with cached keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray

from examples.models.model import HALF, Model, normal
from examples.models.weights import FewBits, Weights

Inputs = Callable[[np.random.Generator], tuple[NDArray[Any], ...]]
Forward = Callable[..., tuple[Any, ...]]


def _weights(
    name: str, bits: int, width: int, heads: int, shared: int, hidden: int, first: int, tokens: int
) -> Weights:
    """Of a block, without biases: in half precision, or of few bits and bf16."""
    w = FewBits(name, bits) if bits < 16 else Weights(name)
    w.turns("rotary", first, tokens, width // heads)
    _block_weights(w, "", width, heads, shared, hidden)
    return w.of_type(_dtype(bits))


def _dtype(bits: int) -> DTypeLike:
    return ml_dtypes.bfloat16 if bits < 16 else np.float16


def _types(bits: int) -> str:
    return f"weights of {bits} bits, otherwise bf16 with f32 sums" if bits < 16 else HALF


def _block_weights(w: Weights, block: str, width: int, heads: int, shared: int, hidden: int) -> None:
    """Of attention and a gated feed-forward layer."""
    each = width // heads
    w.scale(f"{block}norm1", width)
    for part, outputs in (("q", width), ("k", shared * each), ("v", shared * each), ("o", width)):
        w.projection(f"{block}{part}", width, outputs)
    w.scale(f"{block}norm2", width)
    w.projection(f"{block}gate", width, hidden)
    w.projection(f"{block}up", width, hidden)
    w.projection(f"{block}down", hidden, width)


def _parts(
    f: ModuleType, w: Any, x: Any, heads: int, shared: int, block: str = "", position: Any = None
) -> tuple[Any, Any, Any]:
    """Queries, keys and values of tokens, or of the token at a position."""
    normed = f.rms_norm(w, f"{block}norm1", x)
    q = f.rotary(w, "rotary", f.heads_in(f.project(w, f"{block}q", normed), heads), position)
    k = f.rotary(w, "rotary", f.heads_in(f.project(w, f"{block}k", normed), shared), position)
    return q, k, f.heads_in(f.project(w, f"{block}v", normed), shared)


def _rest(f: ModuleType, w: Any, x: Any, mixed: Any, block: str = "") -> Any:
    """What follows the attention."""
    x = x + f.project(w, f"{block}o", f.heads_out(mixed))
    normed = f.rms_norm(w, f"{block}norm2", x)
    gated = f.silu(f.project(w, f"{block}gate", normed)) * f.project(w, f"{block}up", normed)
    return x + f.project(w, f"{block}down", gated)


def block(
    name: str, of: str, *, tokens: int, width: int, heads: int, shared: int, hidden: int, bits: int = 16
) -> Model:
    """A block on so many tokens; `shared` is the number of heads that keys and values have."""

    def weights() -> Weights:
        return _weights(name, bits, width, heads, shared, hidden, 0, tokens)

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """The tokens' states."""
        return (normal(rng, tokens, width).astype(_dtype(bits)),)

    def forward(f: ModuleType, w: Any, x: Any) -> tuple[Any, ...]:
        """The tokens' states after the block."""
        q, k, v = _parts(f, w, x, heads, shared)
        return (_rest(f, w, x, f.causal_attention(q, k, v)),)

    what = f"a block of {of}, {tokens} tokens, {_types(bits)}"
    return Model(name, what, weights, inputs, forward, tolerance=1e-2 if bits == 16 else 3e-2)


def step(
    name: str, of: str, *, cached: int, width: int, heads: int, shared: int, hidden: int, bits: int = 16
) -> Model:
    """The same on one token after so many, whose keys and values are inputs; its own are results."""

    def weights() -> Weights:
        return _weights(name, bits, width, heads, shared, hidden, cached, 1)

    def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """The token's state, and the keys and values of those before it."""
        cache = shared, cached, width // heads
        return tuple(normal(rng, *each).astype(_dtype(bits)) for each in ((1, width), cache, cache))

    def forward(f: ModuleType, w: Any, x: Any, keys: Any, values: Any) -> tuple[Any, ...]:
        """The token's state after the block, and the key and value to append to the cache."""
        q, k, v = _parts(f, w, x, heads, shared)
        mixed = f.step_attention(q, f.append(keys, k), f.append(values, v))
        return _rest(f, w, x, mixed), k, v

    summary = f"a decode step of a block of {of}, {cached} tokens cached, {_types(bits)}"
    tolerance = 1e-2 if bits == 16 else 3e-2
    return Model(name, summary, weights, inputs, forward, outputs=3, tolerance=tolerance)


@dataclass(frozen=True)
class Whole:
    """A whole language model: embeddings, blocks, the head over the vocabulary, in one type.

    `tied` is whether the head is the table of embeddings; sums of norms and products have 32 bits.
    """

    of: str
    width: int
    heads: int
    shared: int  # heads of keys and values
    hidden: int
    blocks: int
    vocabulary: int
    tied: bool = False
    dtype: DTypeLike = np.float16

    def prefill(self, name: str, tokens: int) -> Model:
        """Scores of the token after so many, and the keys and values of all."""

        def forward(f: ModuleType, w: Any, ids: Any) -> tuple[Any, ...]:
            def attend(_: int, q: Any, k: Any, v: Any) -> Any:
                return f.causal_attention(q, k, v)

            scores, keys, values = self._forward(f, w, ids, attend)
            return scores, f.stack(keys), f.stack(values)

        def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
            return (rng.integers(0, self.vocabulary, tokens, dtype=np.int32),)

        what = f"{self.of} whole, {tokens} tokens"
        return self._model(name, what, inputs, forward, partial(self._weights, name, 0, tokens))

    def step(self, name: str, cached: int) -> Model:
        """The same for one token after so many, whose keys and values are inputs."""

        def forward(f: ModuleType, w: Any, ids: Any, keys: Any, values: Any) -> tuple[Any, ...]:
            def attend(block: int, q: Any, k: Any, v: Any) -> Any:
                return f.step_attention(q, f.append(keys[block], k), f.append(values[block], v))

            scores, keys, values = self._forward(f, w, ids, attend)
            return scores, f.stack(keys), f.stack(values)

        def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
            return (rng.integers(0, self.vocabulary, 1, dtype=np.int32), *self._caches(rng, cached))

        what = f"a decode step of {self.of} whole, {cached} tokens cached"
        return self._model(name, what, inputs, forward, partial(self._weights, name, cached, 1))

    def decode(self, name: str, capacity: int) -> Model:
        """Scores of the token after one at a position, and the caches, in the memory of its inputs."""

        def forward(
            f: ModuleType, w: Any, ids: Any, position: Any, keys: Any, values: Any
        ) -> tuple[Any, ...]:
            def attend(block: int, q: Any, k: Any, v: Any) -> Any:
                nonlocal keys, values
                keys, values = f.write(keys, block, k, position), f.write(values, block, v, position)
                return f.step_attention(q, keys[block], values[block], position)

            scores, *_ = self._forward(f, w, ids, attend, position)
            return scores, keys, values

        def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
            ids = rng.integers(0, self.vocabulary, 1, dtype=np.int32)
            return (ids, np.array(capacity - 1, np.int32), *self._caches(rng, capacity))

        what = f"{self.of} whole, a token at any of {capacity} positions"
        model = self._model(name, what, inputs, forward, partial(self._weights, name, 0, capacity))
        return replace(model, donated=(2, 3))

    def _caches(self, rng: np.random.Generator, positions: int) -> Iterator[NDArray[Any]]:
        """Keys and values of so many positions."""
        shape = (self.blocks, self.shared, positions, self.width // self.heads)
        return (rng.standard_normal(shape, np.float32).astype(self.dtype) for _ in range(2))

    def _model(
        self, name: str, what: str, inputs: Inputs, forward: Forward, weights: Callable[[], Weights]
    ) -> Model:
        kind = np.dtype(self.dtype).name
        return Model(name, f"{what}, {kind}", weights, inputs, forward, outputs=3, tolerance=3e-2)

    def _weights(self, name: str, first: int, tokens: int) -> Weights:
        w = Weights(name)
        w.table("token", self.vocabulary, self.width)
        w.turns("rotary", first, tokens, self.width // self.heads)
        for block in range(self.blocks):
            _block_weights(w, f"block{block}_", self.width, self.heads, self.shared, self.hidden)
        w.scale("last", self.width)
        if not self.tied:
            w.projection("head", self.width, self.vocabulary)
        return w.of_type(self.dtype)

    def _forward(
        self, f: ModuleType, w: Any, ids: Any, attend: Callable[..., Any], position: Any = None
    ) -> tuple[Any, list[Any], list[Any]]:
        """Scores, and the tokens' keys and values in each block."""
        x = f.embed(w, "token", ids)
        keys, values = [], []
        for number in range(self.blocks):
            block = f"block{number}_"
            q, k, v = _parts(f, w, x, self.heads, self.shared, block, position)
            keys.append(k)
            values.append(v)
            x = _rest(f, w, x, attend(number, q, k, v), block)
        last = f.rms_norm(w, "last", x[-1:])
        scores = f.unembed(w, "token", last) if self.tied else f.project(w, "head", last)
        return scores, keys, values
