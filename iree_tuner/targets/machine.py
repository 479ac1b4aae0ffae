"""The abilities of a machine: the facts that a model of costs needs, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import msgspec

from iree_tuner.files import data_of

Amount = Annotated[int, msgspec.Meta(ge=0)]
"""A number of things."""


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
