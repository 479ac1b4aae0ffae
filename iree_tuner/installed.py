"""Plugins of installed packages, by entry points: op families, spaces, kernels, commands and others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints
from typing import TypeVar

from iree_tuner.errors import TunerError

T = TypeVar("T")


def entry_points(group: str) -> EntryPoints:
    """Those of a group."""
    return _selection(tuple(sys.path))(group=group)


@lru_cache(maxsize=1)
def _selection(path: tuple[str, ...]) -> Callable[..., EntryPoints]:
    """Selects from those of all groups. They are read once: it takes 8 ms, and a command asks for three."""
    del path
    return metadata.entry_points().select


def named(group: str) -> dict[str, list[EntryPoint]]:
    """Entry points of a group by name, sorted; nothing is imported. A package that is found twice is one."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in sorted(entry_points(group=group), key=lambda each: each.name):
        owners = found.setdefault(entry.name, [])
        if entry.value not in [each.value for each in owners]:
            owners.append(entry)
    return found


def only(entries: Sequence[EntryPoint], what: str) -> EntryPoint:
    """The entry point of a name. Raises TunerError if two packages have one name; `what` names it there."""
    first, *others = entries
    if others:
        raise TunerError(
            f"two packages provide the {what} '{first.name}': {owner(first)} and {owner(others[0])}",
            hint="uninstall one of them",
        )
    return first


def brought(group: str, what: str) -> dict[str, EntryPoint]:
    """Entry points of a group, by name, sorted; nothing is imported. Raises as `only`."""
    return {name: only(entries, what) for name, entries in named(group).items()}


def loaded(entry: EntryPoint, what: str) -> object:
    """The object that an entry point names. Raises TunerError if it cannot be imported."""
    with _reported(entry, what):
        return entry.load()


def usable(entry: EntryPoint, what: str, *arguments: object) -> object:
    """The object that an entry point makes. Raises TunerError if it cannot be imported, or fails."""
    with _reported(entry, what):
        return entry.load()(*arguments)


@contextmanager
def _reported(entry: EntryPoint, what: str) -> Generator[None]:
    """Turn whatever another package's code raises into a TunerError."""
    try:
        yield
    except TunerError:
        raise
    except Exception as error:
        raise TunerError(
            f"the {what} '{entry.name}' ({entry.value}) cannot be used: {error}",
            hint=f"install {owner(entry)} again, or uninstall it",
        ) from error


def members(group: str, what: str, kind: type[T]) -> dict[str, T]:
    """The objects that the entry points of a group make, by name. `what` names them in messages.

    Raises TunerError as `brought` and `usable`, and for an object that is not a `kind`.
    """
    found: dict[str, T] = {}
    for name, entry in brought(group, what).items():
        made = usable(entry, what)
        if not isinstance(made, kind):
            raise TunerError(
                f"the {what} '{name}' ({entry.value}) lacks members of {kind.__name__}",
                hint=f"inherit from {kind.__module__}.{kind.__name__}",
            )
        found[name] = made
    return found


def owner(entry: EntryPoint) -> str:
    """The package that has an entry point, and the entry point."""
    return f"{entry.dist.name} ({entry.value})" if entry.dist else entry.value
