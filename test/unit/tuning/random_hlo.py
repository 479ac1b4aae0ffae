"""Ops of StableHLO for random programs. Each adds to a body what it computes from a tensor, if it applies."""

from __future__ import annotations

from tuning.random_body import FLOATS, INTEGERS, NARROW, SIZES, Body, Tensor, zero_of


def hlo_unary(body: Body, x: Tensor) -> Tensor:
    names = ["tanh", "exponential", "abs", "negate", "logistic", "floor"] if x.is_float else ["negate", "abs"]
    names = ["not"] if x.kind == "i1" else ["negate", "exponential"] if x.is_complex else names
    return body.op(f"stablehlo.{body.pick(names)} {x.name} : {x.type}", x.shape, x.kind)


def hlo_binary(body: Body, x: Tensor) -> Tensor:
    same = [each for each in body.values if (each.shape, each.kind) == (x.shape, x.kind)]
    y = body.pick(same)
    names = ["and", "or", "xor"] if x.kind == "i1" else ["add", "multiply", "subtract"]
    names += ["maximum"] * (not x.is_complex and x.kind != "i1") + ["divide"] * x.is_float
    return body.op(f"stablehlo.{body.pick(names)} {x.name}, {y.name} : {x.type}", x.shape, x.kind)


def hlo_convert(body: Body, x: Tensor) -> Tensor | None:
    if x.is_complex:
        part = body.pick(["real", "imag"])
        return body.op(f"stablehlo.{part} {x.name} : ({x.type}) -> RESULT", x.shape, x.kind[8:-1])
    if x.kind in ("f32", "f64") and body.pick([True, False, False]):
        return body.op(f"stablehlo.complex {x.name}, {x.name} : RESULT", x.shape, f"complex<{x.kind}>")
    kind = body.pick([each for each in (*FLOATS, *NARROW, *INTEGERS) if each != x.kind])
    return body.op(f"stablehlo.convert {x.name} : ({x.type}) -> RESULT", x.shape, kind)


def hlo_transpose(body: Body, x: Tensor) -> Tensor | None:
    if x.rank < 2:
        return None
    order = body.random.sample(range(x.rank), x.rank)
    shape = [x.shape[place] for place in order]
    return body.op(
        f"stablehlo.transpose {x.name}, dims = {list(order)} : ({x.type}) -> RESULT", shape, x.kind
    )


def hlo_dot(body: Body, x: Tensor) -> Tensor | None:
    if x.rank not in (1, 2) or x.shape[-1] is None or x.kind == "i1":
        return None
    weight = body.argument((x.shape[-1], body.pick(SIZES)), x.kind)
    wider = {"f16": "f32", "bf16": "f32", "i8": "i32", "i4": "i32", "f8E4M3FN": "f32", "f8E5M2": "f32"}
    kind = body.pick([x.kind, wider.get(x.kind, x.kind)])
    dims = f"contracting_dims = [{x.rank - 1}] x [0]"
    return body.op(
        f"stablehlo.dot_general {x.name}, {weight.name}, {dims} : ({x.type}, {weight.type}) -> RESULT",
        (*x.shape[:-1], weight.shape[1]), kind,
    )  # fmt: skip


def hlo_reduce(body: Body, x: Tensor, how: str = "") -> Tensor | None:
    if not x.rank:
        return None
    place = x.rank - 1 if how else body.pick(range(x.rank))
    how = how or (
        "or" if x.kind == "i1" else "add" if x.is_complex else body.pick(["add", "maximum", "minimum"])
    )
    start = body.constant(zero_of(x.kind), (), x.kind)
    shape = [size for number, size in enumerate(x.shape) if number != place]
    return body.op(
        f"stablehlo.reduce({x.name} init: {start.name}) applies stablehlo.{how} across dimensions = [{place}]"
        f" : ({x.type}, {start.type}) -> RESULT",
        shape, x.kind,
    )  # fmt: skip


def hlo_softmax(body: Body, x: Tensor) -> Tensor | None:
    if not x.rank or not x.static or x.kind not in FLOATS:
        return None

    def spread(row: Tensor) -> Tensor:
        dims = list(range(row.rank))
        return body.op(
            f"stablehlo.broadcast_in_dim {row.name}, dims = {dims} : ({row.type}) -> RESULT", x.shape, x.kind
        )

    most = spread(hlo_reduce(body, x, "maximum"))
    apart = body.op(f"stablehlo.subtract {x.name}, {most.name} : {x.type}", x.shape, x.kind)
    powers = body.op(f"stablehlo.exponential {apart.name} : {x.type}", x.shape, x.kind)
    total = spread(hlo_reduce(body, powers, "add"))
    return body.op(f"stablehlo.divide {powers.name}, {total.name} : {x.type}", x.shape, x.kind)


def hlo_concatenate(body: Body, x: Tensor) -> Tensor | None:
    if not x.rank:
        return None
    place = body.pick(range(x.rank))
    shape = [
        None if size is None else 2 * size if number == place else size for number, size in enumerate(x.shape)
    ]
    if x.shape[place] is None:
        return None
    return body.op(
        f"stablehlo.concatenate {x.name}, {x.name}, dim = {place} : ({x.type}, {x.type}) -> RESULT",
        shape,
        x.kind,
    )


def _starts(body: Body, rank: int) -> tuple[str, str]:
    kind = body.pick(["i32", "i64"])
    zero = body.constant("0", (), kind)
    at = body.pick(range(rank))
    names = [body.argument((), kind).name if number == at else zero.name for number in range(rank)]
    return ", ".join(names), ", ".join([zero.type] * rank)


def hlo_slice(body: Body, x: Tensor) -> Tensor | None:
    if not x.rank or not x.static:
        return None
    sizes = [body.pick(sorted({1, size, max(1, size // 2)})) for size in x.shape]
    names, types = _starts(body, x.rank)
    return body.op(
        f"stablehlo.dynamic_slice {x.name}, {names}, sizes = {sizes} : ({x.type}, {types}) -> RESULT",
        sizes,
        x.kind,
    )


def hlo_update(body: Body, x: Tensor) -> Tensor | None:
    if not x.rank or not x.static:
        return None
    row = body.argument(tuple(body.pick(sorted({1, size})) for size in x.shape), x.kind)
    names, types = _starts(body, x.rank)
    return body.op(
        f"stablehlo.dynamic_update_slice {x.name}, {row.name}, {names}"
        f" : ({x.type}, {row.type}, {types}) -> RESULT",
        x.shape, x.kind,
    )  # fmt: skip


def hlo_gather(body: Body, x: Tensor) -> Tensor | None:
    if x.rank != 2 or not x.static:
        return None
    count, kind = body.pick(SIZES), body.pick(["i32", "i64"])
    index = body.argument((count, 1), kind)
    numbers = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
    return body.op(
        f'"stablehlo.gather"({x.name}, {index.name}) <{{dimension_numbers = #stablehlo.gather<{numbers}>,'
        f" indices_are_sorted = false, slice_sizes = array<i64: 1, {x.shape[1]}>}}>"
        f" : ({x.type}, {index.type}) -> RESULT",
        (count, x.shape[1]), x.kind,
    )  # fmt: skip


def hlo_select(body: Body, x: Tensor) -> Tensor | None:
    if x.is_complex:
        return None
    y = body.pick([each for each in body.values if (each.shape, each.kind) == (x.shape, x.kind)])
    truth = body.op(
        f"stablehlo.compare {body.pick(['GT', 'LE', 'NE'])}, {x.name}, {y.name}"
        f" : ({x.type}, {x.type}) -> RESULT",
        x.shape, "i1",
    )  # fmt: skip
    return body.op(
        f"stablehlo.select {truth.name}, {x.name}, {y.name} : {truth.type}, {x.type}", x.shape, x.kind
    )


def hlo_reshape(body: Body, x: Tensor) -> Tensor | None:
    if not x.static or not x.rank:
        return None
    size = 1
    for each in x.shape:
        size *= each
    shape = body.pick([(size,), (1, size), (size, 1)])
    return body.op(f"stablehlo.reshape {x.name} : ({x.type}) -> RESULT", shape, x.kind)


HLO = (
    hlo_unary, hlo_binary, hlo_binary, hlo_convert, hlo_transpose, hlo_dot, hlo_dot, hlo_reduce, hlo_softmax,
    hlo_concatenate, hlo_slice, hlo_update, hlo_gather, hlo_select, hlo_reshape,
)  # fmt: skip
