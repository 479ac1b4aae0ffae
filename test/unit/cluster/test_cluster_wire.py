"""Calls and replies as bytes: round trips, and that a reply is data only."""

import io
import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("distributed", reason="pip install 'iree-tuner[cluster]'")

from iree_tuner.cluster.line import LARGE, UntypedError, pack, read_call, read_value, unpack, write
from iree_tuner.compiler.worker import Crash, Timeout
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.measure.timing import Timed
from iree_tuner.ops.tolerance import Tolerance

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
)


def there_and_back(value):
    return read_value(*unpack(pack(write(value))))


@given(PLAIN)
def test_values_come_back(value):
    assert there_and_back(value) == value


@given(st.binary(min_size=0, max_size=64), st.integers(1, 3))
def test_large_bytes_travel_once(data, times):
    large = data + bytes(LARGE)
    parcel = write([large, b"small"] * times)
    assert len(parcel.attached) == 1
    assert len(parcel.data) < LARGE
    assert there_and_back([large] * times) == [large] * times


@pytest.mark.parametrize(
    "value",
    [
        Timed("ok", (1.0, 2.0), worst=0.5), Tolerance("f16", 3), Crash(-9, "said", "why"), Timeout(3.0),
        {1, 2}, frozenset({3}), 1 + 2j, Path("a/b"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_typed_data_comes_back(value):
    assert there_and_back(value) == value


def test_arrays_come_back():
    for value in (
        np.arange(6, dtype=np.float16).reshape(2, 3),
        np.float32(3.5),
        np.asfortranarray(np.eye(3)),
    ):
        assert np.array_equal(there_and_back(value), value)


def test_errors_come_back():
    found = there_and_back(UsageError("no", location="here", hint="so"))
    assert type(found) is UsageError
    assert str(found) == "here: no (so)"
    found = there_and_back(ValueError("no", 3))
    assert type(found) is ValueError
    assert found.args == ("no", 3)


class _Runs:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    "value",
    [
        _Runs(os.system, "true"), _Runs(eval, "1"), _Runs(subprocess.run, ["true"]), _Runs(getattr, 1, "a"),
        _Runs(pickle.loads, b""), _Runs(TunerError.with_traceback, TunerError("x"), None),
        _Runs(Path.unlink, Path("x")), print,
    ],
    ids=["os.system", "eval", "run", "getattr", "loads", "method", "unlink", "function"],
)  # fmt: skip
def test_nothing_else_is_read(value):
    with pytest.raises(UntypedError):
        there_and_back([value])


@given(st.binary(max_size=200))
def test_noise_is_an_error(data):
    with pytest.raises(UntypedError):
        unpack(data)


class _Names(pickle.Pickler):
    def persistent_id(self, obj):
        return ("file", "digest", "../../elsewhere") if obj is Ellipsis else None


def test_a_name_of_a_file_leads_nowhere_else(tmp_path):
    stream = io.BytesIO()
    _Names(stream).dump(...)
    there = read_call(stream.getvalue(), {"digest": b"text"}, tmp_path / "a" / "b", tmp_path)
    assert Path(there) == tmp_path / "a" / "b" / "digest" / "elsewhere"
    assert Path(there).read_bytes() == b"text"
