"""The source of the attention kernel, run by Triton's interpreter, beside the definition."""

import math

import numpy as np
from interpreted_tensors import Tensor

from iree_tuner.kernels import triton_source

for m, keys, shared, after in ((100, 77, 1, None), (64, 128, 1, None), (100, 100, 2, 0), (70, 96, 4, 26)):
    batch, heads, width = 2, 4, 64
    rng = np.random.default_rng(0)
    q = rng.standard_normal((batch, m, heads, width)).astype(np.float16)
    k, v = (rng.standard_normal((batch, keys, heads // shared, width)).astype(np.float16) for _ in range(2))
    out = np.full(q.shape, np.nan, np.float16)
    row, other = heads * width, heads // shared * width
    query, key = (m * row, shared * width, width), (keys * other, width, 0)  # 0: heads that share one of keys
    strides = {"Q": query, "K": key, "V": key, "OUT": query}
    inner = {"IN_Q": (row, 1), "IN_K": (other, 1), "IN_V": (other, 1), "IN_OUT": (row, 1)}
    triton_source.attention[(math.ceil(m / 64), batch * heads, 1)](
        *map(Tensor, (q, k, v, out)), BATCH=(batch, heads // shared, shared), M=m, N=width, K1=width, K2=keys,
        **strides, **inner, AFTER=after, SCALE=0.125 * math.log2(math.e), BM=64, BK=32, WIDTH=64, WIDTH_V=64,
    )  # fmt: skip
    k, v = (np.repeat(each.astype(float), shared, axis=2) for each in (k, v))
    scores = 0.125 * np.einsum("bmhd,bkhd->bhmk", q.astype(float), k)
    if after is not None:
        scores[:, :, np.arange(keys)[None] > np.arange(m)[:, None] + after] = -np.inf
    weights = np.exp(scores)
    wanted = np.einsum("bhmk,bkhd->bmhd", weights / weights.sum(-1, keepdims=True), v)
    assert np.abs(out - wanted).max() < 1e-3
