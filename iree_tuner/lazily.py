"""Import the names that a package exports on first use, so that workers start faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Create a package's `__getattr__` from the module that defines each exported name.

    `package` is the package's `__name__`. A name must not equal a module's name.
    """

    def find(name: str) -> object:
        if name in homes:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
