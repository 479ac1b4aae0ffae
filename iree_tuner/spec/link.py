"""Several specs made one.

Specs in the form of a default one, with a prologue or without, become one `foreach_match`, so that the
first one wins. Repeated entries are dropped, contradicting ones refused, and each pass of a prologue runs
once. Specs of other forms are chained as includes by the compiler's own pass
(`iree-codegen-link-tuning-specs`). It does not follow includes when it renames a sequence, so that names
are made distinct before.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import transform
from iree.compiler.passmanager import PassManager

from iree_tuner.compiler.context import ops_in, symbol_of
from iree_tuner.compiler.session import parse_module
from iree_tuner.errors import TunerError
from iree_tuner.spec.build import build_spec, entrypoint
from iree_tuner.spec.grammar import (
    ANNOTATION,
    DEFAULT_ENTRYPOINT,
    ENTRYPOINT,
    ENTRYPOINT_NAME,
    FOREACH_MATCH,
    WITH_NAMED_SEQUENCE,
    Pair,
    argument_problems,
    entry_sequence,
    entry_sequences,
    meaning,
    nested_specs,
    pairs,
    reached,
    runs_by_name,
    sequences,
)

_PASS = "builtin.module(iree-codegen-link-tuning-specs)"
_APPLY_PASS = "transform.apply_registered_pass"
_NOT_DEFAULT = ("restrict_root", "flatten_results")


@dataclass(frozen=True)
class _LabeledSpec:
    """A copy of a spec that is to be linked, and its name in messages."""

    label: str
    module: ir.Module


def link_specs(
    modules: Sequence[ir.Module],
    *,
    labels: Sequence[str] | None = None,
    name: str = "linked_tuning_spec",
    context: ir.Context | None = None,
) -> ir.Module:
    """Link specs, in the order of precedence, into one verified module; the modules given are not changed.

    An entry that occurs twice is kept once. If matchers overlap without being equal, earlier specs win; but
    if one has a form of its own, so that the compiler chains them all, nothing is dropped and the last wins.
    A module without an entry point stands for the specs inside it.

    `labels` are their names in messages, mostly their paths; `name` and `context` are the result's, by
    default the first module's context.

    Raises TunerError if two specs match the same op and set different things, or the compiler cannot link
    them.
    """
    if not modules:
        raise TunerError("no specs to link")
    home = context or modules[0].context
    labels = labels or [f"spec {index + 1}" for index in range(len(modules))]
    with home, ir.Location.unknown(home):
        copies = [
            copy
            for label, module in zip(labels, modules, strict=True)
            for copy in _copies(_LabeledSpec(label, module), home)
        ]
        for spec in copies:
            _name_entry(spec)
        # Their entry points hold more than a terminator: matchers, or ops of their own.
        specs = [
            spec for spec in copies
            if any(len(list(op.regions[0].blocks[0])) > 1 for op in entry_sequences(spec.module))
        ]  # fmt: skip
        _refuse_conflicts(specs)
        if not specs:
            return build_spec([], home, name=name)
        if _are_merged(specs):
            linked = _merged(specs)
        else:
            alone = len(specs) == 1 and runs_by_name(specs[0].module)
            linked = specs[0].module if alone else _chained(specs)
        linked.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        try:
            linked.operation.verify()
        except ir.MLIRError as error:
            reason = error.error_diagnostics[0].message if error.error_diagnostics else "no diagnostic"
            raise TunerError(f"the linked spec does not verify: {reason}") from None
    return linked


def _copies(spec: _LabeledSpec, context: ir.Context) -> Iterator[_LabeledSpec]:
    """A copy of a spec, or of each spec inside a module that has no entry point itself."""
    inside = nested_specs(spec.module) if entry_sequence(spec.module) is None else []
    for op in inside or [spec.module.operation]:
        buffer = io.BytesIO()
        op.write_bytecode(buffer)
        label = f"@{symbol_of(op)} of {spec.label}" if inside and symbol_of(op) else spec.label
        yield _LabeledSpec(label, parse_module(buffer.getvalue(), context, label))


def _name_entry(spec: _LabeledSpec) -> None:
    """Give a spec's one entry point the name and the attribute that the compiler looks for."""
    found = entry_sequences(spec.module)
    if len(found) != 1:
        return
    known = sequences(spec.module)
    if symbol_of(found[0]) != ENTRYPOINT_NAME:
        if ENTRYPOINT_NAME in known:
            _rename(spec.module, ENTRYPOINT_NAME, _fresh(ENTRYPOINT_NAME, set(known)))
        _rename(spec.module, symbol_of(found[0]), ENTRYPOINT_NAME)
    if ENTRYPOINT not in found[0].attributes:
        _return_function(found[0], spec.label)
        found[0].attributes[ENTRYPOINT] = ir.UnitAttr.get()


def _return_function(entry: ir.Operation, label: str) -> None:
    """Let an entry point return the function that it worked on, as the attribute requires.

    Raises TunerError if it has other results, or does not end in a `foreach_match`.
    """
    signature = ir.FunctionType(ir.TypeAttr(entry.attributes["function_type"]).value)
    if len(signature.results) == 1:
        return
    *body, end = [op.operation for op in entry.regions[0].blocks[0]]
    if signature.results or not body or body[-1].name != FOREACH_MATCH:
        raise TunerError(f"@{ENTRYPOINT_NAME} must return the function that it takes", location=label)
    handle = body[-1].results[0]
    entry.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(signature.inputs, [handle.type]))
    with ir.InsertionPoint(end):
        transform.YieldOp([handle])
    end.erase()


def _rename(module: ir.Module, name: str, fresh: str) -> None:
    """Rename a symbol, with all references to it."""
    ir.SymbolTable.replace_all_symbol_uses(name, fresh, module.operation)
    _symbols(module)[name].attributes["sym_name"] = ir.StringAttr.get(fresh)


def _fresh(name: str, taken: set[str]) -> str:
    count = 0
    while f"{name}_{count}" in taken:
        count += 1
    return f"{name}_{count}"


def _symbols(module: ir.Module) -> dict[str, ir.Operation]:
    """All named ops at the top of a module."""
    return {symbol_of(op.operation): op.operation for op in module.body if symbol_of(op.operation)}


def _are_merged(specs: Sequence[_LabeledSpec]) -> bool:
    """Whether specs can be one `foreach_match`: by their form, and without functions of one name."""
    others = [name for spec in specs for name in _symbols(spec.module) if name not in sequences(spec.module)]
    return len(set(others)) == len(others) and all(_prologue(spec.module) is not None for spec in specs)


def _refuse_conflicts(specs: Sequence[_LabeledSpec]) -> None:
    """Raises TunerError if two specs match the same op and set different things."""
    seen: dict[str, tuple[_LabeledSpec, list[Pair]]] = {}
    for spec in specs:
        for matches, own in _firing(spec.module).items():
            other, theirs = seen.setdefault(matches, (spec, own))
            if [_effect(pair) for pair in own] != [_effect(pair) for pair in theirs]:
                raise TunerError(
                    f"conflict: @{theirs[0].matcher} of {other.label} and @{own[0].matcher} of {spec.label} "
                    "match the same op and configure it differently",
                    hint="remove one of them",
                )


def _firing(module: ir.Module) -> dict[str, list[Pair]]:
    """Pairs by their matchers, the first in each `foreach_match`: others never fire."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs(module):
        equal = found.setdefault(meaning(pair).matches, [])
        if all(pair.foreach_match != earlier.foreach_match for earlier in equal):
            equal.append(pair)
    return found


def _effect(pair: Pair) -> tuple[tuple[str, ...], str]:
    found = meaning(pair)
    return found.sets, found.does


def _merged(specs: Sequence[_LabeledSpec]) -> ir.Module:
    """One `foreach_match` over all pairs, of equal matchers the first, after the passes of all prologues."""
    merged, taken, first = _empty(), set[str](), entry_sequence(specs[0].module)
    kept: dict[str, tuple[str, str]] = {}
    actions: dict[str, str] = {}
    passes: dict[str, None] = {}
    used: list[ir.Operation] = []
    for spec in specs:
        _keep_apart(spec.module, taken)
        passes |= dict.fromkeys(_prologue(spec.module) or ())
        for pair in pairs(spec.module):
            found = meaning(pair)
            kept.setdefault(found.matches, (pair.matcher, actions.setdefault(found.does, pair.action)))
        entry, *others = reached(spec.module)
        used += others
        for op in [each for each in ops_in(spec.module.body) if each != entry]:
            op.detach_from_parent()
            merged.body.append(op)
    made = entrypoint(merged, list(kept.values()), list(passes))
    for op in (each for each in used if each not in reached(merged)):
        op.erase()
    if len(specs) == 1 and first is not None and ANNOTATION in first.attributes:
        made.attributes[ANNOTATION] = first.attributes[ANNOTATION]
    if kept and not passes:
        merged.operation.attributes[DEFAULT_ENTRYPOINT] = ir.UnitAttr.get()
    return merged


def _empty() -> ir.Module:
    made = ir.Module.create()
    made.operation.attributes[WITH_NAMED_SEQUENCE] = ir.UnitAttr.get()
    return made


def _keep_apart(module: ir.Module, taken: set[str]) -> None:
    """Give sequences other names than those that are taken, and take theirs."""
    for name in sorted((set(sequences(module)) - {ENTRYPOINT_NAME}) & taken):
        _rename(module, name, _fresh(name, taken | set(_symbols(module))))
    taken |= set(_symbols(module))


def _prologue(module: ir.Module) -> list[str] | None:
    """Passes before the one `foreach_match` of a spec; None for a spec of another form."""
    sequence = entry_sequence(module)
    marked = [op for op in module.body if ENTRYPOINT in op.operation.attributes]
    if sequence is None or len(marked) != 1:
        return None
    operations = [op.operation for op in sequence.regions[0].blocks[0]]
    if len(operations) < 2:
        return None
    *passes, match, _ = operations
    if match.name != FOREACH_MATCH or any(flag in match.attributes for flag in _NOT_DEFAULT):
        return None
    named = (each for name in ("matchers", "actions") for each in ir.ArrayAttr(match.attributes[name]))
    if not all(isinstance(each, ir.FlatSymbolRefAttr) for each in named):
        return None
    if any(
        [value.type for value in values] != [transform.AnyOpType.get()]
        for values in (match.operands, match.results)
    ):
        return None
    if any(op.name != _APPLY_PASS or len(op.attributes["options"]) for op in passes):
        return None
    return [ir.StringAttr(op.attributes["pass_name"]).value for op in passes]


def _chained(specs: Sequence[_LabeledSpec]) -> ir.Module:
    """Nest the specs in one module and run the compiler's pass on it. Raises TunerError if it refuses."""
    if any(DEFAULT_ENTRYPOINT not in spec.module.operation.attributes for spec in specs):
        entries = {
            f"{symbol_of(op)} of {spec.label}": op for spec in specs for op in entry_sequences(spec.module)
        }
        for problem in argument_problems(entries):
            raise TunerError(f"cannot link: {problem}")
    outer, taken = _empty(), set[str]()
    for index, spec in enumerate(specs):
        _keep_apart(spec.module, taken)
        nested = spec.module.operation.clone(ir.InsertionPoint(outer.body))
        nested.attributes["sym_name"] = ir.StringAttr.get(f"spec_{index}")
    try:
        PassManager.parse(_PASS).run(outer.operation)
    except ir.MLIRError as error:
        reason = error.error_diagnostics[0].message if error.error_diagnostics else "no diagnostic"
        raise TunerError(f"the compiler cannot link these specs: {reason}") from None
    return outer
