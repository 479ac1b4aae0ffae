"""Numpy's arrays as Triton's interpreter takes tensors. It interprets where TRITON_INTERPRET is 1."""

import numpy as np
import triton
import triton.language as tl
import triton.runtime.jit
from triton.language.extra import libdevice
from triton.runtime import interpreter

KNOWN: list[np.ndarray] = []
"""The arrays that a kernel may touch, and nothing else."""


class Tensor:
    """As much of a tensor as the interpreter asks for."""

    def __init__(self, array):
        self.array = array
        KNOWN.append(array)

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def copy_(self, other):
        pass

    def new_empty(self, *_, **__):
        return Tensor(self.array)

    def set_(self, storage, *_):
        self.array = storage.array

    def storage_offset(self):
        return 0

    def size(self):
        return self.array.shape

    def stride(self):
        return self.array.strides


def kind(value, *_, **__):
    """What Triton calls a pointer to an array's elements; bfloat16 is kept as 16 bits."""
    names = {
        "float16": "*fp16",
        "float32": "*fp32",
        "uint16": "*bf16",
        "bool": "*i8",
        "int8": "*i8",
        "int32": "*i32",
    }
    return names[value.array.dtype.name] if isinstance(value, Tensor) else "*fp16"


def wide(operand):
    """The interpreter multiplies the 16 bits of a bfloat16 as they are: the same number with 32 bits."""
    if operand.dtype.scalar != tl.bfloat16:
        return operand
    return interpreter.TensorHandle((operand.data.astype(np.uint32) << 16).view(np.float32), tl.float32)


def inside(pointers, mask):
    """Fail where an address that is not masked is of no array."""
    places, outside = (
        pointers.data[np.broadcast_to(np.asarray(mask.data).astype(bool), pointers.data.shape)],
        True,
    )
    for each in KNOWN:
        start = each.ctypes.data
        outside &= (places < start) | (places >= start + each.nbytes)
    assert not np.any(outside), f"{np.count_nonzero(outside)} addresses are of no array"


def load(self, pointers, mask, *rest, **named):
    inside(pointers, mask)
    return loaded(self, pointers, mask, *rest, **named)


def store(self, pointers, value, mask, *rest, **named):
    inside(pointers, mask)
    return stored(self, pointers, value, mask, *rest, **named)


loaded = interpreter.InterpreterBuilder.create_masked_load
stored = interpreter.InterpreterBuilder.create_masked_store
interpreter.InterpreterBuilder.create_masked_load = load
interpreter.InterpreterBuilder.create_masked_store = store
triton.runtime.jit.mangle_type = kind
dot = interpreter.InterpreterBuilder.create_dot
interpreter.InterpreterBuilder.create_dot = lambda self, a, b, *rest: dot(self, wide(a), wide(b), *rest)


@triton.jit
def tanh(x):
    """The interpreter has no functions of CUDA's library."""
    return 1 - 2 / (tl.math.exp(2 * x) + 1)


@triton.jit
def expm1(x):
    return tl.math.exp(x) - 1


@triton.jit
def log1p(x):
    return tl.math.log(x + 1)


libdevice.tanh, libdevice.expm1, libdevice.log1p = tanh, expm1, log1p
