"""The Target value, and how it is written and found."""

from __future__ import annotations

from dataclasses import dataclass

from iree_tuner.errors import UsageError


@dataclass(frozen=True)
class Target:
    """Where code will run.

    Attributes:
        backend: compiler backend: `llvm-cpu`.
        chip: what the backend compiles for: `host`, or a CPU's name as LLVM knows it.
        device: URI of the device that runs it, None for a target that is only compiled for.
        flags: compiler flags that select it.
        preparation: passes that bring a dispatch's function to what tuning specs see, in order.
        spec_prologue: passes that a spec may have to run itself before it matches (see docs/specs.md).
        placements: at how many addresses code has to be tried for its time to mean something
            (see docs/measuring.md); 1 where it makes no difference.
    """

    backend: str
    chip: str
    device: str | None
    flags: tuple[str, ...]
    preparation: tuple[str, ...]
    spec_prologue: tuple[str, ...]
    placements: int = 1

    def __str__(self) -> str:
        return f"{self.backend}:{self.chip}"


def parse_target(text: str) -> Target:
    """Read `llvm-cpu:host` or `llvm-cpu:znver4`. Raises UsageError for a backend that is not supported."""
    from iree_tuner.targets import llvm_cpu

    backend, _, chip = text.partition(":")
    if backend != "llvm-cpu":
        raise UsageError(f"unknown target '{text}'", hint="supported here: llvm-cpu:host, llvm-cpu:<cpu>")
    return llvm_cpu.target(chip or "host", device=None)


def target_for_device(uri: str) -> Target:
    """The target that a device runs. Raises UsageError for a device that this version cannot tune on."""
    from iree_tuner.targets import llvm_cpu

    driver = uri.partition("://")[0]
    if driver not in llvm_cpu.DRIVERS:
        known = ", ".join(llvm_cpu.DRIVERS)
        raise UsageError(f"unknown device '{uri}'", hint=f"supported here: {known}")
    return llvm_cpu.target("host", device=uri)
