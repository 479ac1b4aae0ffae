"""Where candidates come from besides the compiler's configurations: flags and kernels, for example.

A source finds what it can change in a program. It may bring candidates for workloads, which are searched like
configurations, and versions of the program, which are compared with the others at the end. Its choices are
`Change`s, which it makes in the compiled program, and saves with the result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from iree_tuner.compiler.worker import Calls
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.installed import members
from iree_tuner.targets import with_flags
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.candidate import CandidateKind
from iree_tuner.tuning.versions import Change, Compiling, ProgramVersion, with_spec

if TYPE_CHECKING:
    from iree_tuner.targets import Target
    from iree_tuner.tuning.run import Run
    from iree_tuner.tuning.verdict import Tuned

GROUP = "iree_tuner.sources"
"""The group of entry points; each is a class of a source, under its name."""


class Found:
    """The findings of a source for a program. A source overrides the members for what it brings."""

    replaced: frozenset[str] = frozenset()  # keys of workloads whose dispatches are expected to be replaced
    notes: tuple[str, ...] = ()  # for people

    def prepared(self, run: Run) -> Found:
        """The findings with `candidates`, once what these are compared with is built and timed.

        `versions` are asked for before that, too: for the first answer. Raises TunerError.
        """
        return self

    @property
    def candidates(self) -> Sequence[tuple[CandidateKind, float]]:
        """For workloads of the program, each with the most trials."""
        return ()

    @property
    def applies(self) -> bool:
        """Whether anything can be changed."""
        return bool(self.candidates)

    def beside(self, tasks: Sequence[Task], speedup: float) -> Sequence[tuple[Task, float]]:
        """Workloads of candidates that are not among the tasks, as flags changed the dispatches.

        Each with its microseconds an invocation; `speedup` is that of the program by the flags.
        """
        return ()

    def count(self, target: Target, further: int) -> int:
        """About how many `versions` there will be."""
        return 0

    def versions(self, run: Run, tuned: Tuned, bases: Sequence[ProgramVersion]) -> Sequence[ProgramVersion]:
        """Versions of the program to compare, on top of what was tuned, or of other `bases`."""
        return ()

    def without(self, version: ProgramVersion, wrong: Collection[str] | None) -> ProgramVersion | None:
        """A version without the changes whose results are wrong; None if there is none.

        `wrong` are names of dispatches; None if the version does not compile or run.
        """
        return None


class CandidateSource:
    """A kind of choice about a program."""

    name: ClassVar[str]  # of its entry point, and in changes
    noun: ClassVar[str]  # one of its changes, for people

    def usual(self, backend: str) -> Self | None:
        """The source as runs use it by default for a backend; None if it has nothing there."""
        return self

    def given(self, value: str) -> Self:
        """The source with what it was given, as in `--with NAME=VALUE`. Raises UsageError."""
        raise UsageError(f"--with: {self.name} takes no value, so not '{value}'")

    def alternatives(self, run: Run) -> Sequence[Change]:
        """Changes of the whole program, one of which may be made before its dispatches are formed.

        They are tried with those of other sources; the program is tuned with the best. At most one is made
        of those with the same `where`; the most promising come first, as there may not be time for all.
        """
        return ()

    def last(self, run: Run) -> Sequence[Change]:
        """Changes of how the result is run, which are tried at the end on the version that is used.

        At most one is made of those with the same `where`.
        """
        return ()

    def begin(self, run: Run) -> Callable[[], Found] | None:
        """Begin to look at the run's program. The function that is returned waits for the findings.

        None if there are only alternatives. Raises TunerError, as that function does, if the program cannot
        be looked at.
        """
        return None

    def flags(self, changes: Sequence[Change]) -> tuple[str, ...]:
        """Compiler flags that make all of the changes; the spec records them. Empty if flags do not."""
        return ()

    def specs(self, changes: Sequence[Change]) -> Sequence[bytes]:
        """Tuning specs that make all of the changes; the result's spec includes them. Empty if none do."""
        return ()

    def apply(self, to: Compiling, changes: Sequence[Change], workers: Calls, folder: Path) -> Compiling:
        """A program with changes of this source, by default by their flags and specs.

        Files that the compiler reads are written to `folder`. Raises TunerError if that fails.
        """
        program = reduce(with_spec, self.specs(changes), to.program)
        return replace(to, program=program, target=with_flags(to.target, self.flags(changes)))

    def save(self, changes: Sequence[Change], target: Target, workers: Calls, path: Path) -> None:
        """Write the changes as a spec for preprocessing (`spec.external`), if nothing else makes them.

        Raises TunerError if that fails.
        """
        raise TunerError(f"{self.name} cannot be saved", location=str(path))


def known_sources() -> dict[str, CandidateSource]:
    """All sources by name. Raises TunerError for one that cannot be loaded."""
    return members(GROUP, "source of candidates", CandidateSource)


def usual_sources(backend: str, without: Collection[str] = ()) -> tuple[CandidateSource, ...]:
    """The sources that runs use by default for a backend. Raises TunerError as `known_sources`."""
    found = (each.usual(backend) for name, each in known_sources().items() if name not in without)
    return tuple(each for each in found if each is not None)


def flags_of(changes: Sequence[Change], sources: Sequence[CandidateSource]) -> tuple[str, ...]:
    """The compiler flags that make changes, of those that flags make."""
    return tuple(flag for source, own in _by_source(changes, sources) for flag in source.flags(own))


def specs_of(changes: Sequence[Change], sources: Sequence[CandidateSource]) -> tuple[bytes, ...]:
    """The tuning specs that make changes, of those that specs make."""
    return tuple(spec for source, own in _by_source(changes, sources) for spec in source.specs(own))


def _by_source(
    changes: Sequence[Change], sources: Sequence[CandidateSource]
) -> list[tuple[CandidateSource, list[Change]]]:
    every = ((each, [one for one in changes if one.source == each.name]) for each in sources)
    return [(source, own) for source, own in every if own]
