"""Sizes that a program leaves open, and sizes that stand for them while it is tuned.

A dispatch with dynamic sizes takes them as arguments, and the compiler writes benchmarks only of dispatches
whose arguments are constants. So the open dimensions of the program's inputs are made constants, in the
functions that run the dispatches and nowhere else: a dispatch stays dynamic, and is tuned and timed as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from iree.compiler import ir
from iree.compiler.dialects import arith

from iree_tuner.compiler.session import CompilerSession
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.ops.dynamic import dynamic_parts
from iree_tuner.ops.extents import extent
from iree_tuner.ops.structure import accesses
from iree_tuner.ops.workload import Workload
from iree_tuner.program.folding import fold
from iree_tuner.program.harness import run_passes
from iree_tuner.program.source import Program

_WRITTEN = re.compile(r"(?:(\d+)\.(\d+)=)?(\d+)")


@dataclass(frozen=True)
class DimensionSize:
    """A size that stands for a dynamic dimension of an input, or (`dimension` None) for all others.

    Attributes:
        size: the size, at least 1.
        dimension: the input's number and the dimension's.
    """

    size: int
    dimension: tuple[int, int] | None = None


@dataclass(frozen=True)
class SizedProgram(Program):
    """A program with the sizes to tune it for."""

    sizes: tuple[DimensionSize, ...] = ()


def sized(program: Program, sizes: Sequence[str]) -> Program:
    """The program with sizes, each as `parse_size` takes it; the program itself when there are none."""
    if not sizes:
        return program
    return SizedProgram(program.name, program.data, tuple(map(parse_size, sizes)))


def sizes_of(program: Program) -> tuple[DimensionSize, ...]:
    """The sizes that a program was given."""
    return program.sizes if isinstance(program, SizedProgram) else ()


def parse_size(text: str) -> DimensionSize:
    """Read `128`, for all dynamic dimensions, or `0.1=128`, for dimension 1 of input 0. Raises UsageError."""
    found = _WRITTEN.fullmatch(text)
    if found is None or int(found[3]) < 1:
        raise UsageError(
            f"'{text}' is not the size of a dimension",
            hint="write 128 for all dynamic dimensions, 0.1=128 for one",
        )
    return DimensionSize(int(found[3]), (int(found[1]), int(found[2])) if found[1] else None)


def size_for(sizes: Sequence[DimensionSize], dimension: tuple[int, int]) -> int | None:
    """The size that stands for a dimension: one of its own, else the one for all, else None."""
    own = [each.size for each in sizes if each.dimension == dimension]
    general = [each.size for each in sizes if each.dimension is None]
    return next(iter((*own, *general)), None)


def pin(
    module: ir.Module, sizes: Sequence[DimensionSize], session: CompilerSession, name: str,
    declared: Collection[tuple[int, int]] = (),
) -> None:  # fmt: skip
    """Make dimensions of inputs constants, in the functions of a module at `executable-sources`.

    Dimensions that are `declared` to be dynamic may have a size even if the program does not use it. Raises
    TunerError for a size that is for no dynamic dimension.
    """
    if not sizes:
        return
    found = _open_dimensions(module)
    _check(sizes, sorted({*declared, *(dimension for dimension, _ in found)}), name)
    with module.context, ir.Location.unknown():
        for dimension, op in found:
            size = size_for(sizes, dimension)
            if size is None:
                continue
            with ir.InsertionPoint(op):
                constant = arith.ConstantOp(ir.IndexType.get(), size).result
            op.result.replace_all_uses_with(constant)
            op.erase()
    run_passes(module, session, "builtin.module(util.func(canonicalize,cse))")


def pin_scalars(module: ir.Module, session: CompilerSession) -> None:
    """Make floats that functions of a module at `executable-sources` take constants of one, there only.

    A dispatch takes such a number as an argument, as it takes a size: a factor of its result, say.
    Integers are left alone: they may be offsets.
    """
    arguments = [
        argument
        for view in module.body.operations
        if view.operation.name == "util.func" and view.operation.regions[0].blocks
        for argument in view.operation.regions[0].blocks[0].arguments
        if isinstance(argument.type, ir.FloatType) and list(argument.uses)
    ]
    with ir.Location.unknown(module.context):
        for argument in arguments:
            with ir.InsertionPoint.at_block_begin(argument.owner):
                one = arith.ConstantOp(argument.type, 1.0).result
            argument.replace_all_uses_with(one)
    if arguments:
        run_passes(module, session, "builtin.module(util.func(canonicalize,cse))")


def is_open(module: ir.Module) -> bool:
    """Whether a module at `executable-sources` has inputs with dynamic dimensions that no size stands for."""
    return bool(_open_dimensions(module))


def with_sizes(workload: Workload, op: ir.Operation, constants: Sequence[int]) -> Workload:
    """A workload with the sizes of dynamic loops that a dispatch's arguments say, where that can be seen."""
    loops = list(workload.loops)
    for each in workload.dynamic:
        loops[each.loop] = _size(op, each.loop, constants) or 0
    return replace(workload, loops=tuple(loops))


def why_wrong(workload: Workload) -> str:
    """Why the sizes that stand for a workload's dynamic loops cannot; empty when they can."""
    for each in workload.dynamic:
        size = workload.loops[each.loop]
        parts = dynamic_parts(replace(workload, dynamic=(each,)))
        if size < 1:
            return f"the size of its {parts} is computed by the dispatch"
        if not each.allows(size):
            return f"its {parts} cannot be {size}: the program says {each}"
    return ""


def _size(op: ir.Operation, loop: int, constants: Sequence[int]) -> int | None:
    for operand, access in zip(op.operands, accesses(op), strict=True):
        position = access.dimension_of(loop)
        value = None if position is None else extent(operand, position)
        size = None if value is None else fold(value, constants)
        if size is not None:
            return size
    return None


def _open_dimensions(module: ir.Module) -> list[tuple[tuple[int, int], ir.Operation]]:
    """Reads of dimensions of the functions' arguments: which, and the ops."""
    found: list[tuple[tuple[int, int], ir.Operation]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        source = op.operands[0] if op.name == "hal.buffer_view.dim" else None
        if isinstance(source, ir.BlockArgument) and source.owner.owner.operation.name == "util.func":
            found.append(((source.arg_number, ir.IntegerAttr(op.attributes["index"]).value), op))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _check(sizes: Sequence[DimensionSize], dynamic: Sequence[tuple[int, int]], name: str) -> None:
    for each in sizes:
        if not dynamic:
            raise TunerError("--dim has no effect: no dimension of an input is dynamic", location=name)
        if each.dimension is not None and each.dimension not in dynamic:
            known = ", ".join(f"{argument}.{index}" for argument, index in dynamic)
            wrong = f"dimension {each.dimension[1]} of input {each.dimension[0]} is not dynamic"
            raise TunerError(wrong, location=name, hint=f"dynamic dimensions: {known}")
