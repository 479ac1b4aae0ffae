"""Scaled contractions with the block-scaled matrix instructions of CDNA 4 (gfx950), through TileAndFuse.

The compiler emits no constraints for them. Without such an instruction there is no space: release 3.13
cannot compile its own choice then (docs/upstream/scaled_contraction_without_instruction.md).
Source: getMatmulOrIGEMMLoweringConfigAndWorkgroupSize, Dialect/GPU/TargetUtils/ConfigUtils.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.compiler.unbound import derived_thread_config
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import (
    build_constraints,
    computed,
    derived,
    integers,
    knob,
    knob_attribute,
    level,
    one_of_attribute,
    require_equal,
)
from iree_tuner.space.expressions import Integer, any_of, constant, if_else, product, require, total
from iree_tuner.space.gpu.constraints_draft import choose_instruction
from iree_tuner.space.gpu.options import OPTIONS, PREFETCH, pipeline_options
from iree_tuner.targets import GpuLimits

_TILES = (1, 2, 4, 8)
_SUBGROUPS = (1, 2, 4, 8)
_DEPTHS = (1, 2, 4)
_MOST_ACCUMULATORS = 256
"""32-bit accumulators of one thread: half of its registers."""
_ROW_PADDING_BYTES = 8
"""The padding that GPUReduceBankConflicts adds to each row of an allocation, if rows are not shuffled."""
_SHUFFLED = (
    "#iree_gpu.swizzle_operand<copy_config = #iree_gpu.derived_thread_config, "
    "swizzle = #iree_codegen.xor_shuffle<256, 32>>"
)
"""The compiler's own for operands of both intrinsics, 4 or 8 bits wide (getXorShuffleAttr, GPUUtils.cpp)."""


Instructions = dict[ir.Attribute, tuple[int, int, int, int]]
"""Block-scaled ones: rows, columns, blocks that share a scale, and the elements of a block."""


def scaled_constraints(workload: Workload, limits: GpuLimits) -> list[ir.Module]:
    """One op if the target has an instruction for the operands' types; else none."""
    found = _fitting(workload, limits)
    if not found or not workload.role("m") or not workload.role("n"):
        return []
    pipeline = iree_gpu.PipelineAttr.get(iree_gpu.LoweringPipeline.TileAndFuse)
    return [build_constraints(pipeline, _Scaled(workload, limits, found).fill)]


def _fitting(workload: Workload, limits: GpuLimits) -> Instructions:
    """Instructions for the types, whose block is the innermost reduction."""
    left, right, _, _, result = workload.types
    block = workload.loops[workload.role("kB")[-1]] if workload.role("kB") else 0
    wanted = f"lhs_elem_type = {left}, rhs_elem_type = {right}, acc_elem_type = {result}"
    found: Instructions = {}
    for text in limits.scaled_mma:
        if text.endswith(wanted):
            # IR as text: there is no builder with these arguments in the bindings.
            mma = ir.Attribute.parse(f"#iree_gpu.scaled_mma_layout<{text}>")
            shape = _shape(text)
            if shape[3] == block:
                found[mma] = shape
    return found


def _shape(text: str) -> tuple[int, int, int, int]:
    """`MFMA_SCALE_F32_16x16x128_B32` has 16 rows, 16 columns, and 128 = 4 x 32 elements of depth."""
    name = text.partition("intrinsic = ")[2].partition(",")[0]
    *_, sizes, block = name.split("_")
    rows, columns, depth = (int(size) for size in sizes.split("x"))
    each = int(block.removeprefix("B"))
    return rows, columns, depth // each, each


class _Scaled:
    """A scaled contraction, while its constraints op is being built."""

    def __init__(self, workload: Workload, limits: GpuLimits, found: Instructions) -> None:
        self._workload = workload
        self._limits = limits
        self._found = found
        self._m, self._n, self._k = (workload.role(role)[-1] for role in ("m", "n", "k"))
        self._padded = any(
            workload.loops[loop] % shape[place]
            for shape in found.values()
            for place, loop in enumerate((self._m, self._n, self._k))
        )

    def fill(self) -> Mapping[str, ir.Attribute]:
        """Declare knobs and asserts; returns the knobs dictionary."""
        _, *steps = choose_instruction("mma_idx", list(self._found.values()))
        rows, in_m, over_m = self._tile(self._m, steps[0])
        columns, in_n, over_n = self._tile(self._n, steps[1])
        depth = knob(f"red_{self._k}", _DEPTHS, "1, 2 or 4 instructions")
        blocks = depth * steps[2]
        self._fit(self._k, blocks, "the reduction tile")
        each = product([in_m, in_n, steps[0], steps[1]]) // self._limits.subgroup_size
        require(each <= _MOST_ACCUMULATORS, f"{{}} accumulators are more than {_MOST_ACCUMULATORS}", each)
        plain = knob("swizzle", (0, 1), "0 (rows in order) or 1 (shuffled against bank conflicts)").equals(0)
        self._limit_memory((rows, columns), blocks, if_else(plain, _ROW_PADDING_BYTES, 0))
        size = derived("wg_size_x")
        threads = product([over_m, over_n, self._limits.subgroup_size])
        require_equal("wg_size_x", size, threads, "all subgroups' threads")
        require(size <= self._limits.max_threads, "wg_size_x ({}) is too large", size)
        require(size > 0, "wg_size_x ({}) must be positive", size)
        knob(PREFETCH, (1, 2), "1 (none) or 2")
        if self._padded:
            computed("pad_k", blocks, "the reduction tile")
        return self._knobs()

    def _tile(self, loop: int, step: Integer) -> tuple[Integer, Integer, Integer]:
        """Declare a loop's tiles; returns the workgroup's, the subgroup's in instructions, and the count."""
        tile = derived(f"wg_{loop}")
        each = knob(f"sg_{loop}", _TILES, "1, 2, 4 or 8 instructions")
        covered = each * step
        over = [tile.equals(covered * count) for count in _SUBGROUPS]
        most = max(step for shape in self._found.values() for step in shape[:2]) * _TILES[-1] * _SUBGROUPS[-1]
        require(tile <= most, f"wg_{loop} ({{}}) must be at most {most}", tile)
        require(tile > 0, f"wg_{loop} ({{}}) must be positive", tile)
        require(any_of(over), f"wg_{loop} ({{}}) must be 1, 2, 4 or 8 subgroups of {{}}", tile, covered)
        self._fit(loop, tile, f"wg_{loop}")
        return tile, each, tile // covered

    def _fit(self, loop: int, tile: Integer, what: str) -> None:
        size = self._workload.loops[loop]
        if self._padded:
            require(tile < 2 * size, f"{what} ({{}}) must not be mostly outside of {size}", tile)
        else:
            require((constant(size) % tile).equals(0), f"{what} ({{}}) must divide {size}", tile)

    def _limit_memory(self, tiles: Sequence[Integer], blocks: Integer, padding: Integer) -> None:
        """Both operands and both scales go through shared memory; a row of an operand is one block."""
        types, block = self._workload.types, next(iter(self._found.values()))[3]
        parts: list[Integer] = []
        for operand, tile in enumerate(tiles):
            parts.append(product([tile, blocks, padding + block * types[operand].bits // 8]))
            parts.append(product([tile, blocks * (types[operand + 2].bits // 8) + padding]))
        used, most = total(parts), self._limits.shared_memory_bytes
        require(used <= most, f"{{}} bytes of shared memory are more than {most}", used)

    def _knobs(self) -> Mapping[str, ir.Attribute]:
        workload = self._workload
        m, n, k, count = self._m, self._n, self._k, len(workload.loops)
        workgroup = {**dict.fromkeys(workload.role("batch", "m", "n"), 1), m: f"wg_{m}", n: f"wg_{n}"}
        reduction = {**dict.fromkeys(workload.role("k", "kB"), 1), k: f"red_{k}"}
        # IR as text: neither has a builder.
        plain, shuffled = derived_thread_config(), ir.Attribute.parse(_SHUFFLED)
        chosen = one_of_attribute("swizzle", [plain, shuffled])
        flags = [ir.BoolAttr.get(False), ir.BoolAttr.get(True)]
        entries: dict[str, ir.Attribute] = {
            "mma_kind": one_of_attribute("mma_idx", list(self._found)),
            "workgroup": level(workgroup, count),
            "subgroup": level({m: f"sg_{m}", n: f"sg_{n}"}, count),
            "reduction": level(reduction, count),
            "promote_operands": integers([0, 1, 2, 3]),
            "promotion_types": ir.ArrayAttr.get([chosen, chosen, plain, plain]),
            OPTIONS: pipeline_options(knob_attribute(PREFETCH), one_of_attribute("swizzle", flags)),
            "workgroup_size": integers(["wg_size_x", 1, 1]),
            "subgroup_size": integers([self._limits.subgroup_size])[0],
        }
        if self._padded:
            # Whatever is not tiled is a batch of one, a pixel or a block, and padded to a multiple of 1.
            entries["padding"] = level({**dict.fromkeys(range(count), 1), **workgroup, k: "pad_k"}, count)
        return entries
