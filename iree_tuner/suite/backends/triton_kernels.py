"""Kernels in Triton: products, attention, softmax, reductions and chains of functions, for all sizes.

Sizes and strides are compile-time constants. Steps after a product run before its result is stored:
`STEPS` names what is done, `SLOTS` which of three further tensors it takes (-1 for none), and `STRIDES` how
these lie: three numbers each, of batch, row and column, 0 where they are broadcast.
"""

# The language's functions take and give its own values, and names in capitals are compile-time constants, by
# which it chooses what it compiles: what follows a `return` in an `if` must stand in its `else`.
# ruff: noqa: N803, N806, ANN001, ANN201, ANN202, RET505
# pyright: basic, reportMissingImports=false

import triton
import triton.language as tl

_LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _wide(x):
    """Floats as f32, integers as i32."""
    if x.dtype.is_floating():
        return x.to(tl.float32)
    else:
        return x.to(tl.int32)


@triton.jit
def _tanh(x):
    return 1.0 - 2.0 / (tl.exp(2.0 * x) + 1.0)


@triton.jit
def _function(x, STEP: tl.constexpr):
    """Of one operand, or a rounding to a narrower type."""
    if STEP == "relu":
        return tl.where(x <= 0, 0, x)  # of a NaN, a NaN
    elif STEP == "gelu":
        return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    elif STEP == "gelu_tanh":
        return 0.5 * x * (1.0 + _tanh((x + 0.044715 * x * x * x) * 0.7978845608028654))
    elif STEP == "silu":
        return x / (1.0 + tl.exp(-x))
    elif STEP == "sigmoid":
        return 1.0 / (1.0 + tl.exp(-x))
    elif STEP == "tanh":
        return _tanh(x)
    elif STEP == "exp":
        return tl.exp(x)
    elif STEP == "sqrt":
        return tl.sqrt_rn(x)
    elif STEP == "rsqrt":
        return tl.rsqrt(x)
    elif STEP == "abs":
        return tl.abs(x)
    elif STEP == "negate":
        return -x
    elif STEP == "to_f16":
        return x.to(tl.float16).to(tl.float32)
    elif STEP == "to_bf16":
        return x.to(tl.bfloat16).to(tl.float32)
    else:
        tl.static_assert(STEP == "to_f32")
        return x.to(tl.float32)


@triton.jit
def _combined(x, y, STEP: tl.constexpr):
    """Of two operands; of those whose name ends with `_swapped` the chain is the second."""
    if STEP == "add":
        return x + y
    elif STEP == "subtract":
        return x - y
    elif STEP == "subtract_swapped":
        return y - x
    elif STEP == "multiply":
        return x * y
    elif STEP == "divide":
        return tl.div_rn(x, y)
    elif STEP == "divide_swapped":
        return tl.div_rn(y, x)
    elif STEP == "maximum":
        return tl.maximum(x, y)
    else:
        tl.static_assert(STEP == "minimum")
        return tl.minimum(x, y)


@triton.jit
def _stepped(
    x, e0, e1, e2, batch, rows, columns, inside,
    STEPS: tl.constexpr, SLOTS: tl.constexpr, STRIDES: tl.constexpr, NUMBER: tl.constexpr,
):  # fmt: skip
    """One step; a function of its own, as a constant can be given a name only once in one."""
    STEP: tl.constexpr = STEPS[NUMBER]
    SLOT: tl.constexpr = SLOTS[NUMBER]
    if SLOT == -1:
        return _function(x, STEP)
    else:
        lines = batch * STRIDES[3 * SLOT] + rows[:, None] * STRIDES[3 * SLOT + 1]
        places = lines + columns[None, :] * STRIDES[3 * SLOT + 2]
        if SLOT == 0:
            return _combined(x, _wide(tl.load(e0 + places, mask=inside)), STEP)
        elif SLOT == 1:
            return _combined(x, _wide(tl.load(e1 + places, mask=inside)), STEP)
        else:
            return _combined(x, _wide(tl.load(e2 + places, mask=inside)), STEP)


@triton.jit
def _finish(
    x, e0, e1, e2, batch, rows, columns, inside,
    STEPS: tl.constexpr, SLOTS: tl.constexpr, STRIDES: tl.constexpr,
):  # fmt: skip
    """The steps, in order."""
    for number in tl.static_range(len(STEPS)):
        x = _stepped(x, e0, e1, e2, batch, rows, columns, inside, STEPS, SLOTS, STRIDES, number)
    return x


@triton.jit
def gemm(
    a, b, e0, e1, e2, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, PRECISION: tl.constexpr, NARROW: tl.constexpr,
    STEPS: tl.constexpr, SLOTS: tl.constexpr, STRIDES: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """A program for each tile of each product. `A` and `B`: strides of batch, row and column."""
    tall: tl.constexpr = (M + BM - 1) // BM
    across: tl.constexpr = (N + BN - 1) // BN
    width: tl.constexpr = GROUP * across
    number = tl.program_id(0)
    group = number // width
    size = min(tall - group * GROUP, GROUP)  # groups of rows first, so that tiles share operands
    row, column = group * GROUP + (number % width) % size, (number % width) // size
    batch = tl.program_id(1).to(tl.int64)
    rows, columns = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    near = rows if M % BM == 0 else rows % M
    aside = columns if N % BN == 0 else columns % N
    left = a + batch * A[0] + near[:, None] * A[1] + depth[None, :] * A[2]
    right = b + batch * B[0] + depth[:, None] * B[1] + aside[None, :] * B[2]
    kind: tl.constexpr = tl.float32 if a.dtype.element_ty.is_floating() else tl.int32
    acc = tl.zeros((BM, BN), dtype=kind)
    for start in range(0, K, BK):
        if K % BK == 0:
            x, y = tl.load(left), tl.load(right)
        else:
            x = tl.load(left, mask=depth[None, :] < K - start, other=0.0)
            y = tl.load(right, mask=depth[:, None] < K - start, other=0.0)
        if NARROW:  # sums of f8 are held with few bits: they are added to others after each step
            acc = tl.dot(x, y, acc, max_num_imprecise_acc=BK, out_dtype=kind)
        else:
            acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=kind)
        left += BK * A[2]
        right += BK * B[1]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = _finish(acc, e0, e1, e2, batch, rows, columns, inside, STEPS, SLOTS, STRIDES)
    places = batch * (M * N) + rows[:, None] * N + columns[None, :]
    tl.store(out + places, x.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _attend(
    acc, total, largest, query, k, v, mask, rows, start, end,
    KEYS: tl.constexpr, OFFSET: tl.constexpr, K: tl.constexpr, V: tl.constexpr, MASK: tl.constexpr,
    SIZE: tl.constexpr, VALUES: tl.constexpr, SIZE_2: tl.constexpr, VALUES_2: tl.constexpr,
    SCALE: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr, EDGE: tl.constexpr,
    PRECISION: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The keys from `start` to `end`; with `EDGE`, some of them are not seen."""
    sizes, values = tl.arange(0, SIZE_2), tl.arange(0, VALUES_2)
    for first in range(start, end, BN):
        keys = first + tl.arange(0, BN)
        left = k + keys[None, :] * K[2] + sizes[:, None] * K[3]
        right = v + keys[:, None] * V[2] + values[None, :] * V[3]
        if EDGE or SIZE != SIZE_2 or VALUES != VALUES_2:
            key = tl.load(left, mask=(keys[None, :] < KEYS) & (sizes[:, None] < SIZE), other=0.0)
            value = tl.load(right, mask=(keys[:, None] < KEYS) & (values[None, :] < VALUES), other=0.0)
        else:
            key, value = tl.load(left), tl.load(right)
        scores = tl.dot(query, key, input_precision=PRECISION) * (SCALE * _LOG2_E)
        if MASKED:
            offsets = rows[:, None] * MASK[2] + keys[None, :] * MASK[3]
            added = tl.load(mask + offsets, mask=keys[None, :] < KEYS)
            scores += added.to(tl.float32) * _LOG2_E
        if EDGE:
            seen = keys[None, :] < KEYS
            if CAUSAL:
                seen = seen & (keys[None, :] <= rows[:, None] + OFFSET)
            scores = tl.where(seen, scores, float("-inf"))
        most = tl.maximum(largest, tl.max(scores, 1))
        origin = tl.where(most == float("-inf"), 0.0, most)  # of rows that have seen nothing yet
        weights = tl.exp2(scores - origin[:, None])
        shrink = tl.exp2(largest - origin)
        total = total * shrink + tl.sum(weights, 1)
        acc = tl.dot(weights.to(value.dtype), value, acc * shrink[:, None], input_precision=PRECISION)
        largest = most
    return acc, total, largest


@triton.jit
def flash(
    q, k, v, mask, out, QUERIES: tl.constexpr, KEYS: tl.constexpr, HEADS: tl.constexpr, SHARED: tl.constexpr,
    Q: tl.constexpr, K: tl.constexpr, V: tl.constexpr, MASK: tl.constexpr,
    SIZE: tl.constexpr, VALUES: tl.constexpr, SIZE_2: tl.constexpr, VALUES_2: tl.constexpr,
    SCALE: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """A program for some queries of each head (T. Dao, FlashAttention-2, 2023).

    `Q`, `K`, `V` and `MASK`: strides of batch, head, row and column. `SHARED`: heads for each key head.
    `SIZE_2`, `VALUES_2`: sizes of a head, rounded up to powers of two.
    """
    block = tl.num_programs(0) - 1 - tl.program_id(0)  # the ones that see the most keys first
    batch, head = (tl.program_id(1) // HEADS).to(tl.int64), tl.program_id(1) % HEADS
    rows, sizes = block * BM + tl.arange(0, BM), tl.arange(0, SIZE_2)
    values = tl.arange(0, VALUES_2)
    source = q + batch * Q[0] + head * Q[1] + rows[:, None] * Q[2] + sizes[None, :] * Q[3]
    query = tl.load(source, mask=(rows[:, None] < QUERIES) & (sizes[None, :] < SIZE), other=0.0)
    k += batch * K[0] + (head // SHARED) * K[1]
    v += batch * V[0] + (head // SHARED) * V[1]
    mask += batch * MASK[0] + head * MASK[1]
    offset: tl.constexpr = KEYS - QUERIES
    if CAUSAL:
        end = max(0, min(KEYS, (block + 1) * BM + offset))
        edge = max(0, min(KEYS, block * BM + offset + 1)) // BN * BN
    else:
        end = KEYS
        edge = KEYS // BN * BN
    acc = tl.zeros((BM, VALUES_2), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    largest = tl.full((BM,), float("-inf"), dtype=tl.float32)
    near = tl.minimum(rows, QUERIES - 1)  # of the mask, which has no other rows
    acc, total, largest = _attend(
        acc, total, largest, query, k, v, mask, near, 0, edge, KEYS, offset, K, V, MASK,
        SIZE, VALUES, SIZE_2, VALUES_2, SCALE, CAUSAL, MASKED, False, PRECISION, BN,
    )  # fmt: skip
    acc, total, largest = _attend(
        acc, total, largest, query, k, v, mask, near, edge, end, KEYS, offset, K, V, MASK,
        SIZE, VALUES, SIZE_2, VALUES_2, SCALE, CAUSAL, MASKED, True, PRECISION, BN,
    )  # fmt: skip
    result = acc / total[:, None]
    places = (batch * HEADS + head) * (QUERIES * VALUES) + rows[:, None] * VALUES + values[None, :]
    inside = (rows[:, None] < QUERIES) & (values[None, :] < VALUES)
    tl.store(out + places, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def softmax(x, out, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    """A program for each row, which it holds."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < COLUMNS
    values = tl.load(x + row * COLUMNS + columns, mask=inside, other=float("-inf")).to(tl.float32)
    weights = tl.exp(values - tl.max(values, 0))
    result = weights / tl.sum(weights, 0)
    tl.store(out + row * COLUMNS + columns, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _merged(x, y, KIND: tl.constexpr):
    if KIND == "sum":
        return x + y
    elif KIND == "max":
        return tl.maximum(x, y)
    else:
        return tl.minimum(x, y)


@triton.jit
def reduce(
    x, out, LENGTH: tl.constexpr, INNER: tl.constexpr, KIND: tl.constexpr, NEUTRAL: tl.constexpr,
    FACTOR: tl.constexpr, BL: tl.constexpr, BI: tl.constexpr,
):  # fmt: skip
    """The middle axis of a tensor, outer x `LENGTH` x `INNER`; the result is multiplied by `FACTOR`."""
    across: tl.constexpr = (INNER + BI - 1) // BI
    outer = (tl.program_id(0) // across).to(tl.int64)
    columns = tl.program_id(0) % across * BI + tl.arange(0, BI)
    x += outer * LENGTH * INNER
    kind: tl.constexpr = tl.float32 if x.dtype.element_ty.is_floating() else tl.int32
    found = tl.full((BL, BI), NEUTRAL, dtype=kind)
    for first in range(0, LENGTH, BL):
        rows = first + tl.arange(0, BL)
        inside = (rows[:, None] < LENGTH) & (columns[None, :] < INNER)
        values = _wide(tl.load(x + rows[:, None] * INNER + columns[None, :], mask=inside))
        found = _merged(found, tl.where(inside, values, NEUTRAL), KIND)
    if KIND == "sum":
        result = tl.sum(found, 0)
    elif KIND == "max":
        result = tl.max(found, 0)
    else:
        result = tl.min(found, 0)
    if FACTOR != 1:
        result = result * FACTOR
    tl.store(out + outer * INNER + columns, result.to(out.dtype.element_ty), mask=columns < INNER)


@triton.jit
def chain(
    x, e0, e1, e2, out, M: tl.constexpr, N: tl.constexpr, X: tl.constexpr,
    STEPS: tl.constexpr, SLOTS: tl.constexpr, STRIDES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Functions element by element. `X`: strides of batch, row and column."""
    across: tl.constexpr = (N + BN - 1) // BN
    tall: tl.constexpr = (M + BM - 1) // BM
    batch = (tl.program_id(0) // (across * tall)).to(tl.int64)
    rows = tl.program_id(0) // across % tall * BM + tl.arange(0, BM)
    columns = tl.program_id(0) % across * BN + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    values = tl.load(x + batch * X[0] + rows[:, None] * X[1] + columns[None, :] * X[2], mask=inside)
    found = _finish(_wide(values), e0, e1, e2, batch, rows, columns, inside, STEPS, SLOTS, STRIDES)
    places = batch * (M * N) + rows[:, None] * N + columns[None, :]
    tl.store(out + places, found.to(out.dtype.element_ty), mask=inside)
