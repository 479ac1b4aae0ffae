"""The plan of a run of the suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.program.source import Program, load_program
from iree_tuner.suite.backends.backend import Backend, Conditions
from iree_tuner.suite.backends.iree import Wanted
from iree_tuner.suite.driver_commands import SUFFIX, is_command, operations_of
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.programs import module_of, operations_in
from iree_tuner.suite.results import State
from iree_tuner.suite.suite_file import DEFAULT_F8, Patterns, load_suite
from iree_tuner.suite.tuned import Tuning

# The items of a run of the suite: operations with their programs, and the contenders in the rounds.


@dataclass(frozen=True)
class Item:
    """An operation and its program."""

    operation: Operation  # what is computed; the reference computes it, too
    # the program in a generated folder, maybe edited; None for the operation's own IR
    source: Path | None = None

    def program(self) -> Program:
        """The program that is compiled. Raises TunerError for a file that cannot be read."""
        if self.source is not None:
            return load_program(self.source)
        with new_context():
            return Program(f"{self.operation.name}.mlir", to_bytecode(module_of(self.operation)))


@dataclass(frozen=True)
class Entrant:
    """A contender that computes an operation."""

    backend: Backend  # what runs; also names the row and, with the version of the code, the process
    configuration: str = ""
    problem: tuple[State, str] | None = None  # why it cannot run, with the state of the row
    note: str = ""  # a message about it, although it runs


def items_from(sources: Sequence[str], f8: str = DEFAULT_F8) -> list[Item]:
    """The operations of generated folders, suites, suite files and commands; each once.

    Args:
        sources: folders, names of suites, .toml files, commands of another project's driver, or .txt files of
            these.
        f8: the type that `f8` stands for.

    Raises:
        TunerError: one of them does not exist, or has a mistake.
    """
    found: dict[str, Item] = {}
    for source in sources:
        if source.endswith(SUFFIX) or is_command(source):
            items = [Item(operation) for operation in operations_of(source)]
        elif Path(source).is_dir():
            items = [Item(operation, path) for operation, path in operations_in(Path(source))]
        else:
            items = [Item(operation) for operation in load_suite(source, f8).operations]
        for each in items:
            found.setdefault(each.operation.name, each)
    return list(found.values())


@dataclass(frozen=True)
class SuitePlan:
    """A run."""

    name: str
    items: Sequence[Item]
    devices: tuple[str, ...]  # URIs; operations are spread over them
    folder: Path  # of the results
    conditions: Conditions  # of the samples; `timing` and `threads` default to each device's own
    chip: str = "host"  # what is compiled for, see `targets.target_for_device`
    flags: tuple[str, ...] = ()  # of the compiler, a user's own
    backends: Sequence[Backend] = ()  # compared with IREE's default
    tuning: Tuning | None = None  # where tuned code comes from; None for none
    choice: Wanted | None = None  # configurations that are tried one by one; None for none
    patterns: Patterns = ()  # of the dispatches (`row.Row.dispatch`) that take part; none for all
    verify: bool = True  # compare results with a reference
    reference: str | None = None  # `numpy` or `torch`; None chooses
    against: Path | None = None  # folder of an earlier run, whose code takes turns with this one's
    launches: int = 1  # how often all is loaded anew for an operation
    # file with rooflines by device URI; None: from data sheets, measured for processors
    rooflines: Path | None = None
    probe: bool = False  # measure rooflines with the run's own back ends
    commit: str = ""  # of the code under test
    fresh: bool = False  # measure again what the folder has
    jobs: int | None = None
    cache: Path | None = None  # file that keeps rooflines of processors
