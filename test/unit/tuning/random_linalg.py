"""Ops of linalg, tensor, arith and math for random programs, as in `random_hlo`."""

from __future__ import annotations

from dataclasses import replace

from tuning.random_body import BITS, FLOATS, INTEGERS, SIZES, Body, Tensor, zero_of


def arith_unary(body: Body, x: Tensor) -> Tensor | None:
    if not x.is_float:
        return None
    name = body.pick(["math.tanh", "math.exp", "math.absf", "arith.negf", "math.sin"])
    return body.op(f"{name} {x.name} : {x.type}", x.shape, x.kind)


def arith_binary(body: Body, x: Tensor) -> Tensor | None:
    if x.is_complex:
        return None
    y = body.pick([each for each in body.values if (each.shape, each.kind) == (x.shape, x.kind)])
    names = ["addf", "mulf", "subf", "maximumf"] if x.is_float else ["addi", "muli", "xori", "maxsi"]
    return body.op(f"arith.{body.pick(names)} {x.name}, {y.name} : {x.type}", x.shape, x.kind)


def arith_convert(body: Body, x: Tensor) -> Tensor | None:
    if x.is_complex:
        return None
    kind = body.pick([each for each in (*FLOATS, *INTEGERS) if each != x.kind])
    wider = BITS[kind] > BITS[x.kind]
    if x.is_float and not kind.startswith("i"):
        if BITS[kind] == BITS[x.kind]:
            return None
        name = "extf" if wider else "truncf"
    elif x.is_integer and kind.startswith("i"):
        name = "extsi" if wider else "trunci"
    else:
        name = "fptosi" if x.is_float else "sitofp"
    return body.op(f"arith.{name} {x.name} : {x.type} to RESULT", x.shape, kind)


def _filled(body: Body, like: Tensor, dims: str = "") -> str:
    empty, filled, zero = body.name(), body.name(), body.number(zero_of(like.kind), like.kind)
    body.lines += [
        f"{empty} = tensor.empty({dims}) : {like.type}",
        f"{filled} = linalg.fill ins({zero} : {like.kind}) outs({empty} : {like.type}) -> {like.type}",
    ]
    return filled


def _dim(body: Body, x: Tensor) -> str:
    """The sizes of its dynamic dimensions."""
    found = []
    for number, size in enumerate(x.shape):
        if size is None:
            place, name = body.number(str(number)), body.name()
            body.lines.append(f"{name} = tensor.dim {x.name}, {place} : {x.type}")
            found.append(name)
    return ", ".join(found)


def linalg_matmul(body: Body, x: Tensor) -> Tensor | None:
    if x.rank != 2 or x.shape[1] is None or x.is_complex or x.kind == "i1":
        return None
    weight = body.argument((x.shape[1], body.pick(SIZES)), x.kind)
    wider = {"f16": "f32", "bf16": "f32", "i8": "i32", "i4": "i32"}
    result = Tensor("", (x.shape[0], weight.shape[1]), body.pick([x.kind, wider.get(x.kind, x.kind)]))
    out = _filled(body, result, _dim(body, x))
    return body.op(
        f"linalg.matmul ins({x.name}, {weight.name} : {x.type}, {weight.type})"
        f" outs({out} : RESULT) -> RESULT",
        result.shape, result.kind,
    )  # fmt: skip


def linalg_reduce(body: Body, x: Tensor) -> Tensor | None:
    if not x.rank or x.is_complex:
        return None
    place = body.pick(range(x.rank))
    result = replace(x, shape=tuple(size for number, size in enumerate(x.shape) if number != place))
    out = _filled(body, result, _dim(body, x) if not result.static else "")
    name = body.pick(["addf", "maximumf"]) if x.is_float else "addi"
    return body.op(
        f"linalg.reduce {{ arith.{name} }} ins({x.name} : {x.type}) outs({out} : RESULT)"
        f" dimensions = [{place}]",
        result.shape, x.kind,
    )  # fmt: skip


def linalg_transpose(body: Body, x: Tensor) -> Tensor | None:
    if x.rank != 2:
        return None
    result = replace(x, shape=x.shape[::-1])
    empty, dims = body.name(), _dim(body, x)
    if len(dims.split(",")) > 1:
        return None
    body.lines.append(f"{empty} = tensor.empty({dims}) : {result.type}")
    return body.op(
        f"linalg.transpose ins({x.name} : {x.type}) outs({empty} : RESULT) permutation = [1, 0]",
        result.shape,
        x.kind,
    )


def tensor_slice(body: Body, x: Tensor) -> Tensor | None:
    if not x.rank or not x.static:
        return None
    at = body.pick(range(x.rank))
    sizes = list(x.shape)
    sizes[at] = body.pick(sorted({1, max(1, sizes[at] // 2)}))
    position = body.position(x.shape[at] - sizes[at], body.pick(["i32", "i64"]))
    offsets = ", ".join(position if number == at else "0" for number in range(x.rank))
    ones = ", ".join(["1"] * x.rank)
    return body.op(
        f"tensor.extract_slice {x.name}[{offsets}] [{', '.join(map(str, sizes))}] [{ones}]"
        f" : {x.type} to RESULT",
        sizes, x.kind,
    )  # fmt: skip


def tensor_concat(body: Body, x: Tensor) -> Tensor | None:
    if not x.rank or not x.static:
        return None
    shape = (2 * x.shape[0], *x.shape[1:])
    return body.op(f"tensor.concat dim(0) {x.name}, {x.name} : ({x.type}, {x.type}) -> RESULT", shape, x.kind)


def linalg_gather(body: Body, x: Tensor) -> Tensor | None:
    if x.rank != 2 or not x.static:
        return None
    index, empty = body.argument((body.pick(SIZES),), "i32"), body.name()
    result = Tensor("", (index.shape[0], x.shape[1]), x.kind)
    zero, last = body.number("0"), body.number(str(x.shape[0] - 1))
    body.lines.append(f"{empty} = tensor.empty() : {result.type}")
    return body.op(
        "linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],"
        f' iterator_types = ["parallel", "parallel"]}} ins({index.name} : {index.type})'
        f" outs({empty} : RESULT) {{\n"
        "  ^bb0(%at: i32, %o: ELEMENT):\n"
        "    %row = arith.index_cast %at : i32 to index\n"
        f"    %low = arith.maxsi %row, {zero} : index\n    %in = arith.minsi %low, {last} : index\n"
        f"    %j = linalg.index 1 : index\n    %e = tensor.extract {x.name}[%in, %j] : {x.type}\n"
        "    linalg.yield %e : ELEMENT\n  } -> RESULT".replace("ELEMENT", x.kind),
        result.shape, x.kind,
    )  # fmt: skip


LINALG = (
    arith_unary, arith_binary, arith_binary, arith_convert, linalg_matmul, linalg_matmul, linalg_reduce,
    linalg_transpose, tensor_slice, tensor_concat, linalg_gather,
)  # fmt: skip
