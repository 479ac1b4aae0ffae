"""A spec is not lost because its place became unwritable."""

from pathlib import Path

import pytest

from iree_tuner.cli import tune as command
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.tuning.options import TuningOptions


class Result:
    def __init__(self, refused):
        self.refused = refused

    def save(self, path):
        if path == self.refused:
            raise TunerError("cannot write: No space left on device", location=str(path))
        Path(path).write_text("spec")
        return path


def test_a_full_disk_sends_the_spec_elsewhere(tmp_path, capsys):
    wanted = tmp_path / "model.spec.mlir"
    kept = command._save(Result(refused=wanted).save, wanted)
    assert kept != wanted
    assert kept.read_text() == "spec"


def test_kernels_compete_in_long_runs_and_where_they_are_asked_for(tmp_path, monkeypatch):
    class Installed:
        def missing(self):
            return ""

    kernel = Installed()
    monkeypatch.setattr(command, "usual_kernels", lambda backend: (kernel,))

    def kernels(outputs=None, **options):
        return command._kernels(TuningOptions(**options), command.Outputs(**(outputs or {})))

    asked = {"kernels": tmp_path / "k.mlir"}
    assert kernels() == (kernel,)
    assert kernels(budget_s=60.0) == (kernel,)
    assert kernels(budget_s=59.0) == kernels(effort="quick") == ()
    assert kernels(knobs=("th_k=4",)) == kernels(self_test=True) == ()
    assert kernels({"no_kernels": True}) == ()
    assert kernels(asked, effort="smoke") == kernels(asked, knobs=("th_k=4",)) == (kernel,)
    with pytest.raises(UsageError, match="--no-kernels excludes --kernels"):
        kernels(asked | {"no_kernels": True})


def test_kernels_are_written_next_to_the_spec():
    assert command._kernels_beside(Path("a/vit.spec.mlir")) == Path("a/vit.kernels.mlir")
    assert command._kernels_beside(Path("best.mlirbc")) == Path("best.kernels.mlir")
