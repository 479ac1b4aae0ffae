"""Random programs of slices, joins, reshapes, transposes and elementwise ops, as text."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

Shape = tuple[int, ...]


def _kind(shape: Shape) -> str:
    return "x".join(["tensor<" + "x".join(map(str, shape)), "f32>"]) if shape else "tensor<f32>"


@dataclass
class _Program:
    rng: random.Random
    lines: list[str] = field(default_factory=list)
    values: dict[str, Shape] = field(default_factory=dict)

    def add(self, op: str, shape: Shape) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = stablehlo.{op}")
        self.values[name] = shape
        return name

    def some(self) -> tuple[str, Shape]:
        """A value, mostly a late one."""
        return self.rng.choice(list(self.values.items())[-4:])

    def unary(self) -> None:
        name, shape = self.some()
        self.add(f"{self.rng.choice(('negate', 'abs', 'floor'))} {name} : {_kind(shape)}", shape)

    def binary(self) -> None:
        name, shape = self.some()
        other = self.rng.choice([each for each, own in self.values.items() if own == shape])
        self.add(f"{self.rng.choice(('add', 'multiply', 'maximum'))} {name}, {other} : {_kind(shape)}", shape)

    def slice(self) -> None:
        name, shape = self.some()
        ranges, sizes = [], []
        for size in shape:
            step = self.rng.choice((1, 1, 1, 2))
            first = self.rng.choice((0, size // 2, self.rng.randrange(size)))
            end = self.rng.choice((size, self.rng.randint(first + 1, size)))
            ranges.append(f"{first}:{end}:{step}")
            sizes.append(-(-(end - first) // step))
        kinds = f"({_kind(shape)}) -> {_kind(tuple(sizes))}"
        self.add(f"slice {name} [{', '.join(ranges)}] : {kinds}", tuple(sizes))

    def join(self) -> None:
        name, shape = self.some()
        along = self.rng.randrange(len(shape))
        rest = shape[:along] + shape[along + 1 :]
        fitting = [
            each for each, own in self.values.items()
            if len(own) == len(shape) and own[:along] + own[along + 1 :] == rest
        ]  # fmt: skip
        parts = [name, *self.rng.choices(fitting, k=self.rng.randint(1, 2))]
        self.rng.shuffle(parts)
        kinds = ", ".join(_kind(self.values[each]) for each in parts)
        size = sum(self.values[each][along] for each in parts)
        result = (*shape[:along], size, *shape[along + 1 :])
        self.add(f"concatenate {', '.join(parts)}, dim = {along} : ({kinds}) -> {_kind(result)}", result)

    def pad(self) -> None:
        name, shape = self.some()
        low, high = ([self.rng.randint(0, 2) for _ in shape] for _ in range(2))
        result = tuple(sum(each) for each in zip(shape, low, high, strict=True))
        zeros = ", ".join("0" for _ in shape)
        self.add(
            f"pad %zero, {name}, low = {low}, high = {high}, interior = [{zeros}]".replace(
                f"%zero, {name}", f"{name}, %zero"
            )
            + f" : ({_kind(shape)}, tensor<f32>) -> {_kind(result)}",
            result,
        )

    def reshape(self) -> None:
        name, shape = self.some()
        total, sizes = math.prod(shape), []
        while total > 1 and len(sizes) < 3:
            size = self.rng.choice([each for each in range(1, total + 1) if total % each == 0])
            sizes.append(size)
            total //= size
        result = (*sizes, total)
        self.add(f"reshape {name} : ({_kind(shape)}) -> {_kind(result)}", result)

    def transpose(self) -> None:
        name, shape = self.some()
        order = self.rng.sample(range(len(shape)), len(shape))
        result = tuple(shape[each] for each in order)
        self.add(f"transpose {name}, dims = {order} : ({_kind(shape)}) -> {_kind(result)}", result)

    def repeat(self) -> None:
        name, shape = self.some()
        along = self.rng.randint(0, len(shape))
        result = (*shape[:along], self.rng.randint(1, 3), *shape[along:])
        places = [each for each in range(len(result)) if each != along]
        self.add(f"broadcast_in_dim {name}, dims = {places} : ({_kind(shape)}) -> {_kind(result)}", result)

    def position(self) -> None:
        _, shape = self.some()
        self.add(f"iota dim = {self.rng.randrange(len(shape))} : {_kind(shape)}", shape)


_MOST_ELEMENTS = 3000


def random_chain(seed: int) -> str:
    """A program with one or two inputs and one result."""
    rng = random.Random(seed)
    shape = tuple(rng.choice((2, 3, 4, 6, 8, 12)) for _ in range(rng.randint(1, 3)))
    program = _Program(rng, values={"%a": shape, "%b": shape})
    usual = (
        *(program.slice, program.join, program.binary) * 3,
        *(program.unary, program.reshape, program.transpose, program.pad, program.repeat, program.position),
    )
    for _ in range(rng.randint(4, 14)):
        before = len(program.lines), dict(program.values)
        rng.choice(usual)()
        name, last = list(program.values.items())[-1]
        if math.prod(last) > _MOST_ELEMENTS or len(last) > 5:
            del program.lines[before[0] :]
            program.values = before[1]
    name, last = list(program.values.items())[-1]
    head = f"func.func @main(%a: {_kind(shape)}, %b: {_kind(shape)}) -> {_kind(last)} {{"
    zero = "%zero = stablehlo.constant dense<0.0> : tensor<f32>"
    return "\n".join((head, zero, *program.lines, f"return {name} : {_kind(last)}", "}"))
