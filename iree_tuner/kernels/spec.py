"""Build a preprocessing spec from kernels and their sites: matchers, symbols to import, replacements.

The compiler applies the spec to a program after the phase `abi`: by
`--iree-preprocessing-transform-spec-filename`, or in memory (`put_into`).

Specs are written to files, with the code that they link in a folder next to them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import flow, func, preprocessing_transform, transform, util
from iree.compiler.dialects.transform import interpreter, structured

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.unbound import attribute_from
from iree_tuner.compiler.versions import installed
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.outcome import Outcome
from iree_tuner.errors import TunerError
from iree_tuner.files import planned_folder, write
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.executable import (
    VARIANT,
    Export,
    Scalar,
    build_executable,
    build_scalar_function,
    export_of,
    localize,
    packed_ports,
    ports_of,
    private_function,
    substituted,
)
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.integers import build_insertion, insert_in_filled
from iree_tuner.kernels.joint import JointProducts
from iree_tuner.kernels.kernel import Array, Code, Kernel, KernelError, Knobs, Packed, Problem
from iree_tuner.kernels.moves import HOISTED, LOAD, build_packed, sliced
from iree_tuner.kernels.readings import build_matcher, build_moves, reading_of
from iree_tuner.kernels.site import Site, copy_ops, declare
from iree_tuner.kernels.split_sums import combined
from iree_tuner.ops.attention import Attention
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.bindings import Harness
from iree_tuner.spec.external import EXECUTABLE
from iree_tuner.store.reproducer import FailedCandidate, write_reproducer
from iree_tuner.targets import Target

MAIN = "__transform_main"

_SUFFIXES = {"object": ".o", "ptx": ".ptx"}
_OBJECT = "kernel.o"
_NAME_ONLY = "match.operation_name_only"
_FEW = 4  # pairs that need no matcher of their kind
_WITH_NAMED_SEQUENCE = "transform.with_named_sequence"

_Pair = tuple[str, str]
"""Names of a matcher and of the sequence that replaces its match."""


@dataclass(frozen=True)
class Placement:
    """A kernel's code for a site, with the files of the code and of its packed form."""

    site: Site
    code: Code
    path: str = ""
    packed_path: str = ""


def build_kernel_spec(
    placements: Sequence[Placement], target: ir.Attribute, context: ir.Context, name: str = "kernel_spec"
) -> ir.Module:
    """Build a verified preprocessing spec. Where sites overlap, larger ones win, then earlier ones.

    `target` is the program's executable target (`find.Places.target`), `context` has loaded dialects, and
    `name` is the module's symbol. Raises TunerError if the spec does not verify.
    """
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        module.operation.attributes[_WITH_NAMED_SEQUENCE] = ir.UnitAttr.get()
        spec = _KernelSpec(
            module, target if target.context == context else attribute_from(str(target), context)
        )
        known = spec.before(placements)
        then, last, parts = list[_Pair](), list[_Pair](), list[_Pair]()
        kinds: dict[str, list[_Pair]] = {}
        rounds: dict[tuple[bool, bool, int], list[_Pair]] = {}
        rows: dict[int, list[_Pair]] = {}  # norms, by their number of terms
        for placement in placements:
            if placement.code.kind == "ops":  # kernels and chains see the program with joint products
                pair, joint = spec.add_ops(placement), placement.code.entry == JointProducts.name
                (kinds.setdefault(spec.kind_of(placement.site), []) if joint else last).append(pair)
                continue
            if (nest := placement.site.problem.nest) is not None and nest.row is not None:
                rows.setdefault(len(nest.terms), []).extend(spec.add(placement))
                continue
            if nest is not None and nest.after:  # before the reductions and scans alone, which come earlier
                then.extend(spec.add(placement))
                continue
            if placement.site.problem.fused:
                # Parts of chains, such as a slice, come first in a program, so that they are tried later.
                chain = placement.site.problem.workload.op in FusedOps.replaces
                (last if chain else parts).extend(spec.add(placement))
                continue
            # Larger problems come first: a part of one may be another problem, and ops of a long epilogue may
            # be a shorter one, such as the power in a GELU. The transpose of an attention's values may be
            # what another product, equal to that of the values, ends with.
            attends = placement.site.problem.workload.family == Attention.name
            key = bool(placement.site.one_op), attends, _count_in(placement.site.case)
            rounds.setdefault(key, []).extend(spec.add(placement))
        larger_first = [rounds[key] for key in sorted(rounds, reverse=True)]
        larger_first += [rows[count] for count in sorted(rows, reverse=True)]
        first = [pair for kind, own in kinds.items() for pair in spec.nested(kind, own)]
        with ir.InsertionPoint(module.body):
            padded = any(each.site.padded for each in placements)
            readings = dict.fromkeys(case for each in placements for case in each.site.readings)
            read = [spec.add_reading(case) for case in readings]
            scalars = [pair for pair in spec.scalars.values() if pair not in known[0]]
            rounds_of_all = [[*spec.early.values()], first, *known, scalars, *larger_first, then, last, parts]
            _build_main(rounds_of_all, read, padded=padded)
        try:
            module.operation.verify()
        except ir.MLIRError as error:
            first = next((each.message for each in error.error_diagnostics), str(error))
            raise TunerError(f"the built spec does not verify: {first}") from error
    return module


def put_into(module: ir.Module, chosen: Sequence[tuple[Site, Code]]) -> None:
    """Replace ops of a program by other ops (code of the kind `ops`), in the phase of preprocessing."""
    placements = [Placement(site, code) for site, code in chosen]
    with module.context:
        spec = build_kernel_spec(placements, ir.UnitAttr.get(), module.context)
        (main,) = (
            each.operation for each in spec.body.operations
            if "sym_name" in each.attributes and each.attributes["sym_name"] == ir.StringAttr.get(MAIN)
        )  # fmt: skip
        interpreter.apply_named_sequence(module.operation, main, spec.operation)
        _erase_called(module)


def _erase_called(module: ir.Module) -> None:
    """Erase the functions that replaced ops, whose calls were inlined."""
    for each in list(module.body.operations):
        name = each.attributes.get("sym_name", None)
        if isinstance(name, ir.StringAttr) and name.value.startswith(f"call_{EXECUTABLE}"):
            each.operation.erase()


@dataclass
class _KernelSpec:
    """A spec while it is built.

    Attributes:
        target: executable target of the kernels.
        names: names that are taken.
        declared: globals of the program that the spec declares.
        scalars: matchers and actions that move constants into bodies, by kind of scalar op.
        early: the same for joint products, before they are made. Merging them undoes it. Their functions are
            then in the program: in a second round, the same ones would match in themselves, without an end.
        kinds: a matcher of sites that differ only in the constants that they load, by its text.
    """

    module: ir.Module
    target: ir.Attribute
    names: set[str] = field(default_factory=set[str])
    declared: set[str] = field(default_factory=set[str])
    scalars: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    early: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    kinds: dict[str, str] = field(default_factory=dict[str, str])

    def kind_of(self, site: Site) -> str:
        """The name of a matcher that matches a site with any constants, as all layers have it."""
        case = _any_constants(site.case)
        if case not in self.kinds:
            self.kinds[case] = _unique(f"match_{site.problem.name}_kind", self.names)
            with ir.InsertionPoint(self.module.body):
                _build_matcher(self.kinds[case], case.encode())
        return self.kinds[case]

    def nested(self, kind: str, pairs: Sequence[_Pair]) -> list[_Pair]:
        """Pairs of one kind, tried only where that matches.

        Each layer has pairs of its own. Trying all of them on each op would take 32 s for 80 layers.
        """
        if len(pairs) <= _FEW:
            return list(pairs)
        with ir.InsertionPoint(self.module.body):
            _build_choice(f"choose_{kind}", pairs)
        return [(kind, f"choose_{kind}")]

    def before(self, placements: Sequence[Placement]) -> tuple[list[_Pair], list[_Pair]]:
        """Add what is replaced before the cases are there; first the pairs that make its constants local."""
        sites = dict.fromkeys(each for placement in placements for each in placement.site.first)
        replaced = [self.add_ops(Placement(each, FusedOps().make(each.problem))) for each in sites]
        return [*self.scalars.values()], replaced

    def add(self, placement: Placement) -> list[_Pair]:
        """Add a kernel: first the pair for programs with a constant to pack, then the pair for all others."""
        problem, code, packed = placement.site.problem, placement.code, placement.code.packed
        name = _unique(f"{EXECUTABLE}{problem.name}", self.names)
        parts = [Export(code, ports_of(problem, code), placement.path)]
        uses: list[tuple[str, Export, Packed | None]] = [(name, parts[0], None)]
        if packed is not None:
            parts.append(Export(packed.code, packed_ports(problem, packed), placement.packed_path))
            uses.insert(0, (_unique(f"{name}_packed", self.names), parts[1], packed))
        with ir.InsertionPoint(self.module.body):
            build_executable(name, parts, self.target)
            for use, part, packing in uses:
                _build_function(f"call_{use}", name, part, problem, packing)
                self._add_matcher(use, placement.site, None if packing is None else packing.input)
                two = problem.scanned is not None
                _build_replacement(f"replace_{use}", (name, f"call_{use}"), several=two)
        return [(f"match_{use}", f"replace_{use}") for use, _, _ in uses]

    def add_ops(self, placement: Placement) -> _Pair:
        name = _unique(f"{EXECUTABLE}{placement.site.problem.name}", self.names)
        program, _ = _function_in(placement.code.data)
        with ir.InsertionPoint(self.module.body):
            for symbol in (each.operation for each in program.body.operations):
                name_of = symbol.attributes["sym_name"]
                if symbol.name == "util.global" and ir.StringAttr(name_of).value not in self.declared:
                    self.declared.add(ir.StringAttr(name_of).value)
                    declare(symbol)
            _build_ops(f"call_{name}", placement.code.data)
            joint = placement.code.entry == JointProducts.name
            self._add_matcher(name, placement.site, scalars=self.early if joint else self.scalars)
            _build_replacement(f"replace_{name}", (f"call_{name}",))
        return f"match_{name}", f"replace_{name}"

    def add_reading(self, case: bytes) -> _Pair:
        """Add the pair that rewrites an op which reads an array at computed positions as moves."""
        name = _unique(f"{EXECUTABLE}reading", self.names)
        _program, block = _function_in(case)
        reading = reading_of(block.operations[len(block.operations) - 2].operation)
        assert reading is not None, "the case of a reading has one at its end"
        with ir.InsertionPoint(self.module.body):
            with private_function(f"call_{name}", [reading.array.type], reading.op.result.type) as arguments:
                util.ReturnOp([build_moves(reading, arguments[0])])
            build_matcher(f"match_{name}", reading)
            _build_replacement(f"replace_{name}", (f"call_{name}",), around=True)
        return f"match_{name}", f"replace_{name}"

    def _add_matcher(
        self, use: str, site: Site, constant: int | None = None, *,
        scalars: dict[str, tuple[str, str]] | None = None,
    ) -> None:  # fmt: skip
        known = self.scalars if scalars is None else scalars
        for scalar in _build_matcher(f"match_{use}", site.case, constant):
            if scalar.key not in known:
                known[scalar.key] = self._add_scalar(scalar)

    def _add_scalar(self, scalar: Scalar) -> tuple[str, str]:
        name = _unique(f"local_{scalar.op.name}", self.names)
        build_scalar_function(name, scalar)
        with _matcher(f"match_{name}", [each.type for each in scalar.others]) as block:
            scalar.copy_to(dict(zip(scalar.others, block.arguments, strict=True)))
        _build_replacement(f"replace_{name}", (name,))
        return f"match_{name}", f"replace_{name}"


def executable_names(sites: Sequence[Site]) -> list[str]:
    """The names that a spec gives to the executables of kernels at these sites, in their order."""
    names: set[str] = set()
    return [_unique(f"{EXECUTABLE}{site.problem.name}", names) for site in sites]


def _unique(wanted: str, names: set[str]) -> str:
    base = found = re.sub(r"[^A-Za-z0-9_]", "_", wanted)
    count = 0
    while found in names:
        count += 1
        found = f"{base}_{count}"
    names.add(found)
    return found


def _build_function(
    name: str, executable: str, part: Export, problem: Problem, packing: Packed | None
) -> None:
    """Build a function of the problem's inputs that dispatches the executable and returns the result.

    A scan's second result are the last elements of the first one.
    """
    entry = ir.SymbolRefAttr.get([executable, VARIANT, export_of(part.code)])
    results = [*map(_tensor, part.ports.results)]
    shape, scanned = problem.result.shape, problem.scanned
    last = [size for at, size in enumerate(shape) if at != scanned]
    kinds = [problem.result, *([] if scanned is None else [replace(problem.result, shape=tuple(last))])]
    with private_function(name, [*map(_tensor, problem.inputs)], *map(_tensor, kinds)) as arguments:
        if packing is not None:
            arguments[packing.input] = build_packed(arguments[packing.input], packing)
        done = flow.DispatchOp(results, [], ir.ArrayAttr.get([entry]), arguments, [], [])
        found = done.operation.results[0]
        if part.code.parts and problem.nest is not None:
            found = combined(found, len(problem.result.shape), problem.nest.combine)
        if scanned is None:
            util.ReturnOp([found])
            return
        first = [size - 1 if at == scanned else 0 for at, size in enumerate(shape)]
        sizes = [1 if at == scanned else size for at, size in enumerate(shape)]
        util.ReturnOp([found, sliced(found, first, sizes, last)])


def _build_ops(name: str, program: bytes) -> None:
    _program, source = _function_in(program)
    inputs, *ops, end = source.arguments, *(op.operation for op in source.operations)
    result = end.operands[0]
    with private_function(name, [each.type for each in inputs], result.type) as arguments:
        values: dict[ir.Value, ir.Value] = dict(zip(inputs, arguments, strict=True))
        util.ReturnOp([copy_ops(ops, values) if ops else values[result]])


def _function_in(program: bytes) -> tuple[ir.Module, ir.Block]:
    """The parsed program, and the body of its only function, which lives as long as the program."""
    # IR as text: bytecode of another process
    module = ir.Module.parse(program)
    return module, module.body.operations[len(module.body.operations) - 1].regions[0].blocks[0]


def _tensor(array: Array) -> ir.Type:
    return ir.RankedTensorType.get(array.shape, ElementType.named(array.element_type).to_ir())


@contextmanager
def _matcher(
    name: str, inputs: Sequence[ir.Type], constant: Sequence[int] | None = None
) -> Generator[ir.Block]:
    """Build a matcher of the ops that are built in the block; its results are their inputs and result.

    The matcher is called on the last op.

    Args:
        name: the symbol.
        inputs: types of the block's arguments.
        constant: if an operand must be a constant, the operand numbers on the way to it: first of the last
            op, then of that operand's producer, and so on.
    """
    handle, values = transform.AnyOpType.get(), transform.AnyValueType.get()
    readonly = {"transform.readonly": ir.UnitAttr.get()}
    sequence = transform.NamedSequenceOp(name, [handle], [values, values], arg_attrs=[readonly])
    with ir.InsertionPoint(sequence.body):
        root = sequence.body.arguments[0]
        matched = preprocessing_transform.MatchCastCompatibleDagFromRootOp(values, values, root)
        if constant is not None:
            op: ir.Value = root
            for number in constant:
                op = transform.GetProducerOfOperand(handle, op, number).result
            transform.MatchOperationNameOp(op, ir.ArrayAttr.get([*map(ir.StringAttr.get, HOISTED)]))
        transform.YieldOp(list(matched.operation.results))
    block = matched.regions[0].blocks.append(*inputs, arg_locs=[ir.Location.unknown()] * len(inputs))
    with ir.InsertionPoint(block):
        yield block
        transform.YieldOp([])


def _count_in(case: bytes) -> int:
    """How many ops a site's case has."""
    _program, block = _function_in(case)
    return len([*block.operations])


def _any_constants(case: bytes) -> str:
    """A site's case with arguments instead of the constants that it loads."""
    program, block = _function_in(case)
    loads = [op.operation for op in block.operations if op.operation.name == LOAD]
    kept = [op.operation for op in block.operations if op.operation.name != LOAD][:-1]
    values: list[ir.Value] = [*block.arguments, *(load.result for load in loads)]
    result = block.operations[len(block.operations) - 1].operands[0]
    kinds = [each.type for each in values]
    with program.context, ir.Location.unknown():
        other = ir.Module.create()
        with ir.InsertionPoint(other.body):
            function = func.FuncOp("main", (kinds, [result.type]))
        with ir.InsertionPoint(function.add_entry_block()):
            func.ReturnOp([copy_ops(kept, dict(zip(values, function.arguments, strict=True)))])
        return str(other)


def _build_matcher(name: str, given: bytes, constant: int | None = None) -> list[Scalar]:
    """Build a matcher of a site's case; returns scalar ops whose constants must be moved into bodies first.

    With `constant`, it matches only if the input of that number is a constant.
    """
    _program, case = _function_in(given)
    ops = [op.operation for op in case.operations][:-1]
    way = None if constant is None else _way_to(ops[-1], case.arguments[constant])
    with _matcher(name, [each.type for each in case.arguments], way) as block:
        copy_ops(ops, dict(zip(case.arguments, block.arguments, strict=True)))
    insert_in_filled(block)
    for op in block.operations:
        if op.operation.name == "tensor.empty":  # it may be shared, so only its name is compared
            op.operation.attributes[_NAME_ONLY] = ir.UnitAttr.get()
    return localize(block)


def _way_to(op: ir.Operation, value: ir.Value) -> list[int] | None:
    """The operand numbers that lead from an op back to a value, by way of producers; None if none do."""
    for number, operand in enumerate(op.operands):
        if operand == value:
            return [number]
        before = producer(operand)
        way = None if before is None else _way_to(before, value)
        if way is not None:
            return [number, *way]
    return None


def _build_replacement(
    name: str, symbols: Sequence[str], *, several: bool = False, around: bool = False
) -> None:
    """Build a sequence that imports symbols, and replaces the match by a call of the last one.

    `several`: whether the match has several results, each of which names its op. With `around`, it replaces
    the op that the match is in, by a call with the match's first operand.
    """
    handle, values = transform.AnyOpType.get(), transform.AnyValueType.get()
    readonly = {"transform.readonly": ir.UnitAttr.get()}
    sequence = transform.NamedSequenceOp(name, [values, values], [], arg_attrs=[readonly, readonly])
    with ir.InsertionPoint(sequence.body):
        inputs, outputs = sequence.body.arguments
        root = transform.GetDefiningOp(handle, outputs).result
        if several:
            root = transform.MergeHandlesOp([root], deduplicate=True).result
        if around:
            inputs = transform.GetOperandOp(transform.AnyValueType.get(), root, [0]).result
            root = transform.GetParentOp(handle, root).parent
            outputs = transform.GetResultOp(transform.AnyValueType.get(), root, [0]).result
        table = _create("transform.util.get_nearest_symbol_table", [handle], [root])
        *_, called = [
            _create(
                "transform.util.import_symbol", [handle], [table],
                {"symbol": ir.FlatSymbolRefAttr.get(each), "if_undefined": ir.UnitAttr.get()},
            )
            for each in symbols
        ]  # fmt: skip
        segments = ir.DenseI32ArrayAttr.get([1, 1, 1, 1])
        ir.Operation.create(
            "transform.util.cast_and_call", operands=[root, inputs, outputs, called],
            attributes={
                "operandSegmentSizes": segments,
                "insert_after": ir.UnitAttr.get(),
                # Otherwise, a function with several calls is not inlined later, and its arguments are copied.
                "inline_call": ir.UnitAttr.get(),
            },
            regions=1,
        )  # fmt: skip
        transform.YieldOp([])


def _build_choice(name: str, pairs: Sequence[_Pair]) -> None:
    """Build a sequence that tries pairs on a match's last op."""
    handle, values = transform.AnyOpType.get(), transform.AnyValueType.get()
    readonly = {"transform.readonly": ir.UnitAttr.get()}
    sequence = transform.NamedSequenceOp(name, [values, values], [], arg_attrs=[readonly, readonly])
    with ir.InsertionPoint(sequence.body):
        root = transform.GetDefiningOp(handle, sequence.body.arguments[1]).result
        transform.ForeachMatchOp(handle, [], root, [], *_symbols(pairs), restrict_root=True)
        transform.YieldOp([])


def _symbols(pairs: Sequence[_Pair]) -> list[ir.ArrayAttr]:
    """The matchers of pairs, and their actions."""
    return [
        ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(each) for each in names])
        for names in zip(*pairs, strict=True)
    ]


def _create(
    name: str, results: Sequence[ir.Type], operands: Sequence[ir.Value],
    attributes: dict[str, ir.Attribute] | None = None,
) -> ir.Value:  # fmt: skip
    """Create an op of the transform dialect's extensions that has no builder; returns its first result."""
    op = ir.Operation.create(name, results=results, operands=operands, attributes=attributes or {})
    return op.results[0]


def _build_main(rounds: Sequence[Sequence[_Pair]], readings: Sequence[_Pair], *, padded: bool) -> None:
    """Build the entry: rounds of matchers, each on the result of the previous one.

    The second round is of joint products. `readings` come first, and `padded` makes it rewrite paddings into
    the form that matchers expect.
    """
    handle = transform.AnyOpType.get()
    sequence = transform.NamedSequenceOp(MAIN, [handle], [], arg_attrs=[{}])
    with ir.InsertionPoint(sequence.body):
        module = sequence.body.arguments[0]
        _build_normal_form(module, readings)
        if padded:
            functions = structured.MatchOp(handle, module, ops=["util.func"]).results_
            loop = transform.ForeachOp([], [functions])
            with ir.InsertionPoint(loop.operation.regions[0].blocks[0]):
                build_insertion(loop.operation.regions[0].blocks[0].arguments[0])
                transform.YieldOp([])
        for pairs in filter(None, rounds):
            _build_round(module, pairs)
            if pairs is rounds[1]:  # merges joint products; after later rounds, it would undo local constants
                transform.ApplyCommonSubexpressionEliminationOp(module)
        transform.YieldOp([])


def _build_round(module: ir.Value, pairs: Sequence[_Pair]) -> None:
    """Build the trying of pairs on all ops of a program's functions."""
    handle = transform.AnyOpType.get()
    functions = structured.MatchOp(handle, module, ops=["util.func"]).results_
    block = transform.ForeachOp([], [functions]).operation.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        transform.ForeachMatchOp(handle, [], block.arguments[0], [], *_symbols(pairs))
        transform.YieldOp([])
    transform.ApplyDeadCodeEliminationOp(module)


def _build_normal_form(module: ir.Value, readings: Sequence[_Pair]) -> None:
    """Build the rewriting of ops that make one value everywhere as fills, and of readings as moves.

    JAX and PyTorch write both as generic ops that use a value from outside, which no matcher compares.
    """
    handle = transform.AnyOpType.get()
    functions = structured.MatchOp(handle, module, ops=["util.func"]).results_
    with ir.InsertionPoint(transform.ApplyPatternsOp(functions).patterns):
        ir.Operation.create("transform.apply_patterns.linalg.erase_unnecessary_inputs")
    without_inputs: dict[str, ir.Attribute] = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 1])}
    made = structured.MatchOp(handle, module, ops=["linalg.generic"], op_attrs=without_inputs).results_
    block = transform.ForeachOp([], [made]).operation.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        tried = transform.SequenceOp(transform.FailurePropagationMode.Suppress, [], block.arguments[0])
        with ir.InsertionPoint(tried.body):  # fails for ops that compute something of their loops
            _create("transform.structured.specialize", [handle], [tried.bodyTarget])
            transform.YieldOp([])
        transform.YieldOp([])
    if readings:
        _build_round(module, readings)


def bring_into_form(module: ir.Module) -> None:
    """Rewrite a program, in the phase of preprocessing, as every kernel spec does before it matches."""
    with module.context, ir.Location.unknown():
        _apply_form(module, ())


def rewrite_readings(module: ir.Module, readings: Sequence[bytes]) -> None:
    """Rewrite ops of a program with these cases as moves, as specs of sites with `readings` do."""
    with module.context, ir.Location.unknown():
        _apply_form(module, readings)
        _erase_called(module)


def _apply_form(module: ir.Module, readings: Sequence[bytes]) -> None:
    spec = _KernelSpec(ir.Module.create(), ir.UnitAttr.get())
    spec.module.operation.attributes[_WITH_NAMED_SEQUENCE] = ir.UnitAttr.get()
    pairs = [spec.add_reading(case) for case in readings]
    with ir.InsertionPoint(spec.module.body):
        sequence = transform.NamedSequenceOp(MAIN, [transform.AnyOpType.get()], [], arg_attrs=[{}])
        with ir.InsertionPoint(sequence.body):
            _build_normal_form(sequence.body.arguments[0], pairs)
            transform.YieldOp([])
    interpreter.apply_named_sequence(module.operation, sequence.operation, spec.module.operation)


def save_kernel_spec(
    chosen: Sequence[tuple[Site, Code]], target: str, context: ir.Context, output: Path,
    *, movable: bool = False,
) -> tuple[Path, ...]:  # fmt: skip
    """Write a spec to `output`, and the code that it names to the folder `NAME.kernels`; returns the code's
    paths.

    Args:
        chosen: sites with the kernel's code for each; see `build_kernel_spec` for sites that overlap.
        target: the executable target, as text (`find.Places.target`).
        context: for the IR.
        output: the spec's file, `.mlir`.
        movable: name the code by paths relative to the spec's folder, so that both can be moved together
            (`located`); otherwise by absolute paths.

    Raises:
        TunerError: the files cannot be written.
    """
    folder = output.resolve().parent / f"{output.name.removesuffix('.mlir')}.kernels"
    planned_folder(folder)
    paths: list[Path] = []
    placements: list[Placement] = []
    for site, code in chosen:
        own: list[str] = []
        files = (code, *([code.packed.code] if code.packed else [])) if code.kind in _SUFFIXES else ()
        for each in files:
            digest = hashlib.sha256(each.data).hexdigest()[:16]
            path = folder / f"{each.entry}_{digest}{_SUFFIXES[each.kind]}"
            write(path, each.data)
            paths.append(path)
            own.append((path.relative_to(folder.parent) if movable else path).as_posix())
        placements.append(Placement(site, code, *own))
    write(output, str(build_kernel_spec(placements, attribute_from(target, context), context)))
    return tuple(paths)


def write_reproducer_here(
    folder: Path, kernel: Kernel, problem: Problem, target: Target, knobs: Knobs, harness: Harness,
    outcome: Outcome, message: str,
) -> str:  # fmt: skip
    """Write the dispatch with the kernel in it, and a script, for IREE's own tools (docs/failures.md).

    Returns the folder's path; empty if no code can be made, so that they cannot reproduce it. Runs in
    workers.
    """
    session = session_for(target.flags)
    try:
        code = kernel.make(problem, target, knobs)
        with session.context, ir.Location.unknown():
            module = to_bytecode(substituted(harness, session, problem, code, _OBJECT))
    except (KernelError, CompileError):
        return ""
    failure = FailedCandidate(
        workload=f"{problem.name}-{kernel.name}",
        harness=replace(harness, module=module),
        configuration=None,
        flags=target.flags,
        outcome=outcome,
        message=message,
        device=target.device or "",
        versions=installed(),
        default=harness,
        files={_OBJECT: code.data},
    )
    return write_reproducer(folder, failure)[0]
