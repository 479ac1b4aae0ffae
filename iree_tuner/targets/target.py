"""The Target value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Target:
    """Where code will run.

    Attributes:
        backend: name of its kind (`targets.kind`): `llvm-cpu`, `cuda`, `hip` or `vulkan`.
        chip: what the backend compiles for: `host`, or the compiler's name of a chip.
        device: URI of the device that runs it, None for a target that is only compiled for.
        preparation: passes that bring a dispatch's function to the form that tuning specs see, in order.
        spec_prologue: passes that a spec may have to run itself before it matches (see docs/specs.md).
        axes: options (`targets.find`) to try on a whole program: at most one of each axis; most promising
            first, as there may not be time for all.
        placements: the number of addresses at which code must be timed (see docs/measuring.md); 1 if they
            make no difference.
        merging: passes that run after tuning specs and may have changed a dumped dispatch.
        device_targets: text of the program's `hal.device.targets`, for a chip that the compiler's flags do
            not know; else empty.
        user_flags: the last of `flags` (which select it), which a user has added (`targets.find`).
    """

    backend: str
    chip: str
    device: str | None
    flags: tuple[str, ...]
    preparation: tuple[str, ...]
    spec_prologue: tuple[str, ...] = ()
    axes: tuple[tuple[str, ...], ...] = ()
    placements: int = 1
    merging: tuple[str, ...] = ()
    device_targets: str = ""
    user_flags: tuple[str, ...] = ()

    @property
    def native(self) -> bool:
        """Whether it is the processor of the host that the compiler runs on."""
        return self.chip.partition("+")[0] == "host"

    def __str__(self) -> str:
        return f"{self.backend}:{self.chip}"


def with_flags(target: Target, flags: Sequence[str]) -> Target:
    """The target with more flags, each once."""
    return replace(target, flags=tuple(dict.fromkeys((*target.flags, *flags))))
