"""Options of the pipelines that the compiler pins, opened where they change the code on a target.

Their effects were found by comparing executables (test/unit/space/test_gpu_options.py): on CUDA the
number of prefetch stages and the flushing of denormals change nothing; reordering workgroups changes
nothing in TileAndFuse anywhere; the backend tries for one wave per execution unit anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.compiler.unbound import flushed_denormals
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.space.constraints import at_most, one_of_attribute
from iree_tuner.space.expressions import (
    Boolean,
    Integer,
    all_of,
    any_of,
    constant,
    if_else,
    integer,
    product,
    require,
)
from iree_tuner.space.gpu.constraints_draft import Draft, Supplement, operand_tile

# Prefetching into shared memory, and the layouts in which threads copy to it.


PREFETCH = "prefetch_num_stages"
STAGES = (0, 2, 3)


def _open(draft: Draft) -> None:
    draft.remove(f"{PREFETCH} == ")
    stages = draft.value(PREFETCH)
    require(stages.is_one_of(STAGES), f"{PREFETCH} ({{}}) must be 0 (none), 2 or 3", stages)


def _even_copies(draft: Draft) -> None:
    """With three stages, each operand's tile is copied by all threads, the same number of elements each.

    ROCDLPrefetchSharedMemory keeps what is in flight in registers. A copy that some threads take no part in
    is guarded by `scf.if` and passes a dynamic private buffer on. The prefetcher carries the buffer around
    the loop, and PadDynamicAlloc then erases it: the compiler crashes, or makes a loop that does not verify
    (docs/upstream/prefetch_uneven_copy.md).
    """
    workload = draft.workload
    # Convolutions have their image and their batch for rows, their output channels for columns.
    m = ("m", "batch", "output_image") if is_convolution(workload) else ("m",)
    n = ("n", "output_channel")
    rows_and_columns = [
        [
            draft.value(f"wg_{loop}")
            for role in roles
            for loop in workload.role(role)
            if draft.has(f"wg_{loop}")
        ]
        for roles in (m, n)
    ]
    k = next(name for name in (f"red_{loop}" for loop in range(len(workload.loops))) if draft.has(name))
    *_, step = draft.mma_shape()
    depth, threads = product([draft.value(k), step]), draft.value("wg_size_x")
    even = [(product([*tiles, depth]) % threads).equals(0) for tiles in rows_and_columns]
    message = "with three prefetch stages, {} threads must share each operand's tile evenly"
    require(any_of([draft.value(PREFETCH) < max(STAGES), all_of(even)]), message, threads)


def _pin(draft: Draft) -> None:
    draft.remove(f"{PREFETCH} == ")
    stages = draft.value(PREFETCH)
    require(stages.equals(2), f"{PREFETCH} ({{}}) must be 2: it changes nothing on this target", stages)


def _is_open(draft: Draft) -> bool:
    return draft.limits.codegen.prefetches and draft.has(PREFETCH) and not draft.igemm


# The layouts that the compiler can spread over threads, for a read that is promoted to shared memory.
#
# In VectorDistribute, an operand that goes through shared memory is read by all threads of the workgroup,
# in a layout that is derived from its shape alone. Shapes that it cannot derive one for end the
# compilation with "failed to derive layout for promoted read-like op". Sources:
# materializeSharedMemoryPromotions in Common/GPU/GPUVectorAlloc.cpp, getVectorTileSizesFromLoopRanges in
# Dialect/GPU/IR/DerivedConfigUtils.cpp, getDerivedThreadLayout in Common/GPU/GPUNestedLayoutUtils.cpp.


COPY_BITS = 128
"""The bits that one thread reads at a time (kPreferredCopyNumBits)."""


def require_thread_layout(shape: Sequence[Integer | int], threads: Integer, bits: int, what: str) -> None:
    """The read of a tile of that shape (outermost first), with elements of so many bits, has a thread layout.

    Call with an insertion point in the op's body.
    """
    ranges = [integer(size) for size in shape]
    elements = _element_tiles(ranges, threads, max(1, COPY_BITS // bits))
    fits: list[Boolean] = []
    left = threads
    for size, element in reversed(list(zip(ranges, elements, strict=True))):
        fits.append((size % element).equals(0))
        pieces = size // element
        fits.append(any_of([(left % pieces).equals(0), (pieces % left).equals(0)]))
        left = left // at_most(left, pieces)
    message = (
        f"{what}: no thread layout can be derived for a tile whose innermost size is {{}} with {{}} threads"
    )
    require(all_of(fits), message, ranges[-1], threads)


def thread_layouts(*operands: str) -> Supplement:
    """The supplement for operands of these names, in their order."""

    def limit(draft: Draft) -> None:
        names = {
            loop: name
            for loop in range(len(draft.workload.loops))
            for name in (f"wg_{loop}", f"red_{loop}")
            if draft.has(name)
        }
        tiles: dict[int, Integer | int] = {loop: draft.value(name) for loop, name in names.items()}
        for operand, what in enumerate(operands):
            shape, bits = operand_tile(draft.workload, operand, tiles), draft.workload.types[operand].bits
            require_thread_layout(shape, draft.value("wg_size_x"), bits, what)

    return Supplement(
        name="thread layout",
        reason="GPUVectorAlloc refuses promoted reads for whose shape it cannot derive a thread layout",
        applies=lambda draft: draft.pipeline == "VectorDistribute",
        extend=limit,
    )


def _element_tiles(ranges: list[Integer], threads: Integer, vector: int) -> list[Integer]:
    """The elements that one thread reads at once along each dimension (getVectorTileSizesFromLoopRanges)."""
    trips = product(list(ranges))
    inner = ranges[-1]
    spread = (trips % threads).equals(0)
    most = if_else(spread, at_most(trips // threads, vector), constant(vector))
    regular = any_of([(inner % most).equals(0), (most % inner).equals(0)])
    smaller = at_most(inner, most)
    # Without remainder in trips, an irregular innermost size is read element by element.
    tiles = [if_else(any_of([~spread, regular]), smaller, 1)]
    collapsing = all_of([spread, regular, inner < most])
    left = most // smaller
    for size in reversed(ranges[:-1]):
        collapsing = all_of([collapsing, (left % size).equals(0)])
        tile = if_else(collapsing, size, 1)
        tiles.append(tile)
        left = left // tile
    return list(reversed(tiles))


# Other options of pipelines.


OPTIONS = "gpu_pipeline_options"
DENORMALS = "iree_codegen.denormal_fp_math_f32"

_WAVES = (2, 4)

CONFLICTS = "no_reduce_shared_memory_bank_conflicts"
_REORDER = "reorder_workgroups_strategy"


def pipeline_options(
    stages: ir.Attribute, rows_stay: ir.Attribute | None = None, *, igemm: bool = False
) -> ir.DictAttr:
    """The entry `gpu_pipeline_options`; `stages` are prefetched at once.

    Rows in shared memory are padded unless they `stay`; with `igemm`, patches of a convolution are gathered.
    """
    if rows_stay is None:
        rows_stay = ir.BoolAttr.get(False)
    entries = {PREFETCH: stages, CONFLICTS: rows_stay, "use_igemm_convolution": ir.BoolAttr.get(igemm)}
    return ir.DictAttr.get(entries)


def _open_conflicts(draft: Draft) -> None:
    draft.declare(CONFLICTS, (0, 1), "0 (rows in shared memory are padded) or 1 (they are not)")
    choice = one_of_attribute(CONFLICTS, [ir.BoolAttr.get(False), ir.BoolAttr.get(True)])
    _set_option(draft, CONFLICTS, choice)


def _open_reordering(draft: Draft) -> None:
    draft.declare(_REORDER, (0, 1), "0 (none) or 1 (transposed)")
    # `get` takes the enumeration's number: None is 0, Transpose is 1.
    strategies = [
        iree_gpu.ReorderWorkgroupsStrategyAttr.get(iree_gpu.ReorderWorkgroupsStrategy(i)) for i in (0, 1)
    ]
    _set_option(draft, _REORDER, one_of_attribute(_REORDER, strategies))


def _open_denormals(draft: Draft) -> None:
    draft.declare("flush_denormals", (0, 1), "0 (as they are) or 1 (flushed to zero)")
    kinds = [ir.UnitAttr.get(), flushed_denormals()]
    draft.set_entries(**{DENORMALS: one_of_attribute("flush_denormals", kinds)})


def _open_waves(draft: Draft) -> None:
    draft.declare("waves_per_eu", range(len(_WAVES) + 1), "0 (no wish), 1 (two) or 2 (four)")
    wishes = [ir.DictAttr.get({"amdgpu-waves-per-eu": ir.StringAttr.get(str(waves))}) for waves in _WAVES]
    draft.set_entries(**{"llvm_func_attrs": one_of_attribute("waves_per_eu", [ir.UnitAttr.get(), *wishes])})


def _set_option(draft: Draft, name: str, value: ir.Attribute) -> None:
    options = {named.name: named.attr for named in ir.DictAttr(draft.entries[OPTIONS])}
    draft.set_entries(**{OPTIONS: ir.DictAttr.get(options | {name: value})})


OPTION_SUPPLEMENTS = (
    Supplement(
        name="prefetch",
        reason="the emitter pins two stages; ROCDLPrefetchSharedMemory knows one to three",
        applies=_is_open,
        extend=_open,
    ),
    Supplement(
        name="prefetch, dead",
        reason="NVVM has no such pass, and IGEMM's loops are not of the form that ROCDL's takes: the number "
        "changes nothing there. The compiler's own choice is always two, the emitter's for IGEMM none",
        applies=lambda draft: draft.has(PREFETCH) and not _is_open(draft),
        extend=_pin,
    ),
    Supplement(
        name="even copies",
        reason="three stages crash ROCDLPrefetchSharedMemory where a copy is uneven (TileAndFuse)",
        applies=lambda draft: _is_open(draft) and draft.pipeline == "TileAndFuse",
        extend=_even_copies,
    ),
    Supplement(
        name="bank conflicts",
        reason="the emitter pins the padding of rows in shared memory (GPUReduceBankConflicts) to on",
        applies=lambda draft: OPTIONS in draft.entries,
        extend=_open_conflicts,
    ),
    Supplement(
        name="workgroup order",
        reason="the emitter leaves out the order of workgroups, which VectorDistribute's tiling takes",
        applies=lambda draft: OPTIONS in draft.entries and draft.pipeline == "VectorDistribute",
        extend=_open_reordering,
    ),
    Supplement(
        name="denormals",
        reason="the emitter leaves out the flushing of denormals, an attribute of the AMDGPU backend",
        applies=lambda draft: draft.limits.codegen.hints and OPTIONS in draft.entries,
        extend=_open_denormals,
    ),
    Supplement(
        name="waves",
        reason="the emitter leaves out how many waves an execution unit should hold at least, by which the "
        "AMDGPU backend limits registers",
        applies=lambda draft: draft.limits.codegen.hints and OPTIONS in draft.entries,
        extend=_open_waves,
    ),
)
"""For every family."""
