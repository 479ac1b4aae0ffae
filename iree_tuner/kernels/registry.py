"""Kernels of installed packages."""

from __future__ import annotations

from functools import cache
from typing import cast

from iree_tuner.errors import UsageError
from iree_tuner.installed import brought, usable
from iree_tuner.kernels.kernel import ANY, GROUP, Kernel


@cache
def kernels() -> tuple[Kernel, ...]:
    """Every installed kernel, by name. Raises TunerError where two packages have one of the same name."""
    return tuple(cast(Kernel, usable(entry, "kernel")) for entry in brought(GROUP, "kernel").values())


def usual_kernels(backend: str) -> tuple[Kernel, ...]:
    """The kernels for a backend, but those that are examples: they are taken where they are named."""
    found = (each for each in kernels() if each.backend in (ANY, backend))
    return tuple(each for each in found if not getattr(each, "example", False))


def kernel_named(name: str) -> Kernel:
    """The kernel of that name. Raises UsageError where there is none."""
    for each in kernels():
        if each.name == name:
            return each
    raise UsageError(f"unknown kernel '{name}'", hint=", ".join(each.name for each in kernels()))
