"""A target from outside: code for any processor of this machine's architecture, run by the same drivers."""

from __future__ import annotations

from dataclasses import replace

from iree_tuner.errors import UsageError
from iree_tuner.targets.llvm_cpu import LlvmCpu
from iree_tuner.targets.target import Target


class PortableCpu(LlvmCpu):
    """`portable-cpu:generic`, with the options of CPUs. It has to be asked for by name."""

    name = "portable-cpu"
    title = "portable CPU"
    usual = False
    chips = ("generic",)

    def target(self, chip: str, device: str | None) -> Target:
        """The baseline that LLVM calls generic, with less room on the stack, as small threads have."""
        if chip.partition("+")[0] not in self.chips:
            raise UsageError(f"unknown target '{self.name}:{chip}'", hint=f"{self.name}:generic")
        found = super().target(chip, device)
        return replace(found, flags=(*found.flags, "--iree-llvmcpu-stack-allocation-limit=16384"))
