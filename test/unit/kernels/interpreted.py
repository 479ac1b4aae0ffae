"""The source of the attention kernel, run by Triton's interpreter, beside the definition."""

import math
import os

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import triton.runtime.jit

from iree_tuner.kernels import triton_source


class Tensor:
    """As much of a tensor as the interpreter asks for."""

    def __init__(self, array):
        self.array = array

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def copy_(self, other):
        pass

    def new_empty(self, *_, **__):
        return Tensor(self.array)

    def set_(self, storage, *_):
        self.array = storage.array

    def storage_offset(self):
        return 0

    def size(self):
        return self.array.shape

    def stride(self):
        return self.array.strides


triton.runtime.jit.mangle_type = lambda *_, **__: "*fp16"

for m, keys in ((100, 77), (64, 128)):
    batch, heads, width = 2, 3, 64
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((batch, n, heads, width)).astype(np.float16) for n in (m, keys, keys))
    out = np.full(q.shape, np.nan, np.float16)
    row = heads * width
    query, other = (m * row, width), (keys * row, width)
    strides = {"Q": query, "K": other, "V": other, "OUT": query}
    inner = {f"IN_{name}": (row, 1) for name in strides}
    triton_source.attention[(math.ceil(m / 64), batch * heads, 1)](
        *map(Tensor, (q, k, v, out)), BATCH=(batch, heads), M=m, N=width, K1=width, K2=keys,
        **strides, **inner, SCALE=0.125 * math.log2(math.e), BM=64, BK=32, WIDTH=64, WIDTH_V=64,
    )  # fmt: skip
    scores = 0.125 * np.einsum("bmhd,bkhd->bhmk", q.astype(float), k.astype(float))
    weights = np.exp(scores)
    wanted = np.einsum("bhmk,bkhd->bmhd", weights / weights.sum(-1, keepdims=True), v.astype(float))
    assert np.abs(out - wanted).max() < 1e-3
