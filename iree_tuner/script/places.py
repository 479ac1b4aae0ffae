"""Where ops are, in the IR and in their files."""

from __future__ import annotations

from collections.abc import Iterator

from iree.compiler import ir


def walk(root: ir.Module | ir.Operation) -> Iterator[ir.Operation]:
    """All ops inside, in the order of the text; safe against changes of the ops."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    start = root.operation if isinstance(root, ir.Module) else root
    start.walk(visit, ir.WalkOrder.PRE_ORDER)
    yield from found[1:]


def place_of(op: ir.Operation) -> str:
    """`file:line:column`, as a message shows it."""
    return place_in(str(op.location))


def place_in(location: str) -> str:
    """The same from a printed location: `loc("script.mlir":3:5)`, without others fused into it."""
    inside = location.removeprefix("loc(").removesuffix(")")
    return inside.replace('"', "")


def symbol_of(op: ir.Operation) -> str:
    """The name of a symbol; empty for other ops."""
    name = op.attributes.get("sym_name", None)
    return name.value if isinstance(name, ir.StringAttr) else ""


def symbols_in(op: ir.Operation) -> list[str]:
    """The symbols that an op's attributes name."""
    found: list[str] = []
    for value in op.attributes.values():
        every = list(value) if isinstance(value, ir.ArrayAttr) else [value]
        found += [each.value for each in every if isinstance(each, ir.FlatSymbolRefAttr)]
    return found
