"""The contract of a target: all that depends on the backend that compiles, and on the devices that run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from iree_tuner.errors import UsageError
from iree_tuner.targets.target import Target


@dataclass(frozen=True)
class FoundDevice:
    """A device of this machine; `name` and `chip` are empty for the processor."""

    uri: str
    name: str = ""
    uuid: str = ""
    chip: str = ""


@dataclass(frozen=True)
class RuntimeFlag:
    """A flag of the runtime that a device is opened with: `--task_worker_spin_us=20`.

    `default` is the same flag with its default value.
    """

    text: str
    default: str

    @property
    def name(self) -> str:
        """The flag without its value."""
        return self.text.partition("=")[0]


RuntimeFlags = tuple[RuntimeFlag, ...]


@dataclass(frozen=True)
class GpuCodegen:
    """The abilities of code generation for a GPU, beyond the numbers of `#iree_gpu.target`."""

    spirv: bool = False  # whether its pipelines are SPIR-V's, and not LLVMGPU's
    prefetches: bool = False  # whether a pass fetches ahead into shared memory (ROCDLPrefetchSharedMemory)
    # the only subgroup sizes that the backend takes; empty if it does not check them
    subgroups: tuple[int, ...] = ()
    hints: bool = False  # whether functions take attributes of LLVM's AMDGPU backend: waves, denormals
    pads_reductions: bool = True  # whether the padding of a reduction adds nothing to its sums
    direct_loads: bool = False  # whether copies into shared memory need not pass registers
    shuffles: bool = True  # whether the lanes of a subgroup exchange values
    accumulators: int = 256  # 32-bit registers of a thread that sums may take


@runtime_checkable
class TargetKind(Protocol):
    """A compiler backend and the devices that run its code. Inherit from it: most members have defaults.

    It is loaded in every process, also in ones that measure: do not import the compiler or the runtime.
    """

    name: str  # the part of a target before the colon; equal to the entry point's
    drivers: tuple[str, ...]  # the beginnings of the URIs of its devices: `cuda` for `cuda://0`
    executables: str  # the compiler's name of the backend in `#hal.executable.target`: `rocm`
    usual: bool = True  # whether it compiles for its devices if no target is named
    title: str = ""  # for people, if not its name and its chip
    is_gpu: bool = False  # whether limits and pipelines are GPUs'
    on_host: bool = False  # whether its devices compute on the host's own cores
    one_core: tuple[str, ...] = ()  # its drivers that use one core only
    chips: tuple[str, ...] = ()  # all that it compiles for; empty if any name may be right
    # names of chips in executables, with the names that users write
    renamed: tuple[tuple[str, str], ...] = ()
    names_chips: bool = False  # whether a device's driver reports its chip
    emits_constraints: bool = False  # whether the compiler has constraints for its dispatches
    compiles_on_load: bool = False  # whether a driver compiles when an executable is loaded, which takes time
    # whether calls that allocate memory take varying time: programs are compared with memory from the caller
    varying_allocations: bool = False
    # whether one device may have several drivers, which must then be distinguished
    several_drivers: bool = False
    # the tool that detects accesses beyond the end of memory, if any
    memory_checker: Literal["", "guard pages", "compute-sanitizer"] = ""

    def target(self, chip: str, device: str | None) -> Target:
        """The target for a chip, with options after `+`: `sm_80`, `host+data-tiling`; `host` is the device's.

        Without a device, it is only compiled for. Raises UsageError for an unknown chip, option or device.
        """
        ...

    def chip_of(self, device: str) -> str:
        """The target to compile for on a device. Raises UsageError if its driver does not report it."""
        known = ", ".join(self.chips[:8])
        raise UsageError(
            f"the chip of '{device}' is unknown, because its driver is not available",
            hint=f"pass --chip: {known}, ...",
        )

    def chip_on(self, chip: str, architecture: str) -> str:
        """A chip that hosts of that architecture have, as it is called on this one."""
        return chip

    def check_flags(self, target: Target, flags: Sequence[str]) -> None:
        """Raises UsageError for a user's flags that select another target."""
        del target, flags

    def devices(self) -> tuple[FoundDevice, ...]:
        """The devices of this machine that are found without opening them."""
        return ()

    def runtime_flags(self, device: str, cores: int) -> RuntimeFlags:
        """Flags of the runtime that may make a program faster on a device of a host with `cores` cores."""
        return ()

    def codegen(self, arch: str) -> GpuCodegen:
        """The abilities of code generation for a GPU, by the compiler's name of its architecture."""
        return GpuCodegen()

    def float8(self, chip: str) -> str:
        """The element type of 8 bits that its chips multiply."""
        return "f8E4M3FN"
