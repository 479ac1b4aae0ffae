"""Load programs: text, bytecode, an `ir.Module`, or a path to any of these or to an ONNX model.

Dispatches that the compiler has dumped (`program.dump`) are programs, too.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from iree.compiler import ir

from iree_tuner.compiler.context import new_context, ops_in, to_bytecode
from iree_tuner.compiler.session import CompileError, parse_module
from iree_tuner.compiler.versions import check_release
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import name_of, note_input, read_bytes

_BYTECODE_MAGIC = b"ML\xefR"
_ARCHIVE, _FLATBUFFER = b"PK\x03\x04", b"IREE"  # both forms of VM modules
_MODULE, _NESTED = b"module", 2  # so often it is in text with a module in a module
_DUMPED = b"executable.variant"  # in text, and in bytecode, which has the dialect's name elsewhere
_PORTABLE = b"vhlo"


@dataclass(frozen=True)
class Program:
    """A program in a form that can be sent to other processes; `name` is a path, or `<module>`.

    `data` is MLIR text (UTF-8) or bytecode, in any input dialect that the compiler takes.
    """

    name: str
    data: bytes

    @property
    def is_bytecode(self) -> bool:
        """Whether `data` is MLIR bytecode rather than text."""
        return self.data.startswith(_BYTECODE_MAGIC)


ProgramSource = Program | ir.Module | bytes | str | os.PathLike[str]


def load_program(source: ProgramSource) -> Program:
    """Load a program in any form.

    A string with a line break or a brace is MLIR text. Any other string is a path, or `-` for standard input.

    Raises:
        UsageError: a compiled module; several modules.
        TunerError: no such file, an empty program, bytes that are not text and not bytecode, or a dumped
            dispatch that cannot be called; or IREE is not installed in the release that this version works
            with.
    """
    return source if isinstance(source, Program) else called(read_program(source))


def read_program(source: ProgramSource) -> Program:
    """`load_program`, but with dumped dispatches unchanged."""
    check_release()
    if isinstance(source, Program):
        return source
    if isinstance(source, ir.Module):
        return Program("<module>", to_bytecode(source))
    if isinstance(source, bytes):
        return _checked(Program("<bytes>", source))
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return _checked(Program("<text>", source.encode()))
    path = Path(source)
    if path == Path():  # of an empty string
        raise TunerError("no program is named")
    if path.suffix == ".onnx" and path.is_file():
        return _from_onnx(path)
    return _checked(Program(name_of(path), read_bytes(path)))


def _checked(program: Program) -> Program:
    if program.data.startswith(_ARCHIVE) or program.data[4:8] == _FLATBUFFER:
        raise UsageError(
            "a compiled module (.vmfb), not a program",
            location=program.name,
            hint="pass the MLIR that it was compiled from",
        )
    if not program.data.strip():
        raise TunerError("the program is empty", location=program.name)
    if not program.is_bytecode:
        try:
            program.data.decode()
        except UnicodeDecodeError:
            raise TunerError("not MLIR: neither text nor bytecode", location=program.name) from None
    return program


def called(program: Program) -> Program:
    """The program, or one that calls the dispatches that the compiler has dumped.

    A module in a module, which the compiler leaves alone, is the program; a portable artifact of StableHLO is
    imported. Raises TunerError, also if the compiler cannot import it.
    """
    if _PORTABLE in program.data:
        from iree_tuner.program.phases import imported  # late: few programs are artifacts

        return imported(program)
    if _DUMPED not in program.data:
        return _unwrapped(program)
    from iree_tuner.program.dump import lifted  # late: few programs are dumps

    return Program(program.name, lifted(program.data, program.name))


def _unwrapped(program: Program) -> Program:
    """The only module in a module. Raises UsageError for several with functions."""
    if not program.is_bytecode and program.data.count(_MODULE) < _NESTED:
        return program
    try:
        module = outer = parse_module(program.data, new_context(), program.name)
    except CompileError:
        return program  # the compiler reports it
    while (inner := ops_in(module.body)) and all(map(_has_functions, inner)):
        if len(inner) > 1:
            names = ", ".join(str(op.attributes.get("sym_name", "without a name")) for op in inner)
            raise UsageError(
                f"the program is {len(inner)} modules: {names}", location=program.name, hint="pass one"
            )
        module = ir.Module.create(inner[0].location)
        for name in inner[0].attributes:
            module.operation.attributes[name] = inner[0].attributes[name]
        for view in list(inner[0].regions[0].blocks[0]):
            module.body.append(view)
    return program if module is outer else Program(program.name, to_bytecode(module))


def _has_functions(op: ir.Operation) -> bool:
    """Whether an op is a module with functions of a program, or with such a module."""
    if op.name != "builtin.module":
        return False
    inside = [each.operation for each in op.regions[0].blocks[0]]
    return any(each.name.endswith(".func") or _has_functions(each) for each in inside)


def _from_onnx(path: Path) -> Program:
    """Through IREE's own importer, in a process of its own: it prints, and needs the package `onnx`."""
    if importlib.util.find_spec("onnx") is None:
        raise TunerError(
            "an ONNX model requires the package onnx",
            location=str(path),
            hint="pip install 'iree-tuner[onnx]'",
        )
    note_input(path)
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        imported = Path(folder) / "model.mlir"
        command = [sys.executable, "-m", "iree.compiler.tools.import_onnx", str(path), "-o", str(imported)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not imported.exists():
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise TunerError(f"cannot import the ONNX model: {reason}", location=str(path))
        return Program(str(path), imported.read_bytes())
