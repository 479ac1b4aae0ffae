"""Edits of attributes: ones that an op does not need, entries of dictionaries in them, large constants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from iree.compiler import ir

from iree_tuner.compiler.context import walk
from iree_tuner.reduce.function import remade
from iree_tuner.reduce.parts import attributes_of, is_resource, made_of, parts_of
from iree_tuner.reduce.symbols import Edit

_KEPT = ("function_type", "operandSegmentSizes", "resultSegmentSizes")
"""Attributes that other edits change, or that verifiers and printers require."""

Path = tuple[str | int, ...]
"""Where an attribute is in an op's attributes: its name, then keys and positions, from the outside in."""


@dataclass
class _Place:
    """An op that another takes the place of where an attribute is removed."""

    op: ir.Operation


def attributes(module: ir.Module) -> list[Edit]:
    """Remove attributes and entries of dictionaries, each only where the op verifies without it."""
    return [
        partial(_remove, place, path)
        for place in map(_Place, walk(module.operation))
        for name, value in attributes_of(place.op).items()
        if name not in _KEPT
        for path in [(name,), *((name, *inner) for inner in _removable(value))]
    ]


def splats(module: ir.Module) -> list[Edit]:
    """Make dense constants splats of their first element, and constants in resources splats of one."""
    found: list[Edit] = []
    for op in walk(module.operation):
        for name, value in attributes_of(op).items():
            splat = _splat_of(value)
            if splat is not None:
                found.append(partial(_set, op, name, splat))
    return found


def _removable(attribute: ir.Attribute) -> Iterator[Path]:
    """Paths in an attribute to entries of dictionaries."""
    for key, inner in parts_of(attribute).items():
        if isinstance(attribute, ir.DictAttr):
            yield (key,)
        yield from ((key, *path) for path in _removable(inner))


def _remove(place: _Place, path: Path) -> None:
    """Remove what is at a path, if it is still there and the op verifies without it."""
    name, inner = str(path[0]), path[1:]
    known = attributes_of(place.op)
    if name not in known:
        return
    if inner:
        _set(place.op, name, _without(known[name], inner))
        if not _verifies(place.op):
            _set(place.op, name, known[name])
    elif place.op.parent is None:  # a module has none that it needs
        del place.op.attributes[name]
    elif len(known) == len(place.op.attributes):
        less = {other: value for other, value in known.items() if other != name}
        place.op = remade(place.op, attributes=less)
        if not _verifies(place.op):
            place.op = remade(place.op, attributes=known)


def _verifies(op: ir.Operation) -> bool:
    try:
        return op.verify()
    except ir.MLIRError:
        return False


def _without(attribute: ir.Attribute, path: Path) -> ir.Attribute:
    """An attribute without the entry at a path; the same where there is none."""
    key, inner = path[0], path[1:]
    parts = parts_of(attribute)
    if key not in parts:
        return attribute
    if inner:
        parts[key] = _without(parts[key], inner)
    else:
        del parts[key]
    return made_of(attribute, parts)


def _splat_of(attribute: ir.Attribute) -> ir.Attribute | None:
    """A splat instead of a large constant; None for anything else."""
    value = 1.0
    if isinstance(attribute, ir.DenseIntElementsAttr | ir.DenseFPElementsAttr):
        if attribute.is_splat or not len(attribute):
            return None
        with suppress(TypeError):  # the bindings do not read elements of all types
            value = attribute[0]
    elif not is_resource(attribute):
        return None
    kind = ir.ShapedType(attribute.type)
    element = kind.element_type
    if isinstance(element, ir.FloatType):
        return ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(element, float(value)))
    if isinstance(element, ir.IntegerType | ir.IndexType):
        return ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(element, int(value)))
    return None


def _set(op: ir.Operation, name: str, value: ir.Attribute) -> None:
    op.attributes[name] = value
