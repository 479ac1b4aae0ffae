"""A function of a random program, written line by line (`random_programs`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

FLOATS = ("f32", "f32", "f16", "bf16", "f64")
NARROW = ("f8E4M3FN", "f8E5M2")
INTEGERS = ("i32", "i8", "i64", "i4", "i1")
COMPLEX = ("complex<f32>", "complex<f64>")
BITS = {
    "f64": 64, "f32": 32, "f16": 16, "bf16": 16, "f8E4M3FN": 8, "f8E5M2": 8,
    "i64": 64, "i32": 32, "i8": 8, "i4": 4, "i1": 1,
}  # fmt: skip
SIZES = (1, 2, 3, 4, 7, 8, 16, 17, 33)


@dataclass(frozen=True)
class Tensor:
    """A value of a program; None is a dynamic dimension."""

    name: str
    shape: tuple[int | None, ...]
    kind: str

    @property
    def type(self) -> str:
        sizes = ["?" if size is None else str(size) for size in self.shape]
        return f"tensor<{'x'.join([*sizes, self.kind])}>"

    @property
    def static(self) -> bool:
        return None not in self.shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.kind in BITS and not self.kind.startswith("i")

    @property
    def is_integer(self) -> bool:
        return self.kind.startswith("i")

    @property
    def is_complex(self) -> bool:
        return self.kind.startswith("complex")


@dataclass
class Body:
    """A function that is being written."""

    random: Random
    dynamic: bool
    count: int = 0
    arguments: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    state: dict[str, Tensor] = field(default_factory=dict)

    def pick(self, options: Sequence):
        return self.random.choice(list(options))

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def argument(self, shape: tuple[int | None, ...], kind: str) -> Tensor:
        found = Tensor(f"%a{len(self.arguments)}", shape, kind)
        self.arguments.append(found)
        return found

    def given(self) -> Tensor:
        """An argument of any kind."""
        kinds = self.pick([*[FLOATS] * 5, *[INTEGERS] * 2, NARROW, COMPLEX])
        rank = self.pick([0, 1, 1, 2, 2, 2, 3] if self.values else [1, 2, 2, 2, 3])
        sizes = SIZES[:5] if kinds is NARROW else SIZES  # the compiler takes long for these types
        shape = [self.pick(sizes) for _ in range(rank)]
        if self.dynamic and rank and self.pick([True, False]):
            shape[self.pick(range(rank))] = None
        return self.argument(tuple(shape), self.pick(kinds))

    def op(self, text: str, shape: Sequence[int | None], kind: str) -> Tensor:
        """A line that computes a value; `RESULT` stands for its type."""
        found = Tensor(self.name(), tuple(shape), kind)
        self.lines.append(f"{found.name} = {text.replace('RESULT', found.type)}")
        self.values.append(found)
        return found

    def constant(self, value: str, shape: Sequence[int], kind: str) -> Tensor:
        """A splat; it is not among the values that others are computed from."""
        found = Tensor(self.name(), tuple(shape), kind)
        self.lines.append(f"{found.name} = arith.constant dense<{value}> : {found.type}")
        return found

    def number(self, value: str, kind: str = "index") -> str:
        found = self.name()
        self.lines.append(f"{found} = arith.constant {value}{'' if kind == 'i1' else f' : {kind}'}")
        return found

    def position(self, most: int, kind: str) -> str:
        """An index that is read from an argument, from 0 to `most`."""
        source, read, cast, low, high = self.argument((), kind), *(self.name() for _ in range(4))
        zero, last = self.number("0"), self.number(str(most))
        self.lines += [
            f"{read} = tensor.extract {source.name}[] : {source.type}",
            f"{cast} = arith.index_cast {read} : {kind} to index",
            f"{low} = arith.maxsi {cast}, {zero} : index",
            f"{high} = arith.minsi {low}, {last} : index",
        ]
        return high

    def text(self, name: str, results: Sequence[Tensor]) -> str:
        arguments = ", ".join(f"{each.name}: {each.type}" for each in self.arguments)
        types, names = (
            ", ".join(parts) for parts in zip(*[(each.type, each.name) for each in results], strict=True)
        )
        lines = "\n  ".join([*self.lines, f"return {names} : {types}"])
        return f"func.func @{name}({arguments}) -> ({types}) {{\n  {lines}\n}}"


def zero_of(kind: str) -> str:
    if kind.startswith("complex"):
        return "(0.0, 0.0)"
    return "false" if kind == "i1" else "0" if kind.startswith("i") else "0.0"
