"""What the compiler makes of operations computes what the reference computes."""

from __future__ import annotations

from functools import cache

import pytest
from amounts import amount, some
from hypothesis import HealthCheck, Phase, given, settings
from random_operations import ARGUMENTS, operations
from suite_programs import Compiled

from iree_tuner.suite.kinds.registry import KINDS, make

SMALL = {"m": 24, "n": 40, "k": 48}
F16, I8 = ({"lhs": each, "rhs": each, "out": to} for each, to in (("f16", "f16"), ("i8", "i32")))
IMAGE = {"n": 2, "h": 11, "w": 9, "c": 8, "f": 16}
HEADS = {"batch": 2, "heads": 4, "queries": 100, "keys": 140, "size": 32}
OPERATIONS = [
    ("matmul", {**SMALL}),
    ("matmul", {**SMALL, **F16, "layout": "nt", "epilogue": "bias+gelu+residual", "accumulate": True}),
    ("matmul", {**SMALL, **I8, "layout": "nn", "split_k": 4, "accumulate": True, "epilogue": "bias+relu"}),
    ("matmul", {**SMALL, **I8, "out": "f16", "epilogue": "bias+gelu_tanh"}),
    ("matmul", {**SMALL, "lhs": "i8", "rhs": "f16", "out": "bf16", "epilogue": "silu"}),
    ("matmul", {**SMALL, "lhs": "f8E4M3FN", "rhs": "f8E5M2", "out": "f8E4M3FNUZ"}),
    ("batch_matmul", {**SMALL, "batch": 3, "layout": "tn", "epilogue": "bias+residual"}),
    ("batch_matmul", {**SMALL, "batch": 3, "layout": "nt", "split_k": 3, "accumulate": True}),
    ("convolution", {**IMAGE, "sh": 2, "dw": 2, "epilogue": "bias+relu"}),
    ("convolution", {**IMAGE, "layout": "nhwc_fhwc", "dh": 2, "epilogue": "bias+residual"}),
    ("convolution", {**IMAGE, "layout": "nchw", "sw": 3, "epilogue": "bias+silu"}),
    ("convolution", {**IMAGE, "image": "i8", "filters": "i8", "out": "i32", "groups": 2}),
    ("convolution", {**IMAGE, "layout": "nhwc_fhwc", "groups": 4, "epilogue": "bias"}),
    ("convolution", {**IMAGE, "layout": "nchw", "groups": 4, "epilogue": "bias"}),
    ("convolution", {**IMAGE, "groups": 8, "f": 8, "sh": 2}),
    ("convolution", {**IMAGE, "groups": 8}),
    ("convolution", {**IMAGE, "layout": "nchw", "groups": 8, "f": 8, "dw": 2}),
    ("attention", {**HEADS, "key_heads": 1, "causal": True, "element_type": "f32"}),
    ("attention", {**HEADS, "key_heads": 2, "causal": True, "mask": True, "element_type": "f32"}),
    ("attention", {**HEADS, "value_size": 48}),
    ("attention", {**HEADS, "mask": True, "element_type": "bf16"}),
    ("attention", {**HEADS, "queries": 1, "key_heads": 2, "causal": True}),
    ("reduction", {"rows": 33, "columns": 70, "axis": "both", "element_type": "bf16"}),
    ("reduction", {"rows": 33, "columns": 70, "axis": "rows", "function": "mean", "element_type": "f16"}),
    ("reduction", {"rows": 33, "columns": 70, "function": "sum", "element_type": "i8"}),
    ("reduction", {"rows": 33, "columns": 70, "function": "min", "element_type": "i8"}),
    ("softmax", {"rows": 33, "columns": 1000, "element_type": "f16"}),
    ("elementwise", {"rows": 33, "columns": 70, "chain": "add+rsqrt+gelu_tanh+silu", "element_type": "f16"}),
    ("elementwise", {"rows": 33, "columns": 70, "chain": "sigmoid+subtract+negate+abs+exp+divide+tanh"}),
]


CHOSEN = [make(KINDS[kind], arguments) for kind, arguments in some(OPERATIONS, 3)]


@cache
def random_ones(kind):
    """Some operations of a kind."""
    found = []

    @settings(
        max_examples=amount(1, 12), deadline=None, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(operations(kinds=(kind,)))
    def collect(operation):
        found.append(operation)

    collect()
    return found


@pytest.fixture(scope="module")
def compiled(cpu, compilers):
    return Compiled([*CHOSEN, *(each for kind in ARGUMENTS for each in random_ones(kind))], cpu, compilers)


@pytest.mark.parametrize("operation", CHOSEN, ids=lambda each: each.name)
def test_it_computes_what_the_reference_does(operation, tmp_path, compiled):
    found = compiled.agreement(operation, tmp_path)
    assert found.ok, found.message


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_random_ones_do(kind, tmp_path, compiled):
    for operation in random_ones(kind):
        found = compiled.agreement(operation, tmp_path)
        assert found.ok, f"{operation.name}: {found.message}"
