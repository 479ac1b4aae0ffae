"""What a machine can do: the facts that a model of costs needs, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Literal

_KINDS = ("cpu", "gpu")


@dataclass(frozen=True)
class Machine:
    """A CPU or a GPU in numbers; 0 where one is not known.

    Attributes:
        kind: `cpu` or `gpu`.
        name: as the machine names itself.
        units: cores that may be used, or multiprocessors.
        vector_bytes: width of a core's vector registers.
        registers: vector registers of a core, or 32-bit registers of a multiprocessor.
        near_bytes: first-level data cache of a core, or shared memory of a multiprocessor.
        middle_bytes: second-level cache of a core.
        last_bytes: last-level cache of all units.
    """

    kind: Literal["cpu", "gpu"]
    name: str = ""
    units: int = 0
    vector_bytes: int = 0
    registers: int = 0
    near_bytes: int = 0
    middle_bytes: int = 0
    last_bytes: int = 0


def to_json(machine: Machine) -> dict[str, object]:
    """As JSON-ready data."""
    return asdict(machine)


def from_json(data: Mapping[str, object]) -> Machine:
    """The machine again. Raises TypeError or ValueError for data that `to_json` did not write."""
    unknown = data.keys() - {each.name for each in fields(Machine)}
    if unknown:
        raise TypeError(f"unknown of a machine: {', '.join(sorted(unknown))}")
    if data.get("kind") not in _KINDS:
        raise ValueError(f"no kind of machine: {data.get('kind')!r}")
    for name, value in data.items():
        if name not in ("kind", "name") and (type(value) is not int or value < 0):
            raise TypeError(f"{name} of a machine is not a number of things")
    return Machine(**data)  # pyright: ignore[reportArgumentType]
