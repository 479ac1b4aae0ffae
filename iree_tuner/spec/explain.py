"""A spec for people: what each matcher matches, what it sets, and the measured gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import defining_op, symbol_of, walk
from iree_tuner.compiler.unbound import pipeline_of
from iree_tuner.ops.family import MatchOp, match_ops
from iree_tuner.ops.structure import shape_of
from iree_tuner.spec.entry import Provenance, read_loops, read_op_name, read_provenance, read_workload_key
from iree_tuner.spec.grammar import COMPILATION_INFO, Pair, pairs, reached

_ANNOTATE = "transform.annotate"
_MATCH = "transform.iree.match."
_DAG = _MATCH + "cast_compatible_dag_from_root"
_DIMS_EQUAL = _MATCH + "dims_equal"
_OF_VALUES = {
    f"{_MATCH}cast_compatible_type": "{target_type}",
    f"{_MATCH}dim_is_multiple_of": "dim {dim} is a multiple of {size}",
    f"{_MATCH}dim_bounds": "dim {dim} is {lower_bound} to {upper_bound}",
}
"""Match ops that require something of one value, and how they are described."""

_STRUCTURED = ("linalg.", "iree_linalg_ext.")
_NOT_SAID = {"linalg.fill", "linalg.yield", "linalg.index", "iree_linalg_ext.yield"}


@dataclass(frozen=True)
class AttributeSetting:
    """One attribute that is set: the number of the op among those passed on, its name, its value printed."""

    op: int
    attribute: str
    value: str


@dataclass(frozen=True)
class ExplainedEntry:
    """One matcher, explained; or ops that a spec finds without one."""

    matcher: str  # its name; the location of a sequence that sets something itself
    op: str
    # by role; -1 stands for any, also for one that is known only at run time
    sizes: tuple[tuple[str, tuple[int, ...]], ...]
    types: tuple[str, ...]  # of elements, or for ops matched by structure those of the inputs and the result
    pipeline: str
    # all attributes that are set; `pipeline` is the code generation pipeline among them
    settings: tuple[AttributeSetting, ...]
    workload: str | None  # key of the workload it was built for, None for specs that were not built here
    provenance: Provenance | None
    # further requirements of operands, in words: `operand 0: dim 0 is a multiple of 128`
    conditions: tuple[str, ...] = ()


def explain(module: ir.Module) -> list[ExplainedEntry]:
    """A row for each matcher, in the order in which they are tried; then one for each op set without one."""
    found = pairs(module)
    paired = [op for pair in found for op in (pair.matcher_op, pair.action_op)]
    others = [op for op in reached(module) if op not in paired]
    rows = [_row(pair) for pair in found if pair.matcher_op is not None]
    return rows + [row for sequence in others for row in _rows_of_its_own(sequence)]


def row_to_json(row: ExplainedEntry) -> dict[str, object]:
    """A row as JSON-ready data."""
    return {**asdict(row), "sizes": dict(row.sizes)}


def _row(pair: Pair) -> ExplainedEntry:
    matcher = pair.matcher_op
    assert matcher is not None, "the caller has looked"
    op, sizes, types = _matched(matcher)
    settings, pipeline = (), ""
    if pair.action_op is not None:
        annotations = [op for op in walk(pair.action_op) if op.name == _ANNOTATE]
        arguments, (*_, end) = pair.action_op.regions[0].blocks[0].arguments, matcher.regions[0].blocks[0]
        passed = dict(zip(arguments, end.operands, strict=False))
        settings, pipeline = _settings(annotations, list(arguments), passed)
    key = read_workload_key(matcher)
    op = read_op_name(matcher) or op
    if not sizes and not types and read_loops(matcher):  # matched op by op: sizes are spread over many ops
        sizes = (("loops", read_loops(matcher)),)
    return ExplainedEntry(
        pair.matcher, op, sizes, types, pipeline, settings, key, read_provenance(matcher),
        _conditions(matcher),
    )  # fmt: skip


def _matched(matcher: ir.Operation) -> tuple[str, tuple[tuple[str, tuple[int, ...]], ...], tuple[str, ...]]:
    """Kind, sizes and types, read off the match ops."""
    ops, known = [op.operation for op in matcher.regions[0].blocks[0]], match_ops()
    for op in ops:
        kind = op.name.removeprefix(_MATCH)
        if op.name.startswith(_MATCH) and kind in known:
            _, described = known[kind]
            names = [f"{operand}_type" for operand in described.operands]
            types = tuple(str(op.attributes[name]) for name in names if name in op.attributes)
            return kind, _sizes(op, described, ops), types
    for op in ops:
        if op.name == _DAG:  # matched by structure: names of compute ops, types of inputs and of the result
            inside = [each for each in walk(op) if each.name.startswith(_STRUCTURED)]
            inside = [each for each in inside if each.name not in _NOT_SAID]
            inputs = tuple(_shape(value.type) for value in op.regions[0].blocks[0].arguments)
            results = tuple(_shape(value.type) for value in inside[-1].results) if inside else ()
            return " + ".join(each.name for each in inside) or "?", (), inputs + results
    names = [str(op.attributes["op_names"]) for op in ops if op.name == "transform.match.operation_name"]
    return (names[0].strip('[]"') if names else "?"), (), ()


def _conditions(matcher: ir.Operation) -> tuple[str, ...]:
    """A matcher's requirements for single values, in its order."""
    found: list[str] = []
    for view in matcher.regions[0].blocks[0]:
        op = view.operation
        if op.name not in _OF_VALUES:
            continue
        values = {name: op.attributes[name] for name in op.attributes}
        given = {
            name: str(each.value if isinstance(each, ir.IntegerAttr) else each)
            for name, each in values.items()
        }
        if "lower_bound" not in given and "upper_bound" in given:
            given["lower_bound"] = "0"
        text = _OF_VALUES[op.name]
        if op.name.endswith("dim_bounds") and "upper_bound" not in given:
            text = "dim {dim} is {lower_bound} or more"
        found.append(f"{_value_name(op.operands[0])}: {text.format(**given)}")
    return tuple(found)


def _value_name(value: ir.Value) -> str:
    """The operand or result of the matched op that a handle stands for."""
    op = defining_op(value)
    if op is None or "raw_position_list" not in op.attributes:
        return "a value"
    places = ir.DenseI64ArrayAttr(op.attributes["raw_position_list"])
    kind = "result" if op.name == "transform.get_result" else "operand"
    return f"{kind} {' '.join(map(str, places))}"


def _sizes(
    op: ir.Operation, described: MatchOp, ops: list[ir.Operation]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Sizes that the sequence requires of the match op's results; roles without any are left out."""
    found: list[tuple[str, tuple[int, ...]]] = []
    for role, result in zip((*described.yields, *described.parameters), op.results, strict=False):
        for check in ops:
            if check.name == _DIMS_EQUAL and check.operands[0] == result:
                # The compiler's own number for a dynamic size is the least of all.
                values = tuple(max(-1, n) for n in ir.DenseI64ArrayAttr(check.attributes["expected_values"]))
                if values:
                    found.append((role, values))
    return tuple(found)


def _shape(kind: ir.Type) -> str:
    """`128x256xf32`, without a memref's layout and memory space."""
    if not isinstance(kind, ir.ShapedType) or not kind.has_rank:
        return str(kind)
    sizes = ("?" if size is None else str(size) for size in shape_of(kind))
    return "x".join((*sizes, str(kind.element_type)))


def _rows_of_its_own(sequence: ir.Operation) -> list[ExplainedEntry]:
    """The attributes that a sequence sets on ops that it finds itself, a row for each handle."""
    set_on: dict[ir.Value, list[ir.Operation]] = {}
    for op in walk(sequence):
        if op.name == _ANNOTATE:
            set_on.setdefault(op.operands[0], []).append(op)
    rows: list[ExplainedEntry] = []
    for handle, there in set_on.items():
        settings, pipeline = _settings(there, [handle], {})
        if settings:
            name, search = symbol_of(sequence), defining_op(handle)
            found = "?"
            if search is not None and "ops" in search.attributes:
                found = ", ".join(
                    ir.StringAttr(each).value for each in ir.ArrayAttr(search.attributes["ops"])
                )
            rows.append(ExplainedEntry(name, found, (), (), pipeline, settings, None, None))
    return rows


def _settings(
    annotations: Sequence[ir.Operation], targets: list[ir.Value], passed: Mapping[ir.Value, ir.Value]
) -> tuple[tuple[AttributeSetting, ...], str]:
    """Constants that `transform.annotate` ops give to `targets`, by their order, and the pipeline.

    `passed` are values of a matcher, by the arguments of its action.
    """
    found: list[AttributeSetting] = []
    pipeline = ""
    for op in annotations:
        given = op.operands[1] if len(op.operands) > 1 else op.operands[0]
        constant = defining_op(passed.get(given, given), "transform.param.constant")
        if constant is None:
            continue
        value = constant.attributes["value"]
        name = ir.StringAttr(op.attributes["name"]).value
        text = str(value)
        if name == COMPILATION_INFO and iree_codegen.CompilationInfoAttr.isinstance(value):
            information = iree_codegen.CompilationInfoAttr(value)
            text = str(information.lowering_config)
            translation = iree_codegen.TranslationInfoAttr(information.translation_info)
            kind, pipeline = pipeline_of(translation.pass_pipeline)
            pipeline = pipeline or f"#{kind}"
        target = targets.index(op.operands[0]) if op.operands[0] in targets else 0
        found.append(AttributeSetting(target, name, _short(text)))
    return tuple(found), pipeline


def _short(text: str) -> str:
    """Drop the dialect's name and brackets: people read the tiles."""
    head, bracket, rest = text.partition("<")
    return rest.removesuffix(">") if bracket and head.endswith("lowering_config") else text
