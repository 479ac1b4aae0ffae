"""Models of kinds that `examples/` has none of, as StableHLO from JAX: three small ones in f32 with batch 1,
and a block.

    python benchmarks/small_models.py FOLDER

`vit`: two blocks of a vision transformer on an image of 224x224. `decoder_step`: one token after 511 that are
cached, width 512. `separable`: depthwise separable convolutions on images and channels of odd sizes. Weights
are constants of the program, random, the same in each run. `benchmarks/budgets.py` tunes them. Needs jax.

`unet_block`, for GPUs: a transformer block of a diffusion model's U-Net, 2x1024 tokens of 1280 with 20 heads,
self-attention, attention to 77 tokens of 2048, and a gated layer; f16, sums in f32, weights as arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

HEADS, PATCH, WIDTH = 6, 16, 192
STEP_WIDTH, STEP_HEADS, CACHED = 512, 8, 511
IMAGES = ("NHWC", "HWIO", "NHWC")


class Weights:
    """Random weights, drawn in the order in which they are asked for."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Array:
        """The next array."""
        spread = np.prod(shape[:-1]) ** -0.5 if len(shape) > 1 else 0.02
        return jnp.asarray(self._rng.standard_normal(shape, np.float32) * np.float32(spread))


def _normal(x: Array) -> Array:
    centered = x - jnp.mean(x, axis=-1, keepdims=True)
    return centered * lax.rsqrt(jnp.mean(jnp.square(centered), axis=-1, keepdims=True) + 1e-5)


def _mixed(q: Array, k: Array, v: Array) -> Array:
    """Attention of heads by positions by width."""
    scores = jnp.einsum("hqd,hkd->hqk", q, k) * q.shape[-1] ** -0.5
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, axis=-1), v)


def _heads(x: Array, heads: int) -> Array:
    return x.reshape(x.shape[0], heads, -1).swapaxes(0, 1)


def _joined(x: Array) -> Array:
    return x.swapaxes(0, 1).reshape(x.shape[1], -1)


def vit() -> tuple[Callable[..., Array], list[tuple[int, ...]]]:
    """Two blocks of width 192 with six heads, on 196 patches of 16x16 and a token for the class."""
    w = Weights(1)
    patches, positions, token = w(PATCH, PATCH, 3, WIDTH), w(197, WIDTH), w(1, WIDTH)
    blocks = [
        (w(WIDTH, 3 * WIDTH), w(WIDTH, WIDTH), w(WIDTH, 4 * WIDTH), w(4 * WIDTH), w(4 * WIDTH, WIDTH))
        for _ in range(2)
    ]
    head = w(WIDTH, 1000)

    def main(image: Array) -> Array:
        x = lax.conv_general_dilated(image, patches, (PATCH, PATCH), "VALID", dimension_numbers=IMAGES)
        x = jnp.concatenate([token, x.reshape(196, WIDTH)]) + positions
        for qkv, out, up, bias, down in blocks:
            parts = jnp.split(_normal(x) @ qkv, 3, axis=-1)
            q, k, v = (_heads(each, HEADS) for each in parts)
            x = x + _joined(_mixed(q, k, v)) @ out
            x = x + jax.nn.gelu(_normal(x) @ up + bias) @ down
        return _normal(x[:1]) @ head

    return main, [(1, 224, 224, 3)]


def decoder_step() -> tuple[Callable[..., Array], list[tuple[int, ...]]]:
    """One block of width 512 with eight heads: a token, and keys and values of those before it."""
    w, width, heads = Weights(2), STEP_WIDTH, STEP_HEADS
    qkv, out, gate, up, down = (
        w(width, 3 * width), w(width, width), w(width, 1376), w(width, 1376), w(1376, width),
    )  # fmt: skip

    def main(x: Array, keys: Array, values: Array) -> Array:
        q, k, v = (_heads(each, heads) for each in jnp.split(_normal(x) @ qkv, 3, axis=-1))
        mixed = _mixed(q, jnp.concatenate([keys, k], axis=1), jnp.concatenate([values, v], axis=1))
        x = x + _joined(mixed) @ out
        inner = _normal(x)
        return x + (jax.nn.silu(inner @ gate) * (inner @ up)) @ down

    cache = (heads, CACHED, width // heads)
    return main, [(1, width), cache, cache]


def separable() -> tuple[Callable[..., Array], list[tuple[int, ...]]]:
    """Four depthwise separable convolutions on 61x75 positions, with 21 to 75 channels."""
    w = Weights(3)
    stem, sizes = w(3, 3, 3, 21), ((21, 33, 1), (33, 45, 2), (45, 57, 1), (57, 75, 2))
    layers = [(w(3, 3, 1, a), w(a), w(1, 1, a, b), w(b), stride) for a, b, stride in sizes]
    head = w(75, 37)

    def conv(x: Array, kernel: Array, stride: int, groups: int = 1) -> Array:
        return lax.conv_general_dilated(
            x, kernel, (stride, stride), "SAME", dimension_numbers=IMAGES, feature_group_count=groups
        )

    def main(image: Array) -> Array:
        x = jax.nn.relu(conv(image, stem, 2))
        for depth, first, point, second, stride in layers:
            x = jnp.clip(conv(x, depth, stride, x.shape[-1]) + first, 0.0, 6.0)
            x = jnp.clip(conv(x, point, 1) + second, 0.0, 6.0)
        return jnp.mean(x, axis=(1, 2)) @ head

    return main, [(1, 121, 149, 3)]


def unet_block() -> tuple[Callable[..., Array], list[tuple[int, ...]]]:
    """Its arguments: tokens, context, and the weights in the order of their use."""
    width, context, heads, inner = 1280, 2048, 20, 5120

    def product(x: Array, y: Array) -> Array:
        return jnp.matmul(x, y, preferred_element_type=jnp.float32).astype(jnp.float16)

    def attend(x: Array, other: Array, q: Array, k: Array, v: Array, out: Array) -> Array:
        q, k, v = (
            each.reshape(*each.shape[:2], heads, -1).transpose(0, 2, 1, 3)
            for each in (product(x, q), product(other, k), product(other, v))
        )
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32)
        parts = jax.nn.softmax(scores * q.shape[-1] ** -0.5, axis=-1).astype(jnp.float16)
        mixed = jnp.einsum("bhqk,bhkd->bhqd", parts, v, preferred_element_type=jnp.float32)
        return product(mixed.astype(jnp.float16).transpose(0, 2, 1, 3).reshape(x.shape), out)

    def normal(x: Array) -> Array:
        return _normal(x.astype(jnp.float32)).astype(jnp.float16)

    def main(x: Array, other: Array, *w: Array) -> Array:
        own = normal(x)
        x = x + attend(own, own, *w[:4])
        x = x + attend(normal(x), other, *w[4:8])
        up, gate = jnp.split(product(normal(x), w[8]), 2, axis=-1)
        return x + product(up * jax.nn.gelu(gate), w[9])

    square = (width, width)
    weights = [square] * 4 + [square, (context, width), (context, width), square]
    return main, [(2, 1024, width), (2, 77, context), *weights, (width, 2 * inner), (inner, width)]


MODELS = (vit, decoder_step, separable, unet_block)


def main() -> None:
    """Write all of them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for model in MODELS:
        function, shapes = model()
        kind = jnp.float16 if model is unet_block else jnp.float32
        arguments = [jax.ShapeDtypeStruct(shape, kind) for shape in shapes]
        lowered = jax.jit(function).lower(*arguments)
        (folder / f"{model.__name__}.mlir").write_text(str(lowered.compiler_ir("stablehlo")))


if __name__ == "__main__":
    main()
