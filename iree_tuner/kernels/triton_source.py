"""Matrix multiplications in Triton: `c = epilogue(a b)`, with f32 sums, for sizes that the tiles divide.

Imported only where Triton is installed; `triton_gemm` compiles it ahead of time.
"""

# The language's functions take and give its own values, and sizes in capitals are compile-time constants.
# ruff: noqa: N803, ANN001, ANN201, ANN202, SIM108
# pyright: basic, reportMissingImports=false

import triton
import triton.language as tl


@triton.jit
def _finish(acc, bias, columns, BIAS: tl.constexpr, RELU: tl.constexpr):
    if BIAS:
        acc += tl.load(bias + columns).to(tl.float32)[None, :]
    if RELU:
        acc = tl.maximum(acc, 0.0)
    return acc


@triton.jit
def _tile(number, TALL: tl.constexpr, ACROSS: tl.constexpr, GROUP: tl.constexpr):
    """Row and column of a tile: groups of rows first, so that tiles that run together share operands."""
    width: tl.constexpr = GROUP * ACROSS
    group = number // width
    size = min(TALL - group * GROUP, GROUP)
    return group * GROUP + (number % width) % size, (number % width) // size


@triton.jit
def plain(
    a, b, bias, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TRANSPOSED: tl.constexpr,
    BIAS: tl.constexpr, RELU: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """A workgroup for each tile; operands are loaded through pointers, asynchronously."""
    row, column = _tile(tl.program_id(0), M // BM, N // BN, GROUP)
    rows, columns, depth = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    left = a + rows[:, None] * K + depth[None, :]
    if TRANSPOSED:
        right = b + columns[None, :] * K + depth[:, None]
    else:
        right = b + depth[:, None] * N + columns[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(left), tl.load(right), acc)
        left += BK
        right += BK if TRANSPOSED else BK * N
    acc = _finish(acc, bias, columns, BIAS, RELU)
    tl.store(c + rows[:, None] * N + columns[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def persistent(
    a, b, bias, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TRANSPOSED: tl.constexpr,
    BIAS: tl.constexpr, RELU: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    GROUP: tl.constexpr, WORKGROUPS: tl.constexpr, PARTS: tl.constexpr, FLATTEN: tl.constexpr,
):  # fmt: skip
    """As many workgroups as multiprocessors, each for many tiles; operands by the bulk copy engine (TMA)."""
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    if TRANSPOSED:
        right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    else:
        right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN // PARTS])
    tiles: tl.constexpr = (M // BM) * (N // BN)
    for number in tl.range(tl.program_id(0), tiles, WORKGROUPS, flatten=FLATTEN):
        row, column = _tile(number, M // BM, N // BN, GROUP)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(0, K // BK):
            x = left.load([row * BM, step * BK])
            if TRANSPOSED:
                y = right.load([column * BN, step * BK]).T
            else:
                y = right.load([step * BK, column * BN])
            acc = tl.dot(x, y, acc)
        acc = _finish(acc, bias, column * BN + tl.arange(0, BN), BIAS, RELU)
        if PARTS == 2:
            halves = tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1))
            first, second = tl.split(halves)
            out.store([row * BM, column * BN], first.to(c.dtype.element_ty))
            out.store([row * BM, column * BN + BN // 2], second.to(c.dtype.element_ty))
        else:
            out.store([row * BM, column * BN], acc.to(c.dtype.element_ty))
