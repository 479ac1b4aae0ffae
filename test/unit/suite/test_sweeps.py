"""Sweeps and suites: which operations they stand for, and what is said of mistakes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iree_tuner.errors import TunerError
from iree_tuner.suite.kinds.registry import KINDS
from iree_tuner.suite.suite_file import distinct, load_suite, suites, sweep, values_of

MATMUL = KINDS["matmul"]
F8 = "f8E4M3FN"


@given(st.integers(1, 300), st.integers(0, 300), st.integers(1, 40))
def test_ranges_have_both_ends(first, more, step):
    found = values_of("m", 512, f"{first}:{first + more}:{step}")
    assert found == [each for each in range(first, first + more + 1) if (each - first) % step == 0]


@given(st.lists(st.integers(1, 99), min_size=1, max_size=4, unique=True))
def test_lists_and_text_say_the_same(numbers):
    assert values_of("m", 512, numbers) == values_of("m", 512, ",".join(map(str, numbers))) == numbers


@given(*[st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True)] * 2)
def test_all_combinations(rows, columns):
    found = sweep(MATMUL, {"m": rows, "n": columns, "types": "f16,i8"}, F8)
    assert [(each.m, each.n, each.lhs) for each in found] == list(
        itertools.product(rows, columns, ("f16", "i8"))
    )


def test_types_say_all_types_and_fields_say_otherwise():
    (found,) = sweep(MATMUL, {"types": "f8", "out": "bf16"}, "f8E4M3FNUZ")
    assert (found.lhs, found.rhs, found.out) == ("f8E4M3FNUZ", "f8E4M3FNUZ", "bf16")
    (found,) = sweep(MATMUL, {"types": "bf16", "rhs": "f8"}, F8)
    assert (found.lhs, found.rhs, found.out) == ("bf16", F8, "bf16")


def test_an_empty_text_is_an_epilogue_too():
    names = [each.epilogue for each in sweep(MATMUL, {"epilogue": ["", "bias"]}, F8)]
    assert names == ["", "bias"]


def test_each_operation_once():
    twice = sweep(MATMUL, {"m": "64,128,64"}, F8)
    assert [each.m for each in distinct(twice)] == [64, 128]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mm": 1}, "matmul has no field 'mm' (did you mean m?)"),
        ({"m": "64:"}, "m: '64:' is not a number (write 64, or 64:1024:128 for a sweep)"),
        ({"m": "64:128"}, "m: '64:128' is not a number (write 64, or 64:1024:128 for a sweep)"),
        ({"m": "64:128:0"}, "m: '64:128:0' is not a number (write 64, or 64:1024:128 for a sweep)"),
        ({"m": "128:64:8"}, "m: '128:64:8' has no values: 128 is larger than 64"),
        ({"m": "64,"}, "m: '' is not a number (write 64, or 64:1024:128 for a sweep)"),
        ({"m": []}, "m: no values"),
        ({"m": 1.5}, "m: 1.5 is not of type int"),
        ({"m": [True]}, "m: True is not of type int"),
        ({"m": {}}, "m: {} is not of type int"),
        ({"lhs": 16}, "lhs: 16 is not of type str"),
        ({"types": "f17"}, "types: unknown element type 'f17' (did you mean f16?)"),
        (
            {"types": ""},
            "types: unknown element type '' (one of: f32, f16, bf16, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ"
            ", i8, i32, f8)",
        ),
        ({"types": 16}, "types: unknown element type '16' (did you mean f16?)"),
        ({"accumulate": "maybe"}, "accumulate: 'maybe' is neither true nor false"),
        (
            {"m": "1:1000:1", "n": "1:1000:1"},
            "1000000 operations of matmul are too many: the limit is 100000",
        ),
    ],
)
def test_mistakes(given, message):
    with pytest.raises(TunerError) as caught:
        sweep(MATMUL, given, F8)
    assert str(caught.value) == message


def test_suites_that_ship_have_each_operation_once_and_a_summary():
    found = suites()
    assert {"llama3-8b", "sdxl-unet", "resnet50", "bert-base", "profiler", "cpu", "gpu"} <= {
        each.name for each in found
    }
    for each in found:
        assert each.summary
        assert len({operation.name for operation in each.operations}) == len(each.operations) > 10


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_suites_for_comparing_have_every_kind(name):
    assert {each.kind for each in load_suite(name).operations} == set(KINDS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m = ", "not TOML: "),
        ("", "the suite has no operations"),
        ("summary = 1", "the summary is not a text"),
        ("[matmul]\nm = 1", "'matmul' is not a table (write [[matmul]])"),
        ("matmul = [1]", "matmul 1: not a table"),
        ("[[matmul]]\nm = 1\n[[matmul]]\nm = 0", "matmul 2: m must be at least 1, but is 0"),
        ("[[matmull]]", "matmull 1: unknown operation 'matmull' (did you mean matmul?)"),
        ("[[softmax]]\nrow = 1", "softmax 1: softmax has no field 'row' (did you mean rows?)"),
    ],
)
def test_mistakes_in_files(text, message, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(TunerError) as caught:
        load_suite(str(path))
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "own.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TunerError, match=r"own\.toml: not a text file: byte 0"):
        load_suite(str(path))
    with pytest.raises(TunerError, match=r"missing\.toml: no such file"):
        load_suite(str(tmp_path / "missing.toml"))
