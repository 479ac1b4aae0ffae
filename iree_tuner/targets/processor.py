"""The processor of this machine."""

from __future__ import annotations

import platform
from pathlib import Path

_ROOT = Path("/")
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Other names of architectures, and LLVM's."""


def architecture() -> str:
    """This machine's, as LLVM's triples begin: `x86_64`, `aarch64`, `riscv64`."""
    machine = platform.machine().lower()
    return _ARCHITECTURES.get(machine, machine)


def processor_name(root: Path = _ROOT) -> str:
    """The CPU as it names itself, with family and model where it keeps its name to itself."""
    try:
        lines = (root / "proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    split = (line.partition(":") for line in lines)
    fields = {name.strip(): value.strip() for name, colon, value in split if colon}
    name = fields.get("model name", platform.machine())
    if "cpu family" in fields and "model" in fields:
        name = f"{name} (family {fields['cpu family']}, model {fields['model']})"
    return name
