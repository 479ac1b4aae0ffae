"""Products of matrices, one or a batch of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from iree.compiler import ir

from iree_tuner.compiler.linalg import access, expand, generic, multiply_add, named
from iree_tuner.errors import UsageError
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.suite import epilogue as epilogues
from iree_tuner.suite.epilogue import Epilogue
from iree_tuner.suite.operation import Operation, Primitives, T, TensorType, Value, check_choice, check_sizes
from iree_tuner.suite.tensors import (
    FLOATS,
    add,
    check_type,
    filled,
    in_name,
    result_of,
    sums_of,
    widest,
)

_LAYOUTS = ("tt", "tn", "nt", "nn")
_SWAPPED = {"t": False, "n": True}


@dataclass(frozen=True, kw_only=True)
class Product(Operation):
    """A product of two matrices, m x k and k x n; sums are held in f32, of i8 in i32."""

    # m, n, k: sizes
    m: int = 512
    n: int = 512
    k: int = 512
    # lhs, rhs, out: element types of the factors and of the result; sums are converted to it at the end
    lhs: str = "f32"
    rhs: str = "f32"
    out: str = "f32"
    layout: str = "tt"  # of the factors, a letter each: `t` row-major, `n` column-major (transposed)
    accumulate: bool = False  # whether a third matrix, m x n of type `out`, is added
    split_k: int = 1  # slices of k that are multiplied side by side and summed up afterwards; 1 for none
    # what is done with the sums, as `bias+relu`: bias (n of them), residual (m x n), relu, gelu, gelu_tanh,
    # silu; bias and residual are inputs of type `out`. Empty for nothing
    epilogue: str = ""

    @classmethod
    def of_type(cls, element_type: str) -> dict[str, Value]:
        """Factors and result of one type; of i8 the result is i32, of types of 8 bits f32."""
        return {"lhs": element_type, "rhs": element_type, "out": result_of(element_type)}

    @property
    def name(self) -> str:
        """As `matmul_768x512x1024_f16t_f16t_f16t`, followed by unusual fields: `_splitk4_bias`."""
        sizes = "x".join(map(str, (*self._batch, self.m, self.n, self.k)))
        letters = (*self.layout, "t")
        types = "_".join(
            f"{in_name(each)}{letter}"
            for each, letter in zip((self.lhs, self.rhs, self.out), letters, strict=True)
        )
        more = f"{'_acc' if self.accumulate else ''}{f'_splitk{self.split_k}' if self.split_k > 1 else ''}"
        return f"{self.kind}_{sizes}_{types}{more}{epilogues.in_name(self.epilogue)}"

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        """The factors in their layouts, the matrix to add, and the inputs of the epilogue."""
        left, right = ((self.m, self.k), self.lhs), ((self.k, self.n), self.rhs)
        factors = (
            TensorType((*self._batch, *(shape[::-1] if _SWAPPED[letter] else shape)), kind)
            for (shape, kind), letter in zip((left, right), self.layout, strict=True)
        )
        return (*factors, *([self.result] if self.accumulate else []), *self._epilogue.inputs)

    @property
    def result(self) -> TensorType:
        return TensorType((*self._batch, self.m, self.n), self.out)

    @property
    def flops(self) -> float:
        """2 m n k for each product, and one for each added element or step of the epilogue."""
        added = math.prod(self.result.shape) if self.accumulate else 0
        return 2.0 * self.k * math.prod(self.result.shape) + added + self._epilogue.flops

    @property
    def compute_type(self) -> str:
        return widest(self.lhs, self.rhs)

    @property
    def tolerance(self) -> Tolerance:
        """The tolerance of a sum of k, and of the steps after it."""
        return self._behind.tolerance(self._sums, self.k)

    def check(self) -> None:
        check_sizes(self, "m", "n", "k", "split_k", *(("batch",) if self._batch else ()))
        check_type("lhs", self.lhs, (*FLOATS, "i8"))
        check_type("rhs", self.rhs, (*FLOATS, "i8"))
        check_type("out", self.out, (*FLOATS, "i32") if self._sums == "i32" else FLOATS)
        check_choice(self, "layout", _LAYOUTS)
        if self.k % self.split_k:
            raise UsageError(f"split_k: k ({self.k}) is not a multiple of {self.split_k} slices")
        self._epilogue.check()

    def build(self, inputs: Sequence[ir.Value]) -> ir.Value:
        """A matmul of linalg's, or of slices of k a generic op and a sum; the epilogue behind it."""
        lhs, rhs, *extras = inputs
        if self.split_k > 1:
            return self._behind.build(self._in_slices(lhs, rhs), extras)
        if not self.accumulate or self.out != self._sums:  # the sums do not begin with the addend
            return self._behind.build(self._sums_of(lhs, rhs, filled(self.result.shape, self._sums)), extras)
        addend, *extras = extras
        return self._epilogue.build(self._sums_of(lhs, rhs, addend), extras)

    def compute(self, ops: Primitives[T], inputs: Sequence[T]) -> T:
        """A product, of transposed views of transposed factors, and the steps behind it."""
        (lhs, rhs), extras = inputs[:2], inputs[2:]
        factors = [
            ops.transpose(x, (*range(len(self._batch)), len(self._batch) + 1, len(self._batch)))
            if _SWAPPED[letter] else x
            for x, letter in zip((lhs, rhs), self.layout, strict=True)
        ]  # fmt: skip
        if self.lhs != self.rhs:
            factors = [ops.cast(each, self._sums) for each in factors]
        sums = ops.matmul(factors[0], factors[1], self._behind.asked(self._sums))
        return self._behind.compute(ops, sums, self._sums, extras)

    @property
    def _batch(self) -> tuple[int, ...]:
        return ()

    @property
    def _sums(self) -> str:
        return sums_of(self.lhs, self.rhs)

    @property
    def _epilogue(self) -> Epilogue:
        return Epilogue(epilogues.steps_of(self.epilogue), self.result, len(self._batch) + 1)

    @property
    def _behind(self) -> Epilogue:
        """The epilogue with the third matrix as its first step."""
        own = self._epilogue
        return Epilogue((*(("residual",) if self.accumulate else ()), *own.steps), own.result, own.channel)

    def _sums_of(self, lhs: ir.Value, rhs: ir.Value, out: ir.Value) -> ir.Value:
        """The product added to `out`, by an op of linalg's."""
        # Maps will do; the stubs name attributes.
        maps = None if self.layout == "tt" else cast("Sequence[ir.AffineMapAttr]", self._maps)
        make = named("batch_matmul" if self._batch else "matmul")
        return make(lhs, rhs, outs=[out], indexing_maps=maps)

    @property
    def _maps(self) -> list[ir.AffineMap]:
        """Of factors and result; loops are the batch, m, n and k."""
        batch = range(len(self._batch))
        m, n, k = (len(batch) + each for each in range(3))
        pairs = zip(((m, k), (k, n)), self.layout, strict=True)
        factors = [(*batch, *(pair[::-1] if _SWAPPED[letter] else pair)) for pair, letter in pairs]
        return [access(k + 1, loops) for loops in (*factors, (*batch, m, n))]

    def _in_slices(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """Products of slices of k, and their sum; loops are the batch, slices, m, n and k."""
        batch = range(len(self._batch))
        s, m, n, k = (len(batch) + each for each in range(4))
        parts = self.split_k, self.k // self.split_k
        kept = [(size,) for size in self._batch]
        factors: list[ir.Value] = []
        maps: list[ir.AffineMap] = []
        for value, pair, size, letter in zip(
            (lhs, rhs), ((m, k), (k, n)), (self.m, self.n), self.layout, strict=True
        ):
            split = [parts if loop == k else (size,) for loop in pair]
            loops = [(s, k) if loop == k else (loop,) for loop in pair]
            turn = -1 if _SWAPPED[letter] else 1
            factors.append(expand(value, [*kept, *split[::turn]]))
            maps.append(access(k + 1, [*batch, *(loop for each in loops[::turn] for loop in each)]))
        shape = (*self._batch, self.split_k, self.m, self.n)
        maps.append(access(k + 1, (*batch, s, m, n)))
        partial = generic(factors, filled(shape, self._sums), maps, multiply_add)
        summed = [access(k, range(k)), access(k, (*batch, m, n))]
        return generic([partial], filled(self.result.shape, self._sums), summed, add)


@dataclass(frozen=True, kw_only=True)
class BatchMatmul(Product):
    """Products, `batch` of them; see `Product`. A bias is one vector for all, a residual has the batch."""

    kind: ClassVar[str] = "batch_matmul"

    batch: int = 8

    @property
    def _batch(self) -> tuple[int, ...]:
        return (self.batch,)


@dataclass(frozen=True, kw_only=True)
class Matmul(Product):
    """One product; see `Product`."""

    kind: ClassVar[str] = "matmul"
