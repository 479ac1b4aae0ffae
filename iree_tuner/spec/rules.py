"""The compiler's rules for specs that it links, which are all except default ones.

The verifier sees none of this. Source: LinkTuningSpecs.cpp and MaterializeTuningSpecs.cpp of release 3.13.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from iree.compiler import ir

from iree_tuner.compiler.context import walk
from iree_tuner.spec.grammar import (
    CONSUMED,
    DEFAULT_ENTRYPOINT,
    ENTRYPOINT,
    READ_ONLY,
    argument_marks,
    entry_sequences,
    is_sequence,
    reached,
    symbol_name,
)
from iree_tuner.spec.problem import SpecProblem


def linking_problems(module: ir.Module) -> Iterator[SpecProblem]:
    """Why the compiler would refuse to link a spec, and entry points in it that it would not run."""
    if DEFAULT_ENTRYPOINT not in module.operation.attributes:
        entries = [op for op in entry_sequences(module) if ENTRYPOINT in op.attributes]
        yield from argument_problems({symbol_name(op): op for op in entries})
    running = reached(module)
    for op in walk(module.operation):
        if is_sequence(op) and ENTRYPOINT in op.attributes and op not in running:
            message = "never runs: it is inside a module, and nothing includes it"
            yield SpecProblem("not_run", message, symbol_name(op))


def argument_problems(entries: Mapping[str, ir.Operation]) -> Iterator[SpecProblem]:
    """The reasons why entry points, by their names in messages, cannot be included one after the other."""
    marks = {name: argument_marks(op) for name, op in entries.items()}
    for name, found in marks.items():
        if not found:
            message = f"its argument is neither {READ_ONLY} nor {CONSUMED}: the compiler cannot include it"
            yield SpecProblem("argument", message, name)
    consuming = next((name for name, found in marks.items() if CONSUMED in found), None)
    reading = next((name for name, found in marks.items() if found == {READ_ONLY}), None)
    if consuming is not None and reading is not None:
        message = f"only reads its argument, and @{consuming} consumes it: mark both {CONSUMED} to link them"
        yield SpecProblem("argument", message, reading)
