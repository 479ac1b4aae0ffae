"""Dispatches of a program one by one, on the values that each gets there. Runs in the measuring worker.

From equal inputs a dispatch's result has the tolerance of its own sums only, not what errors before it have
grown to. All memory that it allocates, and what lies behind its inputs, is filled: with NaN, with zeros, and
with large numbers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from iree_tuner.check.parts_loaded import LoadedParts, Pieces, Uploads, runs
from iree_tuner.device.bench import Tolerance
from iree_tuner.device.conditioning import Floats, Spread, deviations
from iree_tuner.device.data import step_for
from iree_tuner.device.held import (
    FILLINGS,
    Held,
    difference,
    disturbed,
    equal,
    finite,
    is_float,
    left_alone,
    without,
)
from iree_tuner.device.numerics import Agreement, compare, partial_sums
from iree_tuner.device.program_loaded import SEEDS, first_line
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.recent import Recent
from iree_tuner.errors import TunerError
from iree_tuner.program.parts import Parts, ProgramPart
from iree_tuner.targets.runtime import RUNTIME_ERRORS

Array = npt.NDArray[np.generic]


_AGAIN = 8
_ROUNDED = 36
"""Factors: their tolerance is half an epsilon of the largest sum, as for bodies that round at each op. In
f16 and bf16, GELU by tanh or erf and SiLU are at most 0.15 further off than the other terms allow."""
_LATER_PART = 0.5  # of the first seed's time: later ones fill memory in one way only
_MOST_MOVED = 1 << 25  # values, for which each is moved

Fault = Literal["wrong", "unwritten", "fails"]


Values = dict[int, Held]


@dataclass(frozen=True)
class DispatchFault:
    """A fault of a dispatch.

    Attributes:
        dispatch: name of its export.
        place: its number among the program's dispatches.
        fault: `wrong` results; `unwritten` memory is read, so that results depend on its old contents; or it
            `fails` to run.
        message: one line.
        worst: the largest error as a multiple of its tolerance.
    """

    dispatch: str
    place: int
    fault: Fault
    message: str
    worst: float = float("inf")


@dataclass(frozen=True)
class JudgedDispatches:
    """The findings in one version of a program's dispatches.

    Attributes:
        faults: of each dispatch the first.
        own: the dispatches of the program as the compiler makes it, the reference.
        compared: the dispatches that were compared, in the program's order.
        overflown: dispatches whose results have infinities or are no numbers for finite inputs.
        moves: for each seed, how far each result of the program moves if every dispatch rounds differently;
            empty where that is not known.
    """

    faults: tuple[DispatchFault, ...]
    own: tuple[DispatchFault, ...]
    compared: tuple[str, ...]
    overflown: tuple[str, ...] = ()
    moves: tuple[tuple[Spread, ...], ...] = ()


def judge_here(
    base: Pieces, other: Pieces | None, device: str, run: ProgramRun, sums: Mapping[str, Tolerance],
    seconds: float = math.inf, *, narrow: bool = True,
) -> JudgedDispatches:  # fmt: skip
    """Compare dispatches of a version with the same ones in the program as the compiler makes it.

    Args:
        base: the latter, all of its dispatches.
        other: the version; the dispatches to compare. Without, only `own` is found out.
        device: device URI.
        run: inputs and parameters.
        sums: of each dispatch, by its export.
        seconds: inputs of further seeds are made while that would end in this time; all dispatches are
            compared on the inputs of one seed.
        narrow: whether rounding to f16 and bf16 moves results; not where a widened program shows that.

    Raises:
        TunerError: one of both does not load, or a dispatch of the base does not run.
    """
    uploads: Uploads = Recent()
    theirs = LoadedParts(other, device, run, uploads) if other else None
    judge = _Judge(LoadedParts(base, device, run, uploads), theirs, sums, narrow=narrow)
    end, took_s = time.monotonic() + seconds, 0.0
    for number, seed in enumerate(SEEDS):
        if number and time.monotonic() + took_s > end:
            break
        since = time.monotonic()
        judge.go_through(seed, thorough=number == 0)
        took_s = time.monotonic() - since
        if number == 0:
            took_s *= _LATER_PART
    return judge.judged


class _Judge:
    def __init__(
        self, base: LoadedParts, other: LoadedParts | None, sums: Mapping[str, Tolerance], *, narrow: bool
    ) -> None:  # fmt: skip
        self._base = base
        self._narrow = narrow
        self._other = other
        self._sums = sums
        self._faults: dict[int, DispatchFault] = {}
        self._own: dict[int, DispatchFault] = {}
        self._overflown: dict[str, None] = {}
        self._moves: list[tuple[Spread, ...]] = []
        self._holes: dict[tuple[int, int], npt.NDArray[np.bool_] | None] = {}
        self._compared = set[int]()
        self._theirs = _matched(base.parts, other.parts) if other else {}
        held = sum(math.prod(size or 1 for size in value.shape or ()) for value in base.parts.values)
        self._with_moves = base.parts.whole and held <= _MOST_MOVED

    @property
    def judged(self) -> JudgedDispatches:
        """The findings so far."""
        faults, own = (tuple(found[place] for place in sorted(found)) for found in (self._faults, self._own))
        moves = tuple(self._moves) if len(self._moves) == len(SEEDS) else ()
        parts = self._base.parts.parts
        compared = tuple(parts[place].dispatch for place in sorted(self._compared))
        return JudgedDispatches(faults, own, compared, tuple(self._overflown), moves)

    def go_through(self, seed: int, *, thorough: bool) -> None:
        """All dispatches in order, on the base's values for one seed."""
        values: Values = {number: Held(each) for number, each in self._base.inputs(seed).items()}
        noise = np.random.default_rng(seed)
        moving = dict(values)
        for place, part in enumerate(self._base.parts.parts):
            if not runs(part, values):
                continue
            if not part.dispatch:
                self._pass_on(part, values, moving)
                continue
            read = [values[number] for number in part.reads]
            try:
                expected = self._own_results(place, part, read, thorough=thorough)
                if self._with_moves:
                    again = [moving[number] for number in part.reads]
                    moved = self._base.call(part, again, self._byte(place))
                    sizes = self._sums_of(part, read, expected, noise)
                    for number, own, made, size in zip(part.writes, expected, moved, sizes, strict=True):
                        moving[number] = Held(self._rounded(part, number, made, size, noise), own.holes)
            except RUNTIME_ERRORS as error:
                raise TunerError(f"{part.dispatch} does not run: {first_line(error)}") from None
            if not finite(expected) and finite(read):
                self._overflown[part.dispatch] = None
            values |= dict(zip(part.writes, expected, strict=True))
            if place in self._theirs and place not in self._faults:
                found = self._compare(place, part, read, expected, seed, thorough=thorough)
                if found is not None:
                    self._faults[place] = found
        if self._with_moves:
            self._moves.append(self._moved(values, moving))

    def _pass_on(self, part: ProgramPart, values: Values, moving: Values) -> None:
        """Have the base run code around dispatches. If it fails, dispatches that need it are left out."""
        for own in (values, moving) if self._with_moves else (values,):
            read = [own[number] for number in part.reads]
            try:
                made = self._base.values(part, read, FILLINGS[1])
            except RUNTIME_ERRORS:
                return
            own |= dict(zip(part.writes, map(Held, made), strict=True))

    def _byte(self, place: int) -> int:
        """The byte that memory is filled with: a number as a float, so that later dispatches get numbers."""
        return FILLINGS[1] if place in self._own else FILLINGS[0]

    def _magnitudes(self, part: ProgramPart, read: Sequence[Held]) -> list[Array]:
        """The base's results for the inputs' absolute values."""
        return self._base.call(part, [each.magnitudes for each in read], FILLINGS[1])

    def _sums_of(
        self, part: ProgramPart, read: Sequence[Held], expected: Sequence[Held], noise: np.random.Generator
    ) -> list[Floats | None]:
        """The size of each result's sums (`partial_sums`); None for what is not a float."""
        if not any(is_float(each.value) for each in expected):
            return [None for _ in expected]
        step = step_for(self._base.parts.values[number].element_type for number in part.reads)
        moved = self._base.call(part, [each.stepped(noise, step) for each in read], FILLINGS[1])
        one_sign = not any(each.has_negative for each in read)
        alike = sums_in(part, self._sums).reduction_length if one_sign else 1
        return [
            partial_sums(own.array, other, step, alike) if is_float(own.value) else None
            for own, other in zip(expected, moved, strict=True)
        ]

    def _rounded(
        self, part: ProgramPart, number: int, made: Array, size: Floats | None, noise: np.random.Generator
    ) -> Array:
        """A result as another right version could have it."""
        if size is None:
            return made
        kind, tolerance = self._base.parts.values[number].element_type, sums_in(part, self._sums)
        return disturbed(made, deviations(made, size, kind, tolerance, narrow=self._narrow), noise)

    def _moved(self, values: Values, moving: Values) -> tuple[Spread, ...]:
        """How far each result of the program moves where all dispatches round differently."""
        results = self._base.parts.results
        if results is None or any(number not in values for number in results.reads):
            return ()
        straight, moved = (
            self._base.call(results, [each[number] for number in results.reads], FILLINGS[0])
            for each in (values, moving)
        )
        if not all(finite([Held(b)]) for a, b in zip(straight, moved, strict=True) if finite([Held(a)])):
            return ()
        return tuple(Spread.between([pair]) for pair in zip(straight, moved, strict=True))

    def _own_results(
        self, place: int, part: ProgramPart, read: Sequence[Held], *, thorough: bool
    ) -> list[Held]:
        """The base's results and unwritten bytes; and whether it depends on old contents of memory."""
        expected = self._base.call(part, read, self._byte(place))
        if not thorough:
            return [Held(own, self._holes.get((place, index))) for index, own in enumerate(expected)]
        further = FILLINGS[1:] if place in self._theirs or not self._theirs else FILLINGS[1:2]
        others = [self._base.call(part, read, byte) for byte in further]
        found: list[Held] = []
        for index, own in enumerate(expected):
            again = [each[index] for each in others]
            holes = self._holes[place, index] = left_alone(own, again)
            wrong = next((each for each in again if not equal([each], [own], holes)), None)
            if wrong is not None and self._varies(self._base, part, read, expected):
                wrong = None
            if wrong is not None and place not in self._own:
                message = f"its results depend on uninitialized memory: {difference(wrong, own, holes)}"
                self._own[place] = DispatchFault(part.dispatch, place, "unwritten", message)
            found.append(Held(own if wrong is None else again[0], holes))  # what follows gets numbers
        return found

    def _compare(
        self, place: int, part: ProgramPart, read: Sequence[Held], expected: Sequence[Held],
        seed: int, *, thorough: bool,
    ) -> DispatchFault | None:  # fmt: skip
        assert self._other is not None
        self._compared.add(place)
        first: list[Array] | None = None
        for byte in FILLINGS if thorough else FILLINGS[:1]:
            try:
                got = self._other.call(self._theirs[place], read, byte)
            except RUNTIME_ERRORS as error:
                return DispatchFault(part.dispatch, place, "fails", first_line(error))
            if first is None:
                first = got
                # A default that depends on what was in memory is nothing to compare with.
                found = None if place in self._own else self._agreement(part, got, expected, read)
                if found is not None and not found.ok:
                    message = f"seed {seed}: {found.message}"
                    return DispatchFault(part.dispatch, place, "wrong", message, found.worst)
                continue
            for ours, before, own in zip(got, first, expected, strict=True):
                if not equal([ours], [before], own.holes):
                    if self._varies(self._other, self._theirs[place], read, first):
                        # From run to run, as where threads race: each must be right.
                        found = None if place in self._own else self._agreement(part, got, expected, read)
                        if found is None or found.ok:
                            return None
                        message = f"seed {seed}, in some of its runs: {found.message}"
                        return DispatchFault(part.dispatch, place, "wrong", message, found.worst)
                    message = (
                        f"its results depend on uninitialized memory: {difference(ours, before, own.holes)}"
                    )
                    return DispatchFault(part.dispatch, place, "unwritten", message)
        return None

    @staticmethod
    def _varies(
        loaded: LoadedParts, part: ProgramPart, read: Sequence[Held], before: Sequence[Array]
    ) -> bool:
        """Whether results are others on the same memory, too: then they do not depend on that."""
        return any(not equal(loaded.call(part, read, FILLINGS[0]), before) for _ in range(_AGAIN))

    def _agreement(
        self, part: ProgramPart, got: Sequence[Array], expected: Sequence[Held], read: Sequence[Held]
    ) -> Agreement:
        if equal(got, [each.array for each in expected]):
            return Agreement(True, 0.0)
        worst, magnitudes = 0.0, self._magnitudes(part, read)
        sums = sums_in(part, self._sums)
        sizes = (
            self._sums_of(part, read, expected, np.random.default_rng(len(read)))
            if part.bounded
            else [None] * len(expected)
        )
        every = zip(part.writes, got, expected, magnitudes, sizes, strict=True)
        for number, ours, theirs, scale, size in every:
            kind = self._base.parts.values[number].element_type
            found = compare(
                without(ours, theirs.holes), without(theirs.array, theirs.holes),
                kind, sums.accumulator_type, sums.reduction_length, without(scale, theirs.holes),
                (sums.factor_type, sums.factors),
                sums=None if size is None else without(size, theirs.holes),
            )  # fmt: skip
            if not found.ok:
                return found
            worst = max(worst, found.worst)
        return Agreement(True, worst)


def sums_in(part: ProgramPart, sums: Mapping[str, Tolerance]) -> Tolerance:
    """The sums of a dispatch, and its other roundings."""
    own = sums.get(part.dispatch, Tolerance())
    if own.factor_type or not part.rounds_in:
        return own
    return replace(own, factor_type=part.rounds_in, factors=_ROUNDED)


def _matched(base: Parts, other: Parts) -> dict[int, ProgramPart]:
    """The dispatches of another version that take the place of the base's, by number."""
    if base.values != other.values:
        return {}
    theirs = {(each.dispatch, each.writes): each for each in other.parts if each.dispatch}
    found = {place: theirs.get((each.dispatch, each.writes)) for place, each in enumerate(base.parts)}
    return {
        place: part
        for place, part in found.items()
        if part is not None and part.reads == base.parts[place].reads
    }
