"""Secondary knobs: options of a pipeline that are worth trying on the best tiles, and not before.

Such a knob changes how the code of a tile is arranged, not what the tile is; together they multiply a space.
Each has a plain value, which stands for the compiler's behavior without the option.

Not secondary are knobs that decide what the tile is, or that many of the best have: tiles of any level, also
those for caches; where operands are held (`promote`, `promote_qk`, `promote_value`, and `pad_rows`, which is
nothing without it); and peeling on CPUs. In 13 recordings of spaces with cache tiles, the best member has one
in 9 and peels in 6. The best member without them has 72 to 100 % of its speed, the best that is not peeled 65
to 100 %, and where tiles do not divide, peeled members are faster in the median in 12 of 13.
"""

from __future__ import annotations

from collections.abc import Mapping

from iree_tuner.space.domains import Domains

_PLAIN: Mapping[str, int] = {
    # gpu/options.py, gpu/prefetch.py, gpu/scaled.py
    "no_reduce_shared_memory_bank_conflicts": 0,  # rows in shared memory are padded
    "reorder_workgroups_strategy": 0,
    "flush_denormals": 0,
    "waves_per_eu": 0,
    "prefetch_num_stages": 2,  # KernelConfig.cpp asks for two wherever the pipeline prefetches
    "swizzle": 1,  # what the compiler chooses; it takes less shared memory than padded rows
    # spirv/tiling.py, spirv/promote.py, spirv/cooperative.py
    "swap_workgroups": 0,
    "subgroup_size": 0,
    "pipeline_depth": 0,
    "store_stage": 0,
}

_PLAIN_OF_PIPELINE: Mapping[str, Mapping[str, int]] = {
    # It takes a depth of 0 for 1, and with stage 1 keeps a single buffer: the one pair that is always legal.
    "MatmulPromoteVectorize": {"pipeline_depth": 1, "store_stage": 1},
}


def plain_values(pipeline: str, domains: Domains) -> dict[str, int]:
    """The secondary knobs of a space, each with its plain value.

    Args:
        pipeline: the space's.
        domains: values of its knobs. One that has a single value, or never the plain one, is not secondary.
    """
    values = {**_PLAIN, **_PLAIN_OF_PIPELINE.get(pipeline, {})}
    return {
        name: value
        for name, value in values.items()
        if name in domains and len(domains[name]) > 1 and value in domains[name]
    }
