"""The computation of ops for each element: bodies by the names of their ops, read from IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from iree.compiler import ir

from iree_tuner.compiler.context import new_context

LABEL = "iree_tuner.label"
"""The attribute that carries an op's label in a DAG's text; it is not matched."""

_CASTS = frozenset({
    "extf", "extsi", "extui", "truncf", "trunci", "sitofp", "uitofp", "fptosi", "fptoui", "index_cast",
})  # fmt: skip
_MULTIPLIES = frozenset({"arith.mulf", "arith.muli", "arith.andi", "complex.mul"})
_ADDS = frozenset({"arith.addf", "arith.addi", "arith.ori", "complex.add"})
_INDICES = ("linalg.index", "iree_linalg_ext.index")


@dataclass(frozen=True)
class ScalarBody:
    """An op's body.

    Attributes:
        ops: names of the ops in it, in their order, without the terminator.
    """

    ops: tuple[str, ...]

    @staticmethod
    def of(op: ir.Operation) -> ScalarBody | None:
        """The body of an op; None for one that has no region, or several."""
        if len(op.regions) != 1:
            return None
        return ScalarBody(tuple(view.operation.name for view in op.regions[0].blocks[0].operations)[:-1])

    @property
    def arithmetic(self) -> tuple[tuple[str, str], ...]:
        """Dialects and short names of the ops that compute: ops of `math` and `arith`."""
        parts = (name.partition(".") for name in self.ops)
        return tuple((dialect, short) for dialect, _, short in parts if dialect in ("math", "arith"))

    @property
    def products_and_sums(self) -> tuple[int, int] | None:
        """How many of each there are; None if there is anything else except casts."""
        work = [name for name in self.ops if name.removeprefix("arith.") not in _CASTS]
        products, sums = (sum(name in kinds for name in work) for kinds in (_MULTIPLIES, _ADDS))
        return (products, sums) if products + sums == len(work) else None

    @property
    def multiplies_and_accumulates(self) -> bool:
        """Whether it is one product, accumulated, with only casts about it."""
        work = [name for name in self.ops if name.removeprefix("arith.") not in _CASTS]
        return len(work) == 2 and work[0] in _MULTIPLIES and work[1] in _ADDS


@dataclass(frozen=True)
class DagFacts:
    """The questions about a workload's DAG, other than matching it.

    Attributes:
        labels: of the ops that have one, producers first.
        bodies: of the generic ops among them.
        on_buffers: whether it is on memory, as copies are when tuning specs run.
        uses_indices: whether a body asks where it is.
        results: how many results each op that has a label has.
    """

    labels: tuple[str, ...] = ()
    bodies: tuple[tuple[str, ScalarBody], ...] = ()
    on_buffers: bool = False
    uses_indices: bool = False
    results: tuple[tuple[str, int], ...] = ()

    def body(self, label: str) -> ScalarBody | None:
        """The body of the generic op with that label."""
        return dict(self.bodies).get(label)


@cache
def facts_of(dag: str) -> DagFacts:
    """Read a DAG, as a workload has it; empty for a workload that is matched without one."""
    if not dag:
        return DagFacts()
    # IR as text: workloads are stored with their DAG
    module = ir.Module.parse(dag, new_context())
    labelled: dict[str, ir.Operation] = {}
    names: set[str] = set()
    on_buffers = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal on_buffers
        names.add(op.name)
        inside = [argument for region in op.regions for block in region for argument in block.arguments]
        on_buffers |= any(isinstance(value.type, ir.MemRefType) for value in (*op.results, *inside))
        if LABEL in op.attributes:
            labelled[ir.StringAttr(op.attributes[LABEL]).value] = op
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    bodies: Mapping[str, ScalarBody | None] = {
        label: ScalarBody.of(op) for label, op in labelled.items() if op.name == "linalg.generic"
    }
    found = tuple((label, body) for label, body in bodies.items() if body is not None)
    results = tuple((label, len(op.results)) for label, op in labelled.items())
    return DagFacts(tuple(labelled), found, on_buffers, not names.isdisjoint(_INDICES), results)
