"""The plan of a run of the suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.suite.backends.backend import Backend
from iree_tuner.suite.conditions import Conditions
from iree_tuner.suite.configurations import Choice
from iree_tuner.suite.item import Item
from iree_tuner.suite.patterns import Patterns
from iree_tuner.suite.tuned import Tuning


@dataclass(frozen=True)
class Plan:
    """A run.

    Attributes:
        name: for people.
        items: the operations.
        devices: URIs; operations are spread over them.
        chip: what is compiled for, see `targets.target_for_device`.
        flags: of the compiler, a user's own.
        folder: of the results.
        conditions: of the samples; `timing` and `threads` as each device's own where they are not given.
        backends: compared with IREE's default.
        tuning: where tuned code comes from; None for none.
        choice: configurations that are tried one by one; None for none.
        patterns: of the dispatches (`row.Row.dispatch`) that take part; none for all.
        verify: compare results with a reference.
        reference: `numpy` or `torch`; None chooses.
        against: folder of an earlier run, whose code takes turns with this one's.
        launches: how often all is loaded anew for an operation.
        rooflines: file with given rooflines by device URI; None for data sheets', and for processors measured
            ones.
        probe: measure rooflines with the run's own back ends.
        commit: of the code under test.
        fresh: measure again what the folder has.
        jobs: compile workers.
        cache: file that keeps rooflines of processors.
    """

    name: str
    items: Sequence[Item]
    devices: tuple[str, ...]
    folder: Path
    conditions: Conditions
    chip: str = "host"
    flags: tuple[str, ...] = ()
    backends: Sequence[Backend] = ()
    tuning: Tuning | None = None
    choice: Choice | None = None
    patterns: Patterns = ()
    verify: bool = True
    reference: str | None = None
    against: Path | None = None
    launches: int = 1
    rooflines: Path | None = None
    probe: bool = False
    commit: str = ""
    fresh: bool = False
    jobs: int | None = None
    cache: Path | None = None
