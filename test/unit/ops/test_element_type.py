"""Element types: the facts that follow from a name are those that IR says."""

from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from iree.compiler import ir

from iree_tuner.ops.element_type import ElementType

FLOATS = (
    "f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ",
    "f8E3M4", "f8E4M3", "f8E8M0FNU", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN",
)  # fmt: skip
INTEGERS = ("i1", "i4", "i8", "i16", "i32", "i64", "si8", "ui16")


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_widths_and_kinds_are_those_of_ir(name: str) -> None:
    found = ElementType.named(name)
    with ir.Context(), ir.Location.unknown():
        kind = ir.Type.parse(name)
        assert isinstance(kind, ir.FloatType | ir.IntegerType)
        assert (found.bits, found.is_float) == (kind.width, isinstance(kind, ir.FloatType))
        assert found.is_integer == isinstance(kind, ir.IntegerType)
        assert ElementType.of(kind) == ElementType.of(ir.RankedTensorType.get([2], kind)) == found
        assert found.to_ir() == kind


def test_an_index_is_stored_in_64_bits() -> None:
    with ir.Context(), ir.Location.unknown():
        assert ElementType.of(ir.IndexType.get()) == ElementType("index", "index", 64)


def test_complex_elements_are_two_numbers_and_no_shaped_type() -> None:
    with ir.Context(), ir.Location.unknown():
        kind = ir.ComplexType.get(ir.F32Type.get())
        assert ElementType.of(kind) == ElementType("complex<f32>", "complex", 64)


@pytest.mark.parametrize(("name", "size"), [("i1", 1), ("i4", 1), ("f8E5M2", 1), ("bf16", 2), ("f64", 8)])
def test_elements_take_whole_bytes(name: str, size: int) -> None:
    assert ElementType.named(name).bytes == size


def test_small_floats_have_a_byte_or_less() -> None:
    small = {name for name in (*FLOATS, *INTEGERS, "index") if ElementType.named(name).is_small_float}
    assert small == {name for name in FLOATS if name[:2] in ("f8", "f6", "f4") and name != "f64"}


@pytest.mark.parametrize("name", ["", "!hal.buffer", "vector<4xf32>", "f", "i", "float16"])
def test_other_names_are_kept(name: str) -> None:
    found = ElementType.named(name)
    assert (str(found), found.kind, found.bits, found.dtype) == (name, "other", 0, None)


def test_numpy_has_a_type_for_each_that_values_are_made_of() -> None:
    assert ElementType.named("bf16").dtype == np.dtype(ml_dtypes.bfloat16)

    assert ElementType.named("index").dtype == np.int64
    assert ElementType.named("f4E2M1FN").dtype is None


@pytest.mark.parametrize("name", ["bf16", "f8E4M3FN"])
def test_a_type_is_known_where_nothing_else_imported_ml_dtypes(name: str) -> None:
    code = f"from iree_tuner.ops.element_type import ElementType; print(ElementType.named({name!r}).dtype)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(ElementType.named(name).dtype)
