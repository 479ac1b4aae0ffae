"""The function of a dumped dispatch, as the function of a `stream.executable`.

A dumped function finds its tensors at offsets of numbered buffers, and assembles its numbers from constants
of 32 bits. Here each tensor and each number becomes an argument. The place of a tensor does not matter for
the computation: the compiler decides it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from iree.compiler import ir
from iree.compiler.dialects import arith, hal, iree_codegen, iree_tensor_ext, memref, stream

from iree_tuner.compiler.context import defining_op, new_context, ops_in, walk
from iree_tuner.compiler.session import CompilerSession, parse_module
from iree_tuner.compiler.unbound import binding_type, held_type
from iree_tuner.errors import TunerError
from iree_tuner.ops.structure import fold, indexing_maps
from iree_tuner.program.harness import held, run_passes
from iree_tuner.targets import Target, parse_target
from iree_tuner.targets.limits import target_name

_LOAD, _STORE = "iree_tensor_ext.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.store"
_LOAD_BUFFER, _STORE_BUFFER = "iree_codegen.load_from_buffer", "iree_codegen.store_to_buffer"
_SUBSPAN, _VIEW = "hal.interface.binding.subspan", "memref.subview"
_CONSTANT, _ORDINAL = "hal.interface.constant.load", "iree_tensor_ext.dispatch.workload.ordinal"
_SAME_BUFFER = ("amdgpu.fat_raw_buffer_cast", "memref.assume_alignment", "memref.memory_space_cast")
_ASSEMBLING = ("arith.extui", "arith.extsi", "arith.trunci", "arith.shli", "arith.ori")
_ASSEMBLED = ("arith.index_cast", "arith.index_castui", "arith.bitcast")
_WITHOUT_EFFECT = (
    *_ASSEMBLING, *_ASSEMBLED, *_SAME_BUFFER, _CONSTANT, _ORDINAL, _SUBSPAN, _VIEW, "arith.constant",
    "util.assume.int",
)  # fmt: skip


@dataclass(frozen=True)
class Tensor:
    """A tensor that a dispatch takes; one that is changed in place is both read and written."""

    type: ir.RankedTensorType
    read: bool
    written: bool


@dataclass(frozen=True)
class Number:
    """A number that a dispatch takes: an integer, `index`, or a float.

    `bits` is its value, a float's as an integer of the same width; None if the dump does not contain it.
    `size_of` are tensors, by number, and their dimensions that have this size. `workload` are its places
    among the values from which the number of workgroups is computed.
    """

    type: ir.Type
    bits: int | None
    size_of: tuple[tuple[int, int], ...]
    workload: tuple[int, ...]


@dataclass(frozen=True)
class DispatchSignature:
    """The arguments of a dispatch: tensors that it reads, tensors that it only writes, and numbers."""

    tensors: tuple[Tensor, ...]
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class _Access:
    """A load or a store of a part of a buffer, or of all of it without a `view`."""

    op: ir.Operation
    view: memref.SubViewOp | None

    @property
    def reads(self) -> bool:
        return self.op.name in (_LOAD, _LOAD_BUFFER)

    def covers(self, kind: ir.RankedTensorType, dims: tuple[ir.Value[ir.IndexType], ...]) -> bool:
        """Whether it is of a whole tensor; False if that cannot be seen here."""
        if self.op.name != _STORE:
            return self.view is None
        static = list(ir.DenseI64ArrayAttr(self.op.attributes["static_sizes"]))
        store = self.op.opview
        assert isinstance(store, iree_tensor_ext.DispatchTensorStoreOp)
        return static == kind.shape and tuple(store.sizes) == dims


@dataclass
class _TensorPlace:
    """A tensor in a buffer: the subspans that find it there, and its uses."""

    type: ir.RankedTensorType
    dims: tuple[ir.Value[ir.IndexType], ...]
    sizes: tuple[int | None, ...]
    subspans: list[ir.Operation] = field(default_factory=list[ir.Operation])
    accesses: list[_Access] = field(default_factory=list[_Access])

    @property
    def written(self) -> bool:
        return any(not access.reads for access in self.accesses)

    @property
    def read(self) -> bool:
        """Whether its former contents are used: it is loaded, or only partly stored."""
        loaded = any(access.reads for access in self.accesses)
        return loaded or not any(access.covers(self.type, self.dims) for access in self.accesses)

    @property
    def known_type(self) -> ir.RankedTensorType:
        """With the sizes that are known."""
        unknown = ir.ShapedType.get_dynamic_size()
        shape = [unknown if size is None else size for size in self.sizes]
        return ir.RankedTensorType.get(shape, self.type.element_type)


def lift_body(function: ir.Operation, constants: Sequence[int] | None) -> DispatchSignature:
    """Rewrite a dispatch's function, in place. It is in a `hal.executable`, without a configuration.

    `constants` are its arguments other than buffers; None if the dump does not contain them. Raises
    TunerError if it does more with a buffer than load and store tensors, or these have a layout that is
    decided later.
    """
    entry = function.regions[0].blocks[0]
    with function.context, ir.Location.unknown():
        _undo_copies(entry)
        # A stable order: inputs come first, as in a call, and otherwise the dump's order stays.
        places = sorted(_places(entry, constants), key=lambda place: not place.read)
        tensors = tuple(Tensor(place.known_type, place.read, place.written) for place in places)
        for place in places:
            _as_argument(place, entry)
        _erase_unused(entry)
        numbers = tuple(_number(value, constants, entry) for value in _numbers(entry))
        types = [argument.type for argument in entry.arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
    _erase_unused(entry)
    return DispatchSignature(tensors, numbers)


def index(value: int) -> ir.Value[ir.IndexType]:
    """A constant, at the insertion point."""
    return cast("ir.Value[ir.IndexType]", arith.constant(ir.IndexType.get(), value))


def _undo_copies(entry: ir.Block) -> None:
    """Turn the compiler's copies between buffers back into a load and a store."""
    for op in ops_in(entry):
        if op.name != "linalg.generic" or not all(
            isinstance(each.type, ir.MemRefType) for each in op.operands
        ):
            continue
        inside = op.regions[0].blocks[0]
        maps = indexing_maps(op)
        identity = ir.AffineMap.get_identity(maps[0].n_dims)
        copies = len(inside.operations) == 1 and ops_in(inside)[0].operands[0] == inside.arguments[0]
        if not copies or maps != (identity, identity):
            continue
        source, target = op.operands
        kind = ir.MemRefType(source.type)
        with ir.InsertionPoint(op), op.location:
            tensor = ir.RankedTensorType.get(kind.shape, kind.element_type)
            loaded = iree_codegen.LoadFromBufferOp(tensor, source).result
            iree_codegen.StoreToBufferOp(loaded, target)
        op.erase()


def _places(entry: ir.Block, constants: Sequence[int] | None) -> list[_TensorPlace]:
    """The tensors that a function finds in its buffers, by the buffers' numbers."""
    found: dict[tuple[int, int | ir.Value, str, tuple[ir.Value, ...]], _TensorPlace] = {}
    for view in entry.operations:
        if not isinstance(view, hal.InterfaceBindingSubspanOp):
            continue
        kind, dims = _tensor_in(view), tuple(view.dynamic_dims)
        offset = 0 if view.byte_offset is None else fold(view.byte_offset, None)
        number = ir.IntegerAttr(view.operation.attributes["binding"]).value
        # A place is one where the offset is: a number, or the same value.
        key = (
            number,
            view.byte_offset if offset is None and view.byte_offset else offset or 0,
            str(kind),
            dims,
        )
        if key not in found:
            unknown = iter([fold(size, constants) for size in dims])
            sizes = [next(unknown) if kind.is_dynamic_dim(i) else kind.shape[i] for i in range(kind.rank)]
            found[key] = _TensorPlace(kind, dims, tuple(sizes))
        found[key].subspans.append(view.operation)
        found[key].accesses.extend(_accesses(view.operation.result, None))
    return [found[key] for key in sorted(found, key=lambda key: key[0]) if found[key].accesses]


def _tensor_in(subspan: hal.InterfaceBindingSubspanOp) -> ir.RankedTensorType:
    _, inside = held(subspan.operation)
    if isinstance(inside, ir.MemRefType):
        return ir.RankedTensorType.get(inside.shape, inside.element_type)
    if not isinstance(inside, ir.RankedTensorType):
        raise TunerError(f"it takes {inside}, which is not a tensor")
    if inside.encoding is not None:
        raise TunerError(
            "its tensors have an encoding, which callers cannot pass",
            hint="tune the program itself, or what --iree-hal-dump-executable-benchmarks-to writes",
        )
    return inside


def _accesses(buffer: ir.Value, view: memref.SubViewOp | None) -> Iterator[_Access]:
    """The uses of a buffer. Raises TunerError for any other than loads and stores of tensors."""
    for use in buffer.uses:
        op = use.owner.operation
        if op.name in _SAME_BUFFER:
            yield from _accesses(op.result, view)
        elif op.name == _VIEW and view is None:
            found = op.opview
            assert isinstance(found, memref.SubViewOp)
            yield from _accesses(op.result, found)
        elif op.name in (_LOAD, _STORE, _LOAD_BUFFER, _STORE_BUFFER):
            yield _Access(op, view)
        else:
            raise TunerError(f"it operates on a buffer instead of tensors: {op.name}")


def _as_argument(place: _TensorPlace, entry: ir.Block) -> None:
    """Make a tensor an argument, and have the function load and store it there."""
    binding = entry.add_argument(binding_type(), entry.owner.location)
    mode = "readwrite" if place.read and place.written else "readonly" if place.read else "writeonly"
    held = held_type(mode, place.type)
    first = place.subspans[0]
    with ir.InsertionPoint(first), first.location:
        span = stream.BindingSubspanOp(held, binding, index(0), place.dims).result
    for access in place.accesses:
        if access.op.name in (_LOAD_BUFFER, _STORE_BUFFER):
            with ir.InsertionPoint(access.op), access.op.location:
                _access_tensor(access, span, place)
    for subspan in place.subspans:
        if not isinstance(subspan.result.type, ir.MemRefType):  # buffers have no uses left that matter
            subspan.result.replace_all_uses_with(span)


def _access_tensor(access: _Access, span: ir.Value, place: _TensorPlace) -> None:
    """A load or a store of a buffer, as one of a tensor; the former op is erased."""
    if access.view is not None:
        view, attributes = access.view, access.view.operation.attributes
        given = (list(view.offsets), list(view.sizes), list(view.strides))
        static = tuple(
            list(ir.DenseI64ArrayAttr(attributes[f"static_{name}"]))
            for name in ("offsets", "sizes", "strides")
        )
    else:
        rank = place.type.rank
        given, static = ([], list(place.dims), []), ([0] * rank, list(place.type.shape), [1] * rank)
    if access.reads:
        result = access.op.result
        load = iree_tensor_ext.DispatchTensorLoadOp(result.type, span, place.dims, *given, *static)
        result.replace_all_uses_with(load.result)
    else:
        iree_tensor_ext.DispatchTensorStoreOp(access.op.operands[0], span, place.dims, *given, *static)
    access.op.erase()


def _numbers(entry: ir.Block) -> list[ir.Value]:
    """The numbers that a function assembles from its constants: the value that it works with, for each."""
    assembling: dict[ir.Value, bool] = {}
    found: list[ir.Value] = []
    for op in ops_in(entry):
        parts = [operand for operand in op.operands if assembling.get(operand)]
        if op.name == _CONSTANT or (parts and op.name in _ASSEMBLING):
            assembling[op.result] = True
        elif parts and op.name in _ASSEMBLED:
            found.append(op.result)
    for value in assembling:
        users = [use.owner.operation for use in value.uses]
        if any(user.name not in (*_ASSEMBLING, *_ASSEMBLED) for user in users):
            found.append(value)
    return found


def _number(value: ir.Value, constants: Sequence[int] | None, entry: ir.Block) -> Number:
    """Make a number an argument."""
    op = defining_op(value)
    assert op is not None, "it is assembled from constants"
    bits = fold(op.operands[0] if op.name == "arith.bitcast" else value, constants)
    if bits is None and all(_is_idle(use) for use in value.uses):
        bits = 0
    argument = entry.add_argument(value.type, op.location)
    value.replace_all_uses_with(argument)
    spans = [view for view in entry.operations if isinstance(view, stream.BindingSubspanOp)]
    sizes = [
        (number, dimension)
        for span in spans
        for number, dimension, size in _sizes(span, list(entry.arguments))
        if _source(size) == argument
    ]
    workload = [
        ir.IntegerAttr(op.attributes["ordinal"]).value
        for op in ops_in(entry)
        if op.name == _ORDINAL and _source(op.operands[0]) == argument
    ]
    return Number(value.type, bits, tuple(sizes), tuple(workload))


def _is_idle(use: ir.OpOperand) -> bool:
    """Whether only assumptions are made about a number: it is an offset that is not used."""
    op = use.owner.operation
    return op.name == "util.assume.int" and not list(op.results[use.operand_number].uses)


def _sizes(span: stream.BindingSubspanOp, arguments: list[ir.Value]) -> Iterator[tuple[int, int, ir.Value]]:
    """The sizes of a tensor that are values: its number, the dimension, and the value."""
    _, inside = held(span.operation)
    assert isinstance(inside, ir.RankedTensorType), "_as_argument made it"
    dynamic = [dimension for dimension in range(inside.rank) if inside.is_dynamic_dim(dimension)]
    for dimension, size in zip(dynamic, span.dynamic_dims, strict=True):
        yield arguments.index(span.binding), dimension, size


def _source(value: ir.Value) -> ir.Value:
    """The value behind assumptions about it."""
    op = defining_op(value, "util.assume.int", _ORDINAL)
    if op is None:
        return value
    return _source(op.operands[0 if op.name == _ORDINAL else ir.OpResult(value).result_number])


def _erase_unused(entry: ir.Block) -> None:
    for op in reversed(ops_in(entry)):
        if op.name in _WITHOUT_EFFECT and not any(list(result.uses) for result in op.results):
            op.erase()


# The facts about a program that calls dumped dispatches (`program.dump`), in a module that loads fast.


CONFIGURED = "iree_tuner.configured"
"""On the function of a dispatch that the compiler had configured."""

DUMPED_FOR = "iree_tuner.dumped_for"
"""On a program: the `#hal.executable.target` of its dispatches."""


def dumped_for(module: ir.Module) -> str:
    """The target of a lifted program's dispatches, as `--target` takes it; empty for others."""
    attributes = module.operation.attributes
    return target_name(attributes[DUMPED_FOR]) if DUMPED_FOR in attributes else ""


def own_target(data: bytes, name: str) -> Target | None:
    """The target of a program's dumped dispatches; None without any. Raises UsageError if unknown."""
    if DUMPED_FOR.encode() not in data:
        return None
    return parse_target(dumped_for(parse_module(data, new_context(), name)))


def take_mark(function: ir.Operation) -> bool:
    """Whether the compiler had configured a dispatch when it was dumped; erases the mark of that."""
    marked = CONFIGURED in function.attributes
    if marked:
        del function.attributes[CONFIGURED]
    return marked


def settle(module: ir.Module, session: CompilerSession) -> None:
    """Once a lifted program is split, make the values that it hides from the compiler constants.

    Visible before, they would make a dispatch that takes its sizes static, and so another one than was
    dumped.
    """
    if DUMPED_FOR not in module.operation.attributes:
        return
    hidden = [op for op in walk(module.operation) if op.name == "util.optimization_barrier"]
    for op in hidden:
        op.result.replace_all_uses_with(op.operands[0])
        op.erase()
    if hidden:
        run_passes(module, session, "builtin.module(util.func(canonicalize,cse))")
