"""A study: all trials of one space that may stand for each other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import msgspec

from iree_tuner.files import refuse_unknown
from iree_tuner.ops import workload as workloads
from iree_tuner.ops.workload import Workload
from iree_tuner.store.trial import Setting

KERNEL = "kernel:"
"""How the label of a space begins whose members are variants of an external kernel; its name follows."""


@dataclass(frozen=True)
class StudyKey:
    """The facts that must be equal for a trial to be used again; the last two only describe."""

    setting: Setting  # compiler, target, driver, flags, device and protocol
    workload: Workload  # the root op, with the sizes that stand for its dynamic loops
    # fingerprint of the whole dispatch: another epilogue is another study. Of an external kernel's problem,
    # the problem's own text counts too
    code: str
    space: str  # hash of the constraint IR; of an external kernel, of all that its code is made of
    space_label: str  # what people call the space
    space_size: int  # how many members it has

    @property
    def kernel(self) -> str:
        """Name of the external kernel whose variants were tried; empty for configurations."""
        return self.space_label.removeprefix(KERNEL) if self.space_label.startswith(KERNEL) else ""

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits, equal for keys whose trials may stand for each other."""
        data = to_json(self)
        del data["space_label"], data["space_size"]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def to_json(key: StudyKey) -> dict[str, object]:
    """The key as JSON-ready data."""
    rest = {name: getattr(key, name) for name in ("code", "space", "space_label", "space_size")}
    return {"setting": asdict(key.setting), "workload": workloads.to_json(key.workload), **rest}


def from_json(data: Mapping[str, object]) -> StudyKey:
    """The key again. Raises ValueError for data that `to_json` did not write."""
    read = {**data, "workload": workloads.from_json(msgspec.convert(data.get("workload"), dict[str, object]))}
    found = msgspec.convert(read, StudyKey, from_attributes=True)
    refuse_unknown(data, msgspec.to_builtins(found))
    return found
