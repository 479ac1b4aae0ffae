"""Lower the example programs from JAX to StableHLO text.

Weights are arguments, so that the files stay small and nothing is folded away.
Needs the extra `examples` (JAX); the .mlir files it writes are in the repository.

    python examples/export.py            # writes every program next to this file
    python examples/export.py mlp_batch1
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp

Arrays = list[jax.ShapeDtypeStruct]


def _f32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def _layer_norm(x: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + shift


def transformer_block() -> tuple[Callable[..., jax.Array], Arrays]:
    """One pre-norm encoder block: 128 tokens, width 256, 4 heads, MLP of 1024."""
    tokens, width, heads, hidden = 128, 256, 4, 1024

    def main(x, s1, b1, wqkv, wo, s2, b2, w1, bias1, w2, bias2):
        h = _layer_norm(x, s1, b1)
        q, k, v = jnp.split(h @ wqkv, 3, axis=-1)
        q, k, v = (t.reshape(tokens, heads, width // heads).swapaxes(0, 1) for t in (q, k, v))
        scores = jnp.einsum("hqd,hkd->hqk", q, k) * (width // heads) ** -0.5
        mixed = jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, axis=-1), v)
        x = x + mixed.swapaxes(0, 1).reshape(tokens, width) @ wo
        h = jax.nn.gelu(_layer_norm(x, s2, b2) @ w1 + bias1)
        return x + h @ w2 + bias2

    return main, [
        _f32(tokens, width), _f32(width), _f32(width), _f32(width, 3 * width), _f32(width, width),
        _f32(width), _f32(width), _f32(width, hidden), _f32(hidden), _f32(hidden, width), _f32(width),
    ]  # fmt: skip


def resnet_bottlenecks() -> tuple[Callable[..., jax.Array], Arrays]:
    """Two bottlenecks as in ResNet-50's stages 2 and 3 at half width: the second one strides and projects."""

    def conv(x: jax.Array, w: jax.Array, stride: int = 1) -> jax.Array:
        return jax.lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def main(x, a1, a2, a3, p1, b1, b2, b3, p2):
        h = jax.nn.relu(conv(x, a1))
        h = jax.nn.relu(conv(h, a2))
        x = jax.nn.relu(conv(h, a3) + conv(x, p1))
        h = jax.nn.relu(conv(x, b1))
        h = jax.nn.relu(conv(h, b2, stride=2))
        return jax.nn.relu(conv(h, b3) + conv(x, p2, stride=2))

    return main, [
        _f32(1, 28, 28, 64),
        _f32(1, 1, 64, 32), _f32(3, 3, 32, 32), _f32(1, 1, 32, 128), _f32(1, 1, 64, 128),
        _f32(1, 1, 128, 64), _f32(3, 3, 64, 64), _f32(1, 1, 64, 256), _f32(1, 1, 128, 256),
    ]  # fmt: skip


def mlp_batch1() -> tuple[Callable[..., jax.Array], Arrays]:
    """Three dense layers on one row (matvec): 784 -> 1024 -> 1024 -> 10, log-softmax at the end."""

    def main(x, w1, b1, w2, b2, w3, b3):
        h = jax.nn.relu(x @ w1 + b1)
        h = jax.nn.relu(h @ w2 + b2)
        return jax.nn.log_softmax(h @ w3 + b3)

    return main, [
        _f32(1, 784), _f32(784, 1024), _f32(1024), _f32(1024, 1024), _f32(1024), _f32(1024, 10), _f32(10),
    ]  # fmt: skip


PROGRAMS = {f.__name__: f for f in (transformer_block, resnet_bottlenecks, mlp_batch1)}


def main(names: list[str]) -> None:
    """Write `<name>.mlir` beside this file for each name (all of them when none is given)."""
    for name in names or list(PROGRAMS):
        function, arguments = PROGRAMS[name]()
        lowered = jax.jit(function).lower(*arguments)
        text = str(lowered.compiler_ir("stablehlo")).replace("module @jit_main", f"module @{name}", 1)
        path = Path(__file__).with_name(f"{name}.mlir")
        path.write_text(text)
        print(f"{path.name}: {len(text)} bytes", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
