"""Configurations for matmuls on CPUs, one of which takes more than a minute to compile."""

from iree_tuner.space.configuration import Configuration, OpConfiguration

SLOW_TILES = (1, 1, 4096)
"""Of a matmul that is 4096 long. The compiler accepts it; the reduction to one element is unrolled
into loads from a strided operand, see docs/targets/llvm-cpu.md."""


def configured(dispatch, tiles, distribution=(0, 64)):
    """The dispatch's pipeline with these vector tiles of m, n and k, and these workgroup tiles."""
    (m, n, k), (by_m, by_n) = tiles, distribution
    config = (
        f"#iree_cpu.lowering_config<distribution = [{by_m}, {by_n}, 0], "
        f"vector_common_parallel = [{m}, {n}, 0], vector_reduction = [0, 0, {k}]>"
    )
    info = f"lowering_config = {config}, translation_info = {dispatch.pipeline}"
    value = f"#iree_codegen.compilation_info<{info}>"
    return Configuration((OpConfiguration("root", "compilation_info", value),))
