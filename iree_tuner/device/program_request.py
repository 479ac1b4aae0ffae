"""The inputs and functions that a user chose for a run, checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from iree.compiler import ir

from iree_tuner.compiler.context import new_context, walk
from iree_tuner.compiler.session import parse_module
from iree_tuner.compiler.worker import SentPath, WorkerError, Workers
from iree_tuner.device.array_file import headers_of, keys_of
from iree_tuner.device.checks import is_check
from iree_tuner.device.program_inputs import Argument, unknown_function, why_not_called
from iree_tuner.device.program_parameters import load_index, stored_bytes
from iree_tuner.device.program_run import ARCHIVES, ArchiveMember, InputValue, ProgramRun, scopes_of
from iree_tuner.errors import TunerError, did_you_mean
from iree_tuner.files import note_input
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.dynamic import (
    Case,
    DimensionSize,
    SizedProgram,
    cases_of,
    size_for,
    sized_cases,
    sizes_of,
    suggestion,
)
from iree_tuner.program.entries import (
    Entry,
    Taken,
    argument_names,
    entries_in,
    has_f64_views,
    keeps_state,
    phase_after_flow,
    plain_name,
)
from iree_tuner.program.parameters import Parameter, names_parameters, parameters_in
from iree_tuner.program.size_rules import SizeRules, Variable, size_rules
from iree_tuner.program.source import Program
from iree_tuner.program.valid.interval import Interval
from iree_tuner.program.valid.program import ValidInputs, valid_inputs

_CONVERSIONS = (".fptosi", ".fptoui", ".convert", ".cast")
"""Suffixes of ops that make integers of floats; torch's and ONNX's may also have other operands."""

_DEMOTION = "--iree-input-demote-f64-to-f32"
_MOST_NAMED = 8
_MISSING = ""  # no path
_BARRIERS = (".optimization_barrier", ".optimization_barrier_v1", ".unfoldable_constant")
"""Suffixes of ops that hide from the compiler that a value is a constant."""

_LONG = 1 << 20  # bytes; long programs hold weights
_MOST_ELEMENTS = 4096  # of a constant that is sent: tables of positions are shorter
_MOST_RESOURCE = 4096  # characters of a resource that is sent


def request(
    program: Program, functions: Sequence[str] = (), inputs: Sequence[InputValue] = (),
    parameters: Sequence[tuple[str | None, str]] = (), flags: Sequence[str] = (),
) -> ProgramRun:  # fmt: skip
    """How to run a program as its user asks for.

    Args:
        program: with its sizes, if it was given any (`program.dynamic.sized`).
        functions: entry functions; without, all that can be run.
        inputs: of the first of them, in order.
        parameters: archives and their scopes; None for the program's only scope.
        flags: of the compiler, by the user.

    Raises:
        TunerError: a file is missing or cannot be read; an input or a parameter has another type or shape
            than the program takes; there is no such function or scope; or the compiler demotes f64 wrongly.
        CompileError: the program does not parse.
    """
    functions = tuple(map(plain_name, functions))
    module = parse_module(program.data, new_context(), program.name)
    cases = cases_of(program) or (Case("", ()),)
    asked = (tuple(functions), tuple(inputs), tuple(parameters), tuple(flags))
    first, *others = (
        _request(
            replace(program, cases=(case,)) if isinstance(program, SizedProgram) else program,
            case, module, *asked,
        )
        for case in cases
    )  # fmt: skip
    return replace(first, others=tuple(others))


def sized_as_given(program: Program, run: ProgramRun) -> tuple[Program, ProgramRun]:
    """A program and its run; unset sizes are taken from the given inputs.

    Raises TunerError for a size that the program excludes.
    """
    entry = next((each for each in run.entries if not run.functions or each.name == run.functions[0]), None)
    if entry is None or not run.inputs:
        return program, run
    shapes = [
        (number, taken.shape or (), Argument(number, taken, value).shape or ())
        for number, (taken, value) in enumerate(zip(entry.inputs, run.inputs, strict=False))
        if value is not None
    ]
    found = {
        (number, place): size
        for number, sizes, shape in shapes
        for place, (open_, size) in enumerate(zip(sizes, shape, strict=True))
        if open_ is None and size
    }
    cases = cases_of(program)
    if not found:
        return program, run
    if not isinstance(program, SizedProgram):
        sized = sized_cases(program, {place: (size,) for place, size in found.items()})
        return sized, replace(run, sizes=sizes_of(sized))
    own = [DimensionSize(size, place) for place, size in found.items() if size_for(run.sizes, place) is None]
    sized = replace(program, cases=tuple(replace(each, sizes=(*each.sizes, *own)) for each in cases))
    return sized, replace(run, sizes=(*run.sizes, *own))


def _request(
    program: Program, case: Case, module: ir.Module, functions: tuple[str, ...],
    inputs: tuple[InputValue, ...], parameters: tuple[tuple[str | None, str], ...], flags: tuple[str, ...],
) -> ProgramRun:  # fmt: skip
    wanted = parameters_in(module) if names_parameters(program) else ()
    demoted = _demoted(flags)
    if demoted and has_f64_views(module):
        raise TunerError(
            "IREE 3.13 computes wrong results of f64 in this program's buffers (docs/upstream/f64_views.md)",
            location=program.name, hint=f"pass --compiler-flag={_DEMOTION}=false",
        )  # fmt: skip
    entries = () if phase_after_flow(module) else entries_in(module)  # later, only what is compiled tells
    known = [entry.name for entry in entries]
    for name in functions if known else ():  # the phase `vm` has other functions
        if name not in known:
            raise unknown_function(name, known)
    inputs = tuple(_in_places(program, module, entries, functions, inputs))
    _check_entries(entries, functions, inputs)
    rules = size_rules(module)
    first = next((each.name for each in entries if not functions or each.name in functions), "")
    entries = tuple(
        _with_sizes(each, rules[each.name], case, inputs if each.name == first else ()) for each in entries
    )
    archives = [(_scope(scope, path, wanted), _existing(path)) for scope, path in parameters]
    for scope in dict.fromkeys(scope for scope, _ in archives):
        own = [path for other, path in archives if other == scope]
        _check_archives(own, [each for each in wanted if each.scope == scope])
    valid, wanted, entries = _valid(program, module, wanted, entries)
    run = [entry for entry in entries if not functions or entry.name in functions]
    refused = [entry.refusal for entry in run if entry.refusal]
    if refused and (functions or len(refused) == len(run)):
        raise TunerError(refused[0], location=program.name)
    notes = _generated(wanted, archives)
    types = {each.element_type for entry in entries for each in entry.inputs}
    if demoted and types & {"f64", "complex<f64>"}:
        what = "the compiler computes f64 in f32, and inputs are converted"
        notes = (f"{what} ({_DEMOTION}=false keeps f64)", *notes)
    all_given = len(run) == 1 and len(inputs) == len(run[0].inputs) and None not in inputs
    ops = {op.name for op in walk(module.operation)}
    found = ProgramRun(
        functions,
        inputs,
        tuple(archives),
        case.sizes,
        wanted,
        entries,
        () if all_given and (archives or not wanted) else valid.unclear,
        keeps_state(module),
        notes,
        suggestion(rules, case.sizes),
        case.name,
        has_barriers=any(name.endswith(_BARRIERS) for name in ops),
        has_checks=any(map(is_check, ops)),
    )
    return found if functions else replace(found, left_out=_left_out(found))


def _with_sizes(entry: Entry, rules: SizeRules, case: Case, inputs: Sequence[InputValue]) -> Entry:
    """An entry with the reason why it cannot have these sizes, and with given sizes in its feeds."""
    general = size_for(case.sizes, ())
    given: dict[Variable, int] = {
        place: size for place in rules.places if (size := _given(case, place, entry.name)) is not None
    }
    for number, (taken, value) in enumerate(zip(entry.inputs, inputs, strict=False)):
        shape = Argument(number, taken, value).shape if value is not None else None
        for place, size in enumerate(shape or ()):
            if size is not None:
                given[number, place] = size
        if shape is None and isinstance(value, int):
            given[number,] = value
    feeds = tuple(
        replace(feed, values=Interval(given[number,], given[number,])) if (number,) in given else feed
        for number, feed in enumerate(entry.feeds)
    )
    return replace(entry, feeds=feeds, refusal=rules.why_wrong(given, general))


def _given(case: Case, place: tuple[int, ...], function: str) -> int | None:
    own = (each for each in case.sizes if each.dimension == place and each.function in ("", function))
    return next((each.size for each in own), None)


def _demoted(flags: Sequence[str]) -> bool:
    """Whether the compiler makes f32 of f64, as it does by default; the last flag counts."""
    values = [value for name, _, value in (each.lstrip("-").partition("=") for each in flags)
              if name == _DEMOTION.lstrip("-")]  # fmt: skip
    return not values or values[-1].lower() not in ("false", "0")


def _generated(wanted: Sequence[Parameter], archives: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """A note on parameters that are missing in the archives of their scope."""
    held = {(scope, key) for scope, path in archives for key, _ in load_index([path]).items()}
    scopes = {scope for scope, _ in archives}
    missing = [str(each) for each in wanted if each.scope in scopes and (each.scope, each.key) not in held]
    if not missing:
        return ()
    more = f" and {len(missing) - _MOST_NAMED} more" if missing[_MOST_NAMED:] else ""
    return (f"parameters that no archive holds are generated: {', '.join(missing[:_MOST_NAMED])}{more}",)


def _left_out(run: ProgramRun) -> tuple[str, ...]:
    """The functions that cannot be called, and why; empty if these are all, which is an error."""
    reasons = {
        entry.name: why_not_called(entry, run, () if number else run.inputs)
        for number, entry in enumerate(run.entries)
    }
    found = tuple(f"@{name} is not run: {reason}" for name, reason in reasons.items() if reason)
    return found if len(found) < len(run.entries) else ()


def _valid(
    program: Program, module: ir.Module, wanted: tuple[Parameter, ...], entries: tuple[Entry, ...]
) -> tuple[ValidInputs, tuple[Parameter, ...], tuple[Entry, ...]]:
    """Restrict parameters and entries to the integers that the program's uses allow."""
    inputs = [each for entry in entries for each in entry.inputs]
    kinds = [ElementType.named(each.element_type) for each in (*wanted, *inputs)]
    may_be_index = any((each.is_integer and each.bits > 1) or each.kind == "index" for each in kinds)
    # Integers made of floats may become indices.
    made = (op.results[0].type for op in walk(module.operation) if op.name.endswith(_CONVERSIONS))
    if not may_be_index and not any(ElementType.of(kind).is_integer for kind in made):
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
    """The program; if it is long, without its weights, on which no use of an integer depends."""
    if len(program.data) <= _LONG:
        return program.data
    return module.operation.get_asm(
        large_elements_limit=_MOST_ELEMENTS, large_resource_limit=_MOST_RESOURCE
    ).encode()


def _with_values(entry: Entry, found: ValidInputs) -> Entry:
    feeds = (replace(feed, values=found.of(entry.name, number)) for number, feed in enumerate(entry.feeds))
    return replace(entry, feeds=tuple(feeds))


def _check_entries(entries: Sequence[Entry], functions: Sequence[str], inputs: Sequence[InputValue]) -> None:
    if not inputs or not entries:
        return
    first = _first(entries, functions)
    if len(inputs) > len(first.inputs):
        raise TunerError(
            f"wrong number of inputs for @{first.name}: {len(inputs)} instead of {len(first.inputs)}",
            hint="--function selects the function" if len(entries) > 1 else None,
        )
    for number, (taken, value) in enumerate(zip(first.inputs, inputs, strict=False)):
        Argument(number, taken, value).check()


def _first(entries: Sequence[Entry], functions: Sequence[str]) -> Entry:
    return next((entry for entry in entries if functions and entry.name == functions[0]), entries[0])


def _in_places(
    program: Program, module: ir.Module, entries: Sequence[Entry], functions: Sequence[str],
    inputs: Sequence[InputValue],
) -> Sequence[InputValue]:  # fmt: skip
    """Inputs in the function's order: arrays of archives by their names, or in order if none matches.

    Raises TunerError for an array that matches no argument, and for an argument without one.
    """
    inputs = [_existing(value) if isinstance(value, str) else value for value in inputs]
    if not entries or not any(isinstance(value, str) and value.endswith(ARCHIVES) for value in inputs):
        return inputs
    first = _first(entries, functions)
    names = argument_names(program, module, first.name)
    own = {number: name for name, number in names.items()}
    taken = [f"{own[number]} ({each})" for number, each in enumerate(first.inputs)]
    takes = f"@{first.name} takes {', '.join(taken[:_MOST_NAMED])}{', ...' if taken[_MOST_NAMED:] else ''}"
    placed: dict[int, InputValue] = {}
    others: list[InputValue] = []
    for value in inputs:
        if not isinstance(value, str) or not value.endswith(ARCHIVES):
            others.append(value)
            continue
        keys = keys_of(value)
        if not names.keys() & set(keys):
            others += [ArchiveMember(value, key) for key in keys]
            continue
        for key in keys:
            if key not in names or names[key] in placed:
                problem = "two arrays are for the argument" if key in names else "no argument has the name"
                raise TunerError(f"{problem} '{key}': {takes}", location=value)
            placed[names[key]] = ArchiveMember(value, key)
    rest = iter(others)
    found = [placed[number] if number in placed else next(rest, _MISSING) for number in range(len(taken))]
    if _MISSING in found:
        archive = next(value for value in inputs if isinstance(value, str) and value.endswith(ARCHIVES))
        raise TunerError(
            f"no array for {taken[found.index(_MISSING)]} of @{first.name}", location=archive,
            hint="add it, or generate it with a further --input -",
        )  # fmt: skip
    return [*found, *rest]


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
    hint = did_you_mean(f"'{scope}'", [f"'{each}'" for each in known])
    raise TunerError(f"no parameter of the program has the scope '{scope}'", location=path, hint=hint)


def _check_archives(paths: Sequence[str], wanted: Sequence[Parameter]) -> None:
    for path in paths:
        if path.endswith(ARCHIVES[1]):  # the others have no types
            _check_types(path, wanted)
        elif path.endswith(ARCHIVES[0]):
            raise TunerError("parameters are in .irpa, .gguf or .safetensors archives", location=path)
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


def _check_types(path: str, wanted: Sequence[Parameter]) -> None:
    held = headers_of(path)
    for parameter in wanted:
        found, kind = held.get(parameter.key), ElementType.named(parameter.element_type)
        if found is None or kind.per_byte > 1:  # such values are stored as bytes
            continue
        if found.shape != parameter.shape or not found.has(kind.name):
            needed = Taken(kind.name, parameter.shape)
            raise TunerError(
                f"parameter {parameter} is {found}, but the program needs {needed}", location=path
            )


def _existing(path: str) -> str:
    if not Path(path).is_file():
        raise TunerError("not a file" if Path(path).exists() else "no such file", location=path)
    note_input(path)
    return SentPath(Path(path).resolve())
