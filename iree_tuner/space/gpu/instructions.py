"""The matrix instructions that fit a contraction's types, by the compiler's own rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import cast

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.ops.element_type import ElementType
from iree_tuner.targets import GpuLimits

Instruction = iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr

_BLOCK = re.compile(r"_(\d+)x(\d+)x(\d+)x(\d+)B_")
"""In names of instructions for several blocks at once, as in `MFMA_F32_4x4x4x16B_F16`: m, n, k, blocks."""

_WITHOUT_LAYOUT = ("NV_WMMA",)
"""Starts of names of instructions without a layout by which the compiler could distribute operands."""

_SPARSE = "VDMFMA"

_VERY_SKINNY = 4
"""With no more rows or columns, a contraction goes to reductions (kVerySkinnyDimThreshold)."""


def fitting_instructions(
    types: Sequence[ElementType], rows: int, columns: int, limits: GpuLimits
) -> list[iree_gpu.MMAAttr]:
    """Instructions that getCompatibleMMAAttrs (LLVMGPUConstraintGenerator.cpp) takes.

    `types` are the element types of left, right and result; `rows` and `columns` the products of all m and n
    loops. All instructions of a target run on subgroups of the size that it prefers, so this is not checked.
    """
    if min(rows, columns) <= _VERY_SKINNY and max(rows, columns) > limits.subgroup_size:
        return []
    found: list[iree_gpu.MMAAttr] = []
    for name in dict.fromkeys(limits.mma):
        if _BLOCK.search(name) or name.startswith(_WITHOUT_LAYOUT):
            continue
        mma = iree_gpu.MMAAttr.get(iree_gpu.MMAIntrinsic[name])
        assert isinstance(mma, iree_gpu.MMAAttr)
        if _fits(mma, types):
            found.append(mma)
    return found


def block_instructions(types: Sequence[ElementType], batch: int, limits: GpuLimits) -> list[iree_gpu.MMAAttr]:
    """Fitting instructions that compute several blocks, each an element of a batch.

    `batch` is the size of the batch's innermost loop, which the number of blocks must divide.
    """
    found: list[iree_gpu.MMAAttr] = []
    for intrinsic, (_, _, _, blocks) in _blocks():
        mma = iree_gpu.MMAAttr.get(intrinsic)
        assert isinstance(mma, iree_gpu.MMAAttr)
        if intrinsic.name in limits.mma and _fits(mma, types) and batch % blocks == 0:
            found.append(mma)
    return found


def shape_of(mma: ir.Attribute) -> tuple[int, int, int]:
    """Rows, columns and depth of a matrix instruction; of one for blocks, of a block.

    The bindings' own shape of one for blocks is blocks, rows and columns (docs/upstream/bindings.md).
    """
    found = _block_of(mma)
    if found is not None:
        m, n, k, _ = found
        return m, n, k
    if isinstance(mma, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr):
        m, n, k = mma.mnk_shape
        return m, n, k
    raise TypeError(f"not a matrix instruction: {mma}")


def divides(mma: ir.Attribute, sizes: Sequence[int]) -> bool:
    """Whether an instruction divides m, n and k."""
    return all(size % step == 0 for size, step in zip(sizes, shape_of(mma), strict=True))


def blocks_of(mma: ir.Attribute) -> int:
    """The number of blocks that an instruction computes at once."""
    found = _block_of(mma)
    return found[3] if found is not None else 1


def sparse_instructions(
    types: Sequence[ElementType], rows: int, depth: int, limits: GpuLimits
) -> list[iree_gpu.VirtualMMAAttr]:
    """Instructions of few rows that are made of those for sparse operands.

    The compiler's own choice takes them (VDMFMA, getMatmulOrIGEMMLoweringConfigAndWorkgroupSize); its
    constraints leave them out. `rows` is the product of all m loops, `depth` the length of the reduction.
    """
    found: list[iree_gpu.VirtualMMAAttr] = []
    for name in dict.fromkeys(limits.mma):
        mma = iree_gpu.MMAAttr.get(iree_gpu.MMAIntrinsic[name])
        assert isinstance(mma, iree_gpu.MMAAttr)
        variants = cast("list[iree_gpu.VirtualMMAIntrinsic]", mma.get_virtual_intrinsics())
        for each in variants:
            made = iree_gpu.VirtualMMAAttr.get(each)
            assert isinstance(made, iree_gpu.VirtualMMAAttr)
            most, _, step = made.mnk_shape
            if each.name.startswith(_SPARSE) and _fits(made, types) and rows <= most and depth % step == 0:
                found.append(made)
    return list(dict.fromkeys(found))


def needs_separate_accumulation(mmas: Sequence[ir.Attribute]) -> bool:
    """Whether a configuration with these carries `convert_acc_gemm`, which all of NVIDIA's mma.sync do.

    getMatmulOrIGEMMLoweringConfigAndWorkgroupSize in ConfigUtils.cpp (iree-org/iree issue 23370).
    """
    return any(name_of(mma).startswith("NV_MMA_SYNC") for mma in mmas)


def name_of(mma: ir.Attribute) -> str:
    """`MFMA_F32_16x16x16_F16`; empty for an attribute that is not a plain matrix instruction."""
    plain = isinstance(mma, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr)
    return _intrinsic_of(mma).name if plain else ""


def column_major(mma: ir.Attribute) -> ir.Attribute:
    """The instruction with its operands exchanged."""
    kind = iree_gpu.VirtualMMAAttr if isinstance(mma, iree_gpu.VirtualMMAAttr) else iree_gpu.MMAAttr
    return kind.get(_intrinsic_of(mma), True, ctx=mma.context)


def _intrinsic_of(mma: ir.Attribute) -> iree_gpu.MMAIntrinsic | iree_gpu.VirtualMMAIntrinsic:
    """Found by building it again: the attribute does not give its number (docs/upstream/bindings.md)."""
    if isinstance(mma, iree_gpu.VirtualMMAAttr):
        kind, numbers = iree_gpu.VirtualMMAAttr, iree_gpu.VirtualMMAIntrinsic
    else:
        kind, numbers = iree_gpu.MMAAttr, iree_gpu.MMAIntrinsic
    known = {
        kind.get(each, exchanged, ctx=mma.context): each for each in numbers for exchanged in (False, True)
    }
    return known[mma]


def _block_of(mma: ir.Attribute) -> tuple[int, int, int, int] | None:
    """Rows, columns, depth and number of an instruction's blocks; None for one without."""
    return {iree_gpu.MMAAttr.get(each, ctx=mma.context): sizes for each, sizes in _blocks()}.get(mma)


@cache
def _blocks() -> tuple[tuple[iree_gpu.MMAIntrinsic, tuple[int, int, int, int]], ...]:
    found = ((each, _BLOCK.search(each.name)) for each in iree_gpu.MMAIntrinsic)
    return tuple(
        (each, (int(name[1]), int(name[2]), int(name[3]), int(name[4])))
        for each, name in found if name is not None
    )  # fmt: skip


def _fits(mma: Instruction, types: Sequence[ElementType]) -> bool:
    """All types equal. canTargetIntrinsic takes wider accumulators too, but nothing converts the result.

    See `gpu/contraction.py`, and docs/upstream/narrow_result.md.
    """
    return tuple(map(ElementType.of, mma.abc_element_types)) == (types[0], types[1], types[-1])
