"""The facts about a whole run of the suite: machine, software and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from iree_tuner.files import data_of
from iree_tuner.suite.conditions import Conditions


@dataclass(frozen=True)
class RunFacts:
    """Head of a run's results.

    Attributes:
        id: of the run, unique: time and a few random letters.
        name: of the run, for people: what was asked for.
        commit: of the code under test, as given or as git tells; empty where unknown.
        compiler: release of IREE's compiler.
        versions: of the back ends' libraries, by name.
        devices: URI to the name of the device.
        rooflines: URI to `profiling.roofline.to_json`; without devices about which nothing is known.
        conditions: how samples were taken.
        against: id of the earlier run whose code ran in turns with this one's; empty for none.
        started: seconds since the epoch.
    """

    id: str
    name: str
    commit: str = ""
    compiler: str = ""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    devices: Mapping[str, str] = field(default_factory=dict[str, str])
    rooflines: Mapping[str, Any] = field(default_factory=dict[str, Any])
    conditions: Conditions = field(default_factory=Conditions)
    against: str = ""
    started: float = 0.0


def to_json(facts: RunFacts) -> dict[str, Any]:
    """JSON-ready."""
    return asdict(facts)


def from_json(data: Mapping[str, Any]) -> RunFacts:
    """The inverse of `to_json`. Raises ValueError for other data."""
    return data_of(data, RunFacts)
