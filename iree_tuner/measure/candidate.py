"""Compile one candidate: the prepared dispatch with its configuration on its ops. Runs in workers."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from functools import cached_property

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.outcome import Outcome
from iree_tuner.device.placement import place
from iree_tuner.program.bindings import OP_TAG
from iree_tuner.space.configuration import Configuration

_LOWERING_CONFIG = "lowering_config"
GIVEN_UP = "given up"
"""How the message begins where a run had no patience to compile on: no failure of the compiler."""

_TUNER_ATTRIBUTES_OFF = "--iree-codegen-add-tuner-attributes=false"


@dataclass(frozen=True)
class Built:
    """An executable, or why there is none.

    Attributes:
        outcome: `ok`, or how the compilation ended.
        vmfb: the VM module; empty unless `ok`.
        message: the first error, with what it was about.
        seconds: time in the compiler.
        ops: operations before code generation, nested ones too; 0 where it did not come so far.
        cpu_s: processor time of that; less than `seconds` where others want the cores too. 0 where unknown.
        code: what was linked instead of the compiler's own, such as a kernel; None where nothing was.
        code_digest: equal for equal `code`; empty where it is the executable that says what is equal.
        for_check: the module whose results are compared, if `vmfb` reads an operand that was packed before;
            empty if that is built for finals only. None if `vmfb` itself is compared.
    """

    outcome: Outcome
    vmfb: bytes = b""
    message: str = ""
    seconds: float = 0.0
    ops: int = 0
    cpu_s: float = 0.0
    code: object = None
    code_digest: str = ""
    for_check: bytes | None = None

    @property
    def crowding(self) -> float:
        """How much longer it took than on an idle machine; 1 at least."""
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
    """The session for candidates, which are one function each: threads would only wait for each other."""
    # The flag is global to the process: another session may have left it on.
    session = session_for((*flags, _TUNER_ATTRIBUTES_OFF))
    session.context.enable_multithreading(False)
    session.verify = verify
    return session


def build_here(
    harness: bytes,
    flags: tuple[str, ...],
    configuration: Configuration | None,
    placement: int = 0,
    most_ops: int = 0,
    verify: bool = True,
) -> Built:
    """Compile a harness, with a configuration or (None) with the compiler's own choice.

    Whether the configuration arrived is checked at `executable-configurations`, which costs a fraction
    of code generation. A dispatch with more than `most_ops` operations (0: no limit) before code generation
    is given up: LLVM takes more than proportionally longer for it. `verify` is whether the IR is verified
    after each pass, as by `iree-compile`; without, an eighth of the time is saved, the code is the same, and
    what is invalid ends in another way, or even compiles: what is to be used has to be built once more.
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
    harness: bytes,
    session: CompilerSession,
    configuration: Configuration | None,
    placement: int,
    most_ops: int,
) -> Built:
    module = session.parse(harness)
    place(module, placement)
    expected = put_in_place(module, configuration) if configuration else {}
    session.run(module, start="executable-sources", stop="executable-configurations")
    missing = _missing(module, expected)
    if missing:
        return Built("not_applied", message=missing)
    session.run(module, start="executable-configurations", stop="executable-targets")
    ops = _count(module)
    if most_ops and ops > most_ops:
        return Built(
            "compile_timeout", message=f"{GIVEN_UP} before code generation: {ops} operations", ops=ops
        )
    return Built("ok", session.to_vmfb(module, start="executable-targets"), ops=ops)


def _count(module: ir.Module) -> int:
    count = 0

    def visit(_: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return count


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
    """Why a configuration did not arrive; empty when it did."""
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
    found: list[tuple[str, ir.Operation]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if OP_TAG in op.attributes:
            found.append((ir.StringAttr(op.attributes[OP_TAG]).value, op))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found
