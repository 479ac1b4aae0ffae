"""The functions of a VM module that are run, and their arguments: given ones from files, others generated."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.array_file import header_of, read_array
from iree_tuner.device.data import PERIOD, Kind, dtype_of, integers, kind_of, random_values
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

_kept: OrderedDict[Hashable, Sequence[Array | float | int]] = OrderedDict()


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


def why_not_called(
    entry: Entry, given: Sequence[InputValue], sizes: Sequence[DimensionSize], missing: str = ""
) -> str:
    """Why a function cannot be called with some inputs given; empty if it can.

    Raises TunerError if a given value does not fit.
    """
    reason = entry.not_callable or entry.refusal
    return reason or why_no_values(entry.inputs, given, sizes, missing=missing)


def why_no_values(
    taken: Sequence[Taken], given: Sequence[InputValue], sizes: Sequence[DimensionSize],
    written: Sequence[Taken] = (), missing: str = "",
) -> str:  # fmt: skip
    """Why arguments cannot be made with some inputs given; empty if they can.

    Args:
        taken: what the compiled function takes.
        given: values of the first inputs.
        sizes: for the dimensions that the program leaves open.
        written: what the function takes in the program, if that is known: files have these types.
        missing: options that set unknown sizes.

    Raises:
        TunerError: a given value does not fit.
    """
    for number, each in enumerate(taken):
        value = given[number] if number < len(given) else None
        own = written[number] if number < len(written) else None
        if reason := why_no_value(number, each, value, sizes, own, missing):
            return reason
    if len(given) > len(taken):
        raise TunerError(f"wrong number of inputs: {len(given)} instead of {len(taken)}")
    return ""


def why_no_value(
    number: int, taken: Taken, value: InputValue, sizes: Sequence[DimensionSize],
    written: Taken | None = None, missing: str = "",
) -> str:  # fmt: skip
    """The same for one input."""
    if taken.opaque or dtype_of(taken.element_type) is None:
        return f"input {number} has the type {taken}, of which no values can be generated"
    check_input(number, written or taken, value)
    shape = shape_of(number, taken, value, sizes)
    if shape is not None and None in shape:
        return f"input {number} ({taken}) has dynamic sizes: set them with {missing or '--dim'}"
    return ""


def check_input(number: int, taken: Taken, value: InputValue) -> None:
    """Raises TunerError if a given value does not fit."""
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


def argument(
    number: int, taken: Taken, value: InputValue, sizes: Sequence[DimensionSize], seed: int,
    rng: np.random.Generator, feed: Feed = PLAIN, written: Taken | None = None,
) -> Array | float | int:  # fmt: skip
    """A value for an input that `why_no_values` accepts."""
    shape = shape_of(number, taken, value, sizes)
    dtype = dtype_of(taken.element_type)
    assert dtype is not None
    if isinstance(value, str | ArchiveMember):
        array = _read(value, written or taken).astype(dtype, copy=False)
        return array if shape is not None else array.item()
    if isinstance(value, Filled):
        value = value.value
    if shape is None:
        return _scalar(taken.element_type, feed, rng) if value is None else value
    known = tuple(size for size in shape if size is not None)
    if value is None:
        count = min(PERIOD, math.prod(known))
        drawn = random_values((count,), taken.element_type, seed, rng, feed.values)
        return np.resize(_in_range(drawn, feed, kind_of(seed)), known)
    return np.full(known, np.asarray(value).astype(dtype))


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


def arguments(
    taken: Sequence[Taken], given: Sequence[InputValue], sizes: Sequence[DimensionSize],
    seed: tuple[int, int], feeds: Sequence[Feed], written: Sequence[Taken | None] = (),
) -> Sequence[Array | float | int]:  # fmt: skip
    """Values for all inputs of a function, not to be written to: the last ones are kept.

    Versions of a program use the same ones, which take longer to generate than to run.

    Args:
        taken: its inputs.
        given: values of the first ones.
        sizes: for the dimensions that the program leaves open.
        seed: of the values, and the function's number in the program.
        feeds: what each is for.
        written: see `why_no_values`.
    """
    key = (tuple(taken), tuple(given), tuple(sizes), seed, tuple(feeds))
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key]
    rng = np.random.default_rng(seed if seed[1] else seed[0])
    values = [given[number] if number < len(given) else None for number in range(len(taken))]
    types = [written[number] if number < len(written) else None for number in range(len(taken))]
    found = [
        argument(number, each, value, sizes, seed[0], rng, feed, own)
        for number, (each, value, feed, own) in enumerate(zip(taken, values, feeds, types, strict=True))
    ]
    if not any(isinstance(each, str | ArchiveMember) for each in given):  # a file may change
        _kept[key] = found
        arrays = (each for values in _kept.values() for each in values if isinstance(each, np.ndarray))
        held = sum(each.nbytes for each in arrays)
        while len(_kept) > 1 and held > _MOST_KEPT:
            _, dropped = _kept.popitem(last=False)
            held -= sum(each.nbytes for each in dropped if isinstance(each, np.ndarray))
    return found


def shape_of(
    number: int, taken: Taken, value: InputValue, sizes: Sequence[DimensionSize]
) -> tuple[int | None, ...] | None:
    """The shape of an input, given or by the sizes; None for a number."""
    if taken.shape is None:
        return None
    if isinstance(value, str | ArchiveMember):
        return header_of(value).shape
    if isinstance(value, Filled):
        return value.shape
    return tuple(
        size_for(sizes, (number, index)) if size is None else size for index, size in enumerate(taken.shape)
    )


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
        written = entry.inputs if entry is not None else ()
        reason = reason or why_no_values(found.taken, given, run.sizes, written, run.missing)
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
