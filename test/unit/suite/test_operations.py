"""Operations as data: their names, their JSON, their IR, and what is said of those that there are not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir
from random_operations import ARGUMENTS, attempt, operations

from iree_tuner.compiler.context import new_context
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.suite.kinds.registry import KINDS, fields_of, make, operation_of
from iree_tuner.suite.operation import to_json
from iree_tuner.suite.programs import FUNCTION, module_of
from iree_tuner.suite.tensors import tensor_type


def test_random_operations_have_all_kinds_and_fields():
    assert {kind: set(arguments) for kind, arguments in ARGUMENTS.items()} == {
        name: set(fields_of(kind)) for name, kind in KINDS.items()
    }


@given(operations())
def test_json_round_trip(operation):
    assert operation_of(json.loads(json.dumps(to_json(operation)))) == operation


@given(operations(), st.data())
def test_operations_that_differ_have_different_names(operation, data):
    field = data.draw(st.sampled_from(sorted(ARGUMENTS[operation.kind])))
    other = data.draw(ARGUMENTS[operation.kind][field])
    changed = attempt(operation.kind, {**operation.arguments, field: other})
    if changed is not None:
        assert (changed.name == operation.name) == (changed == operation)


@given(operations(), operations())
def test_only_equal_operations_have_equal_names(one, other):
    assert (one.name == other.name) == (one == other)


@pytest.fixture(scope="module")
def context():
    return new_context()


@settings(deadline=None)
@given(operation=operations())
def test_modules_are_valid_and_typed_as_told(context, operation):
    module = module_of(operation, context)
    with context, ir.Location.unknown():
        (function,) = module.body.operations
        assert function.name.value == FUNCTION
        kind = function.type
        assert kind.inputs == [tensor_type(each) for each in operation.inputs]
        assert kind.results == [tensor_type(operation.result)]
        # Some attributes of a wrong type are only found when they are read again.
        assert str(ir.Module.parse(str(module))) == str(module)


@given(operations())
def test_work_is_counted(operation):
    assert operation.flops > 0
    assert operation.bytes > operation.result.bytes > 0
    assert operation.tolerance.reduction_length >= 1
    assert len(operation.name) < 200


@pytest.mark.parametrize(
    ("kind", "arguments", "flops"),
    [
        ("matmul", {"m": 3, "n": 5, "k": 7}, 2 * 3 * 5 * 7),
        ("matmul", {"m": 3, "n": 5, "k": 7, "accumulate": True, "epilogue": "bias+relu"}, 210 + 3 * 15),
        ("batch_matmul", {"batch": 2, "m": 3, "n": 5, "k": 7}, 2 * 2 * 3 * 5 * 7),
        ("convolution", {"h": 5, "w": 5, "c": 4, "f": 6, "groups": 2}, 2 * 9 * 6 * 9 * 2),
        ("attention", {"heads": 1, "queries": 4, "size": 8}, 2 * 4 * 4 * 16),
        ("attention", {"heads": 1, "queries": 4, "size": 8, "causal": True}, 2 * 10 * 16),
        ("attention", {"heads": 1, "queries": 1, "keys": 4, "size": 8, "causal": True}, 2 * 4 * 16),
        ("softmax", {"rows": 3, "columns": 4}, 60),
        ("reduction", {"rows": 3, "columns": 4}, 12),
        ("elementwise", {"rows": 3, "columns": 4, "chain": "add+exp"}, 24),
    ],
)
def test_flops(kind, arguments, flops):
    assert make(KINDS[kind], arguments).flops == flops


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "an operation must be an object with a kind and its arguments"),
        ({"kind": "matmul"}, "an operation must be an object with a kind and its arguments"),
        ({"kind": "matmull", "arguments": {}}, "unknown operation 'matmull' (did you mean matmul?)"),
        ({"kind": "matmul", "arguments": {"mm": 1}}, "matmul has no field 'mm' (did you mean m?)"),
        ({"kind": "matmul", "arguments": {"m": "1"}}, "m: '1' is not of type int"),
        ({"kind": "matmul", "arguments": {"m": True}}, "m: True is not of type int"),
        ({"kind": "matmul", "arguments": {"m": 0}}, "m must be at least 1, but is 0"),
        (
            {"kind": "matmul", "arguments": {"lhs": "F16"}},
            "lhs: unknown element type 'F16' (did you mean f16?)",
        ),
        ({"kind": "matmul", "arguments": {"accumulate": 1}}, "accumulate: 1 is not of type bool"),
    ],
)
def test_data_that_is_no_operation(data, message):
    with pytest.raises(TunerError) as caught:
        operation_of(data)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("matmul", {"layout": "t"}, "layout: 't' is not one of tt, tn, nt, nn"),
        ("matmul", {"k": 10, "split_k": 3}, "split_k: k (10) is not a multiple of 3 slices"),
        ("matmul", {"out": "i32"}, "out: unknown element type 'i32' (did you mean f32?)"),
        ("matmul", {"epilogue": "bias+gelo"}, "epilogue: unknown step 'gelo' (did you mean gelu?)"),
        (
            "matmul",
            {"lhs": "i8", "rhs": "i8", "out": "i32", "epilogue": "silu"},
            "epilogue: silu does not support results of i32",
        ),
        ("batch_matmul", {"batch": 0}, "batch must be at least 1, but is 0"),
        ("convolution", {"groups": 3}, "groups: c (64) is not a multiple of 3"),
        ("convolution", {"h": 2}, "the window of 3x3 is larger than the image of 2x58"),
        ("convolution", {"layout": "chwn"}, "layout: 'chwn' is not one of nhwc, nhwc_fhwc, nchw"),
        ("attention", {"key_heads": 3}, "key_heads: 8 heads are not a multiple of 3"),
        (
            "attention",
            {"causal": True, "queries": 9, "keys": 8},
            "causal: the first of 9 queries would attend to none of 8 keys",
        ),
        ("reduction", {"function": "sun"}, "function: 'sun' is not one of sum, max, min, mean"),
        ("reduction", {"function": "mean", "element_type": "i8"}, "element_type: unknown element type 'i8'"),
        ("softmax", {"columns": -1}, "columns must be at least 1, but is -1"),
        ("elementwise", {"chain": "add+"}, "chain: unknown function ''"),
        (
            "elementwise",
            {"chain": "subtract+add+sqrt"},
            "chain: sqrt requires positive values, but subtract may return negative ones",
        ),
    ],
)
def test_arguments_that_make_no_operation(kind, arguments, message):
    with pytest.raises(UsageError) as caught:
        make(KINDS[kind], arguments)
    assert str(caught.value).startswith(message)


def test_roots_of_what_is_positive_again():
    assert make(KINDS["elementwise"], {"chain": "subtract+exp+sqrt"}).positive
    assert not make(KINDS["elementwise"], {"chain": "subtract+exp"}).positive
