"""Files that users name are read whole, and written whole or not at all, never in the place of an input."""

import errno
import os
import stat
import sys

import pytest

from iree_tuner import files
from iree_tuner.errors import TunerError, UsageError


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_an_output_appears_whole(tmp_path):
    path = tmp_path / "out.json"
    with files.writing(path) as file:
        file.write(b"half")
        assert not path.exists()
    assert path.read_bytes() == b"half"
    assert left_in(tmp_path) == ["out.json"]


def test_what_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "out.json"
    path.write_text("before")

    def half():
        with files.writing(path) as file:
            file.write(b"half")
            raise KeyError("something else")

    with pytest.raises(KeyError):
        half()
    assert path.read_text() == "before"
    assert left_in(tmp_path) == ["out.json"]


def test_a_full_disk_is_told_with_the_name(tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    path.write_text("before")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TunerError, match=r"out\.json: cannot write: No space left on device"):
        files.write(path, "after")
    assert path.read_text() == "before"
    assert left_in(tmp_path) == ["out.json"]


@pytest.mark.parametrize("alias", ["same", "relative", "symbolic", "hard", "of a folder"])
def test_no_output_takes_the_place_of_an_input(tmp_path, monkeypatch, alias):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "in.mlir"
    path.write_text("precious")
    other = tmp_path / "other.mlir"
    match alias:
        case "same":
            other = path
        case "relative":
            other = tmp_path.relative_to(tmp_path) / "in.mlir"
        case "symbolic":
            other.symlink_to(path)
        case "hard":
            other.hardlink_to(path)
        case _:
            (tmp_path / "link").symlink_to(tmp_path)
            other = tmp_path / "link" / "in.mlir"
    with files.of_one_command():
        assert files.read_bytes(path) == b"precious"
        with pytest.raises(UsageError, match="the output would overwrite an input"):
            files.planned_output(other)
        with pytest.raises(UsageError, match="the output would overwrite an input"):
            files.write(other, "lost")
    assert path.read_text() == "precious"
    files.write(other, "another command")  # which was not given it
    assert other.read_text() == "another command"


def test_two_outputs_of_one_name_are_refused(tmp_path):
    with files.of_one_command():
        files.planned_output(tmp_path / "out.mlir", ".mlir")
        with pytest.raises(UsageError, match="two outputs have this name"):
            files.planned_output(tmp_path / "." / "out.mlir", ".mlir")
    assert left_in(tmp_path) == []


def test_permissions_and_links_stay(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("before")
    real.chmod(0o640)
    link.symlink_to(real)
    files.write(link, "after")
    assert link.is_symlink()
    assert real.read_text() == "after"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    files.write(tmp_path / "made", "x")
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_devices_and_pipes_are_written_to(tmp_path):
    files.write(tmp_path.__class__("/dev/null"), "gone")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.write(files.planned_output(pipe), "through")
    assert os.read(reading, 100) == b"through"
    os.close(reading)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    ("name", "suffixes", "kind", "says"),
    [
        ("out.txt", (".json",), UsageError, "the name must end in .json"),
        ("no/out.json", (".json",), TunerError, "no: no such folder"),
        ("folder.json", (".json",), TunerError, "folder.json: this is a folder, not a file"),
        ("file/out.json", (), TunerError, "file: no such folder"),
    ],
)
def test_what_cannot_be_written_is_told_before_the_work(tmp_path, name, suffixes, kind, says):
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(kind) as told:
        files.planned_output(tmp_path / name, *suffixes)
    assert says in str(told.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_sealed_folder_is_told_before_the_work(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(TunerError, match="Permission denied"):
        files.planned_output(tmp_path / "out.json")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing", "missing: no such file"),
        (".", "this is a folder, not a file"),
        ("/dev/zero", "/dev/zero: this is a device, not a file"),
        ("a\0b", "no such file"),
        ("x" * 300, "cannot read: File name too long"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path, name, says):
    with pytest.raises(TunerError) as told:
        files.read_bytes(tmp_path / name)
    assert says in str(told.value)


def test_a_closed_standard_input_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TunerError, match="standard input is closed"):
        files.read_bytes(files.STANDARD)


def test_a_pipe_without_end_is_left(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "_MOST_PIPED_BYTES", 3 << 20)
    with (tmp_path / "much").open("wb") as file:
        file.truncate(5 << 20)
    with (tmp_path / "much").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(TunerError, match="the pipe has more than 2 GiB"):
            files.read_bytes(files.STANDARD)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 100_000, "nested too deep"),
        ("{", "file.json:2: not JSON"),
        ('{\n"a": }', ":2:6: not JSON"),
        ("\xff\udcff".encode("utf-8", "surrogateescape"), "is not UTF-8"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(tmp_path, text, says):
    path = tmp_path / "file.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TunerError) as told:
        files.read_json(path)
    assert says in str(told.value)
    assert str(told.value).startswith(str(path))


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = ", "\0"])
def test_what_is_no_toml_is_told(tmp_path, text):
    (tmp_path / "file.toml").write_text(text)
    with pytest.raises(TunerError, match="TOML"):
        files.read_toml(tmp_path / "file.toml")
