"""Specs from and to files: text in `.mlir`, bytecode in `.mlirbc`; in programs; and as starting points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import new_context, symbol_of, to_bytecode
from iree_tuner.compiler.session import parse_module
from iree_tuner.errors import TunerError
from iree_tuner.files import name_of, read_bytes, write
from iree_tuner.ops.family import ROOT
from iree_tuner.ops.workload import Workload
from iree_tuner.program.carried import IN_MEMORY
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.entry import SpecEntry, read_workload_key
from iree_tuner.spec.grammar import (
    COMPILATION_INFO,
    ENTRYPOINT,
    entry_sequence,
    nested_specs,
    pairs,
    reached,
    runs_by_name,
    yielded_constants,
)
from iree_tuner.spec.link import link_specs


def load_spec(
    source: Path | str | bytes, context: ir.Context, *, name: str = "spec.mlir", nested: bool = False
) -> ir.Module:
    """Read a spec and check that it is one.

    `source` is a path, `-` for standard input; or the spec itself, as text (with a line break in it) or as
    bytes of either form, which messages call `name`. With `nested`, a module of specs is taken too, which
    `link_specs` makes one of.

    Raises TunerError: no such file, nothing in it, not MLIR, does not verify, not a tuning spec, or a
    sequence that it runs is only declared.
    """
    if isinstance(source, Path) or (isinstance(source, str) and "\n" not in source):
        name, source = name_of(source), read_bytes(source)
    if not source.strip():
        raise TunerError("the spec is empty", location=name)
    module = parse_module(_as_input(source, name), context, name)
    inside = nested_specs(module)
    if entry_sequence(module) is None and not (nested and inside):
        hint = "the modules in it are: iree-tuner spec link makes one spec of them" if inside else None
        message = f"not a tuning spec: no sequence has the attribute {ENTRYPOINT}"
        raise TunerError(message, location=name, hint=hint)
    declared = next((op for op in reached(module) if not op.regions[0].blocks), None)
    if declared is not None:
        raise TunerError(f"@{symbol_of(declared)} has no body, but the compiler requires one", location=name)
    return module


def save_spec(module: ir.Module, path: Path | str) -> None:
    """Write a spec in the form of its extension. Raises TunerError for another one, or if it cannot write."""
    path = Path(path)
    if path.suffix == ".mlirbc":
        data = to_bytecode(module)
    elif path.suffix == ".mlir":
        data = str(module).encode()
    else:
        raise TunerError("the file's name must end in .mlir (text) or .mlirbc (bytecode)", location=str(path))
    write(path, data)


def to_attribute(spec: bytes) -> ir.Attribute:
    """A spec's bytecode as the value of `iree_codegen.tuning_spec_mlirbc`. Needs a context and a location."""
    data = np.frombuffer(spec, dtype=np.int8)
    vector = ir.VectorType.get([len(data)], ir.IntegerType.get_signless(8))
    # The overload for arrays is missing from the stubs of the bindings.
    return ir.DenseElementsAttr.get(data, type=vector)  # pyright: ignore[reportCallIssue, reportArgumentType]


def from_attribute(attribute: ir.Attribute) -> bytes:
    """The bytecode in an attribute that `to_attribute` or the compiler made."""
    return np.asarray(ir.DenseIntElementsAttr(attribute)).astype(np.int8).tobytes()


def _as_input(source: bytes | str, name: str) -> bytes | str:
    """Bytecode stays bytes; text is decoded, so that a binary file has a message of its own."""
    if isinstance(source, str) or source.startswith(b"ML\xefR"):
        return source
    try:
        return source.decode()
    except UnicodeDecodeError:
        raise TunerError("not MLIR: neither text nor bytecode", location=name) from None


# A spec inside a program, so that plain `iree-compile` applies it, on every target.
#
# The compiler's path flag is ignored on CUDA and Vulkan; the attribute is read everywhere.


def embed(program: ir.Module, spec: ir.Module | bytes, *, replace: bool = False) -> None:
    """Put a spec on a program's outermost module, in place. Their contexts may differ.

    A spec that the program carries keeps its configurations: the two are linked, unless it is to be replaced.
    Raises TunerError if both configure the same op differently.
    """
    added = parse_module(spec, program.context, "spec") if isinstance(spec, bytes) else spec
    # In memory the compiler looks for an entry point by its name. In a file it looks for the attribute, and
    # runs all sequences that have it.
    if not runs_by_name(added) and entry_sequence(added) is not None:
        data = to_bytecode(link_specs([added]))
    else:
        data = spec if isinstance(spec, bytes) else to_bytecode(spec)
    if IN_MEMORY in program.operation.attributes and not replace:
        own = load_spec(from_attribute(program.operation.attributes[IN_MEMORY]), program.context, nested=True)
        added = parse_module(data, program.context, "spec")
        data = to_bytecode(link_specs([own, added], labels=["the program's spec", "the spec"]))
    with program.context, ir.Location.unknown(program.context):
        program.operation.attributes[IN_MEMORY] = to_attribute(data)


def embed_bytes(program: bytes | str, spec: bytes, *, name: str = "program.mlir") -> bytes:
    """`embed` for a program's text or bytecode and a spec's bytecode; returns bytecode."""
    module = parse_module(program, new_context(), name)
    embed(module, spec)
    return to_bytecode(module)


@dataclass(frozen=True)
class Starter:
    """A root op's configuration, printed, as specs and the compiler write it."""

    lowering_config: str
    translation_info: str
    whole: OpConfiguration  # both, as an entry of a spec has them

    def entry(self, workload: Workload) -> SpecEntry:
        """The same for a workload."""
        return SpecEntry(workload, Configuration((self.whole,)))


def shipped_specs(backend: str) -> tuple[Path, ...]:
    """The specs that come with this package for a compiler backend."""
    package = Path(__file__).resolve().parent.parent
    # In a wheel they are inside the package, in a checkout next to it.
    folders = (package / "_specs" / backend, package.parent / "specs" / backend)
    found = next((folder for folder in folders if folder.is_dir()), None)
    return () if found is None else tuple(sorted(found.rglob("*.mlir")))


def read_starters(paths: Iterable[Path], context: ir.Context) -> dict[str, tuple[Starter, ...]]:
    """Configurations by workload key; specs that name no workloads, such as other projects', have none.

    Raises TunerError for a file that is not a spec.
    """
    found: dict[str, tuple[Starter, ...]] = {}
    for path in paths:
        module = load_spec(path, context)
        for pair in pairs(module):
            key = read_workload_key(pair.matcher_op) if pair.matcher_op is not None else None
            if key is None or pair.matcher_op is None:
                continue
            for constant in yielded_constants(pair.matcher_op):
                value = constant.attributes["value"]
                if isinstance(value, iree_codegen.CompilationInfoAttr):
                    whole = OpConfiguration.of(ROOT, COMPILATION_INFO, value)
                    starter = Starter(str(value.lowering_config), str(value.translation_info), whole)
                    found[key] = (*found.get(key, ()), starter)
    return found
