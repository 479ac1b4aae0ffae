"""Names in the compiler's tuning specs, how their parts are found and compared, and its rules for linking.

Source: IREECodegenDialect.cpp (`verifyOperationAttribute`) of release 3.13.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.compiler.context import defining_op, ops_around, symbol_of, walk

ANNOTATION = "iree_tuner"
"""Discardable attribute of a matcher's sequence. Without a dot: the verifier refuses unknown dialects."""

WITH_NAMED_SEQUENCE = "transform.with_named_sequence"
DEFAULT_ENTRYPOINT = "iree_codegen.tuning_spec_with_default_entrypoint"
ENTRYPOINT = "iree_codegen.tuning_spec_entrypoint"
ENTRYPOINT_NAME = "__kernel_config"
COMPILATION_INFO = "compilation_info"
LOWERING_CONFIG = "lowering_config"
TRANSLATION_INFO = "translation_info"
FOREACH_MATCH = "transform.foreach_match"
INCLUDE = "transform.include"
CONSUMED = "transform.consumed"
READ_ONLY = "transform.readonly"

_REFERENCES = {FOREACH_MATCH: ("matchers", "actions"), INCLUDE: ("target",)}
"""Ops that run sequences, and the attributes that name them."""


@dataclass(frozen=True)
class Pair:
    """A matcher and its action, as one `foreach_match` names them.

    With the sequences that they resolve to; None for one that is missing, or only declared.
    """

    foreach_match: ir.Operation
    index: int
    matcher: str
    action: str
    matcher_op: ir.Operation | None
    action_op: ir.Operation | None


def is_sequence(op: ir.Operation) -> bool:
    """Whether an op is a `transform.named_sequence`."""
    return op.name == "transform.named_sequence"


def sequences(module: ir.Module) -> dict[str, ir.Operation]:
    """Named sequences at the top of a module, by name."""
    return {symbol_of(op.operation): op.operation for op in module.body if is_sequence(op.operation)}


def entry_sequences(module: ir.Module) -> list[ir.Operation]:
    """The sequences that the compiler runs, in order: the marked ones, else the one with the fixed name."""
    known = sequences(module)
    marked = [op for op in known.values() if ENTRYPOINT in op.attributes]
    return marked or [op for name, op in known.items() if name == ENTRYPOINT_NAME]


def entry_sequence(module: ir.Module) -> ir.Operation | None:
    """The first sequence that the compiler runs, with any name."""
    return next(iter(entry_sequences(module)), None)


def runs_by_name(module: ir.Module) -> bool:
    """Whether all that a spec runs is the sequence that the compiler looks for in a spec in memory."""
    return [symbol_of(op) for op in entry_sequences(module)] == [ENTRYPOINT_NAME]


def nested_specs(module: ir.Module) -> list[ir.Operation]:
    """Modules directly inside that have entry points of their own."""
    inside = [op.operation for op in module.body if op.operation.name == "builtin.module"]
    return [op for op in inside if any(ENTRYPOINT in view.operation.attributes for view in _body(op))]


def reached(module: ir.Module) -> list[ir.Operation]:
    """Sequences that run, entry points and all that they lead to, in order; also those only declared."""
    found: list[ir.Operation] = []
    waiting = entry_sequences(module)[::-1]
    while waiting:
        sequence = waiting.pop()
        if sequence in found:
            continue
        found.append(sequence)
        named = (
            resolve(op, reference)
            for op in walk(sequence)
            for name in _REFERENCES.get(op.name, ())
            for reference in _as_list(op.attributes[name])
        )
        waiting.extend([target for target in named if target is not None][::-1])
    return found


def pairs(module: ir.Module) -> list[Pair]:
    """The (matcher, action) pairs of all `foreach_match` ops that run, in order.

    Those of nested modules too, if something includes them; in a module without an entry point, all.
    """
    found: list[Pair] = []
    roots = [op for op in reached(module) if op.regions[0].blocks] or [module.operation]
    for op in (inner for root in roots for inner in walk(root)):
        if op.name == FOREACH_MATCH:
            actions = ir.ArrayAttr(op.attributes["actions"])
            for index, matcher in enumerate(ir.ArrayAttr(op.attributes["matchers"])):
                ops = [resolve(op, reference) for reference in (matcher, actions[index])]
                defined = [each if each is not None and each.regions[0].blocks else None for each in ops]
                found.append(Pair(op, index, leaf(matcher), leaf(actions[index]), *defined))
    return found


def leaf(reference: ir.Attribute) -> str:
    """The last name of a reference to a symbol."""
    return ir.SymbolRefAttr(reference).value[-1]


def resolve(op: ir.Operation, reference: ir.Attribute) -> ir.Operation | None:
    """The sequence that a reference in an op's attribute names, if it exists."""
    found = next(each for each in ops_around(op) if each.name == "builtin.module")
    for name in ir.SymbolRefAttr(reference).value:
        if found.name != "builtin.module":
            return None
        inside = (view.operation for view in _body(found))
        named = next((inner for inner in inside if symbol_of(inner) == name), None)
        if named is None:
            return None
        found = named
    return found if is_sequence(found) else None


def _body(module: ir.Operation) -> ir.Block:
    return module.regions[0].blocks[0]


def _as_list(references: ir.Attribute) -> list[ir.Attribute]:
    return list(references) if isinstance(references, ir.ArrayAttr) else [references]


# The message about a mistake in a spec.


@dataclass(frozen=True)
class SpecProblem:
    """Something wrong with a spec; `kind` is a fixed word for scripts: `no_entry_point`, `hits_nothing`, ...

    `where` is the matcher or sequence it is about, empty for the spec as a whole.
    """

    kind: str
    message: str
    where: str = ""

    def __str__(self) -> str:
        return f"@{self.where}: {self.message}" if self.where else self.message


# The compiler's rules for specs that it links, which are all except default ones.
#
# The verifier sees none of this. Source: LinkTuningSpecs.cpp and MaterializeTuningSpecs.cpp of release 3.13.


def linking_problems(module: ir.Module) -> Iterator[SpecProblem]:
    """Why the compiler would refuse to link a spec, and entry points in it that it would not run."""
    if DEFAULT_ENTRYPOINT not in module.operation.attributes:
        entries = [op for op in entry_sequences(module) if ENTRYPOINT in op.attributes]
        yield from argument_problems({symbol_of(op): op for op in entries})
    running = reached(module)
    for op in walk(module.operation):
        if is_sequence(op) and ENTRYPOINT in op.attributes and op not in running:
            message = "never runs: it is inside a module, and nothing includes it"
            yield SpecProblem("not_run", message, symbol_of(op))


def argument_problems(entries: Mapping[str, ir.Operation]) -> Iterator[SpecProblem]:
    """Why entry points, by their names in messages, cannot be included one after the other."""
    marks: dict[str, set[str]] = {}  # the declared effects on the argument
    for name, op in entries.items():
        arguments = ir.ArrayAttr(op.attributes["arg_attrs"]) if "arg_attrs" in op.attributes else []
        marks[name] = {each.name for one in arguments for each in ir.DictAttr(one)} & {CONSUMED, READ_ONLY}
    for name, found in marks.items():
        if not found:
            message = f"its argument is neither {READ_ONLY} nor {CONSUMED}: the compiler cannot include it"
            yield SpecProblem("argument", message, name)
    consuming = next((name for name, found in marks.items() if CONSUMED in found), None)
    reading = next((name for name, found in marks.items() if found == {READ_ONLY}), None)
    if consuming is not None and reading is not None:
        message = f"only reads its argument, and @{consuming} consumes it: mark both {CONSUMED} to link them"
        yield SpecProblem("argument", message, reading)


@dataclass(frozen=True)
class Meaning:
    """The identity of a pair: canonical text of its matcher (with the sequences that it includes) and action.

    `sets` are the configurations that the matcher yields, printed.
    """

    matches: str
    sets: tuple[str, ...]
    does: str


def meaning(pair: Pair) -> Meaning:
    """Read a pair; the meaning of one whose sequences are missing, or only declared, is its names."""
    if pair.matcher_op is None or pair.action_op is None:
        return Meaning(f"@{pair.matcher}", (), f"@{pair.action}")
    values = yielded_constants(pair.matcher_op)
    sets = tuple(str(value.attributes["value"]) for value in values)
    return Meaning(canonical(pair.matcher_op, blank=True), sets, canonical(pair.action_op))


def yielded_constants(matcher: ir.Operation) -> list[ir.Operation]:
    """The constants that a matcher passes to its action, in order."""
    end = list(matcher.regions[0].blocks[0].operations)[-1]
    found = [defining_op(operand, "transform.param.constant") for operand in end.operands]
    return [each for each in found if each is not None]


def canonical(sequence: ir.Operation, *, blank: bool = False) -> str:
    """Text of a sequence that is equal for sequences that differ only in names.

    With `blank`, the constants that it yields are left out.
    """
    scratch = ir.Module.create(ir.Location.unknown(sequence.context))
    with sequence.context:
        copy = sequence.clone(ir.InsertionPoint(scratch.body))
        copy.attributes["sym_name"] = ir.StringAttr.get("sequence")
        if ANNOTATION in copy.attributes:
            del copy.attributes[ANNOTATION]
        if blank:
            for constant in yielded_constants(copy.operation):
                constant.attributes["value"] = ir.UnitAttr.get()
        included = [_included(op, sequence) for op in walk(copy.operation) if op.name == INCLUDE]
    text = copy.operation.get_asm(use_local_scope=True, enable_debug_info=False)
    return "\n".join((text, *included))


def _included(include: ir.Operation, sequence: ir.Operation) -> str:
    """Canonical text of an included sequence, whose name is then removed from the including copy."""
    target = include.attributes["target"]
    include.attributes["target"] = ir.FlatSymbolRefAttr.get("included")
    found = resolve(sequence, target)
    return str(target) if found is None or found == sequence else canonical(found)
