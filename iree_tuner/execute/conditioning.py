"""How far two right versions of a program may be apart, as the program itself shows. See docs/numerics.md.

Rounding errors of one dispatch go through all that follow. Their growth is measured: the program runs again
with inputs that are one unit in the last place off, or with every dispatch's results off by their rounding
(`execute.apart`). The results may differ by as much as they move then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import numpy.typing as npt

from iree_tuner.execute.held import distance, is_float
from iree_tuner.execute.numerics import Agreement, compare, epsilon, sum_error

Array = npt.NDArray[np.generic]
Results = Sequence[Sequence[Array]]

NOTHING_COMPARED = "nothing was compared: all results are NaN, by default too; pass other inputs"

_SURELY = 2.0  # times how far results move when every dispatch is off by one deviation of its rounding
_NUDGED = 6.0  # times how far they move when inputs are: rounding is larger, and at every dispatch
_DRAWN = 1_000_003  # numbers; larger inputs repeat them
_LOOSE = 0.1  # of how much results vary: with more, their comparison says little

_MLIR_NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2",
    "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2fnuz": "f8E5M2FNUZ",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
}  # fmt: skip


@dataclass(frozen=True)
class Depth:
    """The sources of errors in a program's results.

    Attributes:
        longest: the longest sum of a dispatch.
        dispatches: how many dispatches there are.
        moves: for each seed, how far each result moves if all dispatches round differently; empty where that
            was not measured, so that inputs are nudged instead.
    """

    longest: int = 1
    dispatches: int = 1
    moves: tuple[tuple[float, ...], ...] = ()


def nudged(value: Array, rng: np.random.Generator) -> Array:
    """Floats moved by one unit in the last place, either way; zeros, what is not finite and others stay."""
    if not is_float(value):
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


def slack_of(
    depth: Depth, straight: Results, again: Callable[[], Iterable[Sequence[Array]]]
) -> list[list[float]]:
    """How far results of the default may be missed, for each seed and result.

    Args:
        depth: of the program.
        straight: its results.
        again: results for nudged inputs; asked where it was not measured how results move.
    """
    if depth.moves and [len(each) for each in depth.moves] == [len(each) for each in straight]:
        return [[_SURELY * move for move in each] for each in depth.moves]
    found: list[list[float]] = []
    for own, moved in zip(straight, again(), strict=True):
        found.append([])
        for value, other in zip(own, moved, strict=True):
            # A sum of f32 values is off by more than its inputs' last places; one that ends in f16 is not.
            kind = mlir_name(value.dtype)
            sums = math.sqrt(depth.longest) * epsilon("f32") / (epsilon(kind) or 1.0)
            growth = math.sqrt(depth.dispatches) * max(1.0, sums)
            far = _NUDGED * growth * distance(value, other)
            if not far:  # no input is a float: what so many sums may be off by, of the largest result
                far = sum_error(kind, depth.longest * depth.dispatches) * distance(
                    value, np.zeros_like(value)
                )
            found[-1].append(far)
    return found


def agreement_of(
    got: Results, expected: Results, slack: Sequence[Sequence[float]], first: int = 0
) -> Agreement:
    """Whether results are the same except for rounding; with a note where the comparison says little."""
    worst, numbers, notes = 0.0, False, dict[int, str]()
    for seed, (ours, theirs, most) in enumerate(zip(got, expected, slack, strict=True), first):
        if [each.shape for each in ours] != [each.shape for each in theirs]:
            return Agreement(False, float("inf"), f"seed {seed}: the results' shapes differ")
        for number, (value, wanted, moves) in enumerate(zip(ours, theirs, most, strict=True)):
            kind = mlir_name(wanted.dtype)
            found = compare(value, wanted, kind, kind, 1, slack=moves)
            if not found.ok:
                return replace(found, message=f"seed {seed}, result {number}: {found.message}")
            worst = max(worst, found.worst)
            numbers = numbers or not is_float(wanted) or not wanted.size or not np.isnan(wanted).all()
            if is_float(wanted) and moves > _LOOSE * (spread := _spread(wanted)):
                notes[number] = (
                    f"comparing result {number} is unreliable: rounding moves it by {moves:.2g}, and its "
                    f"values vary by {spread:.2g}"
                )
    return Agreement(True, worst, note="; ".join(notes.values()) if numbers else NOTHING_COMPARED)


def arbitrated(
    found: Agreement, got: Results, expected: Results, slack: Sequence[Sequence[float]],
    right: Callable[[int], tuple[Sequence[Array], Sequence[float]]],
) -> Agreement:  # fmt: skip
    """A third opinion on results that differ from the expected ones: another agreement if those are wrong.

    Args:
        found: of both.
        got: results.
        expected: what they were compared with.
        slack: how far each may be off. That of wrong results may be none: what is not a number does not move.
        right: the third's results for a seed and their slack; asked first for one in which both differ.
    """

    def agreement(ours: Results, theirs: Sequence[Array], most: Sequence[float], seed: int) -> Agreement:
        return agreement_of([ours[seed]], [theirs], [most], first=seed)

    seeds = range(len(got))
    apart = next((seed for seed in seeds if not agreement(got, expected[seed], slack[seed], seed).ok), 0)
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
    return _MLIR_NAMES.get(dtype.name, "i32")


def _spread(values: Array) -> float:
    """The deviation of values, of a million of them where there are more; of a single one, its size."""
    sample = values.reshape(-1)[:: values.size // _DRAWN | 1]
    wide = np.abs(sample) if values.dtype.kind == "c" else sample.astype(np.float64)
    known = wide[np.isfinite(wide)]
    if known.size > 1 and (deviation := float(np.std(known))) > 0:
        return deviation
    return float(np.max(np.abs(known), initial=0.0)) or math.inf
