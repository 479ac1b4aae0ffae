"""Contractions: matmul, batch matmul, matvec and others, as named ops or generics with any indexing maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import preprocessing_transform

from iree_tuner.compiler import linalg
from iree_tuner.ops import matching
from iree_tuner.ops.family import ROOT, MatchOp, ProductFamily
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.scalar_body import multiplying
from iree_tuner.ops.structure import initial_parameters, inputs_of, workload_of
from iree_tuner.ops.workload import Workload

ROLES = ("batch", "m", "n", "k")
MAY_VARY = ("batch", "m")
_OUTPUT = 2
_PACKED: dict[tuple[tuple[int | None, ...], ...], str] = {
    ((0, 2, 3, 5), (1, 2, 4, 5), (0, 1, 3, 4)): "mmt4d",
    ((0, 1, 3, 4, 6), (0, 2, 3, 5, 6), (0, 1, 2, 4, 5)): "batch_mmt4d",
}
"""Contractions of operands that data tiling has packed, by the loops that walk lhs, rhs and result."""


class Contraction(ProductFamily):
    """Two operands multiplied and accumulated; each loop is one of `batch`, `m`, `n`, `k`.

    The matcher and the workload do not look into the body beyond "multiply and accumulate".
    """

    name = "contraction"
    priority = 10
    match_ops = (MatchOp("contraction", ROLES, operands=("lhs", "rhs", "output")),)
    turns_operands = True

    def describe(self, op: ir.Operation) -> Workload | None:
        """A contraction of two operands whose n and k are static; else None."""
        if (roles := self.roles(op)) is None or (found := multiplying(op)) is None:
            return None
        called = packed_name(found.maps) or _called(roles)
        return workload_of(self.name, called, found, list(roles.items()), initial_parameters(op), MAY_VARY)

    def roles(self, op: ir.Operation) -> Mapping[str, tuple[int, ...]] | None:
        if not linalg.isa_contraction_op(op) or len(inputs_of(op)) != 2:
            return None
        dimensions = linalg.infer_contraction_dimensions(op)
        return dimensions and {role: tuple(getattr(dimensions, role)) for role in ROLES}

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match types, maps, and the sizes of every role; those of dynamic loops by their bounds."""
        lhs, rhs, output = matching.element_types(workload)
        found = preprocessing_transform.MatchContractionOp(
            handle, lhs, rhs, output, matching.indexing_maps(workload)
        )
        for role, sizes in zip(ROLES, found, strict=True):
            matching.require_role(sizes, workload, role)
        matching.require_bounds(handle, workload, _OUTPUT)
        return {ROOT: handle}


def is_contraction(workload: Workload) -> bool:
    """Whether it has the loops of a contraction, so that pipelines for contractions take it."""
    return workload.plays(ROLES)


def packed_name(maps: Sequence[IndexingMap]) -> str | None:
    """The name of a contraction of packed operands; None for any other."""
    return _PACKED.get(tuple(each.dimensions for each in maps))


def _called(roles: Mapping[str, tuple[int, ...]]) -> str:
    kinds = {(True, True): "matmul", (True, False): "matvec", (False, True): "vecmat", (False, False): "dot"}
    kind = kinds[bool(roles["m"]), bool(roles["n"])]
    return f"batch_{kind}" if roles["batch"] else kind
