"""A folder of generated operations: `linalg/KIND/NAME/NAME.mlir`, and `operation.json` next to it."""

from __future__ import annotations

import json
from pathlib import Path

from iree_tuner import files
from iree_tuner.errors import TunerError
from iree_tuner.suite.kinds.registry import operation_of
from iree_tuner.suite.operation import Operation, to_json
from iree_tuner.suite.programs import module_of

DIALECT, ARGUMENTS = "linalg", "operation.json"


def program_path(folder: Path, operation: Operation) -> Path:
    """Where an operation's program lies."""
    return folder / DIALECT / operation.kind / operation.name / f"{operation.name}.mlir"


def write(folder: Path, operation: Operation) -> Path:
    """Write an operation, over what is there of it; its program's path. Raises TunerError where it cannot."""
    path = program_path(folder, operation)
    text = str(module_of(operation))
    files.planned_folder(path.parent)
    files.write(path, text)
    files.write(path.with_name(ARGUMENTS), json.dumps(to_json(operation), indent=1) + "\n")
    return path


def operations_in(folder: Path) -> list[tuple[Operation, Path]]:
    """The generated operations, by kind and name, each with its program.

    Raises:
        TunerError: nothing is there, or a file is not as it was written.
    """
    found = [_read(path) for path in sorted((folder / DIALECT).glob(f"*/*/{ARGUMENTS}"))]
    if not found:
        raise TunerError("no generated operations", location=str(folder), hint="iree-tuner suite generate")
    return found


def _read(path: Path) -> tuple[Operation, Path]:
    try:
        operation = operation_of(files.read_json(path))
    except TunerError as error:
        raise TunerError(error.message, location=str(path), hint=error.hint) from None
    program = path.with_name(f"{operation.name}.mlir")
    if not program.is_file():
        raise TunerError("the operation's program is missing", location=str(program))
    return operation, program
