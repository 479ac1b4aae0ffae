"""The source of the attention kernel, run by Triton's interpreter, beside the definition."""

import math

import numpy as np
from interpreted_tensors import Tensor

from iree_tuner.kernels import triton_attention_source
from iree_tuner.kernels.nest import Access
from iree_tuner.kernels.triton_scores import summand_of
from iree_tuner.kernels.triton_tiles import function_of_tile

CASES = (
    (100, 77, 1, None, 1, "", 0), (64, 128, 1, None, 1, "", 0), (100, 100, 2, 0, 1, "", 0),
    (70, 96, 4, 26, 1, "", 0), (100, 77, 1, None, 2, "", 0), (4, 300, 4, None, 4, "", 0),
    (1, 64, 1, None, 8, "", 0), (100, 77, 1, None, 1, "bias", 0), (70, 96, 2, None, 1, "row", 0),
    (9, 200, 4, None, 2, "mask", 0), (1, 300, 4, None, 4, "", 1), (70, 100, 1, 30, 1, "", 70),
    (9, 96, 2, None, 2, "mask", 32), (5, 41, 1, None, 1, "bias", 40), (3, 257, 2, None, 8, "", 7),
    (70, 130, 1, 45, 1, "bias", 0), (70, 100, 1, 0, 1, "capped", 70), (5, 300, 2, None, 4, "capped", 0),
)  # fmt: skip
"""Queries, keys, heads to one of keys, keys after its own that a query sees, parts of keys, a bias or a soft
cap of scores, and how many keys are in other arrays."""
WINDOWS = (
    (150, 150, 2, 0, 40), (150, 150, 1, 9, 9), (100, 130, 1, None, 20), (100, 164, 2, 64, -30),
)  # fmt: skip
"""Queries, keys, heads to one of keys, keys after and before its own that a query sees."""
CAP, KINDS = 0.5, {"float16": "f16", "float32": "f32", "bool": "i1"}


def biases(kind, batch, heads, m, keys):
    """A bias or a mask, its strides of batch, heads, rows and columns, and what it adds to scores."""
    if kind == "bias":  # of heads, queries and keys; the first keys are not seen by some
        bias = rng.standard_normal((heads, m, keys)).astype(np.float16)
        bias[:, : m // 2, :40] = -np.inf
        return bias, (0, m * keys, keys, 1), bias[None].astype(float)
    if kind == "row":  # of a batch's keys; the second batch sees none
        bias = np.zeros((batch, keys), np.float32)
        bias[0, 40:] = bias[1] = np.finfo(np.float32).min
        return bias, (keys, 0, 0, 1), np.maximum(bias, -1e30)[:, None, None].astype(float)
    if kind == "mask":
        mask = rng.random((batch, keys)) < 0.5
        return mask, (keys, 0, 0, 1), np.where(mask, 0.0, -1e30)[:, None, None]
    return np.zeros(1, np.float32), (0, 0, 0, 0), 0.0


every = [(*case, None) for case in CASES]
every += [(m, keys, shared, after, 1, "", 0, before) for m, keys, shared, after, before in WINDOWS]
every += [(150, 150, 1, 0, 1, "capped", 0, 30), (90, 100, 1, 10, 1, "", 30, 45)]
for number, (m, keys, shared, after, splits, kind, late, before) in enumerate(every):
    element, most = (np.float32, 2e-5) if number % 3 == 2 else (np.float16, 2e-3)
    batch, heads, width = 2, 4, 64
    rng = np.random.default_rng(0)
    q = rng.standard_normal((batch, m, heads, width)).astype(element)
    k, v = (rng.standard_normal((batch, keys, heads // shared, width)).astype(element) for _ in range(2))
    out = np.full(q.shape, np.nan, element)
    bias, steps, added = biases(kind, batch, heads, m, keys)
    tiles = math.ceil(m / 64) * batch * heads
    parts = np.full(tiles * splits * 64 * (64 + 2), np.nan, np.float32)
    row, other = heads * width, heads // shared * width
    query = (m * row, shared * width, width)
    strides = {"Q": query, "OUT": query}
    read = Access(0, 0, (steps[0], shared * steps[1], steps[1], *steps[2:]))
    summand = summand_of(read, KINDS[bias.dtype.name], (batch, heads // shared, shared, m, keys))
    more = None if kind in ("", "capped") else function_of_tile(summand, m, keys, 64, 32)
    inner = {f"IN_{name}": (other if name in "KV" else row, 1) for name in ("Q", "K", "V", "OUT")}
    early, own = keys - late, other // width  # later keys have heads first
    earlier = [np.ascontiguousarray(each[:, :early]) for each in (k, v)]
    later = [np.ascontiguousarray(each[:, early:].transpose(0, 2, 1, 3)) for each in (k, v)]
    key, last = (early * other, width, 0), (own * late * width, late * width, 0)  # heads share keys
    strides |= {"K": key, "V": key, "K_LATER": last, "V_LATER": last}
    inner |= dict.fromkeys(("IN_K_LATER", "IN_V_LATER"), (width, 1))
    triton_attention_source.attention[(math.ceil(m / 64) * splits, batch * heads, 1)](
        *map(Tensor, (q, *earlier, *later, *[bias] * 4, out, parts)),
        BATCH=(batch, heads // shared, shared), M=m, N=width, K1=width, K2=keys, **strides, **inner,
        AFTER=after, BEFORE=before,
        SCALE=(0.25 / CAP if kind == "capped" else 0.125) * math.log2(math.e),
        CAP=CAP * math.log2(math.e) if kind == "capped" else None, BM=64, BK=32, WIDTH=64, WIDTH_V=64,
        SPLITS=splits, CLUSTER=False, EARLIER=early, SOURCES=(0, 1, 2, 3, 4), STARTS=(0,) * 5, ADDED=more,
    )  # fmt: skip
    k, v = (np.repeat(each.astype(float), shared, axis=2) for each in (k, v))
    scores = 0.125 * np.einsum("bmhd,bkhd->bhmk", q.astype(float), k)
    scores = (CAP * np.tanh(scores / CAP) if kind == "capped" else scores) + added
    if after is not None:
        scores[:, :, np.arange(keys)[None] > np.arange(m)[:, None] + after] = -np.inf
    if before is not None:
        scores[:, :, np.arange(keys)[None] < np.arange(m)[:, None] - before] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = np.einsum("bhmk,bkhd->bmhd", weights / weights.sum(-1, keepdims=True), v)
    assert np.abs(out - wanted).max() < most, (m, keys, shared, after, splits, kind, late, before)

# Queries, keys and values are parts of one array, or only keys and values are, after a column that none has.
for sources in ((0, 0, 0), (0, 1, 1)):
    m, width = 70, 32
    whole = rng.standard_normal((m, 1 + 3 * width)).astype(np.float16)
    q = whole if sources[1] == 0 else rng.standard_normal((m, 1 + 3 * width)).astype(np.float16)
    out = np.full((m, width), np.nan, np.float16)
    given = [q, *(np.full(1, np.nan, np.float16) if source == 0 else whole for source in sources[1:])]
    none = np.zeros(1, np.float32)
    triton_attention_source.attention[(math.ceil(m / 64), 1, 1)](
        *map(Tensor, (*given, *[none] * 6, out, none)), BATCH=(1,), M=m, N=width, K1=width, K2=m,
        **dict.fromkeys(("Q", "K", "V", "OUT", "K_LATER", "V_LATER"), (0,)),
        **dict.fromkeys(("IN_K_LATER", "IN_V_LATER"), (0, 0)),
        **{f"IN_{name}": (1 + 3 * width, 1) for name in ("Q", "K", "V")}, IN_OUT=(width, 1), AFTER=None,
        BEFORE=None, CAP=None,
        SCALE=0.125 * math.log2(math.e), BM=64, BK=32, WIDTH=32, WIDTH_V=32, SPLITS=1, CLUSTER=False,
        EARLIER=m, SOURCES=(*sources, 3, 4), STARTS=(1, 1 + width, 1 + 2 * width, 0, 0),
    )  # fmt: skip
    parts = (whole if at else q for at in range(3))
    q, k, v = (each[:, 1 + at * width :][:, :width].astype(float) for at, each in enumerate(parts))
    weights = np.exp(0.125 * q @ k.T)
    wanted = weights / weights.sum(-1, keepdims=True) @ v
    assert np.abs(out - wanted).max() < 1e-3, sources
