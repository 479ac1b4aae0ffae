"""The primitives in JAX, to be compiled by XLA. Imported only where JAX computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from iree_tuner.device.data import dtype_of
from iree_tuner.suite.operation import Binary, ConvLayer, Reduction, Unary

jax: Any = import_module("jax")  # typed loosely: it need not be there where types are checked
jnp: Any = import_module("jax.numpy")
lax: Any = jax.lax

Traced = Any


class JaxPrimitives:
    """Functions of JAX, inside `jit`; `Primitives[Traced]`. f32 is multiplied as f32 on GPUs too."""

    def cast(self, x: Traced, element_type: str) -> Traced:
        dtype: Any = dtype_of(element_type)
        if jnp.issubdtype(x.dtype, jnp.floating) and jnp.issubdtype(dtype, jnp.integer):
            limits = jnp.iinfo(dtype)
            inside = jnp.clip(jnp.rint(x), limits.min, limits.max).astype(dtype)
            return jnp.where(x >= limits.max, jnp.asarray(limits.max, dtype), inside)
        return x.astype(dtype)

    def transpose(self, x: Traced, order: Sequence[int]) -> Traced:
        """XLA makes it a part of its user."""
        return jnp.transpose(x, tuple(order))

    def reshape(self, x: Traced, shape: Sequence[int]) -> Traced:
        return jnp.reshape(x, tuple(shape))

    def matmul(self, a: Traced, b: Traced, element_type: str) -> Traced:
        """`dot_general`, its result of the type that is asked for."""
        batch = tuple(range(a.ndim - 2))
        numbers = (((a.ndim - 1,), (b.ndim - 2,)), (batch, batch))
        return lax.dot_general(
            a, b, numbers, precision=lax.Precision.HIGHEST, preferred_element_type=_wide(a, element_type)
        )

    def layer(self, layer: ConvLayer, lhs: Traced, rhs: Traced, element_type: str) -> Traced:
        """`conv_general_dilated`, and its transposes, as in JAX's gradients."""
        wide = _wide(lhs, element_type)

        def convolve(image: Traced, filters: Traced) -> Traced:
            return lax.conv_general_dilated(
                image, filters, layer.strides, [(pad, pad) for pad in layer.padding],
                rhs_dilation=layer.dilations, feature_group_count=layer.groups,
                precision=lax.Precision.HIGHEST, preferred_element_type=wide,
            )  # fmt: skip

        if layer.direction == "forward":
            return convolve(lhs, rhs)
        if layer.direction == "data":
            shape = (lhs.shape[0], rhs.shape[1] * layer.groups, *layer.image)
            of = jax.ShapeDtypeStruct(shape, rhs.dtype)
            return jax.linear_transpose(partial(convolve, filters=rhs), of)(lhs.astype(wide))[0]
        shape = (lhs.shape[1], rhs.shape[1] // layer.groups, *layer.kernel)
        of = jax.ShapeDtypeStruct(shape, rhs.dtype)
        return jax.linear_transpose(partial(convolve, rhs), of)(lhs.astype(wide))[0]

    def attention(
        self, q: Traced, k: Traced, v: Traced, mask: Traced | None, causal: bool, scale: float
    ) -> Traced:
        """Two products with a softmax between them, in f32; the heads of a group together."""
        batch, heads, queries, size = q.shape
        key_heads, keys = k.shape[1], k.shape[2]
        together = q.reshape(batch, key_heads, heads // key_heads, queries, size)
        einsum = partial(jnp.einsum, precision=lax.Precision.HIGHEST, preferred_element_type=jnp.float32)
        scores = einsum("bhgqd,bhkd->bhgqk", together, k) * scale
        if mask is not None:
            scores = scores + mask.astype(jnp.float32)
        if causal:
            seen = jnp.tri(queries, keys, keys - queries, dtype=bool)
            scores = jnp.where(seen, scores, -jnp.inf)
        weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
        return einsum("bhgqk,bhkd->bhgqd", weights, v).reshape(batch, heads, queries, v.shape[3])

    def softmax(self, x: Traced, axis: int) -> Traced:
        return jax.nn.softmax(x, axis=axis)

    def reduce(self, kind: Reduction, x: Traced, axes: Sequence[int], element_type: str) -> Traced:
        """Over axes; sums and means of floats are held in f32 at least."""
        where = tuple(axes)
        if kind in ("max", "min"):
            return getattr(jnp, kind)(x, axis=where)
        dtype = _wide(x, element_type)
        if kind == "mean" or jnp.issubdtype(dtype, jnp.floating):
            dtype = jnp.promote_types(dtype, jnp.float32)
        return getattr(jnp, kind)(x, axis=where, dtype=dtype)

    def unary(self, kind: Unary, x: Traced) -> Traced:
        """Element by element; functions of several steps in f32 at least: free where XLA fuses."""
        if kind in ("gelu", "gelu_tanh", "silu") and x.dtype.itemsize < 4:
            return _UNARY[kind](x.astype(jnp.float32)).astype(x.dtype)
        return _UNARY[kind](x)

    def binary(self, kind: Binary, a: Traced, b: Traced) -> Traced:
        return getattr(jnp, kind)(a, b)


def _wide(x: Traced, element_type: str) -> Any:  # noqa: ANN401
    """The wider one of the tensor's type and the given one."""
    asked: Any = dtype_of(element_type)
    return asked if asked.itemsize > x.dtype.itemsize else x.dtype


_UNARY: dict[Unary, Callable[[Traced], Traced]] = {
    "relu": jax.nn.relu, "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "gelu_tanh": lambda x: jax.nn.gelu(x, approximate=True), "silu": jax.nn.silu, "sigmoid": jax.nn.sigmoid,
    "tanh": jnp.tanh, "exp": jnp.exp, "sqrt": jnp.sqrt, "rsqrt": lax.rsqrt, "abs": jnp.abs,
    "negate": jnp.negative,
}  # fmt: skip
