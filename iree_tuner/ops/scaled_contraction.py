"""Scaled contractions: block-scaled operands (as in the MX formats), multiplied and accumulated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.ops import dag
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.family import ROOT, OpFamily
from iree_tuner.ops.structure import structure, workload_of
from iree_tuner.ops.traits import MatchOp, widest_factor
from iree_tuner.ops.workload import Workload

ROLES = ("batch", "m", "n", "k", "kB")


class ScaledContraction(OpFamily):
    """Two operands and their scales; the loop over a block that shares a scale is `kB`.

    There is no match op for it, so that it is matched by structure, together with its producers.
    """

    name = "scaled_contraction"
    priority = 8
    match_ops = (
        MatchOp("scaled_contraction", ROLES, operands=("lhs", "rhs", "lhs_scale", "rhs_scale", "output")),
    )

    def describe(self, op: ir.Operation) -> Workload | None:
        """Describe a static scaled contraction; None for anything else."""
        roles, found = self.roles(op), structure(op)
        if roles is None or found is None:
            return None
        workload = workload_of(self.name, "scaled_matmul", found, list(roles.items()))
        return workload and replace(workload, dag=dag.write(dag.collect(op), {ROOT: op}))

    def roles(self, op: ir.Operation) -> Mapping[str, tuple[int, ...]] | None:
        """The part that each loop plays; None for an op that is no scaled contraction."""
        if not op.name.startswith("linalg.") or not iree_codegen.isa_scaled_contraction_op(op):
            return None
        dimensions = iree_codegen.infer_scaled_contraction_dimensions(op)
        return {role: tuple(getattr(dimensions, role)) for role in ROLES}

    def locate(self, op: ir.Operation, workload: Workload) -> Mapping[str, ir.Operation]:
        """Only the root op: its producers and consumers are tiled along with it."""
        del workload
        return {ROOT: op}

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match the op and its producers; the visited op is the root."""
        return dag.match(workload.dag, handle)

    def flops(self, workload: Workload) -> float:
        """A multiply-add for each iteration."""
        return 2.0 * math.prod(workload.loops)

    def computed_in(self, workload: Workload) -> ElementType | None:
        """The wider type of both operands."""
        return widest_factor(workload)
