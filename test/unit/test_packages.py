"""Packages: the wheel of the sdist works alone; the container, the nightly run and the hook fit in."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from iree_tuner.cli.tune import tune

ROOT = Path(__file__).resolve().parents[2]


def run(*command, **how):
    return subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, check=False, timeout=900, **how
    )


def test_what_the_container_copies_is_there():
    lines = [line.split() for line in (ROOT / "Containerfile").read_text().splitlines()]
    copied = [each for line in lines if line[:1] == ["COPY"] for each in line[1:-1]]
    assert {"pyproject.toml", "iree_tuner"} <= set(copied)
    assert all((ROOT / each).exists() for each in copied)
    project = (ROOT / "pyproject.toml").read_text()
    for name in ("docs", "specs", "transforms"):  # of the wheel
        assert f'"{name}" = "iree_tuner/_{name}"' in project
        assert name in copied


def test_each_line_of_the_nightly_run_is_a_command():
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / "examples/nightly/tune.yml").read_text())
    (job,) = workflow["jobs"].values()
    lines = [line for step in job["steps"] for line in step.get("run", "").splitlines()]
    (command,) = [shlex.split(line) for line in lines if line.startswith("iree-tuner tune")]
    known = run(sys.executable, "-m", "iree_tuner", "tune", "--help").stdout
    assert tune.__name__ == command[1]
    assert {each for each in command if each.startswith("--")} == {"--budget", "--db", "--report"}
    assert all(each in known for each in command if each.startswith("--"))
    assert (ROOT / workflow["env"]["MODEL"]).exists()
    restored, saved = (
        step["with"] for step in job["steps"] if step.get("uses", "").startswith("actions/cache")
    )
    assert (restored["path"], restored["key"]) == (saved["path"], saved["key"])


def test_the_hook_refuses_a_bad_spec_among_good_ones(tmp_path):
    yaml = pytest.importorskip("yaml")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    good, bad = tmp_path / "good.spec.mlir", tmp_path / "bad.spec.mlir"
    shutil.copy(next((ROOT / "specs").rglob("mlp_batch1.spec.mlir")), good)
    bad.write_text("module { transform.named_sequence @x() }")
    tool = tmp_path / "iree-tuner"
    tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m iree_tuner "$@"\n')
    tool.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    for specs, refused in (((good,), False), ((bad, good), True)):
        done = run(*shlex.split(hook["entry"]), *specs, env={**os.environ, "PATH": path})
        assert (done.returncode != 0) is refused, done.stderr


@pytest.mark.exhaustive(reason="it builds and installs the package with its dependencies: four minutes")
def test_the_wheel_of_the_sdist_tunes_alone(tmp_path):
    made, python = tmp_path / "made", tmp_path / "venv" / "bin" / "python"
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    assert run(sys.executable, "-m", "venv", tmp_path / "venv").returncode == 0
    assert run(python, "-m", "pip", "install", "-q", "build").returncode == 0
    done = run(python, "-m", "build", "-o", made, ROOT, env=alone)  # the wheel is built from the sdist
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = made.glob("*.whl")
    assert list(made.glob("*.tar.gz"))
    assert run(python, "-m", "pip", "install", "-q", wheel, env=alone).returncode == 0
    tuner, where = python.with_name("iree-tuner"), {"cwd": tmp_path, "env": alone}
    assert "tune" in run(tuner, "--help", **where).stdout
    assert "mlp_batch1" in run(tuner, "spec", "shipped", **where).stdout
    assert "# Questions" in run(tuner, "docs", "questions", **where).stdout
    program = shutil.copy(ROOT / "examples" / "mlp_batch1.mlir", tmp_path)
    done = run(tuner, "tune", program, "--effort", "smoke", "--no-db", "-o", "mlp.spec.mlir", **where)
    assert done.returncode == 0, done.stderr
    assert "RESULT" in done.stdout
    assert (tmp_path / "mlp.spec.mlir").exists()
