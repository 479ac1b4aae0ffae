"""Source in Triton: fused attention.

Imported only where Triton is installed; `triton_attention` compiles it ahead of time.
"""

# Triton's functions have untyped values, and parameters in capitals are compile-time constants.
# ruff: noqa: N803, ANN001, ANN201, ANN202
# pyright: basic, reportMissingImports=false

import triton
import triton.language as tl

from iree_tuner.kernels.triton_source import cluster_waits, offset


@triton.jit
def _loaded(pointers, within, WHOLE: tl.constexpr):
    """Load values, with 0 for values outside of the mask `within`. `WHOLE`: none are outside."""
    if WHOLE:
        return tl.load(pointers)
    else:  # noqa: RET505 (Triton has no code after a return)
        return tl.load(pointers, mask=within, other=0.0)


@triton.jit
def attention(
    q, k, v, bias, out, parts, BATCH: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K1: tl.constexpr,
    K2: tl.constexpr, Q: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BIAS: tl.constexpr,
    OUT: tl.constexpr, IN_Q: tl.constexpr, IN_K: tl.constexpr, IN_V: tl.constexpr, IN_BIAS: tl.constexpr,
    IN_OUT: tl.constexpr, AFTER: tl.constexpr, SCALE: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr,
    WIDTH: tl.constexpr, WIDTH_V: tl.constexpr, SPLITS: tl.constexpr, CLUSTER: tl.constexpr,
    BIASED: tl.constexpr, MASKED: tl.constexpr, SOURCES: tl.constexpr, STARTS: tl.constexpr,
):  # fmt: skip
    """Compute a tile of queries of a head in a workgroup; larger scores rescale the softmax so far.

    With several `SPLITS`, each workgroup of a cluster writes the result of a part of the keys to `parts`, and
    the last one combines them; `CLUSTER` is false in interpreters. `Q` etc. are strides of the batch's loops,
    `IN_Q` etc. of rows and columns. A query sees `AFTER` keys after its own, or all (FlashAttention-2, Dao
    2023). `SOURCES` are the first of `q`, `k` and `v` with the same array, `STARTS` where each begins in it.
    """
    q, k, v = q + STARTS[0], (q, k)[SOURCES[1]] + STARTS[1], (q, k, v)[SOURCES[2]] + STARTS[2]
    head, tile, rank = tl.program_id(1), tl.program_id(0) // SPLITS, tl.program_id(0) % SPLITS
    part: tl.constexpr = (K2 + SPLITS * BK - 1) // (SPLITS * BK) * BK
    first = rank * part
    end = K2 if SPLITS == 1 else min(K2, first + part)
    if AFTER is not None:
        tile = tl.num_programs(0) - 1 - tile  # longest tiles first
        end = min(K2, (tile + 1) * BM + AFTER)
    rows, keys = tile * BM + tl.arange(0, BM), tl.arange(0, BK)
    depth, columns = tl.arange(0, WIDTH), tl.arange(0, WIDTH_V)
    left = q + offset(head, BATCH, Q) + rows[:, None] * IN_Q[0] + depth[None, :] * IN_Q[1]
    right = k + offset(head, BATCH, K) + (first + keys[None, :]) * IN_K[0] + depth[:, None] * IN_K[1]
    values = v + offset(head, BATCH, V) + (first + keys[:, None]) * IN_V[0] + columns[None, :] * IN_V[1]
    x = tl.load(left, mask=(rows[:, None] < M) & (depth[None, :] < K1), other=0.0)
    lowest: tl.constexpr = -1e38 if BIASED else float("-inf")  # a bias may make all scores -inf
    largest, total = tl.full((BM,), lowest, tl.float32), tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, WIDTH_V), tl.float32)
    for start in range(first, end, BK):
        y = _loaded(right, (keys[None, :] + start < K2) & (depth < K1)[:, None], K2 % BK == 0 and K1 == WIDTH)
        scores = tl.dot(x, y) * SCALE
        if K2 % BK != 0:
            scores = tl.where(keys[None, :] + start < K2, scores, float("-inf"))
        if AFTER is not None:
            scores = tl.where(keys[None, :] + start <= rows[:, None] + AFTER, scores, float("-inf"))
        if BIASED:
            own = bias + STARTS[3] + offset(head, BATCH, BIAS)
            scores = _biased(scores, own, rows[:, None], keys[None, :] + start, M, K2, IN_BIAS, MASKED)
        now = tl.maximum(largest, tl.max(scores, 1))
        powers, shrink = tl.math.exp2(scores - now[:, None]), tl.math.exp2(largest - now)
        total = total * shrink + tl.sum(powers, 1)
        within = (keys[:, None] + start < K2) & (columns[None, :] < N)
        z = _loaded(values, within, K2 % BK == 0 and N == WIDTH_V)
        acc = tl.dot(powers.to(z.dtype), z, acc * shrink[:, None])
        largest, right, values = now, right + BK * IN_K[0], values + BK * IN_V[0]
    place = out + offset(head, BATCH, OUT) + rows[:, None] * IN_OUT[0] + columns[None, :] * IN_OUT[1]
    here = (rows[:, None] < M) & (columns[None, :] < N)
    if SPLITS == 1:
        tl.store(place, (acc / total[:, None]).to(out.dtype.element_ty), mask=here)
    else:
        parts += (head * (tl.num_programs(0) // SPLITS) + tile) * SPLITS * BM * (WIDTH_V + 2)
        _write_part(parts + rank * BM * (WIDTH_V + 2), acc, largest, total, BM, WIDTH_V)
        count = cluster_waits() if CLUSTER else SPLITS
        if rank == SPLITS - 1:
            found = _of_parts(parts, count, BM, WIDTH_V, SPLITS)
            tl.store(place, found.to(out.dtype.element_ty), mask=here)


@triton.jit
def _biased(
    scores, bias, rows, keys, M: tl.constexpr, K2: tl.constexpr, STEPS: tl.constexpr, MASKED: tl.constexpr
):
    """Add a bias or apply a mask to scores, which are in units of log(2). Finite values stay finite."""
    pointers, within = bias + rows * STEPS[0] + keys * STEPS[1], (rows < M) & (keys < K2)
    if MASKED:
        seen = tl.load(pointers, mask=within, other=1) != 0
        return tl.where(seen, scores, -1e38)
    else:  # noqa: RET505 (as above)
        added = tl.load(pointers, mask=within, other=0.0).to(tl.float32)
        finite = tl.maximum(added * 1.4426950408889634, -1e38)
        return scores + tl.where(added == float("-inf"), added, finite)


@triton.jit
def _write_part(part, acc, largest, total, BM: tl.constexpr, WIDTH_V: tl.constexpr):
    """Write the partial result of some keys: weighted sums, largest scores, and sums of powers."""
    row, columns = tl.arange(0, BM), tl.arange(0, WIDTH_V)
    tl.store(part + row[:, None] * WIDTH_V + columns[None, :], acc)
    tl.store(part + BM * WIDTH_V + row, largest)
    tl.store(part + BM * (WIDTH_V + 1) + row, total)


@triton.jit
def _of_parts(parts, count, BM: tl.constexpr, WIDTH_V: tl.constexpr, SPLITS: tl.constexpr):
    """Combine the partial results; NaN if the cluster did not have `SPLITS` workgroups."""
    row, columns = tl.arange(0, BM), tl.arange(0, WIDTH_V)
    largest, total = tl.full((BM,), float("-inf"), tl.float32), tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, WIDTH_V), tl.float32)
    for _ in range(SPLITS):
        other = tl.load(parts + BM * WIDTH_V + row)
        now = tl.maximum(largest, other)
        shrink, weight = tl.math.exp2(largest - now), tl.math.exp2(other - now)
        total = total * shrink + tl.load(parts + BM * (WIDTH_V + 1) + row) * weight
        sums = tl.load(parts + row[:, None] * WIDTH_V + columns[None, :])
        acc = acc * shrink[:, None] + sums * weight[:, None]
        largest = now
        parts += BM * (WIDTH_V + 2)
    return tl.where(count == SPLITS, acc / total[:, None], float("nan"))
