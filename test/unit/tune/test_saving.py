"""A spec is not lost because its place became unwritable."""

from pathlib import Path

from iree_tuner.cli import tune as command
from iree_tuner.errors import TunerError


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
    kept = command._save(Result(refused=wanted), wanted)
    assert kept != wanted
    assert kept.read_text() == "spec"
