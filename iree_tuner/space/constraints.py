"""Builds one `iree_codegen.smt.constraints` op, in a module of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.errors import TunerError
from iree_tuner.space.expressions import Boolean, Integer, any_of, constant, if_else, require, searching

COMPANIONS = "companions"
"""Key of a knobs dictionary: the attributes of other ops of the dispatch, by their labels."""


def build_constraints(pipeline: ir.Attribute, fill: Callable[[], Mapping[str, ir.Attribute]]) -> ir.Module:
    """A module with one constraints op for a pipeline, in the current context, which has all dialects loaded.

    `fill` is called with the insertion point in the op's body. It declares knobs with `knob` and `flag`,
    asserts with `require`, and returns the op's knobs dictionary.
    """
    with ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            target = iree_codegen.RootOpAttr.get(0)
            op = iree_codegen.ConstraintsOp(target, pipeline, ir.DictAttr.get({}), [])
        with ir.InsertionPoint(op.body.blocks.append()):
            op.operation.attributes["knobs"] = ir.DictAttr.get(dict(fill()))
        module.operation.verify()
        return module


VARIANT = "iree_tuner.variant"
"""Attribute of a constraints op that tells it from another one of the same pipeline."""


def only_constraints(module: ir.Module) -> iree_codegen.ConstraintsOp:
    """The constraints op of a module. Raises TunerError if there is not exactly one."""
    found = list(ir.get_ops_of_type(module, iree_codegen.ConstraintsOp))
    if len(found) != 1:
        raise TunerError(f"expected one iree_codegen.smt.constraints op, found {len(found)}")
    return found[0]


def as_variant(module: ir.Module, variant: str) -> ir.Module:
    """The module, whose constraints op is now called a variant of its pipeline."""
    with module.context:
        only_constraints(module).operation.attributes[VARIANT] = ir.StringAttr.get(variant)
    return module


def knob(name: str, values: Sequence[int], reason: str) -> Integer:
    """Declare a knob that takes one of `values`; `reason` completes "NAME (VALUE) must be ...".

    The list of values is not a rule of the compiler: values that it refuses are asserted as well.
    """
    declared = derived(name)
    with searching():
        require(declared.is_one_of(values), f"{name} ({{}}) must be {reason}", declared)
    return declared


def derived(name: str) -> Integer:
    """Declare a knob that an assert of the caller's makes equal to an expression."""
    return Integer(iree_codegen.KnobOp(name).result)


def computed(name: str, wanted: Integer, what: str) -> Integer:
    """Declare a knob that must be `what`, an expression."""
    declared = derived(name)
    require_equal(name, declared, wanted, what)
    return declared


def require_equal(name: str, value: Integer, wanted: Integer, what: str) -> None:
    """Assert that the knob of that name is `what`; both values are shown."""
    require(value.equals(wanted), f"{name} ({{}}) must be {what} ({{}})", value, wanted)


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
    """`#iree_codegen.smt.int_knob<"name">`, which has no builder in Python."""
    # IR as text: no builder (docs/upstream/bindings.md)
    return ir.Attribute.parse(f'#iree_codegen.smt.int_knob<"{name}">')


def one_of_attribute(name: str, options: Sequence[ir.Attribute]) -> ir.Attribute:
    """`#iree_codegen.smt.one_of_knob<"name", [OPTIONS]>`: the knob is an option's index."""
    listed = ir.ArrayAttr.get(list(options))
    # IR as text: no builder (docs/upstream/bindings.md)
    return ir.Attribute.parse(f'#iree_codegen.smt.one_of_knob<"{name}", {listed}>')


def integers(values: Sequence[int | str]) -> ir.ArrayAttr:
    """An array of fixed integers and, for each string, the knob of that name."""
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get(
        [knob_attribute(v) if isinstance(v, str) else ir.IntegerAttr.get(i64, v) for v in values]
    )


def level(sizes: Mapping[int, int | str], count: int) -> ir.ArrayAttr:
    """Tiles of `count` loops, as `integers`; 0 for loops without one."""
    return integers([sizes.get(loop, 0) for loop in range(count)])


# Sizes to try for tiles.


def divisors(size: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    return tuple(value for value in range(1, size + 1) if size % value == 0)


def powers(most: int, least: int = 1, *, threes: bool = False) -> tuple[int, ...]:
    """Powers of two in a range, ascending; optionally with three times each of them."""
    found = {1 << i for i in range(most.bit_length())}
    if threes:
        found |= {3 * value for value in found}
    return tuple(sorted(value for value in found if least <= value <= most))


def next_power(size: int) -> int:
    """The smallest power of two that is not less than a size."""
    return 1 << (size - 1).bit_length()


def rounded_up(value: Integer, step: Integer | int) -> Integer:
    """The next multiple."""
    return (value + step - 1) // step * step


def padded_to(size: int, step: Integer) -> Integer:
    """The next multiple of a step that depends on knobs."""
    return (step + (size - 1)) // step * step


def at_most(value: Integer, limit: Integer | int) -> Integer:
    """The value, or the limit where it is larger: a tile is cut to its loop."""
    return if_else(value <= limit, value, limit)


def divides_or_covers(tile: Integer, size: int) -> Boolean:
    """Whether the last tile along a loop is as large as the others, or there is only one."""
    return any_of([(constant(size) % tile).equals(0), tile >= size])
