"""Where in a space the compiler's own choice lies: the point from which a local search sets out."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.space.configuration import Assignment
from iree_tuner.space.llvm_cpu.attributes import LOWERING_CONFIG, OPTIONS
from iree_tuner.space.space import Space

_LEVEL = re.compile(r"(\w+) = \[([\d, ]*)\]")
_CANDIDATES = 4096
_OPTIONAL = "cache_"  # levels that are left out when nothing is tiled


def starting_point(space: Space, lowering_config: str, translation_info: str) -> Assignment | None:
    """The legal assignment that is nearest to the compiler's choice.

    Args:
        space: of the workload.
        lowering_config: the root op's default, printed (`#iree_cpu.lowering_config` has no bindings).
        translation_info: the function's default, printed.

    Returns:
        The choice itself when it is in the space; None for an empty space, or one of another kind.
    """
    known = known_values(space, lowering_config, translation_info)
    if not known or not space.count():
        return None
    if known.keys() == set(space.names) and space.contains(known):
        return Assignment.of(known)
    sample = space.sample(_CANDIDATES, seed=0)
    weights = np.array([name in known for name in space.names], float)
    there = space.encode({name: known.get(name, 0) for name in space.names})
    near = min(sample, key=lambda member: float((np.abs(space.encode(member) - there) * weights).sum()))
    moved = {**near, **known}
    return Assignment.of(moved) if space.contains(moved) else near


def known_values(space: Space, lowering_config: str, translation_info: str) -> dict[str, int]:
    """Values of the root's knobs. A tile of 0 leaves a loop whole, as a tile of its size does."""
    knobs = ir.DictAttr(space.op.knobs)
    if LOWERING_CONFIG not in knobs:
        return {}
    chosen = {
        level: [int(size) for size in sizes.split(",") if size.strip()]
        for level, sizes in _LEVEL.findall(lowering_config)
    }
    found: dict[str, int] = {}
    for level in ir.DictAttr(knobs[LOWERING_CONFIG]):
        sizes = chosen.get(level.name, [])
        for loop, item in enumerate(ir.ArrayAttr(level.attr)):
            if isinstance(item, iree_codegen.IntKnobAttr):
                size = sizes[loop] if loop < len(sizes) else 0
                whole = 0 if level.name.startswith(_OPTIONAL) else space.workload.loops[loop]
                found[item.name] = size or whole
    if OPTIONS in knobs:
        found.update(_options(ir.DictAttr(knobs[OPTIONS]), translation_info))
    return found


def _options(options: ir.DictAttr, translation_info: str) -> Mapping[str, int]:
    return {
        option.attr.name: int(option.name in translation_info)
        for option in options
        if isinstance(option.attr, iree_codegen.IntKnobAttr)
    }
