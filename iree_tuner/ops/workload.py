"""Workloads: root ops as plain data."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from typing import Literal, cast

Iterator = Literal["parallel", "reduction"]


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
class Workload:
    """A dispatch's root op: everything that a matcher asks for, and a search space is built from.

    Attributes:
        family: name of the op family.
        op: what the op is called, for people and file names: `matmul`, `batch_matmul`, `conv`, `softmax`.
        loops: static sizes of the iteration space, one a loop.
        iterators: kind of each loop.
        types: element types of the operands in order, results' inits last: `("f16", "f16", "f32")`.
        maps: indexing maps in MLIR's syntax, one an operand.
        roles: which loops play which part: `(("m", (0,)), ("n", (1,)), ("k", (2,)))`.
        parameters: integers that are not sizes: `(("strides", (1, 1)), ("dilations", (1, 1)))`.
        companions: other ops that are configured with the root op.
        dag: for families that match by structure, the ops to match as the text of a module, canonical.
        prologue: passes that must have run for the op to look like this; a spec for it runs them first.
    """

    family: str
    op: str
    loops: tuple[int, ...]
    iterators: tuple[Iterator, ...]
    types: tuple[str, ...]
    maps: tuple[str, ...]
    roles: tuple[tuple[str, tuple[int, ...]], ...] = ()
    parameters: tuple[tuple[str, tuple[int, ...]], ...] = ()
    companions: tuple[Companion, ...] = ()
    dag: str = ""
    prologue: tuple[str, ...] = ()

    def role(self, name: str) -> tuple[int, ...]:
        """Loops that play a part; empty when none does."""
        return dict(self.roles).get(name, ())

    def sizes(self, role: str) -> tuple[int, ...]:
        """Sizes of the loops that play a part."""
        return tuple(self.loops[loop] for loop in self.role(role))

    def parameter(self, name: str) -> tuple[int, ...]:
        """Values of a parameter; empty when the family has none of that name."""
        return dict(self.parameters).get(name, ())

    @property
    def reduction_length(self) -> int:
        """How many values go into one result: the product of the reduction loops."""
        kinds = zip(self.loops, self.iterators, strict=True)
        return math.prod(size for size, kind in kinds if kind == "reduction")

    @property
    def name(self) -> str:
        """Readable and short, like `matmul_512x768x1024_f32_f32_f32`. Not unique: see `key`."""
        sizes = "x".join(map(str, self.loops)) or "scalar"
        return "_".join((self.op, sizes, *self.types))

    @property
    def key(self) -> str:
        """Sixteen hexadecimal digits that stand for all of the workload's data."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


def to_json(workload: Workload) -> dict[str, object]:
    """The workload as JSON-ready data; `from_json` reads it back."""
    return asdict(workload)


def from_json(data: dict[str, object]) -> Workload:
    """Raises TypeError or KeyError for data that `to_json` did not write."""
    fields = dict(data)
    companions = cast("list[dict[str, object]]", fields.pop("companions", []))
    frozen = {name: _freeze(value) for name, value in fields.items()}
    members = tuple(Companion(**{k: _freeze(v) for k, v in c.items()}) for c in companions)  # pyright: ignore
    return Workload(**frozen, companions=members)  # pyright: ignore[reportArgumentType]


def _freeze(value: object) -> object:
    if isinstance(value, list | tuple):
        return tuple(_freeze(item) for item in cast("list[object]", value))
    return value
