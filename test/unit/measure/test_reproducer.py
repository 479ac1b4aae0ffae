"""Reproducers show the failure with IREE's own tools."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from once import each_once  # noqa: F401 (a fixture)
from programs import BATCH_OF_ONE_CONVOLUTION, ZERO_MATMUL
from slow import SLOW_TILES, configured

from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.store.reproducer import FailedCandidate, write_reproducer
from iree_tuner.targets import parse_target

ROOT = Path(__file__).parents[3]
LARGE = (96, 64, 128)
GOOD = (4, 16, 8)


def run(folder, *tools):
    path = os.pathsep.join(map(str, (*tools, Path(sys.executable).parent, os.environ["PATH"])))
    command = ["bash", str(Path(folder) / "reproduce.sh")]
    return subprocess.run(
        command, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def failure(cpu, only_dispatch):
    dispatch = only_dispatch(ZERO_MATMUL)

    def make(outcome, sizes, flags=(), limit_s=60.0):
        every = (*cpu.flags, *flags)
        chosen = configured(dispatch, sizes, (96, 64))
        return FailedCandidate("mm", dispatch.harness, chosen, every, outcome, "why", limit_s=limit_s)

    return make


@pytest.mark.parametrize(
    ("outcome", "sizes", "flags", "limit_s", "code"),
    [
        ("compile_error", LARGE, (), 60.0, 0),
        ("compile_error", GOOD, (), 60.0, 1),
        pytest.param("compile_timeout", GOOD, (), 60.0, 1, marks=pytest.mark.exhaustive),
        # As a run that ends well below: the same exit statuses show a crash of either.
        pytest.param("compile_crash", GOOD, (), 60.0, 1, marks=pytest.mark.exhaustive),
        pytest.param("run_crash", GOOD, (), 60.0, 1, marks=pytest.mark.exhaustive),
        pytest.param("run_timeout", GOOD, (), 60.0, 1, marks=pytest.mark.exhaustive),
        ("wrong_result", GOOD, (), 60.0, 1),
        pytest.param("run_error", GOOD, (), 60.0, 1, marks=pytest.mark.exhaustive),
        ("not_applied", GOOD, (), 60.0, 1),
    ],
)
def test_the_script_says_whether_the_failure_shows(failure, tmp_path, outcome, sizes, flags, limit_s, code):
    folder, note = write_reproducer(tmp_path, failure(outcome, sizes, flags, limit_s))
    assert not note
    ran = run(folder)
    assert ran.returncode == code, ran.stdout + ran.stderr


def test_a_slow_compilation_shows_and_leaves_no_process(only_dispatch, tmp_path):
    target = parse_target("llvm-cpu:znver4")
    dispatch = only_dispatch(ROOT / "programs" / "ops" / "cpu_matmul_one_row.mlir", target)
    chosen = configured(dispatch, SLOW_TILES)
    failed = FailedCandidate(
        "slow", dispatch.harness, chosen, target.flags, "compile_timeout", "", limit_s=1.0
    )
    folder, _ = write_reproducer(tmp_path, failed)
    assert run(folder).returncode == 0
    assert not processes_in(folder)


def processes_in(folder):
    """Ids of processes that work there."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if each.readlink() == Path(folder):
                found.append(each.parent.name)
    return found


def test_an_llvm_error_shows(compilers, tmp_path):
    # See docs/upstream/nvptx_umul_lohi.md.
    target = parse_target("cuda:sm_80")
    program = load_program(ROOT / "test" / "upstream" / "nvptx_umul_lohi.mlir")
    (dispatch,) = extract(program, target, compilers).dispatches
    failed = FailedCandidate(
        "umul", dispatch.harness, None, target.flags, "compile_crash", "LLVM ERROR: Cannot ..."
    )
    folder, _ = write_reproducer(tmp_path, failed)
    ran = run(folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "umul_lohi" in (Path(folder) / "output.txt").read_text()


@pytest.mark.exhaustive  # memory that is freed twice may also end in a handler that hangs
def test_a_crash_by_signal_shows(compilers, tmp_path):
    # See docs/upstream/prefetch_uneven_copy.md.
    target = parse_target("hip:gfx942")
    program = load_program(ROOT / "test" / "upstream" / "prefetch_uneven_copy.mlir")
    (dispatch,) = extract(program, target, compilers).dispatches
    failed = FailedCandidate("copy", dispatch.harness, None, target.flags, "compile_crash", "exited with -11")
    folder, _ = write_reproducer(tmp_path, failed)
    ran = run(folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_module_that_the_device_does_not_take_shows(only_dispatch, tmp_path):
    target = parse_target("vulkan:ampere")
    harness = only_dispatch(ZERO_MATMUL, target).harness
    folder, _ = write_reproducer(
        tmp_path, FailedCandidate("mm", harness, None, target.flags, "run_error", "no code")
    )
    ran = run(folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("outcome", "runs", "code"),
    [
        ("run_crash", "exit 0", 1),
        ("run_crash", "kill -SEGV $$", 0),
        ("run_crash", "exit 250", 0),  # what pip's scripts make of an abort
        ("run_crash", "exit 1", 1),
        ("run_error", "exit 1", 0),
        ("run_error", "kill -SEGV $$", 1),
        ("run_timeout", "sleep 60", 0),
        ("run_timeout", "kill -SEGV $$", 1),
    ],
)
def test_how_a_run_ends_decides(failure, tmp_path, outcome, runs, code):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, does in (("iree-compile", "exit 0"), ("python3", "exit 0"), ("iree-run-module", runs)):
        (tools / name).write_text(f"#!/bin/bash\n{does}\n")
        (tools / name).chmod(0o755)
    folder, _ = write_reproducer(tmp_path, failure(outcome, GOOD, limit_s=1.0))
    ran = run(folder, tools)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert not processes_in(folder)


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
    failed = FailedCandidate("conv", dispatch.harness, chosen, cpu.flags, "not_applied", "replaced")
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
