"""The dispatches of a program at phase `flow` in the order in which a run meets them first.

Functions follow one another. A loop's body is met in its first pass, so that the values that it begins with
stand for its arguments; a branch is met if its condition holds. A load of a global gives the value that was
stored last. After a loop or a branch that stores to one, this is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from iree.compiler import ir
from iree.compiler.dialects import arith, cf, hal

from iree_tuner.compiler.context import ops_in, symbol_of, walk
from iree_tuner.compiler.unbound import hal_type
from iree_tuner.program.flow_ops import (
    CALL,
    DISPATCH,
    LOAD,
    STORE,
    callee_of,
    can_be_handed_over,
    dispatches,
    global_of,
    is_scalar,
    mutable_globals,
)
from iree_tuner.program.valid.bodies import constant, terminator

Guard = tuple[tuple[ir.Value, bool], ...]
"""Conditions, and what each must be."""

State = dict[str, ir.Value | None]
"""The values of globals, None where they are not known; missing ones are as they are after loading."""

_FOR, _WHILE, _IF = "scf.for", "scf.while", "scf.if"
_BARRIER = "util.optimization_barrier"
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
        elif op.name == _BARRIER:
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


if TYPE_CHECKING:
    _Index = ir.Value[ir.IndexType]

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
            dims = [cast("_Index", self._of(each)) for each in sizes]
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
