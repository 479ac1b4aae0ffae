"""Layers in JAX: `jax.numpy` and `jax.lax` on arrays in its usual order, channels last.

Each takes the model's weights and the name of the layer; `layers_torch` has the same in PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jax import Array, lax

from examples.models import weights

Weights = Mapping[str, Array]
IMAGES = ("NHWC", "HWIO", "NHWC")


def from_numpy(name: str, value: weights.Array) -> Array:  # noqa: ARG001 (as in layers_torch)
    """A weight, as it is stored."""
    return jnp.asarray(value)


def image_in(x: Array) -> Array:
    """Images are in the library's own order."""
    return x


def image_out(x: Array) -> Array:
    """Images are in the library's own order."""
    return x


def linear(w: Weights, name: str, x: Array) -> Array:
    """A dense layer on the last dimension; what is summed up has 32 bits."""
    return (_product(w, name, x) + w[f"{name}_bias"]).astype(x.dtype)


def project(w: Weights, name: str, x: Array) -> Array:
    """A dense layer without bias; what is summed up has 32 bits."""
    return _product(w, name, x).astype(x.dtype)


def _product(w: Weights, name: str, x: Array) -> Array:
    if f"{name}_bytes" in w:
        sums = jnp.matmul(x, w[f"{name}_bytes"].astype(x.dtype), preferred_element_type=jnp.float32)
        return sums * w[f"{name}_scales"]
    kernel = _from_pairs(w, name, x) if f"{name}_pairs" in w else w[f"{name}_kernel"]
    return jnp.matmul(x, kernel, preferred_element_type=jnp.float32)


def _from_pairs(w: Weights, name: str, x: Array) -> Array:
    """A matrix of the type of `x` from integers of 4 bits (`FewBits`)."""
    pairs, scales = w[f"{name}_pairs"], w[f"{name}_scales"]
    whole = jnp.stack([pairs & 15, pairs >> 4 & 15], axis=1).reshape(scales.shape[0], -1, pairs.shape[1])
    return ((whole.astype(x.dtype) - 8) * scales[:, None, :]).reshape(-1, pairs.shape[1])


def conv(
    w: Weights,
    name: str,
    x: Array,
    *,
    stride: int = 1,
    groups: int = 1,
    inside: bool = False,
    bias: bool = True,
) -> Array:
    """A convolution that keeps the size, or halves it with `stride=2`; what is summed up has 32 bits.

    With `inside`, all of its window is inside of the image.
    """
    kernel = w[f"{name}_kernel"]
    around = (0 if inside else kernel.shape[0] // 2,) * 2
    out = lax.conv_general_dilated(
        x, kernel, (stride, stride), (around, around), dimension_numbers=IMAGES, feature_group_count=groups,
        preferred_element_type=jnp.float32,
    )  # fmt: skip
    return (out + w[f"{name}_bias"] if bias else out).astype(x.dtype)


def demodulation(w: Weights, name: str, by: Array) -> Array:
    """What gives sums of weighed channels a spread of 1 again: images by outputs, in 32 bits."""
    squares = jnp.sum(jnp.square(w[f"{name}_kernel"].astype(jnp.float32)), axis=(0, 1))
    return lax.rsqrt(jnp.square(by.astype(jnp.float32)) @ squares + 1e-8).astype(by.dtype)


def depthwise(w: Weights, name: str, x: Array, *, stride: int = 1) -> Array:
    """A depthwise convolution; its sums have the type of `x`, as in `conv_rows`."""
    kernel = w[f"{name}_kernel"]
    around = (kernel.shape[0] // 2,) * 2
    out = lax.conv_general_dilated(
        x, kernel, (stride, stride), (around, around), dimension_numbers=IMAGES,
        feature_group_count=x.shape[-1],
    )  # fmt: skip
    return out + w[f"{name}_bias"]


def unconv(w: Weights, name: str, x: Array) -> Array:
    """A transposed convolution to twice the size; what is summed up has 32 bits."""
    out = lax.conv_transpose(
        x, w[f"{name}_enlarging"], (2, 2), "VALID", dimension_numbers=IMAGES,
        preferred_element_type=jnp.float32,
    )  # fmt: skip
    return (out + w[f"{name}_bias"]).astype(x.dtype)


def conv_time(w: Weights, name: str, x: Array, *, dilation: int = 1) -> Array:
    """A convolution over the rows of each of a batch, which keeps their number; sums have 32 bits."""
    kernel = w[f"{name}_kernel"]
    out = lax.conv_general_dilated(
        x, kernel, (1,), ((kernel.shape[0] // 2 * dilation,) * 2,), rhs_dilation=(dilation,),
        dimension_numbers=("NWC", "WIO", "NWC"), preferred_element_type=jnp.float32,
    )  # fmt: skip
    return (out + w[f"{name}_bias"]).astype(x.dtype)


def patches(w: Weights, name: str, x: Array) -> Array:
    """A convolution of windows that do not overlap; what is summed up has 32 bits."""
    kernel = w[f"{name}_kernel"]
    out = lax.conv_general_dilated(
        x, kernel, kernel.shape[:2], "VALID", dimension_numbers=IMAGES, preferred_element_type=jnp.float32
    )  # fmt: skip
    return (out + w[f"{name}_bias"]).astype(x.dtype)


def conv_rows(w: Weights, name: str, x: Array) -> Array:
    """A depthwise convolution over the rows of each of a batch.

    Its sums have the type of `x`: IREE 3.13 takes no depthwise convolution whose result is wider.
    """
    kernel = w[f"{name}_kernel"]
    out = lax.conv_general_dilated(
        x, kernel, (1,), ((kernel.shape[0] // 2,) * 2,), dimension_numbers=("NWC", "WIO", "NWC"),
        feature_group_count=x.shape[-1],
    )  # fmt: skip
    return out + w[f"{name}_bias"]


def conv_before(w: Weights, name: str, x: Array) -> Array:
    """A depthwise convolution over each row and those before it; its sums have the type of `x`."""
    kernel = w[f"{name}_kernel"]
    out = lax.conv_general_dilated(
        x, kernel, (1,), ((kernel.shape[0] - 1, 0),), dimension_numbers=("NWC", "WIO", "NWC"),
        feature_group_count=x.shape[-1],
    )  # fmt: skip
    return out + w[f"{name}_bias"]


def layer_norm(w: Weights, name: str, x: Array) -> Array:
    """Over the last dimension, in 32 bits."""
    return (_normal(x, (-1,)) * w[f"{name}_scale"] + w[f"{name}_bias"]).astype(x.dtype)


def plain_norm(x: Array) -> Array:
    """Over the last dimension, in 32 bits, without scale and shift."""
    return _normal(x, (-1,)).astype(x.dtype)


def rms_norm(w: Weights, name: str, x: Array) -> Array:
    """Over the last dimension, without shift, in 32 bits."""
    wide = x.astype(jnp.float32)
    wide = wide * lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + 1e-5)
    return wide.astype(x.dtype) * w[f"{name}_scale"]


def group_norm(w: Weights, name: str, x: Array, groups: int = 8) -> Array:
    """Over the positions of an image, and the channels of a group, in 32 bits."""
    grouped = x.reshape(*x.shape[:-1], groups, -1)
    normal = _normal(grouped, (1, 2, 4)).reshape(x.shape)
    return (normal * w[f"{name}_scale"] + w[f"{name}_bias"]).astype(x.dtype)


def instance_norm(x: Array) -> Array:
    """Over the positions of each channel of an image, in 32 bits."""
    return _normal(x, (1, 2)).astype(x.dtype)


def by_channel(w: Weights, name: str, x: Array) -> Array:
    """An image's channels, each multiplied and shifted."""
    return x * w[f"{name}_scale"] + w[f"{name}_bias"]


def unit_rows(x: Array) -> Array:
    """Rows of length 1, in 32 bits."""
    wide = x.astype(jnp.float32)
    length = jnp.sqrt(jnp.sum(jnp.square(wide), axis=-1, keepdims=True))
    return (wide / jnp.maximum(length, 1e-12)).astype(x.dtype)


def _normal(x: Array, axes: tuple[int, ...]) -> Array:
    """With mean 0 and variance 1, in 32 bits."""
    x = x.astype(jnp.float32)
    centered = x - jnp.mean(x, axis=axes, keepdims=True)
    variance = jnp.mean(jnp.square(centered), axis=axes, keepdims=True)
    return centered * lax.rsqrt(variance + 1e-5)


def embed(w: Weights, name: str, ids: Array) -> Array:
    """Rows of a table; ids are in range."""
    return jnp.take(w[f"{name}_table"], ids, axis=0, mode="clip")


def unembed(w: Weights, name: str, x: Array) -> Array:
    """Products with the rows of a table; what is summed up has 32 bits."""
    found = jnp.einsum("td,vd->tv", x, w[f"{name}_table"], preferred_element_type=jnp.float32)
    return found.astype(x.dtype)


def attention(q: Array, k: Array, v: Array) -> Array:
    """Every query over every key: heads by positions by width, perhaps of a batch; sums have 32 bits."""
    scores = jnp.einsum(
        "...qd,...kd->...qk", q * q.shape[-1] ** -0.5, k, preferred_element_type=jnp.float32
    )  # fmt: skip
    return _mixed(scores, v)


def biased_attention(q: Array, k: Array, v: Array, bias: Array) -> Array:
    """The same with something added to each score: heads by queries by keys."""
    scores = jnp.einsum("...qd,...kd->...qk", q, k, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
    return _mixed(scores + bias.astype(jnp.float32), v)


def causal_attention(q: Array, k: Array, v: Array, cap: float | None = None) -> Array:
    """Every query over the keys up to its own; several heads of queries share one of keys.

    With `cap`, scores are softly kept within so much.
    """
    k, v = (jnp.repeat(each, q.shape[0] // each.shape[0], axis=0) for each in (k, v))
    scores = jnp.einsum("hqd,hkd->hqk", q, k, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
    scores = scores if cap is None else cap * jnp.tanh(scores / cap)
    positions = jnp.arange(q.shape[1])
    return _mixed(jnp.where(positions[None, :, None] >= positions[None, None, :], scores, -jnp.inf), v)


def masked_causal(q: Array, k: Array, v: Array, window: int | None = None) -> Array:
    """Every query over the keys up to its own, at most so many; perhaps of a batch, with shared keys."""
    k, v = (jnp.repeat(each, q.shape[-3] // each.shape[-3], axis=-3) for each in (k, v))
    scores = jnp.einsum("...qd,...kd->...qk", q, k, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
    behind = jnp.arange(q.shape[-2])[:, None] - jnp.arange(k.shape[-2])[None, :]
    seen = behind >= 0 if window is None else (behind >= 0) & (behind < window)
    return _mixed(jnp.where(seen, scores, -jnp.inf), v)


def alibi_attention(q: Array, k: Array, v: Array, slopes: Array) -> Array:
    """Every query over the keys up to its own; scores fall with the distance, for each head by its slope."""
    scores = jnp.einsum("hqd,hkd->hqk", q, k, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
    behind = jnp.arange(q.shape[-2])[:, None] - jnp.arange(k.shape[-2])[None, :]
    return _mixed(jnp.where(behind >= 0, scores - slopes[:, None, None] * behind, -jnp.inf), v)


def placed_attention(w: Weights, q: Array, k: Array, v: Array, size: int) -> Array:
    """Every query over every key of a square image, with parts of scores for rows and for columns."""
    heads, tokens, each = q.shape
    places = q.reshape(heads, size, size, each)
    rows, columns = (w[f"{part}_table"].reshape(size, size, each) for part in ("rows", "columns"))
    by_row = jnp.einsum("hrcd,rkd->hrck", places, rows, preferred_element_type=jnp.float32)
    by_column = jnp.einsum("hrcd,ckd->hrck", places, columns, preferred_element_type=jnp.float32)
    scores = jnp.einsum("hqd,hkd->hqk", q, k, preferred_element_type=jnp.float32) * each**-0.5
    scores = scores.reshape(heads, size, size, size, size)
    scores = scores + by_row.astype(q.dtype)[..., None] + by_column.astype(q.dtype)[..., None, :]
    return _mixed(scores.reshape(heads, tokens, tokens), v)


def fewer_attention(w: Weights, q: Array, k: Array, v: Array, size: int, fewer: int) -> Array:
    """Every query of an image over the keys of a smaller one; batch by heads by positions by width.

    Scores have parts for rows and for columns.
    """
    places = q.reshape(*q.shape[:2], size, size, -1)
    rows, columns = (w[f"{part}_table"].reshape(size, fewer, -1) for part in ("rows", "columns"))
    by_row = jnp.einsum("bhrcd,rkd->bhrck", places, rows, preferred_element_type=jnp.float32)
    by_column = jnp.einsum("bhrcd,ckd->bhrck", places, columns, preferred_element_type=jnp.float32)
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
    apart = scores.reshape(*by_row.shape, fewer)
    apart = apart + by_row.astype(q.dtype)[..., None] + by_column.astype(q.dtype)[..., None, :]
    return _mixed(apart.reshape(scores.shape), v)


def relu_attention(q: Array, k: Array, v: Array) -> Array:
    """Linear attention with ReLU for batch by heads by positions by width; sums have 32 bits."""
    q, k = relu(q), relu(k)
    sums = jnp.einsum("bhnd,bhne->bhde", k, v, preferred_element_type=jnp.float32).astype(q.dtype)
    total = jnp.sum(k.astype(jnp.float32), axis=2).astype(q.dtype)
    found = jnp.einsum("bhnd,bhde->bhne", q, sums, preferred_element_type=jnp.float32)
    weight = jnp.einsum("bhnd,bhd->bhn", q, total, preferred_element_type=jnp.float32)
    return (found / (weight[..., None] + 1e-3)).astype(q.dtype)


def retained(w: Weights, q: Array, k: Array, v: Array, chunk: int) -> Array:
    """Keys that decay with their distance: heads by positions by width; sums have 32 bits."""
    heads, tokens, _ = q.shape
    q, k, v = (each.reshape(heads, tokens // chunk, chunk, -1) for each in (q, k, v))
    scores = jnp.einsum("hcqd,hckd->hcqk", q, k, preferred_element_type=jnp.float32)
    scores = (scores * w["within"][:, None]).astype(q.dtype)
    own = jnp.einsum("hcqk,hcke->hcqe", scores, v, preferred_element_type=jnp.float32)
    fading = (k * w["left"][:, None]).astype(k.dtype)
    states = jnp.einsum("hckd,hcke->hcde", fading, v, preferred_element_type=jnp.float32).astype(q.dtype)
    before = jnp.einsum("hcb,hbde->hcde", w["across"], states, preferred_element_type=jnp.float32)
    far = jnp.einsum("hcqd,hcde->hcqe", q, before.astype(q.dtype), preferred_element_type=jnp.float32)
    return (own + far * w["since"][:, None]).astype(q.dtype).reshape(heads, tokens, -1)


def pairs(one: Array, other: Array, height: int) -> Array:
    """Products of all positions of two images: images by positions by height by width; sums have 32 bits."""
    found = jnp.einsum("nxc,nyc->nxy", one, other, preferred_element_type=jnp.float32)
    found = (found * one.shape[-1] ** -0.5).astype(one.dtype)
    return found.reshape(*found.shape[:2], height, -1)


def real_transform(w: Weights, x: Array) -> Array:
    """The real part of a Fourier transform of rows and columns, by matrices; sums have 32 bits."""
    parts = []
    for part in ("cosines", "sines"):
        wide = jnp.einsum("btd,de->bte", x, w[f"width_{part}"], preferred_element_type=jnp.float32)
        matrix, wide = w[f"tokens_{part}"], wide.astype(x.dtype)
        parts.append(jnp.einsum("st,bte->bse", matrix, wide, preferred_element_type=jnp.float32))
    return (parts[0] - parts[1]).astype(x.dtype)


def frequencies(x: Array, count: int) -> Array:
    """Numbers, and sines and cosines of them at so many frequencies, in 32 bits."""
    wide = x.astype(jnp.float32)
    angles = wide[..., None, :] * (2.0 ** jnp.arange(count, dtype=jnp.float32))[:, None]
    angles = angles.reshape(*x.shape[:-1], -1)
    return jnp.concatenate([wide, jnp.sin(angles), jnp.cos(angles)], axis=-1).astype(x.dtype)


def along_rays(colors: Array, lengths: Array) -> Array:
    """The color of each ray: of its samples, as far as those before let it through."""
    passed = jnp.exp(-(jnp.cumsum(lengths, axis=-1) - lengths))
    return jnp.sum((passed * (1 - jnp.exp(-lengths)))[..., None] * colors, axis=-2)


def gru(w: Weights, given: str, state: str, x: Array, before: Array) -> Array:
    """The next state of a gated recurrent unit, of the rows of `x`; what is summed up has 32 bits."""
    ours = (_product(w, given, x) + w[f"{given}_bias"]).astype(x.dtype)
    theirs = (_product(w, state, before) + w[f"{state}_bias"]).astype(x.dtype)
    (r, z, n), (own_r, own_z, own_n) = split(ours, 3), split(theirs, 3)
    kept = sigmoid(z + own_z)
    return (1 - kept) * jnp.tanh(n + sigmoid(r + own_r) * own_n) + kept * before


def triangles(left: Array, right: Array) -> Array:
    """For each pair of rows the products of their columns, by channel; what is summed up has 32 bits."""
    return jnp.einsum("ikc,jkc->ijc", left, right, preferred_element_type=jnp.float32).astype(left.dtype)


def nearest(query: Array, found: Array, lengths: Array) -> Array:
    """The sum over a query's words of the highest product with a document's words, of each document."""
    scores = jnp.einsum("qd,ntd->nqt", query, found, preferred_element_type=jnp.float32)
    there = jnp.arange(found.shape[1])[None, :] < lengths[:, None]
    return jnp.max(jnp.where(there[:, None, :], scores, -jnp.inf), axis=-1).sum(axis=-1)


def step_attention(q: Array, k: Array, v: Array, position: Array | None = None) -> Array:
    """One query over all keys, or up to its position: heads that share one of keys are rows of a product."""
    rows = q.reshape(k.shape[0], -1, q.shape[-1])
    scores = jnp.einsum("hqd,hkd->hqk", rows, k, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
    if position is not None:
        scores = jnp.where(jnp.arange(k.shape[1]) <= position, scores, -jnp.inf)
    return _mixed(scores, v).reshape(q.shape)


def up_to(q: Array, k: Array, v: Array, position: Array) -> Array:
    """One query of each head over the keys up to its position; of a batch."""
    scores = jnp.einsum("...qd,...kd->...qk", q, k, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
    return _mixed(jnp.where(jnp.arange(k.shape[-2]) <= position, scores, -jnp.inf), v)


def states_in_chunks(x: Array, steps: Array, decay: Array, written: Array, read: Array, chunk: int) -> Array:
    """Mamba-2's state space, as in its paper: batch by rows by heads by width, in 32 bits.

    Args:
        x: what is written, batch by rows by heads by width.
        steps: batch by rows by heads, in 32 bits.
        decay: of each head, below 0.
        written: where to, batch by rows by states; all heads share it, and the next one.
        read: where from.
        chunk: rows that are computed at once.
    """
    batch, rows, heads, width = x.shape
    x = (x * steps[..., None].astype(x.dtype)).reshape(batch, -1, chunk, heads, width)
    written, read = (each.reshape(batch, -1, chunk, each.shape[-1]) for each in (written, read))
    falls = (steps * decay).reshape(batch, -1, chunk, heads).transpose(0, 3, 1, 2)
    fallen = jnp.cumsum(falls, axis=-1)

    within = jnp.exp(_between(falls)).astype(x.dtype)
    scores = jnp.einsum("bcln,bcsn->bcls", read, written, preferred_element_type=jnp.float32).astype(x.dtype)
    own = jnp.einsum(
        "bcls,bhcls,bcshp->bclhp", scores, within, x, preferred_element_type=jnp.float32
    )  # fmt: skip

    left = jnp.exp(fallen[..., -1:] - fallen).astype(x.dtype)
    states = jnp.einsum("bcln,bhcl,bclhp->bchpn", written, left, x, preferred_element_type=jnp.float32)
    states = jnp.concatenate([jnp.zeros_like(states[:, :1]), states], axis=1).astype(x.dtype)
    across = jnp.exp(_between(jnp.pad(fallen[..., -1], ((0, 0), (0, 0), (1, 0))))).astype(x.dtype)
    before = jnp.einsum("bhzc,bchpn->bzhpn", across, states, preferred_element_type=jnp.float32)
    before = before[:, :-1].astype(x.dtype)
    far = jnp.einsum(
        "bcln,bchpn,bhcl->bclhp", read, before, jnp.exp(fallen).astype(x.dtype),
        preferred_element_type=jnp.float32,
    )  # fmt: skip
    return (own + far).reshape(batch, rows, heads, width)


def _between(falls: Array) -> Array:
    """The sum of those after each row up to each other, and minus infinity above the diagonal."""
    rows = falls.shape[-1]
    fallen = jnp.cumsum(falls, axis=-1)
    seen = jnp.tril(jnp.ones((rows, rows), bool))
    return jnp.where(seen, fallen[..., :, None] - fallen[..., None, :], -jnp.inf)


def two_highest(scores: Array) -> Array:
    """For each row the softmax of its two highest, and zeros elsewhere."""
    values, places = lax.top_k(scores.astype(jnp.float32), 2)
    chosen = jax.nn.one_hot(places, scores.shape[-1]) * jax.nn.softmax(values, axis=-1)[..., None]
    return chosen.sum(axis=-2).astype(scores.dtype)


def by_experts(w: Weights, name: str, x: Array) -> Array:
    """A dense layer of each expert: experts by tokens by width, of tokens that all or each of them have."""
    given = "td" if x.ndim == 2 else "etd"
    found = jnp.einsum(f"{given},edh->eth", x, w[f"{name}_experts"], preferred_element_type=jnp.float32)
    return found.astype(x.dtype)


def weighed(x: Array, chosen: Array) -> Array:
    """The sum over experts, by the weights of tokens; it has 32 bits."""
    return jnp.einsum("etd,te->td", x, chosen, preferred_element_type=jnp.float32).astype(x.dtype)


def _mixed(scores: Array, v: Array) -> Array:
    """Values by the softmax of scores, which has 32 bits."""
    parts = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
    return jnp.einsum("...qk,...kd->...qd", parts, v, preferred_element_type=jnp.float32).astype(v.dtype)


def rotary(w: Weights, name: str, x: Array, position: Array | None = None) -> Array:
    """Heads by positions by width, each pair of halves turned by its position, or all by one position."""
    a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    turns = w[f"{name}_turns"]
    cos, sin = turns if position is None else lax.dynamic_slice_in_dim(turns, position, 1, axis=1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1).astype(x.dtype)


def split(x: Array, parts: int) -> list[Array]:
    """The last dimension in equal parts."""
    return jnp.split(x, parts, axis=-1)


def heads_in(x: Array, heads: int) -> Array:
    """Positions by width to heads by positions by width of a head; perhaps of a batch."""
    return x.reshape(*x.shape[:-1], heads, -1).swapaxes(-3, -2)


def heads_out(x: Array) -> Array:
    """Back: positions by width."""
    return x.swapaxes(-3, -2).reshape(*x.shape[:-3], x.shape[-2], -1)


def append(x: Array, y: Array) -> Array:
    """More positions after those of each head."""
    return jnp.concatenate([x, y], axis=1)


def write(cache: Array, block: int, x: Array, position: Array) -> Array:
    """A cache, blocks by heads by positions by width, with one row for each head of a block at a position."""
    return lax.dynamic_update_slice(cache, x[None], (block, 0, position, 0))


def write_each(cache: Array, x: Array, position: Array) -> Array:
    """A cache, batch by heads by positions by width, with a row of each head at a position."""
    return lax.dynamic_update_slice(cache, x, (0, 0, position, 0))


def follow(x: Array, y: Array) -> Array:
    """More positions after those of each head; of a batch."""
    return jnp.concatenate([x, y], axis=-2)


def turn(x: Array, *order: int) -> Array:
    """Its dimensions in another order."""
    return jnp.transpose(x, order)


def widened(x: Array) -> Array:
    """In 32 bits."""
    return x.astype(jnp.float32)


def stack(parts: list[Array]) -> Array:
    """A new first dimension."""
    return jnp.stack(parts)


def to_positions(x: Array) -> Array:
    """An image as positions by channels; several as a batch."""
    return x.reshape(*(x.shape[:1] if x.shape[0] > 1 else ()), -1, x.shape[-1])


def to_image(x: Array, like: Array) -> Array:
    """Positions by channels as an image of the size of `like`."""
    return x.reshape(like.shape)


def as_image(x: Array, height: int) -> Array:
    """Positions by channels of a batch as images of this height."""
    return x.reshape(x.shape[0], height, -1, x.shape[-1])


def as_tokens(x: Array) -> Array:
    """Images as positions by channels."""
    return x.reshape(x.shape[0], -1, x.shape[-1])


def split_channels(x: Array, parts: int) -> list[Array]:
    """An image's channels in equal parts."""
    return jnp.split(x, parts, axis=-1)


def in_turns(x: Array) -> Array:
    """The channels of both halves of an image in turns."""
    return x.reshape(*x.shape[:-1], 2, -1).swapaxes(-1, -2).reshape(x.shape)


def reflected(x: Array) -> Array:
    """A pixel around an image, as if its last ones were mirrors."""
    return jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="reflect")


def join_channels(x: Array, y: Array) -> Array:
    """The channels of two images in one."""
    return jnp.concatenate([x, y], axis=-1)


def per_channel(x: Array) -> Array:
    """One row of channels, to be added to an image."""
    return x[:, None, None, :]


def max_pool(x: Array) -> Array:
    """Windows of 3x3 at every other position."""
    around = ((0, 0), (1, 1), (1, 1), (0, 0))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), around)


def half_pool(x: Array) -> Array:
    """The highest of each 2x2 windows."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def smooth(x: Array, times: int) -> Array:
    """An image of so many times the size, interpolated between pixels."""
    images, rows, columns, channels = x.shape
    return jax.image.resize(x, (images, times * rows, times * columns, channels), "bilinear")


def half_mean(x: Array) -> Array:
    """The mean of each 2x2 windows, in 32 bits."""
    wide = x.astype(jnp.float32)
    sums = lax.reduce_window(wide, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return (sums * 0.25).astype(x.dtype)


def half_means(x: Array) -> Array:
    """The mean of each 2x2 of the last two dimensions, in 32 bits."""
    *outer, rows, columns = x.shape
    apart = x.astype(jnp.float32).reshape(*outer, rows // 2, 2, columns // 2, 2)
    return jnp.mean(apart, axis=(-3, -1)).astype(x.dtype)


def highest(x: Array, axis: int) -> Array:
    """The highest along an axis, which goes."""
    return jnp.max(x, axis=axis)


def for_all(x: Array, axis: int, count: int) -> Array:
    """One position for so many."""
    return jnp.broadcast_to(x, (*x.shape[:axis], count, *x.shape[axis + 1 :]))


def mean_pool(x: Array) -> Array:
    """The mean of each channel, as a row."""
    return jnp.mean(x, axis=(1, 2))


def enlarge(x: Array) -> Array:
    """Each position twice in both directions."""
    return jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)


def pixels(x: Array) -> Array:
    """An image of twice the size, each pixel's four from four channels that follow each other."""
    images, rows, columns, channels = x.shape
    apart = x.reshape(images, rows, columns, channels // 4, 2, 2)
    return apart.transpose(0, 1, 4, 2, 5, 3).reshape(images, 2 * rows, 2 * columns, channels // 4)


def join_width(x: Array, y: Array) -> Array:
    """The last dimensions of two in one."""
    return jnp.concatenate([x, y], axis=-1)


def waves(x: Array, width: int) -> Array:
    """Sines and cosines of a number at many frequencies, as a row."""
    half = width // 2
    steps = jnp.arange(half, dtype=jnp.float32) * (-9.21034 / half)
    angles = x[:, None] * jnp.exp(steps)[None]
    return jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], axis=-1)


def as_type(x: Array, like: Array) -> Array:
    """Of the type of `like`."""
    return x.astype(like.dtype)


def relu6(x: Array) -> Array:
    """Between 0 and 6."""
    return jnp.clip(x, 0.0, 6.0)


def gelu(x: Array) -> Array:
    """With the error function, as PyTorch has it; `jax.nn.gelu` takes its complement."""
    return 0.5 * x * (1.0 + lax.erf(x * 0.5**0.5))


def leaky_relu(x: Array) -> Array:
    """With a tenth of what is below 0."""
    return jnp.where(x >= 0, x, x * jnp.asarray(0.1, x.dtype))


def gelu_tanh(x: Array) -> Array:
    """With the hyperbolic tangent."""
    return jax.nn.gelu(x, approximate=True)


def pad(x: Array, value: float) -> Array:
    """A pixel around an image."""
    return jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=value)


def scaled(w: Weights, name: str, x: Array) -> Array:
    """Multiplied and shifted, in 32 bits."""
    return x.astype(jnp.float32) * w[f"{name}_scale"] + w[f"{name}_bias"]


def int8(x: Array) -> Array:
    """The nearest 8-bit integer; ties go to even ones."""
    return lax.clamp(jnp.float32(-128), jnp.round(x), jnp.float32(127)).astype(jnp.int8)


def conv_int8(w: Weights, name: str, x: Array, *, stride: int = 1) -> Array:
    """A convolution of 8-bit integers without padding; what is summed up has 32 bits."""
    sums = lax.conv_general_dilated(
        x, w[f"{name}_kernel"], (stride, stride), "VALID", dimension_numbers=IMAGES,
        preferred_element_type=jnp.int32,
    )  # fmt: skip
    return int8(scaled(w, name, sums))


def depthwise_int8(w: Weights, name: str, x: Array, *, stride: int, around: int) -> Array:
    """A depthwise convolution of 8-bit integers, with `around` around its image.

    It is written on 32-bit integers, and its kernel gets its fourth dimension after it is widened: IREE 3.13
    takes no other depthwise convolution of integers (docs/upstream/depthwise_integers.md).
    """
    wide, kernel = pad(x.astype(jnp.int32), around), w[f"{name}_kernel"].astype(jnp.int32)
    kernel = kernel.reshape(*kernel.shape[:2], 1, -1)
    sums = lax.conv_general_dilated(
        wide, kernel, (stride, stride), "VALID", dimension_numbers=IMAGES,
        feature_group_count=x.shape[-1],
    )  # fmt: skip
    return int8(scaled(w, name, sums))


def add_int8(w: Weights, name: str, x: Array, y: Array) -> Array:
    """The sum of two images of 8-bit integers."""
    return int8(x.astype(jnp.float32) * w[f"{name}_kept_scale"] + scaled(w, f"{name}_sum", y))


def mean_pool_int8(w: Weights, name: str, x: Array) -> Array:
    """The mean of each channel of an image of 8-bit integers, as a row."""
    return int8(scaled(w, name, jnp.sum(x.astype(jnp.int32), axis=(1, 2))))


def linear_int8(w: Weights, name: str, x: Array) -> Array:
    """A dense layer of 8-bit integers on the last dimension."""
    sums = jnp.matmul(x, w[f"{name}_kernel"], preferred_element_type=jnp.int32)
    return int8(scaled(w, name, sums))


relu = jax.nn.relu
hard_swish = jax.nn.hard_swish
silu = jax.nn.silu
sigmoid = jax.nn.sigmoid
softplus = jax.nn.softplus
