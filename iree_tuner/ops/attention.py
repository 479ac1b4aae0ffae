"""Attention, as `iree_linalg_ext.online_attention`: what every attention is when tuning specs run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, preprocessing_transform

from iree_tuner.ops import matching
from iree_tuner.ops.family import ROOT
from iree_tuner.ops.structure import structure, workload_of
from iree_tuner.ops.workload import Workload

ROLES = ("batch", "m", "n", "k1", "k2")
_UNMASKED_OPERANDS = 7


class Attention:
    """Unmasked online attention: query, key, value, scale, and the running output, maximum and sum.

    The compiler's match op refuses masks, so that masked attention is left to the generic family.
    It does not look into the region that may change the scores, nor does the workload.
    """

    name = "attention"
    priority = 5

    def describe(self, op: ir.Operation) -> Workload | None:
        """Describe a static online attention without a mask; None for anything else."""
        if op.name != "iree_linalg_ext.online_attention" or len(op.operands) != _UNMASKED_OPERANDS:
            return None
        found = structure(op)
        if found is None:
            return None
        query, key, value, _, output, _, _ = found.affine_maps
        detail = iree_codegen.get_attention_op_detail(query, key, value, output)
        roles = [(role, tuple(getattr(detail, f"{role}_dims"))) for role in ROLES]
        return workload_of(self.name, "attention", found, roles)

    def locate(self, op: ir.Operation, workload: Workload) -> Mapping[str, ir.Operation]:
        """Only the root op: its producers and consumers are tiled along with it."""
        del workload
        return {ROOT: op}

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match types, maps, and the sizes of every role."""
        maps = [ir.AffineMapAttr.get(each) for each in matching.indexing_maps(workload)]
        arguments: list[Any] = [
            *[matching.sizes_param()] * len(ROLES),
            handle,
            *map(ir.TypeAttr.get, matching.element_types(workload)),
            ir.ArrayAttr.get(maps),
        ]
        found = preprocessing_transform.MatchOnlineAttentionOp(*arguments)
        for role in ROLES:
            matching.require_sizes(getattr(found, f"{role}_dims"), workload.sizes(role))
        return {ROOT: handle}
