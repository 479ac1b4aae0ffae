"""Scaled contractions: block-scaled operands (as in the MX formats), multiplied and accumulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.ops import dag
from iree_tuner.ops.family import ROOT
from iree_tuner.ops.structure import structure, workload_of
from iree_tuner.ops.workload import Workload

ROLES = ("batch", "m", "n", "k", "kB")


class ScaledContraction:
    """Two operands and their scales; the loop over a block that shares a scale is `kB`.

    There is no match op for it, so that it is matched by structure, together with its producers.
    """

    name = "scaled_contraction"
    priority = 8

    def describe(self, op: ir.Operation) -> Workload | None:
        """Describe a static scaled contraction; None for anything else."""
        if not op.name.startswith("linalg.") or not iree_codegen.isa_scaled_contraction_op(op):
            return None
        found = structure(op)
        if found is None:
            return None
        dimensions = iree_codegen.infer_scaled_contraction_dimensions(op)
        roles = [(role, tuple(getattr(dimensions, role))) for role in ROLES]
        workload = workload_of(self.name, "scaled_matmul", found, roles)
        return workload and replace(workload, dag=dag.write(dag.collect(op), {ROOT: op}))

    def locate(self, op: ir.Operation, workload: Workload) -> Mapping[str, ir.Operation]:
        """Only the root op: its producers and consumers are tiled along with it."""
        del workload
        return {ROOT: op}

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match the op and its producers; the visited op is the root."""
        return dag.match(workload.dag, handle)
