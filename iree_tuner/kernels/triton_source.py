"""Sources in Triton: `c = epilogue(a b)`, with f32 sums, of any sizes and layouts; and attention.

Imported only where Triton is installed; `triton_gemm` and `triton_attention` compile it ahead of time.
"""

# The language's functions take and give its own values, and sizes in capitals are compile-time constants.
# ruff: noqa: ARG001, N803, ANN001, ANN201, ANN202
# pyright: basic, reportMissingImports=false

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _offset(index, SIZES: tl.constexpr, STEPS: tl.constexpr, ROUND: tl.constexpr = True):
    """Where loops in row-major order are; what is past the end is at the beginning again, with `ROUND`."""
    offset = index * 0
    for count in tl.static_range(len(SIZES)):
        if ROUND or count < len(SIZES) - 1:
            offset += (index % SIZES[len(SIZES) - 1 - count]) * STEPS[len(SIZES) - 1 - count]
            index = index // SIZES[len(SIZES) - 1 - count]
        else:
            offset += index * STEPS[0]
    return offset


@triton.jit
def _finish(
    acc, extras, out, along, place, STEPS: tl.constexpr, OPERANDS: tl.constexpr, SCALE: tl.constexpr
):  # fmt: skip
    """The steps of an epilogue, in order.

    `OPERANDS` has for each step the number of its operand among `extras`, of which the bias is read `along`,
    and others at the `place` of the result.
    """
    for step in tl.static_range(len(STEPS)):
        if STEPS[step] == "bias":
            acc += tl.load(extras[OPERANDS[step]] + along).to(acc.dtype)
        if STEPS[step] == "residual":
            acc += tl.load(extras[OPERANDS[step]] + place).to(acc.dtype)
        if STEPS[step] == "factor":
            acc *= tl.load(extras[OPERANDS[step]] + place).to(acc.dtype)
        if STEPS[step] == "scale":
            acc *= SCALE
        if STEPS[step] == "relu":
            acc = tl.where(acc <= 0, 0, acc)  # of a NaN, a NaN
        if STEPS[step] == "gelu":
            inner = (acc * 0.7071067811865476).to(tl.float32)
            acc = acc * ((tl.math.erf(inner).to(acc.dtype) + 1) * 0.5)
        if STEPS[step] == "gelu_tanh":
            inner = (acc + 0.044715 * (acc * acc * acc)) * 0.7978845608028654
            acc = acc * ((libdevice.tanh(inner.to(tl.float32)).to(acc.dtype) + 1) * 0.5)
        if STEPS[step] == "silu":
            acc = acc * (1 / (1 + tl.math.exp(-acc.to(tl.float32)))).to(acc.dtype)
        if STEPS[step] == "truncf":
            acc = acc.to(out.dtype.element_ty)
    return acc


@triton.jit
def _tile(number, TALL: tl.constexpr, ACROSS: tl.constexpr, GROUP: tl.constexpr):
    """Batch, row and column of a tile: groups of rows first: tiles that run together share operands."""
    batch = number // (TALL * ACROSS)
    number = number % (TALL * ACROSS)
    width: tl.constexpr = GROUP * ACROSS
    group = number // width
    size = min(TALL - group * GROUP, GROUP)
    return batch, group * GROUP + (number % width) % size, (number % width) // size


@triton.jit
def _meet():
    """Wait for the cluster's other workgroups, which then see what was stored, and the other way round."""
    tl.inline_asm_elementwise(
        "barrier.cluster.arrive.release; barrier.cluster.wait.acquire; mov.b32 $0, 0;", "=r,~{memory}", [],
        dtype=tl.int32, is_pure=False, pack=1,
    )  # fmt: skip


@triton.jit
def _added_up(acc, partial, part, BM: tl.constexpr, BN: tl.constexpr, SPLIT: tl.constexpr):
    """Some rows of a tile, of whose sums each workgroup of a cluster has a part: always in the same order."""
    share: tl.constexpr = BM // SPLIT
    own, sums = part * share + tl.arange(0, share), partial + tl.arange(0, BN)[None, :]
    tl.store(sums + (part * BM + tl.arange(0, BM))[:, None] * BN, acc)
    _meet()
    acc = tl.zeros((share, BN), dtype=tl.float32)
    for other in tl.static_range(SPLIT):
        acc += tl.load(sums + (other * BM + own)[:, None] * BN, cache_modifier=".cg")
    return acc


@triton.jit
def _place(batch, rows, columns, LOOPS: tl.constexpr, STEPS: tl.constexpr, FULL: tl.constexpr):
    """Where a tile is in an array that has `STEPS` of batch, rows and columns, and rows at all or not.

    What is past the end of rows or columns is at the first ones. `FULL` says where nothing is.
    """
    place = _offset(batch, LOOPS[0], STEPS[0], False)
    place += _offset(columns, LOOPS[2], STEPS[2], not FULL[1])[None, :]
    if STEPS[3]:
        place += _offset(rows, LOOPS[1], STEPS[1], not FULL[0])[:, None]
    return place


@triton.jit
def _results(
    acc, extras, out, batch, rows, columns, LOOPS: tl.constexpr, RESULT: tl.constexpr, FINISH: tl.constexpr,
    FULL: tl.constexpr,
):  # fmt: skip
    """The finished values of a tile, and where they go.

    `FINISH` are the epilogue's steps, their operands, the scale, and steps of the bias and of other operands.
    """
    along = _place(batch, rows, columns, LOOPS, FINISH[3], FULL)
    added = _place(batch, rows, columns, LOOPS, FINISH[4], FULL)
    acc = _finish(acc, extras, out, along, added, FINISH[0], FINISH[1], FINISH[2])
    return acc.to(out.dtype.element_ty), out + _place(batch, rows, columns, LOOPS, RESULT, FULL)


@triton.jit
def plain(
    a, b, first, second, third, c, partial, LOOPS: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    RESULT: tl.constexpr, EXCHANGED: tl.constexpr, FINISH: tl.constexpr, ROWS: tl.constexpr, COLUMNS:
    tl.constexpr, DEPTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP:
    tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """A workgroup for each tile; operands are loaded through pointers, asynchronously.

    `LOOPS` are the sizes of the loops of batch, rows, columns and depth; `LEFT` and so on their steps in an
    array, of those roles that it has; `ROWS`, `COLUMNS` and `DEPTH` are all loops of a role together. A tile
    that is not full reads the first rows or columns again, and stores less. With `SPLIT`, as many workgroups,
    a cluster, sum parts of the depth, and each of them adds up and finishes some rows.
    """
    tall: tl.constexpr = (ROWS + BM - 1) // BM
    across: tl.constexpr = (COLUMNS + BN - 1) // BN
    full: tl.constexpr = (ROWS % BM == 0, COLUMNS % BN == 0)
    inner: tl.constexpr = len(LOOPS[3]) - 1
    number, part = tl.program_id(0) // SPLIT, tl.program_id(0) % SPLIT
    batch, row, column = _tile(number, tall, across, GROUP)
    rows, columns, depth = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    left = (b if EXCHANGED else a) + _offset(batch, LOOPS[0], LEFT[0], False)
    left += _offset(rows, LOOPS[1], LEFT[1], not full[0])[:, None] + depth[None, :] * LEFT[2][inner]
    right = (a if EXCHANGED else b) + _offset(batch, LOOPS[0], RIGHT[0], False)
    right += _offset(columns, LOOPS[2], RIGHT[1], not full[1])[None, :] + depth[:, None] * RIGHT[2][inner]
    whole: tl.constexpr = DEPTH // BK
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(part * whole // SPLIT, (part + 1) * whole // SPLIT):
        x = tl.load(left + _offset(step * BK, LOOPS[3], LEFT[2], False))
        y = tl.load(right + _offset(step * BK, LOOPS[3], RIGHT[2], False))
        acc = tl.dot(x, y, acc)
    if DEPTH % BK != 0:
        inside = depth < tl.where(part == SPLIT - 1, DEPTH - whole * BK, 0)
        x = tl.load(left + _offset(whole * BK, LOOPS[3], LEFT[2], False), mask=inside[None, :], other=0.0)
        y = tl.load(right + _offset(whole * BK, LOOPS[3], RIGHT[2], False), mask=inside[:, None], other=0.0)
        acc = tl.dot(x, y, acc)
    if SPLIT > 1:
        acc = _added_up(acc, partial + number * (SPLIT * BM * BN), part, BM, BN, SPLIT)
        rows = row * BM + part * (BM // SPLIT) + tl.arange(0, BM // SPLIT)
    done, place = _results(
        acc,
        (first, second, third),
        c,
        batch,
        rows,
        columns,
        LOOPS,
        RESULT,
        FINISH,
        full,
    )
    tl.store(place, done, mask=(rows < ROWS)[:, None] & (columns < COLUMNS)[None, :])


@triton.jit
def one_row(
    a, b, first, second, third, c, partial, LOOPS: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    RESULT: tl.constexpr, EXCHANGED: tl.constexpr, FINISH: tl.constexpr, COLUMNS: tl.constexpr, DEPTH:
    tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """A workgroup for some columns of a result with one row, without tensor cores: see `plain`."""
    across: tl.constexpr = (COLUMNS + BN - 1) // BN
    full: tl.constexpr = (True, COLUMNS % BN == 0)
    inner: tl.constexpr = len(LOOPS[3]) - 1
    batch, column = tl.program_id(0) // across, tl.program_id(0) % across
    columns, depth = column * BN + tl.arange(0, BN), tl.arange(0, BK)
    left = (b if EXCHANGED else a) + _offset(batch, LOOPS[0], LEFT[0], False) + depth * LEFT[2][inner]
    right = (a if EXCHANGED else b) + _offset(batch, LOOPS[0], RIGHT[0], False)
    right += _offset(columns, LOOPS[2], RIGHT[1], not full[1])[:, None] + depth[None, :] * RIGHT[2][inner]
    whole: tl.constexpr = DEPTH // BK
    acc = tl.zeros((BN, BK), dtype=tl.float32)
    for step in tl.range(0, whole, num_stages=STAGES):
        x = tl.load(left + _offset(step * BK, LOOPS[3], LEFT[2], False)).to(tl.float32)
        y = tl.load(right + _offset(step * BK, LOOPS[3], RIGHT[2], False)).to(tl.float32)
        acc += x[None, :] * y
    if DEPTH % BK != 0:
        inside = depth < DEPTH - whole * BK
        x = tl.load(left + _offset(whole * BK, LOOPS[3], LEFT[2], False), mask=inside, other=0.0)
        y = tl.load(right + _offset(whole * BK, LOOPS[3], RIGHT[2], False), mask=inside[None, :], other=0.0)
        acc += x.to(tl.float32)[None, :] * y.to(tl.float32)
    done, place = _results(
        tl.sum(acc, 1)[None, :], (first, second, third), c, batch, tl.arange(0, 1), columns, LOOPS, RESULT,
        FINISH, full,
    )  # fmt: skip
    tl.store(place, done, mask=(columns < COLUMNS)[None, :])


@triton.jit
def _matrices(array, FORM: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr):
    """A descriptor of matrices, for blocks of one. `FORM`: number, rows, columns, steps of the first two."""
    if FORM[0] == 1:
        return tl.make_tensor_descriptor(array, [FORM[1], FORM[2]], [FORM[4], 1], [HIGH, WIDE])
    else:  # noqa: RET505 - each case returns a type of its own
        return tl.make_tensor_descriptor(array, FORM[0:3], [FORM[3], FORM[4], 1], [1, HIGH, WIDE])


@triton.jit
def _block(matrices, batch, row, column, FORM: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr):
    if FORM[0] == 1:
        found = matrices.load([row, column])
    else:
        found = tl.reshape(matrices.load([batch, row, column]), (HIGH, WIDE))
    return found


@triton.jit
def _put(matrices, batch, row, column, values, FORM: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr):
    if FORM[0] == 1:
        matrices.store([row, column], values)
    else:
        matrices.store([batch, row, column], tl.reshape(values, (1, HIGH, WIDE)))


@triton.jit
def persistent(
    a, b, first, second, third, c, partial, LOOPS: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    RESULT: tl.constexpr, EXCHANGED: tl.constexpr, FINISH: tl.constexpr, ROWS: tl.constexpr, COLUMNS:
    tl.constexpr, DEPTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP:
    tl.constexpr, TURNED: tl.constexpr, OUT: tl.constexpr, TILES: tl.constexpr, WORKGROUPS: tl.constexpr,
    PARTS: tl.constexpr, FLATTEN: tl.constexpr,
):  # fmt: skip
    """As many workgroups as multiprocessors, each for many tiles; operands by the bulk copy engine (TMA).

    It reads zeros past the ends of matrices, and writes nothing there. `LEFT`, `RIGHT` and `OUT` are matrices
    as `_matrices` takes them, `OUT` is None for a result that the engine cannot write; `TURNED` says whether
    the depth is the rows of `LEFT`, and the columns of `RIGHT`. See `plain` for the others.
    """
    tall: tl.constexpr = (ROWS + BM - 1) // BM
    across: tl.constexpr = (COLUMNS + BN - 1) // BN
    full: tl.constexpr = (ROWS % BM == 0, COLUMNS % BN == 0)
    left = _matrices(b if EXCHANGED else a, LEFT, BK if TURNED[0] else BM, BM if TURNED[0] else BK)
    right = _matrices(a if EXCHANGED else b, RIGHT, BN if TURNED[1] else BK, BK if TURNED[1] else BN)
    if OUT is not None:
        out = _matrices(c, OUT, BM, BN // PARTS)
    for number in tl.range(tl.program_id(0), TILES, WORKGROUPS, flatten=FLATTEN):
        batch, row, column = _tile(number, tall, across, GROUP)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(0, (DEPTH + BK - 1) // BK):
            if TURNED[0]:
                x = _block(left, batch, step * BK, row * BM, LEFT, BK, BM).T
            else:
                x = _block(left, batch, row * BM, step * BK, LEFT, BM, BK)
            if TURNED[1]:
                y = _block(right, batch, column * BN, step * BK, RIGHT, BN, BK).T
            else:
                y = _block(right, batch, step * BK, column * BN, RIGHT, BK, BN)
            acc = tl.dot(x, y, acc)
        rows, columns = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN)
        done, place = _results(
            acc, (first, second, third), c, batch, rows, columns, LOOPS, RESULT, FINISH, full,
        )  # fmt: skip
        if OUT is None:
            tl.store(place, done, mask=(rows < ROWS)[:, None] & (columns < COLUMNS)[None, :])
        elif PARTS == 2:
            one, two = tl.split(tl.permute(tl.reshape(done, (BM, 2, BN // 2)), (0, 2, 1)))
            _put(out, batch, row * BM, column * BN, one, OUT, BM, BN // 2)
            _put(out, batch, row * BM, column * BN + BN // 2, two, OUT, BM, BN // 2)
        else:
            _put(out, batch, row * BM, column * BN, done, OUT, BM, BN)


@triton.jit
def _loaded(pointers, within, WHOLE: tl.constexpr):
    """Values, and 0 for those that are not within, unless all are."""
    if WHOLE:
        return tl.load(pointers)
    else:  # noqa: RET505 (Triton has no code after a return)
        return tl.load(pointers, mask=within, other=0.0)


@triton.jit
def _cluster_waits():
    """Wait for all workgroups of a cluster, whose writes are visible then; how many they are."""
    return tl.inline_asm_elementwise(
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
        " mov.u32 $0, %cluster_nctaid.x;",
        "=r,~{memory}", [], dtype=tl.int32, is_pure=False, pack=1,
    )  # fmt: skip


@triton.jit
def attention(
    q, k, v, bias, out, parts, BATCH: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K1: tl.constexpr,
    K2: tl.constexpr, Q: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BIAS: tl.constexpr,
    OUT: tl.constexpr, IN_Q: tl.constexpr, IN_K: tl.constexpr, IN_V: tl.constexpr, IN_BIAS: tl.constexpr,
    IN_OUT: tl.constexpr, AFTER: tl.constexpr, SCALE: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr,
    WIDTH: tl.constexpr, WIDTH_V: tl.constexpr, SPLITS: tl.constexpr, CLUSTER: tl.constexpr,
    BIASED: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """A workgroup for a tile of queries of a head; the softmax is corrected as larger scores are found.

    With several `SPLITS`, each workgroup of a cluster has a part of the keys and writes to `parts` what it
    found, and the last one puts these together. `CLUSTER` is false where programs run one after the other.
    `Q` and so on are strides of the batch's loops, `IN_Q` and so on those of rows and columns. A query sees
    `AFTER` keys after its own place, all where it is None. The method is FlashAttention-2's (Dao, 2023).
    """
    head, tile, rank = tl.program_id(1), tl.program_id(0) // SPLITS, tl.program_id(0) % SPLITS
    part: tl.constexpr = (K2 + SPLITS * BK - 1) // (SPLITS * BK) * BK
    first = rank * part
    end = K2 if SPLITS == 1 else min(K2, first + part)
    if AFTER is not None:
        tile = tl.num_programs(0) - 1 - tile  # the longest ones first
        end = min(K2, (tile + 1) * BM + AFTER)
    rows, keys = tile * BM + tl.arange(0, BM), tl.arange(0, BK)
    depth, columns = tl.arange(0, WIDTH), tl.arange(0, WIDTH_V)
    inside = rows[:, None] < M
    left = q + _offset(head, BATCH, Q) + rows[:, None] * IN_Q[0] + depth[None, :] * IN_Q[1]
    right = k + _offset(head, BATCH, K) + (first + keys[None, :]) * IN_K[0] + depth[:, None] * IN_K[1]
    values = v + _offset(head, BATCH, V) + (first + keys[:, None]) * IN_V[0] + columns[None, :] * IN_V[1]
    x = tl.load(left, mask=inside & (depth[None, :] < K1), other=0.0)
    lowest: tl.constexpr = -1e38 if BIASED else float("-inf")  # all scores of some keys may be -inf then
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
            own = bias + _offset(head, BATCH, BIAS)
            scores = _biased(scores, own, rows[:, None], keys[None, :] + start, M, K2, IN_BIAS, MASKED)
        now = tl.maximum(largest, tl.max(scores, 1))
        powers, shrink = tl.math.exp2(scores - now[:, None]), tl.math.exp2(largest - now)
        total = total * shrink + tl.sum(powers, 1)
        within = (keys[:, None] + start < K2) & (columns[None, :] < N)
        z = _loaded(values, within, K2 % BK == 0 and N == WIDTH_V)
        acc = tl.dot(powers.to(z.dtype), z, acc * shrink[:, None])
        largest, right, values = now, right + BK * IN_K[0], values + BK * IN_V[0]
    place = out + _offset(head, BATCH, OUT) + rows[:, None] * IN_OUT[0] + columns[None, :] * IN_OUT[1]
    here = inside & (columns[None, :] < N)
    if SPLITS == 1:
        tl.store(place, (acc / total[:, None]).to(out.dtype.element_ty), mask=here)
    else:
        parts += (head * (tl.num_programs(0) // SPLITS) + tile) * SPLITS * BM * (WIDTH_V + 2)
        _write_part(parts + rank * BM * (WIDTH_V + 2), acc, largest, total, BM, WIDTH_V)
        count = _cluster_waits() if CLUSTER else SPLITS
        if rank == SPLITS - 1:
            found = _of_parts(parts, count, BM, WIDTH_V, SPLITS)
            tl.store(place, found.to(out.dtype.element_ty), mask=here)


@triton.jit
def _biased(
    scores, bias, rows, keys, M: tl.constexpr, K2: tl.constexpr, STEPS: tl.constexpr, MASKED: tl.constexpr
):
    """Scores, in units of log(2), with a bias or a mask; those that were finite stay so."""
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
    """Write what a part of the keys gives: sums, the largest scores, and the sums of powers."""
    row, columns = tl.arange(0, BM), tl.arange(0, WIDTH_V)
    tl.store(part + row[:, None] * WIDTH_V + columns[None, :], acc)
    tl.store(part + BM * WIDTH_V + row, largest)
    tl.store(part + BM * (WIDTH_V + 1) + row, total)


@triton.jit
def _of_parts(parts, count, BM: tl.constexpr, WIDTH_V: tl.constexpr, SPLITS: tl.constexpr):
    """The result of all parts together: no number where other than so many workgroups have waited."""
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
