"""The targets of installed packages."""

from __future__ import annotations

from functools import cache

from iree_tuner.errors import UsageError
from iree_tuner.installed import members
from iree_tuner.targets.kind import TargetKind

GROUP = "iree_tuner.targets"
"""The entry-point group: the name of an entry is the part of a target before the colon."""

DEFAULT_DEVICE = "local-task"
"""The processor, with all of its cores."""


@cache
def kinds() -> dict[str, TargetKind]:
    """All of them by name; those that compute on the host come first."""
    found = members(GROUP, "target", TargetKind)
    return dict(sorted(found.items(), key=lambda each: (not each[1].on_host, each[0])))


def kind_named(name: str) -> TargetKind:
    """The kind of that name. Raises UsageError if no installed package has it."""
    found = kinds().get(name)
    if found is None:
        raise UsageError(f"unknown target '{name}'", hint=f"one of: {', '.join(kinds())}")
    return found


def kind_of_device(uri: str) -> TargetKind:
    """The default target kind for a device, which may be another machine's.

    Raises UsageError for a device that no target compiles for.
    """
    found = _by_driver().get(driver_of(uri))
    if found is None:
        drivers = [driver for driver, kind in _by_driver().items() if kind.on_host]
        raise UsageError(f"unknown device '{uri}'", hint=f"supported: {', '.join(drivers)}")
    return found


def driver_of(uri: str) -> str:
    """`cuda` of `cuda://0`, `local-task` of `local-task://?threads=4`."""
    return uri.partition("://")[0].partition("?")[0]


def on_host(uri: str) -> bool:
    """Whether a device computes on the host's own cores; False for an unknown one."""
    found = _by_driver().get(driver_of(uri))
    return found is not None and found.on_host


def on_one_core(uri: str) -> bool:
    """Whether a device is one core of the host."""
    return on_host(uri) and driver_of(uri) in kind_of_device(uri).one_core


@cache
def _by_driver() -> dict[str, TargetKind]:
    return {driver: kind for kind in kinds().values() if kind.usual for driver in kind.drivers}
