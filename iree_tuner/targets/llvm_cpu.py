"""CPUs through LLVM, run by the `local-task` and `local-sync` drivers."""

from __future__ import annotations

from iree_tuner.errors import UsageError
from iree_tuner.targets.kind import FoundDevice, RuntimeFlag, RuntimeFlags, TargetKind
from iree_tuner.targets.options import LEVELS, flags_of
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
"""Options that decide what a program's dispatches are; see `Target.axes`. Of single ones data tiling won
most, by up to 2.8 times (docs/models.md)."""


_SHARED_CACHE = 4  # cores: processors with fewer have one cache that all share

# Elementwise ops are put into their users. A dispatch that was dumped may be what it has made.
_MERGING = ("iree-codegen-rematerialize-parallel-ops",)


class LlvmCpu(TargetKind):
    """CPUs by LLVM's name (`znver4`), or `host`, with options after `+`: `host+data-tiling`."""

    name = "llvm-cpu"
    drivers = ("local-task", "local-sync")
    executables = "llvm-cpu"
    title = "llvm-cpu"
    on_host = True
    one_core = ("local-sync",)
    names_chips = True
    memory_checker = "guard pages"

    def target(self, chip: str, device: str | None) -> Target:
        """See `TargetKind.target`."""
        driver, _, path = (device or "").partition("://")
        if path.partition("?")[0]:
            raise UsageError(f"no device '{device}'", hint=f"the CPU is {driver}")
        chip = chip or "host"
        cpu, *options = chip.split("+")
        return Target(
            backend=self.name,
            chip=chip,
            device=device,
            flags=(
                "--iree-hal-target-device=local",
                "--iree-hal-local-target-device-backends=llvm-cpu",
                f"--iree-llvmcpu-target-cpu={cpu or 'host'}",
                *flags_of(self.name, options, OPTIONS),
            ),
            preparation=_PREPARATION,
            spec_prologue=(*(_DATA_TILING_PROLOGUE if _DATA_TILING in options else ()), *_SPEC_PROLOGUE),
            axes=AXES,
            placements=4,  # the four multiples of 16 in a cache line of 64 bytes
            merging=_MERGING,
        )

    def devices(self) -> tuple[FoundDevice, ...]:
        """The processor, by each of its drivers."""
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


def host_target() -> Target:
    """This machine's processor, for code that is compiled in addition to a target's."""
    return LlvmCpu().target("host", None)
