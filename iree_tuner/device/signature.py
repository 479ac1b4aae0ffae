"""The arguments of a function of a VM module, as the module declares them."""

from __future__ import annotations

from dataclasses import dataclass

import iree.runtime as rt

from iree_tuner.errors import TunerError
from iree_tuner.program.entries import ASYNC, FILLED, Entry, Taken, taken_from

_DECLARATION = "iree.abi.declaration"
_INPUT, _OUTPUT = "%input", "%output"
_FENCE = "!hal.fence"
_MODEL, _FENCED = "iree.abi.model", "coarse-fences"  # `iree-compile --iree-execution-model=async-external`
_RESULT, _TEMPORARY = "{iree.abi.output", "{iree.abi.transients"
_TEMPORARY_BYTES = "iree.abi.transients.size.constant"


@dataclass(frozen=True)
class Signature:
    """A function and its arguments.

    Attributes:
        function: of the runtime.
        taken: its inputs.
        fenced: whether two fences follow: one to wait for, and one to signal.
        results: those whose memory it takes after its inputs (`program.provided_memory`).
        temporary_bytes: of memory for temporary values, which it takes after that; None where it takes none.
        gives: its results, where it declares them.
    """

    function: rt.VmFunction
    taken: tuple[Taken, ...]
    fenced: bool
    results: tuple[Taken, ...] = ()
    temporary_bytes: int | None = None
    gives: tuple[Taken, ...] = ()


def signature_of(module: rt.VmModule, name: str, entry: Entry | None) -> Signature | None:
    """The arguments that a module declares, or else those of its program. None for twins that fill.

    A function that only takes fences is known by its name without the suffix for these.

    Raises TunerError for a function that takes memory of a size that only a call says.
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
    """The results that a declaration has: `(%output0: tensor<4xf32>, %output1: f32)`."""
    parts = [part.split(": ", 1)[1] for part in declared[_closing(declared) :].split(_OUTPUT)[1:]]
    return tuple(taken_from(part.split(" {")[0].rstrip(", )")) for part in parts)


def _is_fence(declared: str) -> bool:
    return declared.split()[0] == _FENCE


def _memory_among(parts: list[str], results: int) -> set[int]:
    """Places of the memory that `program.provided_memory` adds: one for each result, then a temporary one.

    An argument elsewhere that a result is written to is donated (`jax.jit` with `donate_argnums`): an input.
    """
    end = next((place for place, part in enumerate(parts) if _TEMPORARY in part), None)
    if end is None:
        return set()
    return {end, *(place for place in range(max(0, end - results), end) if _RESULT in parts[place])}


def _closing(declaration: str) -> int:
    """Where the list of inputs ends: results follow, or nothing."""
    end = declaration.find(") -> ")
    return end if end >= 0 else declaration.rindex(")")
