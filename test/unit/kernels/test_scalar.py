"""Each scalar op means what MLIR says that it means."""

import math

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.kernels.expression import evaluate, number

OPS = {
    "arith.addf %a, %b": 7.0,
    "arith.subf %a, %b": 3.0,
    "arith.mulf %a, %b": 10.0,
    "arith.divf %a, %b": 2.5,
    "math.powf %a, %b": 25.0,
    "math.sqrt %b": math.sqrt(2.0),
    "arith.negf %a": -5.0,
}


@pytest.mark.parametrize("text", OPS)
def test_of_numbers_it_is_a_number(text):
    with new_context(), ir.Location.unknown():
        module = ir.Module.parse(f"func.func @f(%a: f32, %b: f32) {{ %r = {text} : f32 return }}")
        op = module.body.operations[0].regions[0].blocks[0].operations[0].operation
        operands = [number({0: 5.0, 1: 2.0}[ir.BlockArgument(each).arg_number]) for each in op.operands]
        found = evaluate(op, operands)
    assert found is not None
    assert found.constant == pytest.approx(OPS[text])
