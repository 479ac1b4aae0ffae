"""The Target value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Target:
    """Where code will run."""

    backend: str  # name of its kind (`targets.kind`): `llvm-cpu`, `cuda`, `hip` or `vulkan`
    chip: str  # what the backend compiles for: `host`, or the compiler's name of a chip
    device: str | None  # URI of the device that runs it, None for a target that is only compiled for
    flags: tuple[str, ...]
    # passes that bring a dispatch's function to the form that tuning specs see, in order
    preparation: tuple[str, ...]
    # passes that a spec may have to run itself before it matches (see docs/specs.md)
    spec_prologue: tuple[str, ...] = ()
    # options (`targets.find`) to try on a whole program: at most one of each axis; most promising first, as
    # there may not be time for all
    axes: tuple[tuple[str, ...], ...] = ()
    # the number of addresses at which code must be timed (see docs/measuring.md); 1 if they make no
    # difference
    placements: int = 1
    merging: tuple[str, ...] = ()  # passes that run after tuning specs and may have changed a dumped dispatch
    # text of the program's `hal.device.targets`, for a chip that the compiler's flags do not know; else empty
    device_targets: str = ""
    # the last of `flags` (which select it), which a user has added (`targets.find`)
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
