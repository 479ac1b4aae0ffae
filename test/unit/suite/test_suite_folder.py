"""Generated folders: what is written is read back, and what is wrong in them is told with the file."""

from __future__ import annotations

import json

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.errors import TunerError
from iree_tuner.suite.programs import ARGUMENTS, operations_in
from iree_tuner.suite.programs import write_operation as write
from iree_tuner.suite.suite_file import load_suite


@pytest.fixture
def generated(tmp_path):
    operations = load_suite("bert-base").operations
    return operations, {write(tmp_path, each): each for each in operations}


def test_what_is_written_is_read_back(generated, tmp_path):
    operations, paths = generated
    assert {path: each for each, path in operations_in(tmp_path)} == paths
    assert len(paths) == len(operations)
    context = new_context()
    for path, each in paths.items():
        assert path == tmp_path / "linalg" / each.kind / each.name / f"{each.name}.mlir"
        assert ir.Module.parse(path.read_text(), context).operation.verify()


def test_an_operation_is_written_over(generated, tmp_path):
    path, operation = next(iter(generated[1].items()))
    before = path.read_text()
    path.write_text("something else")
    assert write(tmp_path, operation).read_text() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: "),
        ("[]", "an operation must be an object with a kind and its arguments"),
        (json.dumps({"kind": "matmul", "arguments": {"m": -1}}), "m must be at least 1, but is -1"),
    ],
)
def test_arguments_that_are_wrong(generated, tmp_path, text, message):
    place = next(iter(generated[1])).with_name(ARGUMENTS)
    place.write_text(text)
    with pytest.raises(TunerError) as caught:
        operations_in(tmp_path)
    assert str(caught.value).startswith(f"{place}: {message}")


def test_a_program_that_is_gone(generated, tmp_path):
    path = next(iter(generated[1]))
    path.unlink()
    with pytest.raises(TunerError) as caught:
        operations_in(tmp_path)
    assert str(caught.value) == f"{path}: the operation's program is missing"


def test_a_folder_without_operations(tmp_path):
    with pytest.raises(TunerError, match="no generated operations"):
        operations_in(tmp_path / "nothing")
