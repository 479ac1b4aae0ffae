"""Sizes that a program leaves open, and sizes that stand for them while it is tuned.

A dispatch with dynamic sizes takes them as arguments, and the compiler writes benchmarks only of dispatches
whose arguments are constants. So the open dimensions of the program's inputs are made constants, only in the
functions that run the dispatches: a dispatch stays dynamic, and is tuned and timed as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from iree.compiler import ir
from iree.compiler.dialects import arith

from iree_tuner.compiler.context import new_context, ops_around, ops_in, reachable, symbol_of, walk
from iree_tuner.compiler.session import CompilerSession, parse_module
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.ops.family import dynamic_parts
from iree_tuner.ops.structure import accesses, extent, fold
from iree_tuner.ops.workload import Workload
from iree_tuner.program.entries import ASYNC
from iree_tuner.program.harness import run_passes
from iree_tuner.program.size_rules import SizeRules, Variable, described, size_rules, suggested, written
from iree_tuner.program.source import Program

_WRITTEN = re.compile(r"(?:([^=]+)=)?(\d+(?:,\d+)*)")

_MOVES = ("stream.tensor.import", "stream.timepoint.await")
_PARTS = 2  # of a place
_EXECUTE = "stream.cmd.execute"

Dim = int | Sequence[int] | Mapping[str, int | Sequence[int]] | None
"""Sizes from Python: for all dynamic dimensions, or by place or name."""

Given = Mapping[Variable | None, Sequence[int]]
"""Sizes by place or name, None for all others; one, or one for each case."""


@dataclass(frozen=True)
class DimensionSize:
    """A size, at least 1, for a dynamic dimension of an input, or (`dimension` None) for all others.

    `dimension` is the numbers of the input and of the dimension; only the input's for a number that is a
    size. `function` is the only one that this applies to; empty for all.
    """

    size: int
    dimension: tuple[int, ...] | None = None
    function: str = ""


@dataclass(frozen=True)
class Case:
    """Sizes of a program that are given together, and the options that give them: `batch=4, 1.0=8`."""

    name: str
    sizes: tuple[DimensionSize, ...]


@dataclass(frozen=True)
class SizedProgram(Program):
    """A program with the sizes to tune it for: it is searched for those of the first case."""

    cases: tuple[Case, ...] = ()


def sized(program: Program, sizes: Sequence[str]) -> Program:
    """The program with sizes, each as `parse_sizes` takes it; the program itself without any.

    Raises:
        UsageError: a size is not understood, or has several values.
        TunerError: the program does not parse, has no such dimension, or excludes a size.
    """
    found = sized_cases(program, parse_sizes(sizes))
    if len(cases_of(found)) > 1:
        raise UsageError(
            "--dim has several sizes, but only tune compares them", hint="give one size for each"
        )
    return found


def sized_cases(program: Program, given: Given) -> Program:
    """`sized` with one or more cases of sizes, as `parse_sizes` reads them."""
    if not given:
        return program
    count = max(map(len, given.values()))
    if any(len(sizes) not in (1, count) for sizes in given.values()):
        counts = ", ".join(f"{_label(name)}{','.join(map(str, sizes))}" for name, sizes in given.items())
        raise UsageError(
            f"--dim has different numbers of sizes: {counts}",
            hint="give each dimension one size, or as many as the others: they are used together",
        )
    rules = size_rules(parse_module(program.data, new_context(), program.name))
    named = [{name: sizes[number % len(sizes)] for name, sizes in given.items()} for number in range(count)]
    cases = dict.fromkeys(_case(program, rules, each) for each in named)
    return SizedProgram(program.name, program.data, tuple(cases))


def _label(name: Variable | None) -> str:
    return "" if name is None else f"{written(name)}="


def _case(program: Program, rules: Mapping[str, SizeRules], named: Mapping[Variable | None, int]) -> Case:
    given = {name: size for name, size in named.items() if name is not None}
    general = named.get(None)
    known = {each: None for found in rules.values() for each in (*found.symbols, *found.places)}
    for name in given:
        if name not in known and known:
            hint = f"dynamic dimensions: {', '.join(map(written, known))}"
            raise TunerError(f"{described(name)} is not dynamic", location=program.name, hint=hint)
    if not known:
        raise TunerError("--dim has no effect: no dimension of an input is dynamic", location=program.name)
    sizes = [DimensionSize(size, name) for name, size in given.items() if isinstance(name, tuple)]
    sizes += [] if general is None else [DimensionSize(general)]
    wrong: list[str] = []
    own = [(name, found) for name, found in rules.items() if found.places]
    for function, found in own:
        follow = found.resolved(given, general)
        if follow is None:
            wrong.append(found.why_wrong(given, general))
        for place in found.places if follow is not None else ():
            size = follow.get(place) if follow else None
            if size is not None and len(place) == 1:
                sizes.append(DimensionSize(size, place, function))
            elif size is not None and size_for(sizes, place) != size:
                sizes.insert(0, DimensionSize(size, place))
    if wrong and len(wrong) == len(own):
        raise TunerError(wrong[0], location=program.name)
    return Case(", ".join(f"{_label(name)}{size}" for name, size in named.items()), tuple(sizes))


def cases_of(program: Program) -> tuple[Case, ...]:
    """The cases of sizes that a program was given."""
    return program.cases if isinstance(program, SizedProgram) else ()


def sizes_of(program: Program) -> tuple[DimensionSize, ...]:
    """The sizes that a program was given, in the first case."""
    return next((case.sizes for case in cases_of(program)), ())


def parse_sizes(texts: Sequence[str]) -> dict[Variable | None, tuple[int, ...]]:
    """Read `128`, for all dynamic dimensions, `0.1=128`, for dimension 1 of input 0, and `batch=1,4`.

    Sizes for one name are added. Raises UsageError.
    """
    found: dict[Variable | None, tuple[int, ...]] = {}
    for text in texts:
        parts = _WRITTEN.fullmatch(text.strip())
        sizes = tuple(map(int, parts[2].split(","))) if parts else ()
        if parts is None or min(sizes) < 1:
            raise UsageError(
                f"'{text}' is not the size of a dimension",
                hint="write 128 for all dynamic dimensions, 0.1=128 or batch=128 for one",
            )
        name = _place_named(parts[1].strip()) if parts[1] else None
        found[name] = (*found.get(name, ()), *sizes)
    return found


def given_sizes(dim: Dim) -> Given:
    """Read sizes that come from Python. Raises UsageError."""
    if dim is None:
        return {}
    named = dim if isinstance(dim, Mapping) else {"": dim}
    found: dict[Variable | None, tuple[int, ...]] = {}
    for name, given in named.items():
        sizes = tuple(given) if isinstance(given, Sequence) else (given,)
        if not sizes or any(type(size) is not int or size < 1 for size in sizes):
            raise UsageError(f"dim must have integers of at least 1, but has {given!r}")
        found[_place_named(str(name)) if name else None] = sizes
    return found


def _place_named(text: str) -> Variable:
    parts = text.split(".")
    return tuple(map(int, parts)) if len(parts) <= _PARTS and all(map(str.isdigit, parts)) else text


def size_for(sizes: Sequence[DimensionSize], dimension: tuple[int, ...]) -> int | None:
    """The size that stands for a dimension: its own, else the one for all, else None."""
    own = [each.size for each in sizes if each.dimension == dimension]
    general = [each.size for each in sizes if each.dimension is None]
    return next(iter((*own, *general)), None)


def pin(module: ir.Module, sizes: Sequence[DimensionSize], session: CompilerSession) -> None:
    """Make sizes that are inputs or their dimensions constants, in functions at `executable-sources`."""
    if not sizes:
        return
    with module.context, ir.Location.unknown():
        for dimension, op in _open_dimensions(module):
            size = size_for(sizes, dimension)
            if size is None:
                continue
            with ir.InsertionPoint(op):
                constant = arith.ConstantOp(ir.IndexType.get(), size).result
            op.result.replace_all_uses_with(constant)
            op.erase()
        for each in sizes:
            for value in _numbers(module, each):
                owner = value.owner
                op = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
                function = next(around for around in ops_around(op) if around.name == "util.func")
                with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
                    constant = arith.ConstantOp(value.type, each.size).result
                value.replace_all_uses_with(constant)
    run_passes(module, session, "builtin.module(util.func(canonicalize,cse))")


def pin_scalars(module: ir.Module, session: CompilerSession) -> None:
    """Make floats that functions of a module at `executable-sources` take constants of one, only there.

    A dispatch takes such a number as an argument, as it takes a size: for example a factor of its result.
    Integers are left alone: they may be offsets. Numbers that a barrier hides, as
    `flow.tensor.dynamic_constant` does with the sizes of its type, are constants again.
    """
    hidden: list[tuple[ir.Value, ir.Value]] = []
    arguments: list[ir.Value] = []
    for function in ops_in(module.body):
        if function.name == "util.func" and function.regions[0].blocks:
            for op in walk(function):
                if op.name == "util.optimization_barrier":
                    pairs = zip(op.results, op.operands, strict=True)
                    hidden.extend((to, of) for to, of in pairs if fold(of, None) is not None)
            block = function.regions[0].blocks[0]
            arguments += [
                each for each in block.arguments if isinstance(each.type, ir.FloatType) and list(each.uses)
            ]
    with ir.Location.unknown(module.context):
        for argument in arguments:
            with ir.InsertionPoint.at_block_begin(argument.owner):
                one = arith.ConstantOp(argument.type, 1.0).result
            argument.replace_all_uses_with(one)
    for value, number in hidden:
        value.replace_all_uses_with(number)
    if arguments or hidden:
        run_passes(module, session, "builtin.module(util.func(canonicalize,cse))")


def is_open(module: ir.Module) -> bool:
    """Whether a module at `executable-sources` has inputs with dynamic dimensions without a size."""
    return bool(_open_dimensions(module))


def with_sizes(workload: Workload, op: ir.Operation, constants: Sequence[int]) -> Workload:
    """A workload with the sizes of dynamic loops that a dispatch's arguments have, if these can be seen."""
    loops = list(workload.loops)
    for each in workload.dynamic:
        loops[each.loop] = _size(op, each.loop, constants) or 0
    return replace(workload, loops=tuple(loops))


def why_wrong(workload: Workload) -> str:
    """Why the sizes of a workload's dynamic loops are not possible; empty if they are."""
    for each in workload.dynamic:
        size = workload.loops[each.loop]
        part = dynamic_parts(replace(workload, dynamic=(each,)))
        if size < 1:
            return f"the size of its {part} is computed by the dispatch"
        if not each.allows(size):
            return f"its {part} cannot be {size}: the program says {each}"
    return ""


def suggestion(rules: Mapping[str, SizeRules], sizes: Sequence[DimensionSize]) -> str:
    """`--dim` options for all sizes that are not given; empty if none is open."""
    if any(each.dimension is None for each in sizes):
        return ""
    given: dict[Variable, int] = {each.dimension: each.size for each in sizes if each.dimension is not None}
    return suggested(rules, given)


def _size(op: ir.Operation, loop: int, constants: Sequence[int]) -> int | None:
    for operand, access in zip(op.operands, accesses(op), strict=True):
        position = access.dimension_of(loop)
        value = None if position is None else extent(operand, position)
        size = None if value is None else fold(value, constants)
        if size is not None:
            return size
    return None


def _open_dimensions(module: ir.Module) -> list[tuple[tuple[int, int], ir.Operation]]:
    """Reads of dimensions of the functions' arguments, with these dimensions."""
    found: list[tuple[tuple[int, int], ir.Operation]] = []
    for op in walk(module.operation):
        source = op.operands[0] if op.name == "hal.buffer_view.dim" else None
        if isinstance(source, ir.BlockArgument) and source.owner.owner.operation.name == "util.func":
            found.append(((source.arg_number, ir.IntegerAttr(op.attributes["index"]).value), op))
    return found


def _numbers(module: ir.Module, size: DimensionSize) -> list[ir.Value]:
    """The values of a number that is a size in functions: the argument, or a number read from a tensor."""
    if size.dimension is None or len(size.dimension) != 1:
        return []
    number = size.dimension[0]
    found: list[ir.Value] = []
    for op in ops_in(module.body):
        if op.name != "util.func" or not op.regions[0].blocks:
            continue
        arguments = list(op.regions[0].blocks[0].arguments)
        if size.function and symbol_of(op).removesuffix(ASYNC) != size.function:
            continue
        argument = arguments[number] if number < len(arguments) else None
        if argument is not None and isinstance(argument.type, ir.IntegerType | ir.IndexType):
            found.append(argument)
        elif argument is not None:
            found += _read_from(argument)
    return found


_Place = tuple[ir.Value, int | None]
"""Memory, and an offset in it."""


def _read_from(argument: ir.Value) -> list[ir.Value]:
    """The numbers that the host reads from an imported tensor, which is copied to staging memory for that."""

    def moved(place: _Place) -> list[_Place]:
        value, offset = place
        found: list[_Place] = []
        for use in value.uses:
            op = use.owner.operation
            if op.name in _MOVES:
                found += [(result, offset) for result in op.results]
            elif op.name == _EXECUTE:
                found += _copies_of(op, use.operand_number)
        return found

    places = reachable([(argument, 0)], moved)
    users = ((use.owner.operation, offset) for value, offset in places for use in value.uses)
    loads = ((op, offset) for op, offset in users if op.name == "stream.resource.load")
    return [op.result for op, offset in loads if fold(op.operands[2], []) == offset]


def _copies_of(execute: ir.Operation, operand: int) -> list[_Place]:
    """The memory, with offsets, that commands copy one of their resources to."""
    inside = list(execute.regions[0].blocks[0].arguments)
    outside = dict(zip(inside, execute.operands, strict=False))
    copies = [
        use.owner.operation
        for use in (inside[operand].uses if operand < len(inside) else ())
        if use.owner.operation.name == "stream.cmd.copy" and use.operand_number == 0
    ]
    return [(outside[op.operands[3]], fold(op.operands[5], [])) for op in copies]
