"""Tensors of operations: their IR, element by element and as a whole, their element types, their files.

IR is built at the current insertion point.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
from iree.compiler import ir
from iree.compiler.dialects import arith, math, tensor

from iree_tuner.compiler import linalg
from iree_tuner.compiler.linalg import IndexOp, access, converted, named
from iree_tuner.compiler.worker import SentPath
from iree_tuner.device.data import dtype_of, random_values
from iree_tuner.errors import TunerError, UsageError, did_you_mean
from iree_tuner.ops.element_type import ElementType
from iree_tuner.suite.operation import Operation, TensorType
from iree_tuner.targets import Target, kind_named

Array = npt.NDArray[np.generic]


def unary(kind: str, x: ir.Value) -> ir.Value:
    """One of `primitives.Unary`; of integers `relu`, `abs` and `negate` alone."""
    return (_OF_INTEGERS if _is_integer(x) else _UNARY)[kind](x)


def binary(kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """One of `primitives.Binary`, of two elements of one type; of integers all but `divide`."""
    integer, real = _BINARY[kind]
    return (integer if _is_integer(a) else real)(a, b)


def add(value: ir.Value, total: ir.Value) -> ir.Value:
    """A step of a sum, in its type."""
    return binary("add", total, converted(value, total.type))


def constant(value: float, element_type: ir.Type) -> ir.Value:
    """A number of a type."""
    integer = isinstance(element_type, ir.IntegerType)
    return arith.constant(element_type, int(value) if integer else float(value))


def _is_integer(x: ir.Value) -> bool:
    return isinstance(x.type, ir.IntegerType)


def _number(value: float, x: ir.Value) -> ir.Value:
    return constant(value, x.type)


def _gelu_tanh(x: ir.Value) -> ir.Value:
    """x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2."""
    cubed = arith.mulf(_number(0.044715, x), arith.mulf(arith.mulf(x, x), x))
    slope = _number(numbers.sqrt(2 / numbers.pi), x)
    return _half_of_more(x, math.tanh(arith.mulf(slope, arith.addf(x, cubed))))


def _half_of_more(x: ir.Value, weight: ir.Value) -> ir.Value:
    return arith.mulf(x, arith.mulf(arith.addf(weight, _number(1.0, x)), _number(0.5, x)))


def _one_and_exp(x: ir.Value) -> ir.Value:
    return arith.addf(_number(1.0, x), math.exp(arith.negf(x)))


_UNARY: Mapping[str, Callable[[ir.Value], ir.Value]] = {
    "relu": lambda x: arith.maximumf(x, _number(0.0, x)),
    "gelu": lambda x: _half_of_more(x, math.erf(arith.divf(x, _number(numbers.sqrt(2.0), x)))),
    "gelu_tanh": _gelu_tanh, "silu": lambda x: arith.divf(x, _one_and_exp(x)),
    "sigmoid": lambda x: arith.divf(_number(1.0, x), _one_and_exp(x)), "tanh": math.tanh, "exp": math.exp,
    "sqrt": math.sqrt, "rsqrt": math.rsqrt, "abs": math.absf, "negate": arith.negf,
}  # fmt: skip
_OF_INTEGERS: Mapping[str, Callable[[ir.Value], ir.Value]] = {
    "relu": lambda x: arith.maxsi(x, _number(0, x)),
    "abs": math.absi,
    "negate": lambda x: arith.subi(_number(0, x), x),
}
_Function = Callable[[ir.Value, ir.Value], ir.Value]
_BINARY: Mapping[str, tuple[_Function, _Function]] = {
    "add": (arith.addi, arith.addf), "subtract": (arith.subi, arith.subf),
    "multiply": (arith.muli, arith.mulf), "divide": (arith.divsi, arith.divf),
    "maximum": (arith.maxsi, arith.maximumf), "minimum": (arith.minsi, arith.minimumf),
}  # fmt: skip


# Element types of operations, the types of their sums, and their spelling in names.


WIDE = ("f32", "f16", "bf16")
"""Floats of computations; without f64, of which the compiler makes f32."""

NARROW = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
"""Floats that are only multiplied."""

FLOATS = WIDE + NARROW
INTEGERS = ("i8", "i32")
OWN_F8 = "f8"
"""Stands for the target's own type in sweeps; `sweep` resolves it."""


def sums_of(*element_types: str) -> str:
    """The type of sums, and of functions of them: f32, and i32 of integers alone."""
    return "i32" if all(each in INTEGERS for each in element_types) else "f32"


def result_of(element_type: str) -> str:
    """The usual result type of products of a type: the type itself; for 8 bits the type of the sums."""
    return element_type if element_type in WIDE else sums_of(element_type)


def widest(*element_types: str) -> str:
    """The type, of two factors', that both are multiplied in."""
    return min(element_types, key=[*WIDE, *NARROW, *INTEGERS].index)


def own_f8(target: Target) -> str:
    """The type that `f8` stands for on a target: CDNA 3 lacks negative zero, all others have the OCP type."""
    return kind_named(target.backend).float8(target.chip.partition("+")[0])


def in_name(element_type: str) -> str:
    """As names of operations have it: lower case."""
    return element_type.lower()


def check_type(what: str, element_type: str, known: Sequence[str]) -> None:
    """Raise UsageError, with similar names, unless a type is one of these."""
    if element_type not in known:
        raise UsageError(
            f"{what}: unknown element type '{element_type}'", hint=did_you_mean(element_type, known)
        )


def element(name: str) -> ir.Type:
    """An element type by MLIR's name."""
    return ElementType.named(name).to_ir()


def tensor_type(kind: TensorType) -> ir.RankedTensorType:
    """As MLIR has it."""
    return ir.RankedTensorType.get(kind.shape, element(kind.element_type))


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """Sizes of a tensor."""
    return tuple(ir.RankedTensorType(value.type).shape)


def empty(shape: Sequence[int], element_type: str) -> ir.Value:
    """A tensor without values."""
    return tensor.empty(list(shape), element(element_type))


def filled(shape: Sequence[int], element_type: str, value: float = 0.0) -> ir.Value:
    """A tensor of one number."""
    return named("fill")(constant(value, element(element_type)), outs=[empty(shape, element_type)])


def elementwise(
    operands: Sequence[tuple[ir.Value, Sequence[int]]],
    result: TensorType,
    body: Callable[..., ir.Value],
) -> ir.Value:
    """One generic op over all elements of the result.

    Args:
        operands: each with the dimensions of the result that it has.
        result: shape and type.
        body: makes the result's element from one of each operand.
    """
    maps = [access(len(result.shape), loops) for _, loops in operands]
    values, kind = [value for value, _ in operands], element(result.element_type)
    return linalg.elementwise(values, maps, result.shape, kind, body)


def retyped(value: ir.Value, element_type: str) -> ir.Value:
    """All elements in another type; the tensor itself where it has that type."""
    to = element(element_type)
    if ir.RankedTensorType(value.type).element_type == to:
        return value
    shape = shape_of(value)

    def body(x: ir.Value) -> ir.Value:
        return converted(x, to)

    return elementwise([(value, range(len(shape)))], TensorType(shape, element_type), body)


def as_vector(value: ir.Value) -> ir.Value:
    """A tensor of rank 0 as a vector of one element."""
    kind = ir.RankedTensorType.get([1], ir.RankedTensorType(value.type).element_type)
    return tensor.ExpandShapeOp(kind, _tensor(value), [], [], [1]).result


def _tensor(value: ir.Value) -> ir.Value[ir.RankedTensorType]:
    return cast("ir.Value[ir.RankedTensorType]", value)


def padded(value: ir.Value, low: Sequence[int], high: Sequence[int]) -> ir.Value:
    """Zeros around it, `low` before and `high` behind each dimension; the tensor itself without any."""
    if not any((*low, *high)):
        return value
    kind = ir.RankedTensorType(value.type)
    shape = [a + size + b for a, size, b in zip(low, kind.shape, high, strict=True)]
    result = ir.RankedTensorType.get(shape, kind.element_type)
    op = tensor.PadOp(result, _tensor(value), [], [], list(low), list(high))
    block = op.regions[0].blocks.append(*[ir.IndexType.get()] * kind.rank)
    with ir.InsertionPoint(block):
        tensor.YieldOp(constant(0.0, kind.element_type))
    return op.result


def cut(value: ir.Value, offsets: Sequence[int], sizes: Sequence[int]) -> ir.Value:
    """A part of it, or the tensor itself."""
    kind = ir.RankedTensorType(value.type)
    if list(sizes) == list(kind.shape):
        return value
    result = ir.RankedTensorType.get(list(sizes), kind.element_type)
    ones = [1] * kind.rank
    return tensor.ExtractSliceOp(result, _tensor(value), [], [], [], list(offsets), list(sizes), ones).result


def spread(value: ir.Value, shape: Sequence[int], offsets: Sequence[int], strides: Sequence[int]) -> ir.Value:
    """Its elements among zeros: of dimension `i` from `offsets[i]` on, `strides[i]` apart."""
    kind = ir.RankedTensorType(value.type)
    if all(stride == 1 for stride in strides):
        behind = [to - at - size for to, at, size in zip(shape, offsets, kind.shape, strict=True)]
        return padded(value, offsets, behind)
    zeros = filled(shape, str(kind.element_type))
    return tensor.InsertSliceOp(
        _tensor(value), _tensor(zeros), [], [], [], list(offsets), list(kind.shape), list(strides)
    ).result


def flipped(value: ir.Value, dimensions: Sequence[int]) -> ir.Value:
    """With the elements along these dimensions in the reverse order."""
    kind = ir.RankedTensorType(value.type)
    turned = [each for each in dimensions if kind.shape[each] > 1]
    if not turned:
        return value

    def body() -> ir.Value:
        index = ir.IndexType.get()
        at = [IndexOp(dim=each, results=[index]).result for each in range(kind.rank)]
        for each in turned:
            last = arith.constant(index, kind.shape[each] - 1)
            at[each] = arith.subi(last, at[each])
        return tensor.extract(_tensor(value), at)

    return linalg.elementwise([], [], kind.shape, kind.element_type, body)


# Inputs of an operation: the same for every back end, in files that all processes map.


_POSITIVE, _SIGNED = 0, 1  # seeds of `device.data.kind_of`


def write_inputs(operation: Operation, folder: Path) -> tuple[str, ...]:
    """A .npy file for each input, of values that its name decides. Raises TunerError without room."""
    seed = _POSITIVE if operation.positive else _SIGNED
    rng = np.random.default_rng([seed, *operation.name.encode()])
    paths: list[str] = []
    for number, each in enumerate(operation.inputs):
        path = folder / f"{operation.name}.{number}.npy"
        try:
            write_array(path, random_values(each.shape, each.element_type, seed, rng))
        except OSError as error:
            raise TunerError(f"cannot write: {error.strerror}", location=str(path)) from None
        paths.append(SentPath(path))
    return tuple(paths)


def read_inputs(operation: Operation, paths: tuple[str, ...]) -> list[Array]:
    """The inputs, mapped; in types of ml_dtypes where NumPy lacks them."""
    return [read_array(path, each.element_type) for path, each in zip(paths, operation.inputs, strict=True)]


def write_array(path: Path | str, values: Array) -> None:
    """A .npy file; of types of ml_dtypes the bits, as files that name some of them cannot be read."""
    np.save(path, values if values.dtype.isbuiltin == 1 else values.view(f"u{values.dtype.itemsize}"))


def read_array(path: str, element_type: str) -> Array:
    """A .npy file of elements of an MLIR type, as `write_array` writes it, or of wider ones, which stay."""
    found = np.load(path, mmap_mode="r", allow_pickle=False)
    dtype = dtype_of(element_type)
    bits = dtype is not None and dtype.isbuiltin != 1 and found.dtype.kind in "uV"
    return found.view(dtype) if bits else found
