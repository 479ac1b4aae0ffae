"""Attention: of many heads, grouped-query too, with a mask, causal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir
from iree.compiler.dialects import arith

from iree_tuner.compiler.linalg import IndexOp, access, collapse, expand
from iree_tuner.errors import UsageError
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.suite.operation import Operation, Primitives, T, TensorType, check_sizes
from iree_tuner.suite.tensors import WIDE, check_type, constant, element, elementwise, empty, in_name

_MOST_FACTORS = 16
_LOOPS = ("batch", "group", "query", "value", "size", "key")


@dataclass(frozen=True, kw_only=True)
class AttentionOp(Operation):
    """softmax(q k^T / sqrt(size) + mask) v, for each head; scores and sums are held in f32."""

    kind: ClassVar[str] = "attention"

    batch: int = 1  # of sequences
    heads: int = 8  # of queries
    key_heads: int = 0  # of keys and values, each for heads / key_heads heads of queries; 0 for `heads`
    # queries, keys: positions; 0 keys for as many as queries
    queries: int = 512
    keys: int = 0
    size: int = 64  # of a query and a key
    value_size: int = 0  # of a value, and of a result; 0 for `size`
    causal: bool = False  # whether query i sees keys up to i + keys - queries alone
    mask: bool = False  # whether an input is added to the scores, queries x keys of the element type
    element_type: str = "f16"  # of all inputs and of the result

    def __post_init__(self) -> None:
        for name, value in (("key_heads", self.heads), ("keys", self.queries), ("value_size", self.size)):
            if getattr(self, name) == 0:
                object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """As `attention_1x32x512x512x128_f16`, with unusual fields: `_kv8_v64_causal_mask`."""
        sizes = "x".join(map(str, (self.batch, self.heads, self.queries, self.keys, self.size)))
        key_heads = f"_kv{self.key_heads}" if self.key_heads != self.heads else ""
        values = f"_v{self.value_size}" if self.value_size != self.size else ""
        more = f"{key_heads}{values}{'_causal' if self.causal else ''}{'_mask' if self.mask else ''}"
        return f"{self.kind}_{sizes}_{in_name(self.element_type)}{more}"

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        shapes = [
            (self.batch, self.heads, self.queries, self.size),
            (self.batch, self.key_heads, self.keys, self.size),
            (self.batch, self.key_heads, self.keys, self.value_size),
            *([(self.queries, self.keys)] if self.mask else []),
        ]
        return tuple(TensorType(each, self.element_type) for each in shapes)

    @property
    def result(self) -> TensorType:
        return TensorType((self.batch, self.heads, self.queries, self.value_size), self.element_type)

    @property
    def flops(self) -> float:
        """Of both products; of causal ones only the visible scores count, which are half."""
        scores = self.queries * self.keys
        if self.causal:
            scores -= self.queries * (self.queries - 1) // 2
        return 2.0 * self.batch * self.heads * scores * (self.size + self.value_size)

    @property
    def tolerance(self) -> Tolerance:
        """That of sums over sizes and keys, of probabilities rounded to the type of the values."""
        # With values of both signs the results shrink with the root of the number of keys, and the tolerance
        # with them; no more keys are counted than these, so that it does not shrink twice.
        return Tolerance("f32", self.size * self.keys, self.element_type, min(self.keys, _MOST_FACTORS))

    def check(self) -> None:
        check_sizes(self, "batch", "heads", "key_heads", "queries", "keys", "size", "value_size")
        check_type("element_type", self.element_type, WIDE)
        if self.heads % self.key_heads:
            raise UsageError(f"key_heads: {self.heads} heads are not a multiple of {self.key_heads}")
        if self.causal and self.queries > self.keys:
            first = f"the first of {self.queries} queries would attend to none of {self.keys} keys"
            raise UsageError(f"causal: {first}")

    def build(self, inputs: Sequence[ir.Value]) -> ir.Value:
        """One attention op, of all heads of keys; heads of queries that share one are a loop of their own."""
        query, key, value, *masks = inputs
        groups = self.heads // self.key_heads
        query = collapse(query, (2, 1, 1))
        query = expand(query, [(self.batch * self.key_heads, groups), (self.queries,), (self.size,)])
        key, value = collapse(key, (2, 1, 1)), collapse(value, (2, 1, 1))
        shape = (self.batch * self.key_heads, groups, self.queries, self.value_size)
        out = empty(shape, self.element_type)
        scale = constant(1 / math.sqrt(self.size), element(self.element_type))
        masks = [self._visible(masks)] if self.causal else masks
        operands = [query, key, value, scale, *masks, out]
        loops = [
            ("batch", "group", "query", "size"), ("batch", "key", "size"), ("batch", "key", "value"), (),
            *[("query", "key") for _ in masks], ("batch", "group", "query", "value"),
        ]  # fmt: skip
        maps = [access(len(_LOOPS), [_LOOPS.index(each) for each in own]) for own in loops]
        result = collapse(_attention(operands, maps), (2, 1, 1))
        return expand(result, [(self.batch, self.heads), (self.queries,), (self.value_size,)])

    def compute(self, ops: Primitives[T], inputs: Sequence[T]) -> T:
        query, key, value, *masks = inputs
        mask = masks[0] if masks else None
        found = ops.attention(query, key, value, mask, self.causal, 1 / math.sqrt(self.size))
        return ops.cast(found, self.element_type)

    def _visible(self, masks: Sequence[ir.Value]) -> ir.Value:
        """The mask with minus infinity where a query does not see a key; without a mask whether it does.

        An op of its own: indices in the body of attention are wrong in IREE 3.13 once it is tiled.
        """
        element_type = self.element_type if masks else "i1"
        result = TensorType((self.queries, self.keys), element_type)

        def body(*added: ir.Value) -> ir.Value:
            query, key = (IndexOp(each).result for each in (0, 1))
            last = arith.addi(query, arith.constant(ir.IndexType.get(), self.keys - self.queries))
            seen = arith.cmpi(arith.CmpIPredicate.sle, key, last)
            return arith.select(seen, added[0], constant(-math.inf, added[0].type)) if added else seen

        return elementwise([(each, (0, 1)) for each in masks], result, body)


def _attention(operands: Sequence[ir.Value], maps: Sequence[ir.AffineMap]) -> ir.Value:
    indexing = ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps])
    op = ir.Operation.create(
        "iree_linalg_ext.attention", [operands[-1].type], list(operands),
        attributes={"indexing_maps": indexing}, regions=1,
    )  # fmt: skip
    block = op.regions[0].blocks.append(ir.F32Type.get())
    with ir.InsertionPoint(block):
        ir.Operation.create("iree_linalg_ext.yield", operands=list(block.arguments))
    return op.results[0]
