"""Numbers that dispatches take and that a program finds out as it runs: constants stand for them in tuning.

A dispatch takes the position of a row, a factor, or the step of a loop as an argument. The compiler writes
benchmarks only of dispatches whose arguments are constants. So the values that such arguments are computed
from become constants in the functions that run the dispatches, as sizes do (`program.dynamic`). The
arithmetic between them and the dispatch stays: a position that the program limits to the rows of its table
remains within them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

from iree.compiler import ir
from iree.compiler.dialects import arith

from iree_tuner.compiler.context import defining_op, ops_around, ops_in, reachable, symbol_of, walk
from iree_tuner.compiler.session import CompilerSession
from iree_tuner.compiler.unbound import held_by
from iree_tuner.errors import TunerError
from iree_tuner.ops.structure import assumption, fold, mixed, operand_groups, shape_of
from iree_tuner.program.dispatch import CallCount
from iree_tuner.program.entries import ASYNC, is_public, plain_name
from iree_tuner.program.harness import RawHarness, dump_benchmarks, find_function, run_passes, take_buffer

# Count how often a program calls each dispatch, on IR at the phase `executable-sources`.


DISPATCH = "stream.cmd.dispatch"
_BODIES = ("util.func", "func.func")
_CALLS = ("util.call", "func.call")
_LOOPS = ("scf.for", "scf.while", "scf.forall", "scf.parallel")


def count_calls(module: ir.Module, entries: Sequence[str] = ()) -> dict[str, CallCount]:
    """Calls by export name, summed over the entry functions: the public ones that no other function calls.

    The module is at `executable-sources`. `entries` are functions that count instead; TunerError for an
    unknown one. Sites in initializers run once, while the program is loaded, and do not count.
    """
    functions = {symbol_of(op): op for op in ops_in(module.body) if op.name in _BODIES}
    sites = {name: _sites(function) for name, function in functions.items()}
    called = {callee for found in sites.values() for callee, _, is_call in found if is_call}
    public = [name for name, op in functions.items() if is_public(op) and name not in called]
    entries = [each if each in functions else each + ASYNC for each in entries]
    for entry in entries:
        if entry not in functions:
            raise TunerError(
                f"the program has no entry function '{plain_name(entry)}'",
                hint=f"one of: {', '.join(map(plain_name, public))}",
            )
    found: dict[str, list[bool]] = {}
    for entry in entries or public:
        for export, in_loop in _reach(entry, sites, in_loop=False, above=()):
            found.setdefault(export, []).append(in_loop)
    return {export: CallCount(len(looped), any(looped)) for export, looped in found.items()}


def dispatched_exports(module: ir.Module) -> set[str]:
    """The exports that a module at `executable-sources` dispatches, called or not."""
    return {symbol for op in ops_in(module.body) for symbol, _, is_call in _sites(op) if not is_call}


Site = tuple[str, bool, bool]  # symbol, in a loop, whether it is a function


def _reach(
    entry: str, sites: dict[str, list[Site]], in_loop: bool, above: tuple[str, ...]
) -> Iterator[tuple[str, bool]]:
    """The dispatches that a function leads to, and whether in a loop; of a recursion the first round."""
    for symbol, loops, is_call in sites.get(entry, ()) if entry not in above else ():
        if is_call:
            yield from _reach(symbol, sites, in_loop or loops, (*above, entry))
        else:
            yield symbol, in_loop or loops


def _sites(function: ir.Operation) -> list[Site]:
    found: list[Site] = []
    for op in walk(function):
        if op.name == DISPATCH:
            for entry in ir.ArrayAttr(op.attributes["entry_points"]):
                found.append((ir.SymbolRefAttr(entry).value[-1], _in_loop(op, function), False))
        elif op.name in _CALLS:
            callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            found.append((callee, _in_loop(op, function), True))
    return found


def _in_loop(op: ir.Operation, function: ir.Operation) -> bool:
    inside = takewhile(lambda each: each != function, ops_around(op))
    return any(each.name in _LOOPS or _repeats(each.block) for each in inside)


def _repeats(block: ir.Block) -> bool:
    """Whether control flow leads from the block back to it."""
    return block in reachable(block.successors, lambda each: each.successors)


STAND_INS = (7, 1, 0)
"""Values to try in turn. 7 is not aligned, as most positions are not: code that reads at position 0 may be
faster than at any other. A table with few rows has a row 1, and 0 is valid for every position."""

_SIZE, _ASSUME = "hal.buffer_view.dim", "util.assume.int"
_LOAD, _STORE = "iree_tensor_ext.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.store"
_EXTRACT, _INSERT = "tensor.extract_slice", "tensor.insert_slice"
_ELEMENT = ("tensor.extract", "tensor.insert", "memref.load", "memref.store")
_FUNCTIONS = ("util.func", "util.initializer")
_ARITHMETIC, _ARITHMETIC_OPS = ("arith.", "affine.", "math.", "index."), (_ASSUME, "util.align")


def with_values(
    module: ir.Module, exports: Collection[str], session: CompilerSession
) -> dict[str, tuple[RawHarness, ...]]:
    """By export, a harness for each value that may stand for those known only at run time, the best first.

    The module, at `executable-sources` and of the session's context, is not changed. Sizes of inputs are left
    as they are: a dispatch that takes one is not included.
    """
    found: dict[str, list[RawHarness]] = {}
    for value in STAND_INS if exports else ():
        copy = _calling(module, exports)
        if not pin_values(copy, value, session):
            return {}
        for benchmark in dump_benchmarks(copy, session):
            for raw in take_buffer(benchmark):
                if _stays_within(raw, proven=value != STAND_INS[-1]):
                    found.setdefault(raw.export, []).append(raw)
    return {export: tuple(raws) for export, raws in found.items()}


def takes_open_sizes(raw: RawHarness) -> bool:
    """Whether a dispatch has a tensor with a size that is known only at run time."""
    ops = walk(find_function(raw.module, raw.export))
    spans = (op for op in ops if op.name == "hal.interface.binding.subspan")
    return any(None in shape_of(held_by(op.result.type)[1]) for op in spans)


def _calling(module: ir.Module, exports: Collection[str]) -> ir.Module:
    """A copy of a program that dispatches only these."""
    with module.context, ir.Location.unknown():
        copy = ir.Module.create()
        attributes = module.operation.attributes
        for name in attributes:
            copy.operation.attributes[name] = attributes[name]
        for op in ops_in(module.body):
            copy.body.append(op.clone())
    for op in _dispatches(copy):
        entries = [ir.SymbolRefAttr(entry).value for entry in ir.ArrayAttr(op.attributes["entry_points"])]
        if all(entry[-1] not in exports for entry in entries):
            op.erase()
    return copy


def _dispatches(module: ir.Module) -> list[ir.Operation]:
    functions = (op for op in ops_in(module.body) if op.name in _FUNCTIONS)
    return [op for function in functions for op in walk(function) if op.name == DISPATCH]


def pin_values(module: ir.Module, value: int, session: CompilerSession) -> bool:
    """Make the values that numbers of dispatches are computed from constants, in place; whether any were.

    Floats become 1. Other uses of such a number, as a condition or the end of a loop, keep the number.
    """
    sources: list[tuple[ir.Operation, int, ir.Value]] = []
    todo, seen = _dispatches(module), set[ir.Operation]()
    while todo:
        op = todo.pop()
        if op in seen:
            continue
        seen.add(op)
        for number, operand in enumerate(op.operands):
            if not isinstance(operand.type, ir.IntegerType | ir.IndexType | ir.FloatType):
                continue
            inner = defining_op(operand)
            if inner is not None and (inner.name.startswith(_ARITHMETIC) or inner.name in _ARITHMETIC_OPS):
                todo.append(inner)
            elif inner is None or inner.name != _SIZE:
                sources.append((op, number, operand))
    with ir.Location.unknown(module.context):
        for op, number, operand in sources:
            function = next(each for each in ops_around(op) if each.name in _FUNCTIONS)
            with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
                op.operands[number] = arith.ConstantOp(operand.type, _fitting(operand.type, value)).result
    if sources:
        run_passes(module, session, "builtin.module(util.func(canonicalize,cse))")
    return bool(sources)


def _fitting(kind: ir.Type, value: int) -> int | float:
    """The value in a type: the bits of it that an integer has."""
    if isinstance(kind, ir.FloatType):
        return 1.0
    return value if isinstance(kind, ir.IndexType) else value & ((1 << ir.IntegerType(kind).width) - 1)


def _stays_within(raw: RawHarness, *, proven: bool) -> bool:
    """Whether a dispatch with its constants stays within its tensors, and its assumptions hold.

    If `proven`, what cannot be seen here counts as wrong.
    """
    answers: list[bool | None] = []
    for op in walk(find_function(raw.module, raw.export)):
        if op.name in (_LOAD, _STORE, _EXTRACT, _INSERT):
            answers.append(_is_part(op, raw.constants))
        elif op.name == _ASSUME:
            answers.extend(_hold(op, raw.constants))
        elif op.name in _ELEMENT:
            answers.append(None)
    return not any(answer is False or (proven and answer is None) for answer in answers)


def _is_part(op: ir.Operation, constants: Sequence[int]) -> bool | None:
    """Whether an op loads or stores within its tensor; None if that cannot be seen."""

    def known(size: int | ir.Value | None) -> int | None:
        return fold(size, constants) if isinstance(size, ir.Value) else size

    groups = operand_groups(op)
    (whole,) = groups[1 if op.name in (_STORE, _INSERT) else 0]
    dims = iter(groups[-4] if op.name in (_LOAD, _STORE) else ())
    shape = [next(dims, None) if size is None else size for size in shape_of(held_by(whole.type)[1])]
    parts = zip(shape, *(mixed(op, name) for name in ("offsets", "sizes", "strides")), strict=True)
    answers = [_is_within(*map(known, each)) for each in parts]
    return None if None in answers and False not in answers else False not in answers


def _is_within(whole: int | None, offset: int | None, size: int | None, stride: int | None) -> bool | None:
    if whole is None or offset is None or size is None or stride is None:
        return None
    return offset >= 0 and offset + (size - 1) * stride < whole


def _hold(op: ir.Operation, constants: Sequence[int]) -> Iterator[bool | None]:
    """Whether the assumptions about each integer hold; None for an integer that is not known."""
    for operand, each in zip(op.operands, ir.ArrayAttr(op.attributes["assumptions"]), strict=True):
        value = fold(operand, constants)
        yield (
            None
            if value is None
            else any(
                known.get("umin", 0) <= value <= known.get("umax", value)
                and value % known.get("udiv", 1) == 0
                for known in map(assumption, ir.ArrayAttr(each))
            )
        )
