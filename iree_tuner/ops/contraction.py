"""Contractions: matmul and its kin, as named ops or as generics with any indexing maps."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir
from iree.compiler.dialects import linalg, preprocessing_transform

from iree_tuner.ops import matching
from iree_tuner.ops.family import ROOT
from iree_tuner.ops.structure import inputs_of, multiplies_and_accumulates, structure, workload_of
from iree_tuner.ops.workload import Workload

ROLES = ("batch", "m", "n", "k")


class Contraction:
    """Two operands multiplied and accumulated; each loop is one of `batch`, `m`, `n`, `k`.

    The matcher does not look into the body beyond "multiply and accumulate", nor does the workload.
    """

    name = "contraction"
    priority = 10

    def describe(self, op: ir.Operation) -> Workload | None:
        """Describe a static contraction of two operands; None for anything else."""
        if not linalg.isa_contraction_op(op) or len(inputs_of(op)) != 2:
            return None
        found = structure(op)
        dimensions = linalg.infer_contraction_dimensions(op)
        if found is None or dimensions is None or not multiplies_and_accumulates(op):
            return None
        roles = [(role, tuple(getattr(dimensions, role))) for role in ROLES]
        return workload_of(self.name, _called(dict(roles)), found, roles)

    def locate(self, op: ir.Operation, workload: Workload) -> Mapping[str, ir.Operation]:
        """Only the root op: its producers and consumers are tiled along with it."""
        del workload
        return {ROOT: op}

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match types, maps, and the sizes of every role."""
        lhs, rhs, output = matching.element_types(workload)
        found = preprocessing_transform.MatchContractionOp(
            handle, lhs, rhs, output, matching.indexing_maps(workload)
        )
        for role, sizes in zip(ROLES, found, strict=True):
            matching.require_sizes(sizes, workload.sizes(role))
        return {ROOT: handle}


def _called(roles: Mapping[str, tuple[int, ...]]) -> str:
    kinds = {(True, True): "matmul", (True, False): "matvec", (False, True): "vecmat", (False, False): "dot"}
    kind = kinds[bool(roles["m"]), bool(roles["n"])]
    return f"batch_{kind}" if roles["batch"] else kind
