"""Crashes of release 3.13 that are reported in docs/upstream: that they are still there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPRODUCERS = Path(__file__).parents[2] / "upstream"
EMIT = """
import sys
from iree.compiler import ir, passmanager
from iree_tuner.compiler.context import new_context
nest = "builtin.module(hal.executable(hal.executable.variant(builtin.module(func.func(%s)))))"
with new_context() as context, ir.Location.unknown(context):
    module = ir.Module.parse(open(sys.argv[1]).read())
    passmanager.PassManager.parse(nest % "iree-codegen-insert-smt-constraints").run(module.operation)
    print(str(module).count("iree_codegen.smt.constraints"))
"""


def emit(name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", EMIT, str(REPRODUCERS / name)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("name", ["emitter_batch.mlir", "emitter_grouped.mlir", "emitter_vecmat.mlir"])
def test_the_emitter_still_crashes(name: str) -> None:
    assert emit(name).returncode < 0, "fixed: let space.emitted run the emitter on such workloads"


def test_the_emitter_takes_the_same_without_a_batch() -> None:
    ended = emit("emitter_matmul.mlir")
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) >= 1
