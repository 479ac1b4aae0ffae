"""The configurations of an operation's dispatch: named, so that regular expressions can choose among them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from iree_tuner.errors import TunerError
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import JointSpace, named
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.suite.iree_build import Version, spec_of
from iree_tuner.suite.patterns import Patterns, is_found, patterns_of
from iree_tuner.tuning.baseline import Task, measure_baselines
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.reading import read_tasks
from iree_tuner.tuning.stop import StopRequest

ALL = "all"
_PLACE = re.compile(r"^(.*?)_(\d+)$")


@dataclass(frozen=True)
class Choice:
    """Which configurations are wanted: every one, so many at random, or the ones that expressions find.

    Attributes:
        count: how many, at most; None for every one.
        patterns: regular expressions; one must be found in a name; none for no such condition.
        seed: of the sample.
    """

    count: int | None = None
    patterns: Patterns = ()
    seed: int = 0


def choice_of(text: str, seed: int = 0) -> Choice:
    """Read `all`, a number, or regular expressions joined by commas. Raises UsageError for another text."""
    if text == ALL:
        return Choice(seed=seed)
    if text.isdecimal():
        return Choice(count=int(text), seed=seed)
    return Choice(patterns=patterns_of(text), seed=seed)


def configuration_name(assignment: Assignment, label: str) -> str:
    """The pipeline and its knobs: `DoubleTilingExpert_distribution_64x128_vector_8x32x1`.

    Knobs that are numbered are one list.
    """
    own, knobs = named(assignment, label)
    groups: dict[str, list[int]] = {}
    for name, value in knobs.items():
        found = _PLACE.match(name)
        groups.setdefault(found[1] if found else name, []).append(value)
    parts = [f"{name}_{'x'.join(map(str, values))}" for name, values in groups.items()]
    return "_".join([re.sub(r"\W", "_", own), *parts])


class Configurations:
    """The space of the dispatch that takes most of an operation's time.

    Args:
        program: the operation's.
        lab: where; its device times the defaults, to find that dispatch.

    Raises:
        TunerError: there is nothing to configure, or the operation does not compile.
    """

    def __init__(self, program: Program, lab: Lab) -> None:
        tasks = read_tasks(program, lab, Silent())
        baselines = (
            measure_baselines(tasks, lab, StopRequest())
            if len(tasks) > 1
            else measure_baselines(tasks[:1], lab, StopRequest())
        )
        first = baselines[0]
        if first.space is None:
            raise TunerError(f"no dispatch has configurations: {first.note}", location=program.name)
        self._lab = lab
        self._task: Task = first.task
        self.space: JointSpace = first.space

    def chosen(self, choice: Choice) -> Iterator[Version]:
        """Versions that are wanted; all of them in the order of the space, or a sample."""
        members = self.space.shuffled(choice.seed) if choice.count is not None else self._every()
        wanted = (each for each in members if is_found(choice.patterns, self.name(each)))
        return map(self.version, islice(wanted, choice.count))

    def name(self, assignment: Assignment) -> str:
        """Of a configuration."""
        return configuration_name(assignment, self.space.label)

    def version(self, assignment: Assignment) -> Version:
        """How an operation is compiled in a configuration."""
        configuration = self.space.configuration(assignment)
        spec = spec_of([SpecEntry(self._task.workload, configuration)], self._lab)
        dispatch = self._task.dispatches[0].name
        return Version(self.name(assignment), spec=spec, configuration=configuration, dispatch=dispatch)

    def _every(self) -> Iterator[Assignment]:
        for place, space in enumerate(self.space.spaces):
            for member in space.enumerate():
                yield self.space.join(place, member)
