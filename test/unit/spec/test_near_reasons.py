"""Why single conditions fail, asked of the interpreter on ops that no program is compiled for."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.spec.near.reasons import conditions_of, first_failure, reason

PAYLOAD = """
func.func @f(%a: tensor<8x4xf32>, %b: tensor<4x2xf32>, %n: index) -> tensor<8x2xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x2xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x2xf32>) -> tensor<8x2xf32>
  %product = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [4, 2, 0]>}
    ins(%a, %b : tensor<8x4xf32>, tensor<4x2xf32>) outs(%init : tensor<8x2xf32>) -> tensor<8x2xf32>
  %sized = util.assume.int %n<umin = 16, umax = 256, udiv = 8> : index
  %some = tensor.empty(%sized) : tensor<?xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%some : tensor<?xf32>) -> tensor<?xf32>
  %scalar = tensor.extract %a[%n, %n] : tensor<8x4xf32>
  return %product : tensor<8x2xf32>
}
"""
READONLY = "%op: !transform.any_op {transform.readonly}"
OP = "!transform.any_op"
VALUE = "!transform.any_value"
HELPERS = f"""
transform.named_sequence @is_a_fill({READONLY}) {{
  transform.match.operation_name %op ["linalg.fill"] : {OP}
  transform.yield
}}
transform.named_sequence @init({READONLY}) -> {OP} {{
  %init = transform.get_producer_of_operand %op[2] : ({OP}) -> {OP}
  transform.yield %init : {OP}
}}
transform.named_sequence @is_the_init_a_matmul({READONLY}) {{
  %init = transform.include @init failures(propagate) (%op) : ({OP}) -> {OP}
  %source = transform.get_producer_of_operand %init[1] : ({OP}) -> {OP}
  transform.match.operation_name %source ["linalg.matmul"] : {OP}
  transform.yield
}}"""


def fill_of(value: str) -> str:
    return f"%v = transform.get_operand %op[1] : ({OP}) -> {VALUE}\n{value} : {VALUE}"


CASES = {
    "a configuration": (
        f"transform.iree.match.has_no_lowering_config %op : {OP}",
        "linalg.matmul",
        "lowering_config: #iree_cpu.lowering_config<distribution = [4, 2, 0]>, expected none",
    ),
    "an included sequence that includes another": (
        f"transform.include @is_the_init_a_matmul failures(propagate) (%op) : ({OP}) -> ()",
        "linalg.matmul",
        "name of the producer of operand 1 of the producer of operand 2: "
        "tensor.empty, expected linalg.matmul",
    ),
    "one whose failure is suppressed": (
        f"transform.include @is_a_fill failures(suppress) (%op) : ({OP}) -> ()\n"
        f'transform.match.operation_name %op ["a", "b"] : {OP}',
        "linalg.matmul",
        "name of the op: linalg.matmul, expected a or b",
    ),
    "a producer of an argument": (
        f"%p = transform.get_producer_of_operand %op[0] : ({OP}) -> {OP}",
        "linalg.matmul",
        "operand 0: a block argument, expected the result of an op",
    ),
    "a producer of too few operands": (
        f"%p = transform.get_producer_of_operand %op[3] : ({OP}) -> {OP}",
        "linalg.matmul",
        "number of operands of the op: 3, expected more than 3",
    ),
    "a position from the end": (
        f"%v = transform.get_operand %op[-4] : ({OP}) -> {VALUE}",
        "linalg.matmul",
        "number of operands of the op: 3, expected more than 3",
    ),
    "a result that is not there": (
        f"%v = transform.get_result %op[1] : ({OP}) -> {VALUE}",
        "linalg.matmul",
        "number of results of the op: 1, expected more than 1",
    ),
    "a dynamic size with bounds": (
        fill_of("transform.iree.match.dim_bounds %v[0], umin = 16, umax = 128"),
        "linalg.fill",
        "dim 0 of operand 1: dynamic, 16 to 256, a multiple of 8, expected 16 to 128",
    ),
    "one with no lower bound": (
        fill_of("transform.iree.match.dim_bounds %v[0], none, umax = 128"),
        "linalg.fill",
        "dim 0 of operand 1: dynamic, 16 to 256, a multiple of 8, expected at most 128",
    ),
    "a dynamic size that divides": (
        fill_of("transform.iree.match.dim_is_multiple_of %v[0], 16"),
        "linalg.fill",
        "dim 0 of operand 1: dynamic, 16 to 256, a multiple of 8, expected a multiple of 16",
    ),
    "no size": (
        f"%v = transform.get_result %op[0] : ({OP}) -> {VALUE}\n"
        f"transform.iree.match.dim_is_multiple_of %v[0], 16 : {VALUE}",
        "tensor.extract",
        "type of result 0: f32, expected a tensor",
    ),
    "a type that is no tensor": (
        f"%v = transform.get_result %op[0] : ({OP}) -> {VALUE}\n"
        f"transform.iree.match.cast_compatible_type %v = f16 : {VALUE}",
        "tensor.extract",
        "type of result 0: f32, expected f16",
    ),
    "the interpreter's words": (
        f"transform.match.operation_empty %op : {OP}",
        "linalg.matmul",
        "operation is not empty",
    ),
    "ops that a search does not find": (
        f"""%found = transform.structured.match ops{{["arith.negf"]}} in %op : ({OP}) -> {OP}
        %count = transform.num_associations %found : ({OP}) -> !transform.param<i64>
        %one = transform.param.constant 1 : i64 -> !transform.param<i64>
        transform.match.param.cmpi eq %count, %one : !transform.param<i64>""",
        "linalg.matmul",
        "number of arith.negf: 0, expected 1",
    ),
    "attributes that a search does not find": (
        f"""%found = transform.structured.match ops{{["arith.addf"]}}
          attributes{{fastmath = #arith.fastmath<fast>}} in %op : ({OP}) -> {OP}
        %count = transform.num_associations %found : ({OP}) -> !transform.param<i64>
        %one = transform.param.constant 1 : i64 -> !transform.param<i64>
        transform.match.param.cmpi eq %count, %one : !transform.param<i64>""",
        "linalg.matmul",
        "attribute fastmath of arith.addf: #arith.fastmath<none>, expected #arith.fastmath<fast>",
    ),
    "a number of loops": (
        f"""%rank = transform.match.structured failures(propagate) %op : ({OP}) -> !transform.param<i64> {{
        ^bb0(%it: {OP}):
          %rank = transform.match.structured.rank %it : ({OP}) -> !transform.param<i64>
          transform.match.structured.yield %rank : !transform.param<i64>
        }}
        %three = transform.param.constant 3 : i64 -> !transform.param<i64>
        transform.match.param.cmpi lt %rank, %three : !transform.param<i64>""",
        "linalg.matmul",
        "number of loops: 3, expected less than 3",
    ),
}
"""What a matcher asks, the name of the op that it asks it of, the last of that name, and why it fails."""


@pytest.mark.parametrize("name", CASES)
def test_why_a_condition_fails(name):
    body, op_name, expected = CASES[name]
    context = new_context()
    payload = ir.Module.parse(PAYLOAD, context)
    spec = ir.Module.parse(
        f"module attributes {{transform.with_named_sequence}} {{{HELPERS}\n"
        f"transform.named_sequence @m({READONLY}) {{ {body}\ntransform.yield }} }}",
        context,
    )
    before = str(payload)
    ops = [each.operation for each in payload.body.operations[0].regions[0].blocks[0]]
    op = next(each for each in reversed(ops) if each.name == op_name)
    conditions = conditions_of(list(spec.body.operations)[-1].operation)
    failure = first_failure(conditions, op)
    assert failure is not None
    assert failure.condition == conditions[-1], "those before hold"
    assert str(reason(failure)) == expected
    assert str(payload) == before
