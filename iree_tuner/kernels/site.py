"""Find the problems of a program that kernels can compute, in the phase of preprocessing (after `abi`).

If the compiler makes several dispatches of a problem, it is also built as one op or dispatch, to time it
alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TypeVar

from iree.compiler import ir
from iree.compiler.dialects import func

from iree_tuner.compiler.linalg import access, generic, multiply_add
from iree_tuner.kernels.attention import ATTENTION_OP, attention_of, find_attention
from iree_tuner.kernels.attention_op import build_alone
from iree_tuner.kernels.epilogue import RowGroups, next_steps, producer, start_of_bias
from iree_tuner.kernels.expression import constant_of, number
from iree_tuner.kernels.finish import finishes_of, is_part
from iree_tuner.kernels.formula import follow
from iree_tuner.kernels.gated import Gated, build_gated, find_gated, steps_before
from iree_tuner.kernels.integers import Integers, Operands, Padding, operands_of, padding_of
from iree_tuner.kernels.kernel import COMPUTED, Array, Problem
from iree_tuner.kernels.moved import (
    Moved,
    build_dispatch,
    build_sums,
    moved_product,
    reshaped,
    zeros,
)
from iree_tuner.kernels.moves import HOISTED, SCAN, computed_once
from iree_tuner.kernels.operands import ComputedOperand, computed_operands
from iree_tuner.kernels.padded_sums import build_spread_sum, build_sum
from iree_tuner.kernels.shapes import groups_of
from iree_tuner.ops.contraction import Contraction
from iree_tuner.ops.convolution import Convolution, is_convolution
from iree_tuner.ops.dag import clone, strip_discardable
from iree_tuner.ops.workload import Workload

_FAMILIES = (Contraction(), Convolution())


@dataclass(frozen=True)
class Site:
    """A problem in a program, as plain data.

    Attributes:
        case: the text of a program whose only function, `main`, computes the problem by the same ops. The
            matcher compares with it, and the problem is timed alone with it.
        function: name of the function with the site.
        one_op: the text of a program with one op or dispatch, if the compiler makes several dispatches of the
            case. The problem is then timed alone with this program; otherwise empty.
        within: the case of the larger problem that the root op is a part of; or empty.
        roots: numbers of the root op, or of all ops of an attention, in the module's `roots_of`.
        dispatches: names of the dispatches that contain them, of all occurrences.
        times: how often the program has the problem.
        shared: whether several ops use its result: with each, the compiler may compute it again.
        first: chains of ops that are replaced before the program has the case (`known`).
        readings: the cases of ops of the program that are rewritten first (`readings`).
    """

    problem: Problem
    case: bytes
    function: str
    one_op: bytes = b""
    within: bytes = field(default=b"", compare=False)
    roots: tuple[int, ...] = field(default=(), compare=False)
    dispatches: tuple[str, ...] = field(default=(), compare=False)
    times: int = field(default=1, compare=False)
    shared: bool = field(default=False, compare=False)
    first: tuple[Site, ...] = field(default=(), compare=False)
    readings: tuple[bytes, ...] = field(default=(), compare=False)

    @property
    def padded(self) -> bool:
        integers = self.problem.integers
        return bool(self.problem.padding) or (integers is not None and integers.padded)

    @property
    def alone(self) -> bytes:
        return self.one_op or self.case


_T = TypeVar("_T")

_Own = list[tuple[Site, ir.Operation]]
"""Sites of a root op, each with its last op."""


def searched(notes: list[str], find: Callable[..., Sequence[_T]], *given: object) -> list[_T]:
    """Search, or find nothing and note why, if the search fails: the results of others are kept."""
    try:
        return [*find(*given)]
    except Exception as error:  # of any type: programs of all kinds come here
        name = find.__name__.strip("_")
        notes.append(f"a search for kernels failed, {name}: {type(error).__name__}: {error}")
        return []


def find_sites(
    module: ir.Module, larger: dict[ir.Operation, bytes] | None = None, notes: list[str] | None = None
) -> list[tuple[Site, ...]]:  # fmt: skip
    """For each root op, its sites: without epilogue, and with longer and longer epilogues.

    If the image has a padding, each site comes without and with it. `larger` gets the ops of problems of
    several root ops, and the last ops of gated products, each with the problem's case. `notes` gets why the
    search at a root op failed.
    """
    found = _walk(module, {} if larger is None else larger, [] if notes is None else notes)
    return [tuple(site for site, _ in sites) for sites in found]


def find_results(module: ir.Module, cases: Sequence[bytes]) -> list[tuple[int, ir.Operation]]:
    """The last ops of the sites with these cases, in order, each with the number of its case.

    Only the longest such site of a root op counts, which is the one that the kernel replaces: the beginning
    of a problem may be another problem.
    """
    number = {case: index for index, case in enumerate(cases)}
    found = (
        [(number[site.case], last) for site, last in sites if site.case in number]
        for sites in _walk(module, {}, [])
    )
    return [own[-1] for own in found if own]


def roots_of(module: ir.Module) -> list[ir.Operation]:
    """The ops of a module that may be root ops of sites, in program order."""
    roots: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in (ATTENTION_OP, SCAN) or (op.name.startswith("linalg.") and op.name != "linalg.fill"):
            roots.append(op)
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return roots


def _walk(module: ir.Module, larger: dict[ir.Operation, bytes], notes: list[str]) -> list[_Own]:
    roots = roots_of(module)
    numbers = {op: number for number, op in enumerate(roots)}
    once = computed_once(module)
    attentions = [[] if op in once else searched(notes, _attention_of, op, larger, numbers) for op in roots]
    taken = set(larger)  # a transpose goes to the root op that reads through it, not to one that writes
    products = [
        [] if op in once else _inside(searched(notes, _sites_of, op, taken), larger, root)
        for root, op in reversed([*enumerate(roots)])
    ]
    larger |= {last: site.case for own in products for site, last in own if site.problem.halves is not None}
    return _apart([list(pair) for pair in zip(attentions, reversed(products), strict=True)])


def _inside(sites: _Own, larger: Mapping[ir.Operation, bytes], root: int) -> _Own:
    """The sites of a root op, with its number and the larger problem that it is a part of."""
    within = larger.get(sites[0][1], b"") if sites else b""
    return [(replace(site, within=within, roots=(root,)), last) for site, last in sites]


def _apart(found: Sequence[Sequence[_Own]]) -> list[_Own]:
    """Make the sites of different root ops end in different ops.

    If two results are added, each is the other's residual. One root op takes the addition, and the other one
    ends before it, so that each can have a kernel. It is the later one, unless the earlier one's case is also
    found where nothing competes with it: that case's matcher matches here, too.
    """
    named = [
        [[(site, last) for site, last in own if site.problem.finish is None] for own in places]
        for places in found
    ]
    ends = Counter(last for places in named for last in {last for own in places for _, last in own})
    elsewhere = {site.case for places in named for own in places for site, last in own if ends[last] == 1}
    takers = {
        last: root
        for root, places in enumerate(named)
        for own in places
        for site, last in own
        if ends[last] > 1 and site.case in elsewhere
    }
    taken: dict[ir.Operation, int] = {}
    for every in (named, found):  # a named step goes before one without a name
        for root, places in reversed([*enumerate(every)]):
            lasts = {last for sites in places for _, last in sites}
            own = {each for each in lasts if taken.get(each, root) == takers.get(each, root) == root}
            taken |= dict.fromkeys(own, root)
    apart = [  # as the end of an attention, and alone
        [(site, last) for site, last in sites if taken.get(last) == root]
        for root, places in enumerate(found)
        for sites in places
    ]
    return [*filter(None, apart)]


def _sites_of(root: ir.Operation, taken: set[ir.Operation]) -> _Own:
    """The sites of a root op, each with its last op. Transposes in `taken` are not used."""
    workload = next(filter(None, (family.describe(root) for family in _FAMILIES)), None)
    kinds = (ir.RankedTensorType(each.type) for each in root.operands)
    if workload is None or not all(each.has_static_shape for each in kinds):
        return []
    start, epilogue, bias = zeros_of(root), (), []
    if start is None:
        start, epilogue, bias = start_of_bias(root)
    if not start:
        return []
    function = function_of(root)
    if not bias and (operands := operands_of(root)) is not None:
        return _sites_of_integers(workload, operands, start, root, function)
    inputs, ops = [*list(root.operands)[:-1], *bias], [*start, root]
    if len(set(inputs)) < len(inputs):
        return []  # a case has an argument for each input
    padding = padding_of(inputs[0]) if is_convolution(workload) else None
    sites, scale, groups = [(_site(workload, inputs, ops, epilogue, function), root)], 1.0, ()
    sites += _padded(*sites[-1], padding, inputs, ops)
    factor = ir.RankedTensorType(root.operands[0].type).element_type
    loops = workload.maps[2].loops
    channels = (*workload.role("depth"), *workload.role("output_channel"))
    sums = None if is_convolution(workload) and loops[-1:] != channels else root.result
    last = joined_groups(root, workload)
    while (steps := next_steps((last or ops[-1]).result, factor, sums)) is not None:
        ops, last = [*ops, *([last] if last is not None else [])], None
        epilogue, inputs = (*epilogue, *steps.names), [*inputs, *steps.inputs]
        scale = steps.scale if "scale" in steps.names else scale
        groups = (*groups, *steps.groups)
        if len(set(epilogue)) < len(epilogue) or len(set(inputs)) < len(inputs):
            break
        ops += [each for each in steps.ops if each not in ops]  # ops may share a zero
        sites.append((_site(workload, inputs, ops, epilogue, function, scale, groups), ops[-1]))
        sites += _padded(*sites[-1], padding, inputs, ops)
    branches = [_Branch(sites, inputs, ops), *_finishes(sites, padding, inputs, ops)]
    after = None if is_convolution(workload) else ops[ops.index(root) + 1 :]
    gated = None if after is None else find_gated(root, workload, after, factor)
    more = [] if gated is None else _gated_sites(sites[-1][0], gated, root, inputs, ops)
    moved = [] if bias else _moved_sites(root, branches, start, taken)
    computed = [] if bias else _computed_sites(root, branches, start, taken)
    return [*(pair for each in branches for pair in each.sites), *moved, *computed, *more]


@dataclass(frozen=True)
class _Branch:
    """Longer and longer sites of a root op, each with its last op, and the inputs and ops of all of them."""

    sites: _Own
    inputs: Sequence[ir.Value]
    ops: Sequence[ir.Operation]

    def each(self) -> Iterator[tuple[Site, Sequence[ir.Operation], Sequence[ir.Value]]]:
        """Each site with its own ops, and its inputs after those of the root op."""
        for site, last in self.sites:
            own = self.ops[: self.ops.index(last) + 1]
            yield site, own, self.inputs[2 : len(site.problem.inputs)]


def _finishes(
    sites: _Own, padding: Padding | None, inputs: Sequence[ir.Value], ops: Sequence[ir.Operation]
) -> list[_Branch]:
    """The sites with a further step after these, or after the first of them.

    A named step reads a whole array. If the program repeats a smaller one, a further step reads that.
    """
    plain = [(site, last) for site, last in sites if not site.problem.padding]
    counts = [len(site.problem.inputs) for site, _ in plain]
    for at, (before, count) in enumerate(pairwise(counts)):
        if any(is_part(each, plain[at][1].result) for each in inputs[before:count]):
            found = _finish(plain[at], padding, inputs, ops)
            if found is not None and plain[-1][1] in found.ops:
                return [found]
            break
    found = _finish(plain[-1], padding, inputs, ops)
    return [] if found is None else [found]


def _finish(
    before: tuple[Site, ir.Operation], padding: Padding | None, inputs: Sequence[ir.Value],
    ops: Sequence[ir.Operation],
) -> _Branch | None:  # fmt: skip
    """The sites with a further step after a site; None if there are none."""
    (site, last), found = before, _Own()
    named, own = site.problem, [*ops[: ops.index(last) + 1]]
    first = read = [*inputs[: len(named.inputs)]]
    every = own
    for step in finishes_of(last.result):
        if not {*first}.isdisjoint(step.inputs):
            break
        read, every = [*first, *step.inputs], [*own, *(each for each in step.ops if each not in own)]
        epilogue = (*named.epilogue, COMPUTED)
        longer = _site(named.workload, read, every, epilogue, site.function, named.scale, named.groups)
        problem = replace(longer.problem, finish=step.nest.reading(len(first)))
        found.append((replace(longer, problem=problem), every[-1]))
        found += _padded(*found[-1], padding, read, every)
    return _Branch(found, read, every) if found else None


def _after(root: ir.Operation, ops: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The ops that use a root op's result, or what others of them have computed of it; in order."""
    found, known = list[ir.Operation](), {root.result}
    for op in ops:
        if not known.isdisjoint(op.operands):
            found.append(op)
            known.add(op.result)
    return found


def _gated_sites(
    site: Site, gated: Gated, root: ir.Operation, inputs: Sequence[ir.Value], ops: Sequence[ir.Operation]
) -> _Own:
    """The sites of a product whose halves are multiplied, if there are any, also with computed operands."""
    workload, last = site.problem.workload, gated.after[-1]
    before = steps_before(workload, site.problem.epilogue, gated.loop)
    if before is None:
        return []
    epilogue = (*before, *gated.steps)
    problem = replace(site.problem, result=array_of(last.result), epilogue=epilogue, halves=gated.loop)

    def build(operands: Sequence[ir.Value], more: Sequence[ir.Value]) -> ir.Value:
        finish = partial(copy_ops, gated.after)
        return build_gated(gated, root, workload, before, [*operands, *more], finish)

    def alone(function: func.FuncOp) -> ir.Value:
        arguments = list(function.arguments)
        return build_dispatch(last.result.type, lambda: build(arguments[:2], arguments[2:]))

    every, text = list(dict.fromkeys((*ops, *gated.ops))), program_of(inputs, last.result.type, alone)
    found = [(replace(site, problem=problem, case=case_of(inputs, every), one_op=text), last)]
    computes = _Computes(computed_operands(root), root.operands[:2], inputs[2:])
    if any(computes.computed) and computes.distinct:
        every = list(dict.fromkeys((*computes.ops, *every)))
        found.append((computes.site(replace(site, problem=problem), every, build), last))
    return found


def _moved_sites(
    root: ir.Operation, branches: Sequence[_Branch], start: Sequence[ir.Operation], taken: set[ir.Operation]
) -> _Own:
    """The sites with transposes of operands and result included, see `moved`.

    Args:
        root: the root op.
        branches: its sites, with longer and longer epilogues.
        start: the ops that its sums start from.
        taken: ops that belong to other sites; the ops before the product are added.
    """
    found, read = _Own(), set[ir.Operation]()
    for site, own, extras in (each for branch in branches for each in branch.each()):
        moved = moved_product(root, _after(root, own), taken)
        if moved is None or len({*moved.operands, *extras}) < 2 + len(extras):
            continue
        problem, every, build = _moved(site, moved, (root, start), [*moved.operands, *extras], own)
        before, result = [*moved.operands, *extras], every[-1].result.type
        alone = program_of(before, result, partial(_alone_moved, build, result if moved.after else None))
        case = case_of(before, every)
        found.append((replace(site, problem=problem, case=case, one_op=alone), every[-1]))
        read.update(moved.before)
    taken.update(read)
    return found


_Build = Callable[[Sequence[ir.Value], Sequence[ir.Value]], ir.Value]
"""Builds a product of its operands, and the steps after it of their inputs."""


def _alone_moved(build: _Build, dispatch: ir.Type | None, function: func.FuncOp) -> ir.Value:
    """Build a product in a function; in one dispatch if its result's type is given."""
    own = partial(build, function.arguments[:2], function.arguments[2:])
    return own() if dispatch is None else build_dispatch(dispatch, own)


def _moved(
    site: Site, moved: Moved, product: tuple[ir.Operation, Sequence[ir.Operation]],
    inputs: Sequence[ir.Value], own: Sequence[ir.Operation],
) -> tuple[Problem, list[ir.Operation], _Build]:  # fmt: skip
    """The problem of a site with its moves, all of its ops, and what builds them without the moves.

    `product` is the root op, with the ops that its sums start from, and `own` has the ops of the site.
    """
    root, start = product
    every = list(dict.fromkeys((*moved.before, *own, *moved.after)))
    rest = [each for each in every if each not in (root, start[-1], *moved.before)]
    last, before = every[-1], site.problem
    problem = replace(
        before, workload=moved.workload, inputs=tuple(map(array_of, inputs)), result=array_of(last.result),
        epilogue=(*before.epilogue, "moved"), seen=moved.seen, constants=_constants(inputs),
    )  # fmt: skip

    def build(operands: Sequence[ir.Value], more: Sequence[ir.Value]) -> ir.Value:
        sums = build_sums(moved, operands, root.result.type)
        values = {root.result: sums, **dict(zip(inputs[2:], more, strict=True))}
        return sums if last == root else copy_ops(rest, values)

    return problem, every, build


def _computed_sites(
    root: ir.Operation, branches: Sequence[_Branch], start: Sequence[ir.Operation], taken: set[ir.Operation]
) -> _Own:
    """The sites of a product whose operands are computed of smaller arrays, see `operands`.

    Moves of the other operand and of the result are included. For the arguments see `_moved_sites`.
    """
    computed = computed_operands(root)
    chain = _Computes(computed, (), ()).ops
    found = _Own()
    every_site = (each for branch in branches for each in branch.each())
    for site, own, extras in every_site if any(computed) else ():
        moved = moved_product(root, _after(root, own), {*taken, *chain})
        problem, every, read = site.problem, own, root.operands[:2]
        build: _Build = partial(_rebuilt, root, own, extras)
        if moved is not None:
            read = moved.operands
            problem, every, build = _moved(site, moved, (root, start), [*read, *extras], own)
        computes = _Computes(computed, read, extras)
        if computes.distinct:
            every = list(dict.fromkeys((*chain, *every)))
            found.append((computes.site(replace(site, problem=problem), every, build), every[-1]))
    return found


def _rebuilt(
    root: ir.Operation, own: Sequence[ir.Operation], extras: Sequence[ir.Value],
    operands: Sequence[ir.Value], more: Sequence[ir.Value],
) -> ir.Value:  # fmt: skip
    """Copy the ops of a site, with these operands of its product and inputs of the steps after it."""
    values = dict(zip((*root.operands[:2], *extras), (*operands, *more), strict=True))
    return copy_ops(own, values)


@dataclass(frozen=True)
class _Computes:
    """A product with operands that are computed, operands that are `read`, and inputs of steps after it."""

    computed: Sequence[ComputedOperand | None]
    read: Sequence[ir.Value]
    extras: Sequence[ir.Value]

    @property
    def parts(self) -> list[tuple[ir.Value, ...]]:
        """The inputs of each operand."""
        pairs = zip(self.computed, self.read, strict=True)
        return [(value,) if each is None else each.inputs for each, value in pairs]

    @property
    def ops(self) -> list[ir.Operation]:
        """The ops that compute operands."""
        return [op for each in self.computed if each is not None for op in each.ops]

    @property
    def inputs(self) -> list[ir.Value]:
        return [*(value for own in self.parts for value in own), *self.extras]

    @property
    def distinct(self) -> bool:
        return len({*self.inputs}) == len(self.inputs)

    def site(self, site: Site, every: Sequence[ir.Operation], build: _Build) -> Site:
        """The site of these ops. Alone, it is one dispatch."""
        first, result = len(self.parts[0]), every[-1].result.type
        nests = [
            each and each.nest.reading(start) for each, start in zip(self.computed, (0, first), strict=True)
        ]

        def alone(function: func.FuncOp) -> ir.Value:
            arguments = [*function.arguments]
            sides = arguments[:first], arguments[first : first + len(self.parts[1])]
            more = arguments[len(arguments) - len(self.extras) :]

            def made() -> ir.Value:
                pairs = zip(self.computed, sides, strict=True)
                return build([own[0] if each is None else each.built(own) for each, own in pairs], more)

            return build_dispatch(result, made)

        finish, added = site.problem.finish, len(self.inputs) - len(site.problem.inputs)
        problem = replace(
            site.problem, inputs=tuple(map(array_of, self.inputs)), operands=tuple(nests),
            constants=_constants(self.inputs), finish=finish and finish.reading(added),
        )  # fmt: skip
        case, text = case_of(self.inputs, every), program_of(self.inputs, result, alone)
        return replace(site, problem=problem, case=case, one_op=text)


def _sites_of_integers(
    workload: Workload, operands: Operands, start: list[ir.Operation], root: ir.Operation, function: str
) -> _Own:
    """The sites of a root op that sums products of integers: alone, and with longer and longer formulas."""
    if len(set(operands.values)) < len(operands.values):
        return []
    ops = [*start, *operands.ops, root]
    sites: _Own = []
    for found in (None, *follow(root.result)):
        inputs = [*operands.values, *(found.inputs if found else ())]
        every = [*ops, *(each for each in (found.ops if found else ()) if each not in ops)]
        integers = replace(operands.integers, formula=found.formula if found else ())
        if len(set(inputs)) == len(inputs):
            site = _site(workload, inputs, every, (), function)
            problem = replace(site.problem, integers=integers)
            after = found.ops if found else ()
            alone = _alone(inputs, start, root, after, integers) if integers.padded else b""
            sites.append((replace(site, problem=problem, one_op=alone), every[-1]))
    return sites


def _alone(
    inputs: Sequence[ir.Value], start: Sequence[ir.Operation], root: ir.Operation,
    after: Sequence[ir.Operation], integers: Integers,
) -> bytes:  # fmt: skip
    """The text of a program that computes sums over a padded image and the ops after them in one dispatch."""

    def build(function: func.FuncOp) -> ir.Value:
        values = dict(zip(inputs, function.arguments, strict=True))
        zeros = copy_ops(start, {})
        sums = build_sum(root, list(function.arguments)[:2], zeros, integers)
        return copy_ops(after, {**values, root.result: sums}) if after else sums

    return program_of(inputs, (after[-1] if after else root).result.type, build)


def _attention_of(
    root: ir.Operation, larger: dict[ir.Operation, bytes], numbers: Mapping[ir.Operation, int]
) -> _Own:
    """The site of the attention that a root op computes or ends; adds the attention's ops to `larger`."""
    found = attention_of(root) or find_attention(root)
    if found is None:
        return []
    inputs, last = found.inputs, found.ops[-1]
    problem = Problem(
        found.workload, tuple(map(array_of, inputs)), array_of(last.result), scale=found.scale,
        after=found.after, before=found.before, cap=found.cap, views=found.views, later=found.later,
        added=found.summand,
    )  # fmt: skip
    alone = b""
    if found.shapes:
        alone = program_of(inputs, last.result.type, lambda function: build_alone(found, function))
    own = tuple(numbers[op] for op in found.ops if op in numbers)
    site = Site(problem, case_of(inputs, found.ops), function_of(root), alone, roots=own)
    larger.update(dict.fromkeys(found.ops, site.case))
    return [(site, last)]


def _site(
    workload: Workload, inputs: Sequence[ir.Value], ops: Sequence[ir.Operation], epilogue: tuple[str, ...],
    function: str, scale: float = 1.0, groups: tuple[RowGroups, ...] = (),
) -> Site:  # fmt: skip
    problem = Problem(
        workload, tuple(map(array_of, inputs)), array_of(ops[-1].result), epilogue, scale,
        constants=_constants(inputs), groups=groups,
    )  # fmt: skip
    alone = b""
    if groups:
        build = partial(_in_groups, problem, inputs, ops)
        alone = program_of(inputs, ops[-1].result.type, build)
    return Site(problem, case_of(inputs, ops), function, alone)


def _in_groups(
    problem: Problem, inputs: Sequence[ir.Value], ops: Sequence[ir.Operation], function: func.FuncOp
) -> ir.Value:  # fmt: skip
    """Build a product whose rows are in groups, so that the steps after it join its dispatch."""
    root = next(op for op in ops if [*op.operands][:2] == [*inputs][:2])
    workload, count, result = problem.workload, problem.groups[0].count, ir.RankedTensorType(root.result.type)
    row, outer = workload.maps[2].loops[0], len(workload.loops)  # the number of a group gets a loop
    loops = [[each for own in read.loops for each in ((outer, own) if own == row else (own,))]
             for read in workload.maps]  # fmt: skip
    sizes = [*workload.loops, count]
    sizes[row] //= count
    shapes = [[sizes[each] for each in own] for own in loops]
    read = [reshaped(*each) for each in zip([*function.arguments][:2], shapes, strict=False)]
    maps = [access(len(sizes), own) for own in loops]
    sums = generic(read, zeros(shapes[2], result.element_type), maps, multiply_add)
    values = dict(zip(inputs, function.arguments, strict=True))
    return copy_ops(ops[ops.index(root) + 1 :], {**values, root.result: reshaped(sums, result.shape)})


def joined_groups(root: ir.Operation, workload: Workload) -> ir.Operation | None:
    """The only use of a grouped convolution's result, if it joins groups and filters, which are last."""
    depth, filters = workload.role("depth"), workload.role("output_channel")
    uses = list(root.result.uses)
    if not (depth and filters) or workload.maps[2].loops[-2:] != (*depth, *filters) or len(uses) != 1:
        return None
    op = uses[0].owner.operation
    rank = len(workload.maps[2].loops)
    ends = [[at] for at in range(rank - 2)] + [[rank - 2, rank - 1]]
    return op if op.name == "tensor.collapse_shape" and groups_of(op) == ends else None


def _constants(inputs: Sequence[ir.Value]) -> tuple[int, ...]:
    before = map(producer, inputs)
    return tuple(at for at, op in enumerate(before) if op is not None and op.name in HOISTED)


def _padded(
    site: Site, last: ir.Operation, padding: Padding | None, inputs: Sequence[ir.Value],
    ops: Sequence[ir.Operation],
) -> _Own:  # fmt: skip
    """The site with the padding of its image included; empty if there is no padding."""
    if padding is None or padding.source in inputs[1:]:
        return []
    before = [padding.source, *inputs[1:]]
    whole = [*padding.ops, *(each for each in ops if each not in padding.ops)]
    problem = replace(site.problem, inputs=tuple(map(array_of, before)), padding=padding.sizes,
                      spread=padding.spread)  # fmt: skip

    root = next(op for op in ops if [*op.operands][:1] == [*padding.ops[-1].results])

    def build(function: func.FuncOp) -> ir.Value:
        values = dict(zip(before, function.arguments, strict=True))

        def made() -> ir.Value:
            if not padding.spread:  # else the compiler takes no insertion into one dispatch
                return copy_ops(whole, values)
            sums = build_spread_sum(root, padding, [*function.arguments][:2])
            rest = [op for op in whole if op not in (root, *padding.ops[-2:])]
            return sums if root == last else copy_ops(rest, {**values, root.result: sums})

        return build_dispatch(last.result.type, made)

    alone = program_of(before, last.result.type, build)
    return [(replace(site, problem=problem, case=case_of(before, whole), one_op=alone), last)]


def case_of(inputs: Sequence[ir.Value], ops: Sequence[ir.Operation]) -> bytes:
    """The text of a program that computes the last op's result from inputs; `ops` has producers first."""

    def build(function: func.FuncOp) -> ir.Value:
        return copy_ops(ops, dict(zip(inputs, function.arguments, strict=True)))

    return program_of(inputs, ops[-1].results[0].type, build)


def program_of(
    inputs: Sequence[ir.Value | ir.Type], result: ir.Type, build: Callable[[func.FuncOp], ir.Value],
    symbols: Sequence[ir.Operation] = (),
) -> bytes:  # fmt: skip
    """The text of a module with one function of these inputs, which returns the value that `build` makes.

    `symbols` are globals to copy into the module.
    """
    kinds = [each if isinstance(each, ir.Type) else each.type for each in inputs]
    with result.context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            for each in symbols:
                declare(each)
            function = func.FuncOp("main", (kinds, [result]))
        with ir.InsertionPoint(function.add_entry_block()):
            func.ReturnOp([build(function)])
        return str(module).encode()


def declare(symbol: ir.Operation) -> None:
    """Copy a global to the current insertion point, without its value."""
    copy = clone(symbol, {}, ir.InsertionPoint.current)
    strip_discardable(copy)
    for name in set(copy.attributes) & {"initial_value"}:
        del copy.attributes[name]


def copy_ops(ops: Sequence[ir.Operation], values: dict[ir.Value, ir.Value]) -> ir.Value:
    """Copy ops to the current insertion point, with operands replaced by `values`.

    Returns the last op's first result.
    """
    copy = ops[0]
    for op in ops:
        copy = clone(op, values, ir.InsertionPoint.current)
        strip_discardable(copy)
        values.update(zip(op.results, copy.results, strict=True))
    return copy.results[0]


def array_of(value: ir.Value) -> Array:
    """Shape and element type of a value that is a static tensor, or a scalar."""
    if not isinstance(value.type, ir.ShapedType):
        return Array((), str(value.type))
    kind = ir.RankedTensorType(value.type)
    return Array(tuple(kind.shape), str(kind.element_type))


def zeros_of(root: ir.Operation) -> list[ir.Operation] | None:
    """Constant, empty tensor and fill, if a root op starts from a fill with zeros; otherwise None."""
    fill = producer(root.operands[len(root.operands) - 1])
    if fill is None or fill.name != "linalg.fill":
        return None
    zero, empty = producer(fill.operands[0]), producer(fill.operands[1])
    if zero is None or empty is None or constant_of(zero) != number(0.0) or empty.name != "tensor.empty":
        return None
    return [zero, empty, fill]


def function_of(op: ir.Operation) -> str:
    """The name of the function that contains an op."""
    parent = op.parent
    while parent is not None and "sym_name" not in parent.attributes:
        parent = parent.operation.parent
    return "" if parent is None else ir.StringAttr(parent.attributes["sym_name"]).value
