"""Attention as exporters write it: a product of queries and keys, a softmax, and a product with values.

Between these ops are casts, reshapes, transposes, factors, heads of keys and values that several queries
share, and a mask of later keys. The search passes them by naming dimensions (`moved.Atoms`). The attention
that is found reads and writes the program's own arrays, so a kernel works in place and no transpose is left.

Causal masks let each query see the keys up to its own position (`positions`). A summand of scores may be
computed from several arrays (`scores`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.kernel import LaterKeys, View
from iree_tuner.kernels.moved import RESHAPES, Atoms, Names
from iree_tuner.kernels.moves import JOINS, has_gaps, piece_of, pieces_along
from iree_tuner.kernels.nest import Nest
from iree_tuner.kernels.positions import Sum, said_by
from iree_tuner.kernels.scores import CAPS, Added, added_to
from iree_tuner.kernels.shapes import (
    body_of,
    choice_of,
    dimensions,
    factor_of,
    reducer,
    softmaxed,
    starts_with,
    uniform,
)
from iree_tuner.ops.attention import ROLES, Attention
from iree_tuner.ops.contraction import Contraction
from iree_tuner.ops.dag import captured
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.structure import indexing_maps, loop_sizes, structure, workload_of
from iree_tuner.ops.workload import Iterator, Workload

_M, _N, _K1, _K2, _BATCH = range(5)
_WHOLE = {_N, _K1, _K2}  # a kernel has one loop for each, and reads an array in which it is one dimension
_NAMED = {"m": _M, "n": _N, "k1": _K1, "k2": _K2}
_ROLES = ({_M, _K1}, {_K2, _K1}, {_K2, _N}, {_M, _K2}, {_M, _N})
"""Dimensions of queries, keys, values, a bias and the result, without batch dimensions."""
_BIAS = _SCALE = 3  # a bias among the arrays; the scale among the op's operands

ATTENTION_OP, _OPERANDS = "iree_linalg_ext.attention", (5, 6)  # with a mask
_MOST_OPS = 64
_PARALLEL: Iterator = "parallel"


@dataclass(frozen=True)
class Found:
    """An attention in a program.

    Attributes:
        inputs: the arrays that are read: queries, keys, values, and a bias or a mask if there is one.
        ops: the ops from the inputs to the result, producers first.
        workload: with an indexing map for each of queries, keys, values and the result.
        scale: the factor of the scores.
        shapes: for each operand and the result, the sizes into which each dimension is split; empty for an op
            of the compiler's dialect.
        after, before: how many keys after and before its own position a query sees; None if it sees all.
        cap: what scores are softly kept within (`Problem.cap`), if they are.
        views: where the operands are read, if these are not the inputs one by one (`Problem.views`).
        later: the last keys, if these are read elsewhere.
        added: what is added to scores, of arrays behind those of the operands; `summand` is it as a nest
            (`Problem.added`), and `seen` has the loops of the scores' dimensions.
    """

    inputs: tuple[ir.Value, ...]
    ops: tuple[ir.Operation, ...]
    workload: Workload
    scale: float
    shapes: tuple[Names, ...]
    after: int | None = None
    before: int | None = None
    cap: float | None = None
    views: tuple[View, ...] = ()
    later: LaterKeys | None = None
    added: Added | None = None
    summand: Nest | None = None
    seen: Names = ()

    @property
    def masks(self) -> bool:
        """Whether positions decide which keys a query sees."""
        return self.after is not None or self.before is not None


def find_attention(root: ir.Operation) -> Found | None:
    """The attention that ends in the product `root`, of weights and values; None if there is none."""
    roles = _roles(root)
    if roles is None:
        return None
    return _with_weights(root, roles, 0) or _with_weights(root, roles, 1)


def _with_weights(root: ir.Operation, roles: Mapping[str, tuple[int, ...]], at: int) -> Found | None:
    """The attention if operand `at` of its last product is the softmax. Values may be on either side."""
    rows, columns = ("n", "m") if at else ("m", "n")
    parts = (*roles[rows], *roles[columns], *roles["k"], *roles["batch"])
    names = dict(zip(parts, (_M, _N, _K2, *range(_BATCH, _BATCH + len(roles["batch"]))), strict=True))
    sizes = loop_sizes(root) or ()
    atoms = Atoms({_K1: 0, **{name: sizes[loop] or 0 for loop, name in names.items()}})
    walk = _Attention(atoms, tuple(name for name in names.values() if name >= _BATCH))
    *sides, out = (atoms.named(each, names) for each in indexing_maps(root))
    scores = walk.softmax(root.operands[at], sides[at])
    product = None if scores is None else walk.scores(*scores)
    if product is None:
        return None
    left, right = walk.queries_and_keys(*product)
    if left is None or right is None:
        return None
    values = walk.followed(root.operands[1 - at], sides[1 - at])
    return walk.ended([left, right, values, *filter(None, (walk.bias,))], (root, out))


def attention_of(op: ir.Operation) -> Found | None:
    """The attention of an op of the compiler's dialect; None if its region changes the scores."""
    if op.name != ATTENTION_OP or len(op.operands) not in _OPERANDS:
        return None
    query, key, value, scale, *mask, out = op.operands
    inputs = (query, key, value, *mask)
    factor, start, (inner, *others) = producer(scale), producer(out), op.regions[0].blocks[0].operations
    times = uniform(scale)
    if others or inner.operands[0] != op.regions[0].blocks[0].arguments[0] or len(set(inputs)) < len(inputs):
        return None
    if factor is None or times is None or start is None or start.name != "tensor.empty":
        return None
    queries, keys, values, *_, written = indexing_maps(op)
    detail = iree_codegen.get_attention_op_detail(queries, keys, values, written)
    roles = {role: tuple(getattr(detail, f"{role}_dims")) for role in ROLES}
    found = structure(op)
    workload = None if found is None else workload_of(Attention.name, Attention.name, found, [*roles.items()])
    if workload is None:
        return None
    plain = not workload.dynamic and all(each.is_permutation for each in workload.maps)
    moved = _with_moves(op, roles, times) if plain else None
    return moved or Found(inputs, (factor, start, op), workload, times, ())


def _with_moves(op: ir.Operation, roles: Mapping[str, tuple[int, ...]], scale: float) -> Found | None:
    """The attention of the compiler's op with the moves around it; None if there are none."""
    if any(len(roles[role]) != 1 for role in _NAMED):
        return None
    batch, sizes = roles["batch"], loop_sizes(op) or ()
    names = {roles[role][0]: name for role, name in _NAMED.items()}
    names |= dict(zip(batch, range(_BATCH, _BATCH + len(batch)), strict=True))
    atoms = Atoms({name: sizes[loop] or 0 for loop, name in names.items()})
    walk = _Attention(atoms, tuple(names[loop] for loop in batch), scale)
    *sides, out = (atoms.named(each, names) for each in indexing_maps(op))
    given = [each for each in zip(op.operands, sides, strict=False) if each[0] != op.operands[_SCALE]]
    if len(given) > _BIAS and walk.hidden_by(*given[_BIAS]):
        del given[_BIAS:]
    read = [walk.followed(*each) for each in given]
    found = walk.ended(read, (op, out))
    unmoved = found is None or (
        found.ops[-1] == op and [*found.inputs] == [value for value, _ in given] and not found.later
    )
    return None if unmoved else found


def _roles(op: ir.Operation) -> dict[str, tuple[int, ...]] | None:
    """Loops of a product that starts from zeros, by role; None unless `m`, `n` and `k` have one loop each."""
    workload = Contraction().describe(op)
    if workload is None or workload.dynamic or not starts_with(op, 0.0):
        return None
    found = {role: workload.role(role) for role in ("batch", "m", "n", "k")}
    return found if all(len(found[role]) == 1 for role in ("m", "n", "k")) else None


@dataclass(frozen=True)
class _Read:
    """An operand: a part of an array, or all of it, whose dimensions have these names.

    Attributes:
        value: the array.
        first, sizes: the part.
        ops: from the array to the operand, if it is a part.
    """

    value: ir.Value
    names: Names
    first: tuple[int, ...]
    sizes: tuple[int, ...]
    ops: tuple[ir.Operation, ...] = ()


_Joined = tuple[_Read, _Read]
"""Earlier and later keys or values, which the program joins."""


@dataclass
class _Attention:
    """A search from the last product back to the inputs, with the names of dimensions so far.

    Attributes:
        batch: the atoms of the batch's loops.
        scale, after, before, cap: see `Found`.
        rows: the atom that `after` and `before` refer to, if the dimension of queries is split.
        bias: a value that is added to the scores, or a mask of them, with its names.
        added: the same if it is computed from several arrays, with the names of the scores.
    """

    atoms: Atoms
    batch: tuple[int, ...]
    scale: float = 1.0
    after: int | None = None
    before: int | None = None
    cap: float | None = None
    rows: int = _M
    bias: tuple[ir.Value, Names] | None = None
    added: tuple[Added, Names] | None = None

    def followed(
        self, value: ir.Value, names: Names, *, scaled: bool = False, cast: bool = False
    ) -> tuple[ir.Value, Names]:
        """Go back through moves and repetitions to the program's array, from a value with these names.

        On request also through factors, by which `scale` is multiplied, and casts to wider types.
        """
        while (op := producer(value)) is not None:
            if cast and body_of(op) == "arith.extf":
                value = op.operands[0]
                continue
            if scaled and (found := factor_of(op)) is not None:
                value, factor = found
                self.scale *= factor
                continue
            atoms = self.atoms.copy()
            before = None if op.name == "tensor.expand_shape" else atoms.before(op, names)
            if before is None or not atoms.parts.keys().isdisjoint(_WHOLE):
                break
            self.atoms = atoms
            value, names = op.operands[0], before
        return value, names

    def part(self, value: ir.Value, names: Names) -> _Read:
        """The array that an operand is a part of, if the part has gaps; otherwise the operand itself."""
        shape = tuple(ir.RankedTensorType(value.type).shape)
        atoms, at, own, ops = self.atoms.copy(), value, names, list[ir.Operation]()
        while (op := producer(at)) is not None and op.name in RESHAPES:
            before = atoms.before(op, own)
            if before is None:
                break
            at, own, ops = op.operands[0], before, [*ops, op]
        piece = None if op is None else piece_of(op)
        if op is None or piece is None or not has_gaps(op):
            return _Read(value, names, (0,) * len(shape), shape)
        self.atoms = atoms
        first, sizes = (0,) * len(own), tuple(ir.RankedTensorType(at.type).shape)
        while op is not None and piece is not None:  # also a part of a part
            own, first, sizes = piece.whole(own, ()), piece.whole(first, 0), piece.whole(sizes, 1)
            first = tuple(one + more for one, more in zip(first, piece.first, strict=True))
            at, ops, op = op.operands[0], [*ops, op], producer(op.operands[0])
            piece = None if op is None else piece_of(op)
        return _Read(at, own, first, sizes, tuple(ops))

    def ended(
        self, operands: Sequence[tuple[ir.Value, Names]], result: tuple[ir.Operation, Names]
    ) -> Found | None:
        """The attention that ends here or behind moves; if it can be, with parts of keys."""
        apart = replace(self, atoms=self.atoms.copy())
        joined = apart.joined(*operands[1:3])
        found = None if joined is None else apart.found(operands, apart.onward(*result), joined)
        return found or self.found(operands, self.onward(*result))

    def joined(self, *operands: tuple[ir.Value, Names]) -> tuple[_Joined, ...] | None:
        """Keys and values as two parts each, of equal lengths; None unless both are joined of such parts."""
        walk = replace(self, atoms=self.atoms.copy())
        found = [walk._parts(*each) for each in operands]
        kept = tuple(each for each in found if each is not None)
        if len(kept) < len(found) or len({walk._earlier(each) for each in kept}) > 1:
            return None
        self.atoms = walk.atoms
        return kept

    def _earlier(self, parts: _Joined) -> int:
        """The number of keys in the first of two parts."""
        every = zip(parts[0].names, parts[0].sizes, strict=True)
        return next((size for names, size in every if names == (_K2,)), 1)

    def _parts(self, value: ir.Value, names: Names) -> _Joined | None:
        """The two parts that an operand is joined of along the keys, behind reshapes; None if it is not."""
        ops = list[ir.Operation]()
        while (op := producer(value)) is not None and op.name in RESHAPES:
            before = self.atoms.before(op, names)
            if before is None:
                return None
            value, names, ops = op.operands[0], before, [*ops, op]
        found = pieces_along(value)
        if found is None or len(found[1]) != 2 or names[found[0]] != (_K2,):
            return None
        along, pieces, joins = found
        read, whole = list[_Read](), self.atoms.sizes[_K2]
        for piece in pieces:
            self.atoms.sizes[_K2] = piece.sizes[along]
            own = [() if at == along and size == 1 else each
                   for at, (each, size) in enumerate(zip(names, piece.sizes, strict=True))]  # fmt: skip
            part = self.part(*self.followed(piece.value, piece.own(own)))
            read.append(replace(part, ops=(*ops, *joins, *part.ops)))
        self.atoms.sizes[_K2] = whole
        return None if _K2 in self.atoms.parts else (read[0], read[1])

    def softmax(self, value: ir.Value, names: Names) -> tuple[ir.Value, Names] | None:
        """The operand of a softmax over the keys, behind casts and reshapes; None if there is no softmax."""
        op = producer(value)
        while op is not None and op.name != "linalg.softmax":
            before = names if body_of(op) == "arith.truncf" else self.atoms.before(op, names)
            if before is None:
                break
            names, value = before, op.operands[0]
            op = producer(value)
        if op is None or (_K2,) not in names:
            return None
        keys = names.index((_K2,))
        if op.name == "linalg.softmax":
            own = ir.IntegerAttr(op.attributes["dimension"]).value
            return (op.operands[0], names) if own == keys else None
        scores = softmaxed(op, keys)
        return None if scores is None else (scores, names)

    def scores(self, value: ir.Value, names: Names) -> tuple[ir.Operation, Names] | None:
        """The product of queries and keys, which may be scaled, masked, biased and reshaped."""
        plain = replace(self, atoms=self.atoms.copy())
        found = plain._simple(value, names)
        if found is None:
            return self._summed(value, names)
        self._take(plain)
        return found

    def _take(self, other: _Attention) -> None:
        """Know what another walk, which began like this one, has found."""
        vars(self).update(vars(other))

    def _summed(self, value: ir.Value, names: Names) -> tuple[ir.Operation, Names] | None:
        """The product behind a sum that other arrays are read for."""
        if self.scale != 1.0 or self.cap is not None or (self.bias or self.added) is not None:
            return None
        for added in added_to(value):
            walk = replace(self, atoms=self.atoms.copy(), scale=added.factor, added=(added, names))
            own = tuple(tuple(atom for at in each for atom in names[at]) for each in added.places)
            found = walk.scores(added.score, own)
            if found is not None:
                self._take(walk)
                return found
        return None

    def _simple(self, value: ir.Value, names: Names) -> tuple[ir.Operation, Names] | None:
        """The same with at most one array that is added."""
        op = producer(value)
        while op is not None and _roles(op) is None:
            value = op.operands[0]
            if (scaled := factor_of(op)) is not None:
                (value, factor), before = scaled, names
                self.scale *= factor
            elif body_of(op) == CAPS:
                before = names if self.cap is None and self.scale > 0.0 else None
                value, self.cap, self.scale = op.operands[0], self.scale, 1.0
            elif body_of(op) in ("arith.extf", "arith.truncf"):
                before = names
            elif (choice := choice_of(op)) is not None:
                return self.scores(op.operands[1], names) if self._masked(*choice, names) else None
            elif (seen := self._without_mask(op, names)) is not None:
                return self.scores(seen, names)
            elif body_of(op) == "arith.addf" and len(op.operands) == 3:
                return self._biased(op, names)
            else:
                before = self.atoms.before(op, names)
            if before is None:
                return None
            names, op = before, producer(value)
        if op is None:
            return None
        apart = replace(self, atoms=self.atoms.copy())  # a summand may be computed of other products
        return None if None in apart.queries_and_keys(op, names) else (op, names)

    def _biased(self, op: ir.Operation, names: Names) -> tuple[ir.Operation, Names] | None:
        """The product behind an addition: one summand is the product, the other one a bias."""
        if self.scale != 1.0 or self.cap is not None or (self.bias or self.added) is not None:
            return None
        for at in (0, 1):
            walk = replace(self, atoms=self.atoms.copy(), bias=(op.operands[1 - at], names))
            found = walk.scores(op.operands[at], names)
            if found is not None:
                self._take(walk)
                self.bias = self.followed(op.operands[1 - at], names, cast=True)
                return found
        return None

    def _without_mask(self, op: ir.Operation, names: Names) -> ir.Value | None:
        """The scores of an addition whose other summand hides keys by their positions; None for others."""
        block = op.regions[0].blocks[0] if op.name == "linalg.generic" and len(op.operands) == 3 else None
        if block is None or [each.operation.name for each in block.operations][:1] != ["arith.addf"]:
            return None
        if len(block.operations) != 2 or self.cap is not None:
            return None
        maps = indexing_maps(op)
        for at in (0, 1):
            if maps[1 - at] != maps[2] or maps[2] != ir.AffineMap.get_identity(len(names)):
                continue
            own = [() if each is None else names[each] for each in dimensions(maps[at])]
            if self.hidden_by(op.operands[at], own):
                return op.operands[1 - at]
        return None

    def hidden_by(self, mask: ir.Value, own: Sequence[tuple[int, ...]]) -> bool:
        """Whether a mask hides keys by their positions alone; that is then recorded."""
        found, held = self._said(mask, own), (self.after, self.before, self.rows)
        if found is not None and self._seen(found):
            return True
        self.after, self.before, self.rows = held
        return False

    def _said(self, mask: ir.Value, own: Sequence[tuple[int, ...]]) -> tuple[Sum, ...] | None:
        """The conditions on positions of a mask whose dimensions have these names (`said_by`)."""
        apart = all(len(each) < 2 for each in own)
        return said_by(mask, [each[0] if each else None for each in own]) if apart else None

    def _masked(self, mask: ir.Value, place: Sequence[int], names: Names) -> bool:
        """Record a mask: `after` and `before` if it hides keys by their positions, otherwise `bias`."""
        if self.cap is not None:  # a cap outside of a mask lets all keys be seen
            return False
        own = tuple(names[each] for each in place)
        found = self._said(mask, own)
        if found is not None:
            held = self.after, self.before, self.rows
            if self._seen(found):
                return True
            self.after, self.before, self.rows = held
            if len(found) == 1:  # it hides all keys of a query, or compares other positions
                return False
        if (self.bias or self.added) is not None or self.scale <= 0.0:
            return False
        self.bias = self.followed(mask, own)
        return True

    def _seen(self, conditions: Sequence[Sum]) -> bool:
        """Record how far from its own position a query sees; false unless each query sees a key."""
        for each in conditions:
            sign = -each.times.get(_K2, 0)
            rows = [row for row in self.atoms.whole((_M,)) if each.times == {row: sign, _K2: -sign}]
            if not rows or abs(sign) != 1 or (self.rows != _M and self.rows != rows[0]):
                return False
            self.rows = rows[0]
            known = self.after if sign == 1 else self.before
            least = each.constant if known is None else min(known, each.constant)
            self.after, self.before = (least, self.before) if sign == 1 else (self.after, least)
        queries, keys, before = self.atoms.sizes[self.rows], self.atoms.sizes[_K2], self.before
        if before is not None and (queries - 1 - before >= keys or (self.after or 0) + before < 0):
            return False
        return self.after is None or self.after >= 0

    def queries_and_keys(
        self, product: ir.Operation, names: Names
    ) -> tuple[tuple[ir.Value, Names] | None, tuple[ir.Value, Names] | None]:
        """Queries and keys, followed back from the first product; None if the dimensions do not fit."""
        roles, maps = _roles(product), indexing_maps(product)
        assert roles is not None, "`scores` has looked"
        places = [ir.AffineDimExpr(each).position for each in maps[2].results]
        loops = dict(zip(places, names, strict=True))
        atoms = {loop: self.atoms.one(own) for loop, own in loops.items() if own}
        batch, *own = (
            {part for each in roles[role] if each in atoms for part in self.atoms.whole((atoms[each],))}
            for role in ("batch", "m", "n")
        )
        queries = {each for each in self.atoms.whole((_M,)) if self.atoms.sizes[each] > 1}
        wanted = [queries, {_K2}]
        if batch != {*self.atoms.whole((*self.batch,))} or own not in (wanted, wanted[::-1]):
            return None, None
        first = 0 if own == wanted else 1
        (depth,), sizes = roles["k"], loop_sizes(product) or ()
        self.atoms.sizes[_K1] = sizes[depth] or 0
        atoms[depth] = _K1
        sides = [self.atoms.named(each, atoms) for each in maps[:2]]
        left, right = (
            self.followed(product.operands[each], sides[each], scaled=True) for each in (first, 1 - first)
        )  # fmt: skip
        return left, right

    def onward(self, op: ir.Operation, names: Names) -> tuple[ir.Operation, Names]:
        """Go forward through casts, reshapes and transposes, while each result has a single use."""
        while len(uses := list(op.result.uses)) == 1:
            user = uses[0].owner.operation
            after = names if body_of(user) == "arith.truncf" else self.atoms.onto(user, names)
            if after is None or user.operands[0] != op.result:
                break
            op, names = user, after
        return op, names

    def found(
        self, operands: Sequence[tuple[ir.Value, Names]], result: tuple[ir.Operation, Names],
        joined: Sequence[_Joined] = (),
    ) -> Found | None:  # fmt: skip
        """The attention of these operands and this result, with the parts of keys and values or without."""
        if (self.after, self.before) != (None, None) and self.scale <= 0.0 and self.cap is None:
            return None
        read = [self.part(*each) for each in operands]
        last, names = result
        values = [*(each.value for each in read), last.result]
        shapes = [*(each.sizes for each in read), ir.RankedTensorType(last.result.type).shape]
        seen = () if self.added is None else self.added[1]
        *every, seen, out = self._rows_of(
            [tuple(map(self.atoms.whole, own)) for own in (*(each.names for each in read), seen, names)]
        )
        every.append(out)
        batch: dict[int, None] = {}
        roles_of = (*_ROLES[: len(read)], _ROLES[-1])
        for at, (shape, names, roles) in enumerate(zip(shapes, every, roles_of, strict=True)):
            for own, size in zip(names, shape, strict=True):
                if math.prod(self.atoms.sizes[each] for each in own) != size:
                    return None
            atoms = [each for own in names for each in own]
            missing = roles ^ {each for each in atoms if each < _BATCH}
            if len(set(atoms)) < len(atoms) or (missing and (at != _BIAS or missing != {_M})):
                return None
            batch |= dict.fromkeys(each for each in atoms if each >= _BATCH)
        order = [*sorted(batch), _M, _N, _K1, _K2]
        parts = self._in_parts(read, every, joined)
        if parts is None or not set(batch) <= {each for own in every[-1] for each in own}:
            return None
        biases = parts[_BIAS : len(read)]  # arrays that kernels read for scores come last
        own_inputs = dict.fromkeys(each.value for each in (*parts[:_BIAS], *parts[len(read) :], *biases))
        inputs = (*dict.fromkeys((*own_inputs, *(self.added[0].inputs if self.added else ()))),)
        bias = {each.value for each in biases}
        ops = _between(inputs, last)
        if ops is None or not {op for each in parts for op in each.ops} <= set(ops):
            return None  # or an input is made of another one
        if bias & {each.value for each in (*parts[:_BIAS], *parts[len(read) :])} or not _only_in(ops, parts):
            return None
        sizes = self.atoms.sizes
        split = tuple(tuple(tuple(map(sizes.__getitem__, own)) for own in names) for names in every)
        workload = self._workload(values, every, order)
        views = tuple(
            View(inputs.index(each.value), each.first,
                 tuple(tuple(map(order.index, own)) for own in each.names))
            for each in parts
        )  # fmt: skip
        later = LaterKeys(self._earlier(joined[0]), *views[len(read) :]) if joined else None
        whole = all(each.sizes == tuple(ir.RankedTensorType(each.value.type).shape) for each in read)
        plain = whole and not joined and len(own_inputs) == len(read)
        found = Found(
            inputs, ops, workload, self.scale, split, self.after, self.before, self.cap,
            () if plain else views[: len(read)], later,
        )  # fmt: skip
        return found if self.added is None else self._with_added(found, self.added[0], seen, order)

    def _with_added(self, found: Found, added: Added, names: Names, order: Sequence[int]) -> Found | None:
        """The attention with what is added to its scores; None if that cannot be written."""
        kept = [each for each in order if each not in (_N, _K1)]
        nest = added.nest(names, self.atoms.sizes, kept)
        if nest is None:
            return None
        numbers = [found.inputs.index(each) for each in added.inputs]
        read = tuple(replace(each, input=numbers[each.input]) for each in nest.accesses)
        seen = tuple(tuple(map(order.index, own)) for own in names)
        return replace(found, added=added, summand=replace(nest, accesses=read), seen=seen)

    def _in_parts(
        self, read: Sequence[_Read], every: Sequence[Names], joined: Sequence[_Joined]
    ) -> list[_Read] | None:
        """The operands with these names, or their first parts, then the second ones; None if one misfits."""
        found = [replace(each, names=names) for each, names in zip(read, every, strict=False)]
        for at, parts in enumerate(joined, 1):
            whole = {atom for own in every[at] for atom in own} - {_K2}
            for place, part in zip((at, len(found)), parts, strict=True):
                names = tuple(map(self.atoms.whole, part.names))
                sized = zip(names, part.sizes, strict=True)
                if {atom for own in names for atom in own} - {_K2} != whole or not all(
                    own == (_K2,) or math.prod(self.atoms.sizes[each] for each in own) == size
                    for own, size in sized
                ):
                    return None
                found[place : place + 1] = [replace(part, names=names)]
        return found

    def _rows_of(self, every: list[Names]) -> list[Names]:
        """Names in which one part of split queries stands for the queries: the mask's, otherwise the longest.

        The other parts become batches that share all keys and values. A single query gets a name here.
        """
        if self.atoms.sizes[_M] == 1:
            ends = (0, len(every) - 1)
            return [_with_one(names) if at in ends else names for at, names in enumerate(every)]
        parts = self.atoms.whole((_M,))
        rows = self.rows if self.rows in parts else max(parts, key=lambda each: self.atoms.sizes[each])
        self.atoms.sizes[_M] = self.atoms.sizes[rows]
        return [tuple(tuple(_M if part == rows else part for part in own) for own in each) for each in every]

    def _workload(self, values: Sequence[ir.Value], every: Sequence[Names], order: Sequence[int]) -> Workload:
        rank = len(order)
        scale = IndexingMap.through(rank, ())
        query, key, value, *bias, out = (
            IndexingMap.through(rank, [order.index(each) for own in names for each in own]) for names in every
        )
        query_type, key_type, value_type, *bias_type, _ = (ElementType.of(value.type) for value in values)
        sums = ElementType.named("f32")
        batch = len(order) - 4
        kinds: tuple[Iterator, ...] = (*(_PARALLEL for _ in range(batch + 2)), "reduction", "reduction")
        roles = {"m": batch, "n": batch + 1, "k1": batch + 2, "k2": batch + 3}
        return Workload(
            Attention.name, Attention.name, tuple(self.atoms.sizes[each] for each in order), kinds,
            (query_type, key_type, value_type, sums, *bias_type, sums),
            (query, key, value, scale, *bias, out),
            (("batch", tuple(range(batch))), *((role, (loop,)) for role, loop in roles.items())),
        )  # fmt: skip


def _only_in(ops: Collection[ir.Operation], parts: Sequence[_Read]) -> bool:
    """Whether what joins the parts has no uses elsewhere, for which it would be made all the same."""
    joins = {op for each in parts for op in each.ops if op.name in JOINS}
    return all(use.owner.operation in ops for op in joins for use in op.result.uses)


def _with_one(names: Names) -> Names:
    """Name the dimension of a single query: add its atom to the first dimension that has a name."""
    first = next((at for at, own in enumerate(names) if own), 0)
    return (*names[:first], (*names[first], _M), *names[first + 1 :])


def _between(inputs: Sequence[ir.Value], last: ir.Operation) -> tuple[ir.Operation, ...] | None:
    """The ops that compute a result from inputs, producers first; None if they need other values.

    The order follows the operands, not the program. Ops that several attentions share come before the first
    one in the program, where equal attentions would look different.
    """
    found: dict[ir.Operation, None] = {}

    def visit(op: ir.Operation) -> bool:
        for value in (*op.operands, *captured(op)):
            before = reducer(value)
            if value in inputs or before in found:
                continue
            if before is None or before.block != last.block or len(found) > _MOST_OPS or not visit(before):
                return False
        found[op] = None
        return True

    return tuple(found) if visit(last) else None
