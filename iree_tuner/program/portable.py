"""Portable artifacts of StableHLO: what `jax.export` and `stablehlo.serialize_portable_artifact` write.

They are in the dialect VHLO, which has functions, types and attributes of its own. The compiler reads them.
This package does not, and works with the program as the compiler imports it.
"""

from __future__ import annotations

from dataclasses import replace

from iree_tuner.compiler.context import to_bytecode, walk
from iree_tuner.compiler.worker import Workers, session_for
from iree_tuner.program.source import Program

_DIALECT = "vhlo."


def imported(program: Program) -> Program:
    """The program after the compiler's phase `input`, if it is an artifact; else as it is.

    Raises:
        CompileError: it does not parse, or the compiler does not import it.
        WorkerError: the compiler died or did not come back.
    """
    with Workers(1) as workers:
        return replace(program, data=workers.call(import_here, program.data, program.name))


def import_here(data: bytes, name: str) -> bytes:
    """The part of `imported` that runs in a worker."""
    session = session_for(())
    module = session.parse(data, name)
    if not any(op.name.startswith(_DIALECT) for op in walk(module.operation)):
        return data
    session.run(module, stop="input")
    return to_bytecode(module)
