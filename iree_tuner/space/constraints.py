"""Builds one `iree_codegen.smt.constraints` op, in a module of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.space.expressions import Integer, require, searching

COMPANIONS = "companions"
"""Key of a knobs dictionary: the attributes of other ops of the dispatch, by their labels."""


def build_constraints(
    pipeline: ir.Attribute, fill: Callable[[], Mapping[str, ir.Attribute]], context: ir.Context
) -> ir.Module:
    """A module with one constraints op.

    Args:
        pipeline: the code generation pipeline that the op is about.
        fill: called once with the insertion point in the op's body: declares knobs with `knob` and
            `flag`, asserts with `require`, and returns the op's knobs dictionary.
        context: one with all dialects loaded.
    """
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            target = iree_codegen.RootOpAttr.get(0)
            op = iree_codegen.ConstraintsOp(target, pipeline, ir.DictAttr.get({}), [])
        with ir.InsertionPoint(op.body.blocks.append()):
            op.operation.attributes["knobs"] = ir.DictAttr.get(dict(fill()))
        module.operation.verify()
        return module


def knob(name: str, values: Sequence[int], reason: str) -> Integer:
    """Declare a knob that takes one of `values`; `reason` completes "NAME (VALUE) must be ...".

    Which values a search tries is no rule of the compiler's: what it refuses is asserted besides.
    """
    declared = Integer(iree_codegen.KnobOp(name).result)
    with searching():
        require(declared.is_one_of(values), f"{name} ({{}}) must be {reason}", declared)
    return declared


def declared_knobs(op: iree_codegen.ConstraintsOp) -> dict[str, Integer]:
    """The knobs that an op declares, by name."""
    body = op.operation.regions[0].blocks[0]
    return {
        ir.StringAttr(view.operation.attributes["name"]).value: Integer(view.operation.results[0])
        for view in body.operations
        if view.operation.name == "iree_codegen.smt.knob"
    }


def flag(name: str) -> Integer:
    """Declare a knob that is 0 or 1."""
    return knob(name, (0, 1), "0 (off) or 1 (on)")


def knob_attribute(name: str) -> ir.Attribute:
    """`#iree_codegen.smt.int_knob<"name">`, which has no builder in Python and is parsed here."""
    # IR as text: no builder (docs/upstream/bindings.md)
    return ir.Attribute.parse(f'#iree_codegen.smt.int_knob<"{name}">')


def one_of_attribute(name: str, options: Sequence[ir.Attribute]) -> ir.Attribute:
    """`#iree_codegen.smt.one_of_knob<"name", [OPTIONS]>`: the knob is an option's index. Parsed, too."""
    listed = ir.ArrayAttr.get(list(options))
    # IR as text: no builder (docs/upstream/bindings.md)
    return ir.Attribute.parse(f'#iree_codegen.smt.one_of_knob<"{name}", {listed}>')


def integers(values: Sequence[int | str]) -> ir.ArrayAttr:
    """An array of fixed integers and, for each string, the knob of that name."""
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get(
        [knob_attribute(v) if isinstance(v, str) else ir.IntegerAttr.get(i64, v) for v in values]
    )
