"""Reproducers of docs/upstream inside programs ten times their size, to be reduced again.

python test/unit/reduce/enlarged.py prefetch_uneven_copy > big.mlir
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from iree.compiler import ir

from iree_tuner.compiler.context import new_context, walk
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.entry import SpecEntry, entry_from_json

UPSTREAM = Path(__file__).resolve().parents[2] / "upstream"

LAYER = """
util.global private @weights = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
func.func private @activation(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = math.tanh %x {test.origin = "activation"} : tensor<64x128xf32>
  %1 = arith.mulf %0, %x : tensor<64x128xf32>
  return %1 : tensor<64x128xf32>
}
func.func @layer(%a: tensor<64x32xf32> {test.name = "a"}, %b: tensor<32x128xf32>, %w: tensor<2x2xf32>)
    -> (tensor<64x128xf32>, tensor<2x2xf32>) attributes {test.origin = {name = "layer", version = 3}} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x128xf32>) -> tensor<64x128xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x128xf32>) outs(%init : tensor<64x128xf32>)
    -> tensor<64x128xf32>
  %1 = func.call @activation(%0) : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %2 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<64x128xf32>) outs(%empty : tensor<64x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %4 = math.exp %in : f32
      %5 = arith.addf %4, %in : f32
      linalg.yield %5 : f32
  } -> tensor<64x128xf32>
  %weights = util.global.load @weights : tensor<2x2xf32>
  %3 = arith.addf %w, %weights : tensor<2x2xf32>
  return %2, %3 : tensor<64x128xf32>, tensor<2x2xf32>
}
"""
"""What stands beside the function of a reproducer, several times."""

INFO = "compilation_info"
BEFORE = ("math.absf", "arith.negf", "math.tanh", "arith.mulf")
AFTER = (*BEFORE, "math.exp", "math.sqrt", "arith.addf", "math.sin")


def model(name: str) -> ir.Module:
    """The function of a reproducer in a program of several, with ops before and after its own."""
    module = _module((UPSTREAM / f"{name}.mlir").read_text())
    _surround(module.body.operations[0].operation)
    for number in range(6):
        _add(module, _module(LAYER), f"_{number}")
    return module


def executables(name: str, other: str) -> ir.Module:
    """The executable of a reproducer beside executables of another, with ops before and after in each."""
    module = _module((UPSTREAM / f"{name}.mlir").read_text())
    for number in range(7):
        _add(module, _module((UPSTREAM / f"{other}.mlir").read_text()), f"_{number}")
    for executable in module.body:
        inner = executable.operation
        while inner.name != "func.func":
            inner = inner.regions[0].blocks[0].operations[0].operation
        _surround(inner)
    return module


MATMUL = {
    "family": "contraction", "op": "matmul", "loops": [512, 512, 512],
    "iterators": ["parallel", "parallel", "reduction"], "types": ["f16", "f16", "f32"],
    "maps": ["(d0, d1, d2) -> (d0, d2)", "(d0, d1, d2) -> (d2, d1)", "(d0, d1, d2) -> (d0, d1)"],
    "roles": [["batch", []], ["m", [0]], ["n", [1]], ["k", [2]]], "parameters": [], "companions": [],
    "dag": "", "prologue": [],
}  # fmt: skip


def spec() -> ir.Module:
    """A tuning spec with the configuration of `prefetch_uneven_copy`, and harmless ones for other sizes."""
    crashing = str(_matmul(_module((UPSTREAM / "prefetch_uneven_copy.mlir").read_text())).attributes[INFO])
    harmless = crashing.replace("prefetch_num_stages = 3", "prefetch_num_stages = 2")
    found = list[SpecEntry]()
    for rows in (64, 128, 256, 320, 512, 640, 768, 896, 1024, 2048, 4096):
        value = crashing if rows == 512 else harmless
        configuration = [{"label": "root", "attribute": INFO, "value": value}]
        workload = MATMUL | {"loops": [rows, 512, 512]}
        found.append(entry_from_json({"workload": workload, "configuration": configuration}))
    return build_spec(found, ir.Context.current)


def plain() -> ir.Module:
    """The program of `prefetch_uneven_copy`, which is harmless without the spec."""
    module = _module((UPSTREAM / "prefetch_uneven_copy.mlir").read_text())
    del _matmul(module).attributes[INFO]
    return module


def _matmul(module: ir.Module) -> ir.Operation:
    return next(op for op in walk(module.operation) if op.name == "linalg.matmul")


PROGRAMS: Mapping[str, Callable[[], ir.Module]] = {
    "prefetch_uneven_copy": lambda: model("prefetch_uneven_copy"),
    "attention_vdmfma_rows": lambda: model("attention_vdmfma_rows"),
    "emitter_batch": lambda: executables("emitter_batch", "emitter_matmul"),
    "spec": spec,
    "plain": plain,
}
"""The first three by the names of the files in test/upstream."""


def enlarged(name: str) -> str:
    """A program as text."""
    with new_context(), ir.Location.unknown():
        module = PROGRAMS[name]()
        module.operation.verify()
        return str(module)


def _module(text: str) -> ir.Module:
    return ir.Module.parse(text)


def _add(module: ir.Module, other: ir.Module, suffix: str) -> None:
    """Add what is in another module, under other names."""
    for op in other.body:
        old = ir.StringAttr(op.attributes["sym_name"]).value
        ir.SymbolTable.replace_all_symbol_uses(old, old + suffix, other.operation)
        op.attributes["sym_name"] = ir.StringAttr.get(old + suffix)
    for op in other.body:
        op.operation.clone(ir.InsertionPoint(module.body))


def _surround(function: ir.Operation) -> None:
    """Have the arguments of a function go through ops first, and its result through others and a cast."""
    block = function.regions[0].blocks[0]
    first, last = block.operations[0].operation, list(block)[-1].operation
    for argument in block.arguments:
        users = [(use.owner, use.operand_number) for use in argument.uses]
        with ir.InsertionPoint(first):
            value = _chain(argument, BEFORE)
        for user, number in users:
            user.operands[number] = value
    with ir.InsertionPoint(last):
        value = _chain(last.operands[0], AFTER)
        kind = ir.RankedTensorType(value.type)
        narrow = kind.element_type == ir.F16Type.get()
        other = ir.RankedTensorType.get(kind.shape, ir.F32Type.get() if narrow else ir.F16Type.get())
        name = "arith.extf" if narrow else "arith.truncf"
        cast = ir.Operation.create(name, results=[other], operands=[value])
    last.operands[0] = cast.results[0]
    signature = ir.FunctionType.get([argument.type for argument in block.arguments], [other])
    function.attributes["function_type"] = ir.TypeAttr.get(signature)


def _chain(value: ir.Value, names: tuple[str, ...]) -> ir.Value:
    """A value that has gone through elementwise ops, which say where they come from."""
    for name in names:
        operands = [value, value] if name in ("arith.mulf", "arith.addf") else [value]
        op = ir.Operation.create(name, results=[value.type], operands=operands)
        origin = {"name": ir.StringAttr.get(name), "framework": ir.UnitAttr.get()}
        op.attributes["test.origin"] = ir.DictAttr.get(origin)
        value = op.results[0]
    return value


if __name__ == "__main__":
    print(enlarged(sys.argv[1]), end="")
