"""The scripts in a reproducer's folder."""

from __future__ import annotations

import shlex

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

WIDTHS = {"i1": 1, "index": 8}


def width(kind):
    bits = int("".join(c for c in kind.lstrip("iufb") if c.isdigit()) or 8) if kind[0] != "f" else 0
    if kind[0] == "f":
        bits = 8 if kind.startswith(("f8", "f6", "f4")) else int(kind[1:])
    if kind.startswith("bf"):
        bits = 16
    return WIDTHS.get(kind, max(1, bits // 8))


def values(kind, count, rng):
    if kind in ("f16", "f32", "f64"):
        return rng.standard_normal(count).astype("f" + str(width(kind)))
    if kind == "bf16":
        return (rng.standard_normal(count).astype("f4").view("u4") >> 16).astype("u2")
    if kind.startswith("f8"):  # small exponents, both signs
        return (rng.integers(0x20, 0x40, count) | rng.integers(0, 2, count) << 7).astype("u1")
    return rng.integers(0, 2 if kind == "i1" else 8, count).astype("i" + str(width(kind)))


def make(layout, path):
    rng = np.random.default_rng(0)
    data = np.zeros(layout["bytes"], "i1")
    for tensor in layout["tensors"]:
        if tensor["access"] == "write":
            continue
        part = values(tensor["type"], int(np.prod(tensor["shape"])), rng).view("i1")
        data[tensor["offset"] : tensor["offset"] + part.size] = part
    np.save(path, data)


def decoded(kind, part):
    if kind in ("f16", "f32", "f64"):
        return part.view("f" + str(width(kind))).astype("f8")
    if kind == "bf16":
        return (part.view("u2").astype("u4") << 16).view("f4").astype("f8")
    return part.view("u1" if kind[0] == "f" else "i" + str(width(kind))).astype("f8")


def compare(layout, first, second):
    differ = False
    for tensor in layout["tensors"]:
        if tensor["access"] == "read":
            continue
        size = int(np.prod(tensor["shape"])) * width(tensor["type"])
        place = slice(tensor["offset"], tensor["offset"] + size)
        parts = [np.load(path).reshape(-1).view("i1")[place] for path in (first, second)]
        a, b = (decoded(tensor["type"], part) for part in parts)
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
