"""Scaled contractions: block-scaled operands (as in the MX formats), multiplied and accumulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.ops import dag
from iree_tuner.ops.family import ROOT, MatchOp, ProductFamily
from iree_tuner.ops.structure import structure, workload_of
from iree_tuner.ops.workload import Workload

ROLES = ("batch", "m", "n", "k", "kB")


class ScaledContraction(ProductFamily):
    """Two operands and their scales; the loop over a block that shares a scale is `kB`.

    No match op takes it, so it is matched by structure, together with its producers.
    """

    name = "scaled_contraction"
    priority = 8
    match_ops = (
        MatchOp("scaled_contraction", ROLES, operands=("lhs", "rhs", "lhs_scale", "rhs_scale", "output")),
    )

    def describe(self, op: ir.Operation) -> Workload | None:
        """A static scaled contraction; else None."""
        roles, found = self.roles(op), structure(op)
        if roles is None or found is None:
            return None
        workload = workload_of(self.name, "scaled_matmul", found, list(roles.items()))
        return workload and replace(workload, dag=dag.write(dag.collect(op), {ROOT: op}))

    def roles(self, op: ir.Operation) -> Mapping[str, tuple[int, ...]] | None:
        if not op.name.startswith("linalg.") or not iree_codegen.isa_scaled_contraction_op(op):
            return None
        dimensions = iree_codegen.infer_scaled_contraction_dimensions(op)
        return {role: tuple(getattr(dimensions, role)) for role in ROLES}

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match the op and its producers; the visited op is the root."""
        return dag.match(workload.dag, handle)
