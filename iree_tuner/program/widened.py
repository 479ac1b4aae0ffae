"""A program whose f16 and bf16 numbers are f32: the reference for the effect of rounding on its results.

The compiler's own passes convert the types, those of the functions' arguments, too. Parameters and large
constants stay as they are stored, and are extended where they are loaded.
"""

from __future__ import annotations

from iree.compiler import ir
from iree.compiler.dialects import arith

from iree_tuner.compiler.context import ops_in, symbol_of, walk
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.ops.element_type import NARROW_FLOATS, ElementType
from iree_tuner.program.harness import run_passes

UNFOLDED = ("--iree-opt-const-eval=false", "--iree-opt-const-expr-hoisting=false")
"""Flags with which extended parameters are not kept in memory next to the stored ones."""

_PASSES = "builtin.module(iree-input-conversion-promote-f16-to-f32,iree-input-conversion-promote-bf16-to-f32)"
_ENCODINGS = {"hal.tensor.import": "target_encoding", "hal.tensor.export": "source_encoding"}
_CONVERTED = (ir.DenseElementsAttr, ir.FloatAttr)
_HELD = "iree_tuner.held"
_GLOBAL, _LOAD, _STORE = "util.global", "util.global.load", "util.global.store"


def widen(module: ir.Module, session: CompilerSession) -> bool:
    """Convert a module at the end of phase `input`, in place; false if it has no such numbers.

    Raises CompileError for a program that depends on the numbers' bits.
    """
    with module.context, ir.Location.unknown():
        if not _has_narrow(module):
            return False
        _hold_constants(module)
        run_passes(module, session, _PASSES)
        _settle_globals(module)
        _settle_arguments(module)
    if not module.operation.verify():
        raise CompileError([], "extending f16 and bf16 failed")
    return True


def _has_narrow(module: ir.Module) -> bool:
    for op in walk(module.operation):
        blocks = (block for region in op.regions for block in region.blocks)
        values = (*op.results, *(argument for block in blocks for argument in block.arguments))
        if any(_is_narrow(value.type) for value in values):
            return True
    return False


def _is_narrow(kind: ir.Type) -> bool:
    return ElementType.of(kind).name in NARROW_FLOATS


def _hold_constants(module: ir.Module) -> None:
    """Make globals of constants whose bytes the passes do not convert."""
    found = [
        op
        for op in walk(module.operation)
        if op.name == "arith.constant" and not isinstance(op.attributes["value"], _CONVERTED)
    ]
    for number, op in enumerate(each for each in found if _is_narrow(each.results[0].type)):
        symbol = f"{_HELD}.{number}"
        kind = op.results[0].type
        with ir.InsertionPoint.at_block_begin(module.body):
            ir.Operation.create(_GLOBAL, attributes={
                "sym_name": ir.StringAttr.get(symbol), "sym_visibility": ir.StringAttr.get("private"),
                "type": ir.TypeAttr.get(kind), "initial_value": op.attributes["value"],
            })  # fmt: skip
        with ir.InsertionPoint(op):
            load = ir.Operation.create(
                _LOAD, results=[kind], attributes={"global": ir.FlatSymbolRefAttr.get(symbol)}
            )
        op.results[0].replace_all_uses_with(load.results[0])
        op.erase()


def _settle_globals(module: ir.Module) -> None:
    """Give globals the type of their first values again, and extend the values loaded from them."""
    stored: dict[str, ir.Type] = {}
    for op in ops_in(module.body):
        if op.name == _GLOBAL and "initial_value" in op.attributes:
            kind = getattr(op.attributes["initial_value"], "type", None)
            if isinstance(kind, ir.Type) and _is_narrow(kind):
                op.attributes["type"] = ir.TypeAttr.get(kind)
                stored[symbol_of(op)] = kind
    if not stored:
        return
    for op in [each for each in walk(module.operation) if each.name in (_LOAD, _STORE)]:
        kind = stored.get(ir.FlatSymbolRefAttr(op.attributes["global"]).value)
        if kind is None:
            continue
        if op.name == _STORE:
            with ir.InsertionPoint(op):
                op.operands[0] = arith.truncf(kind, op.operands[0])
            continue
        load = op.results[0]
        wide, load_type = load.type, kind
        load.set_type(load_type)
        with ir.InsertionPoint.after(op):
            extended = arith.extf(wide, load)
        load.replace_all_uses_except(extended, ir.OpResult(extended).owner.operation)


def _settle_arguments(module: ir.Module) -> None:
    """Give buffers that functions take and return the types that the passes made of their tensors."""
    for op in walk(module.operation):
        name = _ENCODINGS.get(op.name)
        if name is not None:
            tensor = op.results[0] if op.name == "hal.tensor.import" else op.operands[0]
            op.attributes[name] = ir.TypeAttr.get(tensor.type)
