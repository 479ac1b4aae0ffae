"""A device of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iree_tuner.profiling.roofline import Roofline
from iree_tuner.suite.site import Library, Place
from iree_tuner.targets import Target


@dataclass(frozen=True)
class Device:
    """A device that answers."""

    place: Place
    target: Target  # what is compiled for
    name: str  # as the device reports it
    last_level_bytes: int = 0  # of its last cache
    # of the run's back ends there, by the back end's name
    libraries: Mapping[str, Library] = field(default_factory=dict[str, Library])
    roofline: Roofline | None = None  # None where it is not known
