"""A device of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iree_tuner.profiling.roofline import Roofline
from iree_tuner.suite.site import Library, Place
from iree_tuner.targets import Target


@dataclass(frozen=True)
class Device:
    """A device that answers.

    Attributes:
        place: which.
        target: what is compiled for.
        name: as it names itself.
        last_level_bytes: of its last cache.
        libraries: of the run's back ends there, by the back end's name.
        roofline: None where it is not known.
    """

    place: Place
    target: Target
    name: str
    last_level_bytes: int = 0
    libraries: Mapping[str, Library] = field(default_factory=dict[str, Library])
    roofline: Roofline | None = None
