"""Programs that are not MLIR are read by packages, which are found by entry points."""

from importlib.metadata import EntryPoint

import pytest
from programs import ZERO_MATMUL

from iree_tuner import installed
from iree_tuner.cli.inputs import is_command, opened
from iree_tuner.errors import TunerError
from iree_tuner.program.source import Program


class Reader:
    def is_command(self, text):
        return text.startswith("matmul ")

    def program_of(self, source):
        return Program(source, ZERO_MATMUL.encode())


READER = Reader()


@pytest.fixture(autouse=True)
def readers(monkeypatch):
    entry = EntryPoint("shapes", f"{__name__}:READER", "iree_tuner.programs")
    found = installed.entry_points
    monkeypatch.setattr(
        installed, "entry_points", lambda group: [entry] if group == entry.group else found(group=group)
    )


@pytest.mark.parametrize("source", ["matmul 2x3", "folder/list.shapes"])
def test_a_reader_reads_its_commands_and_its_files(source):
    assert opened(source) == Program(source, ZERO_MATMUL.encode())
    assert is_command(source) == (" " in source)


def test_other_programs_are_files(tmp_path):
    path = tmp_path / "a program.mlir"
    path.write_text(ZERO_MATMUL)
    assert opened(path).name == str(path)
    assert not is_command(str(path))
    with pytest.raises(TunerError, match=r"list\.txt"):
        opened("list.txt")
