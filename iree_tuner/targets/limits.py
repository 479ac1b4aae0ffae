"""The limits of a target, read off the executable target attribute that the compiler attaches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.compiler.unbound import parameters_of
from iree_tuner.targets.kind import GpuCodegen, TargetKind
from iree_tuner.targets.llvm_cpu import LlvmCpu, chip_for
from iree_tuner.targets.registry import kind_named, kinds

_NATIVE_VECTORS = 512


@dataclass(frozen=True)
class CpuLimits:
    """Limits of an llvm-cpu target.

    `max_stack_bytes` is the most that a function may put on the stack (`LLVMCPUCheckIRBeforeLLVMConversion`).
    With `mmt4d_microkernel`, data-tiled matrices are multiplied by the compiler's microkernel.
    """

    native_vector_bytes: int = 16
    max_stack_bytes: int = 32768
    mmt4d_microkernel: bool = False

    @property
    def large_vector_bytes(self) -> int:
        """The size that no vector may reach: as many native ones (`LLVMCPUVerifyVectorSizeLegality`)."""
        return min(self.max_stack_bytes, _NATIVE_VECTORS * self.native_vector_bytes)

    @property
    def title(self) -> str:
        return LlvmCpu.title


@dataclass(frozen=True)
class GpuLimits:
    """Limits of a GPU target, from `#iree_gpu.target`."""

    backend: str  # name of its kind of target: `cuda`, `hip` or `vulkan`
    arch: str  # the compiler's name of the chip: `sm_80`, `gfx942`, `rdna3`
    features: str = ""  # the compiler's feature string: `+ptx76`, or SPIR-V's version and capabilities
    # threads that run in lockstep; the first is the one that the compiler prefers
    subgroup_sizes: tuple[int, ...] = (32,)
    # threads along x, y and z; `max_threads` in all
    max_workgroup_sizes: tuple[int, ...] = (1024, 1024, 1024)
    max_threads: int = 1024
    shared_memory_bytes: int = 49152  # for one workgroup
    max_load_bits: int = 128  # of one thread
    # names of the matrix instructions, as `iree_gpu.MMAIntrinsic` has them, without virtual ones;
    # `scaled_mma` are the block-scaled ones, printed
    mma: tuple[str, ...] = ()
    scaled_mma: tuple[str, ...] = ()

    @property
    def subgroup_size(self) -> int:
        return self.subgroup_sizes[0]

    @property
    def codegen(self) -> GpuCodegen:
        return kind_named(self.backend).codegen(self.arch)

    @property
    def title(self) -> str:
        return kind_named(self.backend).title or f"{self.backend}:{self.arch}"


Limits = CpuLimits | GpuLimits

_TARGET_INFO = "iree_codegen.target_info"


def limits_of(target: ir.Attribute) -> Limits:
    """Limits of a `#hal.executable.target` attribute, by its backend."""
    kind = _kind_of(target)
    if kind is not None and kind.is_gpu:
        return gpu_limits(target, kind.name)
    found = parameters_of(target)
    names = {"native_vector_bytes": "native_vector_size", "max_stack_bytes": "max_stack_allocation_size"}
    sizes = {field: ir.IntegerAttr(found[name]).value for field, name in names.items() if name in found}
    # Source: hasUkernel, Codegen/Utils/Utils.cpp. By default, x86-64 and AArch64 have mmt4d's.
    chosen = (_text(found, "ukernels") or "default").split(",")
    architecture = _text(found, "target_triple").partition("-")[0]
    usual = chosen == ["default"] and architecture in ("x86_64", "aarch64")
    return CpuLimits(mmt4d_microkernel=usual or chosen == ["all"] or "mmt4d" in chosen, **sizes)


def target_name(target: ir.Attribute) -> str:
    """`llvm-cpu:znver4`, `cuda:sm_80`, of a `#hal.executable.target`, as `--target` takes it.

    Without a chip if the attribute has none.
    """
    kind, found = _kind_of(target) or LlvmCpu(), parameters_of(target)
    if kind.is_gpu:
        if _TARGET_INFO not in found:  # without it, the bindings' accessor is a segmentation fault
            return kind.name
        arch = gpu_limits(target, kind.name).arch
        return f"{kind.name}:{dict(kind.renamed).get(arch, arch)}"
    return f"{kind.name}:{chip_for(_text(found, 'target_triple'), _text(found, 'cpu'))}"


def _kind_of(target: ir.Attribute) -> TargetKind | None:
    name = _first(r'hal\.executable\.target<"([\w-]+)"', str(target))
    return next((each for each in kinds().values() if each.executables == name), None)


def limits_from(data: dict[str, object]) -> Limits:
    """The inverse of `dataclasses.asdict`, for limits that were written as JSON."""
    kind = GpuLimits if "arch" in data else CpuLimits
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    return kind(**fields)  # pyright: ignore[reportArgumentType]


def _text(target: Mapping[str, ir.Attribute], name: str) -> str:
    return ir.StringAttr(target[name]).value if name in target else ""


def gpu_limits(target: ir.Attribute, backend: str) -> GpuLimits:
    """From `#hal.executable.target<"cuda", ..., {iree_codegen.target_info = #iree_gpu.target<...>}>`.

    `iree_gpu.TargetInfo` has most of it, and no accessor for the rest, which is searched in the printed form.
    """
    info = iree_gpu.TargetInfo.get_gpu_target_info(target)
    text = str(target)
    scaled = _first(r"scaled_mma = \[([^\]]*)\]", text)
    return GpuLimits(
        backend=backend,
        arch=str(info.arch),
        features=_first(r'features = "([^"]*)"', text),
        subgroup_sizes=tuple(info.subgroup_size_choices),
        max_workgroup_sizes=tuple(info.max_workgroup_sizes),
        max_threads=info.max_thread_count_per_workgroup,
        shared_memory_bytes=info.max_workgroup_memory_bytes,
        max_load_bits=int(_first(r"max_load_instruction_bits = (\d+)", text) or 128),
        mma=tuple(each.name for each in info.mma_intrinsics if isinstance(each, iree_gpu.MMAIntrinsic)),
        # IR as text: no accessor: `TargetInfo` leaves them out
        scaled_mma=tuple(re.findall(r"<([^<>]*)>", scaled)),
    )


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found.group(1) if found else ""
