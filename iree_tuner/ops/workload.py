"""Workloads: root ops as plain data."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Literal

import msgspec

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap

Iterator = Literal["parallel", "reduction"]

NO_LOOPS = "it has no loops: there is nothing to tile"
"""Why an op on tensors without dimensions is not tuned."""


@dataclass(frozen=True)
class Companion:
    """Another compute op of the same dispatch that needs a configuration of its own.

    `shared` gives, for each of its loops, the root op's loop that walks the same data, or None.
    """

    label: str
    op: str
    loops: tuple[int, ...]
    iterators: tuple[Iterator, ...]
    shared: tuple[int | None, ...]


@dataclass(frozen=True)
class DynamicLoop:
    """A loop whose size is known only at run time, and the program's facts about it."""

    loop: int
    lower: int = 0
    upper: int | None = None
    multiple: int = 1

    def allows(self, size: int) -> bool:
        """Whether the loop may have that size."""
        return self.lower <= size <= (size if self.upper is None else self.upper) and not size % self.multiple

    def __str__(self) -> str:
        """`16 to 4096 in steps of 16`."""
        bounds = f"{self.lower} or more" if self.upper is None else f"{self.lower} to {self.upper}"
        return bounds if self.multiple == 1 else f"{bounds} in steps of {self.multiple}"


@dataclass(frozen=True)
class Workload:
    """A dispatch's root op: everything that a matcher compares and a search space is built from.

    Workloads that differ only in the sizes that stand for dynamic loops are equal: one matcher finds both.
    """

    family: str
    op: str  # its name for people and file names: `matmul`, `batch_matmul`, `conv`, `softmax`
    # sizes; for a dynamic loop the size that stands for all of its sizes, 0 until one is chosen
    loops: tuple[int, ...]
    iterators: tuple[Iterator, ...]
    types: tuple[ElementType, ...]  # element types of the operands, results' inits last: f16, f16, f32
    maps: tuple[IndexingMap, ...]  # indexing maps, one an operand
    # the loops of each role: `(("m", (0,)), ("n", (1,)), ("k", (2,)))`
    roles: tuple[tuple[str, tuple[int, ...]], ...] = ()
    # integers other than sizes: `(("strides", (1, 1)), ("dilations", (1, 1)))`
    parameters: tuple[tuple[str, tuple[int, ...]], ...] = ()
    companions: tuple[Companion, ...] = ()  # other ops that are configured with the root op
    dag: str = ""  # for families that match by structure, the ops to match as the text of a module, canonical
    # passes that must have run for the op to look like this; a spec for it runs them first
    prologue: tuple[str, ...] = ()
    dynamic: tuple[DynamicLoop, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def role(self, *names: str) -> tuple[int, ...]:
        """Loops that play a part, or one of several, in the order of these."""
        loops = dict(self.roles)
        return tuple(loop for name in names for loop in loops.get(name, ()))

    def plays(self, roles: Sequence[str]) -> bool:
        """Whether its loops play exactly these parts, each any number of loops."""
        return sorted(name for name, _ in self.roles) == sorted(roles)

    def sizes(self, role: str) -> tuple[int, ...]:
        return tuple(self.loops[loop] for loop in self.role(role))

    def dynamic_loop(self, loop: int) -> DynamicLoop | None:
        return next((each for each in self.dynamic if each.loop == loop), None)

    def with_companions_sized(self) -> Workload:
        """With the sizes of companions' dynamic loops, which are 0, set to those of the root's loops."""
        if not self.dynamic:
            return self
        companions = tuple(
            replace(each, loops=tuple(
                size if size or shared is None else self.loops[shared]
                for size, shared in zip(each.loops, each.shared, strict=True)
            ))
            for each in self.companions
        )  # fmt: skip
        return replace(self, companions=companions)

    def parameter(self, name: str) -> tuple[int, ...]:
        """Values of a parameter; empty if the family has none of that name."""
        return dict(self.parameters).get(name, ())

    @property
    def parallel(self) -> tuple[int, ...]:
        """The parallel loops."""
        return tuple(loop for loop, kind in enumerate(self.iterators) if kind == "parallel")

    @property
    def reduced(self) -> tuple[int, ...]:
        """The reduction loops."""
        return tuple(loop for loop, kind in enumerate(self.iterators) if kind == "reduction")

    @property
    def reduction_length(self) -> int:
        """The number of values in one result: the product of the reduction loops."""
        return math.prod(self.loops[loop] for loop in self.reduced)

    @property
    def name(self) -> str:
        """Readable and short, like `matmul_512x768x1024_f32_f32_f32`. Not unique: see `key`.

        Dynamic loops are a `D`, as in the compiler's names of dispatches.
        """
        sizes = "x".join("D" if self.dynamic_loop(i) else str(size) for i, size in enumerate(self.loops))
        sizes = sizes or "scalar"
        return "_".join((self.op, sizes, *map(str, self.types)))

    @cached_property
    def key(self) -> str:
        """Sixteen hexadecimal digits that stand for all that a matcher compares."""
        data = to_json(replace(self, loops=self._matched_loops))
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def _matched_loops(self) -> tuple[int, ...]:
        open_loops = {each.loop for each in self.dynamic}
        return tuple(0 if loop in open_loops else size for loop, size in enumerate(self.loops))

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return tuple({**values, "loops": self._matched_loops}.values())


def to_json(workload: Workload) -> dict[str, object]:
    """The workload as JSON-ready data; `from_json` reads it back. Static ones have no `dynamic`.

    Element types and maps are texts, which are stored, and which keys are made of.
    """
    data: dict[str, object] = asdict(replace(workload, types=(), maps=()))
    data |= {"types": tuple(map(str, workload.types)), "maps": tuple(map(str, workload.maps))}
    if not workload.dynamic:
        del data["dynamic"]  # keys of workloads, in specs and journals, are older than the field
    return data


def from_json(data: Mapping[str, object]) -> Workload:
    """Raises ValueError for data that `to_json` did not write."""
    found = dict(data)
    for name, read in (("types", ElementType.named), ("maps", IndexingMap.parse)):
        if name in data:
            found[name] = [read(text) for text in msgspec.convert(data[name], list[str])]
    return msgspec.convert(found, Workload, from_attributes=True)
