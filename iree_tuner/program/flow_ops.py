"""A module at phase `flow`: its ops and values, and its dispatches in the order in which a run meets them.

Functions follow one another. A loop's body is met in its first pass, so that the values that it begins with
stand for its arguments; a branch is met if its condition holds. A load of a global gives the value that was
stored last. After a loop or a branch that stores to one, this is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from iree.compiler import ir
from iree.compiler.dialects import arith, cf, flow, hal, stream

from iree_tuner.compiler.context import defining_op, ops_in, symbol_of, walk
from iree_tuner.compiler.unbound import hal_type, staging_resource
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.structure import shape_of
from iree_tuner.program.entries import FILLED, is_public
from iree_tuner.program.valid.bodies import constant, terminator

# Functions that fill the memory which they allocate, before anything is computed: results must not depend on
# it.
#
# The memory that a program allocates for its results, and for values between its dispatches, has arbitrary
# contents. Here each such allocation is filled with a byte that the caller gives, in the place where it is
# used first.


_ALLOCATIONS = ("stream.resource.alloc", "stream.resource.alloca")
_EXECUTE = "stream.cmd.execute"
_DECLARED = "iree.reflection"


def add_filled(module: ir.Module) -> None:
    """Give each public function that allocates a twin that fills; in place, at the end of phase `stream`."""
    with module.context, ir.Location.unknown():
        for function in ops_in(module.body):
            if not is_public_function(function) or not _fresh(function):
                continue
            twin = function.clone(ir.InsertionPoint(module.body))
            twin.attributes["sym_name"] = ir.StringAttr.get(symbol_of(function) + FILLED)
            if _DECLARED in twin.attributes:  # what the function itself takes
                del twin.attributes[_DECLARED]
            take_byte(twin)
            fill(twin)


def take_byte(function: ir.Operation) -> None:
    """Add an argument to a function, the byte."""
    byte = ir.IntegerType.get_signless(32)
    function.regions[0].blocks[0].add_argument(byte, ir.Location.unknown())
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    wider = ir.FunctionType.get([*kind.inputs, byte], kind.results)
    function.attributes["function_type"] = ir.TypeAttr.get(wider)


def fill(function: ir.Operation) -> None:
    """Fill the memory that a function allocates, at phase `stream`, with its last argument."""
    block = function.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block):
        last = block.arguments[len(block.arguments) - 1]
        byte = arith.trunci(ir.IntegerType.get_signless(8), last)
        zero = arith.constant(ir.IndexType.get(), 0)
    for execute, places in _fresh(function):
        inside = execute.regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(inside):
            for argument, size in ((inside.arguments[place], size) for place, size in places):
                length, start = cast("ir.Value[ir.IndexType]", size), cast("ir.Value[ir.IndexType]", zero)
                stream.CmdFillOp(argument, length, start, length, byte)


def _fresh(function: ir.Operation) -> list[tuple[ir.Operation, list[tuple[int, ir.Value]]]]:
    """The first uses of memory: an execution, the numbers of its arguments, and their sizes in bytes.

    In loops an allocation may be used in the next iteration; only sizes of the same block are used. Memory
    for transfers cannot be filled: it holds copies that the host reads.
    """
    staging = staging_resource(function.context)
    seen = set[ir.Value]()
    found: list[tuple[ir.Operation, list[tuple[int, ir.Value]]]] = []
    for op in walk(function):
        if op.name != _EXECUTE:
            continue
        places: list[tuple[int, ir.Value]] = []
        arguments = op.regions[0].blocks[0].arguments
        for place, operand in enumerate(list(op.operands)[: len(arguments)]):
            owner = defining_op(operand, *_ALLOCATIONS)
            if owner is None or operand in seen or arguments[place].type == staging:
                continue
            seen.add(operand)
            if owner.block == op.block:
                places.append((place, owner.operands[0]))
        if places:
            found.append((op, places))
    return found


def is_public_function(op: ir.Operation) -> bool:
    """Whether an op is a function that a user can call."""
    return op.name == "util.func" and is_public(op)


DISPATCH, IMPORT, EXPORT = "flow.dispatch", "hal.tensor.import", "hal.tensor.export"
LOAD, STORE, CALL = "util.global.load", "util.global.store", "util.call"
DIM = "hal.buffer_view.dim"

_BARRIER = "hal.tensor.barrier"
_ROUNDING = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "math.")
_NARROW = ("bf16", "f16")
_BOOLEAN = ElementType.named("i1")
_PASSED = (32, 64)  # bits of the floats that functions of a VM module take and give
_EXPORT_DEPTH = 2


def dispatches(op: ir.Operation) -> Iterator[ir.Operation]:
    """The dispatches inside an op."""
    return (each for each in walk(op) if each.name == DISPATCH and each != op)


def export_of(dispatch: ir.Operation) -> str:
    """The name of a dispatch's export, of the first one if there are several."""
    (entry,) = list(ir.ArrayAttr(dispatch.attributes["entry_points"]))[:1]
    names = ir.SymbolRefAttr(entry).value
    return names[-1] if len(names) == _EXPORT_DEPTH else names[0]  # external code's own name is that of all


def executables_of(dispatch: ir.Operation) -> list[str]:
    """Its executables, one of which is chosen."""
    return [ir.SymbolRefAttr(entry).value[0] for entry in ir.ArrayAttr(dispatch.attributes["entry_points"])]


def global_of(op: ir.Operation) -> str:
    """The global that an op loads or stores."""
    return ir.FlatSymbolRefAttr(op.attributes["global"]).value


def callee_of(op: ir.Operation) -> str:
    """The function that an op calls."""
    return ir.FlatSymbolRefAttr(op.attributes["callee"]).value


def mutable_globals(module: ir.Module) -> dict[str, ir.Type]:
    """The globals that a program changes, and their types."""
    return {
        symbol_of(op): ir.TypeAttr(op.attributes["type"]).value
        for op in ops_in(module.body)
        if op.name == "util.global" and "is_mutable" in op.attributes
    }


def dims_of(value: ir.Value) -> list[ir.Value] | None:
    """The sizes of a tensor's dynamic dimensions; None if the module does not contain them."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or kind.has_static_shape:
        return []
    found = None if isinstance(value.owner, ir.Block) else _made_with(value)
    for use in value.uses if found is None else ():
        found = found or _read_with(use.owner.operation, value)
    return found


def _open(value: ir.Value) -> int:
    return shape_of(value.type).count(None)


def _of(value: ir.Value, values: Sequence[ir.Value], dims: Sequence[ir.Value]) -> list[ir.Value]:
    """The sizes of one of several values, whose sizes follow one another."""
    before = list(values)[: list(values).index(value)]
    start = sum(map(_open, before))
    return list(dims)[start : start + _open(value)]


def _made_with(value: ir.Value) -> list[ir.Value] | None:
    owner = ir.OpResult(value).owner.operation
    view = owner.opview
    if isinstance(view, flow.DispatchOp):
        return _of(value, list(view.operation.results), list(view.result_dims))
    if isinstance(view, hal.TensorImportOp | flow.TensorUpdateOp):
        return list(view.target_dims)
    if isinstance(view, flow.TensorReshapeOp | flow.TensorSliceOp | flow.TensorSplatOp | flow.TensorEmptyOp):
        return list(view.result_dims)
    if owner.name == _BARRIER:
        return dims_of(owner.operands[ir.OpResult(value).result_number])
    return None


def _read_with(op: ir.Operation, value: ir.Value) -> list[ir.Value] | None:
    view = op.opview
    if isinstance(view, flow.DispatchOp):
        return _of(value, list(view.arguments), list(view.argument_dims))
    if isinstance(view, hal.TensorExportOp | flow.TensorReshapeOp | flow.TensorSliceOp | flow.TensorLoadOp):
        return list(view.source_dims)
    if isinstance(view, flow.TensorUpdateOp) and view.target == value:
        return list(view.target_dims)
    return None


def narrow(executable: ir.Operation) -> str:
    """The narrow float type that bodies compute in with more than one op, if any."""
    found = ""
    for op in walk(executable):
        if op.name.startswith("linalg.") and op.regions:
            kinds = [
                str(each.results[0].type)
                for each in ops_in(op.regions[0].blocks[0])
                if each.name.startswith(_ROUNDING)
            ]
            found = next((each for each in _NARROW if kinds.count(each) > 1), found)
    return found


def exported(value: ir.Value) -> ir.Value | None:
    """The tensor that a function returns as a buffer view, or the scalar that it returns; else None."""
    if is_scalar(value.type):
        return value
    export = defining_op(value, EXPORT)
    if export is None:
        return None
    source = export.operands[0]
    while (barrier := defining_op(source, _BARRIER)) is not None:
        source = barrier.operands[ir.OpResult(source).result_number]
    return source


def is_scalar(kind: ir.Type) -> bool:
    """Whether it is a type of numbers."""
    return isinstance(kind, ir.IntegerType | ir.FloatType | ir.IndexType)


def can_be_handed_over(kind: ir.Type) -> bool:
    """Whether a caller can take a value of a type and pass it on."""
    if is_scalar(kind):
        own = ElementType.of(kind)
        return not own.is_float or own.bits in _PASSED
    if not isinstance(kind, ir.RankedTensorType) or kind.encoding is not None:
        return False
    element = ElementType.of(kind)
    known = element.is_integer or element.is_float or element.kind == "complex"
    return element == _BOOLEAN or (known and element.bits > 0 and element.bits % 8 == 0)


Guard = tuple[tuple[ir.Value, bool], ...]
"""Conditions, and what each must be."""

State = dict[str, ir.Value | None]
"""The values of globals, None where they are not known; missing ones are as they are after loading."""

_FOR, _WHILE, _IF = "scf.for", "scf.while", "scf.if"
_HIDING = "util.optimization_barrier"
_FIRST_STATE = 2  # of the operands of a `scf.for`: bounds and step come before


@dataclass(frozen=True)
class FlowStep:
    """A dispatch; or an op around others, such as a loop, whose results others read.

    `makes` are its results that can be handed over; it runs on the conditions of `guard`. `op` is None for
    conditions that `guard`s need.
    """

    op: ir.Operation | None
    makes: tuple[ir.Value, ...]
    guard: Guard = ()


class FlowSteps:
    """The steps of functions of a module, one function after another."""

    def __init__(self, module: ir.Module, functions: Sequence[ir.Operation]) -> None:
        self.found: list[FlowStep] = []
        # for an op around others, the globals that it uses, and their values before it
        self.before: dict[ir.Operation, State] = {}
        self._unknown = set[ir.Value]()
        self.left_out: dict[str, None] = {}  # why some dispatches are not met, each once
        firsts = ((function, function.regions[0].blocks[0]) for function in functions)
        # whether dispatches are in loops or branches
        self.repeats = any(op.block != block for each, block in firsts for op in dispatches(each))
        self.globals = mutable_globals(module)
        self._same: dict[ir.Value, ir.Value] = {}
        self._functions = {symbol_of(op): op for op in ops_in(module.body) if op.name == "util.func"}
        state: State = {}
        for function in functions:
            self._go_through(function.regions[0], (), state)

    def same(self, value: ir.Value) -> ir.Value:
        """A value in the pass that is met: a loop's initial value is its argument there."""
        while value in self._same:
            value = self._same[value]
        return value

    def why_not_copied(self, op: ir.Operation) -> str:
        """Why an op cannot run in a part: it needs globals as they are in the program. Empty if it can."""
        if op.name == LOAD and op.results[0] in self._unknown:
            return f"the value of @{global_of(op)} after a loop or a branch that stores to it"
        if op.name == CALL and self._callee(op) is None:
            return f"the result of {op.name}"
        if self._touched(op)[1]:
            return f"the result of {op.name}, which stores to globals,"
        known = self.before.get(op, {}).values()
        return f"the result of {op.name}" if None in known or (op.name == CALL and known) else ""

    def _touched(self, op: ir.Operation) -> tuple[set[str], set[str]]:
        """The mutable globals that are used inside an op, and those of them that are stored."""
        used, stored, seen = set[str](), set[str](), set[str]()
        todo = [op]
        while todo:
            for each in walk(todo.pop()):
                if each.name in (LOAD, STORE) and global_of(each) in self.globals:
                    used.add(global_of(each))
                    if each.name == STORE:
                        stored.add(global_of(each))
                elif each.name == CALL and (callee := self._callee(each)) is not None:
                    todo += [callee] if symbol_of(callee) not in seen else []
                    seen.add(symbol_of(callee))
        return used, stored

    def _callee(self, op: ir.Operation) -> ir.Operation | None:
        function = self._functions.get(callee_of(op))
        return function if function is not None and list(function.regions[0].blocks) else None

    def _go_through(self, region: ir.Region, guard: Guard, state: State) -> None:
        """A region's blocks; a block is met from the first one that leads to it."""
        blocks = list(region.blocks)
        reached: dict[ir.Block, tuple[Guard, State]] = {blocks[0]: (guard, state)} if blocks else {}
        for block in blocks:
            if block not in reached:  # unreachable, or reached from behind only
                if any(op.name == DISPATCH for op in ops_in(block)):
                    self.left_out["dispatches in blocks that nothing before them leads to"] = None
                continue
            own, values = reached[block]
            for op in ops_in(block):
                self._visit(op, own, values)
            for successor, operands, more in _leads_to(block):
                if successor in reached:
                    continue
                self._same |= dict(zip(successor.arguments, operands, strict=True))
                reached[successor] = ((*own, *more), dict(values))
                self._ask(more, own)
        for op in (op for block in blocks[1:] for op in ops_in(block)):
            state |= dict.fromkeys(self._touched(op)[1])

    def _visit(self, op: ir.Operation, guard: Guard, state: State) -> None:
        if op.name == DISPATCH:
            self.found.append(FlowStep(op, _handed_over(op), guard))
        elif op.name == LOAD and global_of(op) in state:
            value = state[global_of(op)]
            if value is None:
                self._unknown.add(op.results[0])
            else:
                self._same[op.results[0]] = value
        elif op.name == _HIDING:
            self._same |= dict(zip(op.results, op.operands, strict=True))
        elif op.name == STORE and global_of(op) in self.globals:
            state[global_of(op)] = op.operands[0]
        elif op.name == CALL or (op.name.startswith("scf.") and list(op.regions)):
            self._around(op, guard, state)

    def _around(self, op: ir.Operation, guard: Guard, state: State) -> None:
        """An op with others inside: these first, in the first pass, and then all of it."""
        used, stored = self._touched(op)
        self.before[op] = {name: state[name] for name in sorted(used & state.keys())}
        if any(dispatches(op)):
            self._inside(op, guard, dict(state))
        elif op.name == CALL and (callee := self._callee(op)) is not None and any(dispatches(callee)):
            self.left_out[f"dispatches in {op.name}"] = None
        state |= dict.fromkeys(stored)
        if makes := _handed_over(op):
            self.found.append(FlowStep(op, makes, guard))

    def _inside(self, op: ir.Operation, guard: Guard, state: State) -> None:
        if op.name == _FOR:
            (body,) = op.regions
            arguments = body.blocks[0].arguments
            first = [op.operands[0], *list(op.operands)[_FIRST_STATE + 1 :]]
            self._same |= dict(zip(arguments, first, strict=True))
            runs = self._has_passes(op)
            self._ask(runs, guard)
            self._go_through(body, (*guard, *runs), state)
        elif op.name == _WHILE:
            before, after = op.regions
            self._same |= dict(zip(before.blocks[0].arguments, op.operands, strict=True))
            self._go_through(before, guard, state)
            condition, *passed = terminator(before).operands
            self._same |= dict(zip(after.blocks[0].arguments, passed, strict=True))
            self._ask(((condition, True),), guard)
            self._go_through(after, (*guard, (condition, True)), state)
        elif op.name == _IF:
            self._ask(((op.operands[0], True),), guard)
            for region, holds in zip(op.regions, (True, False), strict=True):
                self._go_through(region, (*guard, (op.operands[0], holds)), dict(state))
        else:
            self.left_out[f"dispatches in {op.name}"] = None

    def _has_passes(self, op: ir.Operation) -> Guard:
        """The condition on which a `scf.for` has a pass, unless it always has one."""
        lower, upper = list(op.operands)[:2]
        low, high = constant(lower), constant(upper)
        if low is not None and high is not None and low < high:
            return ()
        with ir.InsertionPoint(op):
            found = arith.CmpIOp(arith.CmpIPredicate.slt, lower, upper).result
        return ((found, True),)

    def _ask(self, conditions: Guard, guard: Guard) -> None:
        """Have conditions computed: dispatches behind them run if they hold."""
        for condition, _ in conditions:
            self.found.append(FlowStep(None, (condition,), guard))


def _handed_over(op: ir.Operation) -> tuple[ir.Value, ...]:
    return tuple(result for result in op.results if can_be_handed_over(result.type))


def _leads_to(block: ir.Block) -> list[tuple[ir.Block, Sequence[ir.Value], Guard]]:
    """The blocks that a block's last op leads to, the values passed to them, and the conditions."""
    view = next((op.opview for op in reversed(ops_in(block))), None)
    if isinstance(view, cf.BranchOp):
        return [(view.successors[0], list(view.operands), ())]
    if isinstance(view, cf.CondBranchOp):
        (yes, no), condition = list(view.successors), view.condition
        return [
            (yes, list(view.trueDestOperands), ((condition, True),)),
            (no, list(view.falseDestOperands), ((condition, False),)),
        ]
    return []


# Copies of ops of a program at phase `flow`, in a function that computes a part of it (`program.parts`).


_NARROWEST = 32  # bits of an integer that a function gives


class CopiedOps:
    """Copies of ops in a part, at the insertion point; `arguments` are the part's, for values that it takes.

    `views` are tensors that functions import, by their arguments.
    """

    def __init__(
        self, steps: FlowSteps, arguments: Mapping[ir.Value, ir.Value], views: Mapping[ir.Value, ir.Value]
    ) -> None:
        self._steps = steps
        self._made = dict(arguments)
        for leaf, argument in arguments.items():
            if not is_scalar(leaf.type):
                self._made[leaf] = _imported(leaf.type, argument)
        self._made |= {view: arguments[leaf] for view, leaf in views.items() if leaf in arguments}

    def add(self, op: ir.Operation) -> None:
        """Copy an op. One around others takes the values of globals before it, instead of loading them."""
        clone = op.clone().operation
        for each in walk(clone):
            for place, operand in enumerate(each.operands):
                found = self._steps.same(operand)
                if found in self._made:
                    each.operands[place] = self._made[found]
        before = self._steps.before.get(op, {})
        for each in list(walk(clone)):
            value = before.get(global_of(each)) if each.name == LOAD and each != clone else None
            if value is not None:
                each.results[0].replace_all_uses_with(self._of(value))
                each.erase()
        self._made |= dict(zip(op.results, clone.results, strict=True))

    def _of(self, value: ir.Value) -> ir.Value:
        return self._made[self._steps.same(value)]

    def given(self, value: ir.Value, sizes: Sequence[ir.Value]) -> ir.Value:
        own = self._of(value)
        if not is_scalar(value.type):
            dims = [cast("ir.Value[ir.IndexType]", self._of(each)) for each in sizes]
            return hal.TensorExportOp(hal_type("buffer_view"), own, value.type, dims).result
        wider = given_as(value.type)
        return own if wider == value.type else arith.ExtUIOp(wider, own).result


def _imported(kind: ir.Type, view: ir.Value) -> ir.Value:
    tensor = ir.RankedTensorType(kind)
    open_ = [place for place in range(tensor.rank) if tensor.is_dynamic_dim(place)]
    dims = [hal.BufferViewDimOp(view, place).result for place in open_]
    return hal.TensorImportOp(kind, view, kind, dims).result


def given_as(kind: ir.Type) -> ir.Type:
    """The type of a scalar as a function's result."""
    narrow_ = isinstance(kind, ir.IntegerType) and kind.width < _NARROWEST
    return ir.IntegerType.get_signless(_NARROWEST) if narrow_ else kind
