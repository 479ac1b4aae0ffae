"""Compile a candidate in a worker: the prepared dispatch with its configuration on its ops; and many.

Put the same code at another address.

The time of a loop depends on its place in cache lines and fetch blocks. The place depends on the length of
names in front of it in the object file: in a program, on everything that is linked before it.
`benchmarks/code_placement.py` shows by how much. So a comparison builds its executables at several places, by
giving the dispatch's executable a longer name.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import iree.runtime as rt
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import ops_in, symbol_of, walk
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.compiler.worker import Calls, Ok, Timeout, Workers, session_for
from iree_tuner.device.outcome import Outcome
from iree_tuner.device.program_parameters import withheld_parameters
from iree_tuner.program.bindings import OP_TAG, Harness
from iree_tuner.space.configuration import Configuration
from iree_tuner.targets import Target, kind_of_device
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for

STEP_BYTES = 16
"""Functions start at multiples of this on the CPUs that LLVM compiles for here."""


def place(module: ir.Module, placement: int) -> None:
    """Lengthen the name of a harness's executable by `placement` steps, in place; 0 changes nothing."""
    if placement == 0:
        return
    (executable,) = (op for op in ops_in(module.body) if op.name == "hal.executable")
    old = symbol_of(executable)
    new = old + "_" * (placement * STEP_BYTES)
    executable.attributes["sym_name"] = ir.StringAttr.get(new)
    ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)


_LOWERING_CONFIG = "lowering_config"
GIVEN_UP = "given up"
"""How the message begins where a run had no patience to compile on: no failure of the compiler."""

_TUNER_ATTRIBUTES_OFF = "--iree-codegen-add-tuner-attributes=false"


@dataclass(frozen=True)
class Built:
    """An executable, or why there is none."""

    outcome: Outcome  # `ok`, or how the compilation ended
    vmfb: bytes = b""  # the VM module; empty unless `ok`
    message: str = ""  # the first error, with its context
    seconds: float = 0.0  # time in the compiler
    ops: int = 0  # operations before code generation, including nested ones; 0 if it was not reached
    cpu_s: float = 0.0  # processor time of that, less than `seconds` on a busy machine; 0 if unknown
    code: object = None  # what was linked instead of the compiler's own code, such as a kernel, or None
    code_digest: str = ""  # equal for equal `code`; empty if the executable itself is compared
    # the module whose results are compared, if `vmfb` reads an operand that was packed before; empty if that
    # is built for finals only. None if `vmfb` itself is compared.
    for_check: bytes | None = None

    @property
    def crowding(self) -> float:
        """Time in the compiler relative to an idle machine; at least 1."""
        return max(1.0, self.seconds / self.cpu_s) if self.cpu_s > 0 else 1.0

    @property
    def idle_s(self) -> float:
        """Time in the compiler, estimated for an idle machine."""
        return self.seconds / self.crowding

    @cached_property
    def digest(self) -> str:
        """Equal code has equal digests: the compiler's output is deterministic."""
        return self.code_digest or hashlib.sha256(self.vmfb).hexdigest()


def start_here(flags: tuple[str, ...]) -> None:
    """Load the compiler and open the session that `build_here` will use."""
    _session(flags)


def _session(flags: tuple[str, ...], verify: bool = True) -> CompilerSession:
    """The session for candidates: each is one function, which several threads would not compile faster."""
    # The flag is global to the process: another session may have left it on.
    session = session_for((*flags, _TUNER_ATTRIBUTES_OFF))
    session.context.enable_multithreading(False)
    session.verify = verify
    return session


def build_here(
    harness: bytes, flags: tuple[str, ...], configuration: Configuration | None, placement: int = 0,
    most_ops: int = 0, verify: bool = True,
) -> Built:  # fmt: skip
    """Compile a harness, with a configuration or (None) with the compiler's own choice.

    Whether the configuration was applied is checked at `executable-configurations`, which costs a fraction of
    code generation.

    Args:
        harness: bytecode.
        flags: of the compiler.
        configuration: what to set on its ops.
        placement: see `measure.candidate`.
        most_ops: the most operations before code generation; 0: no limit. LLVM's time grows faster than their
            number.
        verify: whether the IR is verified after each pass, as by `iree-compile`. Without, compiling valid IR
            is an eighth faster and gives the same code; invalid IR fails otherwise or even compiles, so that
            results to keep must be built again.
    """
    start, cpu = time.perf_counter(), time.process_time()
    session = _session(flags, verify)
    try:
        with session.context, ir.Location.unknown():
            built = _build(harness, session, configuration, placement, most_ops)
    except CompileError as error:
        built = Built("compile_error", message=str(error))
    return replace(built, seconds=time.perf_counter() - start, cpu_s=time.process_time() - cpu)


def _build(
    harness: bytes, session: CompilerSession, configuration: Configuration | None, placement: int,
    most_ops: int,
) -> Built:  # fmt: skip
    module = session.parse(harness)
    place(module, placement)
    expected = put_in_place(module, configuration) if configuration else {}
    session.run(module, start="executable-sources", stop="executable-configurations")
    if missing := _missing(module, expected):
        return Built("not_applied", message=missing)
    session.run(module, start="executable-configurations", stop="executable-targets")
    ops = sum(1 for _ in walk(module.operation))
    if most_ops and ops > most_ops:
        message = f"{GIVEN_UP} before code generation: {ops} operations"
        return Built("compile_timeout", message=message, ops=ops)
    return Built("ok", session.to_vmfb(module, start="executable-targets"), ops=ops)


def put_in_place(module: ir.Module, configuration: Configuration) -> dict[str, ir.Attribute]:
    """Set the attributes; returns, for each label, the lowering config to find later."""
    tagged = dict(_tagged(module))
    expected: dict[str, ir.Attribute] = {}
    for item in configuration.ops:
        attribute = item.to_ir()
        tagged[item.label].attributes[item.attribute] = attribute
        if isinstance(attribute, iree_codegen.CompilationInfoAttr):
            expected[item.label] = attribute.lowering_config
        elif item.attribute == _LOWERING_CONFIG:
            expected[item.label] = attribute
    return expected


def _missing(module: ir.Module, expected: dict[str, ir.Attribute]) -> str:
    if not expected:
        return ""
    arrived = {label: op.attributes.get(_LOWERING_CONFIG, None) for label, op in _tagged(module)}
    for label, config in expected.items():
        if label not in arrived:
            return f"the compiler replaced the op '{label}', and dropped its configuration"
        if arrived[label] != config:
            return f"the op '{label}' has {arrived[label]} instead of the configuration"
    return ""


def _tagged(module: ir.Module) -> list[tuple[str, ir.Operation]]:
    tagged = (op for op in walk(module.operation) if OP_TAG in op.attributes)
    return [(ir.StringAttr(op.attributes[OP_TAG]).value, op) for op in tagged]


T = TypeVar("T")
_AHEAD_S, _MOST_SENT = 600.0, 128 << 20  # of a program; bytes, which may be weights

DEFAULT_TIMEOUT_S = 60.0

Build = Callable[[bytes, tuple[str, ...], Configuration | None, int, int, bool], Built]
"""The function that runs in a worker; see `build_here`."""


class Builder:
    """Compiles harnesses in disposable workers; a crash or a time-out is an outcome, not an exception.

    Args:
        target: whose flags to compile with.
        workers: where.
        timeout_s: limit of one compilation.
        build: a module-level function that compiles; tests replace it.
    """

    def __init__(
        self, target: Target, workers: Calls, timeout_s: float = DEFAULT_TIMEOUT_S, build: Build = build_here
    ) -> None:
        self._target = target
        self._workers = workers
        self.timeout_s = timeout_s
        self._build = build
        self._defaults: dict[bytes, Future[Built]] = {}

    def start(self, count: int) -> list[Future[None]]:
        """Have that many workers begin to load the compiler; one that cannot fails again when it is used."""
        return [self._workers.submit(start_here, self._target.flags) for _ in range(count)]

    def build(self, harness: Harness, configuration: Configuration | None) -> Built:
        """One executable; None is the compiler's own choice."""
        return self.result(self.submit(harness, configuration))

    def build_all(self, harness: Harness, configurations: Sequence[Configuration]) -> Iterator[Built]:
        """One result for each configuration, in order, as they are ready."""
        futures = [self.submit(harness, configuration) for configuration in configurations]
        try:
            for future in futures:
                yield self.result(future)
        finally:
            for future in futures:
                if not future.running():  # a running one would take its worker with it
                    future.cancel()

    def submit(
        self, harness: Harness, configuration: Configuration | None, placement: int = 0,
        timeout_s: float = math.inf, most_ops: int = 0, verify: bool = True,
    ) -> Future[Built]:  # fmt: skip
        """Begin a compilation; `result` says how it ended. `timeout_s` can only shorten the builder's own.

        The default of a harness is built once: the profile, the baselines and kernels' contests share it.
        """
        is_default = configuration is None and not placement and not most_ops and verify
        known = self._defaults.get(harness.module) if is_default else None
        if known is not None and not _failed(known):
            return known
        future = self._workers.submit(
            self._build,
            harness.module,
            self._target.flags,
            configuration,
            placement,
            most_ops,
            verify,
            timeout_s=min(timeout_s, self.timeout_s),
        )
        if is_default:
            self._defaults[harness.module] = future
        return future

    def result(self, future: Future[Built]) -> Built:
        """Wait for a compilation."""
        match self._workers.end(future):
            case Ok(built):
                return built
            case Timeout(limit_s) as end:
                return Built("compile_timeout", message=str(end), seconds=limit_s)
            case end:
                return Built("compile_crash", message=str(end))


def _failed(future: Future[T]) -> bool:
    """Whether it ended without a result, so that another attempt may succeed."""
    return future.cancelled() or (future.done() and future.exception() is not None)


class Loader:
    """Loads executables ahead, in workers of its own, so that a device's driver compiles them before
    measuring.

    CUDA's driver compiles PTX when an executable is loaded, on the host, which takes seconds for large code.
    It keeps the result in its cache on disk (`CUDA_CACHE_PATH`), which processes share: the measuring worker
    then loads it in less than a millisecond. The workers have no limit of memory: drivers map more than they
    use.
    """

    def __init__(self, device: str, workers: Calls) -> None:
        self._device = device
        self._workers = workers

    def submit(self, vmfb: bytes, timeout_s: float) -> Future[None]:
        """Begin to load an executable; `result` says how it ended."""
        return self._workers.submit(load_here, vmfb, self._device, timeout_s=timeout_s)

    def load_ahead(self, compiling: Future[T], vmfb: Callable[[T], bytes]) -> Future[None]:
        """Load a program's code as soon as it is compiled. The future is done when that has ended.

        Args:
            compiling: the program.
            vmfb: its VM module.
        """
        loading: Future[None] = Future()

        def load(compiled: Future[T]) -> None:
            made = b"" if _failed(compiled) else vmfb(compiled.result())
            with suppress(RuntimeError):  # all is being closed
                if 0 < len(made) <= _MOST_SENT:
                    own = self.submit(made, _AHEAD_S)
                    own.add_done_callback(lambda _: loading.set_result(None))
                    return
            loading.set_result(None)

        compiling.add_done_callback(load)
        return loading

    def result(self, future: Future[None]) -> bool:
        """Whether it ended in time. The measuring worker finds executables that do not load, and says why."""
        return not isinstance(self._workers.end(future), Timeout)

    def close(self) -> None:
        self._workers.close()


def loader_for(device: str, jobs: int, calls: Calls | None = None) -> Loader | None:
    """A loader with a worker for every four of `jobs`, or with others' calls.

    None where nothing is compiled when it is loaded.
    """
    if not kind_of_device(device).compiles_on_load:
        return None
    return Loader(device, calls or Workers(max(2, jobs // 4), memory_bytes=None, yielding=True))


def load_here(vmfb: bytes, device: str) -> None:
    """Load and forget an executable, or a program's code."""
    config, hal = device_for(device)
    with suppress(*RUNTIME_ERRORS):  # the measuring worker reports it, see `Loader.result`
        module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
        rt.VmContext(config.vm_instance, modules=[withheld_parameters(), hal, module])
