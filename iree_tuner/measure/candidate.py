"""Compile one candidate: the prepared dispatch with its configuration on its ops. Runs in workers.

Put the same code at another address.

The time of a loop depends on its place in cache lines and fetch blocks. The place depends on the length of
names in front of it in the object file: in a program, on everything that is linked before it.
`benchmarks/code_placement.py` shows by how much. So a comparison builds its executables at several places, by
giving the dispatch's executable a longer name.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from functools import cached_property

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import ops_in, symbol_of, walk
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.outcome import Outcome
from iree_tuner.program.bindings import OP_TAG
from iree_tuner.space.configuration import Configuration

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
