"""Names that the compiler's tuning specs are made of, and how their parts are found.

Source: IREECodegenDialect.cpp (`verifyOperationAttribute`) of release 3.13.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from iree.compiler import ir

WITH_NAMED_SEQUENCE = "transform.with_named_sequence"
DEFAULT_ENTRYPOINT = "iree_codegen.tuning_spec_with_default_entrypoint"
ENTRYPOINT = "iree_codegen.tuning_spec_entrypoint"
ENTRYPOINT_NAME = "__kernel_config"
IN_MEMORY = "iree_codegen.tuning_spec_mlirbc"
COMPILATION_INFO = "compilation_info"
LOWERING_CONFIG = "lowering_config"
TRANSLATION_INFO = "translation_info"


@dataclass(frozen=True)
class Pair:
    """A matcher and its action, as one `foreach_match` names them, with the sequences they resolve to."""

    foreach_match: ir.Operation
    index: int
    matcher: str
    action: str
    matcher_op: ir.Operation | None
    action_op: ir.Operation | None


def is_sequence(op: ir.Operation) -> bool:
    """Whether an op is a `transform.named_sequence`."""
    return op.name == "transform.named_sequence"


def symbol_name(op: ir.Operation) -> str:
    """An op's symbol name, empty without one."""
    return ir.StringAttr(op.attributes["sym_name"]).value if "sym_name" in op.attributes else ""


def sequences(module: ir.Module) -> dict[str, ir.Operation]:
    """Named sequences at the top of a module, by name."""
    return {symbol_name(op.operation): op.operation for op in module.body if is_sequence(op.operation)}


def walk(op: ir.Operation) -> Iterator[ir.Operation]:
    """The op and all ops inside it, outer before inner."""
    yield op
    for region in op.regions:
        for block in region:
            for inner in block:
                yield from walk(inner.operation)


def entry_sequence(module: ir.Module) -> ir.Operation | None:
    """The sequence that the compiler runs, whatever its name: the one that says so; None without one."""
    known = sequences(module)
    said = (op for op in known.values() if ENTRYPOINT in op.attributes)
    return next(said, known.get(ENTRYPOINT_NAME))


def pairs(module: ir.Module) -> list[Pair]:
    """The (matcher, action) pairs of all `foreach_match` ops, nested modules included, in order."""
    found: list[Pair] = []
    for op in walk(module.operation):
        if op.name == "transform.foreach_match":
            found.extend(_pairs_of(op))
    return found


def references(op: ir.Operation, name: str) -> list[str]:
    """Symbol names in an array attribute of flat references; nested ones keep their leaf."""
    return [str(reference).rpartition("@")[2].strip('"') for reference in ir.ArrayAttr(op.attributes[name])]


def _pairs_of(op: ir.Operation) -> Iterator[Pair]:
    home = _module_of(op)
    known = {
        symbol_name(inner.operation): inner.operation
        for inner in home.regions[0].blocks[0]
        if is_sequence(inner.operation)
    }
    names = zip(references(op, "matchers"), references(op, "actions"), strict=True)
    for index, (matcher, action) in enumerate(names):
        yield Pair(op, index, matcher, action, known.get(matcher), known.get(action))


def _module_of(op: ir.Operation) -> ir.Operation:
    parent = op.parent
    while parent is not None and parent.operation.name != "builtin.module":
        parent = parent.operation.parent
    assert parent is not None, "every op of a spec is inside a module"
    return parent.operation
