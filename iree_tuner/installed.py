"""Plugins of installed packages, by entry points: op families, spaces, kernels, back ends, strategies."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from iree_tuner.errors import TunerError

T = TypeVar("T")


def brought(group: str, what: str) -> dict[str, EntryPoint]:
    """Entry points of a group, by name, sorted; nothing is imported. `what` names them in messages.

    Raises TunerError if two packages have one name. A package that is found twice is one.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=group), key=lambda each: each.name):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise TunerError(
                f"two packages provide the {what} '{entry.name}': {_owner(other)} and {_owner(entry)}",
                hint="uninstall one of them",
            )
    return found


def usable(entry: EntryPoint, what: str, *arguments: object) -> object:
    """The object that an entry point makes. Raises TunerError if it cannot be imported, or fails."""
    try:
        return entry.load()(*arguments)
    except TunerError:
        raise
    except Exception as error:  # whatever another package's code does
        raise TunerError(
            f"the {what} '{entry.name}' ({entry.value}) cannot be used: {error}",
            hint=f"install {_owner(entry)} again, or uninstall it",
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


def _owner(entry: EntryPoint) -> str:
    return f"{entry.dist.name} ({entry.value})" if entry.dist else entry.value
