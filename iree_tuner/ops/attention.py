"""Attention, as `iree_linalg_ext.online_attention`: what every attention is when tuning specs run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, preprocessing_transform

from iree_tuner.ops import matching
from iree_tuner.ops.family import ROOT
from iree_tuner.ops.structure import indexing_maps, structure, workload_of
from iree_tuner.ops.workload import Workload

ROLES = ("batch", "m", "n", "k1", "k2")
MAY_VARY = ("batch", "m")
_OUTPUT = 4
_UNMASKED_OPERANDS = 7


class Attention:
    """Unmasked online attention: query, key, value, scale, and the running output, maximum and sum.

    The compiler's match op refuses masks, so that masked attention is left to the generic family.
    It does not look into the region that may change the scores, nor does the workload.
    """

    name = "attention"
    priority = 5

    def describe(self, op: ir.Operation) -> Workload | None:
        """Describe an online attention without a mask whose batch and m alone may be dynamic; else None."""
        roles, found = self.roles(op), structure(op, dynamic=True)
        if roles is None or found is None:
            return None
        return workload_of(self.name, "attention", found, list(roles.items()), may_vary=MAY_VARY)

    def roles(self, op: ir.Operation) -> Mapping[str, tuple[int, ...]] | None:
        """The part that each loop plays; None for an op that is no unmasked online attention."""
        if op.name != "iree_linalg_ext.online_attention" or len(op.operands) != _UNMASKED_OPERANDS:
            return None
        query, key, value, _, output, _, _ = indexing_maps(op)
        detail = iree_codegen.get_attention_op_detail(query, key, value, output)
        return {role: tuple(getattr(detail, f"{role}_dims")) for role in ROLES}

    def locate(self, op: ir.Operation, workload: Workload) -> Mapping[str, ir.Operation]:
        """Only the root op: its producers and consumers are tiled along with it."""
        del workload
        return {ROOT: op}

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match types, maps, and the sizes of every role; those of dynamic loops by their bounds."""
        maps = [ir.AffineMapAttr.get(each) for each in matching.indexing_maps(workload)]
        arguments: list[Any] = [
            *[matching.sizes_param()] * len(ROLES),
            handle,
            *map(ir.TypeAttr.get, matching.element_types(workload)),
            ir.ArrayAttr.get(maps),
        ]
        found = preprocessing_transform.MatchOnlineAttentionOp(*arguments)
        for role in ROLES:
            matching.require_role(getattr(found, f"{role}_dims"), workload, role)
        matching.require_bounds(handle, workload, _OUTPUT)
        return {ROOT: handle}
