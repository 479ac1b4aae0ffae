"""Find a target by what a user writes."""

from __future__ import annotations

from iree_tuner.errors import UsageError
from iree_tuner.targets import llvm_cpu
from iree_tuner.targets.target import Target


def parse_target(text: str) -> Target:
    """Read `llvm-cpu:host` or `llvm-cpu:znver4`. Raises UsageError for a backend that is not supported."""
    backend, _, chip = text.partition(":")
    if backend != "llvm-cpu":
        raise UsageError(f"unknown target '{text}'", hint="supported here: llvm-cpu:host, llvm-cpu:<cpu>")
    return llvm_cpu.target(chip or "host", device=None)


def target_for_device(uri: str) -> Target:
    """The target that a device runs. Raises UsageError for a device that this version cannot tune on."""
    driver = uri.partition("://")[0]
    if driver not in llvm_cpu.DRIVERS:
        known = ", ".join(llvm_cpu.DRIVERS)
        raise UsageError(f"unknown device '{uri}'", hint=f"supported here: {known}")
    return llvm_cpu.target("host", device=uri)
