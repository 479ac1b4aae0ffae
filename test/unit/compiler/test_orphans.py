"""Folders for temporary files: nothing is left of them, whenever a signal comes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from iree_tuner.compiler.process import own_temporary_folder, remove_orphaned_folders, shared_folder


@pytest.fixture
def shared(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_all_temporary_files_of_a_command_go_with_its_folder(shared):
    with own_temporary_folder():
        made = Path(tempfile.mkdtemp())
        (made / "file").touch()
        assert made.parent.parent == shared
        kept = Path(tempfile.mkdtemp(dir=shared_folder()))
    assert [*shared.iterdir()] == [kept]
    assert tempfile.gettempdir() == str(shared)
    assert shared_folder() is None


@pytest.mark.parametrize("name", ["mkdir", "rename"])
def test_a_signal_just_after_a_step_leaves_nothing(shared, monkeypatch, name):
    step = getattr(Path, name)

    def interrupted(*given, **options):
        step(*given, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, name, interrupted)
    with pytest.raises(KeyboardInterrupt), own_temporary_folder():
        pytest.fail("it was interrupted before")
    assert not [*shared.iterdir()]


def test_a_folder_in_use_stays_and_one_without_a_process_goes(shared):
    left = shared / "iree_tuner_of_a_killed_command"
    left.mkdir()
    (left / "lock").touch()
    with own_temporary_folder():
        own = Path(tempfile.gettempdir())
        remove_orphaned_folders()
        assert [*shared.iterdir()] == [own]


def test_commands_work_where_no_folder_can_be_made(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/proc")
    with own_temporary_folder():
        assert tempfile.gettempdir() == "/proc"
