"""Which spaces a workload has on a target, and the parts of them that a user wants searched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from iree.compiler import ir

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.ops.workload import NO_LOOPS, Workload
from iree_tuner.space.constraints import declared_knobs
from iree_tuner.space.expressions import require
from iree_tuner.space.providers import SpaceRequest, provider
from iree_tuner.space.space import Space
from iree_tuner.targets import Limits


def build_spaces(
    workload: Workload,
    limits: Limits,
    context: ir.Context,
    emitted: Sequence[bytes] = (),
    *,
    supplements: bool = True,
) -> tuple[Space, ...]:
    """The spaces of a workload, one for each pipeline that can lower it; never empty.

    The arguments are those of `SpaceRequest`. Raises TunerError if no space is known for the workload on this
    target, if none has a member, and if the op has no loops.
    """
    if not workload.loops:
        raise TunerError(NO_LOOPS)
    request = SpaceRequest(workload, limits, context, tuple(emitted), supplements)
    found_by = provider(workload.family)
    with context, ir.Location.unknown(context):
        modules = found_by.constraints(request) if found_by is not None else ()
    if not modules:
        raise TunerError(f"no search space on {limits.title} for the op family '{workload.family}'")
    spaces = tuple(Space(workload, module) for module in modules)
    found = tuple(space for space in spaces if space.sample(1, seed=0))
    if not found:
        pipelines = ", ".join(space.label for space in spaces)
        raise TunerError(f"no configuration of {pipelines} fits {workload.name} on {limits.title}")
    return found


def build_space(workload: Workload, limits: Limits, context: ir.Context) -> Space:
    """The first of a workload's spaces, the only one on llvm-cpu. Raises TunerError like `build_spaces`."""
    return build_spaces(workload, limits, context)[0]


# Workloads with dynamic loops, as builders of spaces for GPUs are given them.


_ROWS = ("m", "output_image")
"""Roles whose innermost loop is padded to tiles; there is no padding for other loops of a result.

Loops without a role, of generic ops, are masked."""


def undivided(workload: Workload) -> Workload:
    """The workload, with sizes for its dynamic loops that need the same code as unknown sizes.

    Rows have a prime, the largest odd one that is not larger: no tile divides it, so that padding is asked
    for. Other dynamic loops, which are tiled without padding, have the size 1, which leaves them the tile 1.
    Companions have the sizes of the loops that they share.
    """
    loops = list(workload.loops)
    rows = [loop for role in _ROWS for loop in workload.role(role)[-1:]]
    if not workload.roles:
        rows = _masked(workload)
    for each in workload.dynamic:
        size = loops[each.loop]
        loops[each.loop] = _prime_below(size) if each.loop in rows and size > 1 else 1
    return replace(workload, loops=tuple(loops)).with_companions_sized()


def _masked(workload: Workload) -> list[int]:
    """Dynamic loops of a generic op that are tiled: none where two static ones are, as by the compiler."""
    parallel = list(workload.parallel)
    static = [loop for loop in parallel if workload.dynamic_loop(loop) is None and workload.loops[loop] > 1]
    return [] if len(static) > 1 else parallel


def _prime_below(size: int) -> int:
    candidates = range(max(size, 3), 2, -1)
    return next(n for n in candidates if all(n % divisor for divisor in range(2, math.isqrt(n) + 1)))


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
