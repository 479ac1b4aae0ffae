"""Values that do not depend on inputs: constants, places in loops, sizes, and arithmetic on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from iree.compiler import ir

from iree_tuner.compiler.context import defining_op, ops_around
from iree_tuner.compiler.unbound import held_by
from iree_tuner.ops.structure import accesses, iterators, loop_sizes, mixed
from iree_tuner.program.valid.bodies import (
    FUNCTIONS,
    MOVES,
    NUMBERED,
    is_structured,
    number_of,
    parent_of,
    terminator,
)
from iree_tuner.program.valid.interval import Interval, corners, hull

Sizes = Callable[[int, int], int | None]
"""The size that stands for a dynamic dimension: by the input's number and the dimension's."""

_DEEP = 80
_MOST_READ = 1 << 16
_SUMS = ("arith.addi", "arith.subi", "arith.muli")
_IMPORT = "hal.tensor.import"


class Ranges:
    """Ranges of values that do not depend on inputs.

    `sizes` are of dynamic dimensions of inputs, `constants` the push constants of a dispatch.
    """

    def __init__(
        self, sizes: Sizes = lambda _number, _dimension: None, constants: Sequence[int] = ()
    ) -> None:
        self._sizes = sizes
        self._constants = constants
        self._found: dict[ir.Value, Interval | None] = {}
        self._depth = 0

    def range(self, value: ir.Value) -> Interval | None:
        """The integers that a value can be; None if that depends on inputs, or is not found."""
        if value in self._found:
            return self._found[value]
        if self._depth > _DEEP:
            return None
        self._found[value] = None  # in a circle
        self._depth += 1
        op = defining_op(value)
        found = self._of_argument(value) if op is None else self._of_result(op, number_of(value))
        self._depth -= 1
        self._found[value] = found
        return found

    def exact(self, value: ir.Value) -> int | None:
        """The only integer that a value can be; None if there are others."""
        found = self.range(value)
        return found.low if found is not None and found.low == found.high else None

    def size(self, value: ir.Value, dimension: int) -> int | None:
        """The size of a tensor along a dimension, if it is known."""
        _, kind = held_by(value.type)
        if not isinstance(kind, ir.ShapedType) or not kind.has_rank or dimension >= kind.rank:
            return None
        if not kind.is_dynamic_dim(dimension):
            return kind.get_dim_size(dimension)
        dynamic = sum(kind.is_dynamic_dim(each) for each in range(dimension))
        for _ in range(64):
            op, number = defining_op(value), number_of(value)
            if op is None:
                return self._argument_size(value, dimension)
            if op.name in ("tensor.empty", "flow.tensor.splat"):
                open_ = sum(kind.is_dynamic_dim(each) for each in range(kind.rank))
                return self.exact(op.operands[len(op.operands) - open_ + dynamic])
            if op.name == _IMPORT:
                return self._argument_size(op.operands[0], dimension)
            if op.name.startswith(("linalg.", "iree_linalg_ext.")) and op.results:
                value = op.operands[len(op.operands) - len(op.results) + number]
            elif op.name in ("tensor.insert_slice", "tensor.insert"):
                value = op.operands[1]
            elif op.name in (*NUMBERED, "tensor.cast"):
                value = op.operands[number]
            elif op.name in ("tensor.extract_slice", "iree_tensor_ext.dispatch.tensor.load"):
                sizes = mixed(op, "sizes")
                size = sizes[dimension] if len(sizes) == kind.rank else None
                return self.exact(size) if isinstance(size, ir.Value) else size
            else:
                return None
            own = value.type
            if isinstance(own, ir.ShapedType) and own.has_rank and not own.is_dynamic_dim(dimension):
                return own.get_dim_size(dimension)
        return None

    def _argument_size(self, value: ir.Value, dimension: int) -> int | None:
        if isinstance(value.owner, ir.Block) and parent_of(value).name in FUNCTIONS:
            return self._sizes(number_of(value), dimension)
        return None

    def _of_argument(self, value: ir.Value) -> Interval | None:
        parent, number = parent_of(value), number_of(value)
        if is_structured(parent):
            return self.range(parent.operands[number]) if number < len(parent.operands) else None
        if parent.name == "scf.for" and number == 0:
            low, high = (self.range(each) for each in (parent.operands[0], parent.operands[1]))
            if low is not None and high is not None and high.high is not None:
                return Interval(low.low, high.high - 1)
        if parent.name == "tensor.generate":
            size = self.size(parent.results[0], number)
            return None if size is None else Interval(0, size - 1)
        return None

    def _of_result(self, op: ir.Operation, number: int) -> Interval | None:
        name = op.name
        if name == "arith.constant":
            return _read(op.attributes["value"])
        if name == "hal.interface.constant.load":
            ordinal = ir.IntegerAttr(op.attributes["ordinal"]).value
            if ordinal >= len(self._constants):
                return None
            return Interval(self._constants[ordinal], self._constants[ordinal])
        if name in ("tensor.dim", "hal.buffer_view.dim"):
            return self._dimension(op)
        if name == "linalg.index":
            return self._position(op)
        if name == "iree_linalg_ext.topk" and number == 1:
            size = self.size(op.operands[0], ir.IntegerAttr(op.attributes["dimension"]).value)
            return None if size is None else Interval(0, size - 1)
        if name in (*MOVES, "linalg.fill"):
            return self.range(op.operands[0])
        if name in NUMBERED:
            return self.range(op.operands[number])
        if name in ("arith.select", "tensor.from_elements"):
            return hull(map(self.range, list(op.operands)[name == "arith.select" :]))
        if is_structured(op):
            given = terminator(op.regions[0]).operands[number]
            sums = "reduction" in iterators(op) and defining_op(given, *_SUMS) is not None
            return None if sums else self.range(given)
        return self._computed(op) if name.startswith("arith.") and len(op.operands) == 2 else None

    def _computed(self, op: ir.Operation) -> Interval | None:
        name = op.name.removeprefix("arith.")
        left, right = (self.range(each) for each in op.operands)
        if left is None or right is None:
            return None
        if name in ("remsi", "remui", "andi") and right.high is not None:
            limit = right.high if name == "andi" else right.high - 1
            positive = name != "remsi" or (left.low is not None and left.low >= 0)
            if right.low is not None and right.low >= 0:
                return Interval(0 if positive else -limit, limit)
            return None
        if name == "addi" and right.low is not None and right.high is not None:
            return left.shifted(right.low, right.high)
        if name == "subi" and right.low is not None and right.high is not None:
            return left.shifted(-right.high, -right.low)
        if name == "muli":
            return corners(left, right)
        if name in ("maxsi", "maxui", "minsi", "minui") and None not in (left.low, right.low):
            choose = max if name.startswith("max") else min
            highs = [each.high for each in (left, right) if each.high is not None]
            lows = [each.low for each in (left, right) if each.low is not None]
            return Interval(choose(lows), choose(highs)) if len(highs) == len(lows) else None
        divisor = right.low if right.low == right.high else None
        if name not in ("divsi", "divui", "floordivsi") or divisor is None or divisor <= 0:
            return None
        if left.low is None or left.high is None or left.low < 0:
            return None
        return Interval(left.low // divisor, left.high // divisor)

    def _dimension(self, op: ir.Operation) -> Interval | None:
        if op.name == "tensor.dim":
            dimension = self.exact(op.operands[1])
            size = None if dimension is None else self.size(op.operands[0], dimension)
        else:
            size = self._argument_size(op.operands[0], ir.IntegerAttr(op.attributes["index"]).value)
        return None if size is None else Interval(size, size)

    def _position(self, op: ir.Operation) -> Interval | None:
        """The range of a loop of the op around."""
        around = next(filter(is_structured, ops_around(op)), None)
        if around is None:
            return None
        loop = ir.IntegerAttr(op.attributes["dim"]).value
        size = (loop_sizes(around) or (None,) * (loop + 1))[loop]
        if size is None:
            for operand, access in zip(around.operands, accesses(around), strict=True):
                position = access.dimension_of(loop)
                if size is None and position is not None:
                    size = self.size(operand, position)
        return None if size is None else Interval(0, size - 1)


def _read(attribute: ir.Attribute) -> Interval | None:
    """The range of a constant; None for floats, and for constants that are too long to read."""
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr):
        return Interval(int(attribute.value), int(attribute.value))
    if not isinstance(attribute, ir.DenseIntElementsAttr):
        return None
    if attribute.is_splat:
        return _read(ir.IntegerAttr(attribute.get_splat_value()))
    kind = attribute.type
    if not isinstance(kind, ir.ShapedType) or int(np.prod(kind.shape)) > _MOST_READ or len(attribute) == 0:
        return None
    values = np.array(attribute)
    return Interval(int(values.min()), int(values.max()))
