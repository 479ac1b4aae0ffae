"""The computation of ops for each element: bodies by the names of their ops, read from IR.

And dispatches in which a function limits or amplifies sums, so that the size of results does not bound their
errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from iree.compiler import ir

from iree_tuner.compiler.context import defining_op, ops_in, reachable, stored_context, users_of, walk
from iree_tuner.ops.structure import iterators, structure
from iree_tuner.ops.workload import Workload

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
    """An op's body: the names of the ops in it, in their order, without the terminator."""

    ops: tuple[str, ...]

    @staticmethod
    def of(op: ir.Operation) -> ScalarBody | None:
        """The body of an op; None if it has no region, or several."""
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
        """The number of each; None if the body has any other op except casts."""
        products, sums = (sum(name in kinds for name in self._work) for kinds in (_MULTIPLIES, _ADDS))
        return (products, sums) if products + sums == len(self._work) else None

    @property
    def multiplies_and_accumulates(self) -> bool:
        """Whether it is one product, accumulated, with only casts around it."""
        return len(self._work) == 2 and self._work[0] in _MULTIPLIES and self._work[1] in _ADDS

    @property
    def _work(self) -> list[str]:
        return [name for name in self.ops if name.removeprefix("arith.") not in _CASTS]


def multiplying(op: ir.Operation) -> Workload | None:
    """The structure of an op that multiplies and accumulates; None for any other op."""
    body = ScalarBody.of(op)
    return structure(op, dynamic=True) if body is not None and body.multiplies_and_accumulates else None


@dataclass(frozen=True)
class DagFacts:
    """Facts about a workload's DAG, other than its match.

    `labels` has producers first; `bodies` are those of its generic ops; `results` counts each labeled op's.
    It is `on_buffers` if it computes in memory, as copies do when tuning specs run.
    """

    labels: tuple[str, ...] = ()
    bodies: tuple[tuple[str, ScalarBody], ...] = ()
    on_buffers: bool = False
    uses_indices: bool = False
    results: tuple[tuple[str, int], ...] = ()

    def body(self, label: str) -> ScalarBody | None:
        return dict(self.bodies).get(label)


@cache
def facts_of(dag: str) -> DagFacts:
    """Read a DAG, as a workload has it; empty for a workload that is matched without one."""
    if not dag:
        return DagFacts()
    # IR as text: workloads are stored with their DAG
    module = ir.Module.parse(dag, stored_context())
    labelled: dict[str, ir.Operation] = {}
    names: set[str] = set()
    on_buffers = False
    for op in walk(module.operation):
        names.add(op.name)
        inside = [argument for region in op.regions for block in region for argument in block.arguments]
        on_buffers |= any(isinstance(value.type, ir.MemRefType) for value in (*op.results, *inside))
        if LABEL in op.attributes:
            labelled[ir.StringAttr(op.attributes[LABEL]).value] = op
    generics = ((label, ScalarBody.of(op)) for label, op in labelled.items() if op.name == "linalg.generic")
    found = tuple((label, body) for label, body in generics if body is not None)
    results = tuple((label, len(op.results)) for label, op in labelled.items())
    return DagFacts(tuple(labelled), found, on_buffers, not names.isdisjoint(_INDICES), results)


_SCALING = frozenset({"math.absf", "math.fma"})
_LIMITING = ("math.", "arith.min", "arith.fpto", "arith.cmpf")
_ADD = "arith.addf"


def bounds_sums(function: ir.Operation) -> bool:
    """Whether a dispatch's function sums floats, and something that follows may limit or amplify them."""
    sums: list[ir.Operation] = []
    for op in walk(function):
        body = ScalarBody.of(op) if op.name.startswith("linalg.") else None
        if body is not None and "reduction" in iterators(op) and body.products_and_sums and _ADD in body.ops:
            sums.append(op)
    return any(map(_limits, reachable([user for each in sums for user in users_of(each)], users_of)))


def _limits(op: ir.Operation) -> bool:
    if op.name == "linalg.softmax":
        return True
    body = ScalarBody.of(op) if op.name.startswith("linalg.") else None
    if body is None:
        return False
    divisors = [each.operands[1] for each in ops_in(op.regions[0].blocks[0]) if each.name == "arith.divf"]
    divides = any(defining_op(each, "arith.constant") is None for each in divisors)
    return divides or any(name.startswith(_LIMITING) for name in {*body.ops} - _SCALING)
