"""Walks a dispatch's function, with a copy of its buffer as memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from iree.compiler import ir
from iree.compiler.dialects import hal

from iree_tuner.check.reference import scalars, structured
from iree_tuner.check.reference.scalars import (
    Unsupported,
    UnsupportedError,
    Value,
    from_memory,
    rounded,
    to_memory,
)
from iree_tuner.check.reference.structured import WORK_LIMIT, Loops
from iree_tuner.compiler.context import new_context
from iree_tuner.device.data import Image, dtype_of, stored_shape, values_in, written
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.structure import fold
from iree_tuner.program.bindings import Binding, Harness
from iree_tuner.program.harness import dispatched_export, find_dispatch, find_function, held

_PASSED_ON = (
    "memref.assume_alignment",
    "memref.cast",
    "tensor.cast",
    "iree_tensor_ext.dispatch.workload.ordinal",
)
_ATTENTION = ("iree_linalg_ext.attention", "iree_linalg_ext.online_attention")
_TERMINATORS = ("linalg.yield", "iree_linalg_ext.yield", "func.return")


@dataclass(frozen=True)
class _Body:
    """A linalg op's body: what it gets, what is done for each of its ops in turn, and what it yields."""

    arguments: list[ir.Value]
    steps: list[Callable[[], None]]
    results: list[ir.Value]


class Interpreter:
    """One run of one function.

    `memory` is the harness's buffer, which is changed as by the dispatch. `constants` are the dispatch's own.
    """

    def __init__(
        self, memory: npt.NDArray[np.uint8], bindings: Sequence[Binding], constants: Sequence[int]
    ) -> None:
        self._memory = memory
        self._bindings = bindings
        self._constants = constants
        self._values: dict[ir.Value, Value] = {}
        self._spent = 0
        self._loops: Loops | None = None
        self._bodies: dict[ir.Block, _Body] = {}

    def run(self, function: ir.Operation) -> None:
        """Evaluate a function's ops in order. Raises UnsupportedError."""
        (block,) = function.regions[0].blocks
        for op in block.operations:
            self._evaluate(op.operation)

    def _evaluate(self, op: ir.Operation) -> None:
        name = op.name
        if name in _TERMINATORS:
            return
        if name in self._HANDLERS:
            self._HANDLERS[name](self, op)
        elif scalars.knows(name):
            found = scalars.evaluate(scalars.read(op), [self._get(operand) for operand in op.operands])
            self._set(op, found)
        elif name in _SHAPES:
            self._set(op, _SHAPES[name](op, self._get_constant))
        elif name in _PASSED_ON:
            self._values[op.results[0]] = self._values[op.operands[0]]
        elif name.startswith("linalg.") or name in _ATTENTION:
            self._structured(op)
        else:
            raise UnsupportedError(name)

    def _structured(self, op: ir.Operation) -> None:
        operands = [self._get(operand) for operand in op.operands]
        evaluate = structured.evaluate_attention if op.name in _ATTENTION else structured.evaluate
        found = evaluate(op, operands, self._body, self._spend)
        if len(op.results):
            for result, value in zip(op.results, found, strict=True):
                self._values[result] = _in_type(value, result.type)
            return
        for target, value in zip(list(op.operands)[len(operands) - len(found) :], found, strict=True):
            self._values[target][...] = to_memory(value, ElementType.of(target.type))

    def _body(self, block: ir.Block, arguments: Sequence[Value], loops: Loops) -> list[Value]:
        if block not in self._bodies:
            self._bodies[block] = self._read(block)
        body = self._bodies[block]
        outer, self._loops = self._loops, loops
        self._values.update(zip(body.arguments, arguments, strict=True))
        for step in body.steps:
            step()
        self._loops = outer
        return [self._get(each) for each in body.results]

    def _read(self, block: ir.Block) -> _Body:
        """A body's ops, whose IR is read once for all steps of a reduction."""
        steps: list[Callable[[], None]] = []
        for each in block.operations:
            op = each.operation
            if op.name in _TERMINATORS:
                return _Body(list(block.arguments), steps, list(op.operands))
            known = scalars.knows(op.name) and op.name not in self._HANDLERS
            steps.append(self._scalar(op) if known else partial(self._evaluate, op))
        raise UnsupportedError("a body without a terminator")

    def _scalar(self, op: ir.Operation) -> Callable[[], None]:
        scalar, operands, result = scalars.read(op), list(op.operands), op.results[0]

        def step() -> None:
            self._values[result] = scalars.evaluate(scalar, [self._values[each] for each in operands])

        return step

    def _spend(self, work: int) -> None:
        self._spent += work
        if self._spent > WORK_LIMIT:
            raise UnsupportedError(f"more than 2^{WORK_LIMIT.bit_length() - 1} evaluations")

    def _get(self, value: ir.Value) -> Value:
        """A value as the interpreter computes with it; what is in memory is converted."""
        found = self._values[value]
        if isinstance(value.type, ir.MemRefType):
            return from_memory(found, ElementType.of(value.type))
        return found

    def _get_constant(self, value: ir.Value) -> Value:
        """A value, also of a constant in a region that is not run, like the value of a padding."""
        if value not in self._values and not isinstance(value.owner, ir.Block):
            self._evaluate(value.owner.operation)
        return self._get(value)

    def _set(self, op: ir.Operation, value: Value) -> None:
        self._values[op.results[0]] = value

    def _fold(self, op: ir.Operation) -> None:
        for result in op.results:
            found = fold(result, self._constants)
            if found is None:
                raise UnsupportedError(f"{op.name} with an unknown value")
            self._values[result] = np.asarray(found)

    def _subspan(self, op: ir.Operation) -> None:
        view = op.opview
        assert isinstance(view, hal.InterfaceBindingSubspanOp)
        binding = self._bindings[ir.IntegerAttr(op.attributes["binding"]).value]
        offset = 0 if view.byte_offset is None else int(self._get(view.byte_offset))
        shaped = _tensor_type(op)
        dynamic = iter(view.dynamic_dims)
        shape = [
            int(self._get(next(dynamic))) if shaped.is_dynamic_dim(i) else shaped.shape[i]
            for i in range(shaped.rank)
        ]
        element = ElementType.of(shaped)
        dtype = element.dtype
        if dtype is None or element.per_byte > 1:
            raise UnsupportedError(f"a tensor of {element}")
        start = binding.offset + offset
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if start + size > len(self._memory):
            raise UnsupportedError("a tensor that reaches beyond its buffer")
        self._set(op, self._memory[start : start + size].view(dtype).reshape(shape))

    def _load(self, op: ir.Operation) -> None:
        kind = op.results[0].type
        part = self._values[op.operands[0]][(*structured.slices(op, self._get), ...)]
        found = from_memory(part, ElementType.of(kind))
        sizes = ir.DenseI64ArrayAttr(op.attributes["static_sizes"])  # dimensions that go are of one here
        dynamic = (size for size, static in zip(part.shape, sizes, strict=True) if static < 0)
        self._set(op, found.reshape([next(dynamic) if s < 0 else s for s in ir.ShapedType(kind).shape]))

    def _store(self, op: ir.Operation) -> None:
        source, target = op.operands[0], op.operands[1]
        place = self._values[target][(*structured.slices(op, self._get), ...)]  # a view, of one element too
        value = to_memory(self._get(source), ElementType.of(source.type))
        place[...] = value.reshape(place.shape)

    def _store_whole(self, op: ir.Operation) -> None:
        source, target = op.operands[0], op.operands[1]
        self._values[target][...] = to_memory(self._get(source), ElementType.of(source.type))

    def _subview(self, op: ir.Operation) -> None:
        part = self._values[op.operands[0]][(*structured.slices(op, self._get), ...)]
        shape = list(ir.MemRefType(op.results[0].type).shape)
        self._set(op, part if list(part.shape) == shape else _without_ones(part, shape))

    def _empty(self, op: ir.Operation) -> None:
        kind = ir.RankedTensorType(op.results[0].type)
        sizes = iter(op.operands)
        shape = [
            int(self._get(next(sizes))) if kind.is_dynamic_dim(i) else kind.shape[i] for i in range(kind.rank)
        ]
        holds_floats = ElementType.of(kind).is_float
        # Unwritten elements must not look like a result.
        self._set(op, np.full(shape, np.nan) if holds_floats else np.full(shape, 0x55, np.int64))

    def _fill(self, op: ir.Operation) -> None:
        value, target = self._get(op.operands[0]), op.operands[1]
        if len(op.results):
            self._set(op, np.broadcast_to(value, self._get(target).shape))
        else:
            self._values[target][...] = to_memory(value, ElementType.of(target.type))

    def _index(self, op: ir.Operation) -> None:
        if self._loops is None:
            raise UnsupportedError(op.name)
        self._set(op, self._loops.index(ir.IntegerAttr(op.attributes["dim"]).value))

    def _extract(self, op: ir.Operation) -> None:
        source, *place = (self._get(operand) for operand in op.operands)
        for indices, size in zip(place, source.shape, strict=True):
            if np.any((indices < 0) | (indices >= size)):  # undefined: no processor's result is right
                raise UnsupportedError("an index is out of its table: generated inputs may be invalid")
        self._set(op, source[tuple(place)])

    def _splat(self, op: ir.Operation) -> None:
        self._set(op, np.broadcast_to(self._get(op.operands[0]), ir.ShapedType(op.results[0].type).shape))

    def _dim(self, op: ir.Operation) -> None:
        self._set(op, np.asarray(self._get(op.operands[0]).shape[int(self._get(op.operands[1]))]))

    _HANDLERS: ClassVar[dict[str, Callable[[Interpreter, ir.Operation], None]]] = {
        "hal.interface.binding.subspan": _subspan,
        "hal.interface.constant.load": _fold,
        "util.assume.int": _fold,
        "iree_tensor_ext.dispatch.tensor.load": _load,
        "iree_tensor_ext.dispatch.tensor.store": _store,
        "iree_codegen.load_from_buffer": lambda self, op: self._set(op, self._get(op.operands[0])),
        "iree_codegen.store_to_buffer": _store_whole,
        "memref.subview": _subview,
        "tensor.empty": _empty,
        "tensor.splat": _splat,
        "tensor.extract": _extract,
        "tensor.dim": _dim,
        "linalg.fill": _fill,
        "linalg.index": _index,
        "iree_linalg_ext.index": _index,
    }


def _tensor_type(subspan: ir.Operation) -> ir.RankedTensorType | ir.MemRefType:
    _, parsed = held(subspan)
    if isinstance(parsed, ir.MemRefType):
        strides, _ = parsed.get_strides_and_offset()
        known = list(parsed.shape)
        if strides != [int(np.prod(known[i + 1 :], dtype=np.int64)) for i in range(len(known))]:
            raise UnsupportedError(f"memory laid out as {parsed}")
        return parsed
    if not isinstance(parsed, ir.RankedTensorType) or parsed.encoding is not None:
        raise UnsupportedError(f"a binding of type {parsed}")
    return parsed


def _in_type(value: Value, kind: ir.Type) -> Value:
    """Floats in tensors of a narrow type overflow as they would there; digits are kept."""
    if not ElementType.of(kind).is_float:
        return value
    narrow = rounded(value, ElementType.of(kind))
    return np.where(np.isinf(narrow), narrow, value)


def _without_ones(part: Value, shape: Sequence[int]) -> Value:
    keep = list(shape)
    index: list[int | slice] = []
    for size in part.shape:
        if keep and size == keep[0]:
            index.append(slice(None))
            keep.pop(0)
        else:
            index.append(0)
    return part[tuple(index)]


_SHAPES: dict[str, Callable[[ir.Operation, structured.Get], Value]] = {
    "tensor.extract_slice": structured.extract_slice,
    "tensor.insert_slice": structured.insert_slice,
    "tensor.expand_shape": structured.reshape,
    "tensor.collapse_shape": structured.reshape,
    "tensor.pad": structured.pad,
    "linalg.pack": structured.pack,
    "linalg.unpack": structured.unpack,
}


def reference_outputs(
    harness: Harness, buffer: npt.NDArray[np.uint8]
) -> list[npt.NDArray[np.generic]] | Unsupported:
    """The dispatch's results, in the order of `device.data.written`; or why they are unknown.

    `buffer` is the harness's buffer before the run; it is not changed.
    """
    context = new_context()
    with context, ir.Location.unknown():
        # IR as text: harnesses are stored as bytecode
        module = ir.Module.parse(harness.module, context)
        memory = buffer.copy()
        try:
            function, constants = _dispatch(module)
            Interpreter(memory, harness.bindings, constants).run(function)
        except UnsupportedError as error:
            return Unsupported(str(error))
    return [values_in(memory, binding, tensor) for binding, tensor, _ in written(harness.bindings)]


def _dispatch(module: ir.Module) -> tuple[ir.Operation, list[int]]:
    """The function of the one dispatch that a harness runs, and its constants."""
    dispatch = find_dispatch(module.operation)
    constants = [fold(value, []) for value in dispatch.constants]
    if None in constants:
        raise UnsupportedError("a constant of unknown value")
    function = find_function(module, dispatched_export(dispatch))
    return function, [each for each in constants if each is not None]


Array = npt.NDArray[np.generic]


def write_ahead(harness: Harness, prefix: str, seeds: Sequence[int]) -> None:
    """Write the reference's results for some seeds to `PREFIX.SEED`. Runs in a compile worker."""
    found: list[Array] | Unsupported = []
    for seed in seeds:
        if not isinstance(found, Unsupported):  # what it does not interpret depends on no values
            found = reference_outputs(
                harness, Image(harness.bindings, harness.stride, seed).read(0, harness.stride)
            )
        path = _path(prefix, seed)
        part = path.with_name(f"{path.name}.part")
        with part.open("wb") as file:
            if isinstance(found, Unsupported):
                np.save(file, np.array(found.reason))
            else:
                for each in found:  # as bytes: NumPy does not write all types
                    np.save(file, np.ascontiguousarray(each).reshape(-1).view(np.uint8))
        part.replace(path)


def read_ahead(harness: Harness, prefix: str, seed: int) -> list[Array] | Unsupported | None:
    """The results for a seed, in the order of `device.data.written`; None if they are not there yet."""
    path = _path(prefix, seed)
    if not prefix or not path.exists():
        return None
    found: list[Array] = []
    with path.open("rb") as file:
        for _, tensor, _ in written(harness.bindings):
            raw = np.load(file)
            if raw.dtype.kind == "U":
                return Unsupported(str(raw))
            found.append(raw.view(dtype_of(tensor.element_type)).reshape(stored_shape(tensor)))
    return found


def _path(prefix: str, seed: int) -> Path:
    return Path(f"{prefix}.{seed}")
