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
from typing import Literal, cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.data import step_for, stored
from iree_tuner.device.memory import Recent, copied, hal_type, push, read_back, uploaded
from iree_tuner.device.numerics import (
    FILLINGS,
    Agreement,
    Held,
    compare,
    difference,
    disturbed,
    equal,
    finite,
    is_float,
    left_alone,
    partial_sums,
    without,
)
from iree_tuner.device.program_inputs import argument_of
from iree_tuner.device.program_loaded import SEEDS
from iree_tuner.device.program_parameters import with_parameters
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import Floats, Spread, deviations
from iree_tuner.errors import TunerError
from iree_tuner.ops.element_type import NARROW_FLOATS
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.entries import Taken, plain_name
from iree_tuner.program.parts import Parts, ProgramPart
from iree_tuner.targets import on_host
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for, first_line

Array = npt.NDArray[np.generic]
Values = dict[int, Held]
Fault = Literal["wrong", "unwritten", "fails"]
Uploads = Recent[tuple[int, int | None], tuple[Held, rt.HalBuffer]]
"""A value and its copy on the device, by the value's `id` and, if it has holes, their filling."""

_BEHIND = 4096  # bytes behind each input that are filled, too
_MOST_UPLOADED = 1 << 30  # bytes
_AGAIN = 8
_ROUNDED = 36
"""Factors: their tolerance is half an epsilon of the largest sum, as for bodies that round at each op. In
f16 and bf16, GELU by tanh or erf and SiLU are at most 0.15 further off than the other terms allow."""
_LATER_PART = 0.5  # of the first seed's time: later ones fill memory in one way only
_MOST_MOVED = 1 << 25  # values, for which each is moved


@dataclass(frozen=True)
class Pieces:
    """A program in parts: the path of its VM module, and its description."""

    path: str
    parts: Parts


class LoadedParts:
    """A program in parts on a device.

    `uploads` has values that are on a GPU already, for programs that get the same ones. Raises TunerError if
    loading fails.
    """

    def __init__(self, pieces: Pieces, device: str, run: ProgramRun, uploads: Uploads | None = None) -> None:
        self._uploads = None if on_host(device) else uploads
        self.parts = pieces.parts
        self._run = run
        self.device_uri = device
        config, hal = device_for(device)
        self.device = config.device
        try:
            self._module = rt.VmModule.mmap(config.vm_instance, pieces.path)
            own = None if on_host(device) else config.device
            _, self._context = with_parameters(run, config.vm_instance, own, [hal, self._module])
        except RUNTIME_ERRORS as error:
            raise TunerError(f"the program in parts does not load: {first_line(error)}") from None

    def inputs(self, seed: int) -> dict[int, Array | float | int]:
        """Values of the functions' arguments, by number, if they can be generated."""
        names = [*map(plain_name, self.parts.functions)]
        rngs = {
            name: np.random.default_rng((seed, place) if place else seed) for place, name in enumerate(names)
        }
        found: dict[int, Array | float | int] = {}
        for place, ((name, number), value) in enumerate(
            zip(self.parts.takes, self.parts.values, strict=False)
        ):
            given = self._run.input(number) if name == names[0] else None
            argument = argument_of(self._run, name, number, Taken(value.element_type, value.shape), given)
            if not argument.why_no_value():
                found[place] = argument.value(seed, rngs[name])
        return found

    def call(self, part: ProgramPart, read: Sequence[Held], byte: int) -> list[Array]:
        """A part's results for values, in memory that is filled with a byte."""
        return [np.asarray(each) for each in self.values(part, read, byte)]

    def values(self, part: ProgramPart, read: Sequence[Held], byte: int) -> list[Array | float | int]:
        """The same; scalars stay numbers."""
        arguments, results = rt.VmVariantList(len(read) + 1), rt.VmVariantList(len(part.writes))
        for number, held in zip(part.reads, read, strict=True):
            own, value = self.parts.values[number], held.within(byte)
            made = self._view(own, held, value, byte) if isinstance(value, np.ndarray) else value
            push(arguments, made, own.element_type)
        arguments.push_int(byte)
        function = self._module.lookup_function(part.function)
        assert function is not None, "`take_apart` exports it"
        self._context.invoke(function, arguments, results)
        made = [cast("rt.VmRef | float | int", results.get_variant(index)) for index in range(results.size)]
        return [read_back(self.device, each) if isinstance(each, rt.VmRef) else each for each in made]

    def varies(self, part: ProgramPart, read: Sequence[Held], before: Sequence[Array], byte: int) -> bool:
        """Whether results also differ on the same memory, and therefore do not depend on its contents."""
        return any(not equal(self.call(part, read, byte), before) for _ in range(_AGAIN))

    def filled(
        self, part: ProgramPart, read: Sequence[Held], usual: int, fillings: Sequence[int] = FILLINGS
    ) -> tuple[list[Held], str]:
        """A part's results with unwritten elements; and how they depend on old contents of memory.

        They are those in memory with the `usual` one of the fillings; what depends on it, in memory of zeros.
        """
        made, found, message = [self.call(part, read, byte) for byte in fillings], list[Held](), ""
        for own, *every in zip(made[usual], *made, strict=True):
            holes = left_alone(every[0], every[1:])
            wrong = next((each for each in every if not equal([each], [own], holes)), None)
            if wrong is not None and self.varies(part, read, made[usual], fillings[usual]):
                wrong = None
            if wrong is not None and not message:
                message = f"its results depend on uninitialized memory: {difference(wrong, own, holes)}"
            found.append(Held(own if wrong is None else every[1], holes))  # what follows gets numbers
        return found, message

    def _view(self, value: Taken, held: Held, array: Array, byte: int) -> rt.VmRef:
        """A value on the device, in memory of its own: a dispatch may write to it (docs/upstream)."""
        raw = stored(array, value.element_type)
        if self._uploads is None:
            buffer = self.buffer(raw, byte)
        else:
            key = (id(held), None if held.holes is None else byte)
            there = self._uploads.get(
                key, raw.size, _MOST_UPLOADED, lambda: (held, uploaded(self.device, raw))
            )
            buffer = copied(self.device, there[1], _BEHIND, byte)
        view = rt.HalBufferView(buffer, list(array.shape), hal_type(value.element_type))
        return cast(rt.VmRef, view)  # any ref object will do; the stubs name one

    def buffer(self, raw: npt.NDArray[np.uint8], byte: int) -> rt.HalBuffer:
        """A buffer with bytes, and filled ones behind them."""
        return uploaded(self.device, np.concatenate([raw, np.full(_BEHIND, byte, np.uint8)]))


def runs(part: ProgramPart, values: Mapping[int, Held]) -> bool:
    """Whether the program runs a part, and all that the part reads is known."""
    known = all(number in values for number in part.reads)
    return known and all(
        number in values and bool(values[number].value) == wanted for number, wanted in part.only_if
    )


@dataclass(frozen=True)
class DispatchFault:
    """A fault of a dispatch."""

    dispatch: str  # name of its export
    place: int  # its number among the program's dispatches
    fault: Fault  # `wrong` results; results depend on `unwritten` memory; or it `fails` to run
    message: str  # one line
    worst: float = float("inf")  # the largest error as a multiple of its tolerance


@dataclass(frozen=True)
class JudgedDispatches:
    """The faults of one version of a program's dispatches."""

    faults: tuple[DispatchFault, ...]  # the first one of each dispatch
    own: tuple[DispatchFault, ...]  # those of the reference, the program as the compiler makes it
    compared: tuple[str, ...]  # the dispatches that were compared, in the program's order
    overflown: tuple[str, ...] = ()  # dispatches with infinities or NaN as results of finite inputs
    # for each seed, how much each result of the program changes if every dispatch rounds differently; empty
    # if that is not known
    moves: tuple[tuple[Spread, ...], ...] = ()


def judge_here(
    base: Pieces, other: Pieces | None, device: str, run: ProgramRun, sums: Mapping[str, Tolerance],
    seconds: float = math.inf, *, narrow: bool = True,
) -> JudgedDispatches:  # fmt: skip
    """Compare the dispatches of a version with those of the program as the compiler makes it.

    Args:
        base: the latter, with all of its dispatches.
        other: the version, with the dispatches to compare. If None, only `own` is filled in.
        device: device URI.
        run: inputs and parameters.
        sums: tolerances of the dispatches, by export.
        seconds: further seeds are used as long as that is expected to end within this time; all dispatches
            are compared on the inputs of one seed.
        narrow: whether rounding to f16 and bf16 changes results; False if a widened program shows that.

    Raises:
        TunerError: a program does not load, or a dispatch of the base does not run.
    """
    uploads: Uploads = Recent()
    theirs = LoadedParts(other, device, run, uploads) if other else None
    judge = _DispatchJudge(LoadedParts(base, device, run, uploads), theirs, sums, narrow=narrow)
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


class _DispatchJudge:
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
        self._with_moves = base.parts.whole and held <= _MOST_MOVED and not self._widened_shows

    @property
    def judged(self) -> JudgedDispatches:
        faults, own = (tuple(found[place] for place in sorted(found)) for found in (self._faults, self._own))
        moves = tuple(self._moves) if len(self._moves) == len(SEEDS) else ()
        parts = self._base.parts.parts
        compared = tuple(parts[place].dispatch for place in sorted(self._compared))
        return JudgedDispatches(faults, own, compared, tuple(self._overflown), moves)

    @property
    def _widened_shows(self) -> bool:
        """Whether the widened program alone shows how far correct versions are apart.

        It does if no sum is in f16 or bf16: rounding of the results is then more than what comes before.
        """
        results = self._base.parts.results
        if self._narrow or results is None or not results.reads:
            return False
        kinds = {self._base.parts.values[number].element_type for number in results.reads}
        sums = (each for each in self._sums.values() if each.reduction_length > 1)
        return kinds <= {*NARROW_FLOATS} and not any(each.accumulator_type in NARROW_FLOATS for each in sums)

    def go_through(self, seed: int, *, thorough: bool) -> None:
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
        """Have the base run code between dispatches. If it fails, dispatches that need it are left out."""
        for own in (values, moving) if self._with_moves else (values,):
            read = [own[number] for number in part.reads]
            try:
                made = self._base.values(part, read, FILLINGS[1])
            except RUNTIME_ERRORS:
                return
            own |= dict(zip(part.writes, map(Held, made), strict=True))

    def _byte(self, place: int) -> int:
        """The byte that memory is filled with; where the base reads it, a valid number."""
        return FILLINGS[1] if place in self._own else FILLINGS[0]

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
        """A result as another correct version could have it."""
        if size is None:
            return made
        kind, tolerance = self._base.parts.values[number].element_type, sums_in(part, self._sums)
        return disturbed(made, deviations(made, size, kind, tolerance, narrow=self._narrow), noise)

    def _moved(self, values: Values, moving: Values) -> tuple[Spread, ...]:
        """How much each result of the program changes if all dispatches round differently."""
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
        """The base's results with unwritten elements; records if they depend on old contents of memory."""
        if not thorough:
            expected = self._base.call(part, read, self._byte(place))
            return [Held(own, self._holes.get((place, index))) for index, own in enumerate(expected)]
        fillings = FILLINGS if place in self._theirs or not self._theirs else FILLINGS[:2]
        found, message = self._base.filled(part, read, 0, fillings)
        self._holes |= {(place, index): each.holes for index, each in enumerate(found)}
        if message:
            self._own[place] = DispatchFault(part.dispatch, place, "unwritten", message)
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
            when = f"seed {seed}"
            if first is not None:
                every = zip(got, first, [each.holes for each in expected], strict=True)
                changed = next((each for each in every if not equal([each[0]], [each[1]], each[2])), None)
                if changed is None:
                    continue
                if not self._other.varies(self._theirs[place], read, first, FILLINGS[0]):
                    message = f"its results depend on uninitialized memory: {difference(*changed)}"
                    return DispatchFault(part.dispatch, place, "unwritten", message)
                when += ", in some of its runs"  # as where threads race: each must be right
            # A default that depends on what was in memory is nothing to compare with.
            found = None if place in self._own else self._agreement(part, got, expected, read)
            if found is not None and not found.ok:
                return DispatchFault(part.dispatch, place, "wrong", f"{when}: {found.message}", found.worst)
            if first is not None:
                return None
            first = got
        return None

    def _agreement(
        self, part: ProgramPart, got: Sequence[Array], expected: Sequence[Held], read: Sequence[Held]
    ) -> Agreement:
        if equal(got, [each.array for each in expected]):
            return Agreement(True, 0.0)
        worst = 0.0
        magnitudes = self._base.call(part, [each.magnitudes for each in read], FILLINGS[1])
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
                kind, sums, without(scale, theirs.holes),
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
    """For the number of a dispatch in the base, the one of another version that replaces it."""
    if base.values != other.values:
        return {}
    theirs = {(each.dispatch, each.writes): each for each in other.parts if each.dispatch}
    found = {place: theirs.get((each.dispatch, each.writes)) for place, each in enumerate(base.parts)}
    return {
        place: part
        for place, part in found.items()
        if part is not None and part.reads == base.parts[place].reads
    }
