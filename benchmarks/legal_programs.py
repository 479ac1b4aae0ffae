"""Small programs of many kinds in f16, bf16 and f32, exported from JAX: for `legal_versions.py`.

    pip install 'iree-tuner[jax]'
    python benchmarks/legal_programs.py FOLDER

Transformers of 1, 4 and 12 layers in two styles, and ten further kinds in three sizes: 108 programs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = jax.Array
TYPES = {"f16": jnp.float16, "bf16": jnp.bfloat16, "f32": jnp.float32}
LAYERS, HEADS, TOKENS, WIDTH, HIDDEN = (1, 4, 12), 4, 24, 64, 160
_EPSILON = 1e-5


def layer_norm(x: Array, scale: Array, shift: Array) -> Array:
    """Over the last dimension, with sums in f32."""
    centred = x - jnp.mean(x.astype(jnp.float32), -1, keepdims=True).astype(x.dtype)
    variance = jnp.mean(jnp.square(centred.astype(jnp.float32)), -1, keepdims=True).astype(x.dtype)
    return centred * lax.rsqrt(variance + jnp.asarray(_EPSILON, x.dtype)) * scale + shift


def rms_norm(x: Array, scale: Array) -> Array:
    """Over the last dimension, in f32."""
    wide = x.astype(jnp.float32)
    squares = jnp.mean(jnp.square(wide), -1, keepdims=True)
    return (wide * lax.rsqrt(squares + _EPSILON)).astype(x.dtype) * scale


def attention(q: Array, k: Array, v: Array) -> Array:
    """Causal, with heads; (tokens, width)."""
    tokens, width = q.shape
    q, k, v = (each.reshape(tokens, HEADS, -1).transpose(1, 0, 2) for each in (q, k, v))
    scores = jnp.einsum("htd,hsd->hts", q, k) * jnp.asarray((width // HEADS) ** -0.5, q.dtype)
    scores = jnp.where(
        jnp.tril(jnp.ones((tokens, tokens), bool)), scores, jnp.asarray(-jnp.inf, scores.dtype)
    )
    weights = jax.nn.softmax(scores.astype(jnp.float32), -1).astype(v.dtype)
    return jnp.einsum("hts,hsd->htd", weights, v).transpose(1, 0, 2).reshape(tokens, width)


def rotated(x: Array) -> Array:
    """With rotary embedding, by halves."""
    tokens, width = x.shape
    half = width // HEADS // 2
    x = x.reshape(tokens, HEADS, 2 * half)
    angles = np.arange(tokens)[:, None] / 10000 ** (np.arange(half) / half)
    cos, sin = (jnp.asarray(f(angles)[:, None], x.dtype) for f in (np.cos, np.sin))
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).reshape(tokens, width)


def gpt(x: Array, layers: Sequence[Sequence[Array]]) -> Array:
    """Layers with layer norms and GELU."""
    for g1, b1, wq, wk, wv, wo, g2, b2, w1, w2 in layers:
        h = layer_norm(x, g1, b1)
        x = x + attention(h @ wq, h @ wk, h @ wv) @ wo
        x = x + jax.nn.gelu(layer_norm(x, g2, b2) @ w1) @ w2
    return x


def llama(x: Array, layers: Sequence[Sequence[Array]]) -> Array:
    """Layers with rms norms, rotary embedding and SwiGLU."""
    for g1, wq, wk, wv, wo, g2, w1, w3, w2 in layers:
        h = rms_norm(x, g1)
        x = x + attention(rotated(h @ wq), rotated(h @ wk), h @ wv) @ wo
        h = rms_norm(x, g2)
        x = x + (jax.nn.silu(h @ w1) * (h @ w3)) @ w2
    return x


def conv(x: Array, w1: Array, w2: Array, w3: Array, scale: Array, shift: Array) -> Array:
    """Two convolutions and a classifier; channels last."""
    layout = ("NHWC", "HWIO", "NHWC")
    y = jax.nn.relu(lax.conv_general_dilated(x, w1, (1, 1), "SAME", dimension_numbers=layout) * scale + shift)
    y = jax.nn.relu(lax.conv_general_dilated(y, w2, (2, 2), "SAME", dimension_numbers=layout))
    return y.mean((1, 2)) @ w3


def group_norm(x: Array, w: Array, scale: Array, shift: Array) -> Array:
    """A residual block of a U-Net; channels last."""
    n, height, width, channels = x.shape
    y = x.reshape(n, height * width, 8, channels // 8).astype(jnp.float32)
    y = (y - y.mean((1, 3), keepdims=True)) * lax.rsqrt(y.var((1, 3), keepdims=True) + _EPSILON)
    y = y.astype(x.dtype).reshape(x.shape) * scale + shift
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(jax.nn.silu(y), w, (1, 1), "SAME", dimension_numbers=layout) + x


def loss(x: Array, w1: Array, w2: Array, wanted: Array) -> Array:
    """Cross entropy of a small network: one number."""
    found = jax.nn.log_softmax((jnp.tanh(x @ w1) @ w2).astype(jnp.float32))
    return -(found * wanted).sum(-1).mean()


def rnn(x: Array, h: Array, wx: Array, wh: Array) -> Array:
    """All states of a recurrent layer."""

    def step(state: Array, each: Array) -> tuple[Array, Array]:
        state = jnp.tanh(each @ wx + state @ wh)
        return state, state

    return lax.scan(step, h, x)[1]


def soft_cap(x: Array, wq: Array, wk: Array, wv: Array) -> Array:
    """Attention whose scores are capped by tanh."""
    q, k, v = x @ wq, x @ wk, x @ wv
    return jax.nn.softmax(jnp.tanh((q @ k.T) * jnp.asarray(0.125, x.dtype) / 30) * 30, -1) @ v


def experts(x: Array, router: Array, w1: Array, w2: Array) -> tuple[Array, Array]:
    """A mixture of experts of which each token has one; and which."""
    gates = jax.nn.softmax((x @ router).astype(jnp.float32), -1)
    best = jnp.argmax(gates, -1)
    y = jnp.einsum("tef,efd->ted", jax.nn.gelu(jnp.einsum("td,edf->tef", x, w1)), w2)
    chosen = jnp.take_along_axis(y, best[:, None, None], 1)[:, 0]
    return chosen * gates.max(-1, keepdims=True).astype(x.dtype), best


def embedding(tokens: Array, table: Array, w: Array) -> Array:
    """Rows of a table, times weights."""
    return table[tokens] @ w


def mlp(x: Array, *weights: Array) -> Array:
    """Products with ReLU."""
    for each in weights:
        x = jax.nn.relu(x @ each)
    return x


def cumulative(x: Array, w: Array) -> Array:
    """Sums of all rows so far of a product."""
    return jnp.cumsum(x @ w, 0)


def normed(x: Array, w: Array) -> Array:
    """Rows of a product divided by their norms."""
    y = x @ w
    return y / jnp.linalg.norm(y.astype(jnp.float32), axis=-1, keepdims=True).astype(y.dtype)


def transformers(kind: str) -> tuple[Callable[..., Array], list[tuple[int, ...]]]:
    """A function and the shapes of a layer's weights."""
    square, up, down, one = (WIDTH, WIDTH), (WIDTH, HIDDEN), (HIDDEN, WIDTH), (WIDTH,)
    if kind == "gpt":
        return gpt, [one, one, *[square] * 4, one, one, up, down]
    return llama, [one, *[square] * 4, one, up, up, down]


def others(size: int, kind: jnp.dtype) -> dict[str, tuple[Callable[..., object], list[object]]]:
    """Ten functions with their arguments, in one of three sizes."""
    n, d = size + 1, (48, 96, 160)[size]

    def of(*shape: int, dtype: jnp.dtype = kind) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype)

    return {
        "conv": (
            conv, [of(1, 16 * n, 16 * n, 8), of(3, 3, 8, 16), of(3, 3, 16, 32), of(32, 10), of(16), of(16)],
        ),
        "group_norm": (group_norm, [of(1, 8 * n, 8 * n, 32), of(3, 3, 32, 32), of(32), of(32)]),
        "loss": (loss, [of(16 * n, d), of(d, 64), of(64, 10), of(16 * n, 10, dtype=jnp.float32)]),
        "rnn": (rnn, [of(5 * n, 4, d), of(4, 64), of(d, 64), of(64, 64)]),
        "soft_cap": (soft_cap, [of(20 * n, d), of(d, 64), of(d, 64), of(d, 64)]),
        "experts": (experts, [of(12 * n, d), of(d, 4), of(4, d, 64), of(4, 64, d)]),
        "embedding": (embedding, [of(8 * n, dtype=jnp.int32), of(100, d), of(d, 64)]),
        "mlp": (mlp, [of(7 * n, d), *[of(d, d)] * (6 * n)]),
        "cumulative": (cumulative, [of(30 * n, d), of(d, 32)]),
        "normed": (normed, [of(9 * n, d), of(d, 300)]),
    }  # fmt: skip


def main() -> None:
    """Write all programs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, dtype in TYPES.items():
        made = {f"{key}{size}": each for size in range(3) for key, each in others(size, dtype).items()}
        for kind in ("gpt", "llama"):
            function, shapes = transformers(kind)
            layer = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
            x = jax.ShapeDtypeStruct((TOKENS, WIDTH), dtype)
            made |= {f"{kind}{count}": (function, [x, [layer] * count]) for count in LAYERS}
        for key, (function, arguments) in made.items():
            text = str(jax.jit(function).lower(*arguments).compiler_ir("stablehlo"))
            (folder / f"{key}_{name}.mlir").write_text(text)


if __name__ == "__main__":
    main()
