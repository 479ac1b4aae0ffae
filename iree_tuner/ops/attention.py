"""Attention, as `iree_linalg_ext.online_attention`: what every attention is when tuning specs run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, preprocessing_transform

from iree_tuner.ops import matching
from iree_tuner.ops.family import ROOT, Chain, MatchOp, ProductFamily
from iree_tuner.ops.structure import indexing_maps, structure, workload_of
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.ops.workload import Workload

ROLES = ("batch", "m", "n", "k1", "k2")
MAY_VARY = ("batch", "m")
_OUTPUT = 4
_VALUES = 2
_DIALECT = "iree_linalg_ext."
_INPUTS = ("query", "key", "value", "scale")
_WHOLE = MatchOp("attention", ROLES, operands=(*_INPUTS, "output"), op=f"{_DIALECT}attention")
_ONLINE = MatchOp(
    "online_attention", ROLES, operands=(*_INPUTS, "output", "max", "sum"), op=f"{_DIALECT}online_attention",
    operand_count=7,
)  # fmt: skip


class Attention(ProductFamily):
    """Unmasked online attention: query, key, value, scale, and the running output, maximum and sum.

    The compiler's match op refuses masks, so that masked attention is left to the generic family.
    It and the workload do not look into the region that may change the scores.
    """

    name = "attention"
    priority = 5
    match_ops = (_WHOLE, _ONLINE)
    turns_operands = True

    def describe(self, op: ir.Operation) -> Workload | None:
        """An online attention without a mask, in which only batch and m may be dynamic; else None."""
        roles, found = self.roles(op), structure(op, dynamic=True)
        if roles is None or found is None:
            return None
        return workload_of(self.name, self.name, found, list(roles.items()), may_vary=MAY_VARY)

    def roles(self, op: ir.Operation) -> Mapping[str, tuple[int, ...]] | None:
        if op.name != _ONLINE.op or len(op.operands) != _ONLINE.operand_count:
            return None
        query, key, value, _, output, _, _ = indexing_maps(op)
        detail = iree_codegen.get_attention_op_detail(query, key, value, output)
        return {role: tuple(getattr(detail, f"{role}_dims")) for role in ROLES}

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

    def flops(self, workload: Workload) -> float:
        """Those of both products; exponentials are not counted."""
        sizes = {role: float(math.prod(workload.sizes(role))) for role in ROLES}
        return 2.0 * sizes["batch"] * sizes["m"] * sizes["k2"] * (sizes["k1"] + sizes["n"])

    def sums(self, workload: Workload) -> Tolerance:
        return attention_tolerance(workload)

    def chain(self, workload: Workload) -> Chain | None:
        inner, keys, columns = (workload.role(role) for role in ("k1", "k2", "n"))
        return Chain(workload.role("batch", "m"), inner, keys, columns)


@dataclass(frozen=True)
class AttentionLoops:
    """Loops of an online attention, masked or not, by the maps of query, key and value."""

    k1: tuple[int, ...]  # summed up in scores
    k2: tuple[int, ...]  # of keys
    n: tuple[int, ...]  # of a value

    @classmethod
    def of(cls, workload: Workload) -> AttentionLoops:
        query, key, value = (
            {loop for loop in each.dimensions if loop is not None} for each in workload.maps[:3]
        )
        return cls(tuple((query & key) - value), tuple((key & value) - query), tuple(value - key))


def attention_tolerance(workload: Workload) -> Tolerance:
    """Probabilities are rounded to the type of the values that they are multiplied by."""
    keys = math.prod(workload.loops[each] for each in AttentionLoops.of(workload).k2)
    kinds = tuple(map(str, workload.types))
    return Tolerance(kinds[-1], workload.reduction_length, kinds[_VALUES], keys, softmax=True)


def is_attention(workload: Workload) -> bool:
    """Whether it has the loops of attention, so that pipelines for attention take it."""
    return workload.plays(ROLES)
