"""SPIR-V's attributes: the one place where they are parsed.

`#iree_gpu.spirv_pipeline` and `#iree_codegen.lowering_config` have no Python bindings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.unbound import attribute_from, parameters_of
from iree_tuner.space.configuration import Configuration
from iree_tuner.space.constraints import integers

Pipeline = Literal[
    "BaseDistribute",
    "BaseVectorize",
    "CooperativeMatrixVectorize",
    "MatmulPromoteVectorize",
    "SubgroupReduce",
]

TILE_SIZES = "tile_sizes"
WORKGROUP_SIZE = "workgroup_size"
SUBGROUP_SIZE = "subgroup_size"
OPTIONS = "options"
INTERCHANGE = "interchange"
COMPANIONS = "companions"
"""Keys of a knobs dictionary: the root's levels; threads along x, y, z; the subgroup size, 0 for the driver's
choice; the pipeline's options; the two loops whose workgroups change places, and whether they do; the
companions' levels by label.
"""

_SWAP = "swap"


def pipeline(name: Pipeline) -> ir.Attribute:
    """`#iree_gpu.spirv_pipeline<NAME>`."""
    return ir.Attribute.parse(f"#iree_gpu.spirv_pipeline<{name}>")


def lowering_config(levels: Sequence[Sequence[int]], interchange: Sequence[int] = ()) -> ir.Attribute:
    """`#iree_codegen.lowering_config<tile_sizes = [LEVELS]>`, with the workgroup level's order if any."""
    shown = [str(list(level)) for level in levels]
    if interchange:
        shown[0] = f"{{sizes = {shown[0]}, interchange = {list(interchange)}}}"
    return ir.Attribute.parse(f"#iree_codegen.lowering_config<tile_sizes = [{', '.join(shown)}]>")


def spirv_configuration(pipeline_attribute: ir.Attribute, knobs: Mapping[str, object]) -> Configuration:
    """The attributes of the root op and its companions, from a knobs dictionary with values filled in."""
    levels = cast(Sequence[Sequence[int]], knobs[TILE_SIZES])
    order = _order(len(levels[0]), cast(Mapping[str, int], knobs.get(INTERCHANGE, {})))
    options = cast(Mapping[str, int], knobs.get(OPTIONS, {}))
    entries = dict(zip(options, integers(list(options.values())), strict=True))
    info = iree_codegen.CompilationInfoAttr.get(
        lowering_config(levels, order),
        iree_codegen.TranslationInfoAttr.get(
            pipeline_attribute,
            None,
            list(cast(Sequence[int], knobs[WORKGROUP_SIZE])),
            cast(int, knobs.get(SUBGROUP_SIZE, 0)),
            ir.DictAttr.get(entries) if entries else None,
        ),
    )
    companions = cast(Mapping[str, Sequence[Sequence[int]]], knobs.get(COMPANIONS, {}))
    return Configuration.of(info, {label: lowering_config(own) for label, own in companions.items()})


def spirv_entries(lowering: str, translation: str) -> dict[str, ir.Attribute]:
    """The inverse for the root op: a compiler's choice, printed, under the keys of a knobs dictionary.

    Companions are left out: the compiler gives them what the root has. An interchange that is not the one
    that `spirv_configuration` writes is left as it is, under its key.
    """
    info = iree_codegen.TranslationInfoAttr(attribute_from(translation))
    levels: list[ir.Attribute] = []
    order: list[int] = []
    for level in ir.ArrayAttr(parameters_of(attribute_from(lowering))["tile_sizes"]):
        parts = {each.name: each.attr for each in level} if isinstance(level, ir.DictAttr) else {}
        levels.append(parts.get("sizes", level))
        if "interchange" in parts:
            order = [ir.IntegerAttr(each).value for each in ir.ArrayAttr(parts["interchange"])]
    found: dict[str, ir.Attribute] = {
        TILE_SIZES: ir.ArrayAttr.get(levels),
        WORKGROUP_SIZE: integers(list(info.workgroup_size)),
        SUBGROUP_SIZE: integers([info.subgroup_size])[0],
    }
    if info.configuration is not None and len(ir.DictAttr(info.configuration)):
        found[OPTIONS] = info.configuration
    swapped = [place for place, loop in enumerate(order) if place != loop]
    pair = dict(zip(("first", "second"), integers(swapped), strict=False))
    found[INTERCHANGE] = ir.DictAttr.get({_SWAP: integers([int(bool(swapped))])[0], **pair})
    return found


def interchange(first: int, second: int, swap: ir.Attribute) -> ir.DictAttr:
    """The knobs dictionary's entry for two loops of the workgroup level that may change places."""
    one, other = integers([first, second])
    return ir.DictAttr.get({"first": one, "second": other, _SWAP: swap})


def _order(count: int, chosen: Mapping[str, int]) -> list[int]:
    if not chosen.get(_SWAP, 0):
        return []
    order = list(range(count))
    first, second = chosen["first"], chosen["second"]
    order[first], order[second] = second, first
    return order
