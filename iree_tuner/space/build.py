"""Which spaces a workload has on a target."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from iree_tuner.errors import TunerError
from iree_tuner.ops.workload import NO_LOOPS, Workload
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

    Args:
        workload: the root op.
        limits: what the target can hold; they say which backend it is.
        context: one with all dialects loaded, as `compiler.context.new_context` makes it.
        emitted: the compiler's own constraints for the dispatch, from `space.emitted.emit`.
        supplements: whether the compiler's constraints are supplemented; without, they are used as they are.

    Raises:
        TunerError: no space is known for the workload on this target, or none has a member, or the op has no
            loops.
    """
    if not workload.loops:
        raise TunerError(NO_LOOPS)
    request = SpaceRequest(workload, limits, context, tuple(emitted), supplements)
    found_by = provider(workload.family)
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
