"""Reproducers show the failure with IREE's own tools."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from programs import BATCH_OF_ONE_CONVOLUTION, ZERO_MATMUL

from iree_tuner.build.reproducer import Failure, write_reproducer
from iree_tuner.space.configuration import Configuration, OpConfiguration

LARGE = (96, 64, 128)
GOOD = (4, 16, 8)
SLOW = "--iree-llvmcpu-fail-on-large-vector=false"


def configured(dispatch, sizes):
    m, n, k = sizes
    config = (
        f"#iree_cpu.lowering_config<distribution = [96, 64, 0], vector_common_parallel = [{m}, {n}, 0], "
        f"vector_reduction = [0, 0, {k}]>"
    )
    info = f"lowering_config = {config}, translation_info = {dispatch.pipeline}"
    value = f"#iree_codegen.compilation_info<{info}>"
    return Configuration((OpConfiguration("root", "compilation_info", value),))


def run(folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", str(Path(folder) / "reproduce.sh")]
    return subprocess.run(
        command, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def failure(cpu, only_dispatch):
    dispatch = only_dispatch(ZERO_MATMUL)

    def make(outcome, sizes, flags=(), limit_s=60.0):
        every = (*cpu.flags, *flags)
        chosen = configured(dispatch, sizes)
        return Failure("mm", dispatch.harness, chosen, every, outcome, "why", limit_s=limit_s)

    return make


@pytest.mark.parametrize(
    ("outcome", "sizes", "flags", "limit_s", "code"),
    [
        ("compile_error", LARGE, (), 60.0, 0),
        ("compile_error", GOOD, (), 60.0, 1),
        ("compile_timeout", LARGE, (SLOW,), 2.0, 0),
        ("wrong_result", GOOD, (), 60.0, 1),
        ("run_error", GOOD, (), 60.0, 1),
        ("not_applied", GOOD, (), 60.0, 1),
    ],
)
def test_the_script_says_whether_the_failure_shows(failure, tmp_path, outcome, sizes, flags, limit_s, code):
    folder, note = write_reproducer(tmp_path, failure(outcome, sizes, flags, limit_s))
    assert not note
    ran = run(folder)
    assert ran.returncode == code, ran.stdout + ran.stderr


def test_another_result_is_seen(failure, only_dispatch, tmp_path):
    folder, _ = write_reproducer(tmp_path, failure("wrong_result", GOOD))
    # Same names and sizes, but sums that begin at 1.
    default = Path(folder) / "default.mlir"
    text = default.read_text()
    assert "arith.constant 0.000000e+00" in text
    default.write_text(text.replace("arith.constant 0.000000e+00", "arith.constant 1.000000e+00"))
    assert run(folder).returncode == 0


def test_a_configuration_that_does_not_arrive_shows(cpu, only_dispatch, tmp_path):
    dispatch = only_dispatch(BATCH_OF_ONE_CONVOLUTION, replace(cpu, spec_prologue=()))
    info = f"lowering_config = {dispatch.default}, translation_info = {dispatch.pipeline}"
    value = f"#iree_codegen.compilation_info<{info}>"
    chosen = Configuration((OpConfiguration("root", "compilation_info", value),))
    failed = Failure("conv", dispatch.harness, chosen, cpu.flags, "not_applied", "replaced")
    folder, _ = write_reproducer(tmp_path, failed)
    assert run(folder).returncode == 0


def test_again_changes_nothing_and_bad_folders_are_a_note(failure, tmp_path):
    one = failure("compile_error", LARGE)
    folder, _ = write_reproducer(tmp_path, one)
    (Path(folder) / "message.txt").write_text("kept")
    assert write_reproducer(tmp_path, one) == (folder, "")
    assert (Path(folder) / "message.txt").read_text() == "kept"
    (tmp_path / "file").write_text("")
    path, note = write_reproducer(tmp_path / "file", one)
    assert path == ""
    assert "no reproducer" in note
