"""Random small programs as MLIR text.

A program takes a few tensors, computes others from them step by step, and returns some. Each step draws an op
and a tensor that it may be applied to. The ops are those of StableHLO, or those of linalg, arith and math.
Loops, branches, mutable state and further functions are added to both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tuning.random_body import Body, Tensor, zero_of
from tuning.random_hlo import HLO
from tuning.random_linalg import LINALG

DYNAMIC_SIZE = 8
"""The size that stands for each dynamic dimension: pass it as `--dim`."""

Ops = tuple[Callable[[Body, Tensor], Tensor | None], ...]


@dataclass(frozen=True)
class RandomProgram:
    """A program, and whether it has dynamic dimensions."""

    text: str
    dynamic: bool

    def __repr__(self) -> str:
        return self.text


def random_program(seed: int) -> RandomProgram:
    """The program of a number. Programs of neighboring numbers have nothing in common."""
    random = Random(seed)
    ops = random.choice([HLO, LINALG])
    dynamic = random.choice([False, False, True])
    state: dict[str, Tensor] = {}
    functions = [
        _function(Body(random, dynamic, state=state), name, ops)
        for name in ("main", "second", "third")[: random.choice([1, 1, 1, 1, 2, 3])]
    ]
    cells = [
        f"util.global private mutable @{name} = dense<{zero_of(each.kind)}> : {each.type}"
        for name, each in state.items()
    ]
    text = "\n".join([*cells, *functions]) + "\n"
    return RandomProgram(text, "?" in text)


def _function(body: Body, name: str, ops: Ops) -> str:
    for _ in range(body.pick([1, 2, 2])):
        body.values.append(body.given())
    for _ in range(body.pick([1, 2, 3, 4])):
        step = body.pick([*[None] * 5, _loop, _branch, _state, _until])
        if step is None:
            _apply(body, ops)
        else:
            step(body, ops)
    made = [each for each in body.values if not each.name.startswith("%a")]
    if not made:
        x = body.values[0]
        made = [body.op(f"stablehlo.add {x.name}, {x.name} : {x.type}", x.shape, x.kind)]
    results = [made[-1]] if body.pick([True, True, False]) else made[-2:]
    return body.text(name, results)


def _apply(body: Body, ops: Ops) -> None:
    """One op, on one of the values that it applies to."""
    for _ in range(4):
        if body.pick(ops)(body, body.pick(body.values)) is not None:
            return


def _inside(body: Body, carried: Tensor, ops: Ops) -> tuple[list[str], Tensor]:
    """Lines that compute a tensor of the same type, and that tensor."""
    inner = Body(body.random, body.dynamic, body.count, body.arguments, [carried], state=body.state)
    for _ in range(body.pick([1, 2])):
        _apply(inner, ops)
    body.count = inner.count
    same = [each for each in inner.values if each.type == carried.type]
    if same[-1] is carried:
        twice = f"stablehlo.add {carried.name}, {carried.name} : {carried.type}"
        same.append(inner.op(twice, carried.shape, carried.kind))
        body.count = inner.count
    return [f"  {line}" for line in inner.lines], same[-1]


def _loop(body: Body, ops: Ops) -> None:
    """Some passes; a row of a table is read at each step, if the tensor is static."""
    x, index, carried = body.pick(body.values), body.name(), body.name()
    table = body.argument((4, *x.shape), x.kind) if x.static and not x.is_complex and ops is LINALG else None
    start, end, step = (body.number(value) for value in ("0", body.pick(["2", "4"]), "1"))
    lines, result = _inside(body, Tensor(carried, x.shape, x.kind), ops)
    if table is not None:
        row, total = body.name(), body.name()
        zeros, sizes, ones = (", ".join(each) for each in (
            [index, *["0"] * x.rank], ["1", *map(str, x.shape)], ["1"] * (x.rank + 1)
        ))  # fmt: skip
        add = "arith.addf" if x.is_float else "arith.addi"
        lines += [
            f"  {row} = tensor.extract_slice {table.name}[{zeros}] [{sizes}] [{ones}]"
            f" : {table.type} to {x.type}",
            f"  {total} = {add} {result.name}, {row} : {x.type}",
        ]
        result = Tensor(total, x.shape, x.kind)
    head = f"scf.for {index} = {start} to {end} step {step} iter_args({carried} = {x.name}) -> ({x.type}) {{"
    body.op("\n  ".join([head, *lines, f"  scf.yield {result.name} : {x.type}", "}"]), x.shape, x.kind)


def _branch(body: Body, ops: Ops) -> None:
    """One of two ways, by a number that is read."""
    x, flag, read = body.pick(body.values), body.argument((), "i1"), body.name()
    body.lines.append(f"{read} = tensor.extract {flag.name}[] : {flag.type}")
    (first, left), (second, right) = _inside(body, x, ops), _inside(body, x, ops)
    lines = [
        f"scf.if {read} -> ({x.type}) {{", *first, f"  scf.yield {left.name} : {x.type}", "} else {", *second,
        f"  scf.yield {right.name} : {x.type}", "}",
    ]  # fmt: skip
    body.op("\n  ".join(lines), x.shape, x.kind)


def _state(body: Body, _: Ops) -> None:
    """Add to a cell that the program keeps between calls."""
    x = body.pick(body.values)
    if not x.static or x.is_complex:
        return
    name = next((name for name, cell in body.state.items() if cell.type == x.type), f"state{len(body.state)}")
    body.state.setdefault(name, x)
    loaded = body.name()
    body.lines.append(f"{loaded} = util.global.load @{name} : {x.type}")
    add = "arith.addf" if x.is_float else "arith.addi"
    total = body.op(f"{add} {loaded}, {x.name} : {x.type}", x.shape, x.kind)
    body.lines.append(f"util.global.store {total.name}, @{name} : {x.type}")


def _until(body: Body, _: Ops) -> None:
    """Halve a number until it is small: the number of passes depends on data."""
    start, before, after, read, least, truth, half, small = (
        body.argument((), "f32"),
        *(body.name() for _ in range(7)),
    )
    body.op(
        f"scf.while ({before} = {start.name}) : (RESULT) -> RESULT {{\n"
        f"    {read} = tensor.extract {before}[] : RESULT\n    {least} = arith.constant 0.01 : f32\n"
        f"    {truth} = arith.cmpf ogt, {read}, {least} : f32\n    scf.condition({truth}) {before} : RESULT\n"
        f"  }} do {{\n  ^bb0({after}: RESULT):\n    {half} = arith.constant dense<0.5> : RESULT\n"
        f"    {small} = arith.mulf {after}, {half} : RESULT\n    scf.yield {small} : RESULT\n  }}",
        (), "f32",
    )  # fmt: skip
