"""Several specs made one, by the compiler's own pass.

The pass (`iree-codegen-link-tuning-specs`) merges specs that have a default entry point into one
`foreach_match`, and chains all others as includes. It does not see equal matchers, although only the first of
them would ever fire, and does not follow includes when it renames a sequence. So specs are prepared for it:
specs in the form of a default one are marked as default specs, so that the first one wins; repeated entries
are dropped, contradicting ones refused, names made distinct, and a prologue taken off and put back once on
the result.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import transform
from iree.compiler.passmanager import PassManager

from iree_tuner.compiler.context import symbol_of, walk
from iree_tuner.compiler.session import parse_module
from iree_tuner.errors import TunerError
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.grammar import (
    DEFAULT_ENTRYPOINT,
    ENTRYPOINT,
    ENTRYPOINT_NAME,
    FOREACH_MATCH,
    WITH_NAMED_SEQUENCE,
    Pair,
    argument_problems,
    canonical,
    entry_sequence,
    entry_sequences,
    meaning,
    nested_specs,
    pairs,
    reached,
    references,
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
        prologue: list[str] = []
        if _are_merged(specs):
            _drop_repeated(specs)
            prologue = _take_prologues(specs)
            specs = [spec for spec in specs if pairs(spec.module)]
        if not specs:
            return build_spec([], home, name=name)
        alone = len(specs) == 1 and runs_by_name(specs[0].module)
        linked = specs[0].module if alone else _link(specs)
        linked.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        if DEFAULT_ENTRYPOINT in linked.operation.attributes:
            _share_actions(linked)
        _put_prologue(linked, prologue)
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


def _drop_repeated(specs: Sequence[_LabeledSpec]) -> None:
    """Take out pairs whose matcher occurs earlier: they never fire."""
    seen: set[str] = set()
    for spec in specs:
        repeated: list[Pair] = []
        for pair in pairs(spec.module):
            matches = meaning(pair).matches
            if matches in seen:
                repeated.append(pair)
            seen.add(matches)
        if repeated:
            _remove(spec.module, repeated)


def _remove(module: ir.Module, repeated: Sequence[Pair]) -> None:
    """Take pairs out of a spec, and the sequences that only they used."""
    for op in [op for op in walk(module.operation) if op.name == FOREACH_MATCH]:
        dropped = {pair.index for pair in repeated if pair.foreach_match == op}
        kept = [index for index in range(len(references(op, "matchers"))) if index not in dropped]
        if not kept:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
            continue
        for name in ("matchers", "actions"):
            symbols = list(ir.ArrayAttr(op.attributes[name]))
            op.attributes[name] = ir.ArrayAttr.get([symbols[index] for index in kept])
    used = reached(module)
    gone: list[ir.Operation] = []
    for op in [op for pair in repeated for op in (pair.matcher_op, pair.action_op)]:
        if op is not None and op not in used and op not in gone:
            gone.append(op)
    for op in gone:
        op.erase()


def _take_prologues(specs: Sequence[_LabeledSpec]) -> list[str]:
    """Give every spec a default entry point and return the passes that they ran before, each once."""
    found: list[str] = []
    for spec in specs:
        found.extend(_prologue(spec.module) or ())
        sequence = entry_sequence(spec.module)
        assert sequence is not None, "_are_merged has looked"
        for op in [op for op in walk(sequence) if op.name == _APPLY_PASS]:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
        spec.module.operation.attributes[DEFAULT_ENTRYPOINT] = ir.UnitAttr.get()
    return list(dict.fromkeys(found))


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
    if any(
        [value.type for value in values] != [transform.AnyOpType.get()]
        for values in (match.operands, match.results)
    ):
        return None
    if any(op.name != _APPLY_PASS or len(op.attributes["options"]) for op in passes):
        return None
    return [ir.StringAttr(op.attributes["pass_name"]).value for op in passes]


def _put_prologue(module: ir.Module, passes: Sequence[str]) -> None:
    """Run passes before matching, which the default entry point's grammar does not allow."""
    sequence = entry_sequence(module)
    if not passes or sequence is None:
        return
    del module.operation.attributes[DEFAULT_ENTRYPOINT]
    match = next(op for op in walk(sequence) if op.name == FOREACH_MATCH)
    handle: ir.Value = match.operands[0]
    with ir.InsertionPoint(match):
        for name in passes:
            handle = transform.ApplyRegisteredPassOp(transform.AnyOpType.get(), handle, name).result
    match.operands[0] = handle


def _link(specs: Sequence[_LabeledSpec]) -> ir.Module:
    """Nest the specs in one module and run the compiler's pass on it. Raises TunerError if it refuses."""
    if any(DEFAULT_ENTRYPOINT not in spec.module.operation.attributes for spec in specs):
        entries = {
            f"{symbol_of(op)} of {spec.label}": op for spec in specs for op in entry_sequences(spec.module)
        }
        for problem in argument_problems(entries):
            raise TunerError(f"cannot link: {problem}")
    outer = ir.Module.create()
    outer.operation.attributes[WITH_NAMED_SEQUENCE] = ir.UnitAttr.get()
    taken: set[str] = set()
    for index, spec in enumerate(specs):
        own = set(_symbols(spec.module))
        for name in sorted((set(sequences(spec.module)) - {ENTRYPOINT_NAME}) & taken):
            fresh = _fresh(name, taken | own)
            _rename(spec.module, name, fresh)
            own.add(fresh)
        taken |= set(_symbols(spec.module))
        nested = spec.module.operation.clone(ir.InsertionPoint(outer.body))
        nested.attributes["sym_name"] = ir.StringAttr.get(f"spec_{index}")
    try:
        PassManager.parse(_PASS).run(outer.operation)
    except ir.MLIRError as error:
        reason = error.error_diagnostics[0].message if error.error_diagnostics else "no diagnostic"
        raise TunerError(f"the compiler cannot link these specs: {reason}") from None
    return outer


def _share_actions(module: ir.Module) -> None:
    """Keep one of equal actions."""
    first: dict[str, str] = {}
    for name in dict.fromkeys(pair.action for pair in pairs(module)):
        op = sequences(module).get(name)
        if op is None:
            continue
        kept = first.setdefault(canonical(op), name)
        if kept != name:
            ir.SymbolTable.replace_all_symbol_uses(name, kept, module.operation)
            op.erase()
