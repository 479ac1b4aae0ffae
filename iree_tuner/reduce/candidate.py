"""A module with some edits made, and its size. Module-level functions: they are called in workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from iree.compiler import ir

from iree_tuner.compiler.context import new_context, walk
from iree_tuner.compiler.session import CompileError, parse_module
from iree_tuner.errors import TunerError
from iree_tuner.program.source import Program
from iree_tuner.reduce import edits
from iree_tuner.reduce.function import (
    STAND_INS,
    attributes_of,
    is_resource,
    parts_of,
    static_sizes,
    values_of,
)


@dataclass(frozen=True)
class ReductionStep:
    """A kind of edits."""

    name: str
    edits: Callable[[ir.Module], Sequence[edits.Edit]]  # the edits that a module has
    alone: bool = False  # whether only one of them can be made at a time


STEPS = (
    ReductionStep("entries of specs", edits.entries),
    ReductionStep("symbols", edits.top_level),
    ReductionStep("nested symbols", edits.nested),
    ReductionStep("results", edits.results),
    ReductionStep("unused ops", edits.unused),
    ReductionStep("last ops", edits.returned_operands),
    ReductionStep("ops by operands", edits.by_operand),
    ReductionStep("ops by arguments", edits.by_argument),
    ReductionStep("ops by tensor.empty", edits.by_empty),
    ReductionStep("ops by constants", edits.by_constant),
    ReductionStep("arguments", edits.arguments),
    ReductionStep("arguments of actions", edits.handed_over),
    ReductionStep("inputs of linalg.generic", edits.inputs),
    ReductionStep("attributes", edits.attributes),
    ReductionStep("constants", edits.splats),
    ReductionStep("sizes", edits.smaller_sizes, alone=True),
)
"""All steps, the ones that take out most first."""


@dataclass(frozen=True, order=True)
class ProgramSize:
    """The counts of a module, the most important first: every accepted edit makes it smaller so."""

    work: int  # ops that compute something, symbols and terminators among them
    ops: int
    values: int  # results, block arguments and operands
    attributes: int  # attributes of ops, and their parts
    elements: int  # numbers in dense constants that are not splats; 1 for a resource
    extent: int  # the sum of the static sizes of all values


def size_of(module: ir.Module) -> ProgramSize:
    """Count a module's parts."""
    ops, values = list(walk(module.operation)), list(values_of(module))
    found = [attribute for op in ops for attribute in attributes_of(op).values()]
    return ProgramSize(
        work=sum(op.name not in STAND_INS for op in ops),
        ops=len(ops),
        values=len(values) + sum(len(op.operands) for op in ops),
        attributes=len(found) + sum(map(_leaves, found)),
        elements=sum(map(_elements, found)),
        extent=sum(sum(static_sizes(value.type)) for value in values),
    )


def _leaves(attribute: ir.Attribute) -> int:
    return sum(1 + _leaves(part) for part in parts_of(attribute).values())


def _elements(attribute: ir.Attribute) -> int:
    if isinstance(attribute, ir.DenseElementsAttr) and not attribute.is_splat:
        return len(attribute)
    return int(is_resource(attribute))


@dataclass(frozen=True)
class Candidate:
    """A module as text, and its size."""

    text: str
    size: ProgramSize


def printed(program: Program) -> Candidate:
    """A program without any edit, as text.

    Raises:
        CompileError: it cannot be parsed, does not verify, or does not parse again after printing.
        TunerError: it is not text and not bytecode.
    """
    try:
        source = program.data if program.is_bytecode else program.data.decode()
    except UnicodeDecodeError:
        raise TunerError("not MLIR: neither text nor bytecode", location=program.name) from None
    text = _text(parse_module(source, _new_context(), program.name))
    try:
        return Candidate(text, size_of(parse_module(text, _new_context(), program.name)))
    except CompileError as error:
        raise CompileError(error.diagnostics, "the printed module does not parse") from None


def count(text: str, step: int) -> int:
    """The number of edits of a step."""
    with _context_for(text) as context, ir.Location.unknown():
        return len(STEPS[step].edits(parse_module(text, context)))


def edited(text: str, step: int, chosen: frozenset[int]) -> Candidate | None:
    """The module after edits of a step, which may be unchanged.

    None if it is changed and no smaller, or does not verify; for a step of single edits also if it is
    unchanged.
    """
    context = _context_for(text)
    with context, ir.Location.unknown():
        module = parse_module(text, context)
        before = size_of(module)
        made = STEPS[step].edits(module)
        try:
            for number in sorted(chosen):
                made[number]()
            module.operation.verify()
            smaller = _text(module)
            size = size_of(parse_module(smaller, _context_for(smaller)))
        except (ir.MLIRError, CompileError):
            return None
    unchanged = smaller == text and not STEPS[step].alone
    return Candidate(smaller, size) if unchanged or size < before else None


def _text(module: ir.Module) -> str:
    return module.operation.get_asm(enable_debug_info=False)


def _context_for(text: str) -> ir.Context:
    """One context for all modules, because making one takes longer than parsing most of them.

    Modules with resources get a new one: a context that knows a resource's name renames the next one.
    """
    return _new_context() if "dialect_resources" in text else _kept_context()


@lru_cache(maxsize=1)
def _kept_context() -> ir.Context:
    return _new_context()


def _new_context() -> ir.Context:
    context = new_context()
    context.enable_multithreading(False)  # docs/upstream/verify_deadlock.md
    return context
