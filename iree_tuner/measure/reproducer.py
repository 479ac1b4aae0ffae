"""Write a folder that shows a failure with IREE's own tools, see docs/failures.md.

Nothing is compiled here: the harness is parsed, its configuration put in place, and the module printed.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import arith, hal, iree_codegen, util

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.unbound import hal_type
from iree_tuner.device.outcome import Outcome
from iree_tuner.device.placement import place
from iree_tuner.measure.candidate import put_in_place
from iree_tuner.measure.causes import cause_of
from iree_tuner.measure.scripts import ARRAYS, script
from iree_tuner.program.bindings import Harness
from iree_tuner.space.configuration import Configuration
from iree_tuner.targets import DEFAULT_DEVICE

RUN = "iree_tuner_run"
"""The function added to a harness: takes the bindings as one `tensor<?xi8>` buffer view, and returns it."""

_RUNS = ("run_error", "run_crash", "run_timeout", "wrong_result")


@dataclass(frozen=True)
class FailedCandidate:
    """A failed trial, with all that is needed to show it again.

    Attributes:
        workload: key of the workload, for the folder's name.
        harness: what was compiled.
        configuration: what was put on its ops; None for the compiler's own choice.
        flags: the target's compiler flags.
        outcome: how it ended.
        message: the reason, and for a crash what the process printed.
        device: URI of the device that it ran on.
        placement: see `device.placement`.
        limit_s: after how long it counted as hanging.
        versions: of the packages it was compiled and run with.
        default: the dispatch as the compiler makes it, where `harness` holds other code already.
        files: more files that the module names, such as a kernel's object.
    """

    workload: str
    harness: Harness
    configuration: Configuration | None
    flags: tuple[str, ...]
    outcome: Outcome
    message: str
    device: str = DEFAULT_DEVICE
    placement: int = 0
    limit_s: float = 60.0
    versions: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    default: Harness | None = None
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def cause(self) -> str:
        """See `measure.causes`."""
        return cause_of(self.outcome, self.message)

    @property
    def name(self) -> str:
        """The folder's name: equal for the same candidate failing with the same cause."""
        parts = (self.cause, repr(self.configuration), str(self.placement))
        found = hashlib.sha256("\0".join(parts).encode())
        for content in self.files.values():
            found.update(content)
        key = found.hexdigest()[:10]
        workload = re.sub(r"[^\w.-]+", "_", self.workload)[:80]
        return f"{self.outcome}-{workload}-{key}"


def write_reproducer(folder: Path, failure: FailedCandidate) -> tuple[str, str]:
    """Write a failure's folder below `folder`; its path, and a note when it could not be written.

    Exactly one of the two is empty. The same failure again changes nothing. Never raises for errors of the
    disk or the module: a reproducer is an extra.
    """
    target = folder / failure.name
    try:
        if not (target / "reproduce.sh").exists():  # it is written last
            target.mkdir(parents=True, exist_ok=True)
            for name, content in failure.files.items():
                (target / name).write_bytes(content)
            for name, text in _files(failure).items():
                (target / name).write_text(text)
            (target / "reproduce.sh").chmod(0o755)
    except (OSError, ir.MLIRError, KeyError, ValueError) as error:
        return "", f"no reproducer in {target}: {error}"
    return str(target), ""


def _files(failure: FailedCandidate) -> dict[str, str]:
    """All files of a folder, `reproduce.sh` last."""
    context = _context()
    with context, ir.Location.unknown():
        texts, expected = _modules(failure)
    flags = (*failure.flags, "--iree-codegen-add-tuner-attributes=false")
    files = {
        **texts,
        "flags.txt": "".join(f"{flag}\n" for flag in flags),
        "versions.json": json.dumps(dict(failure.versions), indent=2) + "\n",
        "message.txt": failure.message.rstrip("\n") + "\n",
    }
    if failure.outcome in _RUNS:
        files["layout.json"] = json.dumps(_layout(failure.harness), indent=2) + "\n"
        files["arrays.py"] = ARRAYS
    limit = max(1, round(failure.limit_s))
    device = shlex.quote(failure.device)
    files["reproduce.sh"] = script(failure.outcome, failure.cause, limit, device, RUN, expected)
    return files


def _modules(failure: FailedCandidate) -> tuple[dict[str, str], list[str]]:
    """The dispatch with its configuration (and, to compare, without), and the configs to look for."""
    # IR as text: harnesses are stored as bytecode
    module = ir.Module.parse(failure.harness.module)
    place(module, failure.placement)
    if failure.outcome in _RUNS:
        _add_run(module, failure.harness.function)
    texts: dict[str, str] = {}
    if failure.outcome == "wrong_result":
        texts["default.mlir"] = _printed(_default(failure) or module)
    if failure.configuration is not None:
        put_in_place(module, failure.configuration)
    texts["dispatch.mlir"] = _printed(module)
    return texts, _expected(failure.configuration)


def _default(failure: FailedCandidate) -> ir.Module | None:
    if failure.default is None:
        return None
    # IR as text: harnesses are stored as bytecode
    module = ir.Module.parse(failure.default.module)
    _add_run(module, failure.default.function)
    return module


def _printed(module: ir.Module) -> str:
    # Without limits on constants: nothing is elided, so that the text can be compiled.
    return module.operation.get_asm(enable_debug_info=False)


def _expected(configuration: Configuration | None) -> list[str]:
    found: list[str] = []
    for item in configuration.ops if configuration else ():
        attribute = item.to_ir()
        if isinstance(attribute, iree_codegen.CompilationInfoAttr):
            found.append(str(attribute.lowering_config))
        elif item.attribute == "lowering_config":
            found.append(str(attribute))
    return found


def _add_run(module: ir.Module, function: str) -> None:
    """Add a function that IREE's tools can call: one run on the buffer of the view that they give."""
    view, buffer = hal_type("buffer_view"), hal_type("buffer")
    i32 = ir.IntegerType.get_signless(32)
    signature = ir.FunctionType.get([view], [view])
    with ir.InsertionPoint(module.body):
        run = util.FuncOp(RUN, ir.TypeAttr.get(signature))
        run.operation.attributes["sym_visibility"] = ir.StringAttr.get("public")
        run.operation.attributes["iree.abi.stub"] = ir.UnitAttr.get()
    block = run.operation.regions[0].blocks.append(view)
    with ir.InsertionPoint(block):
        data = hal.buffer_view_buffer(buffer, block.arguments[0])
        one, zero = arith.constant(i32, 1), arith.constant(i32, 0)
        arguments = [one, one, zero, data]
        callee = ir.FlatSymbolRefAttr.get(function)
        ir.Operation.create("util.call", operands=arguments, attributes={"callee": callee})
        ir.Operation.create("util.return", operands=[block.arguments[0]])


def _layout(harness: Harness) -> dict[str, object]:
    tensors = [
        {
            "offset": binding.offset + tensor.offset,
            "shape": list(tensor.shape),
            "type": tensor.element_type,
            "access": tensor.access,
        }
        for binding in harness.bindings
        for tensor in binding.tensors
    ]
    return {"bytes": harness.buffer_bytes, "tensors": tensors}


@lru_cache(maxsize=1)
def _context() -> ir.Context:
    return new_context()
