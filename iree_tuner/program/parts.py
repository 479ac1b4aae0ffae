"""A program's dispatches as functions of their own, to be called one by one on values of the caller's choice.

Made at phase `flow`, where dispatches are cut out and values are still tensors: each part is the program's
own code for that place, with the spec that is inside. Values between parts are numbered: first the functions'
arguments, then computed values, in order. Each function takes one more argument at its end, the byte with
which memory is filled that it allocates (`program.flow_ops`).

Dispatches in loops and branches are parts, too (`program.flow_ops`): a loop's are called on the values of its
first pass. Another part runs the whole loop, for the code after it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import util

from iree_tuner.compiler.context import defining_op, ops_in, symbol_of, walk
from iree_tuner.compiler.session import CompilerSession
from iree_tuner.compiler.unbound import hal_type
from iree_tuner.errors import TunerError
from iree_tuner.ops.dag import captured
from iree_tuner.ops.scalar_body import bounds_sums
from iree_tuner.program.entries import ASYNC, FILLED, Taken, plain_name, taken_of
from iree_tuner.program.flow_ops import (
    CALL,
    DIM,
    DISPATCH,
    IMPORT,
    LOAD,
    CopiedOps,
    FlowStep,
    FlowSteps,
    callee_of,
    can_be_handed_over,
    dims_of,
    dispatches,
    executables_of,
    export_of,
    exported,
    fill,
    given_as,
    is_public_function,
    is_scalar,
    narrow,
    take_byte,
)
from iree_tuner.program.harness import run_passes
from iree_tuner.program.phases import compiled_to
from iree_tuner.targets import Target

# The functions of a module at phase `flow`: calls are inlined, some are chosen, others removed.


_POLICY = "inlining_policy"


def inline(module: ir.Module, session: CompilerSession) -> None:
    """Put the bodies of private functions where they are called."""
    functions = [op for op in ops_in(module.body) if op.name == "util.func"]
    own = [op for op in functions if not is_public_function(op) and list(op.regions[0].blocks)]
    private = {symbol_of(op): op for op in own}
    called = {callee_of(op) for function in functions for op in walk(function) if op.name == CALL}
    for op in (private[symbol] for symbol in called & private.keys()):
        if _POLICY in op.attributes:
            del op.attributes[_POLICY]
    if called & private.keys():
        run_passes(module, session, "builtin.module(inline)")


def find_functions(module: ir.Module, name: str, functions: Sequence[str]) -> list[ir.Operation]:
    """The functions with these names, or all; of twins with and without fences the one that has code.

    Raises TunerError if none of them has dispatches.
    """
    public = {symbol_of(op): op for op in ops_in(module.body) if is_public_function(op)}
    own = {symbol: op for symbol, op in public.items() if not symbol.endswith(FILLED)}
    asked = functions or list(dict.fromkeys(map(plain_name, own)))
    found: list[ir.Operation] = []
    for each in asked:
        twins = [own[symbol] for symbol in (each, f"{each}{ASYNC}") if symbol in own]
        found += [op for op in twins if any(dispatches(op))][:1] or twins[:1]
    if not any(any(dispatches(op)) for op in found):
        called = f" is called {', '.join(functions)}" if functions else ""
        raise TunerError(f"no function with dispatches{called}", location=name)
    return found


def erase_others(module: ir.Module, made: set[str]) -> None:
    """Remove code that is not needed: other functions, and executables that none of ours call."""
    for op in ops_in(module.body):
        if is_public_function(op) and symbol_of(op) not in made:
            op.erase()
    calling = [op for op in ops_in(module.body) if op.name in ("util.func", "util.initializer")]
    used = {each for op in calling for called in dispatches(op) for each in executables_of(called)}
    for op in ops_in(module.body):
        if op.name == "flow.executable" and symbol_of(op) not in used:
            op.erase()


RESULTS = "iree_tuner.results"
_PART, _OTHER = "iree_tuner.part", "iree_tuner.other"

_CHEAP = ("flow.tensor.", "arith.", "tensor.", "util.align", "util.assume", "hal.tensor.transients")
_AROUND = ("scf.for", "scf.while", "scf.if", "scf.index_switch", "scf.execute_region")


@dataclass(frozen=True)
class ProgramPart:
    """A dispatch as a function; or, with `dispatch` empty, code around dispatches that others read."""

    function: str
    dispatch: str
    reads: tuple[int, ...]  # numbers of the values that it takes, in order; `writes` of those that it makes
    writes: tuple[int, ...]
    # dispatches before it whose results cannot be handed over, and that are run in it again
    inner: tuple[str, ...] = ()
    # the narrow float type that its bodies compute in with more than one op, if any: a processor without such
    # arithmetic rounds elsewhere
    rounds_in: str = ""
    # whether a function limits results after they are summed (`ops.scalar_body.bounds_sums`)
    bounded: bool = False
    # numbers of conditions, with the values on which the program runs it
    only_if: tuple[tuple[int, bool], ...] = ()


@dataclass(frozen=True)
class Parts:
    """Functions of a program in parts; `functions` and `parts` are in the order of a run."""

    vmfb: bytes  # the VM module
    functions: tuple[str, ...]
    values: tuple[Taken, ...]  # all of them; the first are the functions' arguments
    takes: tuple[tuple[str, int], ...]  # the function and the number of each of these arguments
    parts: tuple[ProgramPart, ...]  # the dispatches that can be called, and code around them
    # the part that makes the program's own results of values, if possible; it `writes` nothing
    results: ProgramPart | None
    left_out: tuple[str, ...]  # why some dispatches are not parts, each once
    repeats: bool = False  # whether the program runs some dispatches in loops or branches

    @property
    def whole(self) -> bool:
        """Whether the dispatches, one after another, are the program."""
        apart = all(each.dispatch for each in self.parts) and not self.repeats
        return self.results is not None and not self.left_out and apart


def take_apart(
    data: bytes, name: str, target: Target, functions: Sequence[str] = (), only: Collection[str] | None = None
) -> Parts:
    """Compile a program's dispatches as functions. Runs in a worker.

    `functions` are some of the program's, in the order of a run, and `only` the dispatches that are wanted,
    by export; all without. Raises CompileError if the compiler refuses, TunerError if the program has no such
    function, or none whose dispatches can be called.
    """
    session, module = compiled_to("flow", data, name, target)
    return take_apart_flow(module, session, name, functions, only)


def take_apart_flow(
    module: ir.Module, session: CompilerSession, name: str, functions: Sequence[str] = (),
    only: Collection[str] | None = None,
) -> Parts:  # fmt: skip
    """`take_apart` of a module at phase `flow`, which is used up."""
    with session.context, ir.Location.unknown():
        inline(module, session)
        found = _Apart(module, name, functions)
        made = found.write(only)
        erase_others(module, made)
        session.run(module, start="flow", stop="stream")
        for op in filter(is_public_function, ops_in(module.body)):
            fill(op)
        return found.parts(session.to_vmfb(module, start="stream"))


class _Apart:
    """Functions of a module at phase `flow`, and the parts made of them.

    `name` is the program's, for errors; `functions` names the functions, all without.
    """

    def __init__(self, module: ir.Module, name: str, functions: Sequence[str]) -> None:
        self._module = module
        self._functions = find_functions(module, name, functions)
        self._names = tuple(map(symbol_of, self._functions))
        self._numbers: dict[ir.Value, int] = {}
        self._values: list[Taken] = []
        self._parts: list[ProgramPart] = []
        self._results: ProgramPart | None = None
        self._takes: list[tuple[str, int]] = []
        self._views: dict[ir.Value, ir.Value] = {}
        self._executables = {symbol_of(op): op for op in ops_in(module.body) if op.name == "flow.executable"}
        self._steps = FlowSteps(module, self._functions)
        self._left_out = dict(self._steps.left_out)
        every = [each for function in self._functions for each in walk(function)]
        self._order = {op: place for place, op in enumerate(every)}

    def write(self, only: Collection[str] | None) -> set[str]:
        """Add the functions; returns their names."""
        for function in self._functions:
            self._take_arguments(function)
        computed: set[int] = set()
        for step in self._steps.found:
            for value in step.makes:
                if self._steps.same(value) not in self._numbers:
                    self._number(value)
                    computed.add(id(step))
        for step in self._steps.found:
            if step.op is not None and step.op.name == DISPATCH:
                if only is None or export_of(step.op) in only:
                    self._add_dispatch(step.op, step)
            elif only is None and id(step) in computed:
                self._add(step, _OTHER)
        made = {each.function for each in self._parts}
        if not any(each.dispatch for each in self._parts):
            reason = "; ".join(self._left_out) or "it has none"
            names = ", ".join(f"@{each}" for each in self._names)
            raise TunerError(f"no dispatch of {names} can be called by itself: {reason}")
        self._add_results()
        if self._results is not None:
            made.add(RESULTS)
        return made

    def parts(self, vmfb: bytes) -> Parts:
        return Parts(
            vmfb, self._names, tuple(self._values), tuple(self._takes), tuple(self._parts), self._results,
            tuple(self._left_out), self._steps.repeats,
        )  # fmt: skip

    def _take_arguments(self, function: ir.Operation) -> None:
        """Number a function's arguments, tensors first."""
        name, block = plain_name(symbol_of(function)), function.regions[0].blocks[0]
        for op in ops_in(block):
            if op.name == IMPORT and isinstance(op.operands[0].owner, ir.Block):
                self._number(op.results[0])
                self._views.setdefault(op.operands[0], op.results[0])
                self._takes.append((name, ir.BlockArgument(op.operands[0]).arg_number))
        for argument in block.arguments:
            if is_scalar(argument.type):
                self._number(argument)
                self._takes.append((name, argument.arg_number))

    def _number(self, value: ir.Value) -> None:
        self._numbers[value] = len(self._values)
        self._values.append(taken_of(value.type))

    def _add_dispatch(self, op: ir.Operation, step: FlowStep) -> None:
        if not step.makes:  # it runs inside the readers of its results
            return
        executables = [found for each in executables_of(op) if (found := self._executables.get(each))]
        rounds_in = next((found for each in executables if (found := narrow(each))), "")
        self._add(step, _PART, export_of(op), rounds_in, bounded=any(map(bounds_sums, executables)))

    def _add(
        self, step: FlowStep, prefix: str, dispatch: str = "", rounds_in: str = "", *, bounded: bool = False
    ) -> None:
        function = f"{prefix}{len(self._parts)}"
        makes = [value for value in step.makes if value in self._numbers]
        try:
            reads, inner = self._make(function, makes, set(self._numbers) - set(makes))
            only_if = tuple((self._numbers[self._steps.same(value)], holds) for value, holds in step.guard)
        except TunerError as error:
            self._left_out[str(error)] = None
            return
        writes = tuple(self._numbers[value] for value in makes)
        self._parts.append(ProgramPart(function, dispatch, reads, writes, inner, rounds_in, bounded, only_if))

    def _add_results(self) -> None:
        """A part that makes the program's results, unless blocks decide them or they have other types."""
        lasts = [ops_in(list(each.regions[0].blocks)[-1])[-1] for each in self._functions]
        given = [value for last in lasts for value in last.operands]
        exports = (self._views.get(value) or exported(value) for value in given)  # an argument, or a result
        values = [found for found in exports if found is not None]
        branches = any(len(each.regions[0].blocks) > 1 for each in self._functions)
        if branches or len(values) != len(given):
            return
        with suppress(TunerError):
            reads, _ = self._make(RESULTS, values, set(self._numbers))
            self._results = ProgramPart(RESULTS, "", reads, ())

    def _make(
        self, name: str, wanted: Sequence[ir.Value], known: set[ir.Value]
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """A function that computes values from known ones: the numbers of these, and the dispatches in it."""
        sizes = [dims_of(each) for each in wanted]
        for value, dims in zip(wanted, sizes, strict=True):
            if dims is None or not can_be_handed_over(value.type):
                raise TunerError(f"a value of type {value.type} cannot be passed between parts")
        every = [*wanted, *(each for dims in sizes for each in dims or ())]
        ops, leaves = self._slice(every, known)
        view = hal_type("buffer_view")
        inputs = [leaf.type if is_scalar(leaf.type) else view for leaf in leaves]
        results = [given_as(each.type) if is_scalar(each.type) else view for each in wanted]
        kind = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
        function = util.FuncOp(name, kind, ip=ir.InsertionPoint(self._module.body)).operation
        block = function.regions[0].blocks.append(*inputs)
        with ir.InsertionPoint(block):
            copy = CopiedOps(self._steps, dict(zip(leaves, block.arguments, strict=True)), self._views)
            for op in ops:
                copy.add(op)
            util.ReturnOp([copy.given(each, dims or []) for each, dims in zip(wanted, sizes, strict=True)])
        take_byte(function)
        own = set(map(defining_op, wanted))
        inner = tuple(export_of(op) for op in ops if op.name == DISPATCH and op not in own)
        return tuple(self._numbers[leaf] for leaf in leaves), inner

    def _slice(
        self, wanted: Sequence[ir.Value], known: set[ir.Value]
    ) -> tuple[list[ir.Operation], list[ir.Value]]:
        """Ops that compute values from known ones, in order. Raises TunerError if they cannot be copied."""
        needed = set[ir.Operation]()
        leaves: dict[ir.Value, None] = {}
        todo = list(wanted)
        while todo:
            value = self._steps.same(todo.pop())
            if value in known:
                leaves[value] = None
                continue
            op = defining_op(value)
            if op is None:
                raise TunerError(f"a value of type {value.type} cannot be passed between parts")
            if op in needed:
                continue
            needed.add(op)
            if op.name == DIM and op.operands[0] in self._views:
                leaves[self._views[op.operands[0]]] = None
                continue
            if op.name != DISPATCH and (reason := self._why_not_copied(op)):
                raise TunerError(f"{reason} cannot be passed between parts")
            todo += [*op.operands, *captured(op)]
            todo += [each for each in self._steps.before.get(op, {}).values() if each is not None]
        ordered = sorted(needed, key=self._order.__getitem__)
        return ordered, sorted(leaves, key=self._numbers.__getitem__)

    def _why_not_copied(self, op: ir.Operation) -> str:
        if op.name in (CALL, LOAD, *_AROUND):
            return self._steps.why_not_copied(op)
        copied = op.name.startswith(_CHEAP) and not list(op.regions)
        return "" if copied else f"the result of {op.name}"
