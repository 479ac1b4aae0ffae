"""The phase that a program has reached: `iree-compile --compile-to=PHASE` writes programs at any of them."""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.compiler.session import Phase
from iree_tuner.errors import UsageError

_EXECUTABLE, _BINARY = "hal.executable", "hal.executable.binary"
_CONFIGURED = "translation_info"


def phase_after_flow(module: ir.Module) -> Phase | None:
    """The last phase of a program that is past `flow`, None for others: read off its ops."""
    every = [view.operation for view in module.body.operations]
    if any(op.name == "vm.module" for op in every):
        return "vm"
    executables = [op for op in every if op.name == _EXECUTABLE]
    if not executables:
        return "stream" if _is_scheduled(every) else None
    inside = [each.operation for each in executables[0].regions[0].blocks[0]]
    if any(op.name == _BINARY for op in inside):
        return "hal"
    if not _is_scheduled(every):
        return None
    code = [
        part.operation
        for variant in inside
        if variant.name == "hal.executable.variant"
        for held in variant.regions[0].blocks[0]
        if held.operation.name == "builtin.module"
        for part in held.operation.regions[0].blocks[0]
    ]
    if any(op.name.startswith(("llvm.", "spirv.")) for op in code):
        return "executable-targets"
    return "executable-configurations" if any(_CONFIGURED in op.attributes for op in code) else _SOURCES


_SOURCES: Phase = "executable-sources"


def need_flow(module: ir.Module) -> None:
    """Raises UsageError for a program past `flow`, in which dispatches are not found."""
    phase = phase_after_flow(module)
    if phase is not None:
        raise UsageError(
            f"the program is at phase {phase}; its dispatches are found at phase flow or before",
            hint="write it with --compile-to=flow; run, bench and compile take it as it is",
        )


def _is_scheduled(operations: list[ir.Operation]) -> bool:
    """Whether functions are in the form that phase `stream` leaves."""
    return any(
        op.operation.name.startswith("stream.")
        for function in operations
        if function.name in ("util.func", "util.initializer")
        for block in function.regions[0].blocks
        for op in block
    )
