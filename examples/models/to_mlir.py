"""StableHLO with its weights in a parameter file: what IREE takes best for a whole model.

The weights, arguments as JAX lowers them, become globals of the program whose values are parameters. The
program stays small and readable, the compiler may still pack the weights when the program is loaded, and the
compiled program takes them from the file that it is run with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import iree.runtime as rt
from iree.compiler import ir
from numpy.typing import NDArray

SCOPE = "model"


def write_mlir(text: str, name: str, weights: Sequence[str], path: Path) -> None:
    """Write a program of this name; the weights, first arguments of `main`, become parameters."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        main = next(op for op in module.body if ir.StringAttr(op.attributes["sym_name"]).value == "main")
        make_parameters(main, weights)
        module.operation.verify()
        path.write_text(f"{module}\n", encoding="utf-8")


def new_context() -> ir.Context:
    """With every dialect of the compiler loaded: builders on one that is not would crash."""
    context = ir.Context()
    context.load_all_available_dialects()
    return context


def make_parameters(main: Any, names: Sequence[str]) -> None:
    """Turn the first arguments of `main` into loads of globals that are parameters of these names."""
    block: ir.Block = main.regions[0].blocks[0]
    first = block.operations[0]
    for name in names:
        argument = block.arguments[0]
        kind = argument.type
        value = ir.Attribute.parse(f'#flow.parameter.named<"{SCOPE}"::"{name}"> : {kind}')
        with ir.InsertionPoint(main):
            ir.Operation.create(
                "util.global",
                attributes={
                    "sym_name": ir.StringAttr.get(name),
                    "sym_visibility": ir.StringAttr.get("private"),
                    "type": ir.TypeAttr.get(kind),
                    "initial_value": value,
                },
            )
        with ir.InsertionPoint(first):
            load = ir.Operation.create(
                "util.global.load",
                results=[kind],
                attributes={"global": ir.FlatSymbolRefAttr.get(name)},
            )
        argument.replace_all_uses_with(load.result)
        block.erase_argument(0)
    drop_inputs(main, len(names))


def drop_inputs(main: Any, count: int) -> None:
    """Take the first arguments out of a function's type and its attributes."""
    kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kind.inputs[count:], kind.results))
    if "arg_attrs" in main.attributes:
        kept = list(ir.ArrayAttr(main.attributes["arg_attrs"]))[count:]
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)


def write_parameters(weights: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Write weights as an `.irpa` file."""
    index = rt.ParameterIndex()
    for name, value in weights.items():
        index.add_buffer(name, value)
    index.create_archive_file(str(path))
