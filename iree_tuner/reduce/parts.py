"""Attributes, and the parts that they can be made of again."""

from __future__ import annotations

from contextlib import suppress

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu


def attributes_of(op: ir.Operation) -> dict[str, ir.Attribute]:
    """An op's attributes by name, without ones that the bindings cannot read: dense complex constants."""
    found: dict[str, ir.Attribute] = {}
    for name in op.attributes.keys():  # noqa: SIM118  (iterating it gives attributes)
        with suppress(TypeError):
            found[name] = op.attributes[name]
    return found


def parts_of(attribute: ir.Attribute) -> dict[str | int, ir.Attribute]:
    """The attributes in an attribute, by keys or positions; none where `made_of` cannot make it again."""
    with suppress(TypeError):  # as in `attributes_of`
        match attribute:
            case ir.DictAttr():
                return {named.name: named.attr for named in attribute}
            case ir.ArrayAttr():
                return dict(enumerate(attribute))
            case iree_gpu.LoweringConfigAttr():
                return {0: attribute.attributes}
            case iree_codegen.CompilationInfoAttr():
                return {0: attribute.lowering_config, 1: attribute.translation_info}
            case iree_codegen.TranslationInfoAttr() if attribute.configuration is not None:
                return {0: attribute.configuration}
            case _:
                pass
    return {}


def made_of(attribute: ir.Attribute, parts: dict[str | int, ir.Attribute]) -> ir.Attribute:
    """An attribute again, of other parts under the same keys; of a dictionary's, some may be missing."""
    values = list(parts.values())
    match attribute:
        case ir.DictAttr():
            return ir.DictAttr.get({str(key): value for key, value in parts.items()})
        case ir.ArrayAttr():
            return ir.ArrayAttr.get(values)
        case iree_gpu.LoweringConfigAttr():
            return iree_gpu.LoweringConfigAttr.get(values[0])
        case iree_codegen.CompilationInfoAttr():
            return iree_codegen.CompilationInfoAttr.get(values[0], values[1])
        case iree_codegen.TranslationInfoAttr():
            return iree_codegen.TranslationInfoAttr.get(
                attribute.pass_pipeline,
                attribute.codegen_spec,
                attribute.workgroup_size,
                attribute.subgroup_size,
                values[0],
            )
        case _:
            return attribute


def is_resource(attribute: ir.Attribute) -> bool:
    """Whether an attribute is a `dense_resource`, which has no Python type of its own."""
    try:
        ir.DenseResourceElementsAttr(attribute)
    except ValueError:
        return False
    return True
