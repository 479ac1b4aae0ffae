"""Where another version of a program begins to compute something else. Runs in the measuring worker.

The version may have other dispatches: flags fuse differently, and kernels replace some. Its dispatches run in
order. Each result is looked for among the values of the program as the compiler builds it; if it is found,
the compiler's value is used from there on, so that errors do not add up. A dispatch with an unknown result is
to blame, unless a later result that depends on it is correct: then the same value is only computed elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from iree_tuner.check.parts import DispatchFault, LoadedParts, Pieces, Uploads, runs, sums_in
from iree_tuner.device.memory import Recent
from iree_tuner.device.numerics import FILLINGS, Agreement, Held, compare, is_float, real_parts
from iree_tuner.device.program_loaded import SEEDS
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.errors import TunerError
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.parts import ProgramPart
from iree_tuner.targets.runtime import RUNTIME_ERRORS, first_line

Array = npt.NDArray[np.generic]

_NEAR = 16.0
"""Times a dispatch's tolerance: what is fused differently rounds elsewhere, and is no defect."""

_SAMPLE = 4096
_ROUGH = 0.02  # of the largest value: what is further off in a sample is not compared value by value


def follow_here(
    base: Pieces, other: Pieces, device: str, run: ProgramRun, sums: Mapping[str, Tolerance], seconds: float
) -> tuple[DispatchFault, ...]:
    """The dispatches of a version that cause its wrong results, or that read unwritten memory.

    Arguments and errors are those of `parts.judge_here`; `other` has all of its dispatches, and after
    `seconds` no more inputs are generated.
    """
    uploads: Uploads = Recent()
    theirs, ours = LoadedParts(base, device, run, uploads), LoadedParts(other, device, run, uploads)
    found: dict[int, DispatchFault] = {}
    end = time.monotonic() + seconds
    for number, seed in enumerate(reversed(SEEDS)):
        if number and (found or time.monotonic() > end):
            break
        for finding in _Follower(theirs, ours, sums, seed).go():
            found.setdefault(finding.place, finding)
    return tuple(found[place] for place in sorted(found))


@dataclass
class _Made:
    """The results of a dispatch of the version."""

    # dispatches whose results it read, where they differ from the base's
    parents: set[int] = field(default_factory=set[int])
    found: bool = True  # whether all results are among the base's values
    message: str = ""  # how they differ from the nearest value
    worst: float = 0.0  # that difference as a multiple of its tolerance


class _Follower:
    def __init__(
        self, base: LoadedParts, other: LoadedParts, sums: Mapping[str, Tolerance], seed: int
    ) -> None:
        self._base = base
        self._other = other
        self._sums = sums
        self._makers = {n: (place, index) for place, part in enumerate(base.parts.parts) if part.dispatch
                        for index, n in enumerate(part.writes)}  # fmt: skip
        # Of other dispatches, equal names say nothing.
        self._alike_in_form = base.parts.values == other.parts.values
        self._magnitudes: dict[int, list[Array]] = {}
        self._values = {number: Held(each) for number, each in base.inputs(seed).items()}
        taken = {base.parts.takes[number]: number for number in self._values}
        for part in base.parts.parts:
            if runs(part, self._values):
                self._values |= self._passed_on(base, part, self._values)
        self._same = {n: taken[place] for n, place in enumerate(other.parts.takes) if place in taken}
        self._theirs = {number: self._values[own] for number, own in self._same.items()}
        self._origin: dict[int, int] = {}

    @staticmethod
    def _passed_on(loaded: LoadedParts, part: ProgramPart, values: Mapping[int, Held]) -> Mapping[int, Held]:
        """The results of a part; empty if code between dispatches does not run."""
        try:
            made = loaded.values(part, [values[number] for number in part.reads], FILLINGS[1])
        except RUNTIME_ERRORS as error:
            if not part.dispatch:
                return {}
            raise TunerError(f"{part.dispatch} does not run: {first_line(error)}") from None
        return dict(zip(part.writes, map(Held, made), strict=True))

    def _go_around(self, place: int, part: ProgramPart) -> _Made:
        """The results of code between dispatches; the base's, if it has the same code."""
        if self._alike_in_form and part in self._base.parts.parts:
            found = {number: self._values[number] for number in part.writes if number in self._values}
            self._same |= {number: number for number in found}
            self._theirs |= found
            return _Made()
        found = self._passed_on(self._other, part, self._theirs)
        self._theirs |= found
        self._origin |= dict.fromkeys(found, place)
        return _Made(found=False)

    def go(self) -> list[DispatchFault]:
        findings: list[DispatchFault] = []
        made: dict[int, _Made] = {}
        for place, part in enumerate(self._other.parts.parts):
            if not runs(part, self._theirs):
                continue
            if not part.dispatch:
                made[place] = self._go_around(place, part)
                continue
            try:
                got, unwritten = self._other.filled(part, [self._theirs[number] for number in part.reads], 1)
            except RUNTIME_ERRORS as error:
                message = f"{part.dispatch} does not run: {first_line(error)}"
                findings.append(DispatchFault(part.dispatch, place, "fails", message))
                continue
            if unwritten:
                findings.append(DispatchFault(part.dispatch, place, "unwritten", unwritten))
            made[place] = self._take(place, part, got)
        cleared = _cleared(made)
        blamed = {finding.place for finding in findings}
        for place, each in made.items():
            dispatch = self._other.parts.parts[place].dispatch
            if not dispatch or each.found or place in cleared or place in blamed or each.parents - cleared:
                continue
            findings.append(DispatchFault(dispatch, place, "wrong", each.message, each.worst))
        return findings

    def _take(self, place: int, part: ProgramPart, got: Sequence[Held]) -> _Made:
        """Keep results; those that the base also has are replaced by the base's."""
        parents = {self._origin[number] for number in part.reads if number in self._origin}
        made = _Made(parents)
        for index, (number, value) in enumerate(zip(part.writes, got, strict=True)):
            own, nearest = self._counterpart(part, index, value.array)
            if own is None:
                self._theirs[number], self._origin[number] = Held(value.array), place
            else:
                holes = value.holes if nearest.ok else None  # who reads it is not to blame for these
                self._same[number] = own
                self._theirs[number] = Held(self._values[own].array.reshape(value.array.shape), holes)
            if not nearest.ok:
                made.found, made.message, made.worst = False, nearest.message, nearest.worst
        return made

    def _counterpart(self, part: ProgramPart, index: int, value: Array) -> tuple[int | None, Agreement]:
        """The number of the base's value that is near enough, if any; and the agreement with the nearest."""
        reads = [self._same.get(number, -1) for number in part.reads]
        nearest = Agreement(False, float("inf"), "the program has no such value by default")
        found: int | None = None
        for number, (place, written) in self._makers.items():
            own = self._values.get(number)
            if own is None or not isinstance(own.value, np.ndarray):
                continue
            if own.array.dtype != value.dtype or own.array.size != value.size:
                continue
            maker = self._base.parts.parts[place]
            of_same = list(maker.reads) == reads
            if not of_same and not _alike(value, own.array):
                continue
            agreement = self._agreement(number, value, own.array)
            if self._alike_in_form and of_same and maker.dispatch == part.dispatch and written == index:
                return number, agreement
            if agreement.worst < nearest.worst or nearest.worst == float("inf"):
                found, nearest = number, agreement
        near = nearest.worst <= _NEAR
        return (found if near else None), replace(nearest, ok=near)

    def _agreement(self, number: int, value: Array, own: Array) -> Agreement:
        place, index = self._makers[number]
        part = self._base.parts.parts[place]
        if place not in self._magnitudes:
            absolute = {n: self._values[n].magnitudes for n in part.reads}
            made = self._passed_on(self._base, part, absolute).values()
            self._magnitudes[place] = [each.array for each in made]
        kind, sums = self._base.parts.values[number].element_type, sums_in(part, self._sums)
        return compare(value.reshape(own.shape), own, kind, sums, self._magnitudes[place][index])


def _alike(value: Array, own: Array) -> bool:
    """Whether samples of two values of equal size are roughly equal."""
    step = value.size // _SAMPLE | 1
    a, b = value.reshape(-1)[::step], own.reshape(-1)[::step]
    if not is_float(own):
        return bool(np.mean(a == b) > 1.0 - _ROUGH)
    a, b = real_parts(a).reshape(-1), real_parts(b).reshape(-1)
    a, b = a.astype(np.float64), b.astype(np.float64)
    known = np.isfinite(a) & np.isfinite(b)
    if not known.any():
        return False
    far = np.abs(a - b)[known] > _ROUGH * np.max(np.abs(b[known]), initial=0.0)
    return bool(np.mean(far) < _ROUGH)


def _cleared(made: Mapping[int, _Made]) -> set[int]:
    """Dispatches whose results correct ones use later."""
    cleared = set[int]()
    todo = [place for place, each in made.items() if each.found]
    while todo:
        for parent in made[todo.pop()].parents - cleared:
            cleared.add(parent)
            todo.append(parent)
    return cleared
