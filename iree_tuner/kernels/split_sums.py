"""Large sums: split into two ops, and with the elementwise ops that normalise by them.

The compiler uses few threads for each result. For example, a group norm of an image has 64 sums of 81,920
values, and takes 13 ms on an H200. The compiler's flag for split reductions does not change such sums.

Ops that normalise groups by such sums are also slow. The compiler tiles the loops of an op. If an operand is
the same for 20 elements that follow each other, the innermost loop has 20 iterations, and few threads read
elements next to each other.

Chains of elementwise ops, slices and concatenations can each be written as one op (`fused_op`), too. The
compiler lowers a concatenation to insertions. Each insertion is a dispatch that copies, and each part needs
another dispatch that computes it. A chain that is written as one op is one dispatch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import takewhile
from types import MappingProxyType
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import func

from iree_tuner.compiler.linalg import access, generic
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.followed import around, followed
from iree_tuner.kernels.fused_op import (
    FusedOps,
    FusedPlan,
    build,
    build_sum,
    plan_of,
    workload_of,
)
from iree_tuner.kernels.kernel import Problem
from iree_tuner.kernels.moved import NotIndexableError, zeros
from iree_tuner.kernels.moves import (
    COLLAPSE,
    EXPAND,
    HOISTED,
    INSERT,
    JOINS,
    SLICE,
    blocks_in,
    computed_once,
    has_gaps,
    is_elementwise,
    is_followed,
    is_move,
    is_scalar_constant,
    is_source,
    is_static,
    is_view,
    numbers,
    piece_of,
    repeats,
    users_of,
)
from iree_tuner.kernels.nest import Nest
from iree_tuner.kernels.operands import computed_operands
from iree_tuner.kernels.planned_nest import nest_of
from iree_tuner.kernels.shapes import combined_by, dimensions, start_of
from iree_tuner.kernels.site import (
    Site,
    array_of,
    case_of,
    copy_ops,
    function_of,
    program_of,
    roots_of,
    zeros_of,
)
from iree_tuner.ops.contraction import Contraction
from iree_tuner.ops.dag import captured
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.structure import indexing_maps, iterators, loop_sizes

MOST_INPUTS, _LEAST_OPS = 12, 2
LEAST_ELEMENTS = 1 << 16
"""The least elements of a result for which another kernel is worth it."""

LARGE = 1 << 20
"""The least elements for which the compiler's reductions, and ops on several dimensions, are slow."""


@dataclass(frozen=True)
class OpsOfBlock:
    """The ops of a block, without those of nested blocks, in order."""

    ops: list[ir.Operation]
    once: set[ir.Operation]  # those on constants only, which the compiler evaluates when a program is loaded
    epilogues: set[ir.Operation]  # those that join the dispatch of a product or sum before them
    roots: Mapping[ir.Operation, int]  # numbers of the program's root ops (`site.roots_of`)
    norms: set[ir.Operation] = field(default_factory=set[ir.Operation])  # ends of norms that chains read

    @cached_property
    def place(self) -> dict[ir.Operation, int]:
        return {op: number for number, op in enumerate(self.ops)}


def blocks_of(module: ir.Module) -> list[OpsOfBlock]:
    """The blocks of the functions of a program in the phase of preprocessing (after `abi`)."""
    found: list[OpsOfBlock] = []
    roots = {op: number for number, op in enumerate(roots_of(module))}
    once = computed_once(module)
    for block in blocks_in(module):
        ops = [each.operation for each in block.operations]
        found.append(OpsOfBlock(ops, once.intersection(ops), epilogues_of(ops), roots))
    return found


def find_chains(
    blocks: Sequence[OpsOfBlock], larger: Mapping[ir.Operation, bytes] = MappingProxyType({})
) -> list[Site]:  # fmt: skip
    """The chains in blocks, in program order. `larger` has ops of other problems, each with its case."""
    return [chain for block in blocks for chain in _chains_of(block, larger)]


def _chains_of(block: OpsOfBlock, larger: Mapping[ir.Operation, bytes]) -> list[Site]:
    ops, fixed, epilogues = block.ops, block.once, block.epilogues
    left, place = fixed | epilogues | block.norms, block.place
    computed = {op for op in ops if is_elementwise(op) and not is_move(op)}
    taken: set[ir.Operation] = set()
    found: list[Site] = []
    for op in reversed(ops):
        ends = is_followed(op) and not is_source(op) and op.name not in (EXPAND, COLLAPSE, SLICE)
        if op in taken or not ends or op in fixed or op in epilogues:
            continue
        wide, own = (cone_of(op, place, ops, left, parts=parts) for parts in (True, False))
        chains = _chains_to(sorted(wide, key=place.__getitem__), larger)
        taken |= wide if chains else own
        others = [own] if own != wide else []  # where a product before takes what moves its result
        if any(_joins_any(each, epilogues) for each in wide & computed):
            others.append(cone_of(op, place, ops, left | computed, parts=True))  # or what computes of it
        for cone in others:
            chains += _chains_to(sorted(cone, key=place.__getitem__), larger)
        found = [*chains, *found]
    return found


def _joins_any(op: ir.Operation, epilogues: Collection[ir.Operation]) -> bool:
    """Whether an op may follow an epilogue in the kernel that computes it: it does not widen its result."""
    bits = ElementType.of(op.result.type).bits
    return any(
        producer(each) in epilogues and bits <= ElementType.of(each.type).bits
        for each in op.operands
        if isinstance(each.type, ir.RankedTensorType)
    )


def _chains_to(ops: list[ir.Operation], larger: Mapping[ir.Operation, bytes]) -> list[Site]:
    """The chain of ordered ops, and what it is without moves at its end: a product may read through these.

    Without the ops before a reshape, if no single op has an index for them all.
    """
    joins = [at for at, op in enumerate(ops) if op.name in JOINS]
    if not (joins or any(op.name == SLICE for op in ops)) or len(ops) < _LEAST_OPS:
        return []
    whole = _chain(ops, larger)
    if whole is None:
        reshapes = [op for op in ops if op.name in (EXPAND, COLLAPSE)]
        cut = _up_to(reshapes[-1], ops) if reshapes else ops
        return _chains_to([op for op in ops if op not in cut], larger)
    moves = [*takewhile(is_move, reversed(ops[joins[-1] + 1 :] if joins else []))]
    before = _up_to(ops[-1 - len(moves)], ops) if moves else []
    return [whole, *filter(None, [_chain(before, larger) if len(before) >= _LEAST_OPS else None])]


def _up_to(last: ir.Operation, ops: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The ops, of these, that compute the result of one of them, with it, in order."""
    found, waiting = {last}, [last]
    while waiting:
        before = [each for each in map(producer, waiting.pop().operands) if each in ops and each not in found]
        waiting += [each for each in before if each is not None]
        found |= {*waiting}
    return [op for op in ops if op in found]


def find_sliced_inputs(blocks: Sequence[OpsOfBlock]) -> list[Site]:
    """Inputs of functions of which ops take large parts, and no other ones, to put a barrier behind.

    A part of neighboring elements that a kernel reads is copied before, if the whole is an input: IREE 3.13
    reads parts in place only of values that are not tied to others, which an imported one is to its buffer.
    An input that is also updated gets none: behind a barrier, the caller's memory would be written
    (docs/upstream/constant_written.md). The matcher of an input finds those of other functions that have its
    name and type, which therefore must not be updated either.
    """
    every = [op for block in blocks for op in block.ops if op.name == _IMPORT]
    users = {op: [use.owner.operation for use in op.result.uses] for op in every}
    other = {_named(op) for op, own in users.items() if any(each.name != SLICE for each in own)}
    sliced = [op for op, own in users.items() if _named(op) not in other and any(map(_takes_much, own))]
    return [_kept_apart(op, fenced=fenced) for op in sliced for fenced in (False, True)]


def _named(op: ir.Operation) -> tuple[str, str]:
    return str(op.attributes["name"]) if "name" in op.attributes else "", str(op.result.type)


def _takes_much(op: ir.Operation) -> bool:
    """Whether an op takes neighboring elements of its operand for ops that are no part of a fusion."""
    if piece_of(op) is None or has_gaps(op) or math.prod(numbers(op, "static_sizes")) < LEAST_ELEMENTS:
        return False
    users = [op]
    while moves := [each for each in users if each.name in (SLICE, EXPAND, COLLAPSE)]:
        users = [each for each in users if each not in moves]
        users += [user for each in moves for user in users_of(each.result)]
    return any(each.name in JOINS or not is_followed(each) for each in users)


def _kept_apart(op: ir.Operation, *, fenced: bool) -> Site:
    """An imported input, and the same with a barrier; `fenced`, as functions with fences import it."""
    result = op.result.type
    given: dict[str, ir.Attribute] = {name: op.attributes[name] for name in op.attributes}

    def imported(function: func.FuncOp) -> ir.Value:
        segments = ir.DenseI32ArrayAttr.get([1, 0, int(fenced), 0])
        operands, own = list(function.arguments), given | {_SEGMENTS: segments}
        return ir.Operation.create(_IMPORT, results=[result], operands=operands, attributes=own).result

    def barrier(function: func.FuncOp) -> ir.Value:
        return ir.Operation.create(_BARRIER, results=[result], operands=[imported(function)]).result

    # IR as text: the bindings lack the type of fences
    inputs = [op.operands[0].type, *([ir.Type.parse(_FENCE)] if fenced else [])]
    array, fused = array_of(op.result), program_of(inputs, result, barrier)
    problem = Problem(workload_of(result, FusedOps.replaces[1]), (array,), array, fused=fused)
    return Site(problem, program_of(inputs, result, imported), function_of(op))


def _is_cut(op: ir.Operation) -> bool:
    """Whether an op only moves elements, and all that uses them are slices, perhaps behind other moves."""
    if not is_move(op) or op.name == SLICE:
        return False
    users = [use.owner.operation for use in op.result.uses]
    return bool(users) and all(each.name == SLICE or _is_cut(each) for each in users)


def cone_of(
    last: ir.Operation, place: dict[ir.Operation, int], ops: list[ir.Operation],
    left: Collection[ir.Operation], *, parts: bool,
) -> set[ir.Operation]:  # fmt: skip
    """`last` and the supported ops before it whose results have no other uses.

    With `parts`, also moves whose results other ops take parts of.
    """
    if last.name == INSERT and _updates(last):
        return {last}
    found, waiting = {last}, places_before(last, place)
    while waiting:  # the latest first: all users of an op come before it
        latest = max(waiting)
        waiting.remove(latest)
        op = ops[latest]
        uses = (use for each in op.results for use in each.uses)
        alone = all(top(use.owner.operation, place) in found for use in uses)
        if not (alone or (parts and _is_cut(op))):
            continue  # a constant may have thousands
        whole = (
            (top(use.owner.operation, place) in found for use in op.operands[0].uses) if op.operands else ()
        )
        if not is_followed(op) or (is_view(op) and not any(whole)) or (op.name == INSERT and _updates(op)):
            continue
        repeated = (repeats(use.owner.operation, use.operand_number) for use in op.result.uses)
        if is_move(op) or not (op in left or any(repeated)):
            found.add(op)
            waiting |= places_before(op, place)
    return {op for op in found if not is_source(op)}


def places_before(op: ir.Operation, place: dict[ir.Operation, int]) -> set[int]:
    """Where in the block the values that an op and its regions use are made."""
    made = (producer(each) for each in (*op.operands, *captured(op)))
    return {place[each] for each in made if each in place}


def top(op: ir.Operation, place: dict[ir.Operation, int]) -> ir.Operation:
    """The op of the block `place` that an op is, or that it is in."""
    while op not in place and op.parent is not None:
        op = op.parent.operation
    return op


def _updates(op: ir.Operation) -> bool:
    """Whether an op overwrites a part of an existing tensor, which the compiler may do in place."""
    before = producer(op.operands[1])
    return before is None or not (is_followed(before) or is_source(before))


def epilogues_of(ops: Iterable[ir.Operation], *, products: bool = False) -> set[ir.Operation]:
    """Elementwise ops after products and sums that do not widen the type. They join the same dispatch.

    With `products`, only those after sums of several operands.
    """
    least, found = 3 if products else 2, set[ir.Operation]()
    for op in ops:
        if not is_elementwise(op) or len(op.operands) < 2:
            continue
        identity = ir.AffineMap.get_identity(indexing_maps(op)[-1].n_dims)
        for value, read in zip(op.operands, indexing_maps(op)[:-1], strict=False):
            before, used = producer(value), value
            while before is not None and before.name in (EXPAND, COLLAPSE) and len(list(used.uses)) == 1:
                used = before.operands[0]
                before = producer(used)
            if before is None or read != identity or len(list(used.uses)) > 1:
                continue
            narrow = ElementType.of(op.result.type).bits <= ElementType.of(value.type).bits
            if narrow and (before in found or sums_up(before, least)):
                found.add(op)
    return found


def _chain(ops: list[ir.Operation], larger: Mapping[ir.Operation, bytes]) -> Site | None:
    """The site of a chain, from its ops in order; None if they cannot be written as one op."""
    values, every = gathered(ops)
    result = ops[-1].result
    if len(values) > MOST_INPUTS or not values:
        return None
    try:
        plan = plan_of(every, result)
    except NotIndexableError:
        return None
    nest = nest_of(plan, values)
    # Neighbors in the result must be neighbors in the inputs, or the same.
    along = nest is None or all(set(each.strides[-1:]) <= {0, 1} for each in nest.merged().accesses)
    if nest is not None and (nest.iterations < LEAST_ELEMENTS or not along):
        nest = None
    shared = len({use.owner for use in result.uses}) > 1
    found = site_of_plan(plan, values, every, nest)
    return replace(found, within=larger.get(ops[-1], b""), shared=shared)


def site_of_ops(
    values: Sequence[ir.Value], ops: Sequence[ir.Operation], nest: Nest | None,
    fused: Callable[[func.FuncOp], ir.Value], op: str = FusedOps.replaces[0],
) -> Site:  # fmt: skip
    """The site of ops of these inputs, whose last result `fused` builds in a function of the inputs."""
    result = ops[-1].result
    program = program_of(values, result.type, fused)
    arrays = tuple(map(array_of, values))
    problem = Problem(workload_of(result.type, op), arrays, array_of(result), fused=program, nest=nest)
    return Site(problem, case_of(values, ops), function_of(ops[-1]))


def site_of_plan(
    plan: FusedPlan, values: Sequence[ir.Value], ops: Sequence[ir.Operation], nest: Nest | None,
    op: str = FusedOps.replaces[0],
) -> Site:  # fmt: skip
    """The site of ops of these inputs that are planned as one."""

    def fused(function: func.FuncOp) -> ir.Value:
        return build(plan, dict(zip(values, function.arguments, strict=True)), ops[-1].result.type)

    return site_of_ops(values, ops, nest, fused, op)


def gathered(ops: Sequence[ir.Operation]) -> tuple[list[ir.Value], list[ir.Operation]]:
    """The inputs of ordered ops, and the ops together with the sources that they read, in order."""
    inputs, every = dict[ir.Value, None](), list[ir.Operation]()
    for op in ops:
        for value in (*op.operands, *captured(op)):
            before = producer(value)
            if before is not None and (is_source(before) or is_scalar_constant(value)):
                made = filter(None, map(producer, before.operands))  # an empty tensor and a constant
                every += [each for each in (*made, before) if each not in every]
            elif isinstance(value.owner, ir.Block) or value.owner.operation not in ops:
                inputs[value] = None
        every.append(op)
    return list(inputs), every


_ADD = "arith.addf"
_NEUTRAL = {_ADD: 0.0, "arith.maximumf": -math.inf, "arith.maxnumf": -math.inf}
_MOST_RESULTS, _LEAST_TERMS = 1 << 12, 1 << 12
_REDUCE = "reduce"
_ENOUGH = 1 << 12  # partial sums that keep a device busy
_IMPORT, _BARRIER = "hal.tensor.import", "util.optimization_barrier"
_FENCE, _SEGMENTS = "!hal.fence", "operandSegmentSizes"


def combined(parts: ir.Value[Any], kept: int, by: str = _ADD) -> ir.Value:
    """The sums along all dimensions after the first `kept` ones, as an op at the current insertion point.

    `by` is the scalar op that combines elements.
    """
    kind = ir.RankedTensorType(parts.type)
    rank = kind.rank
    maps = [access(rank, range(each)) for each in (rank, kept)]
    start = zeros(kind.shape[:kept], kind.element_type, _NEUTRAL[by])

    def combine(element: ir.Value, found: ir.Value) -> ir.Value:
        return ir.Operation.create(by, results=[found.type], operands=[found, element]).result

    return generic([parts], start, maps, combine)


def find_computed(blocks: Sequence[OpsOfBlock]) -> list[Site]:
    """Operands of products that are computed of integers (`operands`), in program order."""
    found: dict[ir.Operation, Site] = {}
    for op in (op for block in blocks for op in block.ops if Contraction().describe(op) is not None):
        for each in computed_operands(op):
            if each is None or not each.ops or each.ops[-1] in found:
                continue
            narrow = any(ElementType.of(value.type).is_integer for value in each.inputs)
            along = {access.strides[-1] for access in each.nest.merged().accesses} <= {0, 1}
            if narrow and along and each.nest.iterations >= LEAST_ELEMENTS:
                found[each.ops[-1]] = site_of_plan(each.plan, each.inputs, each.ops, each.nest)
    return [*found.values()]


def find_sums(blocks: Sequence[OpsOfBlock]) -> list[Site]:
    """The sums in blocks that can be split, with the elementwise ops after them and without.

    A site includes the elementwise ops of the same size before its sum. Otherwise, if other ops also read
    their results (like the distances from a mean), the compiler writes these to memory. Sites with most ops
    come first, so that their matchers are tried before the matcher of the sum alone.
    """
    found: list[tuple[int, Site]] = []
    for block in blocks:
        kept = block.epilogues | block.once
        for op in (each for each in block.ops if is_large_sum(each) and each not in block.once):
            sites = dict.fromkeys(_site_of(op, kept, alone=alone) for alone in (False, True))
            for count, site in filter(None, sites):
                found.append((count, replace(site, roots=(block.roots[op],))))
    return [site for _, site in sorted(found, key=lambda each: -each[0])]


def find_reductions(blocks: Sequence[OpsOfBlock], taken: Collection[int]) -> list[Site]:
    """Reductions of large arrays, along any loops, with the elementwise ops of the same size before them.

    Each comes with those after it, if it may have any, and without, as another kernel may take these.

    Those with a number of `taken`, which other sites have, and sums that can be split are left out.
    """
    found = list[Site]()
    for block in blocks:
        kept = block.epilogues | block.once
        for op in (each for each in block.ops if block.roots.get(each) not in taken):
            if is_large_sum(op) or op in block.once or not reduces(op):
                continue
            how = [(again, alone) for again in (True, False) for alone in (False, True)]
            sites = dict.fromkeys(_reduction_site(op, kept, again=again, alone=alone) for again, alone in how)
            found += [replace(site, roots=(block.roots[op],)) for site in sites if site is not None]
    return found


def reduces(op: ir.Operation) -> bool:
    """Whether an op reduces a large array by one of REDUCTIONS, from what that keeps as it is."""
    by = combined_by(op)
    if by not in _NEUTRAL or len(op.results) != 1 or start_of(op) != _NEUTRAL[by]:
        return False
    read = dimensions(indexing_maps(op)[0])
    large = is_static(op) and math.prod(ir.RankedTensorType(op.operands[0].type).shape) >= LARGE
    return large and None not in read and len(set(read)) == len(iterators(op)) == len(read)


def joins_product(value: ir.Value, kept: Collection[ir.Operation]) -> bool:
    """Whether the only user of a value may join the kernel of a product.

    The value is that of a product, or sum of several operands, or of one of `kept`, perhaps behind reshapes.
    """
    before = producer(value)
    if before is None or len(list(value.uses)) > 1:
        return False
    if before.name in (EXPAND, COLLAPSE):
        return joins_product(before.operands[0], kept)
    return before in kept or sums_up(before, 3)


def sums_up(op: ir.Operation, least: int) -> bool:
    """Whether an op is a sum of at least so many operands, with its initial value."""
    sums = op.name.startswith("linalg.") and bool(indexing_maps(op)) and "reduction" in iterators(op)
    return sums and len(op.operands) >= least


def only_for(op: ir.Operation, before: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The ops, of these before it in order, whose results nothing but an op needs."""
    needed = {op}
    for each in reversed(before):
        if all(use.owner.operation in needed for use in each.result.uses):
            needed.add(each)
    return [each for each in before if each in needed]


def _computed_again(
    op: ir.Operation, before: Sequence[ir.Operation], kept: Collection[ir.Operation]
) -> list[ir.Operation]:
    """The ops, of these before it in order, that an op computes itself: those for it only, and some others.

    A value that others read, too, is computed again where that reads no more bytes than the value has, if
    none of the others needs it as an array. The compiler would write it: the exponents of a softmax, for
    example, and casts to f32.
    """
    needed = {op}
    for at, each in reversed([*enumerate(before)]):
        users = [use.owner.operation for use in each.result.uses]
        if needed.issuperset(users):
            needed.add(each)
        elif each not in needed and not needed.isdisjoint(users) and not _is_array(each, kept):
            cone = [*only_for(each, before[:at]), each]
            read = [ir.RankedTensorType(one.type) for one in gathered(cone)[0]]
            size = math.prod(ir.RankedTensorType(each.result.type).shape)
            bits = sum(ElementType.of(one).bits for one in read if math.prod(one.shape) >= size)
            needed |= {*cone} if bits <= ElementType.of(each.result.type).bits else set()
    return [each for each in before if each in needed]


def _is_array(op: ir.Operation, kept: Collection[ir.Operation]) -> bool:
    """Whether others than elementwise ops and reductions read an op's result, perhaps behind moves."""

    def needs(user: ir.Operation) -> bool:
        if user not in kept and (is_view(user) or is_move(user)):
            return _is_array(user, kept)
        return user in kept or not (is_elementwise(user) or combined_by(user))

    return any(map(needs, users_of(op.result)))


def _reduction_site(
    op: ir.Operation, kept: Collection[ir.Operation], *, again: bool, alone: bool
) -> Site | None:
    """The site of a reduction; unless it is `alone`, with what follows elementwise, if it may have that.

    With `again`, it also has values that others read (`_computed_again`).
    """
    whole = op.operands[0]
    own = [] if producer(whole) in kept else computed_before(whole, kept)
    moved = {each for each in own if is_move(each) and joins_product(each.operands[0], kept)}
    own = computed_before(whole, {*kept, *moved}) if moved else own
    own = _computed_again(op, own, kept) if again else only_for(op, own)
    read, written = map(dimensions, indexing_maps(op))
    for before, then in around(own, op, alone=alone):
        if again and not before:
            break
        values, every = gathered([*before, op])
        try:
            plan = plan_of(every[:-1], whole)
        except NotIndexableError:
            continue
        if not 0 < len(values) <= MOST_INPUTS or len(plan.loops) > len(plan.sizes):
            continue
        loops = [read.index(each) for each in written if each is not None]
        nest = nest_of(plan, values, loops, places=True)
        if nest is None:
            continue
        nest, last = replace(nest, combine=combined_by(op)), op
        if then is not None:
            values, every = gathered([*before, op, *then.ops])
            nest, last = followed(nest, loops, op, then, values), then.ops[-1]
        if nest is None or len(values) > MOST_INPUTS:
            continue
        case, arrays = case_of(values, every), tuple(map(array_of, values))
        workload = workload_of(last.result.type, _REDUCE)
        problem = Problem(workload, arrays, array_of(last.result), fused=case, nest=nest)
        return Site(problem, case, function_of(op))
    return None


def is_large_sum(op: ir.Operation) -> bool:
    """Whether an op adds up many values to few results, starting from zeros."""
    return combined_by(op) == _ADD and bool(zeros_of(op)) and bool(_loops_apart(op))


def _site_of(op: ir.Operation, kept: Collection[ir.Operation], *, alone: bool) -> tuple[int, Site] | None:
    """The number of ops in the site of a sum, and the site; unless it is `alone`, with ops after it."""
    start, apart = zeros_of(op) or [], _loops_apart(op)
    own = [] if producer(op.operands[0]) in kept else computed_before(op.operands[0], kept)
    for before, then in around(own, op, alone=alone):
        values, every = gathered(before) if before else ([op.operands[0]], [])
        try:
            plan = plan_of(every, op.operands[0])
        except NotIndexableError:
            continue
        if not values or len(plan.loops) > len(plan.sizes):
            continue
        nest, ops, after = nest_of(plan, values, _kept(op)), [*every, *start, op], list[ir.Operation]()
        if then is not None:
            values, ops = gathered([*before, op, *then.ops])
            nest = nest and followed(nest, _kept(op), op, then, values)
            after = ops[ops.index(op) + 1 :]
        if len(values) <= MOST_INPUTS and (nest is not None or then is None):
            fused = partial(_build, op, apart, plan, values, after)
            return len(ops), site_of_ops(values, ops, nest, fused)
    return None


def computed_before(
    whole: ir.Value, kept: Collection[ir.Operation], *, small: bool = False
) -> list[ir.Operation]:  # fmt: skip
    """The elementwise ops and reshapes that compute a value and are as large, in order.

    Those in `kept` and what is before them are left out, except the op whose result it is. With `small`,
    also smaller elementwise ops that nothing else of the program has to compute before.
    """
    found: dict[ir.Operation, None] = {}
    least = math.prod(ir.RankedTensorType(whole.type).shape)

    def look(value: ir.Value) -> None:
        before = producer(value)
        if before is None or before in found or is_source(before):
            return
        if before in kept and value != whole:
            return
        of_all = math.prod(ir.RankedTensorType(value.type).shape) >= least
        first = small and is_elementwise(before) and all(map(_is_given, before.operands))
        if first or (of_all and (is_elementwise(before) or before.name in (EXPAND, COLLAPSE))):
            for each in before.operands:
                look(each)
            found[before] = None

    look(whole)
    return [*found]


def _is_given(value: ir.Value) -> bool:
    """Whether no op of the program has to compute a value."""
    before = producer(value)
    return before is None or before.name in (*HOISTED, _IMPORT) or is_source(before)


def _loops_apart(op: ir.Operation) -> list[int]:
    """The outermost loops of the sum, whose iterations become parts; empty if a split does not help."""
    sizes, kinds, maps = loop_sizes(op), iterators(op), indexing_maps(op)
    if sizes is None or None in sizes or not all(each.is_projected_permutation for each in maps):
        return []
    known = [size or 1 for size in sizes]
    summed = [
        loop for each in maps[0].results
        if kinds[loop := ir.AffineDimExpr(each).position] == "reduction"
    ]  # fmt: skip
    results = math.prod(size for size, kind in zip(known, kinds, strict=True) if kind == "parallel")
    if results > _MOST_RESULTS or math.prod(known[loop] for loop in summed) < _LEAST_TERMS:
        return []
    apart: list[int] = []
    for loop in summed[:-1]:  # adjacent threads read along the innermost loop
        if results * math.prod(known[each] for each in apart) >= _ENOUGH:
            break
        apart.append(loop)
    return apart


def _build(
    op: ir.Operation, apart: Sequence[int], plan: FusedPlan, values: Sequence[ir.Value],
    after: Sequence[ir.Operation], function: func.FuncOp,
) -> ir.Value:  # fmt: skip
    """Build both sums at the current insertion point, and the ops after them.

    Loops are the dimensions of the summed value.
    """
    kept, place = _kept(op), _place(op)
    order = [*kept, *(place[loop] for loop in apart)]
    shape = ir.RankedTensorType(op.operands[0].type).shape
    element = ir.RankedTensorType(op.result.type).element_type
    partly = access(len(shape), order)
    inputs = dict(zip(values, function.arguments, strict=True))
    first = zeros([shape[each] for each in order], element)
    sums = combined(build_sum(plan, inputs, first, partly), len(kept))
    return copy_ops(after, {**inputs, op.result: sums}) if after else sums


def _place(op: ir.Operation) -> dict[int, int]:
    read, _ = indexing_maps(op)
    return {ir.AffineDimExpr(each).position: at for at, each in enumerate(read.results)}


def _kept(op: ir.Operation) -> list[int]:
    """The dimensions of the summed value that the result has, in the result's order."""
    place = _place(op)
    return [place[ir.AffineDimExpr(each).position] for each in indexing_maps(op)[1].results]
