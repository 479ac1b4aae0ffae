"""Sources in Triton: `c = epilogue(a b)` with f32 sums, for any sizes and layouts.

Imported only where Triton is installed; `triton_gemm` compiles it ahead of time.
"""

# Triton's functions have untyped values, and parameters in capitals are compile-time constants.
# ruff: noqa: ARG001, N803, ANN001, ANN201, ANN202, RUF005
# pyright: basic, reportMissingImports=false

import triton
import triton.language as tl


@triton.jit
def offset(index, SIZES: tl.constexpr, STEPS: tl.constexpr, ROUND: tl.constexpr = True, AT: tl.constexpr = 0):
    """The offset of an index over row-major loops, whose strides are `STEPS` from the number `AT` on.

    With `ROUND`, indices past the end wrap around.
    """
    offset = index * 0
    for count in tl.static_range(len(SIZES)):
        if ROUND or count < len(SIZES) - 1:
            offset += (index % SIZES[len(SIZES) - 1 - count]) * STEPS[AT + len(SIZES) - 1 - count]
            index = index // SIZES[len(SIZES) - 1 - count]
        else:
            offset += index * STEPS[AT]
    return offset


@triton.jit
def once():
    """The number 1, which NVIDIA's assembler does not know: it takes ten seconds to unroll a loop."""
    return tl.num_programs(2)


@triton.jit
def _offset_of(
    index, LOOPS: tl.constexpr, ROLE: tl.constexpr, STEPS: tl.constexpr, AT: tl.constexpr, ROUND: tl.constexpr
):
    """The offset of an index over the loops `ROLE` in an array, whose strides for it are `STEPS[AT]`.

    In Triton 3.6, a part of a constant is a constant only if it is assigned to a name, and tuples cannot hold
    tuples or strings.
    """
    sizes: tl.constexpr = LOOPS[ROLE]
    steps: tl.constexpr = STEPS[AT]
    return offset(index, sizes, steps, ROUND)


@triton.jit
def _tile(number, TALL: tl.constexpr, ACROSS: tl.constexpr, GROUP: tl.constexpr):
    """Batch, row and column of a tile. Groups of rows come first, so that concurrent tiles share operands."""
    batch = number // (TALL * ACROSS)
    number = number % (TALL * ACROSS)
    width: tl.constexpr = GROUP * ACROSS
    group = number // width
    size = min(TALL - group * GROUP, GROUP)
    return batch, group * GROUP + (number % width) % size, (number % width) // size


@triton.jit
def cluster_waits():
    """Wait for all workgroups of a cluster, whose writes are then visible; returns their number."""
    return tl.inline_asm_elementwise(
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
        " mov.u32 $0, %cluster_nctaid.x;",
        "=r,~{memory}", [], dtype=tl.int32, is_pure=False, pack=1,
    )  # fmt: skip


@triton.jit
def added_up(acc, partial, part, BM: tl.constexpr, BN: tl.constexpr, SPLIT: tl.constexpr):
    """Add the partial sums of all workgroups of a cluster, always in the same order, for this part's rows."""
    share: tl.constexpr = BM // SPLIT
    own, sums = part * share + tl.arange(0, share), partial + tl.arange(0, BN)[None, :]
    tl.store(sums + (part * BM + tl.arange(0, BM))[:, None] * BN, acc)
    cluster_waits()
    acc = tl.zeros((share, BN), dtype=tl.float32)
    for other in tl.static_range(SPLIT):
        acc += tl.load(sums + (other * BM + own)[:, None] * BN, cache_modifier=".cg")
    return acc


@triton.jit
def _place(batch, rows, columns, LOOPS: tl.constexpr, READ: tl.constexpr, FULL: tl.constexpr):
    """The offsets of a tile's elements in an array.

    `READ` has where the array begins, whether it has rows, and its strides of batch, rows and columns. Rows
    and columns past the end wrap around to the first ones. `FULL`: whether none are past the end, for both.
    """
    batches: tl.constexpr = LOOPS[0]
    tall: tl.constexpr = LOOPS[1]
    wide: tl.constexpr = LOOPS[2]
    place = offset(batch, batches, READ, False, 2) + READ[0]
    place += offset(columns, wide, READ, not FULL[1], 2 + len(batches) + len(tall))[None, :]
    if READ[1]:
        place += offset(rows, tall, READ, not FULL[0], 2 + len(batches))[:, None]
    return place


@triton.jit
def _place_of(
    batch, rows, columns, LOOPS: tl.constexpr, EXTRAS: tl.constexpr, AT: tl.constexpr, FULL: tl.constexpr
):
    """The same for an operand of the epilogue."""
    read: tl.constexpr = EXTRAS[AT]
    return _place(batch, rows, columns, LOOPS, read, FULL)


@triton.jit
def _sigmoid(x):
    """In f32, without the range checks of a division: the divisor is at least 1."""
    root = tl.rsqrt(1 + tl.exp2(x * -1.4426950408889634))
    return root * root


@triton.jit
def _gelu(x):
    """With the error function of Abramowitz and Stegun, 7.1.26: within 1.5e-7 of it, in f32.

    The result is `max(x, 0)` less half of `|x|` times the complementary function of `|x| / sqrt(2)`.
    """
    size = tl.minimum(tl.abs(x), 64.0)  # infinity times zero is no number
    root = tl.rsqrt(1 + 0.23164188 * size)
    t = root * root
    series = (((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592
    rest = series * t * tl.exp2(x * x * -0.7213475204444817)
    return tl.maximum(x, 0.0) - 0.5 * size * rest


@triton.jit
def elementwise(acc, STEPS: tl.constexpr, STEP: tl.constexpr):
    """Compute a step of an epilogue that has no operand. The name of a type rounds to it."""
    if STEPS[STEP] == "relu":
        acc = tl.maximum(acc, 0.0, propagate_nan=tl.PropagateNan.ALL).to(acc.dtype)
    elif STEPS[STEP] == "relu_ordered":
        acc = tl.where(acc > 0, acc, 0)
    elif STEPS[STEP] == "at_most_6":
        acc = tl.minimum(acc, 6.0, propagate_nan=tl.PropagateNan.ALL).to(acc.dtype)
    elif STEPS[STEP] == "gelu":
        acc = _gelu(acc.to(tl.float32)).to(acc.dtype)
    elif STEPS[STEP] == "gelu_tanh":
        wide = acc.to(tl.float32)  # (1 + tanh(x)) / 2 is the sigmoid of 2 x
        acc = (wide * _sigmoid(wide * (1.5957691216057308 + 0.07135481627260025 * wide * wide))).to(acc.dtype)
    elif STEPS[STEP] == "silu":
        acc = (acc.to(tl.float32) * _sigmoid(acc.to(tl.float32))).to(acc.dtype)
    elif STEPS[STEP] == "quick_gelu":
        acc = (acc.to(tl.float32) * _sigmoid(1.702 * acc.to(tl.float32))).to(acc.dtype)
    elif STEPS[STEP] == "sigmoid":
        acc = _sigmoid(acc.to(tl.float32)).to(acc.dtype)
    elif STEPS[STEP] == "f16":
        acc = acc.to(tl.float16)
    elif STEPS[STEP] == "bf16":
        acc = acc.to(tl.bfloat16)
    else:
        tl.static_assert(False, "an unknown step")
    return acc


@triton.jit
def _finish(
    acc, other, arrays, batch, rows, columns, LOOPS: tl.constexpr, STEPS: tl.constexpr, OPERANDS:
    tl.constexpr, EXTRAS: tl.constexpr, SCALE: tl.constexpr, FULL: tl.constexpr,
):  # fmt: skip
    """Compute the steps of an epilogue in order.

    `OPERANDS` has the number of each step's operand among `arrays`, or -1, and `EXTRAS` how each is read, see
    `_place`. `other` is the other half of a gated product.
    """
    for step in tl.static_range(len(STEPS)):
        if OPERANDS[step] >= 0:
            place = _place_of(batch, rows, columns, LOOPS, EXTRAS, OPERANDS[step], FULL)
            value = tl.load(arrays[OPERANDS[step]] + place).to(acc.dtype)
            if STEPS[step] == "add":
                acc += value
            elif STEPS[step] == "subtract":
                acc -= value
            else:
                acc *= value
        elif STEPS[step] == "scale":
            acc *= SCALE
        elif STEPS[step] == "gated":
            acc *= other
        elif STEPS[step] != "halves" and STEPS[step] != "exchanged_halves" and STEPS[step] != "moved":
            acc = elementwise(acc, STEPS, step)
    return acc


@triton.jit
def _results(
    acc, other, arrays, out, batch, rows, columns, LOOPS: tl.constexpr, RESULT: tl.constexpr, STEPS:
    tl.constexpr, OPERANDS: tl.constexpr, SCALE: tl.constexpr, EXTRAS: tl.constexpr, GATE: tl.constexpr,
    HALF: tl.constexpr, FULL: tl.constexpr, FINISH: tl.constexpr,
):  # fmt: skip
    """The values of a tile after the epilogue, and the pointers to store them; see `_finish`.

    With the steps `GATE`, which have no operands, `other` are the sums `HALF` columns further on. `FINISH`
    computes a further step, which has no name.
    """
    acc = _finish(acc, acc, arrays, batch, rows, columns, LOOPS, STEPS, OPERANDS, EXTRAS, SCALE, FULL)
    if len(GATE) > 0:
        other = _finish(
            other, other, arrays, batch, rows, columns + HALF, LOOPS, STEPS, OPERANDS, EXTRAS, SCALE, FULL
        )  # fmt: skip
        if GATE[0] == "exchanged_halves":
            acc, other = other, acc
        none: tl.constexpr = (-1,) * len(GATE)
        acc = _finish(acc, other, arrays, batch, rows, columns, LOOPS, GATE, none, EXTRAS, SCALE, FULL)
    if FINISH is not None:
        acc = FINISH(acc, (batch, 0) + arrays, rows[:, None], columns[None, :])
    return acc.to(out.dtype.element_ty), out + _place(batch, rows, columns, LOOPS, RESULT, FULL)


@triton.jit
def _pointers(
    array, batch, side, depth, LOOPS: tl.constexpr, ROLE: tl.constexpr, STEPS: tl.constexpr, AXIS:
    tl.constexpr, FULL: tl.constexpr,
):  # fmt: skip
    """Pointers to a tile of an operand that is an array: `side` are its rows or columns, `AXIS` the depth's.

    Without `FULL`, rows or columns past the end wrap around.
    """
    inner: tl.constexpr = len(LOOPS[3]) - 1
    across = tl.expand_dims(_offset_of(side, LOOPS, ROLE, STEPS, 1, not FULL), AXIS)
    start = array + _offset_of(batch, LOOPS, 0, STEPS, 0, False)
    return start + across + tl.expand_dims(depth * STEPS[2][inner], 1 - AXIS)


@triton.jit
def kept_apart(values):
    """The same values of 16 bits. Triton 3.6 fails where it moves a reshape before it to shared memory."""
    return tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [values], dtype=values.dtype, is_pure=True, pack=2
    )


@triton.jit
def _operand(
    array, more, side, first, depth, inside, LOOPS: tl.constexpr, STEPS: tl.constexpr, AXIS: tl.constexpr,
    COMPUTED: tl.constexpr, OPERAND: tl.constexpr, HIGH: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A tile of an operand, from the place `first` of the depth on, which goes along `AXIS`.

    The elements of an array are loaded from the pointers `array`. An operand that is none is computed by a
    function for a batch, the first of its rows or columns `side`, and arrays (`more`; `triton_tiles`).
    Places of the depth that are not `inside` become 0.
    """
    compute: tl.constexpr = COMPUTED[OPERAND]
    if compute is not None:
        found = compute(more, side[:, None], (first + depth)[None, :], first)
        found = tl.broadcast_to(found, (HIGH, BK))
        if found.dtype.primitive_bitwidth == 16:
            found = kept_apart(found)
        if inside is not None:
            found = tl.where(inside[None, :], found, tl.zeros((HIGH, BK), found.dtype))
        if AXIS == 0:
            found = tl.trans(found)
    elif inside is None:
        found = tl.load(array + _offset_of(first, LOOPS, 3, STEPS, 2, False))
    else:
        place = array + _offset_of(first, LOOPS, 3, STEPS, 2, False)
        found = tl.load(place, mask=tl.expand_dims(inside, 1 - AXIS), other=0.0)
    return found


@triton.jit
def multiplied(x, y, acc):
    """Add the product of two tiles; of f32, as the sum of products of TF32 that is as exact."""
    if x.dtype == y.dtype and x.dtype != tl.float32:
        acc = tl.dot(x, y, acc)
    else:
        acc = tl.dot(x.to(tl.float32), y.to(tl.float32), acc, input_precision="tf32x3")
    return acc


@triton.jit
def _step(
    acc, other, left, right, more, own, others, further, rows, columns, first, depth, inside, LOOPS:
    tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr, COMPUTED: tl.constexpr, HALF: tl.constexpr, GATED:
    tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Add a part of the depth to a tile's sums; for gated products also to those `HALF` columns on."""
    x = _operand(left, own, rows, first, depth, inside, LOOPS, LEFT, 1, COMPUTED, 0, BM, BK)
    y = _operand(right, others, columns, first, depth, inside, LOOPS, RIGHT, 0, COMPUTED, 1, BN, BK)
    acc = multiplied(x, y, acc)
    if GATED:
        columns += HALF
        y = _operand(more, further, columns, first, depth, inside, LOOPS, RIGHT, 0, COMPUTED, 1, BN, BK)
        other = multiplied(x, y, other)
    return acc, other


@triton.jit
def _store(
    acc, other, arrays, c, batch, rows, columns, LOOPS: tl.constexpr, RESULT: tl.constexpr, STEPS:
    tl.constexpr, OPERANDS: tl.constexpr, SCALE: tl.constexpr, EXTRAS: tl.constexpr, GATE: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, FULL: tl.constexpr, FINISH: tl.constexpr,
):  # fmt: skip
    """Finish and store the sums of some rows of a tile, see `plain`."""
    done, place = _results(
        acc, other, arrays, c, batch, rows, columns, LOOPS, RESULT, STEPS, OPERANDS, SCALE, EXTRAS, GATE,
        COLUMNS // 2, FULL, FINISH,
    )  # fmt: skip
    kept: tl.constexpr = COLUMNS // 2 if len(GATE) > 0 else COLUMNS
    tl.store(place, done, mask=(rows < ROWS)[:, None] & (columns < kept)[None, :])


@triton.jit
def _share(
    acc, other, arrays, c, partial, batch, row, columns, part, LOOPS: tl.constexpr, RESULT: tl.constexpr,
    STEPS: tl.constexpr, OPERANDS: tl.constexpr, SCALE: tl.constexpr, EXTRAS: tl.constexpr, GATE:
    tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, FULL: tl.constexpr, FINISH: tl.constexpr, SPLIT:
    tl.constexpr, BM: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Add the parts of a cluster's workgroups for some rows, and store these."""
    acc = added_up(acc, partial, part, BM, WIDE, SPLIT)
    if len(GATE) > 0:
        other = added_up(other, partial + SPLIT * BM * WIDE, part, BM, WIDE, SPLIT)
    rows = row * BM + part * (BM // SPLIT) + tl.arange(0, BM // SPLIT)
    _store(
        acc, other, arrays, c, batch, rows, columns, LOOPS, RESULT, STEPS, OPERANDS, SCALE, EXTRAS, GATE,
        ROWS, COLUMNS, FULL, FINISH,
    )  # fmt: skip


@triton.jit
def plain(
    x0, x1, x2, x3, x4, x5, x6, x7, c, partial, LOOPS: tl.constexpr, LEFT: tl.constexpr,
    RIGHT: tl.constexpr, RESULT: tl.constexpr, SOURCES: tl.constexpr, COMPUTED: tl.constexpr, STEPS:
    tl.constexpr, OPERANDS: tl.constexpr, SCALE: tl.constexpr, EXTRAS: tl.constexpr, GATE: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, GROUP: tl.constexpr, SPLIT: tl.constexpr, WHOLE: tl.constexpr, FINISH: tl.constexpr,
):  # fmt: skip
    """Compute a tile in each workgroup. Operands are loaded through pointers, asynchronously.

    `LOOPS` are the sizes of the loops of batch, rows, columns and depth. `LEFT` etc. are the strides of an
    array for the roles that it has. `SOURCES` are the numbers of both operands among the arrays; those that
    are computed have a function in `COMPUTED`. `ROWS`, `COLUMNS` and `DEPTH` are the products of a role's
    sizes. A tile that is not full reads the first rows or columns again, and does not store them. With
    `SPLIT`, a cluster of that many workgroups computes a tile: each sums a part of the depth, then adds the
    parts of some rows and finishes these. The first tiles, `WHOLE` of them, have one workgroup each. With the
    steps `GATE`, half of a tile's columns are in each half of all columns.
    """
    arrays = (x0, x1, x2, x3, x4, x5, x6, x7)
    tall: tl.constexpr = (ROWS + BM - 1) // BM
    across: tl.constexpr = (COLUMNS + BN - 1) // BN
    full: tl.constexpr = (ROWS % BM == 0, COLUMNS % BN == 0)
    gated: tl.constexpr = len(GATE) > 0
    wide: tl.constexpr = BN // 2 if gated else BN
    half: tl.constexpr = COLUMNS // 2
    number, part, parts = tl.program_id(0) // SPLIT, tl.program_id(0) % SPLIT, SPLIT
    alone = tl.program_id(0) < WHOLE
    if WHOLE > 0:
        number = tl.where(alone, tl.program_id(0), number + (WHOLE - WHOLE // SPLIT))
        part, parts = tl.where(alone, 0, part), tl.where(alone, 1, SPLIT)
    batch, row, column = _tile(number, tall, across, GROUP)
    rows, columns, depth = row * BM + tl.arange(0, BM), column * wide + tl.arange(0, wide), tl.arange(0, BK)
    left = _pointers(arrays[SOURCES[0]], batch, rows, depth, LOOPS, 1, LEFT, 1, full[0])
    right = _pointers(arrays[SOURCES[1]], batch, columns, depth, LOOPS, 2, RIGHT, 0, full[1])
    more = _pointers(arrays[SOURCES[1]], batch, columns + half, depth, LOOPS, 2, RIGHT, 0, full[1])
    own, others = (batch, row * BM) + arrays, (batch, column * wide) + arrays
    further = (batch, column * wide + half) + arrays
    whole: tl.constexpr = DEPTH // BK
    acc, other = tl.zeros((BM, wide), dtype=tl.float32), tl.zeros((BM, wide), dtype=tl.float32)
    for step in range(part * whole // parts, (part + 1) * whole // parts * once()):
        acc, other = _step(
            acc, other, left, right, more, own, others, further, rows, columns, step * BK, depth, None, LOOPS,
            LEFT, RIGHT, COMPUTED, half, gated, BM, wide, BK,
        )  # fmt: skip
    if DEPTH % BK != 0:
        inside = depth < tl.where(part == parts - 1, DEPTH - whole * BK, 0)
        acc, other = _step(
            acc, other, left, right, more, own, others, further, rows, columns, whole * BK, depth, inside,
            LOOPS, LEFT, RIGHT, COMPUTED, half, gated, BM, wide, BK,
        )  # fmt: skip
    if SPLIT > 1 and (WHOLE == 0 or not alone):
        _share(
            acc, other, arrays, c, partial + (number - WHOLE) * (SPLIT * BM * BN), batch, row, columns, part,
            LOOPS, RESULT, STEPS, OPERANDS, SCALE, EXTRAS, GATE, ROWS, COLUMNS, full, FINISH, SPLIT, BM, wide,
        )  # fmt: skip
    if SPLIT == 1 or (WHOLE > 0 and alone):
        _store(
            acc, other, arrays, c, batch, rows, columns, LOOPS, RESULT, STEPS, OPERANDS, SCALE, EXTRAS, GATE,
            ROWS, COLUMNS, full, FINISH,
        )  # fmt: skip


@triton.jit
def _row(
    array, more, first, depth, inside, LOOPS: tl.constexpr, STEPS: tl.constexpr, COMPUTED: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    """A part of the only row of a left operand in f32, see `_operand`; pointers go along the depth alone."""
    compute: tl.constexpr = COMPUTED[0]
    if compute is not None:
        found = _operand(
            array, more, tl.arange(0, 1), first, depth, inside, LOOPS, STEPS, 1, COMPUTED, 0, 1, BK
        )
        found = tl.reshape(found, (BK,))
    elif inside is None:
        found = tl.load(array + _offset_of(first, LOOPS, 3, STEPS, 2, False))
    else:
        found = tl.load(array + _offset_of(first, LOOPS, 3, STEPS, 2, False), mask=inside, other=0.0)
    return found.to(tl.float32)[None, :]


@triton.jit
def _loaded(
    array, more, side, first, depth, LOOPS: tl.constexpr, STEPS: tl.constexpr, LOAD: tl.constexpr
):  # fmt: skip
    """Load what a tile of a right operand is computed of, or the tile, see `_operand`."""
    if LOAD is None:
        found = tl.load(array + _offset_of(first, LOOPS, 3, STEPS, 2, False))
    else:
        found = LOAD(more, side[:, None], (first + depth)[None, :], first)
    return found


@triton.jit
def _made(
    loaded, more, side, first, depth, COMPUTE: tl.constexpr, HIGH: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    """The tile in f32, of what `_loaded` has read."""
    if COMPUTE is None:
        found = loaded.to(tl.float32)
    else:
        found = COMPUTE(loaded, more, side[:, None], (first + depth)[None, :], first).to(tl.float32)
    return tl.broadcast_to(found, (HIGH, BK))


@triton.jit
def _four_steps(
    acc, left, right, own, others, columns, first, depth, LOOPS: tl.constexpr, LEFT: tl.constexpr, RIGHT:
    tl.constexpr, COMPUTED: tl.constexpr, IN_PARTS: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Add four steps of a product of one row. All of them are loaded before one is used."""
    load: tl.constexpr = IN_PARTS[0]
    compute: tl.constexpr = IN_PARTS[1]
    y0 = _loaded(right, others, columns, first, depth, LOOPS, RIGHT, load)
    y1 = _loaded(right, others, columns, first + BK, depth, LOOPS, RIGHT, load)
    y2 = _loaded(right, others, columns, first + 2 * BK, depth, LOOPS, RIGHT, load)
    y3 = _loaded(right, others, columns, first + 3 * BK, depth, LOOPS, RIGHT, load)
    x0 = _row(left, own, first, depth, None, LOOPS, LEFT, COMPUTED, BK)
    x1 = _row(left, own, first + BK, depth, None, LOOPS, LEFT, COMPUTED, BK)
    x2 = _row(left, own, first + 2 * BK, depth, None, LOOPS, LEFT, COMPUTED, BK)
    x3 = _row(left, own, first + 3 * BK, depth, None, LOOPS, LEFT, COMPUTED, BK)
    acc += x0 * _made(y0, others, columns, first, depth, compute, BN, BK)
    acc += x1 * _made(y1, others, columns, first + BK, depth, compute, BN, BK)
    acc += x2 * _made(y2, others, columns, first + 2 * BK, depth, compute, BN, BK)
    acc += x3 * _made(y3, others, columns, first + 3 * BK, depth, compute, BN, BK)
    return acc


@triton.jit
def _whole_steps(
    acc, left, right, own, others, columns, depth, start, end, LOOPS: tl.constexpr, LEFT: tl.constexpr, RIGHT:
    tl.constexpr, COMPUTED: tl.constexpr, IN_PARTS: tl.constexpr, LAST: tl.constexpr, STAGES: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Add the steps of a product of one row from `start` to `end`; `LAST` is the last one of all."""
    if STAGES == 1:
        for step in tl.range(start, end - 3, 4, num_stages=1):
            acc = _four_steps(
                acc, left, right, own, others, columns, step * BK, depth, LOOPS, LEFT, RIGHT, COMPUTED,
                IN_PARTS, BN, BK,
            )  # fmt: skip
        start += (end - start) // 4 * 4
    # A part of the row is too small for asynchronous copies, and is loaded one step ahead instead.
    x = _row(left, own, min(start, LAST) * BK, depth, None, LOOPS, LEFT, COMPUTED, BK)
    for step in tl.range(start, end, num_stages=STAGES):
        ahead = _row(left, own, min(step + 1, LAST) * BK, depth, None, LOOPS, LEFT, COMPUTED, BK)
        y = _operand(right, others, columns, step * BK, depth, None, LOOPS, RIGHT, 1, COMPUTED, 1, BN, BK)
        acc += x * y.to(tl.float32)
        x = ahead
    return acc


@triton.jit
def _of_words(
    more, part, BN: tl.constexpr, DEPTH: tl.constexpr, SPLIT: tl.constexpr, BLOCK: tl.constexpr, WORDS:
    tl.constexpr,
):  # fmt: skip
    """The sums of a product of one row whose weights are taken from words, see `triton_words`."""
    begin: tl.constexpr = WORDS[0]
    add: tl.constexpr = WORDS[1]
    add_last: tl.constexpr = WORDS[2]
    total: tl.constexpr = WORDS[3]
    whole: tl.constexpr = DEPTH // BLOCK
    sums, large = begin(), once() * 0x4B000000
    for step in tl.range(part * whole // SPLIT, (part + 1) * whole // SPLIT, num_stages=1):
        sums = add(sums, more, step * BLOCK, DEPTH, large)
    if DEPTH % BLOCK != 0:
        sums = add_last(sums, more, whole * BLOCK, tl.where(part == SPLIT - 1, DEPTH, 0), large)
    return total(sums)


@triton.jit
def row_added_up(sums, partial, part, BN: tl.constexpr, SPLIT: tl.constexpr):
    """Add the partial sums of all workgroups of a cluster, for this part's columns, see `added_up`."""
    share: tl.constexpr = BN // SPLIT
    tl.store(partial + part * BN + tl.arange(0, BN), sums)
    cluster_waits()
    acc = tl.zeros((share,), dtype=tl.float32)
    for other in tl.static_range(SPLIT):
        acc += tl.load(partial + other * BN + part * share + tl.arange(0, share), cache_modifier=".cg")
    return acc


@triton.jit
def _of_row(
    arrays, own, others, batch, part, columns, depth, LOOPS: tl.constexpr, LEFT: tl.constexpr, RIGHT:
    tl.constexpr, SOURCES: tl.constexpr, COMPUTED: tl.constexpr, IN_PARTS: tl.constexpr, DEPTH: tl.constexpr,
    STAGES: tl.constexpr, SPLIT: tl.constexpr, FULL: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The sums of a product of one row whose right operand is an array, or computed as tiles."""
    inner: tl.constexpr = len(LOOPS[3]) - 1
    left = arrays[SOURCES[0]] + _offset_of(batch, LOOPS, 0, LEFT, 0, False) + depth * LEFT[2][inner]
    right = _pointers(arrays[SOURCES[1]], batch, columns, depth, LOOPS, 2, RIGHT, 1, FULL[1])
    whole: tl.constexpr = DEPTH // BK
    acc = tl.zeros((BN, BK), dtype=tl.float32)
    acc = _whole_steps(
        acc, left, right, own, others, columns, depth, part * whole // SPLIT, (part + 1) * whole // SPLIT,
        LOOPS, LEFT, RIGHT, COMPUTED, IN_PARTS, max(whole - 1, 0), STAGES, BN, BK,
    )  # fmt: skip
    if DEPTH % BK != 0:
        first = whole * BK
        inside = depth < tl.where(part == SPLIT - 1, DEPTH - first, 0)
        x = _row(left, own, first, depth, inside, LOOPS, LEFT, COMPUTED, BK)
        y = _operand(right, others, columns, first, depth, inside, LOOPS, RIGHT, 1, COMPUTED, 1, BN, BK)
        acc += x * y.to(tl.float32)
    return tl.sum(acc, 1)


@triton.jit
def _sums_of_row(
    arrays, batch, first, part, columns, depth, LOOPS: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    SOURCES: tl.constexpr, COMPUTED: tl.constexpr, IN_PARTS: tl.constexpr, WORDS: tl.constexpr, BLOCK:
    tl.constexpr, DEPTH: tl.constexpr, STAGES: tl.constexpr, SPLIT: tl.constexpr, FULL: tl.constexpr, BN:
    tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The sums of columns from `first` on, for a part of the depth."""
    own, others = (batch, 0) + arrays, (batch, first) + arrays
    if WORDS is not None:
        sums = _of_words(others, part, BN, DEPTH, SPLIT, BLOCK, WORDS)
    else:
        sums = _of_row(
            arrays, own, others, batch, part, columns, depth, LOOPS, LEFT, RIGHT, SOURCES, COMPUTED,
            IN_PARTS, DEPTH, STAGES, SPLIT, FULL, BN, BK,
        )  # fmt: skip
    return sums


@triton.jit
def one_row(
    x0, x1, x2, x3, x4, x5, x6, x7, c, partial, LOOPS: tl.constexpr, LEFT: tl.constexpr,
    RIGHT: tl.constexpr, RESULT: tl.constexpr, SOURCES: tl.constexpr, COMPUTED: tl.constexpr, STEPS:
    tl.constexpr, OPERANDS: tl.constexpr, SCALE: tl.constexpr, EXTRAS: tl.constexpr, GATE: tl.constexpr,
    COLUMNS: tl.constexpr, DEPTH: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
    SPLIT: tl.constexpr, IN_PARTS: tl.constexpr, WORDS: tl.constexpr, BLOCK: tl.constexpr, FINISH:
    tl.constexpr,
):  # fmt: skip
    """Compute some columns of a result with one row in each workgroup, without tensor cores; see `plain`.

    Loads of several `STAGES` are under way in shared memory; with one stage, those of four steps in
    registers. `IN_PARTS` are the functions that load and compute the right operand, if it is no array.
    `WORDS` are those that add the product, if weights are taken from words: `BLOCK` places of the depth.
    Both halves of a gated product's computed operand are added one after the other.
    """
    arrays = (x0, x1, x2, x3, x4, x5, x6, x7)
    across: tl.constexpr = (COLUMNS + BN - 1) // BN
    full: tl.constexpr = (True, COLUMNS % BN == 0)
    gated: tl.constexpr = len(GATE) > 0
    wide: tl.constexpr = BN // 2 if gated else BN
    half: tl.constexpr = COLUMNS // 2
    apart: tl.constexpr = gated and COMPUTED[1] is not None
    together: tl.constexpr = wide if apart else BN
    number, part = tl.program_id(0) // SPLIT, tl.program_id(0) % SPLIT
    batch, column = number // across, number % across
    columns, depth = column * wide + tl.arange(0, together), tl.arange(0, BK)
    if gated and not apart:
        columns = column * wide + tl.arange(0, BN) % wide + tl.arange(0, BN) // wide * half
    sums = _sums_of_row(
        arrays, batch, column * wide, part, columns, depth, LOOPS, LEFT, RIGHT, SOURCES, COMPUTED, IN_PARTS,
        WORDS, BLOCK, DEPTH, STAGES, SPLIT, full, together, BK,
    )  # fmt: skip
    other = sums
    if apart:
        other = _sums_of_row(
            arrays, batch, column * wide + half, part, columns + half, depth, LOOPS, LEFT, RIGHT, SOURCES,
            COMPUTED, IN_PARTS, WORDS, BLOCK, DEPTH, STAGES, SPLIT, full, together, BK,
        )  # fmt: skip
    if SPLIT > 1:
        sums = row_added_up(sums, partial + number * SPLIT * BN, part, BN, SPLIT)
        other = sums
        columns = column * wide + part * (BN // SPLIT) + tl.arange(0, BN // SPLIT)
    if gated and not apart:
        sums, other = tl.split(tl.trans(tl.reshape(sums, (2, wide))))
        columns = column * wide + tl.arange(0, wide)
    done, place = _results(
        sums[None, :], other[None, :], arrays, c, batch, tl.arange(0, 1), columns, LOOPS, RESULT, STEPS,
        OPERANDS, SCALE, EXTRAS, GATE, half, full, FINISH,
    )  # fmt: skip
    kept: tl.constexpr = half if gated else COLUMNS
    tl.store(place, done, mask=(columns < kept)[None, :])


@triton.jit
def _matrices(array, FORM: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr):
    """A descriptor for blocks of matrices. `FORM`: count, rows, columns, strides of matrices and of rows."""
    if FORM[0] == 1:
        return tl.make_tensor_descriptor(array, [FORM[1], FORM[2]], [FORM[4], 1], [HIGH, WIDE])
    else:  # noqa: RET505 - the cases return different types
        return tl.make_tensor_descriptor(
            array, [FORM[0], FORM[1], FORM[2]], [FORM[3], FORM[4], 1], [1, HIGH, WIDE]
        )


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
    x0, x1, x2, x3, x4, x5, x6, x7, c, partial, LOOPS: tl.constexpr, LEFT: tl.constexpr,
    RIGHT: tl.constexpr, RESULT: tl.constexpr, SOURCES: tl.constexpr, STEPS: tl.constexpr,
    OPERANDS: tl.constexpr, SCALE: tl.constexpr, EXTRAS: tl.constexpr, GATE: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr, DEPTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP:
    tl.constexpr, TURNED: tl.constexpr, OUT: tl.constexpr, TILES: tl.constexpr, WORKGROUPS: tl.constexpr,
    PARTS: tl.constexpr, FLATTEN: tl.constexpr, FINISH: tl.constexpr,
):  # fmt: skip
    """Compute many tiles in each workgroup, one for each multiprocessor, with the bulk copy engine (TMA).

    The engine reads zeros past the ends of matrices, and writes nothing there. `LEFT`, `RIGHT` and `OUT` are
    forms for `_matrices`; `OUT` is None if the engine cannot write the result. `TURNED` says whether the
    depth is the rows of `LEFT`, and whether it is the columns of `RIGHT`. See `plain` for other parameters.
    """
    arrays = (x0, x1, x2, x3, x4, x5, x6, x7)
    tall: tl.constexpr = (ROWS + BM - 1) // BM
    across: tl.constexpr = (COLUMNS + BN - 1) // BN
    full: tl.constexpr = (ROWS % BM == 0, COLUMNS % BN == 0)
    gated: tl.constexpr = len(GATE) > 0
    wide: tl.constexpr = BN // 2 if gated else BN
    half: tl.constexpr = COLUMNS // 2
    kept: tl.constexpr = half if gated else COLUMNS
    left = _matrices(arrays[SOURCES[0]], LEFT, BK if TURNED[0] else BM, BM if TURNED[0] else BK)
    right = _matrices(arrays[SOURCES[1]], RIGHT, wide if TURNED[1] else BK, BK if TURNED[1] else wide)
    if OUT is not None:
        out = _matrices(c, OUT, BM, wide // PARTS)
    for number in tl.range(tl.program_id(0), TILES, WORKGROUPS, flatten=FLATTEN):
        batch, row, column = _tile(number, tall, across, GROUP)
        acc, other = tl.zeros((BM, wide), dtype=tl.float32), tl.zeros((BM, wide), dtype=tl.float32)
        for step in range(0, (DEPTH + BK - 1) // BK):
            if TURNED[0]:
                x = _block(left, batch, step * BK, row * BM, LEFT, BK, BM).T
            else:
                x = _block(left, batch, row * BM, step * BK, LEFT, BM, BK)
            if TURNED[1]:
                y = _block(right, batch, column * wide, step * BK, RIGHT, wide, BK).T
            else:
                y = _block(right, batch, step * BK, column * wide, RIGHT, BK, wide)
            acc = tl.dot(x, y, acc)
            if gated:
                if TURNED[1]:
                    y = _block(right, batch, half + column * wide, step * BK, RIGHT, wide, BK).T
                else:
                    y = _block(right, batch, step * BK, half + column * wide, RIGHT, BK, wide)
                other = tl.dot(x, y, other)
        rows, columns = row * BM + tl.arange(0, BM), column * wide + tl.arange(0, wide)
        done, place = _results(
            acc, other, arrays, c, batch, rows, columns, LOOPS, RESULT, STEPS, OPERANDS,
            SCALE, EXTRAS, GATE, half, full, FINISH,
        )  # fmt: skip
        if OUT is None:
            tl.store(place, done, mask=(rows < ROWS)[:, None] & (columns < kept)[None, :])
        elif PARTS == 2:
            one, two = tl.split(tl.permute(tl.reshape(done, (BM, 2, BN // 2)), (0, 2, 1)))
            _put(out, batch, row * BM, column * BN, one, OUT, BM, BN // 2)
            _put(out, batch, row * BM, column * BN + BN // 2, two, OUT, BM, BN // 2)
        else:
            _put(out, batch, row * BM, column * wide, done, OUT, BM, wide)
