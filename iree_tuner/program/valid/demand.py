"""Follow integers from their uses back to the inputs that they are computed from.

A use states the integers that a value may be (`required`, `preferred`, `masks`). From results to operands
(`transfer`), through calls, globals, loops and branches (here), each value gets the integers that all of its
uses allow. They are not followed through ops that are not understood; the result lists these in `unclear`,
since values behind them may be wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from iree.compiler import ir

from iree_tuner.compiler.context import defining_op, symbol_of, walk
from iree_tuner.ops.structure import bounds, mixed, operand_groups
from iree_tuner.program.valid.bodies import (
    CALLS,
    FUNCTIONS,
    RETURNS,
    block_number,
    column_of,
    compared,
    constant,
    depends,
    followed,
    handed_on,
    is_structured,
    number_of,
    parent_of,
    predecessors,
    terminator,
)
from iree_tuner.program.valid.interval import EVERYTHING, Interval
from iree_tuner.program.valid.known import Ranges
from iree_tuner.program.valid.transfer import demands_on_operands

# Uses of integers that say what these may be: as an index, a position, a length, a mask.


Wanted = Iterator[tuple[ir.Value, Interval]]
Sinks = Callable[[ir.Operation, Ranges], Wanted]

_ELEMENTS = {"tensor.extract": 0, "memref.load": 0, "tensor.insert": 1, "memref.store": 1}
"""Ops on one element, whose indices follow the operand that they are of."""

_SLICES = {
    "tensor.extract_slice": 0, "tensor.insert_slice": 1, "tensor.parallel_insert_slice": 1,
    "iree_tensor_ext.dispatch.tensor.load": 0, "iree_tensor_ext.dispatch.tensor.store": 1,
}  # fmt: skip
"""Ops on slices, and the operand that they are of."""

_EQ, _NE, _SLT, _SLE, _SGT, _SGE, _ULT, _ULE, _UGT, _UGE = range(10)
_MIRRORED = {
    _EQ: _EQ, _NE: _NE, _SLT: _SGT, _SLE: _SGE, _SGT: _SLT, _SGE: _SLE,
    _ULT: _UGT, _ULE: _UGE, _UGT: _ULT, _UGE: _ULE,
}  # fmt: skip


def required(op: ir.Operation, known: Ranges) -> Wanted:
    """Values that an op requires: any other is an error, or undefined."""
    name = op.name
    if name in _ELEMENTS:
        place = _ELEMENTS[name]
        for dimension, index in enumerate(list(op.operands)[place + 1 :]):
            yield index, _rows(known.size(op.operands[place], dimension))
    elif name in _SLICES:
        yield from _slice(op, known, _SLICES[name])
    elif name in ("iree_linalg_ext.gather", "iree_linalg_ext.scatter"):
        yield from _table(op, known)
    elif name == "cf.assert":
        yield from _asserted(op.operands[0], known)
    elif name == "util.assume.int":
        for operand, result in zip(op.operands, op.results, strict=True):
            assumed = bounds(result)
            if assumed.upper is not None:
                yield operand, Interval(assumed.lower, assumed.upper)


def preferred(op: ir.Operation, known: Ranges) -> Wanted:
    """Lengths and positions: numbers that are compared with all places of a dimension."""
    if op.name != "arith.cmpi":
        return
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    for value, other, kind in (
        (op.operands[1], op.operands[0], predicate),
        (op.operands[0], op.operands[1], _MIRRORED[predicate]),
    ):
        places = known.range(other)
        if places is None or places.low is None or places.high is None or places.low == places.high:
            continue
        after = int(kind in (_SLT, _SGE, _ULT, _UGE))  # place < length; place <= position
        yield value, Interval(places.low + after, places.high + after)


def masks(op: ir.Operation, known: Ranges) -> Wanted:
    """Integers that are only tested for zero, or are subtracted from one."""
    if op.name == "arith.cmpi":
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        if predicate in (_EQ, _NE) and known.exact(op.operands[1]) == 0:
            yield op.operands[0], Interval(0, 1)
    elif op.name == "arith.trunci":
        kind = op.results[0].type
        if isinstance(kind, ir.IntegerType) and kind.width == 1:
            yield op.operands[0], Interval(0, 1)
    elif op.name == "arith.subf" and _is_one(op.operands[0]):
        taken = defining_op(followed(op.operands[1])[0])
        if taken is not None and taken.name in ("arith.sitofp", "arith.uitofp"):
            yield taken.operands[0], Interval(0, 1)


def _rows(size: int | None) -> Interval:
    """The indices of a dimension; only the first if the size is not known."""
    return Interval(0, max(0, (size or 1) - 1))


def _slice(op: ir.Operation, known: Ranges, place: int) -> Wanted:
    parts = zip(*(mixed(op, name) for name in ("offsets", "sizes", "strides")), strict=True)
    for dimension, (offset, size, stride) in enumerate(parts):
        whole = known.size(op.operands[place], dimension)
        step = stride if isinstance(stride, int) else known.exact(stride) or 1
        begins = _range(offset, known)
        length = _range(size, known)
        if whole is None:
            whole = 1 if length is None or length.high is None else length.high
        if not isinstance(offset, int) and begins is None:
            taken = (length.high if length is not None else None) or (1 if length else (whole + 1) // 2)
            yield offset, Interval(0, max(0, whole - 1 - (taken - 1) * step))
        if not isinstance(size, int) and length is None:
            start = (begins.high if begins is not None else None) or 0
            left = (whole - start) if begins is not None else whole - (whole - 1 - (whole - 1) // 2)
            yield size, Interval(min(1, left), max(0, -(-left // step)))


def _range(value: int | ir.Value, known: Ranges) -> Interval | None:
    return Interval(value, value) if isinstance(value, int) else known.range(value)


def _table(op: ir.Operation, known: Ranges) -> Wanted:
    """The rows that a gather reads, or that a scatter writes: for each column of indices, if known."""
    scatters = op.name.endswith("scatter")
    table = op.operands[2] if scatters else op.operands[0]
    distinct = scatters and ir.BoolAttr(op.attributes["unique_indices"]).value
    for column, dimension in enumerate(ir.DenseI64ArrayAttr(op.attributes["dimension_map"])):
        rows = _rows(known.size(table, dimension))
        yield column_of(op.operands[1], column), replace(rows, distinct=distinct)


def _asserted(condition: ir.Value, known: Ranges) -> Wanted:
    op = defining_op(condition)
    if op is not None and op.name == "arith.andi":
        for each in op.operands:
            yield from _asserted(each, known)
        return
    comparison = compared(condition)
    if comparison is None:
        return
    predicate = ir.IntegerAttr(comparison.attributes["predicate"]).value
    left, right = comparison.operands[0], comparison.operands[1]
    for value, other, kind in ((left, right, predicate), (right, left, _MIRRORED[predicate])):
        limit = known.range(other)
        if limit is not None:
            yield value, satisfying(kind, limit)


def satisfying(predicate: int, limit: Interval) -> Interval:
    """The integers for which a comparison with all of `limit` holds."""
    if predicate in (_SLT, _ULT, _SLE, _ULE):
        high = None if limit.low is None else limit.low - (predicate in (_SLT, _ULT))
        return Interval(0 if predicate in (_ULT, _ULE) else None, high)
    if predicate in (_SGT, _UGT, _SGE, _UGE):
        return Interval(None if limit.high is None else limit.high + (predicate in (_SGT, _UGT)))
    return limit if predicate == _EQ and limit.low == limit.high else Interval()


def _is_one(value: ir.Value) -> bool:
    op = defining_op(followed(value)[0])
    if op is None or op.name != "arith.constant" or constant(value) is not None:
        return False
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseFPElementsAttr) and attribute.is_splat:
        attribute = attribute.get_splat_value()
    return isinstance(attribute, ir.FloatAttr) and attribute.value == 1.0


_MOST_CHANGES = 24  # of one value: bounds only come closer, and in a circle they would for long
_STOPS = ("tensor.dim", "hal.buffer_view.dim", "tensor.empty", "flow.tensor.empty")
_DISPATCH = "flow.dispatch"
_STORE = "iree_tensor_ext.dispatch.tensor.store"
_LOAD = "util.global.load"
_COMPARES_UP = {2: 1, 3: 0, 6: 1, 7: 0, 1: 1, 0: 1}
"""Predicates under which a counter goes on to a limit, and how far behind its last value that is."""


class Demands:
    """The integers that the values of a module or a function may be; `sinks` are uses that restrict them."""

    def __init__(self, top: ir.Operation, known: Ranges, sinks: Sinks) -> None:
        self.unclear: dict[str, None] = {}
        """Ops behind which the values of indices could not be followed, and uses that cannot all be valid."""
        self.globals: dict[str, Interval] = {}
        self._known = known
        self._values: dict[ir.Value, Interval] = {}
        self._changes: dict[ir.Value, int] = {}
        self._todo = deque[ir.Value]()
        self._functions: dict[str, ir.Operation] = {}
        self._calls: dict[str, list[ir.Operation]] = {}
        self._stores: dict[str, list[ir.Value]] = {}
        self._written: dict[ir.Value, list[ir.Value]] = {}
        ops = list(walk(top))
        for op in ops:
            self._note(op)
        for op in ops:
            for value, wanted in sinks(op, known):
                self._require(value, wanted)
        while self._todo:
            self._pass_on(self._todo.popleft())

    def of(self, value: ir.Value) -> Interval | None:
        """The integers that a value may be; None if no use restricts it."""
        return self._values.get(value)

    def _note(self, op: ir.Operation) -> None:
        if op.name in FUNCTIONS:
            self._functions[symbol_of(op)] = op
        elif op.name in CALLS:
            self._calls.setdefault(_named(op, "callee"), []).append(op)
        elif op.name == _DISPATCH:
            for name in _dispatched(op):
                self._calls.setdefault(name, []).append(op)
        elif op.name == _STORE and isinstance(op.operands[1].owner, ir.Block):
            self._written.setdefault(op.operands[1], []).append(op.operands[0])
        elif op.name == "util.global.store":
            self._stores.setdefault(_named(op, "global"), []).append(op.operands[0])

    def _require(self, value: ir.Value, wanted: Interval) -> None:
        fixed = self._known.range(value)
        if wanted == EVERYTHING or fixed is not None:
            return
        old = self._values.get(value)
        new = wanted if old is None else old.meet(wanted)
        if new.is_empty:
            op = defining_op(value)
            self.unclear.setdefault("uses that contradict each other" if op is None else op.name)
        elif new != old and self._changes.get(value, 0) <= _MOST_CHANGES:
            self._values[value] = new
            self._changes[value] = self._changes.get(value, 0) + 1
            self._todo.append(value)

    def _pass_on(self, value: ir.Value) -> None:
        wanted, op, number = self._values[value], defining_op(value), number_of(value)
        if op is None:
            self._to_argument(value, number, wanted)
        elif op.name in CALLS:
            called = self._functions.get(_named(op, "callee"))
            for returned in _returned(called):
                self._require(returned.operands[number], wanted)
        elif op.name == _DISPATCH:
            self._to_stored(op, number, wanted)
        elif op.name == _LOAD:
            name = _named(op, "global")
            old = self.globals.get(name)
            self.globals[name] = wanted if old is None else old.meet(wanted)
            for stored in self._stores.get(name, []):
                self._require(stored, wanted)
        elif op.name in ("scf.if", "scf.index_switch", "scf.execute_region"):
            for region in op.regions:
                if list(region.blocks):
                    self._require(terminator(region).operands[number], wanted)
        elif op.name == "scf.for":
            self._require(op.operands[3 + number], wanted)
            self._require(terminator(op.regions[0]).operands[number], wanted)
        elif op.name == "scf.while":
            self._require(terminator(op.regions[0]).operands[1 + number], wanted)
        elif len(op.operands) and op.name not in _STOPS and not op.name.endswith("binding.subspan"):
            found = demands_on_operands(op, number, wanted, self._known)
            if found is None:
                self.unclear.setdefault(op.name)
            for operand, own in found or ():
                self._require(operand, own)

    def _to_stored(self, dispatch: ir.Operation, number: int, wanted: Interval) -> None:
        """Require it of the values that a dispatch stores in a result: an argument, or memory of its own."""
        given = _given(dispatch)
        place = _tied(dispatch, number)
        if place is None:
            place = len(given) + sum(_tied(dispatch, each) is None for each in range(number))
        else:
            self._require(given[place], wanted)
        for name in _dispatched(dispatch):
            function = self._functions.get(name)
            arguments = function.regions[0].blocks[0].arguments if function is not None else ()
            for stored in self._written.get(arguments[place], []) if place < len(arguments) else ():
                self._require(stored, wanted)

    def _to_argument(self, value: ir.Value, number: int, wanted: Interval) -> None:
        block, parent = value.owner, parent_of(value)
        assert isinstance(block, ir.Block)
        _, place = block_number(block, parent)
        if is_structured(parent) and number < len(parent.operands):
            self._require(parent.operands[number], wanted)
        elif parent.name in FUNCTIONS and place == 0:
            for call in self._calls.get(symbol_of(parent), []):
                given = _given(call)
                if number < len(given):
                    self._require(given[number], wanted)
        elif parent.name == "scf.for" and number == 0:
            self._counted(parent, wanted)
        elif parent.name == "scf.for":
            self._carried(value, parent, parent.operands[2 + number], wanted)
        elif (handed := handed_on(value)) is not None:
            self._require(handed, wanted)
        elif parent.name == "scf.while":
            given = terminator(parent.regions[1]).operands[number]
            self._entered(value, [parent.operands[number], given], parent, wanted)
        elif place > 0:
            self._entered(value, predecessors(block, number), parent, wanted)
        elif parent.name == "flow.dispatch.workgroups":
            self._require(parent.operands[number], wanted)

    def _counted(self, loop: ir.Operation, wanted: Interval) -> None:
        """The bounds of a loop over places: it has at least one step, and none behind the last place."""
        low, high = loop.operands[0], loop.operands[1]
        self._require(low, wanted)
        start = self._known.range(low)
        first = start.high if start is not None and start.high is not None else wanted.high
        if wanted.high is not None:
            least = None if first is None else min(first + 1, wanted.high + 1)
            self._require(high, Interval(least, wanted.high + 1))

    def _carried(self, value: ir.Value, loop: ir.Operation, initial: ir.Value, wanted: Interval) -> None:
        """A value of one step of a loop that has a counter, and is the next one's."""
        given = terminator(loop.regions[0]).operands[number_of(value) - 1]
        root, step = followed(given)
        if not depends(given, value, loop):
            self._require(given, wanted)
            self._require(initial, wanted)
            return
        if root != value or not step:
            self._require(initial, wanted)
            return
        steps = self._steps(loop, wanted, abs(step))
        moved = step * max(0, steps - 1)
        self._require(initial, wanted.shifted(-min(0, moved), -max(0, moved)))

    def _steps(self, loop: ir.Operation, wanted: Interval, step: int) -> int:
        """The most steps. If an input decides it, half of the places are for them."""
        low, high, by = (self._known.range(each) for each in list(loop.operands)[:3])
        if low is not None and high is not None and high.high is not None and low.low is not None:
            return -(-(high.high - low.low) // max(1, (by.low if by is not None else None) or 1))
        if wanted.low is None or wanted.high is None:
            return 1
        steps = max(1, (wanted.high - wanted.low) // 2 // step)
        start = low.low if low is not None and low.low is not None else 0
        self._require(loop.operands[1], Interval(start + 1, start + steps))
        return steps

    def _entered(
        self, value: ir.Value, given: Sequence[ir.Value], parent: ir.Operation, wanted: Interval
    ) -> None:
        """A value that a block is entered with: from outside, and from itself if it is a counter."""
        circular = [each for each in given if depends(each, value, parent)]
        for each in given:
            if each not in circular:
                self._require(each, wanted)
        steps = {step for root, step in map(followed, circular) if root == value}
        if circular and max(steps, default=0) > 0:
            self._limits(value, parent, wanted)

    def _limits(self, counter: ir.Value, parent: ir.Operation, wanted: Interval) -> None:
        """Require it of the limits that a counter is compared with."""
        for op in walk(parent):
            if op.name == "arith.cmpi":
                predicate = ir.IntegerAttr(op.attributes["predicate"]).value
                left, right = (followed(each) for each in op.operands)
                behind = _COMPARES_UP.get(predicate)
                if left[0] == counter and behind is not None:
                    self._require(op.operands[1], wanted.shifted(behind + left[1]))
                if right[0] == counter and predicate in (4, 5, 8, 9):
                    self._require(op.operands[0], wanted.shifted((predicate in (4, 8)) + right[1]))


def _named(op: ir.Operation, attribute: str) -> str:
    return ir.FlatSymbolRefAttr(op.attributes[attribute]).value


def _dispatched(op: ir.Operation) -> list[str]:
    """The functions that a dispatch may call."""
    return [ir.SymbolRefAttr(each).value[-1] for each in ir.ArrayAttr(op.attributes["entry_points"])]


def _given(call: ir.Operation) -> list[ir.Value]:
    """The arguments that a call or a dispatch passes to the function."""
    return operand_groups(call)[1] if call.name == _DISPATCH else list(call.operands)


def _tied(dispatch: ir.Operation, number: int) -> int | None:
    """The argument that a dispatch writes a result to; None for memory of its own."""
    if "tied_operands" not in dispatch.attributes:
        return None
    place = ir.IntegerAttr(ir.ArrayAttr(dispatch.attributes["tied_operands"])[number]).value
    return place if place >= 0 else None


def _returned(function: ir.Operation | None) -> list[ir.Operation]:
    """The ops by which a function returns."""
    if function is None:
        return []
    region = function.regions[0]
    last = [terminator(region, number) for number in range(len(list(region.blocks)))]
    return [op for op in last if op.name in RETURNS]


class Uses:
    """The integers that all uses of a value allow, in a module or a function."""

    def __init__(self, top: ir.Operation, known: Ranges) -> None:
        self._demands = tuple(Demands(top, known, sinks) for sinks in (required, preferred, masks))
        self.unclear = tuple(self._demands[0].unclear)

    def of(self, value: ir.Value) -> Interval | None:
        """The integers that a value may be; None if no use restricts it."""
        return _allowed(*(each.of(value) for each in self._demands))

    def of_global(self, name: str) -> Interval | None:
        return _allowed(*(each.globals.get(name) for each in self._demands))


def _allowed(required: Interval | None, preferred: Interval | None, mask: Interval | None) -> Interval | None:
    """Required values, of these the preferred ones if there are any; a mask's if nothing else is known."""
    if required is None:
        return preferred or mask
    met = required if preferred is None else required.meet(preferred)
    return required if met.is_empty else met
