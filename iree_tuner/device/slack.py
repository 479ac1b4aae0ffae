"""How much correct versions of a program may differ, measured by the program itself. See docs/numerics.md.

Correct versions round differently. The effect on results is measured, not bounded:

* f16 and bf16: by the same program with f32 instead (`program.widened`). Its distance from the default's
  results is the effect of rounding, on the default and on other versions.
* f32 and wider: each dispatch's results are moved by the deviation of its sums (`check.parts`), or the
  inputs by a unit in the last place if a program cannot be taken apart.

A version is correct if its largest difference and the root of its mean square are not much larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import numpy.typing as npt

from iree_tuner.device.numerics import (
    Agreement,
    compare,
    epsilon,
    in_blocks,
    is_float,
    real_parts,
    sampling_step,
)
from iree_tuner.ops.element_type import NARROW_FLOATS, ElementType
from iree_tuner.ops.tolerance import Tolerance

Array = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float64]
Results = Sequence[Sequence[Array]]

NOTHING_COMPARED = "nothing was compared: all results are NaN, by default too; pass other inputs"

LARGEST = 4.0
"""Times the largest difference of correct versions: the limit of one value."""

TYPICAL = 3.0
"""Times the root mean square of their differences: the limit of all values together."""

_SUMS = 0.2
_NUDGED = 1.5  # deviations of rounding in each dispatch's results, for a unit in the last place of inputs
NARROW_BYTES = 2
FEW = 16
"""With fewer values, a result may be close to another one by chance."""

_FEW = 4.0  # results: with so many, twice the spread that was seen is taken
_ULPS, _FUNCTIONS = 1.0, 4.0  # of the typical, and of f32 of the largest value: rounding of results alone
_DRAWN = 1_000_003  # numbers; larger inputs repeat them
_MOST_ALLOWED, _FURTHER = 0.09, 2.5  # of how much results vary, and of what is seen: for sums in f16
_LOOSE = 0.1  # of how much results vary: with more, their comparison says little
_SINGLE, _SQUARED = 4, 1e15  # bytes; numbers whose squares f32 does not hold
_INTEGER = "i32"
_EIGHT_BITS = 8

_MLIR_NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2",
    "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2fnuz": "f8E5M2FNUZ",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
}  # fmt: skip


@dataclass(frozen=True, order=True)
class Spread:
    """How much correct versions of a program differ, in one result for one seed; ordered by `typical`."""

    typical: float = 0.0  # root of the mean square of differences
    largest: float = 0.0  # the largest difference
    flipped: float = 0.0  # the part of integers that differs

    @classmethod
    def between(cls, pairs: Iterable[tuple[Array, Array]]) -> Spread:
        """The spread of pairs of results; enlarged if there are few values."""
        squares, largest, flipped, count = 0.0, 0.0, 0, 0
        for a, b in pairs:
            if a.shape != b.shape:  # it depends on values
                continue
            count += a.size
            if not is_float(a):
                flipped += int(np.count_nonzero(a != b))
                continue
            total, most, _ = _differences(np.asarray(a), np.asarray(b))
            squares, largest = squares + total, max(largest, most)
        more = 1.0 + _FEW / max(1, count)
        return cls(more * math.sqrt(squares / max(1, count)), more * largest, more * flipped / max(1, count))

    def and_also(self, other: Spread) -> Spread:
        """Combine with the spread of an independent source."""
        both = (math.hypot(self.typical, other.typical), math.hypot(self.largest, other.largest))
        return Spread(*both, max(self.flipped, other.flipped))

    def times(self, factor: float) -> Spread:
        """Scale the differences."""
        return replace(self, typical=factor * self.typical, largest=factor * self.largest)


Spreads = Sequence[Sequence[Spread]]
"""For each seed, one for each result."""


@dataclass(frozen=True)
class ErrorDepth:
    """The sources of errors in a program's results."""

    longest: int = 1  # the longest sum of a dispatch
    dispatches: int = 1  # their number
    # for each seed, how much each result changes if all dispatches round differently; empty if that was not
    # measured, so that inputs are nudged instead
    moves: tuple[tuple[Spread, ...], ...] = ()


def nudged(value: Array, rng: np.random.Generator) -> Array:
    """Floats moved by one unit in the last place, up or down; zeros, non-finite numbers and other types stay.

    Eight-bit floats also stay: rounding moves few of them, and a unit is an eighth of the value.
    """
    if not is_float(value) or value.dtype.itemsize == 1:
        return value
    own = np.ascontiguousarray(value)
    real = own.view(own.real.dtype) if own.dtype.kind == "c" else own
    bits = real.reshape(-1).view(f"i{real.dtype.itemsize}")
    size = np.iinfo(bits.dtype).max  # all but the sign
    largest = np.array(ml_dtypes.finfo(real.dtype).max, real.dtype).view(bits.dtype)
    step = rng.integers(0, 2, min(bits.size, _DRAWN), np.int8) * 2 - 1
    found = np.empty_like(bits)
    for at in range(0, bits.size, _DRAWN):
        part = bits[at : at + _DRAWN]
        moves = (part & size != 0) & (part & size < largest)
        found[at : at + _DRAWN] = part + step[: part.size] * moves
    return found.view(value.dtype).reshape(value.shape)


def deviations(own: Array, sums: Floats, element_type: str, tolerance: Tolerance, *, narrow: bool) -> Floats:
    """The deviation of each value of a dispatch's result, from one correct version to another.

    `K` roundings of sums that grow like the root of their length have `0.2 sqrt(K) eps` of the last sum as
    their deviation: each is uniform in half an epsilon of its partial sum. A result is a partial sum, too.

    Args:
        own: the result.
        sums: see `numerics.partial_sums`.
        element_type: MLIR's name of its type.
        tolerance: of the dispatch.
        narrow: whether rounding of values to f16 and bf16 counts; not if a widened program shows it. Sums in
            f16 or bf16 always count: the default's code may sum in f32 instead.
    """

    def own_epsilon(kind: str) -> float:
        return epsilon("f32") if kind in NARROW_FLOATS and not narrow else epsilon(kind)

    last = _last_rounding(element_type, own_epsilon(element_type))
    relative = _SUMS * math.sqrt(tolerance.reduction_length) * epsilon(tolerance.accumulator_type)
    if tolerance.factor_type:
        relative += own_epsilon(tolerance.factor_type) / math.sqrt(tolerance.factors)
    last += epsilon("f32")
    values, partial, found = own.reshape(-1), sums.reshape(-1), np.empty(own.size)

    def measure(block: slice) -> None:
        sizes = np.abs(values[block]).astype(np.float64)
        sizes = np.where(np.isfinite(sizes), sizes, 0.0)
        found[block] = np.hypot(relative * np.maximum(partial[block], sizes), last * sizes)

    in_blocks(values.size, measure)
    return found.reshape(own.shape)


def _last_rounding(kind: str, own: float) -> float:
    """The deviation by the last rounding of a value to a type, from one correct version to another.

    Values are f32 before they are rounded to eight bits, nearly all to the same number. A deviation between
    the epsilons of both types makes some of them change.
    """
    element = ElementType.named(kind)
    narrowest = element.is_float and element.bits == _EIGHT_BITS
    return math.sqrt(own * epsilon("f32")) if narrowest else own


def by_nudges(depth: ErrorDepth, straight: Sequence[Array], moved: Sequence[Array]) -> list[Spread]:
    """The spread of each result, by results for nudged inputs.

    Rounding is larger than a unit in the last place of inputs, and happens at every dispatch. For f16 and
    bf16 this is far too much, as most code sums in f32.
    """
    found: list[Spread] = []
    for value, other in zip(straight, moved, strict=True):
        # A sum of f32 values is off by more than its inputs' last places; one that ends in f16 is not.
        kind = mlir_name(value.dtype)
        sums = math.sqrt(depth.longest) * epsilon("f32") / (epsilon(kind) or 1.0)
        growth = _NUDGED * math.sqrt(depth.dispatches) * max(1.0, sums)
        spread = Spread.between([(value, other)]).times(growth)
        if not spread.largest and is_float(value):  # no input is a float: what sums may be off by
            off = math.sqrt(depth.longest * depth.dispatches) * _last_rounding(kind, epsilon(kind))
            spread = Spread.between([(value, np.zeros_like(value))]).times(off)
        found.append(replace(spread, flipped=0.0))
    return found


def by_widened(pairs: Sequence[tuple[Sequence[Array], Sequence[Array]]]) -> list[Spread]:
    """The spread of each result, by pairs of the default's and the widened program's results."""
    columns = zip(*([*zip(*pair, strict=True)] for pair in pairs), strict=True)
    return [Spread.between(each) for each in columns]


def and_allowed(seen: Spread, moved: Spread, value: Array) -> Spread:
    """The spread of a result by the widened program, combined with the one by moved dispatches.

    Sums that may be in f16 or bf16 are moved by more than the error of code with f32 sums. So this part is
    limited: comparisons stay meaningful, and narrow results get at most `_FURTHER` times the default's error.
    """
    both = seen.and_also(moved)
    if not is_float(value):
        return both
    most = max(seen.typical, _MOST_ALLOWED * _variation(value) / TYPICAL)
    if value.dtype.itemsize <= NARROW_BYTES:
        most = min(most, _FURTHER * seen.typical)
    part = min(1.0, most / both.typical) if both.typical else 1.0
    return replace(both, typical=part * both.typical, largest=max(seen.largest, part * both.largest))


def of_any_seed(moves: Spreads, results: Results) -> list[list[Spread]]:
    """The movement of results; for few values the largest of all seeds, relative to their size.

    A single value may move little by chance.
    """
    found = [[*each] for each in moves]
    for number, column in enumerate(zip(*results, strict=True)):
        if not is_float(column[0]) or column[0].size >= FEW:
            continue
        sizes = [_size(each) for each in column]
        pairs = [(each[number], size) for each, size in zip(moves, sizes, strict=True) if size > 0]
        for part, own, size in zip(found, moves, sizes, strict=True):
            most = max((spread.typical / each for spread, each in pairs), default=0.0)
            largest = max((spread.largest / each for spread, each in pairs), default=0.0)
            part[number] = replace(own[number], typical=most * size, largest=largest * size)
    return found


def stands_for(exact: Sequence[Array], own: Sequence[Array]) -> bool:
    """Whether the widened program's results can be compared: they are finite where the default's are."""
    if [each.shape for each in exact] != [each.shape for each in own]:
        return False
    pairs = ((a, b) for a, b in zip(exact, own, strict=True) if is_float(b))
    return all(not (np.isfinite(b) & ~np.isfinite(a)).any() for a, b in pairs)


def loose_results(results: Results, spreads: Spreads) -> dict[int, tuple[float, float]]:
    """Results that no seed compares well: how much rounding moves them, and how much they vary."""
    found: dict[int, tuple[float, float]] = {}
    for values, most in zip(results, spreads, strict=True):
        for number, (value, spread) in enumerate(zip(values, most, strict=True)):
            if is_float(value):
                moves, varies = TYPICAL * spread.typical, _variation(value)
                known = found.get(number, (math.inf, 1.0))
                found[number] = min((moves, varies), known, key=lambda each: each[0] / each[1])
    return {number: each for number, each in found.items() if each[0] > _LOOSE * each[1]}


def agreement_of(got: Results, expected: Results, spreads: Spreads, first: int = 0) -> Agreement:
    """Whether results are the same except for rounding; with a note if the comparison says little."""
    worst, numbers = 0.0, False
    for seed, (ours, theirs, most) in enumerate(zip(got, expected, spreads, strict=True), first):
        if [each.shape for each in ours] != [each.shape for each in theirs]:
            return Agreement(False, float("inf"), f"seed {seed}: the results' shapes differ")
        for number, (value, wanted, spread) in enumerate(zip(ours, theirs, most, strict=True)):
            found = _agrees(value, wanted, spread)
            if not found.ok:
                return replace(found, message=f"seed {seed}, result {number}: {found.message}")
            worst = max(worst, found.worst)
            numbers = numbers or not is_float(wanted) or not wanted.size or not np.isnan(wanted).all()
    if not numbers:
        return Agreement(True, worst, note=NOTHING_COMPARED)
    notes = [
        f"comparing result {number} is unreliable: rounding moves it by {moves:.2g}, and its values vary by "
        f"{varies:.2g}"
        for number, (moves, varies) in loose_results(expected, spreads).items()
    ]
    return Agreement(True, worst, note="; ".join(notes), loose=bool(notes))


def _agrees(value: Array, wanted: Array, spread: Spread) -> Agreement:
    if not is_float(wanted):
        return _integers_agree(value, wanted, spread)
    kind, slack = mlir_name(wanted.dtype), LARGEST * spread.largest
    total, most, all_finite = _differences(value, wanted)
    if all_finite and most <= slack:  # within any tolerance
        found = Agreement(True, most / slack if slack else 0.0)
    else:
        found = compare(value, wanted, kind, Tolerance(kind), slack=slack)
    if not found.ok or not found.worst:
        return found
    own = _ULPS * epsilon(kind) * _size(wanted)
    own += _FUNCTIONS * min(epsilon("f32"), epsilon(kind)) * float(np.max(_sample(wanted), initial=0.0))
    allowed, off = TYPICAL * spread.typical + own, math.sqrt(total / wanted.size)
    if off <= allowed:
        return replace(found, worst=max(found.worst, off / allowed))
    message = f"values are off by {off:.3g} (root mean square), those of right versions by at most "
    return Agreement(False, off / allowed if allowed else math.inf, f"{message}{allowed:.3g}")


def _integers_agree(value: Array, wanted: Array, spread: Spread) -> Agreement:
    """As many may differ as rounding of earlier floats changes."""
    found = compare(value, wanted, _INTEGER, Tolerance(_INTEGER))
    if found.ok or np.count_nonzero(value != wanted) <= LARGEST * spread.flipped * wanted.size:
        return Agreement(True, 0.0)
    return found


def arbitrated(
    found: Agreement, got: Results, expected: Results, spreads: Spreads,
    right: Callable[[int], tuple[Sequence[Array], Sequence[Spread]]],
) -> Agreement:  # fmt: skip
    """A third opinion, if results differ or their comparison says little: whether the default is wrong.

    Args:
        found: of results and what is expected.
        got: results.
        expected: what they were compared with.
        spreads: how much each may be off; not known for wrong results, because NaN does not move.
        right: the third results for a seed and their spread; called first for a seed in which both differ.
    """

    def agreement(ours: Results, theirs: Sequence[Array], most: Sequence[Spread], seed: int) -> Agreement:
        return agreement_of([ours[seed]], [theirs], [most], first=seed)

    seeds = range(len(got))
    apart = next((seed for seed in seeds if not agreement(got, expected[seed], spreads[seed], seed).ok), 0)
    worst, by_default = 0.0, found
    for seed in sorted(seeds, key=lambda each: each != apart):
        theirs, most = right(seed)
        ours = agreement(got, theirs, most, seed)
        if seed == apart:
            by_default = agreement(expected, theirs, most, seed)
        if not ours.ok or by_default.ok:
            return found
        worst = max(worst, ours.worst)
    note = f"by default, the program computes wrong results: {by_default.message}"
    return Agreement(True, worst, note=note)


def mlir_name(dtype: np.dtype[np.generic]) -> str:
    """MLIR's name of a result's type."""
    return _MLIR_NAMES.get(dtype.name, _INTEGER)


def _differences(a: Array, b: Array) -> tuple[float, float, bool]:
    """The sum of the squares of finite differences, the largest, and whether all are finite."""
    ours, theirs = real_parts(a).reshape(-1), real_parts(b).reshape(-1)
    wide = np.float64 if ours.dtype.itemsize > _SINGLE else np.float32

    def measure(block: slice) -> tuple[float, float, bool]:
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(ours[block].astype(wide) - theirs[block].astype(wide))
            known = apart[np.isfinite(apart)]
            largest = float(np.max(known, initial=0.0))
            if largest > _SQUARED:
                known = known.astype(np.float64)
            return float(np.dot(known, known)), largest, known.size == apart.size

    found = in_blocks(ours.size, measure)
    total, largest = sum(each[0] for each in found), max((each[1] for each in found), default=0.0)
    return total, largest, all(each[2] for each in found)


def _sample(values: Array) -> Floats:
    """Finite absolute values, evenly spaced if there are many."""
    some = np.abs(values.reshape(-1)[:: sampling_step(values.size)]).astype(np.float64)
    return some[np.isfinite(some)]


def _size(values: Array) -> float:
    """The root of the mean square of finite values."""
    sample = _sample(values)
    return math.sqrt(float(np.mean(np.square(sample)))) if sample.size else 0.0


def _variation(values: Array) -> float:
    """The deviation of values, evenly spaced if there are many; for a single one, its size."""
    flat = real_parts(values).reshape(-1)
    some = flat[:: sampling_step(flat.size)].astype(np.float64)
    known = some[np.isfinite(some)]
    if known.size > 1 and (deviation := float(np.std(known))) > 0:
        return deviation
    return float(np.max(np.abs(known), initial=0.0)) or math.inf
