"""The configurations that a tuning spec sets. Without a program, each op is made from its matcher."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from iree.compiler import ir
from iree.compiler.dialects import arith, func, iree_codegen, tensor

from iree_tuner.compiler import linalg
from iree_tuner.compiler.context import ops_in, to_bytecode, walk
from iree_tuner.compiler.linalg import generic, multiply_add
from iree_tuner.compiler.worker import WorkerError, Workers
from iree_tuner.errors import TunerError
from iree_tuner.ops import contraction, convolution
from iree_tuner.program.carried import place_of
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.space.compilers_choice import Written
from iree_tuner.space.verify.constraints import Constraints, Verified, VerifyReport
from iree_tuner.spec.check import instrument, matched
from iree_tuner.spec.grammar import COMPILATION_INFO, Pair, pairs
from iree_tuner.targets import Target

_MULTIPLIES = ("transform.iree.match.contraction", "transform.iree.match.convolution")
_YIELD = "transform.yield"
_ELSE = "name a program that contains it (--program)"


def stand_in(pairs: Sequence[Pair], context: ir.Context) -> tuple[bytes, dict[int, str]]:
    """A program with a function for each matcher that states all sizes of its op.

    Returns:
        the program as bytecode; and, by their places, why there is no function for some of the matchers.
    """
    reasons: dict[int, str] = {}
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        for place, pair in enumerate(pairs):
            try:
                with ir.InsertionPoint(module.body):
                    _add(f"matched_{place}", pair)
            except _OpenError as error:
                reasons[place] = str(error)
        return to_bytecode(module), reasons


class _OpenError(Exception):
    """A matcher does not state what a program must contain."""


def _add(name: str, pair: Pair) -> None:
    matchers = [] if pair.matcher_op is None else list(walk(pair.matcher_op))
    for op in matchers:
        if op.name == "transform.iree.match.cast_compatible_dag_from_root":
            _add_graph(name, op)
            return
        if op.name in _MULTIPLIES:
            _add_product(name, op, matchers)
            return
    raise _OpenError(f"its matcher does not state the sizes of its op: {_ELSE}")


def _add_graph(name: str, match: ir.Operation) -> None:
    """The ops of a graph that is matched as a whole, as a function of its inputs."""
    graph = match.regions[0].blocks[0]
    types = [argument.type for argument in graph.arguments]
    if any(isinstance(each, ir.RankedTensorType) and not each.has_static_shape for each in types):
        raise _OpenError(f"its matcher leaves sizes open: {_ELSE}")
    root = next(op for op in ops_in(graph)[::-1] if op.name != _YIELD)
    results = [each.type for each in root.results]
    if not results or not all(isinstance(each, ir.RankedTensorType) for each in (*types, *results)):
        raise _OpenError(f"its matcher matches buffers: {_ELSE}")
    function = func.FuncOp(name, (types, results))
    entry = function.add_entry_block()
    copy = match.clone(ir.InsertionPoint(entry)).operation
    inner = copy.regions[0].blocks[0]
    for argument, value in zip(list(inner.arguments), entry.arguments, strict=True):
        argument.replace_all_uses_with(value)
    moved = [op for op in ops_in(inner) if op.name != _YIELD]
    for op in moved:
        op.move_before(copy)
    with ir.InsertionPoint(entry):
        func.ReturnOp(list(moved[-1].results))
    copy.erase()


def _add_product(name: str, match: ir.Operation, around: Sequence[ir.Operation]) -> None:
    """A contraction or a convolution with the types, maps and sizes that are matched."""
    if "indexing_maps" not in match.attributes:
        raise _OpenError(f"its matcher accepts any maps: {_ELSE}")
    maps = [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(match.attributes["indexing_maps"])]
    names = (("lhs_type", "input_type"), ("rhs_type", "filter_type"), ("output_type",))
    keys = [next(key for key in each if key in match.attributes) for each in names]
    types = [ir.TypeAttr(match.attributes[key]).value for key in keys]
    sizes = _loop_sizes(match, maps, around)
    shapes = [[_last(expression, sizes) + 1 for expression in each.results] for each in maps]
    tensors = [ir.RankedTensorType.get(shape, kind) for shape, kind in zip(shapes, types, strict=True)]
    entry = func.FuncOp(name, (tensors[:2], tensors[2:])).add_entry_block()
    with ir.InsertionPoint(entry):
        is_float = isinstance(types[2], ir.FloatType)
        zero = arith.constant(types[2], 0.0 if is_float else 0)
        initial = linalg.named("fill")(zero, outs=[tensor.empty(shapes[2], types[2])])
        func.ReturnOp([generic(list(entry.arguments), initial, maps, multiply_add)])


def _loop_sizes(
    match: ir.Operation, maps: Sequence[ir.AffineMap], around: Sequence[ir.Operation]
) -> Mapping[int, int]:
    """Sizes of the loops. A matcher states them role by role, and a role's loops are in their order."""
    required: dict[int, list[int]] = {}
    for op in around:
        if op.name == "transform.iree.match.dims_equal":
            sizes = list(ir.DenseI64ArrayAttr(op.attributes["expected_values"]))
            required[ir.OpResult(op.operands[0]).result_number] = sizes
    found: dict[int, int] = {}
    for number, loops in enumerate(_roles(match.name, maps)):
        found.update(zip(loops, required.get(number, ()), strict=False))
    if len(found) < maps[0].n_dims or min(found.values()) < 1:
        raise _OpenError(f"its matcher leaves sizes open: {_ELSE}")
    return found


def _roles(name: str, maps: Sequence[ir.AffineMap]) -> list[tuple[int, ...]]:
    """The loops of each role, in the order of the match op's results."""
    if name == _MULTIPLIES[0]:
        roles, found = contraction.ROLES, linalg.infer_contraction_dimensions_from_maps(maps)
    else:
        roles, found = convolution.ROLES, linalg.infer_convolution_dimensions_from_maps(maps)
    renamed = convolution.INFERRED
    return [] if found is None else [tuple(getattr(found, renamed.get(role, role))) for role in roles]


def _last(expression: ir.AffineExpr, sizes: Mapping[int, int]) -> int:
    if isinstance(expression, ir.AffineDimExpr):
        return sizes[expression.position] - 1
    if isinstance(expression, ir.AffineConstantExpr):
        return expression.value
    if isinstance(expression, ir.AffineAddExpr):
        return _last(expression.lhs, sizes) + _last(expression.rhs, sizes)
    if isinstance(expression, ir.AffineMulExpr):
        return _last(expression.lhs, sizes) * _last(expression.rhs, sizes)
    raise _OpenError(f"its matcher has the map {expression}: {_ELSE}")


_NO_HIT_ALONE = (
    "its matcher does not hit the op generated from it: name a program that contains it (--program)"
)


def verify_spec(
    spec: ir.Module,
    target: Target,
    *,
    name: str,
    program: Program | None = None,
    workers: Workers | None = None,
) -> VerifyReport:
    """Judge every configuration that a spec sets, for the ops that its matchers hit; none is compiled.

    `name` is the spec's in locations. The ops are in `program`; without one, each is made from its matcher.
    Without `workers`, one is started and stopped; they compile up to dispatches.

    Raises TunerError if the program does not compile without a spec, or the compiler crashed.
    """
    if workers is None:
        with Workers(1) as own:
            return verify_spec(spec, target, name=name, program=program, workers=own)
    found = pairs(spec)
    reasons: dict[int, str] = {}
    missed = "its matcher matches no dispatch of the program"
    if program is None:
        data, reasons = stand_in(found, spec.context)
        program, missed = Program(f"<ops of {name}>", data), _NO_HIT_ALONE
    hits: dict[int, list[str]] = defaultdict(list)
    dispatches: tuple[Dispatch, ...] = ()
    if len(reasons) < len(found):
        for place, executable in _hits(spec, program, target, workers):
            hits[place].append(executable)
        dispatches = extract(program, target, workers).dispatches
    known: dict[str, Constraints] = {}
    judged: list[Verified] = []
    for place, pair in enumerate(found):
        # An export is of an executable if its name begins with that one's.
        hit = [d for d in dispatches if any(f"{d.name}_".startswith(f"{each}_") for each in hits[place])]
        for verified, written in _settings(pair, name):
            if not hit:
                judged.append(verified.unchecked(reasons.get(place, missed)))
            for dispatch in hit:
                if dispatch.name not in known:
                    known[dispatch.name] = Constraints.of(dispatch, target, spec.context, workers)
                workload = dispatch.workload.name if dispatch.workload is not None else ""
                here = replace(verified, dispatch=dispatch.name, workload=workload)
                judged.append(known[dispatch.name].judge(written, here))
    return VerifyReport(tuple(judged))


def _hits(spec: ir.Module, program: Program, target: Target, workers: Workers) -> tuple[tuple[int, str], ...]:
    marks = to_bytecode(instrument(spec, mark_only=True).spec)
    try:
        return workers.call(matched, program.data, program.name, marks, target)
    except WorkerError as error:
        raise TunerError(f"the compiler crashes on the program with the matchers: {error}") from None


def _settings(pair: Pair, name: str) -> Iterator[tuple[Verified, Written]]:
    """The attributes that a pair sets: the constants of its matcher, or of its action."""
    sequences = [each for each in (pair.matcher_op, pair.action_op) if each is not None]
    constants = [op for each in sequences for op in walk(each) if op.name == "transform.param.constant"]
    values = [(op, op.attributes["value"]) for op in constants]
    decomposition = next((str(value) for _, value in values if isinstance(value, ir.DictAttr)), "")
    for op, value in values:
        if isinstance(value, iree_codegen.CompilationInfoAttr):
            lowering, translation = str(value.lowering_config), str(value.translation_info)
            empty = Verified(
                COMPILATION_INFO, place_of(op, name), lowering, translation, matcher=pair.matcher
            )
            yield empty, Written(lowering, translation, decomposition)
