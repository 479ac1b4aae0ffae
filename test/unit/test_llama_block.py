"""The block of Llama computes the same in both libraries."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra examples")
pytest.importorskip("jax", reason="needs the extra examples")

from examples.models.in_jax import jax_function, stablehlo
from examples.models.in_torch import torch_outputs
from examples.models.llama_block import block

SMALL = block("small_block", "a small one", tokens=16, width=64, heads=4, shared=2, hidden=96)


def test_jax_and_torch_agree() -> None:
    (expected,) = torch_outputs(SMALL)
    (found,) = jax_function(SMALL)(*SMALL.example())
    assert expected.dtype == np.asarray(found).dtype == np.float16
    error = np.max(np.abs(np.asarray(found, np.float32) - expected.astype(np.float32)))
    assert error <= SMALL.tolerance * np.max(np.abs(expected))


def test_no_query_sees_a_later_key() -> None:
    (x,) = SMALL.example()
    changed = x.copy()
    changed[-1] += 1
    function = jax_function(SMALL)
    first, second = (np.asarray(function(each)[0]) for each in (x, changed))
    assert np.array_equal(first[:-1], second[:-1])
    assert not np.array_equal(first[-1], second[-1])


def test_sums_have_32_bits() -> None:
    _, text = stablehlo(SMALL)
    products = [line for line in text.splitlines() if "dot_general" in line]
    assert len(products) == 9
    assert all(line.rstrip().split("->")[-1].strip().split("xf")[-1].startswith("32") for line in products)
