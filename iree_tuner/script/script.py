"""Scripts from files, or shipped ones, linked with the library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects.transform import interpreter

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import read_bytes
from iree_tuner.script.knobs import ScriptKnob, read_knobs, set_knobs
from iree_tuner.script.places import place_in, place_of, symbol_of, symbols_in, walk

ENTRY = "__kernel_config"
"""The sequence that the compiler runs on every function of a dispatch before it chooses a pipeline."""

SUMMARY = "iree_tuner.summary"

_SEQUENCE = "transform.named_sequence"
_SUFFIXES = (".mlir", ".mlirbc")


@dataclass(frozen=True)
class Script:
    """A script that has all it includes."""

    name: str  # of its file, without the extension
    path: str
    data: bytes  # bytecode; ops know where in their files they are
    knobs: tuple[ScriptKnob, ...]  # what can be chosen
    summary: str = ""  # its purpose, from itself

    @property
    def defaults(self) -> dict[str, int]:
        """Its own choice."""
        return {knob.name: knob.default for knob in self.knobs}

    def chosen(self, values: Mapping[str, int]) -> Script:
        """The script with other values of its knobs. Raises UsageError as `set_knobs` does."""
        # IR as text: scripts are kept as bytecode
        module = ir.Module.parse(self.data, new_context())
        set_knobs(module, values)
        knobs = tuple(replace(knob, default=values.get(knob.name, knob.default)) for knob in self.knobs)
        return replace(self, data=to_bytecode(module), knobs=knobs)

    def text(self) -> str:
        """As IR, for `--iree-codegen-transform-dialect-library`."""
        # IR as text: scripts are kept as bytecode
        return str(ir.Module.parse(self.data, new_context()))


def folder() -> Path:
    """The folder of shipped scripts: inside the package in a wheel, next to it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_transforms"
    return installed if installed.is_dir() else package.parent / "transforms"


def shipped() -> tuple[Path, ...]:
    """The scripts that ship, by name."""
    return tuple(sorted(folder().glob("*.mlir")))


def load_script(source: str | os.PathLike[str]) -> Script:
    """Read a script: a path, or the name of one that ships.

    Sequences that it declares (`transform.named_sequence private @x(...)`, without a body) are taken from the
    library in transforms/library; its own sequences go before the library's.

    Raises:
        TunerError: it is missing, empty or not MLIR, includes an unknown sequence, or has no entry.
    """
    path = _find(source)
    context = new_context()
    module = _parse(path, context)
    own = {symbol_of(op) for op in _sequences(module) if not _is_declaration(op)}
    for library in sorted((folder() / "library").glob("*.mlir")):
        offered = _parse(library, context)
        for sequence in _sequences(offered):
            if symbol_of(sequence) in own:
                sequence.erase()
        _merge(module, offered, path)
    for op in _sequences(module):
        if _is_declaration(op):
            what = f"neither the script nor the library has a sequence @{symbol_of(op)}"
            raise TunerError(what, location=place_of(op))
    if ENTRY not in own:
        raise TunerError(f"not a codegen script: no sequence named @{ENTRY}", location=str(path))
    _erase_unused(module, own)
    summary = module.operation.attributes.get(SUMMARY, None)
    said = summary.value if isinstance(summary, ir.StringAttr) else ""
    return Script(path.stem, str(path), to_bytecode(module), read_knobs(module), said)


def _find(source: str | os.PathLike[str]) -> Path:
    path = Path(source)
    if path.is_file():
        return path
    names = {each.stem: each for each in shipped()}
    if str(source) in names:
        return names[str(source)]
    if path.is_dir():
        raise TunerError("this is a folder, not a script", location=str(path))
    if path.suffix in _SUFFIXES or os.sep in str(source):
        raise TunerError("no such file", location=str(path))
    raise UsageError(f"unknown script '{source}'", hint=f"name a file, or one of: {', '.join(names)}")


def _parse(path: Path, context: ir.Context) -> ir.Module:
    try:
        if not read_bytes(path).strip():
            raise TunerError("the script is empty", location=str(path))
        # IR as text: a file
        return ir.Module.parseFile(str(path), context)
    except ir.MLIRError as error:
        first = error.error_diagnostics[0]
        where = place_in(str(first.location))
        message = first.message.strip().split("\n", 1)[0]
        raise TunerError(message, location=where if where != "unknown" else str(path)) from None


def _merge(module: ir.Module, library: ir.Module, path: Path) -> None:
    try:
        interpreter.copy_symbols_and_merge_into(module.operation, library.operation)
    except ValueError as error:
        message = f"the script cannot be linked with the library: {str(error).strip().splitlines()[-1]}"
        raise TunerError(message, location=str(path)) from None


def _sequences(module: ir.Module) -> list[ir.Operation]:
    return [op for op in walk(module) if op.name == _SEQUENCE]


def _is_declaration(sequence: ir.Operation) -> bool:
    return not len(sequence.regions[0].blocks)


def _erase_unused(module: ir.Module, own: set[str]) -> None:
    sequences = {symbol_of(op): op for op in _sequences(module)}
    wanted = list(own)
    used: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in used or name not in sequences:
            continue
        used.add(name)
        wanted += [each for op in walk(sequences[name]) for each in symbols_in(op)]
    for name, op in sequences.items():
        if name not in used:
            op.erase()
