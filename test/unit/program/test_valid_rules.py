"""What rules of ops let operands be makes results that are wanted: every integer is tried."""

from __future__ import annotations

from itertools import product

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import defining_op, new_context
from iree_tuner.program.valid.bodies import number_of
from iree_tuner.program.valid.interval import Interval
from iree_tuner.program.valid.known import Ranges
from iree_tuner.program.valid.transfer import demands_on_operands

FUNCTION = """
func.func @f(%x: index, %y: index) -> index {{
  %n3 = arith.constant -3 : index
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c10 = arith.constant 10 : index
  {body}
  return %r : index
}}
"""
CONDITIONAL = """%a = arith.cmpi {first}, %x, %c0 : index
  %b = arith.cmpi {second}, %x, %c10 : index
  %c = arith.{op} %a, %b : i1
  %n = arith.addi %x, %c10 : index
  %r = arith.select %c, {values} : index"""


def wrapped(predicate: str, values: str) -> str:
    return f"""%a = arith.cmpi {predicate}, %x, %c0 : index
  %n = arith.addi %x, %c10 : index
  %r = arith.select %a, {values} : index"""


def decided(first: str, second: str, op: str, values: str = "%x, %n") -> str:
    return CONDITIONAL.format(first=first, second=second, op=op, values=values)


def quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)


RULES = [
    ("%r = arith.addi %x, %c3 : index", lambda x, _: x + 3),
    ("%r = arith.addi %x, %x : index", lambda x, _: 2 * x),
    ("%r = arith.addi %x, %y : index", lambda x, y: x + y),
    ("%r = arith.subi %x, %c3 : index", lambda x, _: x - 3),
    ("%r = arith.subi %c10, %x : index", lambda x, _: 10 - x),
    ("%r = arith.subi %x, %y : index", lambda x, y: x - y),
    ("%r = arith.muli %x, %c3 : index", lambda x, _: x * 3),
    ("%r = arith.muli %n3, %x : index", lambda x, _: x * -3),
    ("%r = arith.muli %x, %y : index", lambda x, y: x * y),
    ("%r = arith.divsi %x, %c3 : index", lambda x, _: quotient(x, 3)),
    ("%r = arith.divui %x, %c3 : index", lambda x, _: x // 3),
    ("%r = arith.floordivsi %x, %c3 : index", lambda x, _: x // 3),
    ("%r = arith.remsi %x, %c5 : index", lambda x, _: x - 5 * quotient(x, 5)),
    ("%r = arith.remui %x, %c5 : index", lambda x, _: x % 5),
    ("%r = arith.andi %x, %c10 : index", lambda x, _: x & 10),
    ("%r = arith.shrsi %x, %c2 : index", lambda x, _: x >> 2),
    ("%r = arith.shrui %x, %c2 : index", lambda x, _: x >> 2),
    ("%r = arith.shli %x, %c2 : index", lambda x, _: x << 2),
    ("%r = arith.maxsi %x, %c3 : index", lambda x, _: max(x, 3)),
    ("%r = arith.minsi %c5, %x : index", lambda x, _: min(x, 5)),
    (wrapped("slt", "%n, %x"), lambda x, _: x + 10 if x < 0 else x),
    (wrapped("sle", "%n, %x"), lambda x, _: x + 10 if x <= 0 else x),
    (wrapped("sge", "%x, %n"), lambda x, _: x if x >= 0 else x + 10),
    (wrapped("sgt", "%x, %n"), lambda x, _: x if x > 0 else x + 10),
    (wrapped("eq", "%n, %x"), lambda x, _: x + 10 if x == 0 else x),
    (wrapped("ne", "%x, %n"), lambda x, _: x if x != 0 else x + 10),
    (decided("sge", "slt", "andi"), lambda x, _: x if 0 <= x < 10 else x + 10),
    (decided("slt", "sge", "ori", "%n, %x"), lambda x, _: x + 10 if x < 0 or x >= 10 else x),
    (decided("sge", "sgt", "xori"), lambda x, _: x if (x >= 0) != (x > 10) else x + 10),
    (decided("sge", "slt", "cmpi eq,"), lambda x, _: x if (x >= 0) == (x < 10) else x + 10),
    (decided("ne", "ult", "andi"), lambda x, _: x if x != 0 and 0 <= x < 10 else x + 10),
    (decided("sge", "ule", "andi"), lambda x, _: x if 0 <= x <= 10 else x + 10),
    ("%r = affine.apply affine_map<(d) -> (d * 3 + 2)>(%x)", lambda x, _: 3 * x + 2),
    ("%r = affine.apply affine_map<(d) -> (d * -2 + 10)>(%x)", lambda x, _: 10 - 2 * x),
    ("%r = affine.apply affine_map<(d) -> (d floordiv 3)>(%x)", lambda x, _: x // 3),
    ("%r = affine.apply affine_map<(d) -> (d ceildiv 3)>(%x)", lambda x, _: -(-x // 3)),
    ("%r = affine.apply affine_map<(d) -> (d mod 5)>(%x)", lambda x, _: x % 5),
    ("%r = affine.apply affine_map<(d)[s] -> (d + s)>(%x)[%y]", lambda x, y: x + y),
    ("%r = affine.apply affine_map<(d)[s] -> (d + s * 2 - 1)>(%x)[%c3]", lambda x, _: x + 5),
]
WANTED = (Interval(0, 9), Interval(0, 4), Interval(-4, 6), Interval(2, 20))


def allowed(value: ir.Value, wanted: Interval, found: dict[int, Interval]) -> None:
    """Meet the integers of each argument that are demanded so that a value is wanted."""
    op = defining_op(value)
    if op is None:
        number = number_of(value)
        found[number] = found.get(number, Interval()).meet(wanted)
        return
    for operand, interval in demands_on_operands(op, number_of(value), wanted, Ranges()) or []:
        allowed(operand, interval, found)


@pytest.mark.parametrize(("body", "computed"), RULES, ids=[body.rpartition("= ")[2] for body, _ in RULES])
def test_what_is_demanded_is_enough(body, computed):
    with new_context() as context:
        module = ir.Module.parse(FUNCTION.format(body=body), context)
    (block,) = module.body.operations[0].regions[0].blocks
    tried = 0
    for wanted in WANTED:
        within = range(wanted.low, wanted.high + 1)
        found: dict[int, Interval] = {}
        allowed(block.operations[len(block.operations) - 1].operands[0], wanted, found)
        if not found:
            continue  # nothing is known to be enough
        values = [
            [each for each in range(-60, 61) if Interval(each, each).is_within(found[number])]
            if number in found
            else [0]
            for number in range(2)
        ]
        results = {(x, y): computed(x, y) for x, y in product(*values)}
        assert all(each in within for each in results.values()), (wanted, found, results)
        tried += len(results)
    assert tried
