"""Scripts from files, or shipped ones, linked with the library; their knobs, and where their ops are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects.transform import interpreter

from iree_tuner.compiler.context import new_context, symbol_of, to_bytecode, walk
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import read_bytes

ENTRY = "__kernel_config"
"""The sequence that the compiler runs on every function of a dispatch before it chooses a pipeline."""

SUMMARY = "iree_tuner.summary"
KNOB = "iree_tuner.knob"  # a constant's name, by which it can be set
VALUES = "iree_tuner.values"
DIVIDES = "iree_tuner.divides"

_SEQUENCE = "transform.named_sequence"
_CONSTANT = "transform.param.constant"
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
    library in transforms/library; its own sequences go before the library's. Raises TunerError if it is
    missing, empty or not MLIR, includes an unknown sequence, or has no entry.
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
        try:
            interpreter.copy_symbols_and_merge_into(module.operation, offered.operation)
        except ValueError as error:
            message = f"the script cannot be linked with the library: {str(error).strip().splitlines()[-1]}"
            raise TunerError(message, location=str(path)) from None
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


def _sequences(module: ir.Module) -> list[ir.Operation]:
    return [op for op in walk(module.operation) if op.name == _SEQUENCE]


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


@dataclass(frozen=True)
class ScriptKnob:
    """A constant of a script that may have other values."""

    name: str
    default: int  # the value that the script has
    values: tuple[int, ...]  # those to search, ascending; the default is one of them
    divides: str = ""  # the knob that it must divide; empty for none


def read_knobs(module: ir.Module) -> tuple[ScriptKnob, ...]:
    """The knobs of a script, in its order. Equal declarations of a name are one knob.

    Raises TunerError for one without values, with another default, or that divides what is not a knob.
    """
    found: dict[str, ScriptKnob] = {}
    declared = [(op, _knob(op)) for op in _constants(module)]
    for op, knob in declared:
        if found.setdefault(knob.name, knob) != knob:
            raise _wrong(op, f"the knob '{knob.name}' is declared twice with different values")
    for op, knob in declared:
        if knob.divides and knob.divides not in found:
            raise _wrong(op, f"the knob '{knob.name}' divides '{knob.divides}', which is not a knob")
        if knob.divides and found[knob.divides].default % knob.default:
            raise _wrong(op, f"the default of '{knob.name}' does not divide that of '{knob.divides}'")
    return tuple(found.values())


def set_knobs(module: ir.Module, values: Mapping[str, int]) -> None:
    """Give the knobs of a script values, in place; others keep their values.

    The values need not be among those to search. Raises UsageError for an unknown knob or a value below 1.
    """
    known = {knob.name for knob in read_knobs(module)}
    for name, value in values.items():
        if name not in known:
            hint = f"one of: {', '.join(sorted(known))}" if known else "it has none"
            raise UsageError(f"the script has no knob '{name}'", hint=hint)
        if value < 1:
            raise UsageError(f"the knob '{name}' must be at least 1, not {value}")
    for op in _constants(module):
        name = ir.StringAttr(op.attributes[KNOB]).value
        if name in values:
            old = ir.IntegerAttr(op.attributes["value"])
            op.attributes["value"] = ir.IntegerAttr.get(old.type, values[name])


def _constants(module: ir.Module) -> Iterator[ir.Operation]:
    for op in walk(module.operation):
        if KNOB not in op.attributes:
            continue
        if op.name != _CONSTANT:
            raise _wrong(op, f"a knob must be a {_CONSTANT}")
        yield op


def _knob(op: ir.Operation) -> ScriptKnob:
    name, value, values = op.attributes[KNOB], op.attributes["value"], op.attributes.get(VALUES, None)
    if not isinstance(name, ir.StringAttr) or not isinstance(value, ir.IntegerAttr):
        raise _wrong(op, f"a knob must be an integer, and {KNOB} must be its name")
    if not isinstance(values, ir.DenseI64ArrayAttr):
        # IR as text: an example in a message
        raise _wrong(op, f"the knob '{name.value}' has no {VALUES} = array<i64: ...>")
    domain = tuple(sorted({int(each) for each in np.asarray(list(values))}))
    if value.value not in domain or domain[0] < 1:
        raise _wrong(op, f"the values of '{name.value}' must be at least 1, and its default among them")
    divides = op.attributes.get(DIVIDES, None)
    other = divides.value if isinstance(divides, ir.StringAttr) else ""
    return ScriptKnob(name.value, value.value, domain, other)


def _wrong(op: ir.Operation, message: str) -> TunerError:
    return TunerError(message, location=place_of(op))


def place_of(op: ir.Operation) -> str:
    """`file:line:column`, as a message shows it."""
    return place_in(str(op.location))


def place_in(location: str) -> str:
    """The same from a printed location: `loc("script.mlir":3:5)`, without others fused into it."""
    inside = location.removeprefix("loc(").removesuffix(")")
    return inside.replace('"', "")


def symbols_in(op: ir.Operation) -> list[str]:
    """The symbols that an op's attributes name."""
    found: list[str] = []
    for value in op.attributes.values():
        every = list(value) if isinstance(value, ir.ArrayAttr) else [value]
        found += [each.value for each in every if isinstance(each, ir.FlatSymbolRefAttr)]
    return found
