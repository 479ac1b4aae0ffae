"""What bodies say, of ops and of the DAGs that workloads hold."""

from __future__ import annotations

import pytest
from iree.compiler import ir
from op_samples import matmul, softmax, workloads

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import parse_module
from iree_tuner.ops.check import all_ops
from iree_tuner.ops.scalar_body import DagFacts, ScalarBody, facts_of

COPY = """
func.func @copy(%from: memref<4x8xf32>, %to: memref<4x8xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%from : memref<4x8xf32>) outs(%to : memref<4x8xf32>)
      attrs = {iree_tuner.label = "root"} {
  ^bb0(%in: f32, %out: f32):
    %at = linalg.index 1 : index
    linalg.yield %in : f32
  }
  return
}
"""


def test_a_matmul_multiplies_and_accumulates() -> None:
    module = parse_module(matmul(lhs="f16", rhs="f16", out="f32"), new_context())
    (op,) = [each for each in all_ops(module) if each.name.startswith("linalg.") and len(each.operands) == 3]
    body = ScalarBody.of(op)
    assert body is not None
    assert body.multiplies_and_accumulates
    assert ("arith", "extf") in body.arithmetic


@pytest.mark.parametrize(
    "ops", [(), ("arith.mulf",), ("arith.addf", "arith.mulf"), ("arith.mulf", "arith.addf", "math.exp")]
)
def test_other_bodies_do_not(ops: tuple[str, ...]) -> None:
    assert not ScalarBody(ops).multiplies_and_accumulates


def test_an_op_without_a_region_has_no_body() -> None:
    with new_context(), ir.Location.unknown():
        module = ir.Module.parse("%0 = arith.constant 1 : i32")
        assert ScalarBody.of(module.body.operations[0].operation) is None


def test_a_dag_has_the_bodies_of_its_labelled_ops_producers_first() -> None:
    (workload,) = [each for each in workloads(softmax()) if each.companions][:1]
    found = facts_of(workload.dag)
    assert set(found.labels) == {"root", *(each.label for each in workload.companions)}
    names = [short for label in found.labels for _, short in found.body(label).arithmetic]
    assert {"exp", "divf"} <= set(names)
    assert names.index("exp") < names.index("divf")
    assert (found.on_buffers, found.uses_indices) == (False, False)


def test_a_copy_of_buffers_is_on_memory_and_may_ask_where_it_is() -> None:
    assert facts_of(COPY) == DagFacts(
        ("root",), (("root", ScalarBody(("linalg.index",))),), True, True, (("root", 0),)
    )


def test_a_workload_without_a_dag_says_nothing() -> None:
    assert facts_of("") == DagFacts()
    assert facts_of("").body("root") is None
