"""Several specs made one, by the compiler's own pass.

The pass (`iree-codegen-link-tuning-specs`) merges specs that have a default entry point into one
`foreach_match`, and chains all others as includes. It neither sees equal matchers, of which only the
first would ever fire, nor follows includes when it renames a sequence. So specs are prepared for it:
repeated entries are dropped, contradicting ones refused, names made distinct, and a prologue
taken off and put back once on the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import transform
from iree.compiler.passmanager import PassManager

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.session import parse_module
from iree_tuner.errors import TunerError
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.canonical import canonical, meaning
from iree_tuner.spec.grammar import (
    DEFAULT_ENTRYPOINT,
    ENTRYPOINT,
    ENTRYPOINT_NAME,
    WITH_NAMED_SEQUENCE,
    Pair,
    entry_sequence,
    pairs,
    references,
    sequences,
    walk,
)

_PASS = "builtin.module(iree-codegen-link-tuning-specs)"
_APPLY_PASS = "transform.apply_registered_pass"
_FOREACH_MATCH = "transform.foreach_match"
_NOT_DEFAULT = ("restrict_root", "flatten_results")


@dataclass(frozen=True)
class _Spec:
    """A copy of a spec that is to be linked, and what messages call it."""

    label: str
    module: ir.Module


def link_specs(
    modules: Sequence[ir.Module],
    *,
    labels: Sequence[str] | None = None,
    name: str = "linked_tuning_spec",
    context: ir.Context | None = None,
) -> ir.Module:
    """Link specs into one verified module; the modules given are left as they are.

    An entry that occurs twice is kept once. Where matchers overlap without being equal, earlier specs
    win; but where one has a form of its own, so that the compiler chains them all, the last does.

    Args:
        modules: in the order of precedence.
        labels: what messages call them, mostly their paths.
        name: symbol name of the result.
        context: of the result; that of the first module when not given.

    Raises:
        TunerError: two specs match the same op and set different things, or the compiler cannot link them.
    """
    if not modules:
        raise TunerError("there is nothing to link")
    home = context or modules[0].context
    labels = labels or [f"spec {index + 1}" for index in range(len(modules))]
    with home, ir.Location.unknown(home):
        copies = [
            _Spec(label, parse_module(to_bytecode(module), home, label))
            for label, module in zip(labels, modules, strict=True)
        ]
        for spec in copies:
            _name_entry(spec.module)
        without_pairs = [spec for spec in copies if not pairs(spec.module) and _does_something(spec.module)]
        _drop_repeated(copies)
        specs = [spec for spec in copies if spec in without_pairs or pairs(spec.module)]
        if not specs:
            return build_spec([], home, name=name)
        prologue = _take_prologues(specs)
        linked = specs[0].module if len(specs) == 1 else _link(specs)
        linked.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        if DEFAULT_ENTRYPOINT in linked.operation.attributes:
            _share_actions(linked)
        _put_prologue(linked, prologue)
        _verify(linked)
    return linked


def _name_entry(module: ir.Module) -> None:
    """Call a spec's one entry point what the compiler calls it where the spec has no other."""
    known = sequences(module)
    found = [name for name, op in known.items() if ENTRYPOINT in op.attributes]
    if len(found) != 1 or ENTRYPOINT_NAME in known:
        return
    ir.SymbolTable.replace_all_symbol_uses(found[0], ENTRYPOINT_NAME, module.operation)
    known[found[0]].attributes["sym_name"] = ir.StringAttr.get(ENTRYPOINT_NAME)


def _does_something(module: ir.Module) -> bool:
    """Whether a spec's entry points hold more than what ends them: matchers, or ops of their own."""
    entries = [op for op in sequences(module).values() if ENTRYPOINT in op.attributes]
    entries = entries or list(filter(None, [entry_sequence(module)]))
    return any(len(list(op.regions[0].blocks[0])) > 1 for op in entries)


def _drop_repeated(specs: Sequence[_Spec]) -> None:
    """Take out pairs that say what an earlier pair says. Raises TunerError for contradictions."""
    seen: dict[str, tuple[_Spec, Pair]] = {}
    for spec in specs:
        repeated: list[Pair] = []
        for pair in pairs(spec.module):
            found = meaning(pair)
            other, earlier = seen.setdefault(found.matches, (spec, pair))
            if earlier is pair:
                continue
            if (found.sets, found.does) != (meaning(earlier).sets, meaning(earlier).does):
                raise TunerError(
                    f"conflict: @{earlier.matcher} of {other.label} and @{pair.matcher} of {spec.label} "
                    "match the same op and configure it differently",
                    hint="take one of them out",
                )
            repeated.append(pair)
        if repeated:
            _remove(spec.module, repeated)


def _remove(module: ir.Module, repeated: Sequence[Pair]) -> None:
    """Take pairs out of a spec, and the sequences that only they used."""
    for op in [op for op in walk(module.operation) if op.name == _FOREACH_MATCH]:
        dropped = {pair.index for pair in repeated if pair.foreach_match == op}
        kept = [index for index in range(len(references(op, "matchers"))) if index not in dropped]
        if not kept:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
            continue
        for name in ("matchers", "actions"):
            symbols = list(ir.ArrayAttr(op.attributes[name]))
            op.attributes[name] = ir.ArrayAttr.get([symbols[index] for index in kept])
    used = [op for pair in pairs(module) for op in (pair.matcher_op, pair.action_op)]
    gone: list[ir.Operation] = []
    for op in [op for pair in repeated for op in (pair.matcher_op, pair.action_op)]:
        if op is not None and op not in used and op not in gone:
            gone.append(op)
    for op in gone:
        op.erase()


def _take_prologues(specs: Sequence[_Spec]) -> list[str]:
    """Give every spec a default entry point and return the passes that they ran before, each once.

    Where one spec has another form, none is changed: the compiler then chains all as they are.
    """
    found = [_prologue(spec.module) for spec in specs]
    if any(passes is None for passes in found):
        return []
    for spec in specs:
        sequence = entry_sequence(spec.module)
        assert sequence is not None, "_prologue found it"
        for op in [op for op in walk(sequence) if op.name == _APPLY_PASS]:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
        spec.module.operation.attributes[DEFAULT_ENTRYPOINT] = ir.UnitAttr.get()
    return list(dict.fromkeys(name for passes in found for name in passes or ()))


def _prologue(module: ir.Module) -> list[str] | None:
    """Passes before the one `foreach_match` of a spec; None for a spec of another form."""
    sequence = entry_sequence(module)
    if sequence is None:
        return None
    operations = [op.operation for op in sequence.regions[0].blocks[0]]
    if len(operations) < 2:
        return None
    *passes, match, _ = operations
    if match.name != _FOREACH_MATCH or any(flag in match.attributes for flag in _NOT_DEFAULT):
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
    match = next(op for op in walk(sequence) if op.name == _FOREACH_MATCH)
    handle: ir.Value = match.operands[0]
    with ir.InsertionPoint(match):
        for name in passes:
            handle = transform.ApplyRegisteredPassOp(transform.AnyOpType.get(), handle, name).result
    match.operands[0] = handle


def _link(specs: Sequence[_Spec]) -> ir.Module:
    """Nest the specs in one module and run the compiler's pass on it."""
    outer = ir.Module.create()
    outer.operation.attributes[WITH_NAMED_SEQUENCE] = ir.UnitAttr.get()
    taken: set[str] = set()
    for index, spec in enumerate(specs):
        _rename(spec.module, taken)
        nested = spec.module.operation.clone(ir.InsertionPoint(outer.body))
        nested.attributes["sym_name"] = ir.StringAttr.get(f"spec_{index}")
    try:
        PassManager.parse(_PASS).run(outer.operation)
    except ir.MLIRError as error:
        reason = error.error_diagnostics[0].message if error.error_diagnostics else "no diagnostic"
        raise TunerError(f"the compiler cannot link these specs: {reason}") from None
    if entry_sequence(outer) is None:
        raise TunerError(
            "the compiler cannot link these specs: some consume their argument, others only read it"
        )
    return outer


def _rename(module: ir.Module, taken: set[str]) -> None:
    """Give sequences whose names are taken other names, with all that refer to them."""
    own = set(sequences(module)) - {ENTRYPOINT_NAME}
    for name in sorted(own & taken):
        count = 0
        while (fresh := f"{name}_{count}") in taken | own:
            count += 1
        ir.SymbolTable.replace_all_symbol_uses(name, fresh, module.operation)
        sequences(module)[name].attributes["sym_name"] = ir.StringAttr.get(fresh)
        own.add(fresh)
    taken |= set(sequences(module))


def _share_actions(module: ir.Module) -> None:
    """Keep one of equal actions."""
    first: dict[str, str] = {}
    for name in dict.fromkeys(pair.action for pair in pairs(module)):
        op = sequences(module)[name]
        kept = first.setdefault(canonical(op), name)
        if kept != name:
            ir.SymbolTable.replace_all_symbol_uses(name, kept, module.operation)
            op.erase()


def _verify(module: ir.Module) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        reason = error.error_diagnostics[0].message if error.error_diagnostics else "no diagnostic"
        raise TunerError(f"the linked spec does not verify: {reason}") from None
