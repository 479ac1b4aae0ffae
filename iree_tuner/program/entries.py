"""The functions of a program that its user can call, what they take, and the roles of their arguments.

Roles are found so that values are generated that no layer overflows on. Programs come in many dialects
(linalg, StableHLO, torch, TOSA). Dialects share names of ops: a product is called `dot_general`, `matmul`,
`linear` or `conv`, a root `sqrt` or `rsqrt`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from iree.compiler import ir

from iree_tuner.compiler.context import defining_op, new_context, ops_in, symbol_of
from iree_tuner.compiler.session import Phase, parse_module
from iree_tuner.compiler.unbound import hal_type
from iree_tuner.errors import UsageError
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.structure import iterators, shape_of
from iree_tuner.program.source import Program
from iree_tuner.program.valid.interval import Interval

_SAME = (
    "transpose", "reshape", "broadcast", "convert", "cast", "expand_shape", "collapse_shape", "permute",
    "view", "slice", "squeeze", "numpy_t", "aten.t", "extf", "truncf", "import", "barrier", "clone",
    "contiguous", "to",
)  # fmt: skip
_PRODUCTS = ("dot", "matmul", "mm", "linear", "conv", "convolution", "einsum", "vecmat", "matvec")
_POSITIVE = ("sqrt", "rsqrt", "log", "batch_norm", "batchnorm")
_SUMS = ("add", "maximum", "divide", "div", "divf")
_DIFFERENCES = {"subtract": 1, "sub": 1, "subf": 1, "rsub": 0, "negate": 0, "neg": 0, "negf": 0}
"""Ops that compute `1 - x`, or `-x` for `log(1 + -x)`, and the number of the operand x."""

_CALLS = ("func.call", "util.call")


@dataclass(frozen=True)
class Feed:
    """The use of an argument."""

    # the number of its values in one result of the products that it is a weight of; 0 for none
    summed: int = 0
    positive: bool = False  # whether a root, a logarithm or a normalisation needs it to be
    fraction: bool = False  # whether one minus it must be positive too: a probability
    # the integers that the program's uses allow (`program.valid`), if these restrict it
    values: Interval | None = None


PLAIN = Feed()


def functions_beside(function: ir.Operation) -> dict[str, ir.Operation]:
    """The functions of a function's module, by symbol."""
    return {symbol_of(op): op for op in ops_in(function.block) if "sym_name" in op.attributes}


def _feed(argument: ir.Value, others: Mapping[str, ir.Operation]) -> Feed:
    """The role of a function's argument, also if functions that it calls take it."""
    summed, positive, fraction = 0, False, False
    seen = set[ir.Value]()
    todo = [(argument, True, False)]
    while todo:
        value, plain, left = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            op, place = use.owner.operation, use.operand_number
            words = _words(op)
            rooted = _rooted(op, place)
            if op.name in _CALLS:
                todo += [(each, plain, left) for each in passed_on(op, place, others)]
            elif words & set(_POSITIVE) or rooted:
                positive, fraction = True, fraction or left or rooted == "fraction"
            elif plain and place > 0 and (words & set(_PRODUCTS) or _reduces(op)):
                summed = max(summed, _summed(op, place))
            elif words & set(_SAME) or _moves(op):
                todo += [(result, plain, left) for result in op.results]
            elif words & set(_SUMS):
                todo += [(result, False, left) for result in op.results]
            elif _leaves(op, place):
                todo += [(result, False, not left) for result in op.results]
    return Feed(summed, positive, fraction)


def passed_on(call: ir.Operation, place: int, others: Mapping[str, ir.Operation]) -> list[ir.Value]:
    """The argument of the called function that an operand is; none for other ops, and without a body here."""
    if call.name not in _CALLS:
        return []
    callee = others.get(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
    blocks = list(callee.regions[0].blocks) if callee is not None and len(callee.regions) else []
    return [blocks[0].arguments[place]] if blocks else []


def _words(op: ir.Operation) -> set[str]:
    """The words of an op's name: `dot_general` is also `dot`."""
    name = op.name.rpartition(".")[2]
    return {name, op.name.partition(".")[2], *op.name.split("."), *name.split("_")}


def _sizes(kind: ir.Type) -> tuple[int, ...]:
    """Sizes of a tensor, if all are known; empty for torch's types."""
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return ()
    return tuple(kind.shape)


def _summed(op: ir.Operation, place: int) -> int:
    """The number of products in one result, from sizes: each loop of a product is in two of three tensors."""
    own = _sizes(op.operands[place].type)
    left, weight, result = (
        math.prod(_sizes(value.type)) for value in (op.operands[0], op.operands[place], op.results[0])
    )
    if len(own) == 2 and left > 1 and result > 1:
        return max(1, math.isqrt(left * weight // result))
    return max(1, weight // max(own[0], own[-1])) if len(own) > 1 else 0


def _reduces(op: ir.Operation) -> bool:
    """Whether a generic op multiplies and sums."""
    if op.name != "linalg.generic" or len(op.operands) < 3:
        return False
    multiplies = any(each.name == "arith.mulf" for each in ops_in(op.regions[0].blocks[0]))
    return multiplies and "reduction" in iterators(op)


def _moves(op: ir.Operation) -> bool:
    """Whether a generic op only moves or converts values."""
    if op.name != "linalg.generic" or "reduction" in iterators(op):
        return False
    return len(op.regions[0].blocks[0].operations) <= 2


def _rooted(op: ir.Operation, place: int) -> str:
    """Whether a generic op's body takes a root or a logarithm of an operand, or of one minus it."""
    if op.name != "linalg.generic":
        return ""
    argument = op.regions[0].blocks[0].arguments[place]
    found = ""
    for user in (use.owner.operation for use in argument.uses):
        behind = [use.owner.operation for result in user.results for use in result.uses]
        if any(_words(each) & set(_POSITIVE) for each in behind):
            number = next(n for n, each in enumerate(user.operands) if each == argument)
            found = "fraction" if _leaves(user, number) else found or "positive"
        found = found or ("positive" if _words(user) & set(_POSITIVE) else "")
    return found


def _leaves(op: ir.Operation, place: int) -> bool:
    """Whether an op subtracts an operand from a constant."""
    wanted = [_DIFFERENCES[each] for each in _words(op) & set(_DIFFERENCES)]
    return place in wanted and all(_constant(each) for n, each in enumerate(op.operands) if n != place)


def _constant(value: ir.Value) -> bool:
    """Whether a value is a constant, or one that is broadcast or converted."""
    op = defining_op(value)
    if op is None:
        return False
    words = _words(op)
    moved = len(op.operands) == 1 and words & set(_SAME)
    return _constant(op.operands[0]) if moved else bool(words & {"constant", "splat"})


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
    """One input of a function; if it is `written`, it is also a result.

    `shape` is None for a scalar; a dimension is None if it is known only at run time.
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
    """An entry function, its inputs (without fences) and their uses.

    `refusal` is why it cannot be called with the sizes that were given, `not_callable` why not with any. If
    it is `fenced`, two fences follow the inputs: one to wait for, and one to signal.
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
    """A program's public functions in its order; of twins with and without fences, those without.

    Raises CompileError if the program does not parse.
    """
    return entries_in(parse_module(program.data, new_context(), program.name))


def keeps_state(module: ir.Module) -> bool:
    """Whether a module has globals that calls may change."""
    return any(op.name in _GLOBALS and "is_mutable" in op.attributes for op in ops_in(module.body))


def entries_in(module: ir.Module) -> tuple[Entry, ...]:
    """`entries_of` for a parsed program."""
    fence = hal_fence(module.context)
    found: list[Entry] = []
    for name, op in entry_operations(module).items():
        arguments = op.regions[0].blocks[0].arguments
        fences = [each.type == fence for each in arguments]
        own = [taken_as(each) for each in arguments if each.type != fence]
        others, reason = functions_beside(op), _why_not_callable(op, fences)
        feeds = tuple(_feed(each, others) for each in list(arguments)[: len(own)])
        found.append(Entry(name, tuple(own), feeds, fenced=any(fences), not_callable=reason))
    return tuple(found)


def entry_operations(module: ir.Module) -> dict[str, ir.Operation]:
    """The functions themselves, by their names."""
    every = {symbol_of(op): op for op in ops_in(module.body) if is_entry(op)}
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
        if kind[0] == "!" and kind != _VIEW and taken_of(kind).opaque:
            return f"its result {number} has the type {kind}, which cannot be read"
    return ""


def taken_as(argument: ir.Value) -> Taken:
    """An argument's type; of a buffer view, the type of the tensor that it holds."""
    held, written = _held(argument)
    return replace(taken_of(held or argument.type), written=written)


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
        for inner in ops_in(op.regions[0].blocks[0]):
            if inner.name in (_IMPORT, _EXPORT):
                values = (*inner.operands, *inner.results)
                passed += [each.type for each in values if isinstance(each.type, ir.RankedTensorType)]
        if any(each.shape is not None and each.element_type in _F64 for each in map(taken_of, passed)):
            return True
    return False


def taken_from(text: str) -> Taken:
    """Read `tensor<2x?xf32>` or another type, as IREE's ABI declarations have it."""
    tensor = _TENSOR.fullmatch(text)
    if tensor is None:
        return Taken(text)
    sizes = tensor[1].split("x")[:-1]
    return Taken(tensor[2], tuple(int(size) if size.isdigit() else None for size in sizes))


def taken_of(kind: ir.Type | str) -> Taken:
    """A type, or its text, as a value of it is taken."""
    if isinstance(kind, ir.RankedTensorType):
        return Taken(str(ElementType.of(kind)), shape_of(kind))
    written = str(kind)  # types of torch have no class in Python
    torch = _TORCH.fullmatch(written)
    if torch is not None:
        sizes = [size for size in torch[1].split(",") if size]
        return Taken(torch[3], tuple(int(size) if size.isdigit() else None for size in sizes))
    return taken_from(_TORCH_SCALARS.get(written, written))


def is_entry(op: ir.Operation) -> bool:
    """Whether an op of a module is a function with a body that its user can call."""
    return op.name in _FUNCTIONS and is_public(op) and bool(list(op.regions[0].blocks))


def is_public(op: ir.Operation) -> bool:
    """Whether other modules can refer to a symbol."""
    visibility = op.attributes.get("sym_visibility", None)
    return visibility is None or ir.StringAttr(visibility).value == "public"


# Names of the arguments of a program's functions: from locations, from the text, and numbers.


# IR as text: of names the parser keeps only their place in the text
_SSA_NAME = re.compile(r"%([\w.$-]+)")
_NUMBERED = ("{}", "arg{}", "input{}", "arr_{}")
"""Names that every argument has: MLIR's printer, the compiler's declarations and `numpy.savez` make them."""


def argument_names(program: Program, module: ir.Module, function: str) -> dict[str, int]:
    """The number of each argument of an entry function, by each of its names; the program's own come last.

    JAX names arguments by locations. IREE's importer loses the names of ONNX, so they are read from the
    model.
    """
    op = entry_operations(module)[function]
    arguments = list(op.regions[0].blocks[0].arguments)
    found = {form.format(number): number for number in range(len(arguments)) for form in _NUMBERED}
    lines = [] if program.is_bytecode else program.data.decode().splitlines()
    own = [_name(each.location, lines) for each in arguments]
    if Path(program.name).suffix == ".onnx":
        import onnx

        graph = onnx.load(program.name, load_external_data=False).graph
        constant = {each.name for each in graph.initializer}
        own = [each.name for each in graph.input if each.name not in constant]
    return found | {name: number for number, name in enumerate(own) if name}


def _name(location: ir.Location, lines: list[str]) -> str:
    if isinstance(location, ir.NameLoc):
        return location.name_str
    if isinstance(location, ir.FileLineColLoc) and 0 < location.start_line <= len(lines):
        found = _SSA_NAME.match(lines[location.start_line - 1], location.start_col - 1)
        return found[1] if found else ""
    return ""


# The phase that a program has reached: `iree-compile --compile-to=PHASE` writes programs at any of them.


_EXECUTABLE, _BINARY = "hal.executable", "hal.executable.binary"
_CONFIGURED = "translation_info"


def phase_after_flow(module: ir.Module) -> Phase | None:
    """The last phase of a program that is past `flow`, found by its ops; None for others."""
    every = ops_in(module.body)
    if any(op.name == "vm.module" for op in every):
        return "vm"
    executables = [op for op in every if op.name == _EXECUTABLE]
    if not executables:
        return "stream" if _is_scheduled(every) else None
    inside = ops_in(executables[0].regions[0].blocks[0])
    if any(op.name == _BINARY for op in inside):
        return "hal"
    if not _is_scheduled(every):
        return None
    code = [
        part
        for variant in inside
        if variant.name == "hal.executable.variant"
        for held in ops_in(variant.regions[0].blocks[0])
        if held.name == "builtin.module"
        for part in ops_in(held.regions[0].blocks[0])
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
