"""The compiler's requirements for configurations for llvm-cpu."""

from __future__ import annotations

from collections.abc import Mapping

from iree_tuner.space.constraints import Ruling
from iree_tuner.space.space import Space

_TOO_LARGE = r"\(large vector check\)$"


def _cut(space: Space, values: Mapping[str, int]) -> Mapping[str, int]:
    """Each tile cut to the one around it: vector, cache tile, workgroup's tile, loop."""
    found = dict(values)
    for loop, size in enumerate(space.workload.loops):
        around = size
        for level in ("distribution", "cache", "vector"):
            name = f"{level}_{loop}"
            if name in found and (found[name] or level != "cache"):
                around = found[name] = min(found[name], around)
        outer, cached = found.get(f"distribution_{loop}"), values.get(f"cache_{loop}")
        if outer and cached:
            # The fill of the result is fused into the outermost loop that is cut for caches. Where a
            # workgroup's tile leaves a rest, its size is not known there: the cache tile alone bounds it.
            found[f"distribution_{loop}"] = min(outer, cached) if size % outer == 0 else cached
    return found


CPU_RULINGS: tuple[Ruling[Space], ...] = (
    Ruling(
        name="packed matrices",
        reason="their tiles are counted in packed ones",
        applies=lambda space: space.pipeline == "Mmt4dTilingExpert",
        rules=(_TOO_LARGE,),
    ),
    Ruling(
        name="tiles",
        reason="tiles are cut to what is around them, and may leave a rest. Only vectors end "
        "(LLVMCPUVerifyVectorSizeLegality). verifyConvTileAndDecomposeExpertConfig looks at named ops, which "
        "these no longer are: what is not decomposed is computed as it is. A tile of k1 makes wrong results "
        "(docs/upstream/attention_k1_tile.md)",
        applies=lambda _: True,
        rules=(_TOO_LARGE, r"must be the whole of k1"),
        nothing=(r"^cache_", r"^there is nothing to peel"),
        settle=_cut,
        only_where=(r"of a tap: |that is read: ", r"^can't decompose"),
    ),
)
"""In this order: the first that applies."""
