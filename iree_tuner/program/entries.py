"""The functions of a program that its user can call, and what they take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import Phase, parse_module
from iree_tuner.compiler.unbound import hal_type
from iree_tuner.errors import UsageError
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.feeds import Feed, feeds_of, functions_beside, passed_on
from iree_tuner.program.source import Program

ASYNC = "$async"
"""The suffix of the name of a function that takes fences; its twin without them does the same."""

FILLED = "$filled"
"""The same of a function that takes a byte at its end, to fill what it allocates (`program.flow_ops`)."""

_IMPORT, _EXPORT, _STORED = "hal.tensor.import", "hal.tensor.export", "target_encoding"
_F64 = ("f64", "complex<f64>")
_WRITES = ("hal.tensor.alias", "torch.overwrite.tensor.contents")
"""Ops that write a tensor, their first operand, to an argument."""
_GLOBALS = ("util.global", "ml_program.global")
_FUNCTIONS = ("func.func", "util.func")
# IR as text: types in the declarations of the ABI
_TENSOR = re.compile(r"tensor<((?:(?:\?|\d+)x)*)([^,]+?)(?:, .*)?>")
# IR as text: torch's types have no classes in the bindings
_TORCH = re.compile(r"!torch\.v?tensor<\[([^\]]*)\],([us]?)(\w+)>")
_VIEW = "!hal.buffer_view"
_TORCH_SCALARS = {"!torch.int": "i64", "!torch.float": "f64", "!torch.bool": "i1"}


@dataclass(frozen=True)
class Taken:
    """One input of a function.

    Attributes:
        element_type: MLIR's name of the type.
        shape: None for a scalar; a dimension is None where it is known only at run time.
        written: whether the function writes to it, so that it is also a result.
    """

    element_type: str
    shape: tuple[int | None, ...] | None = None
    written: bool = False

    @property
    def opaque(self) -> bool:
        """Whether its values cannot be made or read: a list, a buffer, a device."""
        return self.shape is None and not self.element_type.isalnum()

    def __str__(self) -> str:
        """As `iree-run-module` takes it: `2x?xf32`."""
        sizes = ("?" if size is None else str(size) for size in self.shape or ())
        return "x".join((*sizes, self.element_type))


@dataclass(frozen=True)
class Entry:
    """An entry function.

    Attributes:
        name: without `@`.
        inputs: what it takes, in order, without fences.
        feeds: what each is for.
        refusal: why it cannot be called with the sizes that were given; empty if it can.
        fenced: whether two fences follow: one to wait for, and one to signal.
        not_callable: why it cannot be called, whatever its inputs; empty where it can.
    """

    name: str
    inputs: tuple[Taken, ...]
    feeds: tuple[Feed, ...] = ()
    refusal: str = ""
    fenced: bool = False
    not_callable: str = ""


def plain_name(symbol: str) -> str:
    """A function's name without the suffix for fences."""
    return symbol.removesuffix(ASYNC) or symbol


def entries_of(program: Program) -> tuple[Entry, ...]:
    """A program's public functions in its order; of twins that take fences and others, the others.

    Raises:
        CompileError: the program does not parse.
    """
    return entries_in(parse_module(program.data, new_context(), program.name))


def keeps_state(module: ir.Module) -> bool:
    """Whether a module has globals that calls may change."""
    globals_ = [view.operation for view in module.body.operations if view.operation.name in _GLOBALS]
    return any("is_mutable" in op.attributes for op in globals_)


def entries_in(module: ir.Module) -> tuple[Entry, ...]:
    """The same of a parsed program."""
    fence = hal_fence(module.context)
    found: list[Entry] = []
    for name, op in entry_operations(module).items():
        arguments = op.regions[0].blocks[0].arguments
        fences = [each.type == fence for each in arguments]
        own = [taken_as(each) for each in arguments if each.type != fence]
        feeds, reason = feeds_of(op)[: len(own)], _why_not_callable(op, fences)
        found.append(Entry(name, tuple(own), feeds, fenced=any(fences), not_callable=reason))
    return tuple(found)


def entry_operations(module: ir.Module) -> dict[str, ir.Operation]:
    """The functions themselves, by their names."""
    every = {ir.StringAttr(view.operation.attributes["sym_name"]).value: view.operation
             for view in module.body.operations if is_entry(view.operation)}  # fmt: skip
    names = {symbol: plain_name(symbol) for symbol in every}
    return {name: every[symbol] for symbol, name in names.items() if name == symbol or name not in every}


def hal_fence(context: ir.Context) -> ir.Type:
    """The type of an argument that a caller does not see."""
    return hal_type("fence", context)


def _why_not_callable(function: ir.Operation, fences: Sequence[bool]) -> str:
    count = sum(fences)
    if count not in (0, 2) or (count and not all(fences[-2:])):
        places = ", ".join(str(place) for place, each in enumerate(fences) if each)
        return f"it has fences as inputs {places}, not as its last two: one to wait for, one to signal"
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    for number, kind in enumerate(map(str, types)):
        if kind[0] == "!" and kind != _VIEW and _taken(kind).opaque:
            return f"its result {number} has the type {kind}, which cannot be read"
    return ""


def taken_as(argument: ir.Value) -> Taken:
    """An argument's type; of a buffer view, the type of the tensor that it holds."""
    held, written = _held(argument)
    return replace(_taken(held or argument.type), written=written)


def _held(argument: ir.Value) -> tuple[ir.Type | None, bool]:
    """The type of the tensor that an argument is imported as or overwritten with, and whether it is written.

    Functions that the argument is passed on to are followed.
    """
    held: ir.Type | None = None
    written = False
    others, seen = functions_beside(argument.owner.owner.operation), set[ir.Value]()
    todo = [argument]
    while todo:
        value = todo.pop()
        seen.add(value)
        for use in value.uses:
            op, place = use.owner.operation, use.operand_number
            if op.name == _IMPORT and place == 0:
                stored = op.attributes.get(_STORED, None)
                held = op.results[0].type if stored is None else ir.TypeAttr(stored).value
            elif op.name in _WRITES and place > 0 and not isinstance(value.type, ir.IndexType):
                held, written = held or op.operands[0].type, True
            todo += [each for each in passed_on(op, place, others) if each not in seen]
    return held, written


def has_f64_views(module: ir.Module) -> bool:
    """Whether a function takes or returns f64 as buffer views, as torch's do (docs/upstream/f64_views.md)."""
    for op in entry_operations(module).values():
        kinds = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        passed = [
            each for each in (*kinds.inputs, *kinds.results) if not isinstance(each, ir.RankedTensorType)
        ]
        for inner in op.regions[0].blocks[0]:
            if inner.operation.name in (_IMPORT, _EXPORT):
                values = (*inner.operation.operands, *inner.operation.results)
                passed += [each.type for each in values if isinstance(each.type, ir.RankedTensorType)]
        if any(each.shape is not None and each.element_type in _F64 for each in map(_taken, passed)):
            return True
    return False


def taken_from(text: str) -> Taken:
    """Read `tensor<2x?xf32>` or another type, as IREE's ABI declarations have it."""
    tensor = _TENSOR.fullmatch(text)
    if tensor is None:
        return Taken(text)
    sizes = tensor[1].split("x")[:-1]
    return Taken(tensor[2], tuple(int(size) if size.isdigit() else None for size in sizes))


def _taken(kind: ir.Type | str) -> Taken:
    if isinstance(kind, ir.RankedTensorType):
        sizes = (None if kind.is_dynamic_dim(i) else kind.shape[i] for i in range(kind.rank))
        return Taken(str(ElementType.of(kind)), tuple(sizes))
    written = str(kind)  # types of torch have no class in Python
    torch = _TORCH.fullmatch(written)
    if torch is not None:
        sizes = [size for size in torch[1].split(",") if size]
        return Taken(torch[3], tuple(int(size) if size.isdigit() else None for size in sizes))
    return taken_from(_TORCH_SCALARS.get(written, written))


def is_entry(op: ir.Operation) -> bool:
    """Whether an op of a module is a function with a body that its user can call."""
    return op.name in _FUNCTIONS and _is_public(op) and bool(list(op.regions[0].blocks))


def _is_public(op: ir.Operation) -> bool:
    if "sym_visibility" not in op.attributes:
        return True
    return ir.StringAttr(op.attributes["sym_visibility"]).value == "public"


# Names of the arguments of a program's functions: from locations, from the text, and numbers.


# IR as text: of names the parser keeps only their place in the text
_SSA_NAME = re.compile(r"%([\w.$-]+)")
_NUMBERED = ("{}", "arg{}", "input{}", "arr_{}")
"""Names that every argument has: MLIR's printer, the compiler's declarations and `numpy.savez` make them."""


def argument_names(program: Program, module: ir.Module, function: str) -> dict[str, int]:
    """The number of each argument of an entry function, by each of its names; those of its own come last.

    JAX names arguments by locations. IREE's importer loses the names of ONNX, so the model is asked for them.
    """
    op = entry_operations(module)[function]
    arguments = list(op.regions[0].blocks[0].arguments)
    found = {form.format(number): number for number in range(len(arguments)) for form in _NUMBERED}
    lines = [] if program.is_bytecode else program.data.decode().splitlines()
    own = [_name(each.location, lines) for each in arguments]
    if Path(program.name).suffix == ".onnx":
        own = _names_of_onnx(program.name)
    return found | {name: number for number, name in enumerate(own) if name}


def _name(location: ir.Location, lines: list[str]) -> str:
    if isinstance(location, ir.NameLoc):
        return location.name_str
    if isinstance(location, ir.FileLineColLoc) and 0 < location.start_line <= len(lines):
        found = _SSA_NAME.match(lines[location.start_line - 1], location.start_col - 1)
        return found[1] if found else ""
    return ""


def _names_of_onnx(path: str) -> list[str]:
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    constant = {each.name for each in graph.initializer}
    return [each.name for each in graph.input if each.name not in constant]


# The phase that a program has reached: `iree-compile --compile-to=PHASE` writes programs at any of them.


_EXECUTABLE, _BINARY = "hal.executable", "hal.executable.binary"
_CONFIGURED = "translation_info"


def phase_after_flow(module: ir.Module) -> Phase | None:
    """The last phase of a program that is past `flow`, None for others: read off its ops."""
    every = [view.operation for view in module.body.operations]
    if any(op.name == "vm.module" for op in every):
        return "vm"
    executables = [op for op in every if op.name == _EXECUTABLE]
    if not executables:
        return "stream" if _is_scheduled(every) else None
    inside = [each.operation for each in executables[0].regions[0].blocks[0]]
    if any(op.name == _BINARY for op in inside):
        return "hal"
    if not _is_scheduled(every):
        return None
    code = [
        part.operation
        for variant in inside
        if variant.name == "hal.executable.variant"
        for held in variant.regions[0].blocks[0]
        if held.operation.name == "builtin.module"
        for part in held.operation.regions[0].blocks[0]
    ]
    if any(op.name.startswith(("llvm.", "spirv.")) for op in code):
        return "executable-targets"
    return "executable-configurations" if any(_CONFIGURED in op.attributes for op in code) else _SOURCES


_SOURCES: Phase = "executable-sources"


def need_flow(module: ir.Module) -> None:
    """Raises UsageError for a program past `flow`, in which dispatches are not found."""
    phase = phase_after_flow(module)
    if phase is not None:
        raise UsageError(
            f"the program is at phase {phase}; its dispatches are found at phase flow or before",
            hint="write it with --compile-to=flow; run, bench and compile take it as it is",
        )


def _is_scheduled(operations: list[ir.Operation]) -> bool:
    """Whether functions are in the form that phase `stream` leaves."""
    return any(
        op.operation.name.startswith("stream.")
        for function in operations
        if function.name in ("util.func", "util.initializer")
        for block in function.regions[0].blocks
        for op in block
    )
