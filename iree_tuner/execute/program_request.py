"""The inputs and functions that a user chose for a run, checked against the program before any work."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from iree.compiler import ir

from iree_tuner.compiler.calls import SentPath
from iree_tuner.compiler.context import new_context, walk
from iree_tuner.compiler.session import parse_module
from iree_tuner.compiler.worker import WorkerError, Workers
from iree_tuner.errors import TunerError
from iree_tuner.execute.checks import is_check
from iree_tuner.execute.program_functions import unknown_function
from iree_tuner.execute.program_inputs import check_input
from iree_tuner.execute.program_parameters import load_index, stored_bytes
from iree_tuner.execute.program_run import InputValue, ProgramRun, scopes_of
from iree_tuner.files import note_input
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.dynamic import sizes_of
from iree_tuner.program.entries import Entry, entries_in, keeps_state
from iree_tuner.program.parameters import Parameter, names_parameters, parameters_in
from iree_tuner.program.source import Program
from iree_tuner.program.valid.program import ValidInputs, valid_inputs

_CONVERSIONS = (".fptosi", ".fptoui", ".convert", ".cast")
"""How the names of ops end that make integers of floats; torch and ONNX do not tell what they take."""

_BARRIERS = (".optimization_barrier", ".optimization_barrier_v1", ".unfoldable_constant")
"""How the names of ops end that hide from the compiler that a value is a constant."""

_LONG = 1 << 20  # bytes; long programs hold weights
_MOST_ELEMENTS = 4096  # of a constant that is sent: tables of positions are shorter
_MOST_RESOURCE = 4096  # characters of a resource that is sent


def request(
    program: Program,
    functions: Sequence[str] = (),
    inputs: Sequence[InputValue] = (),
    parameters: Sequence[tuple[str | None, str]] = (),
) -> ProgramRun:
    """How to run a program, as its user asks for.

    Args:
        program: with its sizes, if it was given any (`program.dynamic.sized`).
        functions: entry functions; every one that can be run if there are none.
        inputs: of the first of them, in order.
        parameters: archives and their scopes; None for the only one of the program.

    Raises:
        TunerError: a file is missing or cannot be read; an input or a parameter has another type or shape
            than the program takes; there is no such function or scope.
        CompileError: the program does not parse.
    """
    module = parse_module(program.data, new_context(), program.name)
    wanted = parameters_in(module) if names_parameters(program) else ()
    valid, wanted, entries = _valid(program, module, wanted, entries_in(module))
    _check_entries(entries, functions, inputs)
    archives = [(_scope(scope, path, wanted), _existing(path)) for scope, path in parameters]
    for scope in dict.fromkeys(scope for scope, _ in archives):
        own = [path for other, path in archives if other == scope]
        _check_archives(own, [each for each in wanted if each.scope == scope])
    given = tuple(_existing(value) if isinstance(value, str) else value for value in inputs)
    run = [entry for entry in entries if not functions or entry.name in functions]
    ops = {op.name for op in walk(module.operation)}
    all_given = len(run) == 1 and len(given) == len(run[0].inputs) and None not in given
    return ProgramRun(
        tuple(functions),
        given,
        tuple(archives),
        sizes_of(program),
        wanted,
        entries,
        () if all_given and (archives or not wanted) else valid.unclear,
        keeps_state(module),
        any(name.endswith(_BARRIERS) for name in ops),
        any(map(is_check, ops)),
    )


def _valid(
    program: Program, module: ir.Module, wanted: tuple[Parameter, ...], entries: tuple[Entry, ...]
) -> tuple[ValidInputs, tuple[Parameter, ...], tuple[Entry, ...]]:
    """Parameters and entries with what the program's uses of their integers allow."""
    inputs = [each for entry in entries for each in entry.inputs]
    types = [each.element_type for each in (*wanted, *inputs) if each is not None]
    if None not in inputs and not any(map(_may_be_index, types)) and not _converts(module):
        return ValidInputs(), wanted, entries
    with Workers(1) as workers:
        try:
            found = workers.call(valid_inputs, _sent(program, module), program.name, sizes_of(program))
        except WorkerError:  # the next compilation reports it
            return ValidInputs(), wanted, entries
    parameters = dict(found.parameters)
    return (
        found,
        tuple(replace(each, values=parameters.get((each.scope, each.key))) for each in wanted),
        tuple(_with_values(entry, found) for entry in entries),
    )


def _sent(program: Program, module: ir.Module) -> bytes:
    """The program, without its weights if it is long: no use of an integer depends on them."""
    if len(program.data) <= _LONG:
        return program.data
    return module.operation.get_asm(
        large_elements_limit=_MOST_ELEMENTS, large_resource_limit=_MOST_RESOURCE
    ).encode()


def _may_be_index(element_type: str) -> bool:
    kind = ElementType.named(element_type)
    return (kind.is_integer and kind.bits > 1) or kind.kind == "index"


def _converts(module: ir.Module) -> bool:
    """Whether an op may make integers of floats, which may become indices."""
    made = (op.results[0].type for op in walk(module.operation) if op.name.endswith(_CONVERSIONS))
    return any(ElementType.of(kind).is_integer for kind in made)


def _with_values(entry: Entry, found: ValidInputs) -> Entry:
    feeds = (replace(feed, values=found.of(entry.name, number)) for number, feed in enumerate(entry.feeds))
    return replace(entry, feeds=tuple(feeds))


def _check_entries(entries: Sequence[Entry], functions: Sequence[str], inputs: Sequence[InputValue]) -> None:
    known = [entry.name for entry in entries]
    for name in functions:
        if name not in known:
            raise unknown_function(name, known)
    if not inputs or not entries:
        return
    first = next(entry for entry in entries if entry.name == (functions[0] if functions else known[0]))
    if len(inputs) > len(first.inputs):
        raise TunerError(
            f"wrong number of inputs for @{first.name}: {len(inputs)} instead of {len(first.inputs)}",
            hint="--function selects the function" if len(entries) > 1 else None,
        )
    for number, (taken, value) in enumerate(zip(first.inputs, inputs, strict=False)):
        if taken is not None:
            check_input(number, taken, value)


def _scope(scope: str | None, path: str, wanted: Sequence[Parameter]) -> str:
    known = scopes_of(wanted)
    if not known:
        raise TunerError("the program takes no parameters", location=path)
    if scope in known:
        return scope
    written = ", ".join(f"'{each}'" for each in known)
    if scope is None:
        if len(known) == 1:
            return known[0]
        raise TunerError(f"the program has several scopes: {written}", location=path, hint="write SCOPE=PATH")
    close = difflib.get_close_matches(scope, known, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"one of: {written}"
    raise TunerError(f"no parameter of the program has the scope '{scope}'", location=path, hint=hint)


def _check_archives(paths: Sequence[str], wanted: Sequence[Parameter]) -> None:
    lengths = {key: entry.length for key, entry in load_index(paths).items()}
    for parameter in wanted:
        length = lengths.get(parameter.key)
        if length is not None and length != stored_bytes(parameter):
            raise TunerError(
                f"parameter {parameter} has {length} bytes, but the program needs {stored_bytes(parameter)}",
                location=paths[0],
            )
    if not any(parameter.key in lengths for parameter in wanted):
        raise TunerError(
            f"the archive has none of the program's parameters, such as {wanted[0]}", location=paths[0]
        )


def _existing(path: str) -> str:
    if not Path(path).is_file():
        raise TunerError("no such file", location=path)
    note_input(path)
    return SentPath(Path(path).resolve())
