"""Put the same code at another address.

The time of a loop depends on its place in cache lines and fetch blocks. The place depends on the length of
names in front of it in the object file: in a program, on everything that is linked before it.
`benchmarks/code_placement.py` shows by how much. So a comparison builds its executables at several places, by
giving the dispatch's executable a longer name.
"""

from __future__ import annotations

from iree.compiler import ir

STEP_BYTES = 16
"""Functions start at multiples of this on the CPUs that LLVM compiles for here."""


def place(module: ir.Module, placement: int) -> None:
    """Lengthen the name of a harness's executable by `placement` steps, in place; 0 changes nothing."""
    if placement == 0:
        return
    (executable,) = (op.operation for op in module.body.operations if op.operation.name == "hal.executable")
    old = ir.StringAttr(executable.attributes["sym_name"]).value
    new = old + "_" * (placement * STEP_BYTES)
    executable.attributes["sym_name"] = ir.StringAttr.get(new)

    def rename(op: ir.Operation) -> ir.WalkResult:
        for name in list(op.attributes):
            value = op.attributes[name]
            if isinstance(value, ir.FlatSymbolRefAttr) and value.value == old:
                op.attributes[name] = ir.FlatSymbolRefAttr.get(new)
            elif isinstance(value, ir.SymbolRefAttr) and value.value[0] == old:
                op.attributes[name] = ir.SymbolRefAttr.get([new, *value.value[1:]])
        return ir.WalkResult.ADVANCE

    module.operation.walk(rename)
