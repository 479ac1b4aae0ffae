"""Recognize the elementwise ops after the sums of a contraction, as named steps that a kernel can compute.

A step may be one op, one of several ops in the body of a `linalg.generic`, or many generics. For example,
JAX's gelu has nine generics, some of which use results of several others. Ops are followed forward from the
sums, as expressions of the last step's value (`expression`). A step ends where the expression is a known one
and the values before it have no other uses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import prod

from iree.compiler import ir

from iree_tuner.compiler import linalg
from iree_tuner.kernels.expression import (
    Atom,
    Monomial,
    Polynomial,
    X,
    add,
    atom,
    constant_of,
    evaluate,
    gelu_of_x,
    logistic_of_x,
    multiply,
    scale,
    varies,
)
from iree_tuner.ops.dag import captured
from iree_tuner.ops.element_type import ElementType

_MOST_OPS = 48  # erf alone may be 32
_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")
_EPSILONS = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}
_FUNCTIONS: tuple[Atom, ...] = tuple(
    (name, atom(X)) for name in ("relu", "relu_ordered", "at_most_6", "truncf")
)
_RESHAPED = ("bias", "residual")
"""Steps whose operands are read alike after reshapes that keep the last dimension."""
_SLICE, _IMAGES, _GROUPS = "tensor.extract_slice", "image_bias", "group_bias"


@dataclass(frozen=True)
class RowGroups:
    """Where the operand of a step `group_...` is read, which has a row of columns for each group of rows.

    Attributes:
        count: the number of groups, of equal sizes.
        first: the place of the first element in the operand, in elements.
        step: elements from one group's row to the next one's.
    """

    count: int
    first: int
    step: int


@dataclass(frozen=True)
class EpilogueSteps:
    """Steps that end together: their names, see `Problem.epilogue`, and operands, in order.

    The last one of `ops`, producers first, computes the result. `scale` is the factor of the step `scale`,
    `groups` are of `Problem`.
    """

    names: tuple[str, ...]
    inputs: tuple[ir.Value, ...]
    ops: tuple[ir.Operation, ...]
    scale: float = 1.0
    groups: tuple[RowGroups, ...] = ()


def next_steps(
    value: ir.Value, factor: ir.Type | None = None, sums: ir.Value | None = None
) -> EpilogueSteps | None:
    """The next steps after a value; None if its uses are no epilogue.

    Args:
        value: the sums, or the result of the steps before.
        factor: element type of the sums' factors. Operands that are widened from it are taken unwidened.
        sums: the sums, if steps may come after reshapes that keep the last dimension; otherwise None.
    """
    reshapes = [] if sums is None else _reshapes(value)
    value = reshapes[-1].result if reshapes else value
    reshaped = sums is not None and not _is_like(value, sums)
    matrix = sums is not None and ir.RankedTensorType(sums.type).rank == 2
    walk = _Epilogue(value, factor, reshaped, list(reshapes), matrix)
    for _ in range(_MOST_OPS):
        user = next_user(value, walk.known, walk.ops)
        if user is None or not walk.absorb(user):
            return None
        if walk.ended(user):
            return EpilogueSteps(
                tuple(walk.names), tuple(walk.inputs), tuple(walk.ops), walk.scale, tuple(walk.groups)
            )
    return None


@dataclass
class _Epilogue:
    """A walk from the sums forward, with the ops that were followed so far.

    Attributes:
        value: where the walk begins.
        factor: element type of the sums' factors.
        reshaped: whether dimensions before the last one differ from the dimensions of the sums.
        matrix: whether the sums are a matrix.
        known: tensors, as expressions of the last step's value.
        extras: by atom, operands that are not computed from the sums, and the step that adds each.
        names, inputs, ops, scale, groups: see `EpilogueSteps`.
    """

    value: ir.Value
    factor: ir.Type | None
    reshaped: bool
    ops: list[ir.Operation]
    matrix: bool = False
    known: dict[ir.Value, Polynomial] = field(init=False)
    extras: dict[Atom, tuple[ir.Value, str]] = field(default_factory=dict[Atom, tuple[ir.Value, str]])
    names: list[str] = field(default_factory=list[str])
    inputs: list[ir.Value] = field(default_factory=list[ir.Value])
    scale: float = 1.0
    groups: list[RowGroups] = field(default_factory=list[RowGroups])

    def __post_init__(self) -> None:
        self.known = {self.value: atom(X)}

    def absorb(self, user: ir.Operation) -> bool:
        """Follow one op if it is supported; returns whether it was followed."""
        if len(user.results) != 1 or not list(user.result.uses) or not _is_like(user.result, self.value):
            return False
        if user.name == "linalg.generic":
            found = self._generic(user)
        else:
            operands = _all([self._operand(each) for each in user.operands])
            found = None if operands is None else self._stepped(user, operands, self._only_for(user))
        if found is None:
            return False
        self.ops.append(user)
        self.known[user.result] = found
        return True

    def ended(self, user: ir.Operation) -> bool:
        """Whether an op's result is the value of a step, and no value before it has other uses."""
        complete = {value for value, _ in self.extras.values()} == set(self.inputs)  # no operand cancels out
        return bool(self.names) and complete and self.known[user.result] == atom(X) and self._only_for(user)

    def _generic(self, user: ir.Operation) -> Polynomial | None:
        generic = user.opview
        assert isinstance(generic, linalg.GenericOp)
        empty = producer(user.operands[len(user.operands) - 1])
        maps = [ir.AffineMapAttr(each).value for each in generic.indexing_maps]
        rank = ir.RankedTensorType(user.result.type).rank
        identity = ir.AffineMap.get_identity(rank)
        if empty is None or empty.name != "tensor.empty" or maps[-1] != identity:
            return None
        scalars: dict[ir.Value, Polynomial] = {}
        block = user.regions[0].blocks[0]
        for value, argument, place in zip(list(user.operands)[:-1], block.arguments, maps, strict=False):
            found = self._operand(value) if place == identity else None
            if not place.results:
                found = self._number(value)
            if (kind := _along(place)) and value not in self.known:
                found = self._extra(value, kind)
            if found is None:
                return None
            scalars[argument] = found
        constants = [each for each in map(producer, captured(user)) if each is not None]
        self._first([*constants, empty])
        return self._body(user, block, scalars)

    def _body(
        self, user: ir.Operation, block: ir.Block, scalars: dict[ir.Value, Polynomial]
    ) -> Polynomial | None:
        """The expression that a body yields, from its arguments' expressions; records the body's steps."""
        seen: list[ir.Operation] = []
        for view in block.operations:
            op = view.operation
            operands = _all([scalars.get(each) or _constant(each) for each in op.operands])
            if operands is None or op.name == "linalg.yield":
                return operands[0] if operands else None
            seen.append(op)
            varying = [value for value, known in scalars.items() if varies(known)]
            inside = [use.owner.operation for value in varying for use in value.uses]
            before = len(self.names)
            found = self._stepped(op, operands, all(each in seen for each in inside) and self._only_for(user))
            if found is None:
                return None
            if len(self.names) > before:
                scalars = {value: known for value, known in scalars.items() if value not in varying}
            scalars[op.results[0]] = found
        return None

    def _stepped(self, op: ir.Operation, operands: list[Polynomial], alone: bool) -> Polynomial | None:
        """An op's expression. If it is a step and `alone`, records the step and returns a new `X`."""
        found = evaluate(op, operands) if len(op.results) == 1 else None
        if found is None or not alone:
            return found
        name, extra = self._step(found, str(ElementType.of(op.results[0].type)))
        if not name:
            return found
        self.names.append(name)
        self.inputs += [] if extra is None else [extra]
        self.known.clear()
        return atom(X)

    def _step(self, found: Polynomial, element: str) -> tuple[str, ir.Value | None]:
        """The step that an expression computes, with the step's operand; an empty name if there is none."""
        factors = [product[0] for product, times in found.terms if (len(product), times) == (1, 1)]
        if len(factors) == len(found.terms) == 2 and X in factors:
            for each in factors:
                if each in self.extras:
                    return self.extras[each][1], self.extras[each][0]
        if len(factors) == len(found.terms) == 1 and factors[0] in _FUNCTIONS:
            return factors[0][0], None
        if len(found.terms) == 1 and (multiplied := self._multiplied(*found.terms[0]))[0]:
            return multiplied
        if (other := self._repeated_step(found))[0]:
            return other
        epsilon = _EPSILONS.get(element, 0.0)
        return logistic_of_x(found, epsilon) or gelu_of_x(found, epsilon), None

    def _multiplied(self, product: Monomial, times: float) -> tuple[str, ir.Value | None]:
        """The step that a product computes, with the step's operand; an empty name if there is none."""
        if product == (X,) and times != -1.0:  # negated, it may become a sigmoid
            self.scale = times
            return "scale", None
        for value, kind in (self.extras[each] for each in product if each in self.extras):
            if len(product) == 2 and X in product and times == 1 and kind == "residual":
                return "factor", value
        return "", None

    def _repeated_step(self, found: Polynomial) -> tuple[str, ir.Value | None]:
        """A step that multiplies by a repeated operand or subtracts it; an empty name if there is none."""
        for extra, (value, kind) in self.extras.items():
            repeated = kind.endswith("bias")
            if repeated and found == multiply(atom(X), atom(extra)):
                return kind.replace("bias", "gain"), value
            if repeated and found == add(atom(X), scale(atom(extra), -1.0)):
                return kind.replace("bias", "minus"), value
        return "", None

    def _only_for(self, user: ir.Operation) -> bool:
        """Whether all known values except an op's result are used only by followed ops and that op."""
        others = [value for value in self.known if value.owner != user]
        users = [use.owner.operation for value in others for use in value.uses]
        return all(each == user or each in self.ops for each in users)

    def _operand(self, value: ir.Value) -> Polynomial | None:
        """The expression of a tensor that is read in place; None if its shape differs."""
        if value in self.known:
            return self.known[value]
        if not _is_like(value, self.value):
            return None
        repeated, kind = _repeated(value)
        if not repeated:
            return self._extra(value, "residual")
        extra = self._extra(repeated[-1].operands[0], kind)
        self._first(repeated)
        return extra

    def _number(self, value: ir.Value) -> Polynomial | None:
        """The expression of a constant that is the same for all elements; None for other values."""
        op, found = producer(value), _constant(value)
        if op is not None and found is not None:
            self._first([op])
        return found

    def _extra(self, value: ir.Value, kind: str) -> Polynomial | None:
        if self.reshaped and self.matrix and kind == _IMAGES:
            return self._grouped(value)
        if self.reshaped and kind not in _RESHAPED:
            return None
        if widening := _widening(value, self.factor):
            self._first(widening)
            value = widening[-1].operands[0]
        for known, (other, _) in self.extras.items():
            if other == value:
                return atom(known)
        return self._fresh(value, kind)

    def _fresh(self, value: ir.Value, kind: str) -> Polynomial:
        fresh: Atom = (f"extra {len(self.extras)}", None)
        self.extras[fresh] = value, kind
        return atom(fresh)

    def _grouped(self, value: ir.Value) -> Polynomial | None:
        """The expression of an operand with a row for each of the first dimension's parts; one in a walk."""
        shape = ir.RankedTensorType(value.type).shape
        whole, ops, groups = _rows_in(value, RowGroups(shape[0], 0, shape[-1]), shape[-1])
        if self.groups or whole in [other for other, _ in self.extras.values()]:
            return None
        self._first(ops)
        self.groups.append(groups)
        return self._fresh(whole, _GROUPS)

    def _first(self, ops: list[ir.Operation]) -> None:
        self.ops += [each for each in ops if each not in self.ops]


def next_user(
    start: ir.Value, known: Iterable[ir.Value], followed: Collection[ir.Operation]
) -> ir.Operation | None:
    """The first op that uses a known value; None if there is no such op, or one is in another block."""
    users = [use.owner.operation for value in known for use in value.uses]
    source = start.owner  # a scan has two results
    if isinstance(source, ir.Block) or any(user.block != source.operation.block for user in users):
        return None
    first: ir.Operation | None = None
    for user in users:
        if user not in followed and (first is None or user.is_before_in_block(first)):
            first = user
    return first


def _rows_in(
    value: ir.Value, rows: RowGroups, columns: int
) -> tuple[ir.Value, list[ir.Operation], RowGroups]:  # fmt: skip
    """The array that rows are a part of, the ops from there to `value`, and where they are in it."""
    ops: list[ir.Operation] = []
    while (op := producer(value)) is not None:
        if op.name == _SLICE and (found := _rows_of_slice(op, rows, columns)) is not None:
            rows = found
        elif op.name not in _RESHAPES:
            break
        value, ops = op.operands[0], [op, *ops]
    kept = max((at + 1 for at, op in enumerate(ops) if op.name == _SLICE), default=0)
    return (ops[0].operands[0], ops, rows) if kept else (ops[-1].result if ops else value, [], rows)


def _rows_of_slice(op: ir.Operation, rows: RowGroups, columns: int) -> RowGroups | None:
    """Where rows of a slice are in the whole; None if the slice is not along one dimension, or cuts rows."""
    names = (f"static_{each}" for each in ("offsets", "sizes", "strides"))
    begins, found, strides = (list(ir.DenseI64ArrayAttr(op.attributes[each])) for each in names)
    if len(op.operands) > 1 or set(strides) != {1}:
        return None
    shape = ir.RankedTensorType(op.operands[0].type).shape
    cut = [at for at, size in enumerate(shape) if found[at] != size]
    if len(cut) != 1:
        return None if cut else rows
    inner = prod(shape[cut[0] + 1 :])
    own, whole, before = found[cut[0]] * inner, shape[cut[0]] * inner, begins[cut[0]] * inner
    end = rows.first % own + columns
    if rows.step % own == 0 and end <= own:
        step = rows.step // own * whole
    elif end + (rows.count - 1) * rows.step <= own:
        step = rows.step
    else:
        return None
    return RowGroups(rows.count, rows.first // own * whole + before + rows.first % own, step)


def _reshapes(value: ir.Value) -> list[ir.Operation]:
    """The reshapes that are the only uses of a value, up to the last one that keeps the last dimension."""
    found, ops, last = list[ir.Operation](), list[ir.Operation](), ir.RankedTensorType(value.type).shape[-1:]
    while len(uses := list(value.uses)) == 1 and uses[0].owner.operation.name in _RESHAPES:
        ops.append(uses[0].owner.operation)
        value = ops[-1].result
        if ir.RankedTensorType(value.type).shape[-1:] == last:
            found = list(ops)
    return found


def producer(value: ir.Value) -> ir.Operation | None:
    """The op that computes a value and nothing else; None for arguments, and results of ops with several.

    Nothing that a kernel computes has several results: what such an op gives is an array that is read.
    """
    owner = value.owner
    return None if isinstance(owner, ir.Block) or len(owner.results) != 1 else owner.operation


def _along(place: ir.AffineMap) -> str:
    """The step that adds an operand with this map, which has one or two dimensions; otherwise empty."""
    loops = [each.position for each in place.results if isinstance(each, ir.AffineDimExpr)]
    others = [each for each in place.results if not isinstance(each, ir.AffineDimExpr)]
    if any(not isinstance(each, ir.AffineConstantExpr) for each in others):
        return ""  # the index into a dimension of size 1 is the constant 0
    if place == ir.AffineMap.get_identity(place.n_dims):
        return ""
    last = place.n_dims - 1
    kinds: dict[tuple[int, ...], str] = {
        (0, 1): "image_channel_bias",
        (0, last): "image_bias",
        (1,): "channel_bias",
        (last,): "bias",
    }
    return kinds.get(tuple(loops), "")


def start_of_bias(root: ir.Operation) -> tuple[list[ir.Operation], tuple[str, ...], list[ir.Value]]:
    """The bias that a root op's sums start from: ops that repeat it, the step, the bias; or nothing."""
    ops, kind = _repeated(root.operands[len(root.operands) - 1])
    return (ops, (kind,), [ops[-1].operands[0]]) if ops else ([], (), [])


def _repeated(value: ir.Value) -> tuple[list[ir.Operation], str]:
    """The ops that repeat a smaller tensor as `value`, and the step that adds it; empty for other values."""
    if (found := unary_of(value)) is not None:
        kind = _along(found.read) if found.copies else ""
        return (found.ops, kind) if kind else ([], "")
    op = producer(value)
    empty = producer(op.operands[1]) if op is not None and op.name == "linalg.broadcast" else None
    if op is None or empty is None or empty.name != "tensor.empty":
        return [], ""
    rank = ir.RankedTensorType(value.type).rank
    added = list(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
    kind = _along(linalg.access(rank, [each for each in range(rank) if each not in added]))
    return ([empty, op], kind) if kind else ([], "")


@dataclass(frozen=True)
class Unary:
    """A `linalg.generic` of one operand, with a result in the order of its loops.

    Attributes:
        ops: the empty tensor that it is written to, and the op.
        operand, read: the operand and its map.
        body: names of the scalar ops, without the last one, which yields.
        copies: whether the operand's elements are the result's.
    """

    ops: list[ir.Operation]
    operand: ir.Value
    read: ir.AffineMap
    body: list[str]
    copies: bool

    @property
    def in_order(self) -> bool:
        """Whether the operand is read in the order of the loops, too."""
        return self.read == ir.AffineMap.get_identity(self.read.n_dims)


def unary_of(value: ir.Value) -> Unary | None:
    """The generic of one operand that computes a value; None for other values."""
    op = producer(value)
    generic = None if op is None else op.opview
    if op is None or not isinstance(generic, linalg.GenericOp) or len(op.operands) != 2:
        return None
    read, written = (ir.AffineMapAttr(each).value for each in generic.indexing_maps)
    block, empty = op.regions[0].blocks[0], producer(op.operands[1])
    (*body, last) = (each.operation for each in block.operations)
    if empty is None or empty.name != "tensor.empty" or written != ir.AffineMap.get_identity(written.n_dims):
        return None
    copies = not body and last.operands[0] == block.arguments[0]
    return Unary([empty, op], op.operands[0], read, [each.name for each in body], copies)


def _widening(value: ir.Value, factor: ir.Type | None) -> list[ir.Operation]:
    """The ops that widen a tensor from the element type `factor`; empty for other values."""
    found = unary_of(value)
    if found is None or not found.in_order or found.body != ["arith.extf"]:
        return []
    return found.ops if ir.RankedTensorType(found.operand.type).element_type == factor else []


def _constant(value: ir.Value) -> Polynomial | None:
    op = producer(value)
    return None if op is None else constant_of(op)


def _is_like(value: ir.Value, other: ir.Value) -> bool:
    kinds = value.type, other.type
    if not all(isinstance(kind, ir.RankedTensorType) and kind.has_static_shape for kind in kinds):
        return False
    one, two = map(ir.RankedTensorType, kinds)
    return one.shape == two.shape


def _all(values: list[Polynomial | None]) -> list[Polynomial] | None:
    found = [each for each in values if each is not None]
    return found if len(found) == len(values) else None
