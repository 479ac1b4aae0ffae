"""Whether a spec is well-formed, consistent, and has the effect on a program that it states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, transform

from iree_tuner.compiler.context import symbol_of, to_bytecode, walk
from iree_tuner.compiler.session import CompileError, CompilerSession, parse_module
from iree_tuner.compiler.worker import Calls, WorkerError, Workers
from iree_tuner.errors import TunerError
from iree_tuner.program.phases import compiled_to
from iree_tuner.spec.grammar import (
    COMPILATION_INFO,
    ENTRYPOINT,
    ENTRYPOINT_NAME,
    LOWERING_CONFIG,
    TRANSLATION_INFO,
    WITH_NAMED_SEQUENCE,
    Pair,
    SpecProblem,
    entry_sequence,
    is_sequence,
    leaf,
    linking_problems,
    meaning,
    pairs,
    yielded_constants,
)
from iree_tuner.spec.io import embed
from iree_tuner.targets import Target

if TYPE_CHECKING:
    from iree_tuner.spec.near.miss import NearMiss

_REFERENCES = (ir.SymbolRefAttr, ir.FlatSymbolRefAttr)
_KNOWN = {COMPILATION_INFO, LOWERING_CONFIG, TRANSLATION_INFO, "decomposition_config", "root_op"}


@dataclass(frozen=True)
class MatcherHits:
    """The hits of one matcher, one a dispatch; None if they cannot be seen, because it passes no op on."""

    matcher: str
    hits: tuple[Hit, ...] | None

    @property
    def count(self) -> str:
        """`none`, `one`, `several` or `unknown`."""
        if self.hits is None:
            return "unknown"
        return ("none", "one")[len(self.hits)] if len(self.hits) < 2 else "several"


@dataclass(frozen=True)
class ProgramCheck:
    """The effect of a spec on a program; `problems` are those that need a program to be found.

    `dispatches` are the names of all executables. `near` are matchers that nearly hit a dispatch, the nearest
    first; None if the compiler did not survive the search for them.
    """

    matchers: tuple[MatcherHits, ...]
    problems: tuple[SpecProblem, ...]
    dispatches: tuple[str, ...]
    near: tuple[NearMiss, ...] | None = ()


def check_spec(module: ir.Module) -> list[SpecProblem]:
    """Problems that can be seen in the spec itself, if any."""
    return [
        *_grammar(module),
        *linking_problems(module),
        *_repeated(module),
        *_unused(module),
        *_settings(module),
    ]


def check_against_program(
    spec: ir.Module,
    program: bytes | str,
    target: Target,
    *,
    name: str = "program.mlir",
    workers: Workers | None = None,
    near: bool = False,
) -> ProgramCheck:
    """Compile a program to `executable-configurations` and see what each matcher hits.

    The program (text or bytecode) is compiled in a worker: twice, the second time with the configurations in
    place, so that matchers that fight over one dispatch are seen before the compiler gives up on them.
    Without `workers`, one is started and stopped.

    With `near`, if a matcher matches nothing, or nothing hits a dispatch, it is compiled once more, up to the
    spec, and the first condition that fails of each matcher that nearly matches a dispatch is found.

    Raises CompileError if the program does not compile even when nothing is configured, TunerError if the
    compiler crashed or did not come back.
    """
    if workers is None:
        with Workers() as own:
            return check_against_program(spec, program, target, name=name, workers=own, near=near)
    return begin_check(spec, program, target, workers, name=name, near=near)()


def begin_check(
    spec: ir.Module, program: bytes | str, target: Target, workers: Calls, *, name: str = "program.mlir",
    near: bool = False,
) -> Callable[[], ProgramCheck]:  # fmt: skip
    """Begin `check_against_program`. The function that is returned waits, and raises what it raises."""
    probes = instrument(spec, mark_only=True), instrument(spec, mark_only=False)
    unmarked = to_bytecode(spec) if near else None
    marked = to_bytecode(probes[0].spec), to_bytecode(probes[1].spec)
    arguments = program, name, *marked, target
    observing = workers.submit(probe_program, *arguments, unmarked, probes[0].visible)

    def found() -> ProgramCheck:
        try:
            observed = workers.wait(observing)
        except WorkerError as error:
            if unmarked is None:
                raise TunerError(f"the compiler crashes on the program with the spec: {error}") from None
            return replace(begin_check(spec, program, target, workers, name=name)(), near=None)
        matchers = tuple(
            MatcherHits(name, observed.of(index) if visible else None)
            for index, (name, visible) in enumerate(zip(probes[0].matchers, probes[0].visible, strict=True))
        )
        problems = list(_problems_of(matchers))
        if observed.refused:
            problems.append(
                SpecProblem("refused", f"the compiler rejects the configured program: {observed.refused}")
            )
        return ProgramCheck(matchers, tuple(problems), observed.dispatches, observed.near)

    return found


def _grammar(module: ir.Module) -> Iterator[SpecProblem]:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        reason = error.error_diagnostics[0].message if error.error_diagnostics else str(error)
        yield SpecProblem("invalid", f"the spec does not verify: {reason}")
    if WITH_NAMED_SEQUENCE not in module.operation.attributes:
        yield SpecProblem("not_a_library", f"the module lacks the attribute {WITH_NAMED_SEQUENCE}")
    entry = entry_sequence(module)
    if entry is None:
        yield SpecProblem("no_entry_point", f"no sequence has the attribute {ENTRYPOINT}")
    elif ENTRYPOINT not in entry.attributes:
        yield SpecProblem("no_entry_point", f"the sequence lacks the attribute {ENTRYPOINT}", ENTRYPOINT_NAME)


def _repeated(module: ir.Module) -> Iterator[SpecProblem]:
    seen: dict[tuple[ir.Operation, str], Pair] = {}
    for pair in pairs(module):
        found = meaning(pair)
        earlier = seen.setdefault((pair.foreach_match, found.matches), pair)
        if earlier is pair:
            continue
        first = meaning(earlier)
        same = (found.sets, found.does) == (first.sets, first.does)
        how = "matches what" if same else "sets something else on what"
        yield SpecProblem(
            "repeated" if same else "conflict",
            f"never fires: {how} @{earlier.matcher} matches, which comes first",
            pair.matcher,
        )


def _unused(module: ir.Module) -> Iterator[SpecProblem]:
    used = {name for pair in pairs(module) for name in (pair.matcher, pair.action)}
    for op in walk(module.operation):
        values = [op.attributes[name] for name in op.attributes]
        used.update(leaf(value) for value in values if isinstance(value, _REFERENCES))
    for op in walk(module.operation):
        if (
            is_sequence(op)
            and ENTRYPOINT not in op.attributes
            and symbol_of(op) not in used | {ENTRYPOINT_NAME}
        ):
            yield SpecProblem("unused", "nothing uses this sequence", symbol_of(op))


def _settings(module: ir.Module) -> Iterator[SpecProblem]:
    known: dict[str, set[str]] = {}
    for pair in pairs(module):
        if pair.matcher_op is None or pair.action_op is None:
            continue
        ops = list(walk(pair.action_op))
        names = {ir.StringAttr(op.attributes["name"]).value for op in ops if op.name == "transform.annotate"}
        if not names and any(op.name == "transform.include" for op in ops):
            continue
        known[pair.action] = names
        constants = yielded_constants(pair.matcher_op)
        constants += [op for op in ops if op.name == "transform.param.constant"]
        values = [op.attributes["value"] for op in constants]
        if COMPILATION_INFO not in names:
            message = f"its action @{pair.action} sets no {COMPILATION_INFO}"
            yield SpecProblem("no_configuration", message, pair.matcher)
        elif not any(isinstance(each, iree_codegen.CompilationInfoAttr) for each in values):
            yield SpecProblem("no_configuration", f"it yields no {COMPILATION_INFO}", pair.matcher)
    for action, names in known.items():
        for name in sorted(name for name in names - _KNOWN if not name.startswith("_")):
            yield SpecProblem("unknown_attribute", f"sets '{name}', which the compiler does not read", action)


def _problems_of(matchers: Sequence[MatcherHits]) -> Iterator[SpecProblem]:
    """Misses first, then fights over a dispatch, then configurations that did not arrive."""
    for found in matchers:
        if found.hits is None:
            yield SpecProblem("unknown", "passes no op to its action, so its hits are unknown", found.matcher)
        elif not found.hits:
            yield SpecProblem("hits_nothing", "matches no dispatch of the program", found.matcher)
    owners: dict[str, list[str]] = {}
    for found in matchers:
        for hit in found.hits or ():
            owners.setdefault(hit.dispatch, []).extend([found.matcher] * hit.count)
    for dispatch, names in owners.items():
        if len(names) > 1:
            who = " and ".join(f"@{name}" for name in dict.fromkeys(names))
            times = f" {len(names)} times" if len(set(names)) == 1 else ""
            yield SpecProblem(
                "fight", f"{who} configure dispatch {dispatch}{times}, which accepts one configuration"
            )
    for found in matchers:
        for hit in found.hits or ():
            if hit.ignored:
                yield SpecProblem(
                    "not_applied", f"matched in dispatch {hit.dispatch}, but {hit.ignored}", found.matcher
                )


# Observes the effect of a spec: copies whose actions leave marks, and a compilation that reads them.


_OP_MARK = "iree_tuner_matched_"
_FUNCTION_MARK = "iree_tuner_matched_in_"
_NOT_MARKED = "not configured if the other matchers configure their ops first"
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


_Marked = dict[int, tuple[tuple[str, ...], str]]
"""By pair, the names of the ops that carry its mark, and why these are not configured."""


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
    unmarked: bytes | None,
    visible: Sequence[bool],
) -> Observation:
    """Run in a worker: compile a program with both probes and read the marks.

    Near misses are searched if the `unmarked` spec is given too, and a matcher that the probes can see or a
    dispatch has no hit. Raises CompileError if the program does not compile even when nothing is configured.
    """
    session, module = compiled_to("executable-sources", program, name, target)
    sources = to_bytecode(module)
    matched = _read(_configured(session, sources, marks))
    refused = ""
    applied: dict[str, _Marked] = {}
    try:
        applied = _read(_configured(session, sources, marked_spec))
    except CompileError as error:
        refused = error.message
    hits: list[tuple[int, Hit]] = []
    for dispatch, marked in matched.items():
        for index, (ops, _) in marked.items():
            _, ignored = applied.get(dispatch, {}).get(index, ((), _NOT_MARKED))
            hits.append((index, Hit(dispatch, max(1, len(ops)), ops, "" if refused else ignored)))
    missed: tuple[NearMiss, ...] = ()
    matchers = {index for index, _ in hits}
    unused = any(seen and index not in matchers for index, seen in enumerate(visible))
    if unmarked is not None and (unused or not {hit.dispatch for _, hit in hits}.issuperset(matched)):
        unseen = [index for index, seen in enumerate(visible) if not seen]
        known = {(hit.dispatch, index) for index, hit in hits}
        from iree_tuner.spec.near.miss import near_misses  # most checks do without

        missed = near_misses(session, sources, unmarked, known, unseen)
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


def _read(module: ir.Module) -> dict[str, _Marked]:
    """For each executable, the pairs that left a mark in it."""
    found: dict[str, _Marked] = {}
    for executable in (op.operation for op in module.body):
        if executable.name != "hal.executable":
            continue
        inside = list(walk(executable))
        marked: _Marked = {}
        for function in inside:
            for name in function.attributes:
                if not name.startswith(_FUNCTION_MARK):
                    continue
                index = int(name.removeprefix(_FUNCTION_MARK))
                ops = [op for op in walk(function) if f"{_OP_MARK}{index}" in op.attributes]
                marked[index] = tuple(op.name for op in ops), _ignored(function, ops)
        found[symbol_of(executable)] = marked
    return found


def _ignored(function: ir.Operation, ops: Sequence[ir.Operation]) -> str:
    """Why marked ops of a function do not have the configuration; empty if they have."""
    if not ops:
        return "the op was replaced afterwards, and its configuration with it"
    if any(COMPILATION_INFO in op.attributes for op in ops):
        return "ignored, because the dispatch was already configured"
    configured = TRANSLATION_INFO in function.attributes and any(
        LOWERING_CONFIG in op.attributes for op in ops
    )
    return "" if configured else "the op did not get the configuration"
