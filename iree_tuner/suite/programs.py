"""Operations as MLIR: a module of an operation, folders of generated ones, and compiled ones as files.

A generated operation is `linalg/KIND/NAME/NAME.mlir`, with `operation.json` next to it. `NAME.VERSION.json`
in a folder of compiled ones lists the files of an operation: the whole program, which is verified and called,
and its dispatches as harnesses, whose device time is measured. Running processes and later runs read them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from iree.compiler import ir
from iree.compiler.dialects import func

from iree_tuner import files
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import SentPath
from iree_tuner.errors import TunerError
from iree_tuner.program.bindings import Harness
from iree_tuner.suite.kinds.registry import operation_of
from iree_tuner.suite.operation import Operation, to_json
from iree_tuner.suite.tensors import tensor_type


@dataclass(frozen=True)
class StoredDispatch:
    """A dispatch of a program."""

    harness: Harness  # what runs it alone; without its module
    vmfb: SentPath  # the harness, compiled: a file's path
    calls: int  # how often one invocation of the program runs it


@dataclass(frozen=True)
class Programs:
    """An operation, compiled."""

    program: SentPath  # the whole program: a file's path
    # its dispatches; empty if their device time was not requested or is not available
    parts: tuple[StoredDispatch, ...] = ()
    note: str = ""  # why it cannot


def save_programs(
    folder: Path, stem: str, program: bytes, parts: Sequence[tuple[Harness, bytes, int]] = (), note: str = ""
) -> None:
    """Write an operation's code; equal code is one file.

    Args:
        folder: where.
        stem: operation and version, joined by a dot.
        program: the whole program.
        parts: harness, code and calls of each dispatch.
        note: why parts are missing.

    Raises:
        TunerError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        index = {
            "program": _content(folder, program),
            "parts": [
                {"harness": _to_json(harness), "vmfb": _content(folder, vmfb), "calls": calls}
                for harness, vmfb, calls in parts
            ],
            "note": note,
        }
        (folder / f"{stem}.json").write_text(json.dumps(index) + "\n", encoding="utf-8")
    except OSError as error:
        raise TunerError(f"cannot write: {error.strerror}", location=str(folder)) from None


def load_programs(folder: Path, stem: str) -> Programs:
    """Read what `save_programs` wrote. Raises TunerError where it is missing or damaged."""
    path = folder / f"{stem}.json"
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
        parts = tuple(
            StoredDispatch(_from_json(each["harness"]), SentPath(folder / each["vmfb"]), int(each["calls"]))
            for each in index["parts"]
        )
        return Programs(SentPath(folder / index["program"]), parts, str(index["note"]))
    except FileNotFoundError:
        raise TunerError("the compiled program is missing", location=str(path)) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TunerError(f"not an index of a compiled operation: {error}", location=str(path)) from None


def _content(folder: Path, data: bytes) -> str:
    """The name of the file with these bytes, which is written unless it exists."""
    path = folder / f"{hashlib.sha256(data).hexdigest()[:32]}.vmfb"
    if not path.exists():
        fresh = path.with_suffix(".new")
        fresh.write_bytes(data)
        fresh.replace(path)
    return path.name


def _to_json(harness: Harness) -> dict[str, Any]:
    return {name: value for name, value in asdict(replace(harness, module=b"")).items() if name != "module"}


def _from_json(data: Mapping[str, Any]) -> Harness:
    return msgspec.convert({**data, "module": b""}, Harness)


# An operation as a module with one function.


FUNCTION = "main"


def module_of(operation: Operation, context: ir.Context | None = None) -> ir.Module:
    """`main`, of the inputs in their order, verified; in a context of its own by default."""
    return module_with({FUNCTION: operation}, context)


def module_with(operations: Mapping[str, Operation], context: ir.Context | None = None) -> ir.Module:
    """The same with a function for each of several operations, by its name."""
    with context or new_context(), ir.Location.unknown():
        module = ir.Module.create()
        for name, operation in operations.items():
            taken = [tensor_type(each) for each in operation.inputs]
            with ir.InsertionPoint(module.body):
                function = func.FuncOp(name, ir.FunctionType.get(taken, [tensor_type(operation.result)]))
            with ir.InsertionPoint(function.add_entry_block()):
                func.ReturnOp([operation.build(list(function.arguments))])
        module.operation.verify()
        return module


DIALECT, ARGUMENTS = "linalg", "operation.json"


def write_operation(folder: Path, operation: Operation) -> Path:
    """Write an operation, over what is there of it; its program's path. Raises TunerError where it cannot."""
    path = folder / DIALECT / operation.kind / operation.name / f"{operation.name}.mlir"
    text = str(module_of(operation))
    files.planned_folder(path.parent)
    files.write(path, text)
    files.write(path.with_name(ARGUMENTS), json.dumps(to_json(operation), indent=1) + "\n")
    return path


def operations_in(folder: Path) -> list[tuple[Operation, Path]]:
    """The generated operations, by kind and name, each with its program.

    Raises TunerError if nothing is there, or a file is not as it was written.
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
