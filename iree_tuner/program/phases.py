"""Run compiler phases on whole programs, in a worker, with the diagnostics as data.

A program may bring along devices and executables, which must fit the target that it is compiled for.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Literal

from iree.compiler import ir

from iree_tuner.compiler.context import ops_in, symbol_of, to_bytecode, walk
from iree_tuner.compiler.session import CompilerSession, Diagnostic, Phase
from iree_tuner.compiler.unbound import device_name, executable_targets_in, is_affinity
from iree_tuner.compiler.worker import TIMEOUT_S, Calls, Workers, session_for
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.program.dump_body import dumped_for
from iree_tuner.program.entries import need_flow, phase_after_flow
from iree_tuner.program.provided_memory import fix_sizes, takes_memory
from iree_tuner.program.source import Program
from iree_tuner.targets import Target, kind_named, target_for_device
from iree_tuner.targets.limits import target_name
from iree_tuner.targets.registry import kind_of_device

DEVICE_TARGETS = "hal.device.targets"
_DEFAULT = "stream.affinity.default"
_GLOBAL, _VALUE = "util.global", "initial_value"
_LOCAL = "local"
_OBJECTS = ("hal.executable.source", "hal.executable", "hal.dispatch.extern")


def own_target_name(module: ir.Module) -> str:
    """The target that a program names, as `--target` takes it, if any."""
    found = [name for _, value in _devices(module) for name in _names(value)]
    return found[0] if found else ""


def take_devices(module: ir.Module, target: Target) -> None:
    """Remove the devices that a program names, if they are the target's kind: it is compiled for the target.

    Raises UsageError for others, and for several.
    """
    named = check_devices(module, target)
    attributes = module.operation.attributes
    if DEVICE_TARGETS in attributes:
        del attributes[DEVICE_TARGETS]
    if _DEFAULT in attributes and len(named) == 1 and not _is_used(module, named[0]):
        del attributes[_DEFAULT]
        for op in ops_in(module.body):
            if op.name == _GLOBAL and symbol_of(op) == named[0]:
                op.erase()


def check_devices(module: ir.Module, target: Target) -> list[str]:
    """The attribute or symbol by which a program names its device, if it does.

    Raises UsageError if it or an executable is for another target, or if there are several devices.
    """
    devices = _devices(module)
    hint = f"compile for that target, or remove {devices[0][0]}" if devices else ""
    for where, value in devices:
        _check(where, value, target, hint)
    if len(devices) > 1:
        raise UsageError(
            f"the program is for {len(devices)} devices, not for one", hint=f"see {devices[0][0]}"
        )
    for op in walk(module.operation):
        if op.name in _OBJECTS:
            what = f"{op.name} @{symbol_of(op)}" if "sym_name" in op.attributes else op.name
            values = [op.attributes[name] for name in op.attributes]
            values = [value for value in values if executable_targets_in(value)]
            inner = [each.attributes["target"] for each in walk(op) if each.name.endswith(".variant")]
            found = [*values, *inner]
            if found and not any(_fits(each, target) for each in found):
                _check(what, found[0], target, "its code must be in the program for this target, too")
    return [where.removeprefix("@") for where, _ in devices]


def _check(where: str, value: ir.Attribute, target: Target, hint: str) -> None:
    if not _fits(value, target):
        names = _names(value) or [device_name(value)]
        raise UsageError(f"{where} of the program is for {', '.join(names)}, not for {target}", hint=hint)


def _fits(value: ir.Attribute, target: Target) -> bool:
    targets = executable_targets_in(value)
    if targets:
        return any(target_name(each).partition(":")[0] == target.backend for each in targets)
    found = device_name(value)
    if not found:
        return True  # the compiler reports it
    if found == _LOCAL:
        return kind_named(target.backend).on_host
    try:
        return kind_of_device(found).name == target.backend
    except UsageError:
        return False


def _names(value: ir.Attribute) -> list[str]:
    return [*dict.fromkeys(map(target_name, executable_targets_in(value)))]


def _devices(module: ir.Module) -> list[tuple[str, ir.Attribute]]:
    """The devices that a program names, with the places."""
    attributes = module.operation.attributes
    found: list[tuple[str, ir.Attribute]] = []
    if DEVICE_TARGETS in attributes:
        found += [(DEVICE_TARGETS, each) for each in _elements(attributes[DEVICE_TARGETS])]
    for op in ops_in(module.body):
        if op.name == _GLOBAL and _VALUE in op.attributes and device_name(op.attributes[_VALUE]):
            found.append((f"@{symbol_of(op)}", op.attributes[_VALUE]))
    return found


def _elements(value: ir.Attribute) -> Iterator[ir.Attribute]:
    if isinstance(value, ir.ArrayAttr):
        for each in value:
            yield from _elements(each)
    elif isinstance(value, ir.DictAttr):
        for entry in value:
            yield from _elements(entry.attr)
    else:
        yield value


def _is_used(module: ir.Module, symbol: str) -> bool:
    """Whether an op inside refers to a device by its symbol."""
    return any(
        is_affinity(op.attributes[name], symbol)
        for top in ops_in(module.body)
        for op in walk(top)
        for name in op.attributes
        if "affinity" in name
    )


Output = Literal["bytecode", "text", "vmfb"]
_NARROW = b"f16"  # in text, also of bf16
_SIZED: Phase = "executable-sources"
"""The first phase after which sizes of memory are known."""

COMPILING = "run_phases"
"""The name of a program's compilation in workers' spans (`compiler.worker.WorkSpan`)."""


@dataclass(frozen=True)
class Compiled:
    """The output of the phases, in the form asked for, and the compiler's messages."""

    data: bytes
    diagnostics: tuple[Diagnostic, ...]


def compile_program(
    program: Program,
    target: Target,
    workers: Calls,
    *,
    stop: Phase | None = None,
    output: Output = "vmfb",
) -> Compiled:
    """Run the compiler up to the end of phase `stop`, or to a VM module.

    Raises:
        CompileError: the compiler refused; its first error and location are in the message.
        TunerError: the program has nothing to compile.
        WorkerError: the compiler died or did not come back.
    """
    return workers.call(run_phases, program.data, program.name, target, stop=stop, output=output)


def submit_program(
    program: Program, target: Target, workers: Calls, *, filled: bool = False, limit_s: float = TIMEOUT_S
) -> Future[Compiled]:
    """Begin to compile to a VM module; the workers' `wait` raises what `compile_program` raises.

    If it is to be `filled`, its functions have twins that fill the memory they allocate (`program.flow_ops`).
    After `limit_s` seconds it is given up.
    """
    return workers.submit(
        run_phases, program.data, program.name, target, stop=None, output="vmfb", filled=filled,
        timeout_s=limit_s,
    )  # fmt: skip


def submit_widened(program: Program, target: Target, workers: Calls) -> Future[bytes]:
    """Begin to compile a program with f32 for f16 and bf16 (`program.widened`), to a VM module.

    Empty bytes if it has none, or cannot be widened.
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
    """Let a program be compiled for a target instead of the devices that it names itself.

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
        # IR as text: targets keep it as bytecode
        own = ir.Module.parse(target.device_targets, module.context)
        module.operation.attributes[DEVICE_TARGETS] = own.operation.attributes[DEVICE_TARGETS]


def compiled_to(
    stop: Phase, data: bytes | str, name: str, target: Target
) -> tuple[CompilerSession, ir.Module]:
    """A program after a phase, for a target, in this worker's session. Raises CompileError."""
    session = session_for(target.flags)
    module = session.parse(data, name)
    select_target(module, target)
    session.run(module, stop=stop)
    return session, module


_DIALECT = "vhlo."


def imported(program: Program) -> Program:
    """The program after the phase `input`, if it is a portable artifact of StableHLO; else unchanged.

    `jax.export` and `stablehlo.serialize_portable_artifact` write them, in the dialect VHLO, which has
    functions, types and attributes of its own. The compiler reads them; this package works with the program
    as the compiler imports it.

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
