"""Names that a package offers, imported only when they are used: workers start sooner so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A package's `__getattr__`.

    Args:
        package: its `__name__`.
        homes: for each name, the module of the package that has it. No name may be that of a module.
    """

    def find(name: str) -> object:
        if name in homes:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
