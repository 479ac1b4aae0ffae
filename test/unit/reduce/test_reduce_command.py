"""The command as a process: what Ctrl-C leaves, and mistakes of the caller."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from iree.compiler import ir

from iree_tuner.cli.main import run
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.context import to_bytecode as to_bytes

PATIENCE_S = 120.0
PROGRAM = """
func.func @main(%a: f32, %b: f32) -> f32 {
  %0 = arith.addf %a, %b : f32
  %1 = arith.mulf %0, %0 : f32
  %2 = math.exp %1 : f32
  return %2 : f32
}
func.func @other() {
  return
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.mlir").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,  # which the command makes into the other
        pytest.param(signal.SIGINT, marks=pytest.mark.exhaustive),
    ],
)
def test_a_signal_writes_the_smallest_so_far(folder, number):
    hangs = f"grep -q exp {{}} || exit 1; grep -q addf {{}} || (touch {folder}/hangs; sleep 600)"
    (folder / "temporary").mkdir()
    arguments = ["spec", "reduce", "p.mlir", "--judge", hangs, "--jobs", "1", "-o", "small.mlir"]
    process = subprocess.Popen(
        [sys.executable, "-m", "iree_tuner", *arguments], env=os.environ | {"TMPDIR": f"{folder}/temporary"},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        end = time.monotonic() + PATIENCE_S
        while not (folder / "hangs").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(number)
        _, told = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + number, told
    assert "Traceback" not in told
    small = (folder / "small.mlir").read_text()
    assert "@other" not in small
    assert "addf" in small
    assert not list((folder / "temporary").iterdir())


def test_bytecode_and_standard_output(folder, capsys):
    with new_context() as context:
        (folder / "p.mlirbc").write_bytes(to_bytes(ir.Module.parse(PROGRAM, context)))
    assert run(["spec", "reduce", "p.mlirbc", "--judge", "grep -q exp"]) == 0
    out, told = capsys.readouterr()
    assert "exp" in out
    assert "other" not in out
    assert "-: " in told


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("p.mlir", 2, "--judge"),
        ("p.mlir --judge true -o p.mlir", 2, "the output would overwrite an input"),
        ("p.mlir --judge true -o small.txt", 2, "the name must end in .mlir"),
        ("p.mlir --judge true --jobs 0", 2, "--jobs must be at least 1"),
        ("p.mlir --judge true --timeout 0", 2, "--timeout must be above 0"),
        ("p.mlir --judge true --judge-status sometimes", 2, "sometimes"),
        ("--jugde true", 2, "--judge"),
        ("none.mlir --judge true", 1, "none.mlir: no such file"),
        ("empty.mlir --judge true", 1, "empty.mlir: the program is empty"),
        ("p.mlir --judge false", 1, "p.mlir: the input does not trigger the defect"),
        ("p.mlir --judge true --judge-output x", 1, "p.mlir: the input does not trigger the defect"),
    ],
)
def test_mistakes_are_told_in_a_line(folder, capsys, arguments, status, message):
    (folder / "empty.mlir").write_text("\n")
    assert run(["spec", "reduce", *arguments.split()]) == status
    told = capsys.readouterr().err
    assert message in told.splitlines()[-1]
    assert (folder / "p.mlir").read_text() == PROGRAM
