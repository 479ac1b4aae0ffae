"""The first difference between two DAGs: there is one exactly where the compiler finds them different."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.spec.near.difference import compare_dags, first_difference
from iree_tuner.spec.near.reasons import conditions_of, first_failure, last_of

ELEMENTWISE = """
  %init = tensor.empty() : tensor<64x64xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
    ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%init : tensor<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %difference = arith.subf %x, %y : f32
    linalg.yield %difference : f32
  } -> tensor<64x64xf32>"""
CHAIN = """
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %fill = linalg.fill ins(%one : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %product = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64x64xf32>)
    -> tensor<64x64xf32>"""
FILL = "linalg.fill ins(%one : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>"
TWICE = """%one = math.absf %x : f32
    %two = math.absf %x : f32
    %more = arith.divf %{0}, %y : f32
    linalg.yield"""
INNER = """%less = arith.cmpf olt, %x, %y : f32
    %chosen = scf.if %less -> (f32) {{
      scf.yield %{0} : f32
    }} else {{
      scf.yield %{1} : f32
    }}
    linalg.yield"""

DAGS = {
    "elementwise": ELEMENTWISE,
    "transposed": ELEMENTWISE.replace("(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1, d0)", 1),
    "a reduction": ELEMENTWISE.replace('"parallel", "parallel"', '"parallel", "reduction"'),
    "one input for two": ELEMENTWISE.replace("ins(%a, %b", "ins(%a, %a"),
    "inputs the other way": ELEMENTWISE.replace("ins(%a, %b", "ins(%b, %a"),
    "operands the other way": ELEMENTWISE.replace("subf %x, %y", "subf %y, %x"),
    "another op": ELEMENTWISE.replace("subf", "mulf"),
    "two equal ops": ELEMENTWISE.replace("linalg.yield", TWICE.format("one")),
    "the second of two equal ops": ELEMENTWISE.replace("linalg.yield", TWICE.format("two")),
    "a region": ELEMENTWISE.replace("linalg.yield", INNER.format("x", "y")),
    "a region with another branch": ELEMENTWISE.replace("linalg.yield", INNER.format("y", "x")),
    "an op more": ELEMENTWISE.replace("linalg.yield", "%n = arith.negf %difference : f32\n linalg.yield"),
    "fast math": ELEMENTWISE.replace("%y : f32", "%y fastmath<fast> : f32"),
    "an attribute more": ELEMENTWISE.replace('"parallel"]}', '"parallel"], mine}'),
    "other sizes": ELEMENTWISE.replace("64x64", "64x32"),
    "dynamic sizes": ELEMENTWISE.replace("tensor.empty()", "tensor.empty(%n, %n)").replace("64x64", "?x?"),
    "other types": ELEMENTWISE.replace("f32", "f16"),
    "unary": ELEMENTWISE.replace("affine_map<(d0, d1) -> (d0, d1)>, ", "", 1)
    .replace("ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>)", "ins(%a : tensor<64x64xf32>)")
    .replace("%x: f32, %y: f32", "%x: f32")
    .replace("subf %x, %y", "subf %x, %x"),
    "vectors": ELEMENTWISE.replace("(d0, d1)", "(d0)")
    .replace('"parallel", "parallel"', '"parallel"')
    .replace("64x64", "64"),
    "name only": ELEMENTWISE.replace('"parallel"]}', '"parallel"], match.operation_name_only}'),
    "chain": CHAIN,
    "another constant": CHAIN.replace("1.0", "2.0"),
    "a splat for a fill": CHAIN.replace(FILL, "tensor.splat %one : tensor<64x64xf32>"),
    "an input for a fill": CHAIN.replace("outs(%fill", "outs(%a"),
    "an input for a producer": CHAIN.replace("ins(%a, %b", "ins(%fill, %b"),
    "two fills": CHAIN.replace("%product", f"%again = {FILL}\n  %product")
    .replace("ins(%a, %b", "ins(%fill, %again"),
    "a fill twice": CHAIN.replace("ins(%a, %b", "ins(%fill, %fill"),
    "an input between": CHAIN.replace("outs(%empty", "outs(%b"),
}  # fmt: skip
"""What a function of %a, %b and %n, which is an index, does."""


@pytest.fixture(scope="module")
def dags():
    """For each DAG its last op in a function, and the conditions of a matcher for it."""
    context = new_context()
    context.allow_unregistered_dialects = True
    found = {}
    for name, body in DAGS.items():
        shape = body.partition("tensor.empty(")[2].partition("tensor<")[2].partition(">")[0]
        arguments = ", ".join(
            f"%{each}: tensor<{shape}>" for each in "ab" if f"%{each}," in body or f"%{each} :" in body
        )
        arguments += ", %n: index" if "%n," in body else ""
        function = ir.Module.parse(f"func.func @f({arguments}) {{ {body}\n  return }}", context)
        module = ir.Module.parse(
            f"""module attributes {{transform.with_named_sequence}} {{
              transform.named_sequence @match(%op: !transform.any_op {{transform.readonly}}) {{
                %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{
                ^bb0({arguments}): {body}
                }} : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
                transform.yield
              }}
            }}""",
            context,
        )
        conditions = conditions_of(list(module.body.operations)[-1].operation)
        assert len(conditions) == 1
        last = list(function.body.operations[0].regions[0].blocks[0])[-2].operation
        found[name] = last, conditions, (function, module)
    return found


@pytest.mark.parametrize("asked", DAGS)
def test_there_is_a_difference_where_the_compiler_finds_one(dags, asked):
    conditions = dags[asked][1]
    for name, (op, _, _) in dags.items():
        said = first_failure(conditions, op)
        found = first_difference(compare_dags(last_of(conditions[0].op), op))
        assert (found is None) == (said is None), f"{name}: {said}; {found}"
