"""Layers in PyTorch: `torch.nn.functional` on tensors in its own order, channels before positions.

Each takes the model's weights and the name of the layer; `layers_jax` has the same in JAX.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (everybody's name for it)
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

from examples.models.weights import GROUP, Array

Weights = Mapping[str, Tensor]

_FEW_ROWS = 16


def from_numpy(name: str, value: Array) -> Tensor:
    """A weight in PyTorch's order: outputs before inputs, filters last."""
    if value.dtype.name == "bfloat16":
        tensor = torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(value)
    if name.endswith(("_bytes", "_pairs")) or (name.endswith("_scales") and value.ndim == 2):
        tensor = tensor.T
    if name.endswith("_kernel"):
        tensor = tensor.permute(value.ndim - 1, value.ndim - 2, *range(value.ndim - 2))
    if name.endswith("_enlarging"):
        tensor = tensor.permute(2, 3, 0, 1).flip(2, 3)
    return tensor.clone(memory_format=torch.contiguous_format)


def image_in(x: Tensor) -> Tensor:
    """From height, width, channels, as images are stored, to the library's own order.

    On a GPU, memory keeps its order (`channels_last`), as convolutions on tensor cores are fastest there.
    """
    x = x.permute(0, 3, 1, 2)
    return x if x.is_cuda else x.contiguous()


def image_out(x: Tensor) -> Tensor:
    """Back from the library's own order."""
    return x.permute(0, 2, 3, 1).contiguous()


def linear(w: Weights, name: str, x: Tensor) -> Tensor:
    """A dense layer on the last dimension."""
    return F.linear(x, w[f"{name}_kernel"], w[f"{name}_bias"])


def project(w: Weights, name: str, x: Tensor) -> Tensor:
    """A dense layer without bias."""
    if f"{name}_bytes" in w:
        return F.linear(x, w[f"{name}_bytes"].to(x.dtype)) * w[f"{name}_scales"]
    if f"{name}_tiles" in w and x.shape[0] <= _FEW_ROWS:
        return torch.ops.aten._weight_int4pack_mm(x, w[f"{name}_tiles"], GROUP, w[f"{name}_zeros"])
    if f"{name}_pairs" in w:
        pairs = w[f"{name}_pairs"]
        whole = torch.stack([pairs & 15, pairs >> 4 & 15], -1).reshape(len(pairs), -1, GROUP)
        kernel = (whole.to(x.dtype) - 8) * w[f"{name}_scales"][..., None]
        return F.linear(x, kernel.flatten(1))
    return F.linear(x, w[f"{name}_kernel"])


def with_tiles(module: torch.nn.Module) -> None:
    """Give a module on a GPU its weights of 4 bits as PyTorch's own kernel for few rows takes them."""
    for name, pairs in [*module.named_parameters()]:
        if name.endswith("_pairs"):
            scales, layer = (
                module.get_parameter(name.replace("_pairs", "_scales")),
                name.removesuffix("_pairs"),
            )
            tiles = torch.ops.aten._convert_weight_to_int4pack(
                (pairs << 4 | pairs >> 4 & 15).view(torch.uint8), 8
            )
            zeros = torch.stack([scales, torch.zeros_like(scales)], -1).transpose(0, 1).contiguous()
            for end, each in (("tiles", tiles), ("zeros", zeros)):
                module.register_parameter(f"{layer}_{end}", torch.nn.Parameter(each, requires_grad=False))


def conv(
    w: Weights, name: str, x: Tensor, *, stride: int = 1, groups: int = 1, inside: bool = False,
    bias: bool = True,
) -> Tensor:  # fmt: skip
    """A convolution that keeps the size, or halves it with `stride=2`.

    With `inside`, all of its window is inside of the image.
    """
    kernel = w[f"{name}_kernel"]
    around = 0 if inside else kernel.shape[-1] // 2
    return F.conv2d(x, kernel, w[f"{name}_bias"] if bias else None, stride, around, groups=groups)


def demodulation(w: Weights, name: str, by: Tensor) -> Tensor:
    """What gives sums of weighed channels a spread of 1 again: images by outputs."""
    squares = w[f"{name}_kernel"].float().square().sum((2, 3))
    return (by.float().square() @ squares.T + 1e-8).rsqrt().to(by.dtype)


def depthwise(w: Weights, name: str, x: Tensor, *, stride: int = 1) -> Tensor:
    """A depthwise convolution that keeps the size, or divides it."""
    return conv(w, name, x, groups=x.shape[1], stride=stride)


def unconv(w: Weights, name: str, x: Tensor) -> Tensor:
    """A transposed convolution to twice the size."""
    return F.conv_transpose2d(x, w[f"{name}_enlarging"], w[f"{name}_bias"], 2)


def conv_time(w: Weights, name: str, x: Tensor, *, dilation: int = 1) -> Tensor:
    """A convolution over the rows of each of a batch, which keeps their number."""
    kernel = w[f"{name}_kernel"]
    around = kernel.shape[-1] // 2 * dilation
    return F.conv1d(x.mT, kernel, w[f"{name}_bias"], padding=around, dilation=dilation).mT


def patches(w: Weights, name: str, x: Tensor) -> Tensor:
    """A convolution of windows that do not overlap."""
    kernel = w[f"{name}_kernel"]
    return F.conv2d(x, kernel, w[f"{name}_bias"], kernel.shape[-1])


def conv_rows(w: Weights, name: str, x: Tensor) -> Tensor:
    """A depthwise convolution over the rows of each of a batch, which keeps their number."""
    kernel = w[f"{name}_kernel"]
    return F.conv1d(x.mT, kernel, w[f"{name}_bias"], padding=kernel.shape[-1] // 2, groups=x.shape[-1]).mT


def conv_before(w: Weights, name: str, x: Tensor) -> Tensor:
    """A depthwise convolution over each row and those before it."""
    kernel = w[f"{name}_kernel"]
    around = kernel.shape[-1] - 1
    found = F.conv1d(x.mT, kernel, w[f"{name}_bias"], padding=around, groups=x.shape[-1])
    return found[..., : x.shape[-2]].mT


def layer_norm(w: Weights, name: str, x: Tensor) -> Tensor:
    """Over the last dimension."""
    return F.layer_norm(x, x.shape[-1:], w[f"{name}_scale"], w[f"{name}_bias"])


def plain_norm(x: Tensor) -> Tensor:
    """Over the last dimension, without scale and shift."""
    return F.layer_norm(x, x.shape[-1:])


def rms_norm(w: Weights, name: str, x: Tensor) -> Tensor:
    """Over the last dimension, without shift, in 32 bits."""
    return F.rms_norm(x, x.shape[-1:], w[f"{name}_scale"], 1e-5)


def group_norm(w: Weights, name: str, x: Tensor, groups: int = 8) -> Tensor:
    """Over the positions of an image, and the channels of a group."""
    return F.group_norm(x, groups, w[f"{name}_scale"], w[f"{name}_bias"])


def instance_norm(x: Tensor) -> Tensor:
    """Over the positions of each channel of an image."""
    return F.instance_norm(x)


def by_channel(w: Weights, name: str, x: Tensor) -> Tensor:
    """An image's channels, each multiplied and shifted."""
    return x * w[f"{name}_scale"][:, None, None] + w[f"{name}_bias"][:, None, None]


def unit_rows(x: Tensor) -> Tensor:
    """Rows of length 1."""
    return F.normalize(x.float(), dim=-1).to(x.dtype)


def embed(w: Weights, name: str, ids: Tensor) -> Tensor:
    """Rows of a table; ids are in range."""
    return F.embedding(ids, w[f"{name}_table"])


def unembed(w: Weights, name: str, x: Tensor) -> Tensor:
    """Products with the rows of a table."""
    return F.linear(x, w[f"{name}_table"])


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Every query over every key: heads by positions by width, perhaps of a batch."""
    if q.ndim == 3:  # fused kernels take batches only
        return attention(q[None], k[None], v[None])[0]
    return F.scaled_dot_product_attention(q, k, v)


def biased_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    """The same with something added to each score: heads by queries by keys."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def causal_attention(q: Tensor, k: Tensor, v: Tensor, cap: float | None = None) -> Tensor:
    """Every query over the keys up to its own; several heads of queries share one of keys.

    With `cap`, scores are softly kept within so much: compiled it is `flex_attention`, which only then is a
    kernel; eagerly it is written out.
    """
    if cap is None:
        return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, enable_gqa=True)[0]
    if torch.compiler.is_compiling():

        def capped(score: Tensor, b: Tensor, h: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG001
            return torch.where(query >= key, cap * torch.tanh(score / cap), -torch.inf)

        return flex_attention(q[None], k[None], v[None], score_mod=capped, enable_gqa=True)[0]  # type: ignore[return-value]
    k, v = (each.repeat_interleave(len(q) // len(each), 0) for each in (k, v))
    scores = cap * torch.tanh((q @ k.mT).float() * (q.shape[-1] ** -0.5 / cap))
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    return torch.softmax(scores.masked_fill(~seen, -torch.inf), -1).to(v.dtype) @ v


def masked_causal(q: Tensor, k: Tensor, v: Tensor, window: int | None = None) -> Tensor:
    """Every query over the keys up to its own, at most so many; perhaps of a batch, with shared keys.

    With `window`, it is `flex_attention` where it is compiled, and a mask otherwise.
    """
    if q.ndim == 3:
        return masked_causal(q[None], k[None], v[None], window)[0]
    shared = q.shape[1] > k.shape[1]
    if window is None:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=shared)
    if torch.compiler.is_compiling():

        def seen_only(score: Tensor, b: Tensor, h: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG001
            return torch.where((query >= key) & (query - key < window), score, -torch.inf)

        return flex_attention(q, k, v, score_mod=seen_only, enable_gqa=shared)  # type: ignore[return-value]
    places = torch.arange(q.shape[-2], device=q.device)
    behind = places[:, None] - places
    seen = (behind >= 0) & (behind < window)
    if shared:  # its kernels with a mask take no shared keys
        k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], 1) for each in (k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)


def alibi_attention(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor) -> Tensor:
    """Every query over the keys up to its own; scores fall with the distance, for each head by its slope.

    Compiled it is `flex_attention`, and eagerly a mask.
    """
    if torch.compiler.is_compiling():

        def seen(score: Tensor, b: Tensor, h: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG001
            return torch.where(query >= key, score - slopes[h] * (query - key), -torch.inf)

        return flex_attention(q[None], k[None], v[None], score_mod=seen)[0]  # type: ignore[return-value]
    places = torch.arange(q.shape[-2], device=q.device)
    behind = places[:, None] - places
    mask = (-slopes[:, None, None] * behind).masked_fill(behind < 0, -torch.inf).to(q.dtype)
    return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask)[0]


def placed_attention(w: Weights, q: Tensor, k: Tensor, v: Tensor, size: int) -> Tensor:
    """Every query over every key of a square image, with parts of scores for rows and for columns.

    Compiled it is `flex_attention`, and eagerly a mask, as in Segment Anything.
    """
    heads, tokens, each = q.shape
    places = q.reshape(heads, size, size, each)
    rows, columns = (w[f"{part}_table"].reshape(size, size, each) for part in ("rows", "columns"))
    by_row = torch.einsum("hrcd,rkd->hrck", places, rows).reshape(heads, tokens, size)
    by_column = torch.einsum("hrcd,ckd->hrck", places, columns).reshape(heads, tokens, size)
    if torch.compiler.is_compiling():

        def moved(score: Tensor, b: Tensor, h: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG001
            return score + by_row[h, query, key // size] + by_column[h, query, key % size]

        return flex_attention(q[None], k[None], v[None], score_mod=moved)[0]  # type: ignore[return-value]
    mask = (by_row[..., None] + by_column[..., None, :]).reshape(heads, tokens, tokens)
    return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask[None])[0]


def fewer_attention(w: Weights, q: Tensor, k: Tensor, v: Tensor, size: int, fewer: int) -> Tensor:
    """Every query of an image over the keys of a smaller one, with parts of scores for rows and for columns.

    Compiled it is `flex_attention`, and eagerly a mask.
    """
    places = q.unflatten(2, (size, size))
    rows, columns = (w[f"{part}_table"].reshape(size, fewer, -1) for part in ("rows", "columns"))
    by_row = torch.einsum("bhrcd,rkd->bhrck", places, rows)
    by_column = torch.einsum("bhrcd,ckd->bhrck", places, columns)
    if torch.compiler.is_compiling():
        rows_of, columns_of = by_row.flatten(2, 3), by_column.flatten(2, 3)

        def moved(score: Tensor, b: Tensor, h: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return score + rows_of[b, h, query, key // fewer] + columns_of[b, h, query, key % fewer]

        return flex_attention(q, k, v, score_mod=moved)  # type: ignore[return-value]
    mask = (by_row[..., None] + by_column[..., None, :]).flatten(4).flatten(2, 3)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def relu_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Linear attention with ReLU for batch by heads by positions by width."""
    q, k = F.relu(q), F.relu(k)
    found = (q @ (k.mT @ v)).float()
    weight = (q @ k.sum(2)[..., None]).float()
    return (found / (weight + 1e-3)).to(q.dtype)


def retained(w: Weights, q: Tensor, k: Tensor, v: Tensor, chunk: int) -> Tensor:
    """Keys that decay with their distance: heads by positions by width."""
    heads, tokens, _ = q.shape
    q, k, v = (each.reshape(heads, tokens // chunk, chunk, -1) for each in (q, k, v))
    own = ((q @ k.mT) * w["within"][:, None]).to(q.dtype) @ v
    states = (k * w["left"][:, None]).to(k.dtype).mT @ v
    before = (w["across"] @ states.flatten(2)).reshape(states.shape)
    far = (q @ before) * w["since"][:, None]
    return (own + far).to(q.dtype).reshape(heads, tokens, -1)


def pairs(one: Tensor, other: Tensor, height: int) -> Tensor:
    """Products of all positions of two images: images by positions by height by width."""
    return ((one * one.shape[-1] ** -0.5) @ other.mT).unflatten(-1, (height, -1))


def real_transform(w: Weights, x: Tensor) -> Tensor:
    """The real part of a Fourier transform of rows and columns, by matrices."""
    cosines = w["tokens_cosines"] @ (x @ w["width_cosines"])
    return cosines - w["tokens_sines"] @ (x @ w["width_sines"])


def frequencies(x: Tensor, count: int) -> Tensor:
    """Numbers, and sines and cosines of them at so many frequencies, in 32 bits."""
    wide = x.float()
    angles = wide[..., None, :] * (2.0 ** torch.arange(count, device=x.device))[:, None]
    angles = angles.flatten(-2)
    return torch.cat([wide, angles.sin(), angles.cos()], dim=-1).to(x.dtype)


def along_rays(colors: Tensor, lengths: Tensor) -> Tensor:
    """The color of each ray: of its samples, as far as those before let it through."""
    passed = (lengths - lengths.cumsum(-1)).exp()
    return ((passed * (1 - (-lengths).exp()))[..., None] * colors).sum(-2)


def gru(w: Weights, given: str, state: str, x: Tensor, before: Tensor) -> Tensor:
    """The next state of a gated recurrent unit, of the rows of `x`."""
    kernels, biases = ([w[f"{each}_{part}"] for each in (given, state)] for part in ("kernel", "bias"))
    return torch.gru_cell(x, before, *kernels, *biases)


def triangles(left: Tensor, right: Tensor) -> Tensor:
    """For each pair of rows the products of their columns, by channel."""
    return torch.einsum("ikc,jkc->ijc", left, right)


def nearest(query: Tensor, found: Tensor, lengths: Tensor) -> Tensor:
    """The sum over a query's words of the highest product with a document's words, of each document."""
    scores = (query @ found.mT).float()
    there = torch.arange(found.shape[1], device=found.device)[None, :] < lengths[:, None]
    return scores.masked_fill(~there[:, None, :], -torch.inf).amax(-1).sum(-1)


def step_attention(q: Tensor, k: Tensor, v: Tensor, position: Tensor | None = None) -> Tensor:
    """One query over all keys, or those up to its position; several heads of queries share one of keys."""
    seen = None if position is None else (torch.arange(k.shape[1], device=k.device) <= position)[None]
    return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=seen, enable_gqa=True)[0]


def up_to(q: Tensor, k: Tensor, v: Tensor, position: Tensor) -> Tensor:
    """One query of each head over the keys up to its position; of a batch."""
    seen = (torch.arange(k.shape[-2], device=k.device) <= position)[None]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)


def states_in_chunks(
    x: Tensor, steps: Tensor, decay: Tensor, written: Tensor, read: Tensor, chunk: int
) -> Tensor:
    """Mamba-2's state space, as in `layers_jax`."""
    batch, rows, heads, width = x.shape
    x = (x * steps[..., None].to(x.dtype)).reshape(batch, -1, chunk, heads, width)
    written, read = (each.reshape(batch, -1, chunk, each.shape[-1]) for each in (written, read))
    falls = (steps * decay).reshape(batch, -1, chunk, heads).permute(0, 3, 1, 2)
    fallen = falls.cumsum(-1)

    scores = (read @ written.mT)[:, None] * _between(falls).exp().to(x.dtype)
    values = x.permute(0, 3, 1, 2, 4)
    own = scores @ values

    left = (fallen[..., -1:] - fallen).exp().to(x.dtype)
    states = (values * left[..., None]).mT @ written[:, None]
    states = F.pad(states, (0, 0, 0, 0, 1, 0))
    across = _between(F.pad(fallen[..., -1], (1, 0))).exp().to(x.dtype)
    before = (across @ states.flatten(3))[:, :, :-1].unflatten(3, states.shape[3:])
    far = (read[:, None] @ before.mT) * fallen.exp()[..., None].to(x.dtype)
    return (own.float() + far.float()).permute(0, 2, 3, 1, 4).reshape(batch, rows, heads, width)


def _between(falls: Tensor) -> Tensor:
    """The sum of those after each row up to each other, and minus infinity above the diagonal."""
    fallen = falls.cumsum(-1)
    seen = torch.ones(2 * falls.shape[-1:], dtype=torch.bool, device=falls.device).tril()
    return (fallen[..., :, None] - fallen[..., None, :]).masked_fill(~seen, -torch.inf)


def two_highest(scores: Tensor) -> Tensor:
    """For each row the softmax of its two highest, and zeros elsewhere."""
    values, places = scores.float().topk(2)
    chosen = torch.zeros(scores.shape, device=scores.device).scatter(-1, places, values.softmax(-1))
    return chosen.to(scores.dtype)


def by_experts(w: Weights, name: str, x: Tensor) -> Tensor:
    """A dense layer of each expert: experts by tokens by width, of tokens that all or each of them have."""
    return x @ w[f"{name}_experts"]


def weighed(x: Tensor, chosen: Tensor) -> Tensor:
    """The sum over experts, by the weights of tokens."""
    return torch.einsum("etd,te->td", x, chosen)


def rotary(w: Weights, name: str, x: Tensor, position: Tensor | None = None) -> Tensor:
    """Heads by positions by width, each pair of halves turned by its position, or all by one position."""
    a, b = x.float().chunk(2, dim=-1)
    turns = w[f"{name}_turns"]
    cos, sin = turns if position is None else turns.index_select(1, position.reshape(1))
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(x.dtype)


def split(x: Tensor, parts: int) -> list[Tensor]:
    """The last dimension in equal parts."""
    return list(x.chunk(parts, dim=-1))


def heads_in(x: Tensor, heads: int) -> Tensor:
    """Positions by width to heads by positions by width of a head; perhaps of a batch."""
    return x.reshape(*x.shape[:-1], heads, -1).swapaxes(-3, -2)


def heads_out(x: Tensor) -> Tensor:
    """Back: positions by width."""
    return x.swapaxes(-3, -2).reshape(*x.shape[:-3], x.shape[-2], -1)


def append(x: Tensor, y: Tensor) -> Tensor:
    """More positions after those of each head."""
    return torch.cat([x, y], dim=1)


def write(cache: Tensor, block: int, x: Tensor, position: Tensor) -> Tensor:
    """A cache, blocks by heads by positions by width, with one row for each head of a block at a position."""
    written = cache.clone()
    written[block].index_copy_(1, position.reshape(1).long(), x)
    return written


def write_each(cache: Tensor, x: Tensor, position: Tensor) -> Tensor:
    """A cache, batch by heads by positions by width, with a row of each head at a position."""
    return cache.index_copy(2, position.reshape(1).long(), x)


def follow(x: Tensor, y: Tensor) -> Tensor:
    """More positions after those of each head; of a batch."""
    return torch.cat([x, y], dim=-2)


def turn(x: Tensor, *order: int) -> Tensor:
    """Its dimensions in another order."""
    return x.permute(order)


def widened(x: Tensor) -> Tensor:
    """In 32 bits."""
    return x.float()


def stack(parts: list[Tensor]) -> Tensor:
    """A new first dimension."""
    return torch.stack(parts)


def to_positions(x: Tensor) -> Tensor:
    """An image as positions by channels; several as a batch."""
    positions = x.flatten(2).mT
    return positions if len(x) > 1 else positions[0]


def to_image(x: Tensor, like: Tensor) -> Tensor:
    """Positions by channels as an image of the size of `like`."""
    return x.mT.reshape(like.shape)


def as_image(x: Tensor, height: int) -> Tensor:
    """Positions by channels of a batch as images of this height."""
    return x.mT.unflatten(-1, (height, -1))


def as_tokens(x: Tensor) -> Tensor:
    """Images as positions by channels."""
    return x.flatten(2).mT


def split_channels(x: Tensor, parts: int) -> list[Tensor]:
    """An image's channels in equal parts."""
    return list(x.chunk(parts, dim=1))


def in_turns(x: Tensor) -> Tensor:
    """The channels of both halves of an image in turns."""
    return x.unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)


def reflected(x: Tensor) -> Tensor:
    """A pixel around an image, as if its last ones were mirrors."""
    return F.pad(x, (1, 1, 1, 1), mode="reflect")


def join_channels(x: Tensor, y: Tensor) -> Tensor:
    """The channels of two images in one."""
    return torch.cat([x, y], dim=1)


def per_channel(x: Tensor) -> Tensor:
    """One row of channels, to be added to an image."""
    return x[:, :, None, None]


def max_pool(x: Tensor) -> Tensor:
    """Windows of 3x3 at every other position."""
    return F.max_pool2d(x, 3, stride=2, padding=1)


def half_pool(x: Tensor) -> Tensor:
    """The highest of each 2x2 windows."""
    return F.max_pool2d(x, 2)


def smooth(x: Tensor, times: int) -> Tensor:
    """An image of so many times the size, interpolated between pixels."""
    return F.interpolate(x, scale_factor=times, mode="bilinear")


def half_mean(x: Tensor) -> Tensor:
    """The mean of each 2x2 windows."""
    return F.avg_pool2d(x, 2)


def half_means(x: Tensor) -> Tensor:
    """The mean of each 2x2 of the last two dimensions."""
    return F.avg_pool2d(x, 2)


def highest(x: Tensor, axis: int) -> Tensor:
    """The highest along an axis, which goes."""
    return x.amax(axis)


def for_all(x: Tensor, axis: int, count: int) -> Tensor:
    """One position for so many."""
    return x.expand(*x.shape[:axis], count, *x.shape[axis + 1 :])


def mean_pool(x: Tensor) -> Tensor:
    """The mean of each channel, as a row."""
    return x.mean(dim=(2, 3))


def enlarge(x: Tensor) -> Tensor:
    """Each position twice in both directions."""
    return F.interpolate(x, scale_factor=2, mode="nearest")


def pixels(x: Tensor) -> Tensor:
    """An image of twice the size, each pixel's four from four channels that follow each other."""
    return F.pixel_shuffle(x, 2)


def join_width(x: Tensor, y: Tensor) -> Tensor:
    """The last dimensions of two in one."""
    return torch.cat([x, y], dim=-1)


def waves(x: Tensor, width: int) -> Tensor:
    """Sines and cosines of a number at many frequencies, as a row."""
    half = width // 2
    steps = torch.arange(half, dtype=torch.float32) * (-9.21034 / half)
    angles = x[:, None] * torch.exp(steps)[None]
    return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)


def as_type(x: Tensor, like: Tensor) -> Tensor:
    """Of the type of `like`."""
    return x.to(like.dtype)


relu = F.relu
hard_swish = F.hardswish
relu6 = F.relu6
leaky_relu = partial(F.leaky_relu, negative_slope=0.1)
silu = F.silu
gelu = F.gelu
gelu_tanh = partial(F.gelu, approximate="tanh")
sigmoid = torch.sigmoid
softplus = F.softplus
