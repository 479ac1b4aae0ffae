"""Starts the kernels of `triton_kernels` on tensors. Imported only where Triton computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from iree_tuner.suite.backends import triton_kernels
from iree_tuner.suite.backends.torch_primitives import Tensor, torch
from iree_tuner.suite.primitives import CannotError

triton: Any = import_module("triton")  # typed loosely: it need not be there where types are checked
kernels: Any = triton_kernels

Launch = Callable[[], object]

_tuners: dict[tuple[object, ...], Any] = {}
"""By kernel, tensors and constants: copies of the same inputs share what was found for one of them."""

_MOST_COLUMNS = 1 << 16  # of a softmax: its row is held in registers
_MOST_SIZE = 256  # of an attention's head, for the same reason
_PROGRAMS = 1024  # enough for the largest GPUs
_TILE = 4096  # elements
_LOADED = 16384

_GEMM = (
    # rows, columns, depth in bytes, warps, stages; the first three are for Hopper's tensor cores.
    (128, 256, 128, 8, 3), (128, 128, 128, 8, 4), (256, 128, 128, 8, 3), (128, 128, 64, 4, 4),
    (128, 64, 64, 4, 4), (64, 128, 64, 4, 4), (64, 64, 128, 4, 4), (64, 32, 128, 4, 5), (32, 64, 128, 4, 5),
    (16, 64, 256, 4, 5), (16, 128, 128, 4, 4),
)  # fmt: skip
_FLASH = (
    # rows, keys, warps, stages
    (128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3), (128, 32, 4, 3), (64, 64, 4, 3), (64, 32, 4, 3),
    (16, 64, 4, 3), (16, 128, 4, 2),
)  # fmt: skip


@dataclass(frozen=True)
class Epilogue:
    """The steps on sums before they are stored; see `triton_kernels`.

    Attributes:
        steps: names.
        slots: for each step the number of the extra that it takes; -1 for none.
        strides: of batch, row and column, for each extra.
        extras: further tensors, at most three.
    """

    steps: tuple[str, ...]
    slots: tuple[int, ...]
    strides: tuple[int, ...]
    extras: tuple[Tensor, ...]

    def pointers(self, unused: Tensor) -> list[Tensor]:
        """Three tensors; a pointer that is not read stands for missing ones."""
        return [*self.extras, *[unused] * (3 - len(self.extras))]

    @property
    def constants(self) -> dict[str, object]:
        """As the kernels take them."""
        return {"STEPS": self.steps, "SLOTS": self.slots, "STRIDES": self.strides}


def gemm(a: Tensor, b: Tensor, epilogue: Epilogue, out: Tensor) -> Launch:
    """A product, or a batch of them, with the steps after it."""
    if a.dtype != b.dtype:
        raise CannotError(f"iree-tuner has no Triton kernel for a product of {a.dtype} and {b.dtype}")
    (batch, m, k), left = three(a, a.shape)
    n = b.shape[-1]
    constants = {
        "M": m, "N": n, "K": k, "A": left, "B": three(b, b.shape)[1], "PRECISION": "ieee",
        "NARROW": a.dtype.is_floating_point and a.element_size() == 1, **epilogue.constants,
    }  # fmt: skip
    size = a.element_size()
    configurations = [
        ({"BM": bm, "BN": bn, "BK": depth // size, "GROUP": 8}, warps, stages)
        for bm, bn, depth, warps, stages in _GEMM
        if bm <= max(16, 2 * _up(m)) and bn <= max(64, 2 * _up(n))
    ]

    def grid(chosen: Mapping[str, int]) -> tuple[int, ...]:
        return (-(-m // chosen["BM"]) * -(-n // chosen["BN"]), batch)

    return _tuned(kernels.gemm, configurations, grid, [a, b, *epilogue.pointers(out), out], constants)


def attention(operands: Sequence[Tensor], causal: bool, scale: float, out: Tensor) -> Launch:
    """Attention of q, k, v and perhaps a mask."""
    q, k, v = operands[:3]
    mask = operands[3] if len(operands) > 3 else None
    _, heads, queries, size = q.shape
    values = v.shape[3]
    if max(size, values) > _MOST_SIZE or q.element_size() == 1 or len({q.dtype, k.dtype, v.dtype}) > 1:
        raise CannotError(
            f"iree-tuner has no Triton kernel for attention of {q.dtype} with heads of {size}, {values}"
        )
    spread = (*q.shape[:3], k.shape[2])
    constants: dict[str, object] = {
        "QUERIES": queries, "KEYS": k.shape[2], "HEADS": heads, "SHARED": heads // k.shape[1],
        "Q": q.stride(), "K": k.stride(), "V": v.stride(),
        "MASK": (0, 0, 0, 0) if mask is None else mask.expand(spread).stride(),
        "SIZE": size, "VALUES": values, "SIZE_2": max(16, _up(size)), "VALUES_2": max(16, _up(values)),
        "SCALE": scale, "CAUSAL": causal, "MASKED": mask is not None, "PRECISION": "ieee",
    }  # fmt: skip
    configurations = [
        ({"BM": rows, "BN": keys}, warps, stages)
        for rows, keys, warps, stages in _FLASH
        if rows <= max(16, 2 * _up(queries)) and rows * _up(max(size, values)) * q.element_size() <= 1 << 16
    ]

    def grid(chosen: Mapping[str, int]) -> tuple[int, ...]:
        return (-(-queries // chosen["BM"]), q.shape[0] * heads)

    return _tuned(kernels.flash, configurations, grid, [q, k, v, q if mask is None else mask, out], constants)


def softmax(x: Tensor, out: Tensor) -> Launch:
    """Along the last axis of a tensor whose rows lie behind one another."""
    columns = x.shape[-1]
    if columns > _MOST_COLUMNS or not x.is_contiguous() or not x.dtype.is_floating_point:
        raise CannotError(
            f"iree-tuner has no Triton kernel for a softmax of {x.dtype} over {columns} elements"
        )
    block = _up(columns)
    warps = min(16, max(1, block // 512))
    constants = {"COLUMNS": columns, "BLOCK": block, "num_warps": warps}
    return _started(kernels.softmax, (x.numel() // columns,), [x, out], constants)


def reduced(x: Tensor, kind: str, factor: float, out: Tensor) -> Launch:
    """Of the middle axis of a tensor of three; sums, maxima or minima times a factor."""
    outer, length, inner = x.shape
    columns = min(_up(inner), 128)
    rows = min(_up(length), _TILE // columns)
    real = x.dtype.is_floating_point
    limits = torch.iinfo(torch.int32)
    neutral = {
        "sum": 0,
        "max": float("-inf") if real else limits.min,
        "min": float("inf") if real else limits.max,
    }[kind]
    if not real and factor != 1:
        raise CannotError("iree-tuner has no Triton kernel for means of integers")
    constants = {
        "LENGTH": length, "INNER": inner, "KIND": kind, "NEUTRAL": neutral,
        "FACTOR": factor, "BL": rows, "BI": columns, "num_warps": 4,
    }  # fmt: skip
    return _started(kernels.reduce, (outer * -(-inner // columns),), [x, out], constants)


def parts_of(outer: int, length: int, inner: int) -> int:
    """Into how many a reduction is split, so that there are enough programs with enough to do."""
    programs = outer * -(-inner // 128)
    parts = 1
    while (
        programs * parts < _PROGRAMS
        and length % (2 * parts) == 0
        and length // parts * min(inner, 128) > _LOADED
    ):
        parts *= 2
    return parts


def chain(x: Tensor, epilogue: Epilogue, out: Tensor) -> Launch:
    """Functions element by element."""
    (batch, m, n), strides = three(x, out.shape)
    columns = min(_up(n), 1024)
    rows = min(_up(m), _TILE // columns)
    constants = {"M": m, "N": n, "X": strides, "BM": rows, "BN": columns, "num_warps": 8}
    grid = (batch * -(-m // rows) * -(-n // columns),)
    return _started(
        kernels.chain, grid, [x, *epilogue.pointers(out), out], {**constants, **epilogue.constants}
    )


def three(x: Tensor, shape: Sequence[int]) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """A tensor broadcast to a shape, seen with three dimensions: sizes and strides.

    Raises:
        CannotError: its leading dimensions are not one.
    """
    wide = x.expand(tuple(shape))
    sizes = [1] * (3 - wide.dim()) + list(wide.shape)
    strides = [0] * (3 - wide.dim()) + list(wide.stride())
    while len(sizes) > 3:
        if sizes[0] != 1 and strides[0] != sizes[1] * strides[1]:
            raise CannotError("iree-tuner has no Triton kernel for tensors whose batch has several strides")
        sizes[:2] = [sizes[0] * sizes[1]]
        strides.pop(0)
    return (sizes[0], sizes[1], sizes[2]), (strides[0], strides[1], strides[2])


def _tuned(
    kernel: Any,  # noqa: ANN401
    configurations: Sequence[tuple[dict[str, int], int, int]],
    grid: Callable[[Mapping[str, int]], tuple[int, ...]],
    tensors: Sequence[Tensor],
    constants: Mapping[str, object],
) -> Launch:
    """A launch; the first of its kind tries all configurations, on whichever copy that is."""
    if tensors[0].device.type == "cpu":  # interpreted, where all are alike
        blocks = min((each[0] for each in configurations), key=lambda each: math.prod(each.values()))
        return lambda: kernel[grid](*tensors, **constants, **blocks)
    choices = [
        triton.Config(blocks, num_warps=warps, num_stages=stages) for blocks, warps, stages in configurations
    ]
    kind = (kernel.__name__, *((each.shape, each.stride(), each.dtype) for each in tensors), str(constants))
    tuner = _tuners.get(kind)
    if tuner is None:
        tuner = _tuners[kind] = triton.autotune(choices, key=[])(kernel)
    return lambda: tuner[grid](*tensors, **constants)


def _started(
    kernel: Any,  # noqa: ANN401
    grid: tuple[int, ...],
    tensors: Sequence[Tensor],
    constants: Mapping[str, object],
) -> Launch:
    return lambda: kernel[grid](*tensors, **constants)


def _up(size: int) -> int:
    """To a power of two."""
    return 1 << (size - 1).bit_length()
