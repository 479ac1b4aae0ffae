"""llvm-cpu's attributes: the one place where they are parsed.

`#iree_cpu.pipeline` and `#iree_cpu.lowering_config` have no Python bindings, and the latter cannot
hold knobs (its levels are typed integers). So the knobs dictionary is substituted as data, and the
attribute is read from text here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.space.configuration import Configuration
from iree_tuner.space.constraints import COMPANIONS

Pipeline = Literal[
    "DoubleTilingExpert",
    "ConvTileAndDecomposeExpert",
    "BufferOpsTileAndVectorize",
    "LinalgExtTileAndVectorize",
    "Mmt4dTilingExpert",
]

LEVELS = (
    "distribution", "cache_parallel", "cache_reduction", "vector_common_parallel", "vector_reduction",
    "vector_inner_parallel",
)  # fmt: skip
"""Tiling levels, in the order in which the compiler applies them."""

LOWERING_CONFIG = "lowering_config"
OPTIONS = "options"
"""Keys of a knobs dictionary: the root's levels, the pipeline's options."""


def pipeline(name: Pipeline) -> ir.Attribute:
    """`#iree_cpu.pipeline<NAME>`."""
    return ir.Attribute.parse(f"#iree_cpu.pipeline<{name}>")


def lowering_config(levels: Mapping[str, Sequence[int]]) -> ir.Attribute:
    """`#iree_cpu.lowering_config<LEVEL = [SIZES], ...>`; levels that tile nothing are left out."""
    shown = [
        f"{level} = [{', '.join(map(str, levels[level]))}]"
        for level in LEVELS
        if level in levels and (level == "distribution" or any(levels[level]))
    ]
    return ir.Attribute.parse(f"#iree_cpu.lowering_config<{', '.join(shown)}>")


def cpu_configuration(pipeline_attribute: ir.Attribute, knobs: Mapping[str, object]) -> Configuration:
    """The attributes of the root op and its companions, from a knobs dictionary with values filled in."""
    options = cast(Mapping[str, int], knobs.get(OPTIONS, {}))
    enabled: dict[str, ir.Attribute] = {name: ir.UnitAttr.get() for name, value in options.items() if value}
    info = iree_codegen.CompilationInfoAttr.get(
        lowering_config(cast(Mapping[str, Sequence[int]], knobs[LOWERING_CONFIG])),
        iree_codegen.TranslationInfoAttr.get(
            pipeline_attribute, configuration=ir.DictAttr.get(enabled) if enabled else None
        ),
    )
    companions = cast(Mapping[str, Mapping[str, Sequence[int]]], knobs.get(COMPANIONS, {}))
    return Configuration.of(info, {label: lowering_config(levels) for label, levels in companions.items()})
