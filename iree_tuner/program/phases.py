"""Run compiler phases on whole programs, in a worker, with the diagnostics as data."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Literal

from iree.compiler import ir

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.session import Diagnostic, Phase
from iree_tuner.compiler.worker import Calls, session_for
from iree_tuner.errors import TunerError
from iree_tuner.program.dump_body import dumped_for
from iree_tuner.program.entries import need_flow, phase_after_flow
from iree_tuner.program.own_devices import DEVICE_TARGETS, check_devices, own_target_name, take_devices
from iree_tuner.program.provided_memory import fix_sizes, takes_memory
from iree_tuner.program.source import Program
from iree_tuner.targets import Target, target_for_device

Output = Literal["bytecode", "text", "vmfb"]
_NARROW = b"f16"  # in text, also of bf16
_SIZED: Phase = "executable-sources"
"""The first phase after which sizes of memory are known."""

COMPILING = "run_phases"
"""The name of a program's compilation in workers' spans (`compiler.worker.Span`)."""


@dataclass(frozen=True)
class Compiled:
    """The output of the phases: bytes in the form asked for, and the compiler's messages."""

    data: bytes
    diagnostics: tuple[Diagnostic, ...]


def compile_program(
    program: Program,
    target: Target,
    workers: Calls,
    *,
    stop: Phase | None = None,
    output: Output = "vmfb",
    extra_flags: tuple[str, ...] = (),
) -> Compiled:
    """Run the compiler up to the end of phase `stop`, or to a VM module.

    Raises:
        CompileError: the compiler refused; its first error and location are in the message.
        TunerError: the program has nothing to compile.
        WorkerError: the compiler died or did not come back.
    """
    chosen = replace(target, flags=(*target.flags, *extra_flags))
    return workers.call(run_phases, program.data, program.name, chosen, stop=stop, output=output)


def submit_program(
    program: Program, target: Target, workers: Calls, *, filled: bool = False
) -> Future[Compiled]:
    """Begin to compile to a VM module; the workers' `wait` raises what `compile_program` raises.

    If it is to be `filled`, its functions have twins that fill what they allocate (`program.flow_ops`).
    """
    return workers.submit(
        run_phases, program.data, program.name, target, stop=None, output="vmfb", filled=filled
    )


def submit_widened(program: Program, target: Target, workers: Calls) -> Future[bytes]:
    """Begin to compile a program with f32 for f16 and bf16 (`program.widened`), to a VM module.

    Empty bytes where it has none, or cannot be widened.
    """
    if program.is_bytecode or _NARROW in program.data:
        return workers.submit(compile_widened, program.data, program.name, target)
    nothing = Future[bytes]()
    nothing.set_result(b"")
    return nothing


def compile_widened(data: bytes, name: str, target: Target) -> bytes:
    """The part of `submit_widened` that runs in a worker."""
    from iree_tuner.program.widened import UNFOLDED, widen

    session = session_for((*target.flags, *UNFOLDED))
    try:
        module = session.parse(data, name)
        select_target(module, target)
        session.run(module, stop="input")
        return session.to_vmfb(module, start="input") if widen(module, session) else b""
    except TunerError:  # it does not compile, or is past the phase `input`
        return b""


def run_phases(
    data: bytes, name: str, target: Target, *, stop: Phase | None, output: Output, filled: bool = False
) -> Compiled:
    """The part of `compile_program` that runs in a worker."""
    session = session_for(target.flags)
    module = session.parse(data, name)
    if not list(module.body.operations):
        raise TunerError("the program has no functions", location=name)
    late = phase_after_flow(module) if output == "vmfb" else None
    if late is not None:
        check_devices(module, target)
        if target.device is not None and (own := own_target_name(module)):
            target_for_device(target.device, own)  # it may be of another architecture
        return Compiled(session.to_vmfb(module, start=late), ())
    select_target(module, target)
    if output == "vmfb":
        start, sized = None, takes_memory(module)
        if filled:
            from iree_tuner.program.flow_ops import add_filled  # it loads dialects, for a tenth of a second

            session.run(module, stop="stream")
            add_filled(module)
            start = "stream"
        if sized:
            session.run(module, start=start, stop=_SIZED)
            fix_sizes(module)
            start = _SIZED
        return Compiled(session.to_vmfb(module, start=start), ())
    diagnostics = tuple(session.run(module, stop=stop))
    written = str(module).encode() if output == "text" else to_bytecode(module)
    return Compiled(written, diagnostics)


def select_target(module: ir.Module, target: Target) -> None:
    """Let a program be compiled for a target, and not for the devices that it names itself.

    A chip that no compiler flag selects has `hal.device.targets` of its own.

    Raises:
        UsageError: the program is past the phase `flow`, names devices of another kind or several, or has
            executables for another target.
        TunerError: a dispatch was dumped for another backend.
    """
    need_flow(module)
    dumped = dumped_for(module)
    if dumped and dumped.partition(":")[0] != target.backend:
        message = f"the dispatch was dumped for {dumped}, but cannot be compiled for {target}"
        raise TunerError(message, hint=f"pass --target {dumped}, or a device of that kind")
    take_devices(module, target)
    if target.device_targets:
        own = ir.Module.parse(target.device_targets, module.context)
        module.operation.attributes[DEVICE_TARGETS] = own.operation.attributes[DEVICE_TARGETS]
