"""MLIR contexts for IR that is handled in the caller's process."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, TypeVar

from iree.compiler import ir

T = TypeVar("T")

_known: ContextVar[dict[Callable[..., Any], dict[ir.Operation, Any]] | None] = ContextVar(
    "_known", default=None
)


def new_context() -> ir.Context:
    """A context with every dialect of the compiler loaded.

    Loaded, not only registered: Python builders on an unloaded dialect crash the process.
    """
    context = ir.Context()
    context.load_all_available_dialects()
    return context


@cache
def stored_context() -> ir.Context:
    """The context of all that workloads are stored with, which is read piece by piece: each takes 20 ms."""
    return new_context()


def walk(op: ir.Operation, *, inner_first: bool = False) -> Iterator[ir.Operation]:
    """The op and all ops inside it, by default outer before inner. They may be changed, but not moved."""
    if not inner_first:
        yield op
    for region in op.regions:
        for block in region:
            for inner in block:
                yield from walk(inner.operation, inner_first=inner_first)
    if inner_first:
        yield op


def ops_in(block: ir.Block) -> list[ir.Operation]:
    """The ops of a block in order, not those inside of them. They may be erased meanwhile."""
    return [view.operation for view in block.operations]


def ops_around(op: ir.Operation) -> Iterator[ir.Operation]:
    """The op, and all ops that it is inside of, the innermost first."""
    yield op
    while op.parent is not None:
        op = op.parent.operation
        yield op


def reachable(starts: Iterable[T], further: Callable[[T], Iterable[T]]) -> list[T]:
    """The starts, and all that is reached from them step by step, each once."""
    found = dict.fromkeys(starts)
    pending = list(found)
    while pending:
        new = [each for each in further(pending.pop()) if each not in found]
        found.update(dict.fromkeys(new))
        pending.extend(new)
    return list(found)


def users_of(op: ir.Operation) -> list[ir.Operation]:
    """The ops that use an op's results."""
    return [use.owner.operation for result in op.results for use in result.uses]


def defining_op(value: ir.Value, *names: str) -> ir.Operation | None:
    """The op that a value is a result of, if it has one of these names; None for a block's argument."""
    owner = value.owner
    if isinstance(owner, ir.Block) or (names and owner.operation.name not in names):
        return None
    return owner.operation


def symbol_of(op: ir.Operation) -> str:
    """The name of a function, a global, an executable or a sequence; empty without one."""
    return ir.StringAttr(op.attributes["sym_name"]).value if "sym_name" in op.attributes else ""


def to_bytecode(module: ir.Module) -> bytes:
    """Serialize a module, as IR travels between processes and contexts."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


@contextmanager
def unchanged() -> Generator[None]:
    """In the block, what functions with `remembered` say of ops is found out once: no such op may change.

    Ops that are known stay alive, so that no other op has the place of one.
    """
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def remembered(function: Callable[[ir.Operation], T]) -> Callable[[ir.Operation], T]:
    """Remember a function's results, which must not be changed, while the ops are `unchanged`."""

    @wraps(function)
    def found(op: ir.Operation) -> T:
        known = _known.get()
        if known is None:
            return function(op)
        results = known.setdefault(function, {})
        if op not in results:
            results[op] = function(op)
        return results[op]

    return found
