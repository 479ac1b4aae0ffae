"""The functions of a VM module that are run, and their arguments: given ones from files, others generated."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.array_file import header_of, read_array
from iree_tuner.device.data import PERIOD, Kind, dtype_of, integers, kind_of, random_values
from iree_tuner.device.memory import Recent
from iree_tuner.device.program_run import ArchiveMember, Filled, InputValue, ProgramRun
from iree_tuner.errors import TunerError, did_you_mean
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.dynamic import DimensionSize, size_for
from iree_tuner.program.entries import ASYNC, FILLED, PLAIN, Entry, Feed, Taken, plain_name, taken_from

_DECLARATION = "iree.abi.declaration"
_INPUT, _OUTPUT = "%input", "%output"
_FENCE = "!hal.fence"
_MODEL, _FENCED = "iree.abi.model", "coarse-fences"  # `iree-compile --iree-execution-model=async-external`
_RESULT, _TEMPORARY = "{iree.abi.output", "{iree.abi.transients"
_TEMPORARY_BYTES = "iree.abi.transients.size.constant"
_MOST_KEPT = 1 << 30  # bytes
_LEAST = 0.1  # of what must be positive
_SIZES = {"positive": 0.55, "signed": 0.5, "outliers": 1.5}
"""Of generated values: the mean, or the deviation (`device.data`)."""

Array = npt.NDArray[np.generic]

_kept: Recent[Hashable, Sequence[Array | float | int]] = Recent()


@dataclass(frozen=True)
class Signature:
    """A function and its arguments."""

    function: rt.VmFunction  # of the runtime
    taken: tuple[Taken, ...]  # its inputs
    fenced: bool  # whether two fences follow: one to wait for, and one to signal
    # those whose memory it takes after its inputs (`program.provided_memory`)
    results: tuple[Taken, ...] = ()
    temporary_bytes: int | None = None  # of memory for temporary values, which it takes after that; or None
    gives: tuple[Taken, ...] = ()  # its results, if it declares them


def signature_of(module: rt.VmModule, name: str, entry: Entry | None) -> Signature | None:
    """The arguments that a module declares, otherwise those of its program. None for twins that fill.

    A function that only takes fences is found by its name without the suffix for these. Raises TunerError for
    a function that takes memory of a size that only a call knows.
    """
    function = module.lookup_function(name) or module.lookup_function(name + ASYNC)
    if function is None or name.endswith(FILLED):
        return None
    known, fenced = function.reflection, function.reflection.get(_MODEL) == _FENCED
    declaration = known.get(_DECLARATION)
    if declaration is None:
        return Signature(function, entry.inputs, fenced or entry.fenced) if entry is not None else None
    text = declaration[declaration.index("(") + 1 : _closing(declaration)]
    parts = [part.split(": ", 1)[1] for part in text.split(f", {_INPUT}")] if text else []
    read = [taken_from(part.split(" {")[0]) for part in parts]
    fenced = fenced or any(map(_is_fence, parts))
    given, places = _given(declaration), range(len(parts))
    memory = _memory_among(parts, len(given))
    own = [read[place] for place in places if place not in memory and not _is_fence(parts[place])]
    if any(each.opaque for each in own) and entry is not None and len(own) == len(entry.inputs):
        own = list(entry.inputs)  # buffer views have the types that the program imports them as
    results = [one for place, one in enumerate(read) if place in memory and _RESULT in parts[place]]
    size = known.get(_TEMPORARY_BYTES) if any(_TEMPORARY in part for part in parts) else ""
    if size is None:  # with too little the function writes behind its end
        raise TunerError(f"@{name} takes memory for temporary values, of a size that depends on its inputs")
    bytes_ = int(size) if size else None
    return Signature(function, tuple(own), fenced, tuple(results), bytes_, given)


def _given(declared: str) -> tuple[Taken, ...]:
    """Parse a declaration's results: `(%output0: tensor<4xf32>, %output1: f32)`."""
    parts = [part.split(": ", 1)[1] for part in declared[_closing(declared) :].split(_OUTPUT)[1:]]
    return tuple(taken_from(part.split(" {")[0].rstrip(", )")) for part in parts)


def _is_fence(declared: str) -> bool:
    return declared.split()[0] == _FENCE


def _memory_among(parts: list[str], results: int) -> set[int]:
    """The arguments that `program.provided_memory` adds: memory for each result, then for temporary values.

    Other arguments that a result is written to are donated inputs (`jax.jit` with `donate_argnums`).
    """
    end = next((place for place, part in enumerate(parts) if _TEMPORARY in part), None)
    if end is None:
        return set()
    return {end, *(place for place in range(max(0, end - results), end) if _RESULT in parts[place])}


def _closing(declaration: str) -> int:
    """The end of the list of inputs; results may follow."""
    end = declaration.find(") -> ")
    return end if end >= 0 else declaration.rindex(")")


@dataclass(frozen=True)
class Argument:
    """An input of a function, and what is known about its value."""

    number: int  # among the function's inputs
    taken: Taken  # what the compiled function takes
    given: InputValue = None
    sizes: tuple[DimensionSize, ...] = ()  # for the dimensions that the program leaves open
    feed: Feed = PLAIN  # what it is for
    written: Taken | None = None  # what the function takes in the program, if that is known: files have it

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The shape, given or by the sizes; None for a number."""
        if self.taken.shape is None:
            return None
        if isinstance(self.given, str | ArchiveMember):
            return header_of(self.given).shape
        if isinstance(self.given, Filled):
            return self.given.shape
        return tuple(
            size_for(self.sizes, (self.number, index)) if size is None else size
            for index, size in enumerate(self.taken.shape)
        )

    def check(self) -> None:
        """Raises TunerError if a given value does not fit."""
        number, taken, value = self.number, self.written or self.taken, self.given
        if isinstance(value, str | ArchiveMember):
            found = header_of(value)
            _check_type(number, taken, found.shape, found.has(taken.element_type), found, value)
            _check_range(number, taken, value)
        elif isinstance(value, Filled):
            if dtype_of(value.element_type) is None:
                raise TunerError(f"input {number}: type {value.element_type} is not supported")
            # Up to signs of integers.
            same = taken.element_type.lstrip("su") == value.element_type.lstrip("su")
            _check_type(number, taken, value.shape, same, Taken(value.element_type, value.shape), None)
            _check_number(number, taken, value.value)
        elif value is not None:
            _check_number(number, taken, value)

    def why_no_value(self, missing: str = "") -> str:
        """Why a value cannot be made; empty if it can. `missing` are options that set unknown sizes.

        Raises TunerError if a given value does not fit.
        """
        if self.taken.opaque or dtype_of(self.taken.element_type) is None:
            return f"input {self.number} has the type {self.taken}, of which no values can be generated"
        self.check()
        if self.shape is not None and None in self.shape:
            return f"input {self.number} ({self.taken}) has dynamic sizes: set them with {missing or '--dim'}"
        return ""

    def value(self, seed: int, rng: np.random.Generator) -> Array | float | int:
        """A value, unless there is a reason why there is none."""
        value, shape, kind = self.given, self.shape, self.taken.element_type
        dtype = dtype_of(kind)
        assert dtype is not None
        if isinstance(value, str | ArchiveMember):
            array = _read(value, self.written or self.taken).astype(dtype, copy=False)
            return array if shape is not None else array.item()
        if isinstance(value, Filled):
            value = value.value
        if shape is None:
            return _scalar(kind, self.feed, rng) if value is None else value
        known = tuple(size for size in shape if size is not None)
        if value is None:
            drawn = random_values((min(PERIOD, math.prod(known)),), kind, seed, rng, self.feed.values)
            return np.resize(_in_range(drawn, self.feed, kind_of(seed)), known)
        return np.full(known, np.asarray(value).astype(dtype))


def argument_of(run: ProgramRun, function: str, number: int, taken: Taken, given: InputValue) -> Argument:
    """An input of a function that is run, by its number."""
    return Argument(
        number, taken, given, run.sizes, run.feed(function, number), run.written(function, number)
    )


def arguments_of(
    run: ProgramRun, function: str, taken: Sequence[Taken], given: Sequence[InputValue]
) -> tuple[Argument, ...]:
    """All inputs of a function that is run; `given` are values of the first ones."""
    values = [*given[: len(taken)], *[None] * (len(taken) - len(given))]
    pairs = enumerate(zip(taken, values, strict=True))
    return tuple(argument_of(run, function, number, each, value) for number, (each, value) in pairs)


def why_not_called(entry: Entry, run: ProgramRun, given: Sequence[InputValue]) -> str:
    """Why a function cannot be called with some inputs given; empty if it can.

    Raises TunerError if a given value does not fit.
    """
    reason = entry.not_callable or entry.refusal
    return reason or why_no_values(arguments_of(run, entry.name, entry.inputs, given), given, run.missing)


def why_no_values(arguments: Sequence[Argument], given: Sequence[InputValue], missing: str) -> str:
    """Why arguments cannot be made; empty if they can. Raises TunerError for given values that do not fit."""
    reason = next(filter(None, (each.why_no_value(missing) for each in arguments)), "")
    if not reason and len(given) > len(arguments):
        raise TunerError(f"wrong number of inputs: {len(given)} instead of {len(arguments)}")
    return reason


def _read(value: str | ArchiveMember, taken: Taken) -> Array:
    """A file's array as the program takes it: any byte but zero is a true boolean."""
    dtype = dtype_of(taken.element_type)
    assert dtype is not None
    found = np.asarray(read_array(value, dtype), order="C")
    return (found != 0).astype(dtype) if taken.element_type == "i1" else found


def _scalar(element_type: str, feed: Feed, rng: np.random.Generator) -> int | float:
    """One, or an integer that the program's uses of it allow."""
    if feed.values is None or ElementType.named(element_type).is_float:
        return 1
    return int(integers((1,), element_type, feed.values, rng)[0])


def _in_range(values: Array, feed: Feed, kind: Kind) -> Array:
    """Adapt values to their use: weights are divided by the number that is summed, to keep sizes."""
    if values.dtype.kind in "iubc" or feed.values is not None:
        return values
    if feed.fraction:
        return (_LEAST / 2 + (1 - _LEAST) * (np.abs(values.astype(np.float32)) % 1)).astype(values.dtype)
    if feed.positive and kind != "positive":
        return (np.abs(values.astype(np.float32)) + _LEAST).astype(values.dtype)
    if not feed.summed:
        return values
    per = feed.summed if kind == "positive" else math.sqrt(feed.summed)
    return (values.astype(np.float32) / np.float32(_SIZES[kind] * per)).astype(values.dtype)


def values_of(arguments: tuple[Argument, ...], seed: tuple[int, int]) -> Sequence[Array | float | int]:
    """Values for all inputs of a function, not to be written to: the last ones are kept.

    Versions of a program use the same ones, which take longer to generate than to run. `seed` is that of the
    values, and the function's number in the program.
    """

    def make() -> Sequence[Array | float | int]:
        rng = np.random.default_rng(seed if seed[1] else seed[0])
        return [each.value(seed[0], rng) for each in arguments]

    if any(isinstance(each.given, str | ArchiveMember) for each in arguments):  # a file may change
        return make()
    kinds = ((each.shape, dtype_of(each.taken.element_type)) for each in arguments)
    sizes = (
        math.prod(map(int, filter(None, shape or ()))) * dtype.itemsize for shape, dtype in kinds if dtype
    )
    return _kept.get((arguments, seed), sum(sizes), _MOST_KEPT, make)


def _check_type(
    number: int, taken: Taken, shape: tuple[int, ...], same: bool, found: object, value: InputValue
) -> None:
    wanted = taken.shape or ()
    fits = len(shape) == len(wanted) and all(
        size in (None, own) for size, own in zip(wanted, shape, strict=True)
    )
    if not fits or not same:
        key = f"'{value.key}' " if isinstance(value, ArchiveMember) else ""
        path = value.path if isinstance(value, ArchiveMember) else cast("str | None", value)
        raise TunerError(f"input {number} must have the type {taken}, but {key}has {found}", location=path)


def _check_number(number: int, taken: Taken, value: float) -> None:
    """Raises TunerError for a number that an integer type cannot hold."""
    kind = ElementType.named(taken.element_type)
    if not (kind.is_integer or kind.kind == "index"):
        return
    if isinstance(value, float) and not value.is_integer():
        raise TunerError(f"input {number} must have the type {taken}, but has {value}")
    least, most = _limits(kind)
    if not least <= value <= most:
        raise TunerError(f"input {number} ({taken}) must be from {least} to {most}, but is {value}")


def _check_range(number: int, taken: Taken, value: str | ArchiveMember) -> None:
    """Raises TunerError if a file holds integers of more bits than the program takes."""
    kind, dtype = ElementType.named(taken.element_type), dtype_of(taken.element_type)
    if not kind.is_integer or dtype is None or kind.bits in (1, 8 * dtype.itemsize):
        return
    values = read_array(value, dtype)
    least, most = _limits(kind)
    if values.size and not least <= values.min() <= values.max() <= most:
        path = value if isinstance(value, str) else value.path
        wrong = next(each for each in values.flat if not least <= int(each) <= most)
        raise TunerError(
            f"input {number} ({taken}) must be from {least} to {most}, one value each, but has {wrong}",
            location=path,
        )


def _limits(kind: ElementType) -> tuple[int, int]:
    """The integers that are accepted: for a type without a sign, signed or unsigned ones."""
    if not kind.is_integer:
        return -(1 << 63), (1 << 63) - 1
    least, most = kind.range
    return (least, most) if kind.name[0] in "su" else (-(1 << kind.bits - 1), (1 << kind.bits) - 1)


@dataclass
class LoadedFunction:
    """An entry function and its arguments.

    `filled` is its twin that fills what it allocates (`program.flow_ops`), if there is one; a function that
    only calls one with fences and waits, like torch's, has both. `memory` is for results and temporary
    values, if it takes that (`program.provided_memory`).
    """

    name: str
    signature: Signature
    taken: tuple[Taken, ...]
    given: tuple[InputValue, ...]
    filled: rt.VmFunction | None = None
    filled_fenced: bool = False
    arguments: Any = None
    values: Sequence[object] = ()
    memory: Sequence[rt.HalBuffer] = ()


def functions_of(
    module: rt.VmModule, run: ProgramRun, like: Sequence[LoadedFunction] = ()
) -> list[LoadedFunction]:
    """The functions that are run, each with its signature. Raises TunerError if there are none.

    `like` are the functions of another compilation, whose inputs these take.
    """
    entries = {entry.name: entry for entry in run.entries}
    names = dict.fromkeys(map(plain_name, module.function_names))
    signatures = {name: signature_of(module, name, entries.get(name)) for name in names}
    every = {name: found for name, found in signatures.items() if found is not None}
    if not every:
        raise TunerError("the program has no entry function with a known signature")
    for name in run.functions:
        if name not in every:
            raise unknown_function(name, list(every))
    if like:
        pairs = [(each, every[each.name]) for each in like if each.name in every]
        return [LoadedFunction(each.name, found, each.taken, each.given) for each, found in pairs]
    chosen: list[LoadedFunction] = []
    refused: list[str] = []
    for name in run.functions or every:
        found = every[name]
        given = () if chosen else run.inputs
        entry = entries.get(name)
        reason = (entry.not_callable or entry.refusal) if entry is not None else ""
        arguments = arguments_of(run, name, found.taken, given)
        reason = reason or why_no_values(arguments, given, run.missing)
        if not reason:
            own = module.lookup_function(name + FILLED)
            inner = module.lookup_function(name + ASYNC + FILLED)
            fenced = found.fenced if own else bool(inner)
            chosen.append(LoadedFunction(name, found, found.taken, given, own or inner, fenced))
            continue
        refused.append(f"@{name} cannot be called: {reason}")
        if run.functions:
            break
    if refused and (run.functions or not chosen):
        raise TunerError("; ".join(refused))
    return chosen


def unknown_function(name: str, known: Sequence[str]) -> TunerError:
    """An error about a function that a program does not have."""
    return TunerError(f"the program has no entry function '{name}'", hint=did_you_mean(name, known, 3))
