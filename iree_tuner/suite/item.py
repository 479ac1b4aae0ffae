"""What a run of the suite goes through: operations with their programs, and who takes part in the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.program.source import Program, load_program
from iree_tuner.suite.backends.backend import Backend
from iree_tuner.suite.folder import operations_in
from iree_tuner.suite.module import module_of
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.row import State


@dataclass(frozen=True)
class Item:
    """An operation and its program.

    Attributes:
        operation: what is computed; the reference computes it, too.
        source: the program in a generated folder, which may have been changed there; None for the operation's
            own IR.
    """

    operation: Operation
    source: Path | None = None

    def program(self) -> Program:
        """What is compiled. Raises TunerError for a file that cannot be read."""
        if self.source is not None:
            return load_program(self.source)
        with new_context():
            return Program(f"{self.operation.name}.mlir", to_bytecode(module_of(self.operation)))


@dataclass(frozen=True)
class Entrant:
    """Who computes an operation.

    Attributes:
        backend: what runs; also names the row and, with the version of the code, the process.
        configuration: of the row.
        problem: why there is nothing to run, with the state of the row; None where there is.
        note: what is to be told although it runs.
    """

    backend: Backend
    configuration: str = ""
    problem: tuple[State, str] | None = None
    note: str = ""


def items_in(folder: Path) -> list[Item]:
    """The operations of a generated folder. Raises TunerError where there are none."""
    return [Item(operation, path) for operation, path in operations_in(folder)]


def items_of(operations: Sequence[Operation]) -> list[Item]:
    """Operations with their own IR; each once."""
    return [Item(each) for each in dict.fromkeys(operations)]
