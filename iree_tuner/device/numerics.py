"""Whether two results are the same, within what their types allow (docs/numerics.md).

A float may differ by

    2 eps(result) |x| + 16 eps(f32) max|x| + 3 sqrt(K) eps(accumulator) s + 3 eps(factor) s / sqrt(F)

where x is the expected value, K the number of values that are summed and s the bound of partial sums: the
result for the inputs' absolute values, at most twice the largest result, and at least the median. Where a
function after the sums limits results (tanh), s is at least the size of partial sums that `partial_sums`
measures. The last term is for F factors that an op computes and rounds on the way. Integers must be equal.

Each of K roundings of a sum is off by at most eps/2 of its partial sum. If the errors are independent with
mean zero, the sum's error is below t sqrt(K) (eps/2) sum|a b| with a probability of at least
1 - 2 exp(-t^2/2) (Higham and Mary, 2019). Errors have a variance of 1/3, and two sums are compared: with
t = 6, that is 3 epsilons, the probability of a larger difference is at most 4e-12. For F addends of similar
size, six deviations of the difference of two sums are 3 eps(factor) s / sqrt(F).
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import ml_dtypes
import numpy as np
import numpy.typing as npt

from iree_tuner.device.data import dtype_of, span, stepped, written
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.bindings import Binding

Array = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float64]
T = TypeVar("T")
Number = TypeVar("Number", bound=np.generic)

CHECK, SAME, SURVEY, ALLOW = "check", "same", "survey", "allow"
"""The functions that the program exports; see `check.check_program`."""

TERMS = 8
"""Numbers that `allow` takes of each output."""

WORD = 4
"""Bytes that are compared at once; buffers are whole pages."""

FILLINGS = (0xFF, 0x00, 0x7B)
"""Bytes: NaN in every float type of 16 bits and more; zero; large numbers (61,280 in f16, 1e36 in f32)."""

_SAMPLED = 131_071  # values for medians and deviations, evenly spaced
_RESULT_ROUNDINGS = 2.0  # epsilons: two roundings to the result's type on each side
_FUNCTIONS = 16.0  # epsilons of f32: errors of approximations of exp, tanh, erf and division
_SUMS = 3.0  # epsilons, times sqrt(K)
_BLOCK = 1 << 17  # values at a time, so that intermediate ones stay in the caches
_MANY_BLOCKS, _GROUP, _MOST_CORES = 8, 2, 8
_WORD = 8  # bytes
_DRAWN = 1_000_003  # numbers; longer tensors repeat them
_LONGEST_ROW = 4096
_FLOATS = ("f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")


@dataclass(frozen=True)
class FloatOutput:
    """An output of floats, as a matrix for `check.check_program`."""

    number: int  # among the tensors that are written
    start: int  # of its first byte in the buffer
    rows: int  # `rows`, `columns`: their product is its number of elements
    columns: int
    element_type: str  # MLIR's name of it

    @property
    def size(self) -> int:
        return self.rows * self.columns


def float_outputs(bindings: Sequence[Binding]) -> tuple[FloatOutput, ...] | None:
    """The outputs whose floats are compared; None if one has a type that the device cannot compare."""
    found: list[FloatOutput] = []
    for number, (binding, each, _) in enumerate(written(bindings)):
        dtype = dtype_of(each.element_type)
        if dtype is not None and dtype.kind == "i":
            continue
        if each.element_type not in _FLOATS:
            return None
        size = math.prod(each.shape)
        columns = _longest_row(size)
        start, _ = span(binding, each)
        found.append(FloatOutput(number, start, size // columns, columns, each.element_type))
    return tuple(found)


def sampling_step(size: int) -> int:
    """The distance of values in a sample of `size` values."""
    return size // _SAMPLED | 1


def words_in_row(size: int) -> int:
    """Columns of the matrices that hold a buffer of `size` bytes as words."""
    return _longest_row(size // WORD)


def _longest_row(size: int) -> int:
    return max(d for d in range(1, _LONGEST_ROW + 1) if size % d == 0)


@dataclass(frozen=True)
class Agreement:
    """Outcome of one comparison."""

    ok: bool  # within tolerance everywhere
    worst: float  # largest error as a multiple of its tolerance (1 is the limit); inf if one is not a number
    message: str = ""  # what differs; empty when `ok`
    note: str = ""  # worth knowing although it is `ok`
    corrects: bool = False  # it is right and the default is wrong; `note` says how
    loose: bool = False  # it says little, as correct versions differ much; `note` says how much


def in_blocks(size: int, work: Callable[[slice], T]) -> list[T]:
    """The result for each block of `size` values, in order; on several cores if there are many blocks."""
    blocks = [slice(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK)]
    if len(blocks) < _MANY_BLOCKS:
        return [work(block) for block in blocks]

    def group(start: int) -> list[T]:
        return [work(block) for block in blocks[start : start + _GROUP]]

    groups = _threads(os.getpid()).map(group, range(0, len(blocks), _GROUP))
    return [each for found in groups for each in found]


@functools.lru_cache(maxsize=1)
def _threads(_process: int) -> ThreadPoolExecutor:
    """The threads of a process; a fork does not have its parent's."""
    return ThreadPoolExecutor(min(_MOST_CORES, os.cpu_count() or 1))


def epsilon(element_type: str) -> float:
    """Distance from 1 to the next number; 0 for integers."""
    dtype = dtype_of(element_type)
    if dtype is None or dtype.kind in "iu":
        return 0.0
    return float(ml_dtypes.finfo(_real(dtype)).eps)


def sum_error(accumulator_type: str, reduction_length: int) -> float:
    """How much two sums of the same values, in any orders, may differ, relative to partial sums."""
    return _SUMS * math.sqrt(reduction_length) * epsilon(accumulator_type)


def halting_error(accumulator_type: str, reduction_length: int) -> float:
    """Like `sum_error`, for sums that grow with each value, if they are too long for their type; otherwise 0.

    A sum of more values than 1/u, half an epsilon, stops growing when a value is less than half of its last
    digit. Where it stops depends on the order, so that such sums can be wrong altogether.
    """
    worst = reduction_length * epsilon(accumulator_type) / 2
    return worst if worst >= 1 else 0.0


def compare(
    got: Array, expected: Array, element_type: str, tolerance: Tolerance, magnitudes: Array | None = None,
    slack: float = 0.0, sums: Floats | None = None,
) -> Agreement:  # fmt: skip
    """Compare a result with the expected one; see the module's text for the tolerance.

    Args:
        got: what to judge.
        expected: equal in shape and type, or (from a reference) of double precision.
        element_type: MLIR's name of the result's type.
        tolerance: how results come about.
        magnitudes: the expected result for the inputs' absolute values; without it, the largest expected
            value is used.
        slack: what each value may be off by in addition (`device.slack`).
        sums: the least size of partial sums (`partial_sums`).
    """
    if got.dtype == expected.dtype and same_bytes(got, expected):
        return Agreement(True, 0.0)
    dtype = dtype_of(element_type)
    if dtype is not None and dtype.kind == "i":
        return _integers(got, expected)
    ours, theirs = real_parts(got), real_parts(expected)
    allowed = tolerances(expected, element_type, tolerance, magnitudes, sums) + slack
    a, b, most = ours.reshape(-1), theirs.reshape(-1), allowed.reshape(-1)
    limit = largest_finite(element_type)

    def judge(block: slice) -> tuple[float, int, int]:
        ratio = _ratios(a[block].astype(np.float64), b[block].astype(np.float64), most[block], limit)
        place = int(np.argmax(ratio))
        return float(ratio[place]), block.start + place, int(np.count_nonzero(ratio > 1.0))

    found = in_blocks(a.size, judge)
    worst, place, _ = max(found, key=lambda each: each[0], default=(0.0, 0, 0))
    count = sum(each[2] for each in found)
    if worst <= 1.0:
        return Agreement(True, worst)
    index = np.unravel_index(place, allowed.shape)
    times = f" ({worst:.3g} times)" if math.isfinite(worst) else ""
    text = (
        f"at {list(map(int, index))}: got {float(a[place]):.9g}, expected {float(b[place]):.9g}, "
        f"tolerance {most[place]:.3g}{times}; {count} of {a.size} differ"
    )
    return Agreement(False, worst, text)


def _ratios(got: Floats, expected: Floats, allowed: Floats, limit: float) -> Floats:
    """Errors as multiples of their tolerances; infinite if one of both is not a number."""
    with np.errstate(all="ignore"):
        ratio = np.abs(np.clip(got, -limit, limit) - np.clip(expected, -limit, limit)) / allowed
    ratio[np.isnan(got) & np.isnan(expected)] = 0.0
    one_finite = np.isfinite(got) != np.isfinite(expected)
    ratio[np.isnan(ratio) | (one_finite & (ratio > 1.0))] = math.inf
    return ratio


@dataclass(frozen=True)
class Terms:
    """The terms of a tolerance, see the module's text; all but `normal` and `least` are relative."""

    rounding: float  # to the value
    functions: float  # to the largest value
    relative: float  # of sums and factors, to the largest partial sums
    halting: float  # of sums that stop growing, to the value
    normal: float  # the smallest normal number, if code may flush smaller ones; otherwise 0
    least: float  # of every value

    @classmethod
    def of(cls, element_type: str, tolerance: Tolerance) -> Terms:
        """The terms of results of a type; the arguments are those of `compare`."""
        limits, by_factors = ml_dtypes.finfo(_held(element_type)), 0.0
        if tolerance.factor_type:
            by_factors = _SUMS * epsilon(tolerance.factor_type) / math.sqrt(tolerance.factors)
        accumulator_type, reduction_length = tolerance.accumulator_type, tolerance.reduction_length
        return cls(
            _RESULT_ROUNDINGS * epsilon(element_type),
            _FUNCTIONS * min(epsilon("f32"), epsilon(accumulator_type) or 1.0),
            sum_error(accumulator_type, reduction_length) + by_factors,
            halting_error(accumulator_type, reduction_length),
            # f16: where the processor does not convert it, code does, and flushes to zero
            float(limits.smallest_normal) if element_type == "f16" else 0.0,
            2.0 * float(limits.smallest_subnormal),
        )


def tolerances(
    expected: Array, element_type: str, tolerance: Tolerance, magnitudes: Array | None = None,
    sums: Floats | None = None,
) -> Floats:  # fmt: skip
    """How much each float may differ; see the module's text. The arguments are those of `compare`."""
    values = real_parts(expected)
    scales = None if magnitudes is None else magnitudes.reshape(-1)
    if scales is not None and scales.dtype.kind == "c":  # for both parts: one may cancel in a product
        scales = np.repeat(np.abs(scales), 2)
    terms = Terms.of(element_type, tolerance)
    least = None
    if sums is not None:  # one for each real number of the expected values
        least = np.repeat(sums.reshape(-1), 2 if expected.dtype.kind == "c" else 1)
    flat, allowed = values.reshape(-1), np.empty(values.size)
    largest = _largest(flat)
    median = 0.0 if scales is None else median_of(flat[:: sampling_step(flat.size)], largest)

    def allow(block: slice) -> None:
        scale = None if scales is None else np.abs(scales[block].astype(np.float64))
        with np.errstate(all="ignore"):
            own, reached = _scales(flat[block], scale, largest, median)
            if least is not None:
                reached = np.maximum(reached, least[block])
            found = terms.rounding * own + terms.functions * largest
            found += np.minimum(terms.relative * reached, largest)
            if terms.halting and scale is not None:  # sums that grow are as large as their values' magnitudes
                found += np.where(2 * own > scale, terms.halting * own, 0)
            if terms.normal:
                found += np.where(own < terms.normal, terms.normal, 0.0)
        allowed[block] = found + terms.least

    in_blocks(flat.size, allow)
    return allowed.reshape(values.shape)


def partial_sums(own: Array, moved: Array, step: float, alike: int = 1) -> Floats:
    """The size of the sums that results come from, for each value, as it affects the value.

    Inputs that move by a step each, at random, move a sum by the step times the root of the sum of its
    squared addends, which is about the size of its partial sums. A function that follows (tanh, softmax)
    changes this by the same factor as the sum's rounding errors. If all addends have one sign, partial sums
    grow to the root of their number times that.

    Args:
        own: results.
        moved: results for inputs that are `stepped`.
        step: the relative step of each.
        alike: the number of addends, if they have one sign.
    """
    wide = np.result_type(own.dtype, np.float64) if own.dtype.kind == "c" else np.float64
    a, b, factor = own.reshape(-1), moved.reshape(-1), math.sqrt(alike) / step
    found = np.empty(a.size)

    def measure(block: slice) -> float:
        with np.errstate(all="ignore"):
            apart = np.abs(b[block].astype(wide) - a[block].astype(wide)) * factor
        known = np.where(np.isfinite(apart), apart, 0.0)
        found[block] = known
        return float(np.dot(known, known))

    typical = math.sqrt(sum(in_blocks(a.size, measure)) / max(1, a.size))

    def combine(block: slice) -> None:
        np.hypot(found[block], typical, out=found[block])

    in_blocks(a.size, combine)
    return found.reshape(own.shape)


def largest_finite(element_type: str) -> float:
    """The limit of both sides: a sum may overflow in one order and end slightly below it in another."""
    return float(ml_dtypes.finfo(_held(element_type)).max)


def _held(element_type: str) -> npt.DTypeLike:
    dtype = dtype_of(element_type)
    return np.float32 if dtype is None else _real(dtype)


def _real(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type of the parts of complex numbers; otherwise the same."""
    return np.empty(0, dtype).real.dtype if dtype.kind == "c" else dtype


def _largest(values: Array) -> float:
    """The largest finite absolute value; 1 if none is finite."""
    every = in_blocks(values.size, lambda block: float(_finite(values[block]).max(initial=-1.0)))
    largest = max(every, default=-1.0)
    return largest if largest >= 0.0 else 1.0


def median_of(values: Array, largest: float) -> float:
    """The median of the finite absolute values; `largest` if none is finite."""
    sample = _finite(values)
    return float(np.median(sample)) if sample.size else largest


def _finite(values: Array) -> Floats:
    own = np.abs(values.astype(np.float64))
    return own[np.isfinite(own)]


def _scales(
    expected: Array, magnitudes: Floats | None, largest: float, median: float
) -> tuple[Floats, Floats]:
    """The absolute values of expected values, and what partial sums can reach."""
    own = np.abs(expected.astype(np.float64))
    own = np.where(np.isfinite(own), own, largest)
    if magnitudes is None:
        return own, np.full_like(own, largest)
    reached = np.fmin(np.where(np.isfinite(magnitudes), magnitudes, np.inf), 2 * largest)
    return own, np.maximum(np.maximum(own, reached), median)


def _integers(got: Array, expected: Array) -> Agreement:
    wrong = np.argwhere(got != expected)
    if not len(wrong):
        return Agreement(True, 0.0)
    index = tuple(wrong[0])
    text = f"at {list(map(int, index))}: got {got[index]}, expected {expected[index]}, tolerance 0"
    return Agreement(False, math.inf, f"{text}; {len(wrong)} of {got.size} differ")


def real_parts(values: Array) -> Array:
    """Both parts of complex numbers along one more axis."""
    if values.dtype.kind != "c":
        return values
    own = np.ascontiguousarray(values)
    return own.view(own.real.dtype).reshape(*values.shape, 2)


def same_bytes(a: Array, b: Array) -> bool:
    """Whether two arrays hold the same bytes; stops at the first block that differs."""
    ours, theirs = _bytes(a), _bytes(b)
    whole = ours.size // _WORD * _WORD
    if ours.size != theirs.size or not np.array_equal(ours[whole:], theirs[whole:]):
        return False
    x, y = ours[:whole].view(np.uint64), theirs[:whole].view(np.uint64)
    return all(np.array_equal(x[at : at + _BLOCK], y[at : at + _BLOCK]) for at in range(0, x.size, _BLOCK))


def _bytes(values: Array) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


@dataclass(frozen=True)
class Held:
    """A value between dispatches."""

    value: Array | float | int  # an array, or a scalar that the function takes
    # elements that the dispatch did not write, for `within` to fill; or None
    holes: npt.NDArray[np.bool_] | None = None

    @property
    def array(self) -> Array:
        assert isinstance(self.value, np.ndarray)
        return self.value

    @property
    def magnitudes(self) -> Held:
        """Absolute values; of complex numbers in both parts, so that neither part of a product cancels."""
        if not is_float(self.value):
            return self
        own = np.asarray(np.abs(self.array))  # of an array without dimensions NumPy makes a number
        if self.array.dtype.kind == "c":
            own = own * self.array.dtype.type(1 + 1j)
        return Held(np.asarray(own, self.array.dtype), self.holes)

    @property
    def has_negative(self) -> bool:
        """Whether any of its floats is below 0; True for complex numbers."""
        if not is_float(self.value):
            return False
        return self.array.dtype.kind == "c" or bool(np.less(self.array, 0).any())

    def stepped(self, noise: np.random.Generator, step: float) -> Held:
        """Each value moved by a step (`data.stepped`)."""
        return Held(stepped(self.array, noise, step), self.holes) if is_float(self.value) else self

    def within(self, byte: int) -> Array | float | int:
        """The value in memory that was filled with a byte."""
        if self.holes is None:
            return self.value
        found = self.array.copy()
        found[self.holes] = _pattern(found.dtype, byte)
        return found


def is_float(value: object) -> bool:
    """Whether a value is an array of numbers that are rounded."""
    return isinstance(value, np.ndarray) and value.dtype.kind not in "iub"


def finite(values: Sequence[Held]) -> bool:
    """Whether all that was written is finite."""
    for each in values:
        if is_float(each.value):
            flat, holes = each.array.reshape(-1), None if each.holes is None else each.holes.reshape(-1)
            if not all(in_blocks(flat.size, partial(_numbers, flat, holes))):
                return False
    return True


def _numbers(values: Array, holes: npt.NDArray[np.bool_] | None, block: slice) -> bool:
    own = values[block]
    found = np.isfinite(own if own.dtype.kind == "c" else own.astype(np.float32, copy=False))
    return bool((found if holes is None else found | holes[block]).all())


def _pattern(dtype: np.dtype[np.generic], byte: int) -> np.generic:
    return np.full(dtype.itemsize, byte, np.uint8).view(dtype)[0]


def _bits(values: Array) -> npt.NDArray[np.generic]:
    """Values as integers of their size, if they exist, or as bytes, so that NaN equals itself.

    Any byte but zero is a true boolean.
    """
    own = np.ascontiguousarray(values).reshape(-1)
    if own.dtype.kind == "b":
        own = own.view(np.uint8) != 0
    return own.view(f"u{own.dtype.itemsize}") if own.dtype.itemsize <= _WORD else own.view(np.uint8)


def left_alone(own: Array, again: Sequence[Array]) -> npt.NDArray[np.bool_] | None:
    """The elements that a dispatch did not write: they keep the value that memory was filled with."""
    holes: npt.NDArray[np.bool_] | None = None
    for values, byte in zip((own, *again), FILLINGS, strict=False):  # two of them may be all that were tried
        if values.dtype.itemsize > _WORD:
            return None
        same = _bits(values) == _bits(np.full(1, _pattern(values.dtype, byte)))[0]
        holes = same if holes is None else np.logical_and(holes, same)
        if not np.any(holes):
            return None
    return None if holes is None else holes.reshape(own.shape)


def without(values: npt.NDArray[Number], holes: npt.NDArray[np.bool_] | None) -> npt.NDArray[Number]:
    """The values outside of holes."""
    return values if holes is None else values[~holes]


def equal(ours: Sequence[Array], theirs: Sequence[Array], holes: npt.NDArray[np.bool_] | None = None) -> bool:
    """Equal to the bit, except for holes; NaN equals NaN."""
    for a, b in zip(ours, theirs, strict=True):
        if a.dtype == b.dtype and same_bytes(a, b):
            continue
        x, y = a.reshape(-1), b.reshape(-1)
        unwritten = None if holes is None else holes.reshape(-1)
        for start in range(0, x.size, _BLOCK):  # no further than where they differ
            block = slice(start, start + _BLOCK)
            same = (x[block] == y[block]) | ((x[block] != x[block]) & (y[block] != y[block]))
            if not (same if unwritten is None else same | unwritten[block]).all():
                return False
    return True


def difference(a: Array, b: Array, holes: npt.NDArray[np.bool_] | None = None) -> str:
    """The first difference of two results that should be equal."""
    same = (a == b) | ((a != a) & (b != b))
    wrong = np.argwhere(~same if holes is None else ~same & ~holes)
    place = tuple(int(each) for each in wrong[0])
    return f"at {list(place)}: {a[place]} and {b[place]}; {len(wrong)} of {a.size} differ"


def disturbed(values: Array, deviations: npt.NDArray[np.float64], noise: np.random.Generator) -> Array:
    """Values as if they had been rounded differently, each by its deviation."""
    if values.dtype.kind == "c":
        both = np.repeat(deviations.reshape(-1), 2).reshape(*values.shape, 2)
        moved = disturbed(real_parts(values), both, noise)
        return moved.reshape(-1).view(values.dtype).reshape(values.shape)
    drawn = np.resize(noise.standard_normal(min(values.size, _DRAWN)), values.size)
    own, each, found = values.reshape(-1), deviations.reshape(-1), np.empty(values.size, values.dtype)

    def move(block: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            found[block] = (own[block].astype(np.float64) + drawn[block] * each[block]).astype(values.dtype)

    in_blocks(own.size, move)
    return found.reshape(values.shape)
