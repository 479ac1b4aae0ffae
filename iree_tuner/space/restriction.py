"""A part of a workload's spaces that a user wants searched: some pipelines, some values of knobs.

Values become one more assert of the constraints op, so that all questions about a space include them, and
trials are kept apart from the whole space's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.space.constraints import declared_knobs
from iree_tuner.space.expressions import require
from iree_tuner.space.space import Space


@dataclass(frozen=True)
class Restriction:
    """The part of the spaces that is searched; all of them if nothing is named.

    `pipelines` are names or labels (`TileAndFuse`, `TileAndFuse:igemm`); `knobs` have the values that each
    may have.
    """

    pipelines: tuple[str, ...] = ()
    knobs: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @classmethod
    def of(cls, pipelines: Sequence[str], knobs: Sequence[str]) -> Restriction:
        """From what a user writes, one or several: `NAME=VALUE,VALUE` for a knob. Raises UsageError."""
        pipelines = (pipelines,) if isinstance(pipelines, str) else tuple(pipelines)
        knobs = (knobs,) if isinstance(knobs, str) else tuple(knobs)
        return cls(pipelines, tuple(map(_read, knobs)))

    def __bool__(self) -> bool:
        return bool(self.pipelines or self.knobs)


def restricted(spaces: Sequence[Space], to: Restriction) -> tuple[Space, ...]:
    """The part of some spaces of one workload; never empty.

    Raises TunerError if they have no such pipeline or knob, or no member with these values.
    """
    kept = [each for each in spaces if not to.pipelines or {each.label, each.pipeline} & set(to.pipelines)]
    if not kept:
        known = ", ".join(each.label for each in spaces)
        raise TunerError(f"no space of the pipeline {' or '.join(to.pipelines)}, only of {known}")
    for name, _ in to.knobs:
        if all(name not in each.names for each in kept):
            known = ", ".join(dict.fromkeys(knob for each in kept for knob in each.names))
            raise TunerError(f"no knob '{name}', only {known}")
    limited = [_limited(each, to) for each in kept] if to.knobs else kept
    found = tuple(each for each in limited if each.sample(1, seed=0))
    if not found:
        wanted = ", ".join(f"{name}={','.join(map(str, values))}" for name, values in to.knobs)
        raise TunerError(f"no legal configuration has {wanted}")
    return found


def _limited(space: Space, to: Restriction) -> Space:
    # IR as text: a copy of a module, by way of bytecode
    module = ir.Module.parse(to_bytecode(space.module), space.module.context)
    copy = Space(space.workload, module)
    knobs = declared_knobs(copy.op)
    block = copy.op.operation.regions[0].blocks[0]
    with module.context, ir.Location.unknown(module.context), ir.InsertionPoint(block):
        for name, values in to.knobs:
            if name in knobs:
                allowed = ", ".join(map(str, values))
                message = f"{name} ({{}}) must be {allowed}"
                require(knobs[name].is_one_of(values), message, knobs[name])
    return Space(space.workload, module)


def _read(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, values = text.partition("=")
    try:
        found = tuple(int(value) for value in values.split(","))
    except ValueError:
        found = ()
    if not (name and equals and found):
        raise UsageError(f"'{text}' does not set values of a knob", hint="write th_k=4 or wg_0=64,128")
    return name, found
