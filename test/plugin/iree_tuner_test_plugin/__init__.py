"""An op family from outside: `linalg.copy`, described and matched by its name and its types."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir
from iree.compiler.dialects import preprocessing_transform, transform

from iree_tuner.ops import matching
from iree_tuner.ops.family import ROOT
from iree_tuner.ops.structure import structure
from iree_tuner.ops.workload import Workload


class Copy:
    """`linalg.copy`; asked before the generic family, which would describe it too."""

    name = "copy"
    priority = 50

    def describe(self, op: ir.Operation) -> Workload | None:
        """Describe a static `linalg.copy`; None for anything else."""
        found = structure(op) if op.name == "linalg.copy" else None
        if found is None:
            return None
        return Workload(self.name, "copy", found.loops, found.iterators, found.types, found.maps)

    def locate(self, op: ir.Operation, workload: Workload) -> Mapping[str, ir.Operation]:
        """Only the op."""
        del workload
        return {ROOT: op}

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match the name and both operands' types; the maps of a copy are always the same."""
        if any(each != workload.maps[0] for each in workload.maps):
            raise ValueError("a copy has one map")
        transform.MatchOperationNameOp(handle, ir.ArrayAttr.get([ir.StringAttr.get("linalg.copy")]))
        for number, element in enumerate(matching.element_types(workload)):
            operand = transform.GetOperandOp(transform.AnyValueType.get(), handle, [number])
            wanted = ir.RankedTensorType.get(workload.loops, element)
            preprocessing_transform.MatchCastCompatibleTypesOp(operand, ir.TypeAttr.get(wanted))
        return {ROOT: handle}
