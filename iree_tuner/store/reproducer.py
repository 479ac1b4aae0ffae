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
from functools import cache
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import arith, hal, iree_codegen, util

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.unbound import hal_type
from iree_tuner.device.outcome import Outcome
from iree_tuner.measure.candidate import place, put_in_place
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.bindings import Harness
from iree_tuner.space.configuration import Configuration
from iree_tuner.store.causes import cause_of
from iree_tuner.targets import DEFAULT_DEVICE

# The scripts in a reproducer's folder.


_HEAD = """#!/usr/bin/env bash
# {outcome}: {cause}
# Needs iree-compile{more} of the release in versions.json. Exits with 0 when the failure shows.
cd "$(dirname "$0")" || exit 2
mapfile -t flags < flags.txt
compile() {{ timeout -k 5 "$limit" iree-compile --compile-from=executable-sources "${{flags[@]}}" "$@"; }}
limit={limit}
"""

_COMPILE = """
compile dispatch.mlir -o /dev/null 2>&1 | tee output.txt
code=${PIPESTATUS[0]}
"""

_NOT_APPLIED = """
compile dispatch.mlir --compile-to=executable-configurations -o configured.mlir || exit 2
code=1
"""

_RUN = """
limit=600
compile dispatch.mlir -o dispatch.vmfb || exit 2
python3 arrays.py make input.npy || exit 2
limit={limit}
run() {{
  timeout -k 5 "$limit" iree-run-module --module="$1.vmfb" --device={device} --function={function} \\
    --input=@input.npy --output=@"$1.npy"
}}
"""

_RUN_ONE = """run dispatch 2>&1 | tee output.txt
code=${PIPESTATUS[0]}
"""

_WRONG = """compile default.mlir -o default.vmfb || exit 2
run default && run dispatch || exit 2
python3 arrays.py compare default.npy dispatch.npy
code=$?
"""

# The exit statuses that mean that the failure has shown. `timeout` ends with 124, or 137 if it had
# to kill. The compiler ends with 1 after an `LLVM ERROR` as after a diagnostic.
_DIED = '[ "$code" -ge 128 ] && [ "$code" -ne 137 ] || grep -q "LLVM ERROR" output.txt'
_HUNG = '[ "$code" -eq 124 ] || [ "$code" -eq 137 ]'
_SHOWN = {
    "compile_error": '[ "$code" -eq 1 ] && ! grep -q "LLVM ERROR" output.txt',
    "compile_crash": _DIED,
    "compile_timeout": _HUNG,
    "run_error": '[ "$code" -ge 1 ] && [ "$code" -lt 124 ]',
    "run_crash": _DIED,
    "run_timeout": _HUNG,
    "wrong_result": '[ "$code" -eq 1 ]',
    "not_applied": '[ "$code" -eq 0 ]',
}

_TAIL = """
if {shown}; then echo "the failure shows"; exit 0; fi
echo "the failure does not show (exit status $code)"
exit 1
"""

ARRAYS = '''"""make FILE: the input. compare A B: exit status 1 if written tensors differ."""
import json
import sys

import numpy as np


def values(kind, stored, count, rng):
    if stored[0] == "f":
        return rng.standard_normal(count).astype(stored)
    if kind == "bf16":
        return (rng.standard_normal(count).astype("f4").view("u4") >> 16).astype(stored)
    if kind.startswith("f8"):  # small exponents, both signs
        return (rng.integers(0x20, 0x40, count) | rng.integers(0, 2, count) << 7).astype(stored)
    return rng.integers(0, 2 if kind == "i1" else 8, count).astype(stored)


def make(layout, path):
    rng = np.random.default_rng(0)
    data = np.zeros(layout["bytes"], "i1")
    for tensor in layout["tensors"]:
        if tensor["access"] == "write":
            continue
        part = values(tensor["type"], tensor["stored"], int(np.prod(tensor["shape"])), rng).view("i1")
        data[tensor["offset"] : tensor["offset"] + part.size] = part
    np.save(path, data)


def decoded(kind, stored, part):
    own = part.view(stored)
    return ((own.astype("u4") << 16).view("f4") if kind == "bf16" else own).astype("f8")


def compare(layout, first, second):
    differ = False
    for tensor in layout["tensors"]:
        if tensor["access"] == "read":
            continue
        size = int(np.prod(tensor["shape"])) * np.dtype(tensor["stored"]).itemsize
        place = slice(tensor["offset"], tensor["offset"] + size)
        parts = [np.load(path).reshape(-1).view("i1")[place] for path in (first, second)]
        a, b = (decoded(tensor["type"], tensor["stored"], part) for part in parts)
        error = np.abs(a - b)
        scale = max(1e-30, float(np.max(np.abs(a))))
        # Order of summation moves results by rounding only; wrong code by far more.
        bound = {"f32": 1e-4, "f64": 1e-10}.get(tensor["type"], 2e-2 if "f" in tensor["type"] else 0.0)
        bad = ~(error <= bound * scale)
        print(f"{tensor['type']} {tensor['shape']}: {int(bad.sum())} of {a.size} differ,", end=" ")
        print(f"by up to {float(np.nanmax(error)):g} where the largest value is {scale:g}")
        differ |= bool(bad.any())
    return 1 if differ else 0


layout = json.load(open("layout.json"))
sys.exit(make(layout, sys.argv[2]) if sys.argv[1] == "make" else compare(layout, *sys.argv[2:]))
'''


def script(outcome: str, cause: str, limit: int, device: str, function: str, expected: list[str]) -> str:
    """The text of `reproduce.sh`; `limit` in seconds, `device` quoted, `expected`: configs not found."""
    runs = outcome.startswith("run_") or outcome == "wrong_result"
    more = " and iree-run-module (and numpy)" if runs else ""
    text = _HEAD.format(outcome=outcome, cause=cause, more=more, limit=limit)
    if runs:
        text += _RUN.format(limit=limit, device=device, function=function)
        text += _WRONG if outcome == "wrong_result" else _RUN_ONE
    elif outcome == "not_applied":
        text += _NOT_APPLIED
        text += "".join(f"grep -qF {shlex.quote(item)} configured.mlir || code=0\n" for item in expected)
    else:
        text += _COMPILE
    return text + _TAIL.format(shown=_SHOWN[outcome])


RUN = "iree_tuner_run"
"""The function added to a harness: takes the bindings as one `tensor<?xi8>` buffer view, and returns it."""

_NUMPY_FLOATS = ("f16", "f32", "f64")
_RUNS = ("run_error", "run_crash", "run_timeout", "wrong_result")


@dataclass(frozen=True)
class FailedCandidate:
    """A failed trial, with all that is needed to show it again."""

    workload: str  # key of the workload, for the folder's name
    harness: Harness  # what was compiled
    configuration: Configuration | None  # what was put on its ops; None for the compiler's own choice
    flags: tuple[str, ...]  # the target's compiler flags
    outcome: Outcome
    message: str  # the reason, and for a crash what the process printed
    device: str = DEFAULT_DEVICE  # URI
    placement: int = 0  # see `device.placement`
    limit_s: float = 60.0  # after how long it counted as hanging
    # of the packages, by name
    versions: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    default: Harness | None = None  # the compiler's own dispatch, if `harness` has other code
    # further files that the module names, such as objects of kernels
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def cause(self) -> str:
        """See `store.causes`."""
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
    """The dispatch with its configuration (and, to compare, without), and the configs to find."""
    module = _parsed(failure.harness, failure.outcome)
    place(module, failure.placement)
    texts: dict[str, str] = {}
    if failure.outcome == "wrong_result":
        own = failure.default
        texts["default.mlir"] = _printed(_parsed(own, failure.outcome) if own is not None else module)
    if failure.configuration is not None:
        put_in_place(module, failure.configuration)
    texts["dispatch.mlir"] = _printed(module)
    return texts, _expected(failure.configuration)


def _parsed(harness: Harness, outcome: Outcome) -> ir.Module:
    # IR as text: harnesses are stored as bytecode
    module = ir.Module.parse(harness.module)
    if outcome in _RUNS:
        _add_run(module, harness.function)
    return module


def _printed(module: ir.Module) -> str:
    # Without limits on constants: nothing is elided, so that the text can be compiled.
    return module.operation.get_asm(enable_debug_info=False)


def _expected(configuration: Configuration | None) -> list[str]:
    attributes = [(each.attribute, each.to_ir()) for each in (configuration.ops if configuration else ())]
    return [
        str(found.lowering_config if isinstance(found, iree_codegen.CompilationInfoAttr) else found)
        for name, found in attributes
        if name == "lowering_config" or isinstance(found, iree_codegen.CompilationInfoAttr)
    ]


def _add_run(module: ir.Module, function: str) -> None:
    """Add a function that IREE's tools can call: one run on the buffer of its argument."""
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
            "offset": binding.offset + tensor.offset, "shape": list(tensor.shape),
            "type": tensor.element_type, "stored": _stored(tensor.element_type), "access": tensor.access,
        }
        for binding in harness.bindings
        for tensor in binding.tensors
    ]  # fmt: skip
    return {"bytes": harness.buffer_bytes, "tensors": tensors}


def _stored(element_type: str) -> str:
    """NumPy's type of values in memory; the bits of floats that it does not have."""
    kind = ElementType.named(element_type)
    return f"{'i' if not kind.is_float else 'f' if element_type in _NUMPY_FLOATS else 'u'}{kind.bytes}"


_context = cache(new_context)
