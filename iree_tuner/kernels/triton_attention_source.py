"""Source in Triton: fused attention.

Imported only where Triton is installed; `triton_attention` compiles it ahead of time.
"""

# Triton's functions have untyped values, and parameters in capitals are compile-time constants.
# ruff: noqa: N803, ANN001, ANN201, ANN202
# pyright: basic, reportMissingImports=false

import triton
import triton.language as tl

from iree_tuner.kernels.triton_source import cluster_waits, multiplied, offset


@triton.jit
def _loaded(pointers, within, WHOLE: tl.constexpr):
    """Load values, with 0 for values outside of the mask `within`. `WHOLE`: none are outside."""
    if WHOLE:
        return tl.load(pointers)
    else:  # noqa: RET505 (Triton has no code after a return)
        return tl.load(pointers, mask=within, other=0.0)


@triton.jit
def _joined(early, late, key, step, late_step, within, EARLIER: tl.constexpr, K2: tl.constexpr):
    """Load keys or values with these numbers from where they are, with 0 outside of the mask `within`."""
    found = tl.load(early + key * step, mask=within & (key < EARLIER), other=0.0)
    more = tl.load(late + (key - EARLIER) * late_step, mask=within & (key >= EARLIER) & (key < K2), other=0.0)
    return tl.where(key < EARLIER, found, more)


@triton.jit
def _behind_border(
    acc, total, largest, x, early, late, early_values, late_values, more, rows, first, end, N: tl.constexpr,
    K1: tl.constexpr, K2: tl.constexpr, IN_K: tl.constexpr, IN_K_LATER: tl.constexpr, IN_V: tl.constexpr,
    IN_V_LATER: tl.constexpr, AFTER: tl.constexpr, BEFORE: tl.constexpr, SCALE: tl.constexpr,
    CAP: tl.constexpr, BK: tl.constexpr, WIDTH: tl.constexpr, WIDTH_V: tl.constexpr, EARLIER: tl.constexpr,
    ADDED: tl.constexpr,
):  # fmt: skip
    """Add the blocks of keys from `first` on, some of which are later ones; as `attention` does."""
    keys, depth, columns = tl.arange(0, BK), tl.arange(0, WIDTH), tl.arange(0, WIDTH_V)
    late += depth[:, None] * IN_K_LATER[1]
    late_values += columns[None, :] * IN_V_LATER[1]
    for start in tl.range(first, end, BK, num_stages=1):  # a few blocks, with less memory
        key, within = keys[None, :] + start, (depth < K1)[:, None]
        y = _joined(early, late, key, IN_K[0], IN_K_LATER[0], within, EARLIER, K2)
        scores = multiplied(x, y, tl.zeros((x.shape[0], BK), tl.float32)) * SCALE
        powers, shrink, total, largest = _weighed(
            scores, total, largest, more, rows, start, K2, AFTER, BEFORE, CAP, BK, ADDED
        )
        key, within = keys[:, None] + start, columns[None, :] < N
        z = _joined(early_values, late_values, key, IN_V[0], IN_V_LATER[0], within, EARLIER, K2)
        acc = multiplied(powers.to(z.dtype), z, acc * shrink[:, None])
    return acc, total, largest


@triton.jit
def attention(
    q, k, v, k_later, v_later, x0, x1, x2, x3, out, parts, BATCH: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, K1: tl.constexpr, K2: tl.constexpr, Q: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    K_LATER: tl.constexpr, V_LATER: tl.constexpr, OUT: tl.constexpr, IN_Q: tl.constexpr, IN_K: tl.constexpr,
    IN_V: tl.constexpr, IN_K_LATER: tl.constexpr, IN_V_LATER: tl.constexpr, IN_OUT: tl.constexpr,
    AFTER: tl.constexpr, BEFORE: tl.constexpr, SCALE: tl.constexpr, CAP: tl.constexpr, BM: tl.constexpr,
    BK: tl.constexpr, WIDTH: tl.constexpr, WIDTH_V: tl.constexpr, SPLITS: tl.constexpr, CLUSTER: tl.constexpr,
    EARLIER: tl.constexpr, SOURCES: tl.constexpr, STARTS: tl.constexpr, ADDED: tl.constexpr = None,
):  # fmt: skip
    """Compute a tile of queries of a head in a workgroup (FlashAttention-2, Dao 2023).

    With several `SPLITS`, each workgroup of a cluster writes the result of a part of the keys to `parts`, and
    the last one combines them. `Q` etc. are strides of the batch's loops, `IN_Q` etc. of rows and columns. A
    query sees `AFTER` keys after its own and `BEFORE` before it. `CAP` is the scores' soft cap, and `ADDED`
    computes a summand from `x0` etc. Keys from `EARLIER` on are in `k_later` etc. `SOURCES` are the first
    parameters of equal arrays, from `STARTS`.
    """
    k, v = (q, k)[SOURCES[1]], (q, k, v)[SOURCES[2]]
    late, late_values = (q, k, v, k_later)[SOURCES[3]], (q, k, v, k_later, v_later)[SOURCES[4]]
    head, tile, rank = tl.program_id(1), tl.program_id(0) // SPLITS, tl.program_id(0) % SPLITS
    q, k, v = q + STARTS[0], k + STARTS[1], v + STARTS[2]
    part: tl.constexpr = (K2 + SPLITS * BK - 1) // (SPLITS * BK) * BK
    end = K2 if SPLITS == 1 else min(K2, rank * part + part)
    if AFTER is not None:  # longest tiles first
        tile = tl.num_programs(0) - 1 - tile
        end = min(K2, (tile + 1) * BM + AFTER)
    first = rank * part if BEFORE is None else max(0, (tile * BM - BEFORE) // BK * BK)
    rows, keys, columns = tile * BM + tl.arange(0, BM), tl.arange(0, BK), tl.arange(0, WIDTH_V)
    depth, more = tl.arange(0, WIDTH), (head, tile * BM, x0, x1, x2, x3)
    left = q + offset(head, BATCH, Q) + rows[:, None] * IN_Q[0] + depth[None, :] * IN_Q[1]
    right = k + offset(head, BATCH, K) + depth[:, None] * IN_K[1]
    values = v + offset(head, BATCH, V) + columns[None, :] * IN_V[1]
    x = tl.load(left, mask=(rows[:, None] < M) & (depth[None, :] < K1), other=0.0)
    acc, total = tl.zeros((BM, WIDTH_V), tl.float32), tl.zeros((BM,), tl.float32)
    largest = tl.full((BM,), -1e38, tl.float32)  # finite, so that hidden scores have powers of 0
    whole: tl.constexpr = K2 if EARLIER == K2 else EARLIER // BK * BK  # blocks of earlier keys only
    right_now = right + (first + keys[None, :]) * IN_K[0]
    values_now = values + (first + keys[:, None]) * IN_V[0]
    for start in range(first, min(end, whole), BK):
        here = (keys[None, :] + start < whole) & (depth < K1)[:, None]
        y = _loaded(right_now, here, whole % BK == 0 and K1 == WIDTH)
        scores = multiplied(x, y, tl.zeros((x.shape[0], BK), tl.float32)) * SCALE
        powers, shrink, total, largest = _weighed(
            scores, total, largest, more, rows, start, whole, AFTER, BEFORE, CAP, BK, ADDED
        )
        here = (keys[:, None] + start < whole) & (columns[None, :] < N)
        z = _loaded(values_now, here, whole % BK == 0 and N == WIDTH_V)
        acc = multiplied(powers.to(z.dtype), z, acc * shrink[:, None])
        right_now, values_now = right_now + BK * IN_K[0], values_now + BK * IN_V[0]
    if EARLIER < K2:
        acc, total, largest = _behind_border(
            acc, total, largest, x, right, late + STARTS[3] + offset(head, BATCH, K_LATER), values,
            late_values + STARTS[4] + offset(head, BATCH, V_LATER), more, rows, max(first, whole), end, N, K1,
            K2, IN_K, IN_K_LATER, IN_V, IN_V_LATER, AFTER, BEFORE, SCALE, CAP, BK, WIDTH, WIDTH_V, EARLIER,
            ADDED,
        )  # fmt: skip
    out, number = out + offset(head, BATCH, OUT), head * (tl.num_programs(0) // SPLITS) + tile
    _write(acc, largest, total, out, parts, number, tile, rank, M, N, IN_OUT, BM, WIDTH_V, SPLITS, CLUSTER)


@triton.jit
def _weighed(
    scores, total, largest, more, rows, start, K2: tl.constexpr, AFTER: tl.constexpr, BEFORE: tl.constexpr,
    CAP: tl.constexpr, BK: tl.constexpr, ADDED: tl.constexpr,
):  # fmt: skip
    """The powers of a block's scores, the factor for earlier blocks, the sum of powers, the largest score.

    Scores get a soft cap and a summand, and those of keys that a query does not see are lowered.
    """
    keys = tl.arange(0, BK) + start
    if CAP is not None:  # `CAP * tanh`, of half of a score
        scores = CAP - 2 * CAP / (1 + tl.math.exp2(scores))
    if K2 % BK != 0:
        scores = tl.where(keys[None, :] < K2, scores, float("-inf"))
    if AFTER is not None:
        scores = tl.where(keys[None, :] <= rows[:, None] + AFTER, scores, float("-inf"))
    if BEFORE is not None:
        scores = tl.where(keys[None, :] + BEFORE >= rows[:, None], scores, float("-inf"))
    if ADDED is not None:
        scores += _in_powers_of_two(ADDED(more, rows[:, None], keys[None, :], start).to(tl.float32))
    now = tl.maximum(largest, tl.max(scores, 1))
    powers, shrink = tl.math.exp2(scores - now[:, None]), tl.math.exp2(largest - now)
    return powers, shrink, total * shrink + tl.sum(powers, 1), now


@triton.jit
def _write(
    acc, largest, total, out, parts, number, tile, rank, M: tl.constexpr, N: tl.constexpr,
    STEPS: tl.constexpr, BM: tl.constexpr, WIDTH_V: tl.constexpr, SPLITS: tl.constexpr, CLUSTER: tl.constexpr,
):  # fmt: skip
    """Write the result of a head's tile, by the last workgroup of a cluster if keys are split.

    `number` is that of the tile among those of all heads.
    """
    rows, columns, used = tile * BM + tl.arange(0, BM), tl.arange(0, WIDTH_V), M - tile * BM
    place = out + rows[:, None] * STEPS[0] + columns[None, :] * STEPS[1]
    here = (rows[:, None] < M) & (columns[None, :] < N)
    parts += number * SPLITS * BM * (WIDTH_V + 2)
    if SPLITS == 1:
        tl.store(place, (acc / total[:, None]).to(place.dtype.element_ty), mask=here)
    else:
        _write_part(parts + rank * BM * (WIDTH_V + 2), acc, largest, total, used, BM, WIDTH_V)
        count = cluster_waits() if CLUSTER else SPLITS
        if rank == SPLITS - 1:
            found = _of_parts(parts, count, used, BM, WIDTH_V, SPLITS)
            tl.store(place, found.to(place.dtype.element_ty), mask=here)


@triton.jit
def _in_powers_of_two(added):
    """A summand of scores, in units of log(2). Finite values stay finite."""
    finite = tl.maximum(added * 1.4426950408889634, -1e38)
    return tl.where(added == float("-inf"), added, finite)


@triton.jit
def _write_part(part, acc, largest, total, used, BM: tl.constexpr, WIDTH_V: tl.constexpr):
    """Write the partial result of some keys: weighted sums, largest scores, and sums of powers."""
    row, columns = tl.arange(0, BM), tl.arange(0, WIDTH_V)
    tl.store(part + row[:, None] * WIDTH_V + columns[None, :], acc, mask=(row < used)[:, None])
    tl.store(part + BM * WIDTH_V + row, largest, mask=row < used)
    tl.store(part + BM * (WIDTH_V + 1) + row, total, mask=row < used)


@triton.jit
def _of_parts(parts, count, used, BM: tl.constexpr, WIDTH_V: tl.constexpr, SPLITS: tl.constexpr):
    """Combine the first rows of the partial results; NaN if the cluster did not have `SPLITS` workgroups."""
    row, columns = tl.arange(0, BM), tl.arange(0, WIDTH_V)
    largest, total = tl.full((BM,), float("-inf"), tl.float32), tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, WIDTH_V), tl.float32)
    for part in tl.static_range(SPLITS):  # unrolled, so that no part waits for the one before it
        own = parts + part * (BM * (WIDTH_V + 2))
        other = tl.load(own + BM * WIDTH_V + row, mask=row < used, other=0.0)
        sums = tl.load(own + row[:, None] * WIDTH_V + columns[None, :], mask=(row < used)[:, None], other=0.0)
        powers = tl.load(own + BM * (WIDTH_V + 1) + row, mask=row < used, other=1.0)
        now = tl.maximum(largest, other)
        shrink, weight = tl.math.exp2(largest - now), tl.math.exp2(other - now)
        total = total * shrink + powers * weight
        acc = acc * shrink[:, None] + sums * weight[:, None]
        largest = now
    return tl.where(count == SPLITS, acc / total[:, None], float("nan"))
