"""Observes the effect of a spec: copies whose actions leave marks, and a compilation that reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir
from iree.compiler.dialects import transform

from iree_tuner.compiler.context import symbol_of, to_bytecode, walk
from iree_tuner.compiler.session import CompileError, CompilerSession, parse_module
from iree_tuner.program.phases import compiled_to
from iree_tuner.spec.grammar import COMPILATION_INFO, LOWERING_CONFIG, TRANSLATION_INFO, Pair, pairs
from iree_tuner.spec.io import embed
from iree_tuner.targets import Target

if TYPE_CHECKING:
    from iree_tuner.spec.near.miss import NearMiss

_OP_MARK = "iree_tuner_matched_"
_FUNCTION_MARK = "iree_tuner_matched_in_"
_HANDLES = (transform.AnyOpType, transform.OperationType)


@dataclass(frozen=True)
class Probe:
    """A marked copy of a spec; `matchers` names those of its pairs.

    It leaves `iree_tuner_matched_<i>` on the op that pair i passes to its action first, and
    `iree_tuner_matched_in_<i>` on that op's function, which stays when the op is replaced. A pair that passes
    no op to its action is not `visible`.
    """

    spec: ir.Module
    matchers: tuple[str, ...]
    visible: tuple[bool, ...]


@dataclass(frozen=True)
class Hit:
    """A dispatch (the executable's name) that a matcher hit, in `count` ops.

    `ops` names those that it configures; `ignored` is why the configuration did not arrive, if so.
    """

    dispatch: str
    count: int
    ops: tuple[str, ...]
    ignored: str


@dataclass(frozen=True)
class Observation:
    """The state of a program at `executable-configurations`: indices of pairs and their hits, by dispatch.

    `dispatches` are the names of all executables; `refused` is the compiler's error with the configurations
    in place, if any. `near` are matchers that nearly hit a dispatch, if they were searched; None if that
    ended the compiler.
    """

    hits: tuple[tuple[int, Hit], ...]
    dispatches: tuple[str, ...]
    refused: str
    near: tuple[NearMiss, ...] | None = ()

    def of(self, index: int) -> tuple[Hit, ...]:
        return tuple(hit for owner, hit in self.hits if owner == index)


@dataclass(frozen=True)
class Unmarked:
    """The unchanged spec, in bytecode, and which of its pairs the probes of it can see."""

    spec: bytes
    visible: tuple[bool, ...]


@dataclass(frozen=True)
class _MarkedOps:
    """Ops that carry a pair's mark in one dispatch, and the state of their configuration."""

    ops: tuple[str, ...]
    configured: bool
    left_over: bool


def instrument(spec: ir.Module, *, mark_only: bool) -> Probe:
    """A copy of the spec in which every pair has an action of its own that leaves marks.

    With `mark_only`, the actions annotate only the marks. The spec is not changed.
    """
    copy = parse_module(to_bytecode(spec), spec.context)
    found = pairs(copy)
    visible: list[bool] = []
    actions: dict[int, list[ir.Attribute]] = {}
    with spec.context, ir.Location.unknown(spec.context):
        for index, pair in enumerate(found):
            name = f"iree_tuner_probe_{index}"
            visible.append(_marked_action(pair, index, name, mark_only=mark_only))
            start = index - pair.index
            actions.setdefault(start, []).append(ir.FlatSymbolRefAttr.get(name))
        for start, names in actions.items():
            found[start].foreach_match.attributes["actions"] = ir.ArrayAttr.get(names)
    return Probe(copy, tuple(pair.matcher for pair in found), tuple(visible))


def probe_program(
    program: bytes | str,
    name: str,
    marks: bytes,
    marked_spec: bytes,
    target: Target,
    unmarked: Unmarked | None = None,
) -> Observation:
    """Run in a worker: compile a program with both probes and read the marks.

    Near misses are searched if the spec itself is given too, and a matcher or a dispatch has no hit. Raises
    CompileError if the program does not compile even when nothing is configured.
    """
    session, module = compiled_to("executable-sources", program, name, target)
    sources = to_bytecode(module)
    matched = _read(_configured(session, sources, marks))
    refused = ""
    applied: dict[str, dict[int, _MarkedOps]] = {}
    try:
        applied = _read(_configured(session, sources, marked_spec))
    except CompileError as error:
        refused = error.message
    hits: list[tuple[int, Hit]] = []
    for dispatch, marked in matched.items():
        for index, before in marked.items():
            after = applied.get(dispatch, {}).get(index)
            ignored = "" if refused else _ignored(after)
            hits.append((index, Hit(dispatch, max(1, len(before.ops)), before.ops, ignored)))
    missed: tuple[NearMiss, ...] = ()
    matchers = {index for index, _ in hits}
    visible = unmarked.visible if unmarked is not None else ()
    unused = any(seen and index not in matchers for index, seen in enumerate(visible))
    if unmarked is not None and (unused or not {hit.dispatch for _, hit in hits}.issuperset(matched)):
        unseen = [index for index, visible in enumerate(unmarked.visible) if not visible]
        known = {(hit.dispatch, index) for index, hit in hits}
        from iree_tuner.spec.near.miss import near_misses  # most checks do without

        missed = near_misses(session, sources, unmarked.spec, known, unseen)
    return Observation(tuple(hits), tuple(matched), refused, missed)


def matched(program: bytes | str, name: str, marks: bytes, target: Target) -> tuple[tuple[int, str], ...]:
    """Run in a worker: the dispatches that pairs hit, as (index, executable). Raises CompileError."""
    session, module = compiled_to("executable-sources", program, name, target)
    found = _read(_configured(session, to_bytecode(module), marks))
    return tuple((index, dispatch) for dispatch, marked in found.items() for index in marked)


def _marked_action(pair: Pair, index: int, name: str, *, mark_only: bool) -> bool:
    """Copy a pair's action under a new name, with marks; returns whether it could be marked."""
    assert pair.action_op is not None, "the verifier resolves actions"
    copy = pair.action_op.clone(ir.InsertionPoint(pair.action_op)).operation
    copy.attributes["sym_name"] = ir.StringAttr.get(name)
    if mark_only:
        for op in [op for op in walk(copy) if op.name == "transform.annotate"]:
            op.erase()
    block = copy.regions[0].blocks[0]
    handles = [value for value in block.arguments if isinstance(value.type, _HANDLES)]
    target = handles[0] if handles else None
    if target is None:
        return False
    with ir.InsertionPoint.at_block_begin(block):
        transform.AnnotateOp(target, f"{_OP_MARK}{index}")
        function = transform.GetParentOp(
            transform.AnyOpType.get(), target, isolated_from_above=True, allow_empty_results=True
        )
        transform.AnnotateOp(function.result, f"{_FUNCTION_MARK}{index}")
    return True


def _configured(session: CompilerSession, sources: bytes, spec: bytes) -> ir.Module:
    module = session.parse(sources)
    embed(module, spec, replace=True)
    session.run(module, start="executable-sources", stop="executable-configurations")
    return module


def _read(module: ir.Module) -> dict[str, dict[int, _MarkedOps]]:
    """For each executable, the pairs that left a mark in it."""
    found: dict[str, dict[int, _MarkedOps]] = {}
    for executable in (op.operation for op in module.body):
        if executable.name != "hal.executable":
            continue
        inside = list(walk(executable))
        marked: dict[int, _MarkedOps] = {}
        for function in inside:
            for name in function.attributes:
                if not name.startswith(_FUNCTION_MARK):
                    continue
                index = int(name.removeprefix(_FUNCTION_MARK))
                ops = [op for op in walk(function) if f"{_OP_MARK}{index}" in op.attributes]
                lowered = any(LOWERING_CONFIG in op.attributes for op in ops)
                configured = lowered and TRANSLATION_INFO in function.attributes
                left_over = any(COMPILATION_INFO in op.attributes for op in ops)
                marked[index] = _MarkedOps(tuple(op.name for op in ops), configured, left_over)
        found[symbol_of(executable)] = marked
    return found


def _ignored(after: _MarkedOps | None) -> str:
    if after is None:
        return "not configured if the other matchers configure their ops first"
    if not after.ops:
        return "the op was replaced afterwards, and its configuration with it"
    if after.left_over:
        return "ignored, because the dispatch was already configured"
    return "" if after.configured else "the op did not get the configuration"
