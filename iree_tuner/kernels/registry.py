"""The kernels of all installed packages."""

from __future__ import annotations

from functools import cache
from typing import cast

from iree_tuner.errors import UsageError
from iree_tuner.installed import brought, usable
from iree_tuner.kernels.kernel import ANY, GROUP, Kernel


@cache
def kernels() -> tuple[Kernel, ...]:
    """All installed kernels. Raises TunerError if two packages have kernels of the same name."""
    return tuple(cast(Kernel, usable(entry, "kernel")) for entry in brought(GROUP, "kernel").values())


def usual_kernels(backend: str) -> tuple[Kernel, ...]:
    """The kernels for a backend without examples, which are used only where they are named."""
    found = (each for each in kernels() if each.backend in (ANY, backend))
    return tuple(each for each in found if not getattr(each, "example", False))


def kernel_named(name: str) -> Kernel:
    """The kernel of that name. Raises UsageError if there is none."""
    for each in kernels():
        if each.name == name:
            return each
    raise UsageError(f"unknown kernel '{name}'", hint=", ".join(each.name for each in kernels()))
