"""CPUs through LLVM, run by the `local-task` and `local-sync` drivers."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.errors import UsageError
from iree_tuner.targets.find import LEVELS, flags_of
from iree_tuner.targets.kind import FoundDevice, RuntimeFlag, RuntimeFlags, TargetKind
from iree_tuner.targets.machine import architecture
from iree_tuner.targets.target import Target

# The passes that run before MaterializeTuningSpecs. Source: addCommonTargetExecutablePreprocessingPasses,
# iree/compiler/Codegen/Common/Passes.cpp. Matchers made from what these leave must fire in the compiler's
# own pipeline: test/unit/ops/test_matchers_in_pipeline.py.
_PREPARATION = (
    "iree-codegen-type-propagation",
    "iree-codegen-bubble-up-ordinal-ops",
    "iree-codegen-bufferize-copy-only-dispatches",
    "iree-codegen-decompose-softmax",
    "iree-linalg-ext-convert-attention-to-online-attention",
)

# Runs after tuning specs, and replaces a convolution whose batch of 1 was folded away by one with a
# batch, without the configuration that a spec has put on it. A spec that runs it first keeps it.
_SPEC_PROLOGUE = ("iree-codegen-insert-batch-dim-for-batchless-conv",)


# Makes mmt4d ops of data-tiled contractions. It runs after tuning specs, and what a spec has put on the
# contraction is gone then. A spec that runs it first meets the mmt4d op, and configures that.
_DATA_TILING_PROLOGUE = ("iree-codegen-materialize-device-encoding",)

_DATA_TILING = "data-tiling"
_TRIPLE = "--iree-llvmcpu-target-triple"
ARCHITECTURES: dict[str, tuple[str, ...]] = {
    "aarch64": (f"{_TRIPLE}=aarch64-linux-gnu",),
    "riscv64": (f"{_TRIPLE}=riscv64-linux-gnu", "--iree-llvmcpu-target-abi=lp64d"),
    "x86_64": (f"{_TRIPLE}=x86_64-linux-gnu",),
}
"""Those whose names may stand before a CPU, and the flags that select them."""

_GENERIC = "generic"
_GENERIC_FEATURES = {"riscv64": ("--iree-llvmcpu-target-cpu-features=+m,+a,+f,+d,+c",)}
"""Of a generic CPU: LLVM's for RISC-V computes no floats, and those of Linux distributions do."""

OPTIONS = {
    _DATA_TILING: "--iree-opt-data-tiling",
    "no-microkernels": "--iree-llvmcpu-enable-ukernels=none",
    "all-microkernels": "--iree-llvmcpu-enable-ukernels=all",
    "im2col": "--iree-global-opt-use-im2col-for-convs",
    **LEVELS,
}
"""The options in addition to a CPU, and their flags."""

AXES = (
    (_DATA_TILING, f"{_DATA_TILING}+no-microkernels", f"{_DATA_TILING}+all-microkernels"),
    ("im2col",),
    tuple(LEVELS),
)
"""Options that decide what a program's dispatches are; see `Target.axes`. Data tiling is tried first."""


_SHARED_CACHE = 4  # cores: processors with fewer have one cache that all share

# Puts elementwise ops into their users. It may have run on a dumped dispatch.
_MERGING = ("iree-codegen-rematerialize-parallel-ops",)


class LlvmCpu(TargetKind):
    """CPUs by LLVM's name (`znver4`), or `host`, with options after `+`: `host+data-tiling`.

    A CPU of another architecture has that name in front: `aarch64-cortex-x3`; `aarch64` is any of them.
    """

    name = "llvm-cpu"
    drivers = ("local-task", "local-sync")
    executables = "llvm-cpu"
    title = "llvm-cpu"
    on_host = True
    one_core = ("local-sync",)
    names_chips = True
    memory_checker = "guard pages"

    def target(self, chip: str, device: str | None) -> Target:
        driver, _, path = (device or "").partition("://")
        if path.partition("?")[0]:
            raise UsageError(f"no device '{device}'", hint=f"the CPU is {driver}")
        base, *options = (chip or "host").split("+")
        if base in ARCHITECTURES and options and options[0] not in OPTIONS:
            base = f"{base}-{options.pop(0)}"  # `aarch64+cortex-x3`, as some write it
        found, cpu = _parts(base or "host")
        if device is not None and found not in ("", architecture()):
            raise UsageError(
                f"{driver} runs {architecture()} code, not {found} code",
                hint="compile, space and spec take it as --target",
            )
        return Target(
            backend=self.name,
            chip="+".join((base or "host", *options)),
            device=device,
            flags=(
                "--iree-hal-target-device=local",
                "--iree-hal-local-target-device-backends=llvm-cpu",
                *ARCHITECTURES.get(found, ()),
                f"--iree-llvmcpu-target-cpu={cpu}",
                *(_GENERIC_FEATURES.get(found, ()) if cpu == _GENERIC else ()),
                *flags_of(self.name, options, OPTIONS),
            ),
            preparation=_PREPARATION,
            spec_prologue=(*(_DATA_TILING_PROLOGUE if _DATA_TILING in options else ()), *_SPEC_PROLOGUE),
            axes=AXES,
            placements=4,  # the four multiples of 16 in a cache line of 64 bytes
            merging=_MERGING,
        )

    def chip_on(self, chip: str, architecture: str) -> str:
        """See `TargetKind.chip_on`."""
        base, plus, options = chip.partition("+")
        keeps = base in ("", "host") or _parts(base)[0]
        return chip if keeps else f"{chip_for(architecture, base)}{plus}{options}"

    def check_flags(self, target: Target, flags: Sequence[str]) -> None:
        """Raises UsageError for a triple of another architecture than the device's, or the `host`'s."""
        own = _parts(target.chip.partition("+")[0])[0] or architecture()
        for flag in flags:
            name, _, triple = flag.partition("=")
            named = triple.partition("-")[0]
            named = {"arm64": "aarch64"}.get(named, named)
            if name == _TRIPLE and named != own and (target.device is not None or target.native):
                what = f"{target.device} runs" if target.device is not None else "the CPU 'host' is for"
                hint = f"compile, space and spec take --target {self.name}:{named}"
                raise UsageError(f"{flag} is for {named}, but {what} {own} code", hint=hint)

    def devices(self) -> tuple[FoundDevice, ...]:
        return tuple(map(FoundDevice, self.drivers))

    def runtime_flags(self, device: str, cores: int) -> RuntimeFlags:
        """For `local-task`: how long workers spin before they sleep, their number, and the cores they use."""
        if device in self.one_core or "?" in device:  # whose URI has the number of workers
            return ()
        found: list[tuple[str, object, object]] = [("--task_worker_spin_us", each, 0) for each in (20, 200)]
        fewer = sorted({cores // 2, 1} - {0, cores}, reverse=True)
        found += [("--task_topology_max_group_count", each, 64) for each in fewer]
        if cores > _SHARED_CACHE:
            found.append(("--task_topology_distribution", "compact", "scatter"))
        return tuple(RuntimeFlag(f"{name}={value}", f"{name}={default}") for name, value, default in found)


def chip_for(triple: str, cpu: str) -> str:
    """A CPU as users write it: with its architecture, if that is not this machine's."""
    found = triple.partition("-")[0]
    if found in ("", architecture()):
        return cpu or _GENERIC
    return found if cpu in ("", _GENERIC) else f"{found}-{cpu}"


def _parts(base: str) -> tuple[str, str]:
    """The architecture, empty if none is named, and the CPU of a chip without options.

    Raises UsageError for the `host` of another architecture.
    """
    found, dash, cpu = base.partition("-")
    if found not in ARCHITECTURES:
        return "", base
    if cpu == "host" and found != architecture():
        raise UsageError(f"the host is {architecture()}, not {found}", hint=f"name a CPU: {found}-NAME")
    if dash and not cpu:
        raise UsageError(f"'{base}' names no CPU", hint=f"{found} is any CPU of that architecture")
    return found, cpu or _GENERIC


def host_target() -> Target:
    """This machine's processor, for code that is compiled in addition to a target's."""
    return LlvmCpu().target("host", None)
