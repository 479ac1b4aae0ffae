"""The abilities of a machine: the facts that a model of costs needs, as plain data."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from iree_tuner.files import data_of

Amount = Annotated[int, msgspec.Meta(ge=0)]
"""A number of things."""


@dataclass(frozen=True)
class Machine:
    """A CPU or a GPU in numbers; 0 for an unknown one.

    `units` are cores that may be used, or multiprocessors. A core has vector registers of `vector_bytes`,
    first-level data cache (`near_bytes`) and second-level cache (`middle_bytes`); a multiprocessor 32-bit
    registers and shared memory (`near_bytes`). `last_bytes` is the last-level cache of all units.
    """

    kind: Literal["cpu", "gpu"]
    name: str = ""
    units: Amount = 0
    vector_bytes: Amount = 0
    registers: Amount = 0
    near_bytes: Amount = 0
    middle_bytes: Amount = 0
    last_bytes: Amount = 0


def to_json(machine: Machine) -> dict[str, object]:
    """As JSON-ready data."""
    return asdict(machine)


def from_json(data: Mapping[str, object]) -> Machine:
    """The machine again. Raises ValueError for data that `to_json` did not write."""
    return data_of(data, Machine)


# The processor of this machine.


_ROOT = Path("/")
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Other names of architectures, and LLVM's."""


def architecture() -> str:
    """This machine's, as LLVM's triples begin: `x86_64`, `aarch64`, `riscv64`."""
    machine = platform.machine().lower()
    return _ARCHITECTURES.get(machine, machine)


def processor_name(root: Path = _ROOT) -> str:
    """The CPU as it names itself, with family and model, or an Arm core's maker and part."""
    try:
        lines = (root / "proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    split = (line.partition(":") for line in lines)
    fields = {name.strip(): value.strip() for name, colon, value in split if colon}
    name = fields.get("model name") or fields.get("uarch") or platform.machine()
    if "cpu family" in fields and "model" in fields:
        name = f"{name} (family {fields['cpu family']}, model {fields['model']})"
    if "CPU implementer" in fields and "CPU part" in fields:
        name = f"{name} (implementer {fields['CPU implementer']}, part {fields['CPU part']})"
    return name
