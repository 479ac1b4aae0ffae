"""Providers build the spaces of op families. They are found in installed packages, as families are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol, runtime_checkable

from iree.compiler import ir

from iree_tuner.installed import members
from iree_tuner.ops.workload import Workload
from iree_tuner.targets import Limits

GROUP = "iree_tuner.spaces"
"""The entry-point group: the name of an entry is the family's name."""


@dataclass(frozen=True)
class SpaceRequest:
    """The request for the spaces of a workload; its `limits` name the backend.

    `context` is made by `compiler.context.new_context`. `emitted` are the compiler's own constraints, from
    `space.emitted.emit`; they are supplemented unless `supplements` is False.
    """

    workload: Workload
    limits: Limits
    context: ir.Context
    emitted: tuple[bytes, ...] = ()
    supplements: bool = True


@runtime_checkable
class SpaceProvider(Protocol):
    """Builds the spaces of one family's workloads, for every target that it knows. Inherit from it."""

    def constraints(self, request: SpaceRequest) -> Sequence[ir.Module]:
        """Modules with one constraints op each, for one pipeline each, the best first.

        Called in the request's context, with a location.
        Empty if it has none for that target. Raises TunerError that says why a workload has none.
        """
        ...

    def emitter_crash(self, workload: Workload) -> str:
        """Why the compiler must not be asked for its constraints on a workload; empty if it may be."""
        return ""


def provider(family: str) -> SpaceProvider | None:
    """The provider of a family's spaces, or None. Raises TunerError if two packages have one."""
    return _registered().get(family)


@cache
def _registered() -> dict[str, SpaceProvider]:
    return members(GROUP, "space provider", SpaceProvider)
