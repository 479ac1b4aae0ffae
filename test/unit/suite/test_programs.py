"""Compiled operations as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from iree_tuner.errors import TunerError
from iree_tuner.program.bindings import Binding, Harness, TensorSlice
from iree_tuner.suite.programs import load_programs, save_programs

HARNESS = Harness(
    b"module", "run", 512, (Binding(0, 256, (TensorSlice(0, (8, 8), "f32", "read"),)), Binding(256, 256, ()))
)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    save_programs(tmp_path, "op.iree", b"whole", [(HARNESS, b"part", 2)])
    found = load_programs(tmp_path, "op.iree")
    assert Path(found.program).read_bytes() == b"whole"
    (part,) = found.parts
    assert (Path(part.vmfb).read_bytes(), part.calls) == (b"part", 2)
    assert (part.harness.function, part.harness.bindings) == (HARNESS.function, HARNESS.bindings)
    assert part.harness.stride == HARNESS.stride


def test_equal_code_is_one_file(tmp_path: Path) -> None:
    for version in ("iree", "iree-tuned"):
        save_programs(tmp_path, f"op.{version}", b"same")
    assert len(list(tmp_path.glob("*.vmfb"))) == 1


def test_what_is_not_there_or_torn_is_told(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="the compiled program is missing"):
        load_programs(tmp_path, "op.iree")
    (tmp_path / "op.iree.json").write_text('{"program": ')
    with pytest.raises(TunerError, match="not an index of a compiled operation"):
        load_programs(tmp_path, "op.iree")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TunerError, match="cannot write"):
        save_programs(tmp_path / "file", "op.iree", b"whole")
