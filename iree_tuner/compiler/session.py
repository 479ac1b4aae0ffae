"""A compiler session: phases from and to, on modules, with every diagnostic captured.

Binds the few entry points of IREE's C API that `iree.compiler.api` leaves out (diagnostic callback, phases).
Source: iree/compiler/embedding_api.h, release 3.13.

A session lives as long as its worker: its stolen context is never freed by the compiler, so a session for
each compile would leak about 4 MB each time.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from iree.compiler import ir
from iree.compiler.api import Invocation, Output, Session, ctypes_dl

from iree_tuner.errors import TunerError

# Compiler diagnostics as data.


Severity = Literal["note", "warning", "error", "remark"]

_LOCATED = re.compile(
    r"^(?P<where>(?!loc\()[^\n]*?:\d+:\d+): (?:(?P<severity>note|warning|error|remark): )?(?P<text>.*)$", re.S
)


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler. `location` is `file:line:column`, or None without one."""

    severity: Severity
    message: str
    location: str | None = None

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        return f"{where}{self.severity}: {self.message}"

    @property
    def headline(self) -> str:
        """The first line of the message: the rest is IR and source excerpts."""
        return self.message.strip().split("\n", 1)[0]


def from_callback(severity: str, text: str) -> Diagnostic:
    """Read a message of IREE's diagnostic callback: `file:line:col: text`, plus excerpts."""
    match = _LOCATED.match(text)
    if match is None:
        # Code that the compiler made itself has no place in a file.
        return Diagnostic(cast(Severity, severity), re.sub(r'^loc\(("".*?|unknown)\): ', "", text.strip()))
    return Diagnostic(cast(Severity, match["severity"] or severity), match["text"].strip(), match["where"])


Phase = Literal[
    "start", "input", "abi", "preprocessing", "global-optimization", "dispatch-creation", "flow", "stream",
    "executable-sources", "executable-configurations", "executable-targets", "hal", "vm", "end",
]  # fmt: skip

CUT = "iree_tuner.cut"
"""Marks a program whose dispatches are cut out already, in `stream.executable` ops.

Passes of global optimization would walk into them and rewrite code that must stay, so they are left out.
"""
_UNNAMED = "-"  # the parser calls a program from memory so
_ASSIGNED: Phase = "abi"  # devices are assigned, and functions take buffers
_CUT_OUT: Phase = "dispatch-creation"

_library: Any = ctypes_dl._dylib  # pyright: ignore[reportPrivateUsage]
_Callback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_SEVERITIES = {0: "note", 1: "warning", 2: "error", 3: "remark"}
_STANDARD_PIPELINE = ctypes_dl.PipelineType.IREE_COMPILER_PIPELINE_STD


for _name, *_types in (
    ("EnableCallbackDiagnostics", ctypes.c_int, _Callback, ctypes.c_void_p), ("SetVerifyIR", ctypes.c_bool),
    ("SetCompileFromPhase", ctypes.c_char_p), ("SetCompileToPhase", ctypes.c_char_p),
):  # fmt: skip
    _entry = getattr(_library, f"ireeCompilerInvocation{_name}")
    _entry.restype, _entry.argtypes = None, [ctypes.c_void_p, *_types]


class CompileError(TunerError):
    """The compiler refused; `diagnostics` holds all of its messages."""

    def __init__(self, diagnostics: Sequence[Diagnostic], doing: str) -> None:
        # For other architectures than x86-64 this is a warning, and code for no CPU fails to link.
        unknown = next((d for d in diagnostics if "Unknown CPU for target architecture" in d.message), None)
        # The first error: later ones mostly say that a pass failed because of it.
        error = unknown or next((d for d in diagnostics if d.severity == "error"), None)
        headline = error.headline if error else "the compiler failed without a diagnostic"
        if unknown:
            headline = " ".join(unknown.message.split())
        super().__init__(f"{doing}: {headline}", location=error.location if error else None)
        self.diagnostics = tuple(diagnostics)
        self.doing = doing

    def __reduce__(self) -> tuple[object, ...]:
        return (CompileError, (self.diagnostics, self.doing))


class CompilerSession:
    """One IREE session with its flags, and the context of all IR that passes through it.

    With `verify`, the IR is verified after each pass, as `iree-compile` does. Raises TunerError for a flag
    that the compiler does not know.
    """

    def __init__(self, flags: Sequence[str], *, verify: bool = True) -> None:
        self._session = Session()
        self.verify = verify
        self._flags = tuple(flags)
        self._name = _UNNAMED
        self.apply_flags()
        self.context: ir.Context = self._session.context
        # Registered is not loaded: builders on an unloaded dialect are a segmentation fault.
        self.context.load_all_available_dialects()

    def apply_flags(self) -> None:
        """Set this session's flags, also again: some are shared by all sessions of a process."""
        try:
            self._session.set_flags(*self._flags)
        except ValueError as error:
            raise TunerError(f"the compiler rejects these flags: {error}") from error

    def parse(self, source: bytes | str, name: str = _UNNAMED) -> ir.Module:
        """Parse text or bytecode in this session's context. Raises CompileError with `name:line:column`.

        Until the next module is parsed, errors of phases have this name, too.
        """
        self._name = name
        return parse_module(source, self.context, name)

    def run(
        self, module: ir.Module, start: Phase | None = None, stop: Phase | None = None
    ) -> list[Diagnostic]:
        """Run phases on `module`, in place; handles to its operations are dead afterwards.

        Returns the warnings and remarks. Raises CompileError.
        """
        earlier, start = self._skip_to_dispatches(module, start, stop)
        with self._running(module, start, stop) as (_, diagnostics):
            return [*earlier, *diagnostics]

    def to_vmfb(self, module: ir.Module, start: Phase | None = None) -> bytes:
        """Run the remaining phases and return the VM module's bytes. Raises CompileError."""
        _, start = self._skip_to_dispatches(module, start, None)
        with self._running(module, start, None) as (invocation, diagnostics):
            try:
                return _collect(invocation.output_vm_bytecode)
            except ValueError as error:  # as for a function that is declared and has no module's name
                raise CompileError(diagnostics, str(error)) from None

    def _skip_to_dispatches(
        self, module: ir.Module, start: Phase | None, stop: Phase | None
    ) -> tuple[list[Diagnostic], Phase | None]:
        """The phase to begin with, after those that must run before it: see `CUT`. Raises CompileError."""
        begins, ends = _place(start or "start"), _place(stop or "end")
        if CUT not in module.operation.attributes or begins >= _place(_CUT_OUT) or ends <= _place(_CUT_OUT):
            return [], start
        if begins >= _place(_ASSIGNED):
            return [], _CUT_OUT
        with self._running(module, start, _ASSIGNED) as (_, diagnostics):
            return diagnostics, _CUT_OUT

    @contextmanager
    def _running(
        self, module: ir.Module, start: Phase | None, stop: Phase | None
    ) -> Generator[tuple[Invocation, list[Diagnostic]]]:
        with self._invocation() as (invocation, diagnostics):
            handle = _handle(invocation)
            if start is not None:
                _library.ireeCompilerInvocationSetCompileFromPhase(handle, start.encode())
            if stop is not None:
                _library.ireeCompilerInvocationSetCompileToPhase(handle, stop.encode())
            try:
                invocation.import_module(module.operation)
            except RuntimeError:
                raise CompileError(diagnostics, "the module does not verify") from None
            if not invocation.execute(_STANDARD_PIPELINE):
                raise CompileError(diagnostics, f"compiling to {stop or 'a VM module'} failed")
            yield invocation, diagnostics

    @contextmanager
    def _invocation(self) -> Generator[tuple[Invocation, list[Diagnostic]]]:
        invocation = self._session.invocation()
        diagnostics: list[Diagnostic] = []

        def record(severity: int, text: int, length: int, _: int) -> None:
            message = ctypes.string_at(text, length).decode(errors="replace")
            found = from_callback(_SEVERITIES.get(severity, "error"), message)
            if found.location and found.location.startswith(f"{_UNNAMED}:"):
                found = replace(found, location=self._name + found.location.removeprefix(_UNNAMED))
            diagnostics.append(found)

        callback = _Callback(record)  # a local, so that it outlives the invocation
        _library.ireeCompilerInvocationEnableCallbackDiagnostics(_handle(invocation), 0, callback, None)
        _library.ireeCompilerInvocationSetVerifyIR(_handle(invocation), self.verify)
        try:
            yield invocation, diagnostics
        finally:
            invocation.close()


def _place(phase: Phase) -> int:
    return get_args(Phase).index(phase)


def _handle(invocation: Invocation) -> ctypes.c_void_p:
    return cast(ctypes.c_void_p, cast(object, getattr(invocation, "_inv_p")))  # noqa: B009


def _collect(write: Callable[[Output], None]) -> bytes:
    output = Output.open_membuffer()
    try:
        write(output)
        mapped = output.map_memory()
        data = bytes(cast(Any, mapped))
        del mapped
        return data
    finally:
        output.close()


def parse_module(source: bytes | str, context: ir.Context, name: str = "source.mlir") -> ir.Module:
    """Parse text or bytecode in `context`. Raises CompileError with the location as `name:line:column`."""
    try:
        # IR as text: a file's content
        return ir.Module.parse(source, context)
    except ir.MLIRError as error:
        found: list[Diagnostic] = []
        for info in error.error_diagnostics:
            # IR as text: a diagnostic's location is read as it is written
            where = str(info.location).removeprefix("loc(").removesuffix(")").replace('"-"', name).strip('"')
            found.append(Diagnostic("error", info.message, None if where == "unknown" else where))
        raise CompileError(found, "cannot parse") from None
