"""A program's dispatches as functions of their own, to be called one by one on values of the caller's choice.

Made at phase `flow`, where dispatches are cut out and values are still tensors: each part is the program's
own code for that place, with the spec that is inside. Values between dispatches are numbered: first what the
function takes, then what its dispatches make, in order. Each function takes one more argument at its end, the
byte with which memory is filled that it allocates (`program.fillings`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import hal, util

from iree_tuner.compiler.session import CompilerSession
from iree_tuner.compiler.unbound import hal_type
from iree_tuner.compiler.worker import session_for
from iree_tuner.errors import TunerError
from iree_tuner.ops.bounded import bounds_sums
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.fillings import fill, is_public_function, symbol_of, take_byte
from iree_tuner.program.phases import select_target
from iree_tuner.targets import Target

RESULTS = "iree_tuner.results"
_PART = "iree_tuner.part"

_DISPATCH, _IMPORT, _EXPORT = "flow.dispatch", "hal.tensor.import", "hal.tensor.export"
_BARRIER = "hal.tensor.barrier"
_CHEAP = ("flow.tensor.", "arith.", "tensor.", "util.global.load", "util.align", "hal.tensor.transients")
_STATE = ("util.global.store", "util.call", "func.call")
_ROUNDING = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "math.")
_NARROW = ("bf16", "f16")
_BOOLEAN = ElementType.named("i1")
_EXPORT_DEPTH = 2


@dataclass(frozen=True)
class Value:
    """Something that dispatches read or write: a tensor, or a scalar with the shape None."""

    element_type: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class ProgramPart:
    """A dispatch as a function.

    Attributes:
        function: its name in the module.
        dispatch: name of its export.
        reads: numbers of the values that it takes, in order.
        writes: numbers of the values that it makes, in order.
        inner: dispatches before it that make what cannot be handed over, and are run in it again.
        rounds_in: the type that its bodies compute in with more than one op, where that is a narrow float:
            a processor without such arithmetic rounds elsewhere. Empty for all others.
        bounded: whether a function limits results after they are summed (`ops.bounded`).
    """

    function: str
    dispatch: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    inner: tuple[str, ...] = ()
    rounds_in: str = ""
    bounded: bool = False


@dataclass(frozen=True)
class Parts:
    """A program's function in parts.

    Attributes:
        vmfb: the VM module.
        function: the program's function.
        values: all of them; the first are the function's arguments.
        takes: of these, which of the function's arguments each is.
        parts: the dispatches that can be called, in the program's order.
        results: what makes the program's own results of values; its `writes` are none.
        left_out: why some dispatches are no parts, each once.
    """

    vmfb: bytes
    function: str
    values: tuple[Value, ...]
    takes: tuple[int, ...]
    parts: tuple[ProgramPart, ...]
    results: ProgramPart | None
    left_out: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether the parts, one after another, are the program."""
        return self.results is not None and not self.left_out


def take_apart(
    data: bytes, name: str, target: Target, function: str = "", only: Collection[str] | None = None
) -> Parts:
    """Compile a program's dispatches as functions. Runs in a worker.

    Args:
        data: the program.
        name: of the program.
        target: what it is compiled for.
        function: which of the program's functions; the first one without.
        only: the dispatches that are wanted, by export; all without.

    Raises:
        CompileError: the compiler refused.
        TunerError: the program has no such function, or none whose dispatches can be called.
    """
    session = session_for(target.flags)
    module = session.parse(data, name)
    select_target(module, target)
    session.run(module, stop="flow")
    return take_apart_flow(module, session, name, function, only)


def take_apart_flow(
    module: ir.Module, session: CompilerSession, name: str, function: str = "",
    only: Collection[str] | None = None,
) -> Parts:  # fmt: skip
    """`take_apart` of a module at phase `flow`, which is used up."""
    with session.context, ir.Location.unknown():
        found = _Apart(module, name, function)
        made = found.write(only)
        _erase_others(module, made)
        session.run(module, start="flow", stop="stream")
        for view in module.body.operations:
            if is_public_function(view.operation):
                fill(view.operation)
        return found.parts(session.to_vmfb(module, start="stream"))


class _Apart:
    """One function of a module at phase `flow`, and what is made of it.

    Args:
        module: it.
        name: of the program, for errors.
        function: the function's name; the first with dispatches without.
    """

    def __init__(self, module: ir.Module, name: str, function: str) -> None:
        self._module = module
        self._function = _find(module, name, function)
        self._symbol = symbol_of(self._function)
        self._numbers: dict[ir.Value, int] = {}
        self._values: list[Value] = []
        self._parts: list[ProgramPart] = []
        self._results: ProgramPart | None = None
        self._left_out: dict[str, None] = {}
        self._takes: list[int] = []
        self._state = _mutable(module)
        top = [view.operation for view in module.body.operations]
        self._executables = {symbol_of(op): op for op in top if op.name == "flow.executable"}

    def write(self, only: Collection[str] | None) -> set[str]:
        """Add the functions; their names."""
        block = self._function.regions[0].blocks[0]
        body = [view.operation for view in block.operations]
        for op in body:
            if op.name == _IMPORT and isinstance(op.operands[0].owner, ir.Block):
                self._number(op.results[0])
                self._takes.append(ir.BlockArgument(op.operands[0]).arg_number)
        for argument in block.arguments:
            if isinstance(argument.type, ir.IntegerType | ir.FloatType | ir.IndexType):
                self._number(argument)
                self._takes.append(argument.arg_number)
        dispatches = [op for op in body if op.name == _DISPATCH]
        for op in dispatches:
            for result in op.results:
                if _can_be_handed_over(result.type):
                    self._number(result)
        self._nested(body)
        for op in dispatches:
            if only is None or _export_of(op) in only:
                self._add_part(op)
        made = {each.function for each in self._parts}
        self._add_results(body[-1])
        if self._results is not None:
            made.add(RESULTS)
        if not self._parts:
            reason = "; ".join(self._left_out) or "it has none"
            raise TunerError(f"no dispatch of @{self._symbol} can be called by itself: {reason}")
        return made

    def parts(self, vmfb: bytes) -> Parts:
        """The parts, compiled."""
        return Parts(
            vmfb, self._symbol, tuple(self._values), tuple(self._takes), tuple(self._parts), self._results,
            tuple(self._left_out),
        )  # fmt: skip

    def _number(self, value: ir.Value) -> None:
        self._numbers[value] = len(self._values)
        if isinstance(value.type, ir.RankedTensorType):
            self._values.append(Value(str(value.type.element_type), tuple(value.type.shape)))
        else:
            self._values.append(Value(str(value.type), None))

    def _nested(self, body: Sequence[ir.Operation]) -> None:
        for op in body:
            if op.name != _DISPATCH and any(True for region in op.regions for _ in _dispatches(region)):
                self._left_out["dispatches in loops and branches"] = None
            elif op.name in _STATE:
                self._left_out[f"{op.name}, whose effects are the program's"] = None

    def _add_part(self, op: ir.Operation) -> None:
        writes = [result for result in op.results if result in self._numbers]
        if not writes:  # it runs inside the readers of its results
            return
        name, function = _export_of(op), f"{_PART}{len(self._parts)}"
        try:
            reads, inner = self._make(function, writes, set(self._numbers) - set(op.results))
        except TunerError as error:
            self._left_out[str(error)] = None
            return
        made = tuple(self._numbers[value] for value in writes)
        executables = [found for each in _called(op) if (found := self._executables.get(each))]
        rounds_in = next((found for each in executables if (found := _narrow(each))), "")
        bounded = any(map(bounds_sums, executables))
        self._parts.append(ProgramPart(function, name, reads, made, inner, rounds_in, bounded))

    def _add_results(self, last: ir.Operation) -> None:
        values = [_waited(owner.operands[0]) for owner in map(_exporting, last.operands) if owner is not None]
        if len(values) != len(last.operands):
            self._left_out["results that are not tensors"] = None
            return
        try:
            reads, _ = self._make(RESULTS, values, set(self._numbers))
        except TunerError as error:
            self._left_out[str(error)] = None
            return
        self._results = ProgramPart(RESULTS, "", reads, ())

    def _make(
        self, name: str, wanted: Sequence[ir.Value], known: set[ir.Value]
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """A function that computes values of known ones: the numbers of these, and dispatches on the way."""
        ops, leaves = self._slice(wanted, known)
        views = [self._values[self._numbers[leaf]].shape is not None for leaf in leaves]
        view = hal_type("buffer_view")
        inputs = [view if is_view else leaf.type for is_view, leaf in zip(views, leaves, strict=True)]
        kind = ir.TypeAttr.get(ir.FunctionType.get(inputs, [view] * len(wanted)))
        function = util.FuncOp(name, kind, ip=ir.InsertionPoint(self._module.body)).operation
        block = function.regions[0].blocks.append(*inputs)
        mapped: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint(block):
            for is_view, leaf, argument in zip(views, leaves, block.arguments, strict=True):
                mapped[leaf] = (
                    hal.TensorImportOp(leaf.type, argument, leaf.type, []).result if is_view else argument
                )
            for op in ops:
                clone = op.clone()
                for place, operand in enumerate(op.operands):
                    clone.operands[place] = mapped[operand]
                mapped |= dict(zip(op.results, clone.results, strict=True))
            util.ReturnOp([hal.TensorExportOp(view, mapped[each], each.type, []).result for each in wanted])
        take_byte(function)
        own = {each.owner.operation for each in wanted if not isinstance(each.owner, ir.Block)}
        inner = tuple(_export_of(op) for op in ops if op.name == _DISPATCH and op not in own)
        return tuple(self._numbers[leaf] for leaf in leaves), inner

    def _slice(
        self, wanted: Sequence[ir.Value], known: set[ir.Value]
    ) -> tuple[list[ir.Operation], list[ir.Value]]:
        """Ops that compute values from known ones, in order. Raises TunerError if they cannot be copied."""
        needed = set[ir.Operation]()
        leaves: dict[ir.Value, None] = {}
        todo = list(wanted)
        while todo:
            value = todo.pop()
            if value in known:
                leaves[value] = None
                continue
            if isinstance(value.owner, ir.Block):
                raise TunerError(f"a value of type {value.type} cannot be passed between parts")
            op = value.owner.operation
            if op in needed:
                continue
            if op.name != _DISPATCH and not self._is_cheap(op):
                raise TunerError(f"the result of {op.name} cannot be passed between parts")
            needed.add(op)
            todo += list(op.operands)
        block = self._function.regions[0].blocks[0]
        ordered = [view.operation for view in block.operations if view.operation in needed]
        return ordered, sorted(leaves, key=self._numbers.__getitem__)

    def _is_cheap(self, op: ir.Operation) -> bool:
        if op.name == "util.global.load":
            return ir.FlatSymbolRefAttr(op.attributes["global"]).value not in self._state
        return op.name.startswith(_CHEAP) and not list(op.regions)


def _find(module: ir.Module, name: str, function: str) -> ir.Operation:
    """The function that has the dispatches: the one with the name, or its twin with fences, or the first."""
    every = [view.operation for view in module.body.operations if is_public_function(view.operation)]
    with_some = [op for op in every if any(True for _ in _dispatches(op.regions[0]))]
    for op in with_some:
        if not function or symbol_of(op) in (function, f"{function}$async"):
            return op
    raise TunerError(
        "no function with dispatches" + (f" is called {function}" if function else ""), location=name
    )


def _dispatches(region: ir.Region) -> Iterator[ir.Operation]:
    for block in region.blocks:
        for view in block.operations:
            if view.operation.name == _DISPATCH:
                yield view.operation
            for inner in view.operation.regions:
                yield from _dispatches(inner)


def _export_of(dispatch: ir.Operation) -> str:
    (entry,) = list(ir.ArrayAttr(dispatch.attributes["entry_points"]))[:1]
    names = ir.SymbolRefAttr(entry).value
    return names[-1] if len(names) == _EXPORT_DEPTH else names[0]  # external code's own name is that of all


def _called(dispatch: ir.Operation) -> list[str]:
    """Its executables, one of which is chosen."""
    return [ir.SymbolRefAttr(entry).value[0] for entry in ir.ArrayAttr(dispatch.attributes["entry_points"])]


def _executables_of(function: ir.Operation) -> set[str]:
    return {each for op in _dispatches(function.regions[0]) for each in _called(op)}


def _narrow(executable: ir.Operation) -> str:
    """See `ProgramPart.rounds_in`."""
    found = ""

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        if op.name.startswith("linalg.") and op.regions:
            kinds = [
                str(view.operation.results[0].type)
                for view in op.regions[0].blocks[0].operations
                if view.operation.name.startswith(_ROUNDING)
            ]
            found = next((each for each in _NARROW if kinds.count(each) > 1), found)
        return ir.WalkResult.ADVANCE

    executable.walk(visit)
    return found


def _exporting(value: ir.Value) -> ir.Operation | None:
    """The ops that make a tensor a function's result."""
    if isinstance(value.owner, ir.Block):
        return None
    owner = value.owner.operation
    return owner if owner.name == _EXPORT else None


def _waited(value: ir.Value) -> ir.Value:
    """A value that a fence is signalled for, itself."""
    while not isinstance(value.owner, ir.Block) and value.owner.name == _BARRIER:
        value = value.owner.operands[ir.OpResult(value).result_number]
    return value


def _can_be_handed_over(kind: ir.Type) -> bool:
    """Whether a tensor has a shape and a layout that a caller can know."""
    if not isinstance(kind, ir.RankedTensorType) or kind.encoding is not None or not kind.has_static_shape:
        return False
    element = ElementType.of(kind)
    return element == _BOOLEAN or ((element.is_integer or element.is_float) and element.bits % 8 == 0)


def _mutable(module: ir.Module) -> set[str]:
    """Globals that the program changes."""
    globals_ = [view.operation for view in module.body.operations if view.operation.name == "util.global"]
    return {symbol_of(op) for op in globals_ if "is_mutable" in op.attributes}


def _erase_others(module: ir.Module, made: set[str]) -> None:
    """Remove code that is not needed: other functions, and executables that none of ours call."""
    used = set[str]()
    for view in list(module.body.operations):
        op = view.operation
        if op.name != "util.func":
            continue
        if symbol_of(op) in made:
            used |= _executables_of(op)
        elif is_public_function(op):
            op.erase()
        else:
            used |= _executables_of(op)
    for view in list(module.body.operations):
        op = view.operation
        if op.name == "util.initializer":
            used |= _executables_of(op)
    for view in list(module.body.operations):
        op = view.operation
        if op.name == "flow.executable" and symbol_of(op) not in used:
            op.erase()
