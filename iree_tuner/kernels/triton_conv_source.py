"""Sources in Triton: convolutions as products of pixels by filters, with f32 sums and epilogues.

The rows of a tile are pixels of the result, and its columns are filters. Sums go over window positions and
channels. Imported only where Triton is installed; `triton_conv` compiles it ahead of time.
"""

# Triton's functions have untyped values, and parameters in capitals are compile-time constants.
# ruff: noqa: N803, ANN001, ANN201, ANN202, RUF005
# pyright: basic, reportMissingImports=false

import triton
import triton.language as tl

from iree_tuner.kernels.triton_source import added_up, elementwise


@triton.jit
def _finish(
    acc, arrays, out, places, images, pixels, filters, mask, F: tl.constexpr, STEPS: tl.constexpr,
    WHERE: tl.constexpr, EXTRA: tl.constexpr, FINISH: tl.constexpr,
):  # fmt: skip
    """Compute the epilogue's steps in order, and store the result.

    `EXTRA` has the number of each step's operand among `arrays`, and `WHERE` how that operand is indexed: by
    `filter`, by `image` (images and filters) or by `pixel` (like the result); empty for steps without an
    operand. `FINISH` computes a further step, which has no name.
    """
    for step in tl.static_range(len(STEPS)):
        if WHERE[step] == "":
            acc = elementwise(acc, STEPS, step)
        else:
            if WHERE[step] == "filter":
                value = tl.load(arrays[EXTRA[step]] + filters, mask=filters < F, other=0.0)[None, :]
            elif WHERE[step] == "image":
                of_image = images[:, None] * F + filters[None, :]
                value = tl.load(arrays[EXTRA[step]] + of_image, mask=mask, other=0.0)
            else:
                value = tl.load(arrays[EXTRA[step]] + places, mask=mask, other=0.0)
            value = value.to(acc.dtype)
            if STEPS[step] == "add":
                acc += value
            elif STEPS[step] == "subtract":
                acc -= value
            else:
                acc *= value
    if FINISH is not None:
        acc = FINISH(acc, (0, 0) + arrays, pixels[:, None], filters[None, :])
    tl.store(out + places, acc.to(out.dtype.element_ty), mask=mask)


@triton.jit
def _phase(place, AXIS: tl.constexpr, LOW: tl.constexpr, SPREAD: tl.constexpr):
    """The first position of the window in a phase along an axis, and the line or pixel of the image there."""
    first = (LOW[AXIS] + SPREAD[AXIS] - place) % SPREAD[AXIS]
    return first, (place + first - LOW[AXIS]) // SPREAD[AXIS]


@triton.jit
def _begin(line, pixel, STRIDES: tl.constexpr, LOW: tl.constexpr, SPREAD: tl.constexpr):
    """Where windows begin in an image, and a phase's first position in the window."""
    if SPREAD is None:
        top, left = line * STRIDES[0] - LOW[0], pixel * STRIDES[1] - LOW[1]
        above, before = 0, 0
    else:
        above, top = _phase(tl.program_id(1) // SPREAD[1], 0, LOW, SPREAD)
        before, left = _phase(tl.program_id(1) % SPREAD[1], 1, LOW, SPREAD)
        top, left = line + top, pixel + left
    return top, left, above, before


@triton.jit
def _spot(place, above, before, KW: tl.constexpr, WINDOW: tl.constexpr, SPREAD: tl.constexpr):
    """The number of a phase's position in the whole window, and whether it is inside of it."""
    if SPREAD is None:
        spot, inside = place, True
    else:
        down, along = above + place // KW * SPREAD[0], before + place % KW * SPREAD[1]
        spot, inside = down * WINDOW[1] + along, (down < WINDOW[0]) & (along < WINDOW[1])
    return spot, inside


@triton.jit
def _in_result(
    pixels, N: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr, Z: tl.constexpr, SPREAD: tl.constexpr,
    WHOLE: tl.constexpr,
):  # fmt: skip
    """Images of a group's or phase's pixels, their numbers and offsets in the result, and which it has."""
    image, line, pixel = pixels // (OH * OW), pixels // OW % OH, pixels % OW
    place, inside = image * Z[0] + line * Z[1] + pixel * Z[2], pixels < N * OH * OW
    if SPREAD is None:
        place += tl.program_id(1) * Z[4]
    else:
        down, along = tl.program_id(1) // SPREAD[1], tl.program_id(1) % SPREAD[1]
        place += down * (Z[1] // SPREAD[0]) + along * (Z[2] // SPREAD[1])
        line, pixel = line * SPREAD[0] + down, pixel * SPREAD[1] + along
        inside &= (line < WHOLE[0]) & (pixel < WHOLE[1])
        pixels = tl.where(inside, (image * WHOLE[0] + line) * WHOLE[1] + pixel, 0)
    return image, pixels, place, inside


@triton.jit
def _write(
    acc, arrays, out, pixels, filters, N: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    F: tl.constexpr, GROUPS: tl.constexpr, Z: tl.constexpr, STEPS: tl.constexpr, WHERE: tl.constexpr,
    EXTRA: tl.constexpr, FINISH: tl.constexpr, SPREAD: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    """Finish sums of pixels by filters of this group where the result has the strides `Z`."""
    image, pixels, result, inside = _in_result(pixels, N, OH, OW, Z, SPREAD, WHOLE)
    where, mask = result[:, None] + filters[None, :] * Z[3], inside[:, None] & (filters < F)[None, :]
    own = filters if SPREAD is not None else tl.program_id(1) * F + filters
    every: tl.constexpr = F if SPREAD is not None else GROUPS * F
    _finish(acc, arrays, out, where, image, pixels, own, mask, every, STEPS, WHERE, EXTRA, FINISH)


@triton.jit
def _write_box(
    acc, arrays, out, image, line, pixel, filters, N: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    F: tl.constexpr, STEPS: tl.constexpr, WHERE: tl.constexpr, EXTRA: tl.constexpr, FINISH: tl.constexpr,
):  # fmt: skip
    """Finish sums of pixels by filters where channels are last; some pixels may be outside of the result."""
    inside = (image < N) & (line < OH) & (pixel < OW)
    pixels = tl.where(inside, image * (OH * OW) + line * OW + pixel, 0)
    where, mask = pixels[:, None] * F + filters[None, :], inside[:, None] & (filters < F)[None, :]
    _finish(acc, arrays, out, where, image, pixels, filters, mask, F, STEPS, WHERE, EXTRA, FINISH)


@triton.jit
def _is_read(line, pixel, H: tl.constexpr, W: tl.constexpr):
    """Whether a position is inside of the image, not in its padding."""
    return (line >= 0) & (line < H) & (pixel >= 0) & (pixel < W)


@triton.jit
def _apart(k, C: tl.constexpr, PLACES: tl.constexpr, CHANNELS_LAST: tl.constexpr):
    """Split the index of a loop over window positions and channels, in the order of memory, into both."""
    if CHANNELS_LAST:
        place, channel = k // C, k % C
    else:
        place, channel = k % PLACES, k // PLACES
    return place, channel


@triton.jit
def _loaded(pointers, mask, MASKED: tl.constexpr):
    """Values, with zeros where the mask is false. Loads without a mask are cheaper."""
    return tl.load(pointers, mask=mask, other=0.0) if MASKED else tl.load(pointers)


@triton.jit
def _plus_windows(
    acc, source, right, top, left, above, before, begin, end, depth, H: tl.constexpr, W: tl.constexpr, C:
    tl.constexpr, KW: tl.constexpr, DILATIONS: tl.constexpr, PADDED: tl.constexpr, X: tl.constexpr, Y:
    tl.constexpr, BK: tl.constexpr, SPREAD: tl.constexpr, WINDOW: tl.constexpr,
):  # fmt: skip
    """Add the steps from `begin` to `end`, each of which has a position of the window and `BK` channels."""
    chunks: tl.constexpr = (C + BK - 1) // BK
    for step in range(begin, end):
        place, channel = step // chunks, step % chunks * BK + depth
        down, along = place // KW * DILATIONS[0], place % KW * DILATIONS[1]
        inside = (channel < C)[None, :]
        if PADDED:
            within = _is_read(top + down, left + along, H, W)[:, None]
            inside = within if C % BK == 0 else within & inside
        pointers = (source + down * X[1] + along * X[2])[:, None] + channel[None, :] * X[3]
        a = _loaded(pointers, inside, PADDED or C % BK != 0)
        spot, known = _spot(place, above, before, KW, WINDOW, SPREAD)
        values = right[None, :] + spot * Y[0] + channel[:, None] * Y[1]
        b = _loaded(values, (channel < C)[:, None] & known, C % BK != 0 or SPREAD is not None)
        acc = tl.dot(a, b, acc)
    return acc


@triton.jit
def gathered(
    x, w, e0, e1, e2, e3, e4, e5, out, partial, N: tl.constexpr, H: tl.constexpr, W: tl.constexpr,
    C: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr, F: tl.constexpr, KH: tl.constexpr,
    KW: tl.constexpr, STRIDES: tl.constexpr, DILATIONS: tl.constexpr, LOW: tl.constexpr,
    PADDED: tl.constexpr, X: tl.constexpr, Y: tl.constexpr, Z: tl.constexpr, STEPS: tl.constexpr,
    WHERE: tl.constexpr, EXTRA: tl.constexpr, GROUPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, FLAT: tl.constexpr, CHANNELS_LAST: tl.constexpr, SPLIT: tl.constexpr,
    FINISH: tl.constexpr, SPREAD: tl.constexpr, WINDOW: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    """Compute a tile of a group in each workgroup. Loads go through pointers, and masks add the padding.

    `X`, `Y` and `Z` are strides of the images (image, line, pixel, channel, group), of the filter (window
    position, channel, filter, group) and of the result (image, line, pixel, filter, group). `FLAT` makes
    window positions and channels one loop in the order of memory, which suits few channels. With `SPLIT`, a
    cluster of that many workgroups computes a tile: each sums a part, then adds the parts of some pixels.
    With `SPREAD`, groups are phases of a result of sizes `WHOLE`, with parts of a window of sizes `WINDOW`.
    """
    across: tl.constexpr = (F + BN - 1) // BN
    number, part, group = tl.program_id(0) // SPLIT, tl.program_id(0) % SPLIT, tl.program_id(1)
    tile, column = number // across, number % across
    pixels, filters, depth = tile * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    # Pixels and filters past the end are read as the first ones, so that loads need no masks for them.
    row = pixels if N * OH * OW % BM == 0 else pixels % (N * OH * OW)
    image, line, pixel = row // (OH * OW), row // OW % OH, row % OW
    top, left, above, before = _begin(line, pixel, STRIDES, LOW, SPREAD)
    group = group if SPREAD is None else 0
    source = x + group * X[4] + image * X[0] + top * X[1] + left * X[2]
    right = w + group * Y[3] + (filters if F % BN == 0 else filters % F) * Y[2]
    places: tl.constexpr = KH * KW
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    steps: tl.constexpr = (places * C + BK - 1) // BK if FLAT else places * ((C + BK - 1) // BK)
    begin, end = part * steps // SPLIT, (part + 1) * steps // SPLIT
    if FLAT:
        for step in range(begin, end):
            k = step * BK + depth
            place, channel = _apart(k, C, places, CHANNELS_LAST)
            down, along = place // KW * DILATIONS[0], place % KW * DILATIONS[1]
            offsets = down * X[1] + along * X[2] + channel * X[3]
            inside = (k < places * C)[None, :]
            if PADDED:
                inside &= _is_read(top[:, None] + down[None, :], left[:, None] + along[None, :], H, W)
            a = _loaded(source[:, None] + offsets[None, :], inside, PADDED or places * C % BK != 0)
            values = right[None, :] + (place * Y[0] + channel * Y[1])[:, None]
            acc = tl.dot(a, _loaded(values, (k < places * C)[:, None], places * C % BK != 0), acc)
    else:
        acc = _plus_windows(
            acc, source, right, top, left, above, before, begin, end, depth, H, W, C, KW, DILATIONS, PADDED,
            X, Y, BK, SPREAD, WINDOW,
        )  # fmt: skip
    if SPLIT > 1:
        acc = added_up(acc, partial + number * (SPLIT * BM * BN), part, BM, BN, SPLIT)
        pixels = tile * BM + part * (BM // SPLIT) + tl.arange(0, BM // SPLIT)
    arrays = (x, w, e0, e1, e2, e3, e4, e5)
    _write(
        acc, arrays, out, pixels, filters, N, OH, OW, F, GROUPS, Z, STEPS, WHERE, EXTRA, FINISH, SPREAD, WHOLE
    )


@triton.jit
def _weighed(
    source, right, top, left, down, along, H: tl.constexpr, W: tl.constexpr, KW: tl.constexpr,
    DILATIONS: tl.constexpr, PADDED: tl.constexpr, X: tl.constexpr, Y: tl.constexpr,
):  # fmt: skip
    """The pixels at a position of the window, times the filter of each channel."""
    within = _is_read(top + down * DILATIONS[0], left + along * DILATIONS[1], H, W)[:, None]
    a = _loaded(source + (down * DILATIONS[0] * X[1] + along * DILATIONS[1] * X[2]), within, PADDED)
    b = tl.load(right + (down * KW + along) * Y[0])
    return a.to(tl.float32) * b.to(tl.float32)[None, :]


@triton.jit
def depthwise(
    x, w, e0, e1, e2, e3, e4, e5, out, partial, N: tl.constexpr, H: tl.constexpr,  # noqa: ARG001
    W: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr, F: tl.constexpr, KH: tl.constexpr,
    KW: tl.constexpr, STRIDES: tl.constexpr, DILATIONS: tl.constexpr, LOW: tl.constexpr,
    PADDED: tl.constexpr, X: tl.constexpr, Y: tl.constexpr, Z: tl.constexpr, STEPS: tl.constexpr,
    WHERE: tl.constexpr, EXTRA: tl.constexpr, GROUPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    AT_ONCE: tl.constexpr, FINISH: tl.constexpr,
):  # fmt: skip
    """Compute a tile of pixels by channels, each of which has a filter of its own.

    Strides are those of `gathered`, where each channel is a group. `AT_ONCE` positions of a window's line are
    loaded before any is added.
    """
    pixels, channels = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    row, read = pixels % (N * OH * OW), channels % GROUPS  # past the end the first ones, without masks
    image, line, pixel = row // (OH * OW), row // OW % OH, row % OW
    top, left = line * STRIDES[0] - LOW[0], pixel * STRIDES[1] - LOW[1]
    source = x + (image * X[0] + top * X[1] + left * X[2])[:, None] + (read * X[4])[None, :]
    right = w + read * Y[3]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    whole: tl.constexpr = KW // AT_ONCE
    for step in range(0, KH * whole):
        for at in tl.static_range(AT_ONCE):
            down, along = step // whole, step % whole * AT_ONCE + at
            acc += _weighed(source, right, top, left, down, along, H, W, KW, DILATIONS, PADDED, X, Y)
    if KW % AT_ONCE > 0:
        for down in range(0, KH):
            for along in tl.static_range(whole * AT_ONCE, KW):
                acc += _weighed(source, right, top, left, down, along, H, W, KW, DILATIONS, PADDED, X, Y)
    where = (image * Z[0] + line * Z[1] + pixel * Z[2])[:, None] + (channels * Z[4])[None, :]
    mask = (pixels < N * OH * OW)[:, None] & (channels < GROUPS)[None, :]
    arrays = (x, w, e0, e1, e2, e3, e4, e5)
    _finish(acc, arrays, out, where, image, pixels, channels, mask, GROUPS * F, STEPS, WHERE, EXTRA, FINISH)


@triton.jit
def boxed(
    x, w, e0, e1, e2, e3, e4, e5, out, partial, N: tl.constexpr, H: tl.constexpr,  # noqa: ARG001
    W: tl.constexpr, C: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr, F: tl.constexpr, KH: tl.constexpr,
    KW: tl.constexpr, STRIDES: tl.constexpr, DILATIONS: tl.constexpr, LOW: tl.constexpr,
    STEPS: tl.constexpr, WHERE: tl.constexpr, EXTRA: tl.constexpr, TN: tl.constexpr, TH: tl.constexpr,
    TW: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WORKGROUPS: tl.constexpr, FLATTEN: tl.constexpr,
    MORE: tl.constexpr, FINISH: tl.constexpr,
):  # fmt: skip
    """Compute tiles with channels last. The bulk copy engine (TMA) loads operands, with zeros as padding.

    A tile has `TN` images, `TH` lines and `TW` pixels. For each window position it reads one box of the
    images, whose lines and pixels are grouped by strides. Strides must divide lines and pixels, and `BK` must
    divide the channels. A workgroup computes every `WORKGROUPS`th tile, with `BN` filters and `MORE`.

    The product is transposed to filters by pixels, because Triton 3.9 reshapes a right operand in shared
    memory, but a left one in registers.
    """
    images = tl.make_tensor_descriptor(
        x, [N, H // STRIDES[0], STRIDES[0], W // STRIDES[1], STRIDES[1] * C],
        [H * W * C, STRIDES[0] * W * C, W * C, STRIDES[1] * C, 1], [TN, TH, 1, TW, BK],
    )  # fmt: skip
    matrix = tl.make_tensor_descriptor(w, [KH * KW * C, F], [F, 1], [BK, BN])
    if MORE > 0:
        others = tl.make_tensor_descriptor(w, [KH * KW * C, F], [F, 1], [BK, MORE])
    across: tl.constexpr = (F + BN + MORE - 1) // (BN + MORE)
    wide: tl.constexpr = (OW + TW - 1) // TW
    tall: tl.constexpr = (OH + TH - 1) // TH
    deep: tl.constexpr = (N + TN - 1) // TN
    chunks: tl.constexpr = C // BK
    above: tl.constexpr = (LOW[0] + STRIDES[0] - 1) // STRIDES[0]  # groups of zero lines before an image
    before: tl.constexpr = (LOW[1] + STRIDES[1] - 1) // STRIDES[1]
    for number in tl.range(tl.program_id(0), across * wide * tall * deep, WORKGROUPS, flatten=FLATTEN):
        tile, column = number // across, number % across
        first, top, left = tile // (wide * tall) * TN, tile // wide % tall * TH, tile % wide * TW
        acc = tl.zeros((BN, TN * TH * TW), dtype=tl.float32)
        if MORE > 0:
            rest = tl.zeros((MORE, TN * TH * TW), dtype=tl.float32)
        for step in range(0, KH * KW * chunks):
            place = step // chunks
            down = place // KW * DILATIONS[0] + above * STRIDES[0] - LOW[0]
            along = place % KW * DILATIONS[1] + before * STRIDES[1] - LOW[1]
            line, pixel = top + down // STRIDES[0] - above, left + along // STRIDES[1] - before
            channel = along % STRIDES[1] * C + step % chunks * BK
            box = images.load([first, line, down % STRIDES[0], pixel, channel])
            values = tl.reshape(box, (TN * TH * TW, BK)).T
            acc = tl.dot(matrix.load([step * BK, column * (BN + MORE)]).T, values, acc)
            if MORE > 0:
                rest = tl.dot(others.load([step * BK, column * (BN + MORE) + BN]).T, values, rest)
        pixels, filters = tl.arange(0, TN * TH * TW), column * (BN + MORE) + tl.arange(0, BN)
        image, line, pixel = first + pixels // (TH * TW), top + pixels // TW % TH, left + pixels % TW
        arrays = (x, w, e0, e1, e2, e3, e4, e5)
        _write_box(
            acc.T, arrays, out, image, line, pixel, filters, N, OH, OW, F, STEPS, WHERE, EXTRA, FINISH
        )  # fmt: skip
        if MORE > 0:
            filters = column * (BN + MORE) + BN + tl.arange(0, MORE)
            _write_box(
                rest.T, arrays, out, image, line, pixel, filters, N, OH, OW, F, STEPS, WHERE, EXTRA, FINISH
            )  # fmt: skip
